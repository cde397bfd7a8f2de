"""Tables of rows with features and labels: every layout says the same, and what is not sure is asked."""

import numpy as np
import pandas as pd
import pytest

from preflearn.data import from_class_labels, from_label_rankings
from preflearn.exceptions import DataError, DataWarning
from preflearn.io import read_label_preferences, read_preferences

ORDERS = [["tea", "milk", "juice"], ["juice", "tea", "milk"], ["milk", "juice", "tea"], ["tea", "juice", "milk"]]
AGE = [20.0, 35.0, 50.0, 70.0]
X = pd.DataFrame({"age": np.array(AGE) / np.std(AGE)})


def said(data):
    """Return all that is said: item, better and worse label."""
    names = data.labels.tolist()
    edges = zip(data.item, data.first, data.second, data.outcome, strict=True)
    return {(int(i), *((names[a], names[b]) if won > 0 else (names[b], names[a]))) for i, a, b, won in edges}


def place(order, label):
    return order.index(label) + 1


LAYOUTS = {
    "text": {"ranking": [" > ".join(order) for order in ORDERS]},
    "text of another name": {"Rang": [">".join(order) for order in ORDERS]},
    "places": {f"choice{k + 1}": [order[k] for order in ORDERS] for k in range(3)},
    "ranks": {f"rank_{label}": [place(order, label) for order in ORDERS] for label in sorted(ORDERS[0])},
    "ranks behind": {f"{label} rank": [place(order, label) for order in ORDERS] for label in sorted(ORDERS[0])},
    "ranks from 0": {f"pos.{label}": [place(order, label) - 1 for order in ORDERS] for label in sorted(ORDERS[0])},
    "named ranks": {label: [10.0 * place(order, label) for order in ORDERS] for label in sorted(ORDERS[0])},
    "text and ranks": {
        "ranking": [" > ".join(order) for order in ORDERS],
        **{label: [place(order, label) for order in ORDERS] for label in ORDERS[0]},
    },
}
NAMED = {"text of another name": {"ranking": "Rang"}, "named ranks": {"labels": "juice+milk+tea"}}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("kind", ["file", "frame"])
def test_every_layout_says_the_same(name, kind, tmp_path):
    frame = pd.DataFrame({"age": AGE, **LAYOUTS[name]})
    source = frame
    if kind == "file":
        source = tmp_path / "people.csv"
        frame.to_csv(source, index=False)
    read = read_label_preferences(source, columns=NAMED.get(name))
    assert said(read.data) == said(from_label_rankings(X, ORDERS))
    assert read.data.labels.tolist() == ["juice", "milk", "tea"]
    np.testing.assert_allclose(read.data.items, X)
    assert read.encoder.columns == ("age",)


def test_partial_rankings_and_equals_say_less():
    table = {"age": AGE, "ranking": ["tea > milk = juice", "tea > juice", "milk", "juice > milk > tea"]}
    with pytest.warns(UserWarning, match="1 of 4 rankings compare no two"):
        read = read_label_preferences(table)
    with pytest.warns(UserWarning, match="1 of 4 rankings"):
        want = from_label_rankings(
            X, [["tea", ("milk", "juice")], ["tea", "juice"], ["milk"], ["juice", "milk", "tea"]]
        )
    assert said(read.data) == said(want)
    assert "2 rows rank fewer than all 3. 1 row ranks some as equals" in read.notes[1]


def test_a_class_is_preferred_to_every_other_one():
    table = {"age": AGE, "class": ["b", "a", "c", "a"]}
    read = read_label_preferences(table)
    assert said(read.data) == said(from_class_labels(X, table["class"]))
    assert (read.layout, read.columns) == ("class", {"class": "class"})
    again = read_label_preferences({"age": AGE, "kind": ["b", "a", "c", "a"]}, columns="class=kind")
    assert said(again.data) == said(read.data)
    with pytest.raises(DataError, match='name the column of the class: columns="class=kind"') as caught:
        read_label_preferences({"age": AGE * 2, "kind": ["b", "a", "c", "a"] * 2})
    assert caught.value.message.code == "no-labels-on-rows"


