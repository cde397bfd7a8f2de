"""What people do wrong with files: what the person did -> (preparation, command, words of the answer)."""

import gzip
import os

WINS = "winner,loser\n"
SIDES = "left,right,winner\n"
SCORES = "home,away,score_home,score_away\n"
ITEMS = "item,size\n" + "".join(f"C{i:02d},{i}\n" for i in range(12))
PREFLIB = "# NUMBER ALTERNATIVES: 3\n" + "".join(f"# ALTERNATIVE NAME {i}: {name}\n" for i, name in enumerate("abc", 1))
LINE = '{"winner": "a", "loser": "b"}\n'


def write(name, text):
    """Return a preparation that writes a file."""

    def prepare(folder):
        (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return prepare


def directory(name):
    return lambda folder: (folder / name).mkdir()


def link(name, target):
    return lambda folder: (folder / name).symlink_to(target)


def pipe(name):
    return lambda folder: os.mkfifo(folder / name)


def data(text, name="bad.csv"):
    """Return the preparation and the command of ranking a bad file."""
    return write(name, text), ["rank", name]


RANK = ["rank", "matches.csv"]

FILES = {
    # no table at all
    "rank: wrong path": (None, ["rank", "matchs.csv"], ["matchs.csv", "no such file", '"matches.csv"', "Check"]),
    "rank: an address": (None, ["rank", "https://a.org/m.csv"], ["https://a.org/m.csv", "address", "Download"]),
    "rank: an empty name": (None, ["rank", ""], ["name of the file is empty", "Give the path"]),
    "rank: a directory": (directory("d"), ["rank", "d"], ["d: no file in this directory", "one file"]),
    "rank: a dangling link": (link("l.csv", "gone"), ["rank", "l.csv"], ["l.csv", "no such file", "Check the path"]),
    "rank: an empty file": (*data(""), ["bad.csv", "empty", "Give a file"]),
    "rank: blank lines": (*data("\n \n\n"), ["bad.csv", "empty"]),
    "rank: a header only": (*data(WINS), ["bad.csv", "no rows", "complete"]),
    "rank: a model": (None, ["rank", "bt.preflearn"], ["bt.preflearn", "model file", "Give a data file"]),
    "rank: a table of items": (None, ["rank", "items.csv"], ["items.csv", "do not say who", "--columns"]),
    "rank: a picture": (*data(b"\x89PNG\r\n\x1a\n"), ["bad.csv", "picture", "CSV"]),
    "rank: a web page": (*data("<!DOCTYPE html><html>"), ["bad.csv", "web page", "Download"]),
    "rank: a script": (*data("import numpy as np\nprint(1)\n"), ["bad.csv, line 1", "one column", "Separate"]),
    "rank: zero bytes": (*data(b"winner,loser\na,b\na\0,b\n"), ["bad.csv, line 3", "binary", "text file"]),
    "rank: a cut gzip": (
        *data(gzip.compress((WINS + "a,b\n" * 999).encode(), mtime=0)[:-9], "bad.csv.gz"),
        ["bad.csv.gz", "cut off", "again"],
    ),
    "rank: a bad Parquet file": (*data(b"PAR1 ...", "bad.parquet"), ["bad.parquet", "not a readable Parquet", "again"]),
    # letters
    "rank: Latin-1": (*data("winner,loser\na,b\nzwölf,b\n".encode("latin-1")), ["bad.csv, line 3", "UTF-8", "Save"]),
    "rank: UTF-16 without a mark": (*data((WINS + "a,b\n").encode("utf-16-le")), ["bad.csv", "UTF-16", "as UTF-8"]),
    "rank: half of UTF-16": (*data((WINS + "a,b\n").encode("utf-16")[:-1]), ["bad.csv", "UTF-16", "as UTF-8"]),
    # delimiters and quotes
    "rank: colons between cells": (*data("winner:loser\na:b\n"), ["bad.csv, line 1", "one column", "comma"]),
    "rank: blanks between cells": (*data("winner loser\na b\n"), ["bad.csv, line 1", "one column", "comma"]),
    "rank: two delimiters": (*data(WINS + "a,b\nb;c\n"), ["bad.csv, line 3", "1 cell", "quotes"]),
    "rank: a comma in a name": (*data(WINS + "a,b\nSmith, J,b\n"), ["bad.csv, line 3", "3 cells", "in quotes"]),
    "rank: an open quote": (*data(WINS + 'a,b\n"c,b\n'), ["bad.csv, line 3", "quote", "Check"]),
    "rank: text after a quote": (*data(WINS + '"a"x,b\n'), ["bad.csv, line 2", "Check the quotes"]),
    "rank: a column twice": (*data("winner,loser,loser\na,b,c\n"), ["bad.csv, line 1", '"loser"', "Rename"]),
    "rank: no header": (*data("ann,bob\nbob,cy\n"), ["bad.csv, line 1", "header is missing", "winner,loser"]),
    "rank: a title above the header": (*data("Results\n\nwinner,loser\na,b\n"), ["line 1", "one cell", "Delete"]),
    # JSON
    "rank: one JSON object with all": (
        *data('{"all": [{"winner": "a"}]}', "bad.json"),
        ["bad.json", 'inside "all"', "one object per line"],
    ),
    "rank: JSON over several lines": (*data('{\n"winner": "a"\n}', "bad.json"), ["bad.json, line 1", "per line"]),
    "rank: cut JSON": (*data(LINE + '{"winner": "a",\n', "bad.jsonl"), ["bad.jsonl, line 2", "not JSON", "Write"]),
    "rank: JSON that is no object": (
        *data(LINE + "3\n", "bad.jsonl"),
        ["bad.jsonl, line 2", "'3'", "Write one object"],
    ),
    "rank: a key is missing": (*data(LINE + '{"winner": "a"}', "bad.jsonl"), ["line 2", "loser", "empty", "Fill"]),
    "rank: a value is null": (*data(LINE + '{"winner": null, "loser": "b"}', "bad.jsonl"), ["line 2", "empty", "Fill"]),
    "rank: a nested value": (
        *data(LINE + '{"winner": {"name": "a"}, "loser": "b"}', "bad.jsonl"),
        ["bad.jsonl, line 2", "holds an object", "Write a name"],
    ),
    "rank: a list of lists": (*data('[["a", "b"]]', "bad.json"), ["bad.json, entry 1", "not an object", "Write one"]),
    # who won
    "rank: sides without a winner": (
        *data("left,right\na,b\n"),
        ["bad.csv", "who was preferred", "Add a column winner"],
    ),
    "rank: an empty winner": (*data(SIDES + "a,b,a\nb,c,\n"), ["bad.csv, line 3", "empty", "Fill", "--drop"]),
    "rank: the winner is neither": (
        *data(SIDES + "a,b,a\nb,c,d\n"),
        ["bad.csv, line 3", '"d"', '"b" nor "c"', "Write"],
    ),
    "rank: another language": (*data(SIDES + "a,b,links\nb,c,rechts\n"), ["line 2", '"links"', "left or right"]),
    "rank: an item against itself": (
        *data(WINS + "a,b\nc,c\n"),
        ["bad.csv, line 3", "compared with itself", "Delete", "--drop"],
    ),
    "rank: one item only": (*data(WINS + "a,a\na,a\n"), ["bad.csv, line 2", "2 of 2 rows", "different columns"]),
    "rank: an empty side": (*data(WINS + "a,b\n,b\n"), ["bad.csv, line 3", "winner", "empty", "Fill"]),
    "rank: a score is no number": (*data(SCORES + "a,b,2,1\nb,a,two,1\n"), ["bad.csv, line 3", '"two"', "Correct"]),
    "rank: a score is nan": (*data(SCORES + "a,b,2,1\nb,a,nan,1\n"), ["bad.csv, line 3", '"nan"', "Fill the cell"]),
    "rank: a score is infinite": (*data(SCORES + "a,b,inf,1\n"), ["bad.csv, line 2", '"inf"', "finite", "Correct"]),
    "rank: a score is missing": (*data(SCORES + "a,b,,1\n"), ["bad.csv, line 2", "score_home", "empty", "Fill"]),
    "rank: an outcome is nan": (
        *data("first,second,outcome\na,b,1\nb,c,nan\n"),
        ["bad.csv, line 3", "nan", "Write"],
    ),
    # weights, judges
    "rank: a weight below zero": (
        *data("winner,loser,weight\na,b,1\nb,c,-1\n"),
        ["bad.csv, line 3", "negative", ">= 0"],
    ),
    "rank: all weights zero": (*data("winner,loser,weight\na,b,0\nb,c,0\n"), ["bad.csv", "all 2 weights", "Raise"]),
    "rank: a weight is a word": (*data("winner,loser,weight\na,b,1\nb,c,much\n"), ["line 3", '"much"', "Correct"]),
    "rank: a judge is missing": (*data("judge,winner,loser\nx,a,b\n,b,c\n"), ["line 3", "judge", "empty", "Fill"]),
    # rankings
    "rank: a ranking of one item": (*data("ranking\na\n"), ["bad.csv, line 2", "one item only", "a > b"]),
    "rank: an item twice in a ranking": (*data("ranking\na > b > a\n"), ["bad.csv, line 2", '"a"', "once"]),
    "rank: a ranking is empty": (*data("id,ranking\n1,a > b\n2,\n"), ["bad.csv, line 3", "ranking", "Fill"]),
    "rank: a ranking stops": (*data("ranking\na > b >\n"), ["bad.csv, line 2", "without an item", "Write it"]),
    "rank: PrefLib, unknown number": (*data(PREFLIB + "1: 1,7\n", "b.soi"), ["b.soi, line 5", '"7"', "Correct"]),
    "rank: PrefLib, number twice": (*data(PREFLIB + "1: 1,2,2\n", "b.soi"), ["b.soi, line 5", '"b"', "once"]),
    "rank: PrefLib, no rankings": (*data(PREFLIB, "b.soi"), ["b.soi", "no rankings", "Add lines"]),
    "rank: PrefLib, braces": (*data(PREFLIB + "1: 1,{2,3\n", "b.toc"), ["b.toc, line 5", "braces", "Write"]),
    "rank: PrefLib, count": (*data(PREFLIB + "x: 1,2\n", "b.soi"), ["b.soi, line 5", '"x: 1,2"', "Write it"]),
    "rank: PrefLib, one item": (*data(PREFLIB + "1: 1\n", "b.soi"), ["b.soi", "two items", "Give a ranking"]),
    "rank: rows without pairs": (*data("1 qid:1 1:1\n1 qid:2 1:2\n", "b.txt"), ["b.txt", "differ in score", "Check"]),
    # items
    "items: wrong path": (None, [*RANK, "--items", "itms.csv"], ["itms.csv", "no such file", '"items.csv"']),
    "items: a directory": (directory("d"), [*RANK, "--items", "d"], ["d: this is a directory", "one file"]),
    "items: a model": (None, [*RANK, "--items", "bt.preflearn"], ["bt.preflearn", "model file", "--items a table"]),
    "items: the data": (None, [*RANK, "--items", "matches.csv"], ["matches.csv", "both", "Give --items"]),
    "items: rows with scores": (None, [*RANK, "--items", "train.txt"], ["train.txt", "SVMlight", "column of names"]),
    "items: nothing in it": (write("i.csv", ""), [*RANK, "--items", "i.csv"], ["i.csv", "empty", "Give a file"]),
    "items: a header only": (write("i.csv", "item,size\n"), [*RANK, "--items", "i.csv"], ["i.csv", "no rows"]),
    "items: no names": (
        write("i.csv", "size,age\n1,2\n"),
        [*RANK, "--items", "i.csv"],
        ["i.csv", '"C01"', "Add a column"],
    ),
    "items: one is missing": (
        write("i.csv", ITEMS.replace("C07,7\n", "")),
        [*RANK, "--items", "i.csv"],
        ["matches.csv, line", '"C07" is not in i.csv', "add the item"],
    ),
    "items: one is listed twice": (
        write("i.csv", ITEMS + "C07,3\n"),
        [*RANK, "--items", "i.csv"],
        ["i.csv, line 14", '"C07"', "line 9", "once"],
    ),
    "items: infinite": (
        write("i.csv", ITEMS.replace("C07,7", "C07,inf")),
        [*RANK, "--items", "i.csv"],
        ["i.csv, line 9", '"inf"', "Correct it"],
    ),
    "items: a word among numbers": (
        write("i.csv", ITEMS.replace("C07,7", "C07,big")),
        [*RANK, "--items", "i.csv"],
        ["i.csv, line 9", '"big"', "Correct it"],
    ),
    "items: no features for gp": (
        write("i.csv", "item\n" + "".join(f"C{i:02d}\n" for i in range(12))),
        [*RANK, "--items", "i.csv", "--model", "gp"],
        ["matches.csv", "--model gp", "the items have none", "--items"],
    ),
}
