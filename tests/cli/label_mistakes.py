"""What people do wrong with labels: what the person did -> (preparation, command, words of the answer)."""

from more_mistakes import write

from preflearn import save
from preflearn.baselines import LabelConstraintSVM, LabelFrequencies
from preflearn.io import read_label_preferences

ROWS = "age,town,ranking\n" + "".join(
    f"{20 + 3 * k},{('Rome', 'Bern')[k % 2]},{('tea > milk > juice', 'juice > milk > tea')[k > 5]}\n" for k in range(12)
)


def bad(old, new, count=-1):
    """Return the preparation that writes the rows with something else in them."""
    assert old in ROWS
    return write("bad.csv", ROWS.replace(old, new, count))


def model(folder):
    """Save a model of the rows, drinks.preflearn, and one without probabilities, margins.preflearn."""
    (folder / "drinks.csv").write_text(ROWS)
    read = read_label_preferences(folder / "drinks.csv")
    notes = {"trained_on": "drinks.csv", "encoder": read.encoder.to_dict(), "labels": read.columns}
    save(LabelFrequencies().fit(read.data), folder / "drinks.preflearn", notes=notes)
    save(LabelConstraintSVM().fit(read.data), folder / "margins.preflearn", notes=notes)


def later(text):
    """Return the preparation that writes a model and new rows."""

    def prepare(folder):
        model(folder)
        (folder / "new.csv").write_text(text)

    return prepare


FIT = ["fit", "bad.csv", "--save", "m"]
ASK = ["predict", "drinks.preflearn", "new.csv"]
JUDGE = ["evaluate", "drinks.preflearn", "new.csv"]
CLASS = "size,colour,y\n" + "".join(f"{k},{('red', 'blue', 'grey')[k % 3]},{'ab'[k > 4]}\n" for k in range(10))
RANKS = "age,rank_tea,rank_milk,rank_juice\n" + "".join(f"{k},{1 + k % 2},{2 - k % 2},3\n" for k in range(8))
PLACES = "age,L1,L2,L3\n" + "".join(f"{k},{1 + k % 2},{2 - k % 2},3\n" for k in range(8))

