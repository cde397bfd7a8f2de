"""What people do wrong with the commands: what the person did -> (preparation, command, words of the answer)."""

import numpy as np
from more_mistakes import RANK, WINS, directory, pipe, write

from preflearn import RankRLS, save


def columns_model(folder):
    """Save a model that was trained on two columns of scores."""
    save(RankRLS().fit(np.eye(6, 4), np.eye(6, 2)), folder / "columns.preflearn")


TIES = "first,second,winner\na,b,tie\nb,c,draw\n"
OUT = ["convert", "matches.csv"]
TWO = ["compare", "matches.csv", "bradley-terry", "thurstone"]

COMMANDS = {
    # the words of the command
    "command left out": (None, ["matches.csv"], ["matches.csv is a file", "preflearn rank matches.csv"]),
    "option before the command": (None, ["--items", "items.csv", *RANK], ['"--items" comes before', "come after"]),
    "one hyphen": (None, [*RANK, "-items", "items.csv"], ["-items", "two hyphens: --items"]),
    "a dash": (None, [*RANK, "\u2014report", "r.html"], ["two hyphens", "--report"]),
    "capitals": (None, [*RANK, "--JSON"], ["--JSON", "small letters: --json"]),
    "option of another command": (None, [*RANK, "--kernel", "rbf"], ["--kernel", "belongs to fit", "Leave it out"]),
    "format of the output": (
        None,
        ["predict", "bt.preflearn", "--json"],
        ["--json", "belongs to rank", "Leave it out"],
    ),
    "two files": (None, [*RANK, "later.csv"], ["too many", "later.csv", "tail -n +2 later.csv)"]),
    "a flag with a value": (None, [*RANK, "--json", "yes"], ["too many", "yes"]),
    "an option twice": (None, [*RANK, "--top", "3", "--top", "4"], ["--top is given twice", "once"]),
    "reproduce: unknown name": (
        None,
        ["reproduce", "kpcrank-sink"],
        ['no experiment "kpcrank-sink"', 'nearest names: "kpcrank-sinc"', "Choose from"],
    ),
    "an argument for doctor": (None, ["doctor", "x"], ["too many", "doctor --help"]),
    "scheduler: nobody there": (
        None,
        [*RANK, "--scheduler", "tcp://127.0.0.1:9"],
        ["tcp://127.0.0.1:9: no Dask scheduler answers", "dask scheduler"],
    ),
    "scheduler: no address": (None, [*RANK, "--scheduler", "cluster"], ["cluster: no Dask scheduler answers"]),
    "scheduler: standard input": (
        None,
        ["rank", "-", "--scheduler", "x"],
        ["--scheduler counts files", "path of a file"],
    ),
    "scheduler: nobody there to fit": (
        None,
        ["fit", "matches.csv", "--save", "new.preflearn", "--scheduler", "tcp://127.0.0.1:9"],
        ["tcp://127.0.0.1:9: no Dask scheduler answers", "dask scheduler"],
    ),
    # numbers
    "seed: a fraction": (None, [*RANK, "--seed", "1.5"], ["--seed", '"1.5"', "whole number"]),
    "seed: too large": (None, [*RANK, "--seed", "9" * 20], ["--seed", "from 0 to 4,294,967,295"]),
    "demo seed: too large": (None, ["demo", "--seed", "9" * 20], ["--seed", "from 0 to 4,294,967,295"]),
    "threads: none": (None, [*RANK, "--threads", "0"], ["--threads is 0", "1 or more"]),
    "threads: a word": (None, [*RANK, "--threads", "all"], ["--threads", '"all"', "whole number"]),
    "level: in per cent": (None, [*RANK, "--level", "90"], ["--level is 90", "between 0 and 1"]),
    "level: with a sign": (None, [*RANK, "--level", "90%"], ["--level", '"90%"', "a number"]),
    "level: nan": (None, [*RANK, "--level", "nan"], ["--level is nan", "such as 0.9"]),
    "top: none": (None, [*RANK, "--top", "0"], ["--top is 0", "1 or more"]),
    "top: beside all": (None, [*RANK, "--top", "3", "--all"], ["--top", "--all", "Leave out one"]),
    "top: all": (None, [*RANK, "--top", "all"], ["--top", '"all"', "whole number"]),
    "suggest: none": (None, ["suggest", "matches.csv", "-n", "0"], ["-n is 0", "from 1"]),
    "suggest: below none": (None, ["suggest", "matches.csv", "-n", "-1"], ["-n is -1", "from 1"]),
    "suggest: too many": (None, ["suggest", "matches.csv", "-n", "100000"], ["-n is 100000", "1,000", "Ask again"]),
    "suggest: best of none": (None, ["suggest", "matches.csv", "--best", "0"], ["--best is 0", "from 1 to 11"]),
    "suggest: best of all": (None, ["suggest", "matches.csv", "--best", "12"], ["12 items", "from 1 to 11"]),
    "forecast: points": (None, ["forecast", "bt.preflearn", "pairs.csv", "--points", "3,1"], ["--points", "3,1,0"]),
    "forecast: level": (None, ["forecast", "bt.preflearn", "pairs.csv", "--level", "9"], ["--level is 9", "0 and 1"]),
    "forecast: one file": (None, ["forecast", "matches.csv", "matches.csv"], ["DATA and as FIXTURES", "games to come"]),
    "forecast: model of a model": (
        None,
        ["forecast", "bt.preflearn", "pairs.csv", "--model", "gp"],
        ["bt.preflearn", "model already", "Leave out --model"],
    ),
    "forecast: no probabilities": (
        None,
        ["forecast", "names.preflearn", "pairs.csv"],
        ["names.preflearn", "no probabilities", "Give a table of results"],
    ),
    "forecast: a stranger": (
        write("bad.csv", "first,second\nC01,C99\n"),
        ["forecast", "bt.preflearn", "bad.csv"],
        ["bad.csv, line 2", '"C99"', "known items"],
    ),
    "rank: title of no report": (None, [*RANK, "--title", "x"], ["--title", "Add --report FILE"]),
    "inspect: clusters": (None, ["inspect", "matches.csv", "--clusters", "99"], ["--clusters is 99", "from 2 to 12"]),
    "inspect: one cluster": (None, ["inspect", "matches.csv", "--clusters", "1"], ["--clusters is 1", "from 2 to 12"]),
    "compare: components of names": (
        None,
        ["compare", "matches.csv", "kpcrank", "bradley-terry"],
        ["matches.csv", "model kpcrank", "features", "--items"],
    ),
    "evaluate: components of names": (
        None,
        ["evaluate", "matches.csv", "--model", "kpcrank"],
        ["matches.csv", "--model kpcrank", "features"],
    ),
    "evaluate: one fold": (None, ["evaluate", "matches.csv", "--folds", "1"], ["--folds is 1", "2 or more"]),
    "compare: no fold": (None, [*TWO, "--folds", "0"], ["--folds is 0", "2 or more"]),
    "evaluate: relevant nan": (
        None,
        ["evaluate", "rows.preflearn", "test.txt", "--relevant", "nan"],
        ["--relevant is nan", "a grade"],
    ),
    "fit: features": (
        None,
        ["fit", "train.txt", "--save", "m", "--n-features", "9" * 11],
        ["--n-features is", "at most 20,000,000"],
    ),
    # columns
    "columns: nothing": (None, [*RANK, "--columns", ""], ["--columns", "Write role=column"]),
    "columns: no equals sign": (None, [*RANK, "--columns", "winner"], ["--columns", '"winner"', "Write role=column"]),
    "columns: unknown role": (
        None,
        [*RANK, "--columns", "winer=winner"],
        ["--columns", '"winer" is not a role', '"winner"'],
    ),
    "columns: unknown column": (
        None,
        [*RANK, "--columns", "winner=won,loser=loser"],
        ["matches.csv", "no column 'won'", '"loser"', "Name one"],
    ),
    "columns: a role twice": (
        None,
        [*RANK, "--columns", "winner=winner,winner=loser"],
        ["named twice", "Name it once"],
    ),
    "columns: the same column": (
        None,
        [*RANK, "--columns", "winner=winner,loser=winner"],
        ["matches.csv, line 2", "compared with itself", "different columns"],
    ),
    "columns: half": (None, [*RANK, "--columns", "first=winner"], ["--columns", "second is not", "Name both"]),
    "columns: option twice": (
        None,
        [*RANK, "--columns", "winner=winner", "--columns", "loser=loser"],
        ["--columns is given twice", "commas"],
    ),
    "columns: a blank": (None, [*RANK, "--columns", "winner=winner,", "loser=loser"], ["too many", "in quotes"]),
    "columns: of rows": (
        None,
        ["fit", "train.txt", "--save", "m", "--columns", "winner=a,loser=b"],
        ["train.txt", "--columns is for tables", "Leave out --columns"],
    ),
    "format: of the file": (None, [*RANK, "--format", "csv"], ["--format", '"csv"', "comparisons"]),
    "format: another": (None, [*RANK, "--format", "preflib"], ["matches.csv, line 1", "Write it as in"]),
    "format: rankings": (None, [*RANK, "--format", "rankings"], ["matches.csv", "hold no rankings", "--columns"]),
    "format: rows": (None, [*RANK, "--format", "svmlight"], ["matches.csv, line 1", "Expected: label qid:Q"]),
    "lower wins: no scores": (None, [*RANK, "--lower-wins"], ["matches.csv", "--lower-wins", "scores", "Leave it out"]),
    "lower wins: rows": (
        None,
        ["fit", "train.txt", "--save", "m", "--lower-wins"],
        ["train.txt", "--lower-wins", "Leave"],
    ),
    # models
    "rank: by least squares": (
        None,
        [*RANK, "--model", "rankrls"],
        ["--model", '"rankrls"', "Choose from: auto, bradley-terry, "],
    ),
    "rank: a term that is not one": (
        None,
        [*RANK, "--model", "bradley-terry+sides"],
        ["--model", '"sides" is not a term', '"side"?', "Choose from: side, "],
    ),
    "rank: clusters missing": (
        None,
        [*RANK, "--model", "clusters"],
        ["matches.csv", "--model clusters", "the prompt or task", "--columns cluster=COLUMN"],
    ),
    "rank: features missing": (
        None,
        [*RANK, "--model", "gp"],
        ["matches.csv", "--model gp", "with --items", "--model bradley-terry"],
    ),
    "rank: judges missing": (None, [*RANK, "--model", "judges"], ["matches.csv", "two judges", "--columns judge"]),
    "suggest: features missing": (None, ["suggest", "matches.csv", "--model", "gp"], ["--model gp", "with --items"]),
    "suggest: circles": (
        None,
        ["suggest", "matches.csv", "--model", "both", "--best", "1"],
        ["matches.csv", "circles", "Leave out --best"],
    ),
    "suggest: nobody": (None, ["suggest", "matches.csv", "--judges", ","], ["--judges", "one judge or more"]),
    "suggest: somebody twice": (None, ["suggest", "matches.csv", "--judges", "a,a"], ["--judges", "each once"]),
    "suggest: model of a model": (
        None,
        ["suggest", "bt.preflearn", "--model", "gp"],
        ["bt.preflearn", "model already", "Leave out --model"],
    ),
    "suggest: items of a model": (
        None,
        ["suggest", "bt.preflearn", "--items", "items.csv"],
        ["bt.preflearn", "its own data", "Leave out --items"],
    ),
    "suggest: least squares": (None, ["suggest", "names.preflearn"], ["names.preflearn", "not keep", "Give the table"]),
    "inspect: least squares": (None, ["inspect", "rows.preflearn"], ["rows.preflearn", "not keep", "Give the table"]),
    "predict: several outputs": (
        columns_model,
        ["predict", "columns.preflearn", "test.txt"],
        ["columns.preflearn", "2 scores for each row", "in Python"],
    ),
    "fit: kernel of gp": (
        None,
        ["fit", "matches.csv", "--save", "m", "--model", "gp", "--kernel", "rbf"],
        ["--kernel", "--model gp", "Leave it out", "--model rankrls"],
    ),
    "fit: gp on rows": (
        None,
        ["fit", "train.txt", "--save", "m", "--model", "gp"],
        ["train.txt", "rows with scores", "--model rankrls"],
    ),
    "fit: validation of pairs": (
        None,
        ["fit", "matches.csv", "--save", "m", "--validation", "test.txt"],
        ["--validation", "rows with scores", "Leave it out"],
    ),
    "fit: validation by pairs": (
        None,
        ["fit", "train.txt", "--save", "m", "--validation", "later.csv"],
        ["later.csv", "--validation", "an SVMlight file"],
    ),
    "fit: validation without qid": (
        write("b.txt", "1 1:1\n0 2:1\n"),
        ["fit", "train.txt", "--save", "m", "--validation", "b.txt"],
        ["b.txt", "qid in each line", "Add it to both"],
    ),
    "fit: validation and alpha": (
        None,
        ["fit", "train.txt", "--save", "m", "--validation", "test.txt", "--alpha", "1"],
        ["--validation is for choosing alpha", "one of the two"],
    ),
    "fit: validation of others": (
        None,
        ["fit", "train.txt", "--save", "m", "--validation", "wide.txt"],
        ["wide.txt, line 1", "above 4", "--n-features"],
    ),
    "rank: feature numbers": (
        write("b.txt", "1 qid:1 2000000000:1\n0 qid:1 1:1\n"),
        ["rank", "b.txt"],
        ["b.txt", "largest feature number is 2,000,000,000", "Number them"],
    ),
    "inspect: feature numbers": (
        write("b.txt", "1 qid:1 2000000000:1\n0 qid:1 1:1\n"),
        ["inspect", "b.txt"],
        ["b.txt", "largest feature number is 2,000,000,000", "Number them"],
    ),
    "fit: a feature number with too many digits": (
        write("b.txt", "1 qid:1 999999999:1\n0 qid:1 1:1\n"),
        ["fit", "b.txt", "--save", "m", "--alpha", "1"],
        ["b.txt", "999,999,999", "Number them"],
    ),
    "compare: one model": (None, ["compare", "matches.csv", "thurstone"], ["matches.csv", "thurstone", "two or more"]),
    "compare: one model twice": (None, ["compare", "matches.csv", "both", "both"], ["one model", "two or more"]),
    "compare: unknown": (None, ["compare", "matches.csv", "bradley"], ["MODELS", '"bradley"', '"bradley-terry"?']),
    "compare: auto": (None, ["compare", "matches.csv", "auto", "thurstone"], ["MODELS", '"auto"', "Choose from"]),
    "compare: a file": (None, ["compare", "matches.csv", "later.csv"], ["MODELS", '"later.csv"', "Choose from"]),
    "compare: features missing": (None, ["compare", "matches.csv", "gp", "both"], ["matches.csv", "gp", "--items"]),
    "compare: by item": (None, [*TWO, "--by", "item"], ["matches.csv", "--by item", "--items ITEMS"]),
    "compare: by item, all models": (None, ["compare", "matches.csv", "--by", "item"], ["--by item", "--items ITEMS"]),
    "compare: by judge": (None, [*TWO, "--by", "judge"], ["matches.csv", "--by judge", "--columns judge"]),
    "compare: by something": (None, [*TWO, "--by", "pairs"], ["--by", '"pairs"', '"pair"']),
    "compare: too few pairs": (
        write("b.csv", WINS + "a,b\nb,a\n"),
        ["compare", "b.csv", "bradley-terry", "thurstone"],
        ["b.csv", "same two items", "Give comparisons of other items"],
    ),
    "compare: ties only": (write("b.csv", TIES), ["compare", "b.csv"], ["b.csv", "all comparisons are ties", "Give"]),
    "evaluate: by item": (None, ["evaluate", "matches.csv", "--by", "item"], ["--by item", "--items ITEMS"]),
    "evaluate: by judge": (None, ["evaluate", "matches.csv", "--by", "judge"], ["--by judge", "--columns judge"]),
    "evaluate: names by item": (
        None,
        ["evaluate", "matches.csv", "--items", "items.csv", "--by", "item", "--model", "thurstone"],
        ["matches.csv", "--by item", "thurstone", "gp"],
    ),
    "evaluate: ties only": (write("b.csv", TIES), ["evaluate", "b.csv"], ["b.csv", "all comparisons are ties", "Give"]),
    "evaluate: one pair": (
        write("b.csv", WINS + "a,b\n"),
        ["evaluate", "b.csv"],
        ["b.csv", "same two", "Give comparisons"],
    ),
    "evaluate: no data": (None, ["evaluate", "bt.preflearn"], ["bt.preflearn", "DATA", "missing", "MODEL DATA"]),
    "evaluate: folds of a model": (
        None,
        ["evaluate", "bt.preflearn", "later.csv", "--folds", "3"],
        ["--folds", "bt.preflearn", "Leave it out"],
    ),
    "evaluate: two tables": (
        None,
        ["evaluate", "matches.csv", "later.csv"],
        ["matches.csv", "not a model", "fit DATA"],
    ),
    "evaluate: rows for pairs": (None, ["evaluate", "bt.preflearn", "test.txt"], ["test.txt", "comparisons", "Give"]),
    "evaluate: pairs for rows": (None, ["evaluate", "rows.preflearn", "later.csv"], ["later.csv", "--items ITEMS"]),
    "evaluate: outcomes missing": (
        None,
        ["evaluate", "bt.preflearn", "pairs.csv"],
        ["pairs.csv", "Add a column winner"],
    ),
    "evaluate: rows by judge": (
        None,
        ["evaluate", "test.txt", "--model", "rankrls", "--by", "judge"],
        ["test.txt", "--by is for comparisons", "Leave it out"],
    ),
    "evaluate: rows of one group": (
        write("b.txt", "1 qid:1 1:1\n0 qid:1 2:1\n"),
        ["evaluate", "b.txt", "--model", "rankrls"],
        ["b.txt", "one group", "Give two groups (qid)"],
    ),
    "evaluate: against without a model": (
        None,
        ["evaluate", "test.txt", "--against", "rows.preflearn"],
        ["--against", "a model file first"],
    ),
    "evaluate: against on pairs": (
        None,
        ["evaluate", "bt.preflearn", "later.csv", "--against", "bt.preflearn"],
        ["--against", "later.csv holds comparisons", "preflearn compare"],
    ),
    "evaluate: against a model of others": (
        None,
        ["evaluate", "rows.preflearn", "test.txt", "--against", "bt.preflearn"],
        ["bt.preflearn", "rows with 4 features", "the same features"],
    ),
    "evaluate: against no model": (
        None,
        ["evaluate", "rows.preflearn", "test.txt", "--against", "train.txt"],
        ["train.txt", "not a model"],
    ),
    "evaluate: relevant pairs": (None, ["evaluate", "matches.csv", "--relevant", "1"], ["--relevant", "Leave it out"]),
    # predictions
    "predict: model of standard input": (None, ["predict", "-"], ["MODEL is -", "Give the path"]),
    "predict: items without data": (
        None,
        ["predict", "bt.preflearn", "--items", "items.csv"],
        ["--items", "DATA is missing", "Leave it out"],
    ),
    "predict: unknown item": (
        write("b.csv", "item\nC01\nX\n"),
        ["predict", "bt.preflearn", "b.csv"],
        ["b.csv", '"X"', "12 items", "only the items"],
    ),
    "predict: unknown pair": (
        write("b.csv", "first,second\nC01,X\n"),
        ["predict", "gp.preflearn", "b.csv"],
        ["b.csv, line 2", '"X"', "known items", "Correct"],
    ),
    "predict: a feature is missing": (
        write("b.csv", "item,size\nN,1\n"),
        ["predict", "gp.preflearn", "b.csv"],
        ["b.csv", '"colour"', "same columns"],
    ),
    "predict: a feature is a word": (
        write("b.csv", "item,size,colour\nN,1,2\nM,big,1\n"),
        ["predict", "gp.preflearn", "b.csv"],
        ["b.csv, line 3", '"big"', "Correct it"],
    ),
    "predict: an item twice": (
        write("b.csv", "item,size,colour\nN,1,2\nN,3,4\n"),
        ["predict", "gp.preflearn", "b.csv"],
        ["b.csv, line 3", '"N"', "once"],
    ),
    "predict: items without names": (
        write("b.csv", "size,colour\n1,2\n"),
        ["predict", "gp.preflearn", "b.csv"],
        ["b.csv", "neither", "(item)", "Rename"],
    ),
    "predict: rows": (None, ["predict", "gp.preflearn", "test.txt"], ["test.txt", "rows with scores", "Give pairs"]),
    "predict: an item with itself": (
        write("b.csv", "first,second\nC01,C01\n"),
        ["predict", "bt.preflearn", "b.csv"],
        ["b.csv, line 2", "compared with itself"],
    ),
    "predict: half a pair": (
        write("b.csv", "first,second\nC01,C02\nC01,\n"),
        ["predict", "bt.preflearn", "b.csv"],
        ["b.csv, line 3", "empty", "Fill", "--drop"],
    ),
    # files out
    "out: the same file twice": (None, [*RANK, "--out", "o.csv", "--save", "./o.csv"], ["--out and --save", "its own"]),
    "out: standard output twice": (
        None,
        [*RANK, "--out", "-", "--json"],
        ["both write to standard output", "leave out"],
    ),
    "out: unknown ending": (
        None,
        [*RANK, "--out", "o.xls"],
        ["o.xls", '".xls"', "Use .csv, .tsv", ".parquet or .xlsx"],
    ),
    "out: no ending": (None, [*RANK, "--out", "o"], ["o: the name has no ending", "Use .csv"]),
    "out: a mark in Excel": (None, [*RANK, "--out", "o.xlsx", "--bom"], ["o.xlsx", "byte-order mark", "Leave it out"]),
    "out: a mark without a file": (None, [*RANK, "--bom"], ["--bom is for the file of --out", "add --out"]),
    "predict: unknown ending": (None, ["predict", "bt.preflearn", "--out", "o.doc"], ["o.doc", '".doc"', "Use .csv"]),
    "suggest: unknown ending": (None, ["suggest", "matches.csv", "--out", "o.pdf"], ["o.pdf", '".pdf"', "Use .csv"]),
    "report: unknown ending": (None, [*RANK, "--report", "r.pdf"], ["r.pdf", "web page", "such as r.html"]),
    "anchor: no number": (
        None,
        [*RANK, "--anchor", "Oolong=much"],
        ['--anchor is "Oolong=much"', "such as Oolong=1000"],
    ),
    "anchor: no item": (None, [*RANK, "--anchor", "1000"], ['--anchor is "1000"', "an item and its number"]),
    "anchor: unknown item": (None, [*RANK, "--anchor", "C1=1000"], ['anchor "C1" is not among the 12', "C01"]),
    "scale: unknown": (None, [*RANK, "--scale", "elos"], ["--scale", '"elos"', '"elo"']),
    "by: unknown column": (None, [*RANK, "--by", "year"], ["matches.csv", "year", "winner"]),
    "by: a report": (
        None,
        [*RANK, "--by", "year", "--report", "r.html"],
        ["--report is about one ranking", "Leave out"],
    ),
    "by: a model": (None, [*RANK, "--by", "year", "--save", "m"], ["--save is about one ranking", "Leave out"]),
    "by: a scale that is not shown": (None, [*RANK, "--by", "year", "--scale", "elo"], ["have no scale", "Add --out"]),
    "by: rows with scores": (None, ["rank", "train.txt", "--by", "qid"], ["train.txt", "no columns", "Leave out --by"]),
    "out: nothing": (None, [*RANK, "--out", ""], ["--out", "empty", "Give the path"]),
    "report: exists": (write("r.html", ""), [*RANK, "--report", "r.html"], ["r.html", "exists", "--force", "--report"]),
    "report: a directory": (directory("d"), [*RANK, "--report", "d"], ["d: this is a directory", "--report"]),
    "report: no directory": (None, [*RANK, "--report", "no/r.html"], ["no/r.html", "Create it", "--report"]),
    "save: a pipe": (pipe("p"), [*RANK, "--save", "p"], ["p: this is not a regular file", "--save another"]),
    "save: over the items": (
        None,
        [*RANK, "--items", "items.csv", "--save", "items.csv", "--force"],
        ["items.csv", "read by the same command", "--save another"],
    ),
    "suggest: out exists": (None, ["suggest", "matches.csv", "--out", "items.csv"], ["items.csv", "exists", "--force"]),
    "convert: where to": (None, OUT, ["OUT is missing", "convert --help"]),
    "convert: unknown ending": (None, [*OUT, "o.xls"], ["o.xls", '".xls"', "Use .csv"]),
    "convert: no ending": (None, [*OUT, "o"], ["o: ", "ending", "Use .csv"]),
    "convert: onto itself": (None, [*OUT, "matches.csv", "--force"], ["matches.csv", "same command", "OUT another"]),
    "convert: exists": (None, [*OUT, "later.csv"], ["later.csv", "exists", "--force"]),
    "convert: a directory": (directory("d.csv"), [*OUT, "d.csv"], ["d.csv", "directory", "OUT the path"]),
    "convert: standard output": (None, [*OUT, "-"], ["OUT is -", "Give the path"]),
    "convert: pairs to rankings": (None, [*OUT, "o.soc"], ["o.soc", "not rankings", ".csv"]),
    "convert: no features": (None, [*OUT, "o.svmlight"], ["o.svmlight", "have none", "--items"]),
    "convert: layout of rankings": (None, [*OUT, "o.soc", "--layout", "winner-loser"], ["o.soc", "--layout", "Leave"]),
    "convert: unknown layout": (None, [*OUT, "o.csv", "--layout", "wl"], ["--layout", '"wl"', '"winner-loser"']),
    "convert: a model": (None, ["convert", "bt.preflearn", "o.csv"], ["bt.preflearn", "model file", "data file"]),
    "convert: ties have no winner": (
        write("b.csv", TIES),
        ["convert", "b.csv", "o.csv", "--layout", "winner-loser"],
        ["o.csv", "2 comparisons", "tie", "--layout left-right-winner"],
    ),
    "convert: a circle is no ranking": (
        write("b.csv", "winner,loser,group\na,b,1\nb,c,1\nc,a,1\n"),
        ["convert", "b.csv", "o.soc"],
        ["o.soc", "group 1", "contradict", ".csv"],
    ),
    "convert: ties in strict orders": (
        write("b.csv", "ranking\na > b = c\n"),
        ["convert", "b.csv", "o.soc"],
        ["o.soc", "ties", "ending .toc"],
    ),
    "convert: equal scores": (
        write("b.txt", "1 qid:1 1:1\n1 qid:1 1:2\n"),
        ["convert", "b.txt", "o.csv"],
        ["b.txt", "differ in score", "Check"],
    ),
    "convert: items of rows": (
        None,
        ["convert", "train.txt", "o.svmlight", "--items", "items.csv"],
        ["train.txt", "their own features", "Leave out --items"],
    ),
}