def test_classes_in_numbers_are_in_their_order():
    read = read_label_preferences({"age": AGE, "class": [10, 2, 9, 2]})
    assert read.data.labels.tolist() == ["2", "9", "10"]


def test_weights_count_only_if_that_is_said():
    table = {"age": AGE, "weight": [1, 2, 3, 4], **LAYOUTS["text"]}
    with pytest.raises(DataError, match="could be a feature, or say how often"):
        read_label_preferences(table)
    assert read_label_preferences(table, columns="weight=none").encoder.columns == ("age", "weight")
    read = read_label_preferences(table, columns="weight=weight")
    assert read.encoder.columns == ("age",)
    np.testing.assert_array_equal(read.data.weight, np.repeat([1.0, 2, 3, 4], 3))


def test_columns_that_name_or_date_rows_are_no_features():
    table = {"id": [7, 3, 9, 1], "date": ["2024-01-01"] * 4, "age": AGE, "voter": [1, 1, 2, 2], **LAYOUTS["text"]}
    read = read_label_preferences(table)
    assert read.encoder.columns == ("age",)
    assert read.data.names.tolist() == [7, 3, 9, 1]
    assert any('"date", "voter" (they name, number or date the rows)' in note for note in read.notes)
    some = read_label_preferences(table, columns={"features": ["age", "voter"], "name": "id"})
    assert some.encoder.columns == ("age", "voter")
    assert read_label_preferences(table, columns="without=age+voter,features=voter").encoder.columns == ("voter",)


def test_new_rows_are_encoded_as_those_of_training():
    table = {"age": [20.0, None, 50.0, 70.0], "town": ["Rome", "Bern", "Bern", "Rome"], **LAYOUTS["text"]}
    read = read_label_preferences(table)
    new = {"town": ["Bern", "Oslo"], "age": [35.0, None]}
    with pytest.warns(UserWarning, match="Oslo"):
        rows = read_label_preferences(new, encoder=read.encoder, need_labels=False)
    assert rows.data is None
    assert rows.items.feature_names == read.data.feature_names
    spread = np.std([20.0, 50.0, 70.0])
    np.testing.assert_allclose(rows.items.values, [[35 / spread, 0, 1, 0], [50 / spread, 1, 0, 0]])


def test_columns_called_like_labels_must_repeat_the_ranking():
    table = {"age": AGE, **LAYOUTS["text and ranks"]}
    assert '"tea", "milk", "juice" repeat the ranking' in str(read_label_preferences(table))
    with pytest.raises(DataError, match="has the name of the label"):
        read_label_preferences(table | {"milk": [1, 1, 1, 3]})


def test_numbers_in_numbered_columns_are_asked_about():
    for stem in ("L", "rank"):
        table = {"age": AGE, f"{stem}1": [1, 2, 1, 3], f"{stem}2": [2, 1, 3, 1], f"{stem}3": [3, 3, 2, 2]}
        with pytest.raises(DataError, match="either the rank of each label, or the label on each place"):
            read_label_preferences(table)
        read = read_label_preferences(table, columns=f"labels={stem}1+{stem}2+{stem}3")
        assert (1, f"{stem}2", f"{stem}1") in said(read.data)
    placed = read_label_preferences(table, form="rankings")
    assert (1, "2", "1") in said(placed.data)
    assert (1, "1", "2") not in said(placed.data)


@pytest.mark.parametrize(
    "table",
    [
        {"winner": ["a", "b"], "loser": ["b", "a"], "class": ["x", "y"]},
        {"voter": [1, 2, 3], "ranking": ["a > b", "b > a", "a > b"]},
        {"race": [1, 1, 2], "item": ["a", "b", "a"], "place": [1, 2, 1]},
        {"world_rank": [310, 22], "elo_rank": [200, 15]},
    ],
)
def test_what_has_no_labels_or_no_features_is_not_taken_for_such_rows(table):
    with pytest.raises(DataError, match="do not say which labels"):
        read_label_preferences(table)


