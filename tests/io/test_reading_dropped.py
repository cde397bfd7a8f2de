"""Rows that are no comparisons: the message names the option that leaves them out, where it does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from preflearn.exceptions import FileFormatError
from preflearn.io import read_preferences

DROPPED = {
    "a side": "winner,loser\nann,bob\nbob,cy\n,cy\n",
    "an outcome": "first,second,outcome\nann,bob,1\nbob,cy,-1\nann,cy,NA\n",
    "a score": "home,away,score1,score2\nann,bob,1,2\nbob,cy,2,0\nbob,ann,n/a,2\n",
    "a count": "team1,team2,wins1,wins2\nann,bob,1,2\nbob,cy,,0\n",
    "itself": "winner,loser\nann,bob\nbob,cy\ncy,cy\n",
}


@pytest.mark.parametrize("name", DROPPED)
def test_the_message_names_the_option_exactly_where_it_cures(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text(DROPPED[name])
    with pytest.raises(FileFormatError, match=r'with (missing|self_comparisons)="drop"') as caught:
        read_preferences(path)
    option = re.search(r'(missing|self_comparisons)="drop"', str(caught.value))
    assert option is not None
    reading = read_preferences(path, **{option[1]: "drop"})
    assert len(reading.data) == 2
    assert any(sentence.startswith("Dropped: 1 of") for sentence in reading.notes)


def test_a_row_without_a_word_on_ties_is_no_row_to_drop(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("winner,loser,tie\nann,bob,\nbob,cy,yes\n,cy,\n")
    assert read_preferences(path, missing="drop").data.outcome.tolist() == [1.0, 0.0]


def test_items_may_be_called_na(tmp_path: Path) -> None:
    path = tmp_path / "m.csv"
    path.write_text("left,right,winner\nNA,DE,NA\nDE,NA,NA\n")
    assert len(read_preferences(path, missing="drop").data) == 2
