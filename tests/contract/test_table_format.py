"""One table everywhere: the same cells in every rendering, and names that nothing obeys."""

import pytest

from preflearn.table_format import Column, TextTable, chance, display_width, interval, p_value, place_range, typeset

TABLE = TextTable(
    {
        "rank": Column("rank", [1, 2]),
        "item": Column("item", ["a name of many letters", "\u5c71|<b>\x1b[31m_&$"], kind="name"),
        "utility": Column("utility", [(-0.5, 1.25), (-2.0, -1.0)], interval, spare=2),
        "places": Column("places", [(1, 2), (2, 2)], place_range, "text", spare=1),
        "p": Column("P(best)", [0.9999, None], chance),
    }
)


def test_columns_that_can_be_spared_are_left_out_in_their_order_and_names_are_shortened():
    whole = max(map(display_width, TABLE.text().splitlines()))
    assert TABLE.left_out(whole) == []
    assert TABLE.left_out(40) == ["utility"]
    assert TABLE.left_out(30) == ["utility", "places"]
    for width in range(25, whole + 5):
        assert max(map(display_width, TABLE.text(width).splitlines())) <= width
    assert "P(best)" in TABLE.text(5), "what cannot be spared stays"
    assert "\N{HORIZONTAL ELLIPSIS}" in TABLE.text(25)


def test_columns_stand_closer_before_one_is_left_out():
    whole = max(map(display_width, TABLE.text().splitlines()))
    closer = TABLE.text(whole - 1)
    assert max(map(display_width, closer.splitlines())) == whole - (len(TABLE.columns) - 1)
    assert closer.split() == TABLE.text().split()


def test_numbers_stand_at_the_right_and_words_at_the_left():
    head, one, _ = TABLE.text().splitlines()
    assert head.index("item") == one.index("a name")
    assert head.endswith("P(best)")
    assert one.endswith(">99%")


@pytest.mark.parametrize("write", [TextTable.text, TextTable.html, TextTable.markdown, TextTable.latex])
def test_names_are_text_in_every_rendering(write):
    text = write(TABLE)
    assert "\x1b" not in text
    assert "x1b" in text
    assert "\u5c71" in text
    if write is not TextTable.text:
        assert "<b>" not in text.replace(r"\<b\>", "")


def test_markdown_and_latex_have_a_cell_for_each():
    assert all(line.replace(r"\|", "").count("|") == 6 for line in TABLE.markdown().splitlines())
    rows = [line for line in TABLE.latex().splitlines() if line.endswith(r"\\")]
    assert [line.replace(r"\&", "").count("&") for line in rows] == [4, 4, 4]
    assert "$-$0.50 to 1.25" in TABLE.latex()
    assert "1--2" in TABLE.latex()


def test_rows_columns_and_numbers():
    assert len(TABLE.top(1)) == 1
    assert len(TABLE.top(None)) == 2
    assert TABLE.select("p", "nothing", "rank").titles == ["P(best)", "rank"]
    assert TABLE.rows[1][-1] == ""
    assert p_value(0.0) == p_value(1e-9) == "p < 0.001"
    assert typeset("10-12") == "10\N{EN DASH}12"