def test_a_reader_of_comparisons_says_what_such_rows_are_for():
    read = read_preferences({"age": AGE, **LAYOUTS["text"]})
    assert len(read.data) == 12
    assert any("describe the rows" in note for note in read.notes)
    with pytest.raises(DataError, match=r"each row has features and its class.*read_label_preferences"):
        read_preferences({"age": AGE, "class": list("abab")})
    with pytest.raises(DataError, match="read_label_preferences"):
        read_preferences({"age": AGE, "kind": list("abab")}, columns="class=kind")
    assert not any("describe" in note for note in read_preferences({"voter": [1, 2], "ranking": ["a > b"] * 2}).notes)


def test_rows_without_a_ranking_are_left_out_if_asked():
    table = {"age": AGE, "ranking": ["a > b", "", "b > a", "a > b"]}
    with pytest.raises(DataError, match="the ranking is empty"):
        read_label_preferences(table)
    read = read_label_preferences(table, missing="drop")
    assert len(read.data) == 3
    assert any("Dropped: 1 of 4 rows" in note for note in read.notes)


def rankings(*odd):
    """Return a table of 20 rankings, the first of them as given."""
    usual = ["tea > milk > juice", "juice > tea > milk"] * 10
    return {"age": [float(k % 7) for k in range(20)], "ranking": [*odd, *usual[len(odd) :]]}


def test_a_label_of_one_row_only_is_warned_of_with_the_nearest_name():
    with pytest.warns(DataWarning, match='"mikl" \\(row 0; nearest names: "milk"\\). It counts as a label of its own'):
        read = read_label_preferences(rankings("tea > mikl > juice"))
    assert read.data.n_labels == 4
    with pytest.warns(DataWarning, match='2 labels occur in one row only: "mikl".*"water" \\(row 1\\). They count'):
        read_label_preferences(rankings("tea > mikl > juice", "tea > milk > juice > water"))
    classes = {"age": [float(k) for k in range(9)], "class": ["setosa", "virginica"] * 4 + ["setossa"]}
    with pytest.warns(DataWarning, match='"setossa" \\(row 8; nearest names: "setosa"\\)'):
        read_label_preferences(classes)


@pytest.mark.parametrize(
    ("table", "why"),
    [
        (rankings("tea > milk > juice"), "all are usual"),
        (rankings("tea > mikl > juice", "juice > mikl"), "two rows are enough"),
        ({"age": [1.0, 2.0], "ranking": ["tea > mikl", "tea > milk"]}, "too few rows to know"),
        ({"age": [float(k) for k in range(9)], "ranking": [f"a{k} > b{k}" for k in range(9)]}, "all are rare"),
    ],
)
def test_other_labels_are_not_warned_of(table, why):
    read_label_preferences(table)  # warnings are errors
    # labels that were given are all known
    with pytest.raises(DataError, match='"mikl" is not one of the 3 known labels'):
        read_label_preferences(rankings("tea > mikl"), labels=["tea", "milk", "juice"])


def test_numbered_names_and_labels_of_the_same_row_are_not_near():
    with pytest.warns(DataWarning, match='"item9" \\(row 0\\)'):
        read_label_preferences(
            {"age": [float(k % 7) for k in range(20)], "ranking": ["item1 > item9"] + ["item1 > item2"] * 19}
        )
    with pytest.warns(DataWarning, match='"milks" \\(row 0\\)'):
        read_label_preferences(rankings("tea > milk > milks > juice"))


def test_strengths_in_rankings_are_said_to_be_lost():
    read = read_label_preferences(rankings("tea >> milk > juice"))
    assert said(read.data) == said(read_label_preferences(rankings("tea > milk > juice")).data)
    assert any("first; >> counts like >, as only the order is used." in note for note in read.notes)
    assert not any(">>" in note for note in read_label_preferences(rankings()).notes)
    pairs = read_preferences({"ranking": ["a >> b > c", "b > a > c"]})
    assert any("= is a tie; >> counts like >, as only the order is used." in note for note in pairs.notes)