LABELS = {
    # what rows say of labels
    "labels: a ranking missing": (
        bad("tea > milk > juice", "", 1),
        FIT,
        ["bad.csv, line 2", "the ranking is empty", "1 of 12 rows", "Fill the cell", "--drop"],
    ),
    "labels: a label twice": (
        bad("tea > milk > juice", "tea > milk > tea", 1),
        FIT,
        ["line 2", '"tea" more than once'],
    ),
    "labels: a gap": (bad("tea > milk > juice", "tea >> > juice", 1), FIT, ["line 2", "a place without an item"]),
    "labels: one label": (
        write("bad.csv", "age,class\n" + "".join(f"{k},a\n" for k in range(5))),
        [*FIT, "--columns", "class=class"],
        ["bad.csv", 'only one label ("a")', "right column"],
    ),
    "labels: one label of each": (
        write("bad.csv", "age,ranking\n1,a\n2,b\n3,a\n"),
        [*FIT, "--columns", "ranking=ranking"],
        ["bad.csv", "one item only"],
    ),
    "labels: nothing said": (
        write("bad.csv", "age,rank_a,rank_b\n1,1,\n2,,1\n3,1,\n"),
        FIT,
        ["bad.csv", "none of the 3 rows prefers one label"],
    ),
    "labels: rank is a word": (
        write("bad.csv", RANKS.replace("3\n", "last\n", 1)),
        [*FIT, "--columns", "labels=rank_tea+rank_milk+rank_juice"],
        ["bad.csv, line 2", '"last"', 'the rank of "juice"', "Write 1", "empty"],
    ),
    "labels: ranks or labels": (
        write("bad.csv", PLACES),
        FIT,
        ["bad.csv", "either the rank of each label, or the label on each place", "--columns labels=L1+L2+L3"],
    ),
    "labels: one column of ranks": (
        write("bad.csv", RANKS),
        [*FIT, "--columns", "labels=rank_tea"],
        ["1 column of ranks", "--columns labels="],
    ),
    "labels: class not named": (write("bad.csv", CLASS), FIT, ["bad.csv", "--columns class=y"]),
    "labels: class not named, to compare": (
        write("bad.csv", CLASS),
        ["compare", "bad.csv"],
        ["bad.csv", "--columns class=y"],
    ),
    "labels: class not named, but the model": (
        write("bad.csv", CLASS),
        ["evaluate", "bad.csv", "--model", "label-gp"],
        ["bad.csv", "which labels suit each row", "--columns class=y"],
    ),
    "labels: class misspelt": (
        write("bad.csv", CLASS),
        [*FIT, "--columns", "class=z"],
        ["bad.csv", "no column 'z' for class", "Name one"],
    ),
    "labels: class and ranking": (
        write("bad.csv", ROWS),
        [*FIT, "--columns", "class=town,ranking=ranking"],
        ["bad.csv", '"ranking", "class"', "Name one of them"],
    ),
    # features
    "labels: a word among numbers": (
        bad("26,", "old,", 1),
        FIT,
        ["bad.csv, line 4", 'column "age" holds "old" among numbers', "--columns without=age"],
    ),
    "labels: no feature is one": (
        write("bad.csv", "person,ranking\nann,a > b\nbob,b > a\n"),
        [*FIT, "--columns", "ranking=ranking"],
        ["bad.csv", "rows have no features", "--columns features=COLUMN+COLUMN"],
    ),
    "labels: a weight": (
        write("bad.csv", ROWS.replace("age", "weight")),
        FIT,
        ["bad.csv", '"weight" could be a feature', "--columns weight=none", "--columns weight=weight"],
    ),
    "labels: a weight below 0": (
        write("bad.csv", ROWS.replace("age", "weight").replace("26,", "-26,")),
        [*FIT, "--columns", "weight=weight"],
        ["bad.csv, line 4", "is -26 here", "above 0"],
    ),
    "labels: a feature called like a label": (
        write("bad.csv", ROWS.replace("age", "tea")),
        FIT,
        ["bad.csv", 'has the name of the label "tea"', "another name", "--columns without=tea"],
    ),
    # commands and options
    "labels: of rank": (
        write("bad.csv", CLASS.replace("y", "class", 1)),
        ["rank", "bad.csv"],
        ["its class", "preflearn fit"],
    ),
    "labels: role in rank": (
        write("bad.csv", CLASS),
        ["rank", "bad.csv", "--columns", "class=y"],
        ["--columns", '"class" is for tables whose rows have features', "preflearn fit DATA"],
    ),
    "labels: model of items": (
        write("bad.csv", ROWS),
        [*FIT, "--model", "gp"],
        ["bad.csv", "comparisons of items with features", "Use label-gp"],
    ),
    "labels: models of two kinds": (
        write("bad.csv", ROWS),
        ["compare", "bad.csv", "label-gp", "thurstone"],
        ["label-gp learns from rows", "Name models of one kind"],
    ),
    "labels: one model": (write("bad.csv", ROWS), ["compare", "bad.csv", "label-gp"], ["bad.csv", "Name two or more"]),
    "labels: model of labels for comparisons": (
        None,
        ["fit", "matches.csv", "--save", "m", "--model", "label-gp"],
        ["matches.csv", "do not say which labels suit each row", "--columns class="],
    ),
    "labels: model of labels for rows": (
        None,
        ["fit", "train.txt", "--save", "m", "--model", "label-gp"],
        ["train.txt", "features and a ranking or a class"],
    ),
    "labels: options of comparisons": (
        write("bad.csv", ROWS),
        [*FIT, "--lower-wins"],
        ["bad.csv", "--lower-wins is for"],
    ),
    "labels: by item": (write("bad.csv", ROWS), ["evaluate", "bad.csv", "--by", "item"], ["--by item", "Leave it out"]),
    "labels: relevant": (
        write("bad.csv", ROWS),
        ["evaluate", "bad.csv", "--relevant", "1"],
        ["--relevant is for grades", "Leave it out"],
    ),
    # new rows
    "labels: a feature missing": (later("age\n30\n"), ASK, ["new.csv", 'no column "town"', "same columns"]),
    "labels: a feature of another kind": (
        later("age,town\nold,Rome\n"),
        ASK,
        ["new.csv, line 2", '"old"', "not a finite number"],
    ),
    "labels: another label": (
        later("age,town,ranking\n30,Rome,tea > beer\n"),
        JUDGE,
        ["new.csv, line 2", '"beer" is not one of the 3 known labels', "Correct it"],
    ),
    "labels: judged without": (later("age,town\n30,Rome\n31,Bern\n"), JUDGE, ["new.csv", "do not say which labels"]),
    "labels: no rows": (model, ["predict", "drinks.preflearn"], ["DATA is missing"]),
    "labels: items": (
        later("age,town\n30,Rome\n"),
        [*ASK, "--items", "items.csv"],
        ["new.csv", "--items is for comparisons", "Leave it out"],
    ),
    "labels: rows of another kind": (
        model,
        ["predict", "drinks.preflearn", "test.txt"],
        ["test.txt", "ranks labels for rows with features"],
    ),
    "labels: pairs without probabilities": (
        later("age,town\n30,Rome\n"),
        ["predict", "margins.preflearn", "new.csv", "--pairs"],
        ["margins.preflearn", "no probabilities", "Leave out --pairs"],
    ),
    "labels: pairs of a ranking": (None, ["predict", "bt.preflearn", "--pairs"], ["bt.preflearn", "--pairs is for"]),
    "labels: grades": (later(ROWS), [*JUDGE, "--relevant", "2"], ["--relevant is for grades", "Leave it out"]),
    "labels: a model to inspect": (
        model,
        ["inspect", "drinks.preflearn"],
        ["drinks.preflearn", "a model of labels", "Give a table"],
    ),
}
