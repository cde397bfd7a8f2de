"""Tables out: each format holds what the table says, shows no number that is none, and runs nothing."""

import csv
import json
import re
import sys
import xml.etree.ElementTree
import zipfile

import numpy as np
import pytest

from preflearn.exceptions import DataError
from preflearn.io.export import ENDINGS, safe_cell, write_table
from preflearn.table_format import Column, TextTable

NASTY = ["=HYPERLINK(1)", "a|b", "50% & $x_1$ {y} ~ ^ \\ #", "<b>*bold*</b>", "two\nlines", "cy\x1b[31m", "Zoë, =1", ""]
TABLE = {
    "item": NASTY,
    "rank": np.arange(1, 9),
    "utility": [1.5, -0.25, float("nan"), 2.0, 0.0, 1e-7, None, float("inf")],
    "wins": [26.0, 3.5, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
    "by": [1, None, "x", 2, 3, 4, 5, 6],
}


def written(ending, tmp_path, columns=TABLE, **options):
    path = tmp_path / f"r{ending}"
    write_table(columns, path, **options)
    return path.read_bytes()


@pytest.mark.parametrize(("ending", "delimiter"), [(".csv", ","), (".tsv", "\t")])
def test_text_for_programs_has_empty_cells_and_runs_nothing(ending, delimiter, tmp_path):
    text = written(ending, tmp_path).decode()
    header, *rows = csv.reader(text.splitlines(keepends=True), delimiter=delimiter)
    assert header == list(TABLE)
    assert [row[0] for row in rows] == [safe_cell(name) for name in NASTY]
    assert [row[1] for row in rows] == [str(n) for n in range(1, 9)], "counts are whole"
    assert [row[2] for row in rows] == ["1.5", "-0.25", "", "2.0", "0.0", "1e-07", "", ""]
    assert [row[4] for row in rows][:3] == ["1", "", "x"]
    assert not re.search(r"\b(nan|inf|None)\b", text)
    assert not any(cell[:1] in "=+@" and cell for row in rows for cell in row)


@pytest.mark.parametrize("ending", [".json", ".jsonl"])
def test_json_has_a_record_for_each_row(ending, tmp_path):
    text = written(ending, tmp_path).decode()
    rows = json.loads(text) if ending == ".json" else [json.loads(line) for line in text.splitlines()]
    assert [row["item"] for row in rows] == NASTY
    assert [row["utility"] for row in rows][1:4] == [-0.25, None, 2.0]
    assert rows[0]["wins"] == 26.0


def test_parquet_keeps_types(tmp_path):
    import pyarrow.parquet as parquet

    written(".parquet", tmp_path)
    table = parquet.read_table(tmp_path / "r.parquet")
    assert [str(field.type) for field in table.schema] == ["string", "int64", "double", "double", "string"]
    assert table["item"].to_pylist() == NASTY
    assert table["utility"].to_pylist()[:3] == [1.5, -0.25, None]


def test_excel_gets_texts_and_numbers_and_no_formula(tmp_path):
    written(".xlsx", tmp_path)
    with zipfile.ZipFile(tmp_path / "r.xlsx") as book:
        sheet = book.read("xl/worksheets/sheet1.xml").decode()
        texts = book.read("xl/sharedStrings.xml").decode()
        assert not [name for name in book.namelist() if "_rels/sheet1" in name], "no links"
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    strings = ["".join(one.itertext()) for one in xml.etree.ElementTree.fromstring(texts).iter(f"{space}si")]
    cells = {cell.get("r"): cell for cell in xml.etree.ElementTree.fromstring(sheet).iter(f"{space}c")}
    assert not [cell for cell in cells.values() if cell.find(f"{space}f") is not None]
    assert {"=HYPERLINK(1)", "Zoë, =1", "item"} <= set(strings)
    assert strings[int(cells["A2"].find(f"{space}v").text)] == "=HYPERLINK(1)"
    assert (cells["C2"].get("t"), cells["C2"].find(f"{space}v").text) == (None, "1.5")
    assert cells.get("C4") is None, "nothing where a number is missing"


def test_what_excel_cannot_hold_is_refused(tmp_path, monkeypatch):
    with pytest.raises(DataError, match=r"r\.xlsx: Excel sheets hold at most 32,767 letters in a cell\. Write \.csv"):
        written(".xlsx", tmp_path, {"item": ["x" * 40_000]})
    monkeypatch.setattr("preflearn.io.export._MOST_ROWS", 7)
    with pytest.raises(DataError, match="at most 7 rows"):
        written(".xlsx", tmp_path)


def test_markdown_and_latex_escape_what_they_would_obey(tmp_path):
    lines = written(".md", tmp_path).decode().splitlines()
    assert lines[0] == "| item | rank | utility | wins | by |"
    assert lines[1] == "| :-- | --: | --: | --: | :-- |"
    assert len(lines) == 10, "a line for each row"
    assert all(len(re.findall(r"(?<!\\)\|", line)) == 6 for line in lines)
    assert lines[3].startswith(r"| a\|b | 2 | -0.250 | 3.5 |")
    assert r"\<b\>\*bold\*\</b\>" in lines[5]
    text = written(".tex", tmp_path).decode()
    assert text.startswith("\\begin{tabular}{lrrrl}\n\\toprule\n")
    assert r"50\% \& \$x\_1\$ \{y\} \textasciitilde{} \textasciicircum{} \textbackslash{} \#" in text
    assert text.count("\\\\\n") == 9
    for shown in (text, "\n".join(lines)):
        assert "\x1b" not in shown
        assert not re.search(r"\b(nan|inf|None)\b", shown)


def test_people_get_the_table_that_is_shown(tmp_path):
    shown = TextTable({"item": Column("Tea", ["a_b"], kind="name")})
    assert written(".md", tmp_path, {"item": ["a_b"], "x": [1]}, shown=shown) == b"| Tea |\n| :-- |\n| a\\_b |\n"
    assert b"Tea" not in written(".csv", tmp_path, {"item": ["a_b"]}, shown=shown)


def test_a_byte_order_mark_only_on_request(tmp_path):
    assert not written(".csv", tmp_path).startswith(b"\xef\xbb\xbf")
    assert written(".csv", tmp_path, bom=True) == b"\xef\xbb\xbf" + written(".csv", tmp_path)
    with pytest.raises(DataError, match=r"for \.csv and \.tsv files, not for \.json"):
        written(".json", tmp_path, bom=True)


@pytest.mark.parametrize("name", ["r.xls", "r.pdf", "r", "r.csv.gz", "csv"])
def test_other_endings_are_refused_with_a_list(name, tmp_path):
    with pytest.raises(DataError, match=r"not a known format of tables|no ending") as caught:
        write_table(TABLE, tmp_path / name)
    assert all(ending in str(caught.value) for ending in ENDINGS)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("ending", "package"), [(".xlsx", "XlsxWriter"), (".parquet", "pyarrow")])
def test_a_missing_package_is_answered_by_how_to_install_it(ending, package, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, package.lower(), None)
    with pytest.raises(DataError, match=rf'package {package}: pip install "preflearn\[io\]"'):
        written(ending, tmp_path)


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_empty_table_has_its_header(ending, tmp_path):
    assert written(ending, tmp_path, {"item": [], "rank": []}) or ending == ".jsonl"


def test_the_ending_may_be_in_capitals(tmp_path):
    assert written(".CSV", tmp_path) == written(".csv", tmp_path)
