"""Columns that no word settles: the message guesses by the contents, and what it proposes can be read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from preflearn.exceptions import FileFormatError
from preflearn.io import read_preferences

# what the columns hold -> (the table, what is proposed)
GUESSED = {
    "the winner's name": (
        "subj,opt_x,opt_y,resp\n1,tea,milk,tea\n1,milk,cocoa,cocoa\n2,cocoa,tea,tea\n2,milk,tea,milk\n",
        "first=opt_x,second=opt_y,winner=resp",
    ),
    "the winner before the sides": (
        "resp,subj,opt_x,opt_y\ntea,1,tea,milk\ncocoa,1,milk,cocoa\ntea,2,cocoa,tea\nmilk,2,milk,tea\n",
        "first=opt_x,second=opt_y,winner=resp",
    ),
    "words, and blanks in names": (
        "id,Tea Here,Tea There,said,age\n1,ann,bob,left,21\n2,bob,cy,tie,21\n3,cy,ann,right,34\n",
        "first=Tea Here,second=Tea There,outcome=said",
    ),
    "numbers of items, and 0 and 1": (
        "x,y,z\n11,12,1\n12,13,0\n13,11,1\n14,11,1\n",
        "first=x,second=y,outcome=z",
    ),
    "1 and 2": ("p,q,r\nann,bob,1\nbob,cy,2\ncy,ann,2\n", "first=p,second=q,winner=r"),
    "two columns": ("p,q\nann,bob\nbob,cy\n", "winner=p,loser=q"),
    "two columns among others": (
        "day,p,q,weather\nmon,ann,bob,dry\ntue,bob,cy,dry\nwed,cy,ann,wet\n",
        "winner=p,loser=q",
    ),
    "rankings": ("who,list\njo,a > b > c\nal,b > a\n", "ranking=list"),
    "known sides": ("home,away,xyz,age\nann,bob,1,3\nbob,cy,2,4\ncy,ann,2,5\n", "winner=xyz"),
}
# what is in the table -> the table
UNLIKE = {
    "items": "item,size,colour\nann,1,red\nbob,2,blue\ncy,3,red\n",
    "a league table": "team,w,d\nann,3,1\nbob,1,3\ncy,2,2\n",
    "fractions": "p,q,r\n0.5,0.25,1\n0.25,0.5,0\n0.75,0.5,1\n",
    "the same twice": "p,q,r\nann,ann,x\nbob,bob,y\ncy,cy,z\n",
}


def refused(text: str, folder: Path) -> FileFormatError:
    (folder / "m.csv").write_text(text)
    with pytest.raises(FileFormatError) as caught:
        read_preferences(folder / "m.csv")
    return caught.value


def refusal(text: str, folder: Path) -> str:
    return str(refused(text, folder))


@pytest.mark.parametrize("name", GUESSED)
def test_what_is_proposed_is_meant_and_can_be_read(name: str, tmp_path: Path) -> None:
    text, expected = GUESSED[name]
    error = refused(text, tmp_path)
    assert re.search(r"\bguess\b", str(error)), error
    assert f'columns="{expected}"' in str(error)
    reading = read_preferences(tmp_path / "m.csv", columns=expected)
    proposed = error.message.settings[0]
    assert proposed.role == "columns"
    assert read_preferences(tmp_path / "m.csv", columns=proposed.value).notes == reading.notes
    assert len(reading.data) >= text.count("\n") - 1


@pytest.mark.parametrize("name", UNLIKE)
def test_where_nothing_fits_the_message_says_what_a_table_needs(name: str, tmp_path: Path) -> None:
    message = refusal(UNLIKE[name], tmp_path)
    assert "guess" not in message
    assert "do not say who was preferred" in message
    assert "two columns with names of items" in message
    assert 'columns="first=COLUMN,second=COLUMN,winner=COLUMN"' in message


def test_a_few_wrong_cells_do_not_spoil_a_guess(tmp_path: Path) -> None:
    names = ["ann", "bob", "cy", "dee"]
    rows = [(a, b, min(a, b)) for a in names for b in names if a != b]
    rows[3] = (*rows[3][:2], "?")
    text = "p,q,r\n" + "".join(",".join(row) + "\n" for row in rows)
    assert 'columns="first=p,second=q,winner=r"' in refusal(text, tmp_path)


def test_a_guess_looks_at_the_start_of_a_long_table_only(tmp_path: Path) -> None:
    rows = "".join(f"i{k},i{k + 1},i{k}\n" for k in range(3_000))
    message = refusal("p,q,r\n" + rows + "odd,odd,odd\n" * 30_000, tmp_path)
    assert 'columns="first=p,second=q,winner=r"' in message
