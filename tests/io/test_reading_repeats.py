"""Rows that repeat an earlier one in every column: copies count once, answers that were given again stay."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import preflearn
from preflearn.data import Comparisons
from preflearn.exceptions import DataError, DataWarning
from preflearn.io import read_comparisons, read_preferences

ROOT = Path(__file__).parents[2]
TEAS = pd.read_csv(ROOT / "examples" / "tastings.csv")
VOTES = """id,tstamp,model_a,model_b,winner
1,1682351591,ann,bob,model_a
2,1682351654,ann,cy,model_b
3,1682351689,bob,cy,tie
4,1682351754,cy,ann,model_a
5,1682351781,bob,ann,model_b
6,1682351933,ann,bob,model_a
7,1682352015,cy,bob,model_a
8,1682352030,ann,bob,model_a
9,1682352041,bob,cy,model_b
10,1682352059,cy,ann,tie
"""


def read(frame: pd.DataFrame, **options: str) -> tuple[Comparisons, str, list[str]]:
    """Return the data, the sentences, and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reading = read_preferences(frame, **options)  # type: ignore[arg-type]
    assert isinstance(reading.data, Comparisons)
    return reading.data, str(reading), [str(one.message) for one in caught]


def same(one: Comparisons, other: Comparisons) -> bool:
    fields = ("first", "second", "outcome", "names", "judge")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in fields)


def stated(data: Comparisons) -> list[tuple[object, ...]]:
    assert data.names is not None
    assert data.judge is not None
    return sorted(zip(data.names[data.first], data.names[data.second], data.outcome, data.judge, strict=True))


@pytest.mark.parametrize("times", [2, 4])
def test_a_table_that_was_pasted_is_read_as_it_was_before(times: int) -> None:
    data, notes, warned = read(pd.concat([TEAS] * times, ignore_index=True))
    assert same(data, read(TEAS)[0])
    n_rows = 312 * times
    assert warned == [
        f"data frame: the whole table occurs {times} times, and {n_rows - 312:,} of {n_rows:,} rows are copies: they "
        'repeat an earlier row in every column, "judge" among them (row 312 repeats row 0). Each counts once. If they '
        'are further answers, keep them with repeated_rows="keep".'
    ]
    assert f"Left out: {n_rows - 312:,} of {n_rows:,} rows that are copies of an earlier one." in notes


@pytest.mark.slow
def test_a_pasted_table_has_the_ranking_and_the_verdict_of_the_table() -> None:
    one = preflearn.rank(TEAS, model="bradley-terry")
    with pytest.warns(DataWarning, match="the whole table occurs 4 times"):
        four = preflearn.rank(pd.concat([TEAS] * 4, ignore_index=True), model="bradley-terry")
    assert repr(four.to_dict()) == repr(one.to_dict())  # some are NaN
    assert str(four.rankability) == str(one.rankability)


def test_the_order_of_copies_does_not_matter() -> None:
    shuffled = pd.concat([TEAS] * 3).sample(frac=1, random_state=0)
    data, _, warned = read(shuffled)
    assert "the whole table occurs 3 times" in warned[0]
    assert stated(data) == stated(read(TEAS)[0])


def test_answers_of_a_judge_who_was_asked_again_stay() -> None:
    data, notes, warned = read(TEAS)
    assert len(data) == 312
    assert not warned
    assert "Repeats: 9 of 312 rows repeat an earlier one in every column. They count as further answers" in notes


def test_exports_that_overlap_count_once() -> None:
    votes = pd.read_csv(io.StringIO(VOTES))
    data, notes, warned = read(pd.concat([votes, votes[6:]], ignore_index=True))
    assert same(data, read(votes)[0])
    assert '4 of 14 rows are copies: they repeat an earlier row in every column, "id", "tstamp" among' in warned[0]
    assert "(row 10 repeats row 6)" in warned[0]
    assert "Left out: 4 of 14 rows" in notes


def test_copies_can_be_kept() -> None:
    twice = pd.concat([TEAS] * 2, ignore_index=True)
    data, notes, warned = read(twice, repeated_rows="keep")
    assert len(data) == 624
    assert not warned
    assert "Kept: 321 of 624 rows repeat an earlier one in every column." in notes


def test_rows_that_say_only_who_won_are_answers() -> None:
    wins = pd.DataFrame({"winner": list("aab") * 5, "loser": list("bbc") * 5})
    data, notes, warned = read(wins)
    assert (len(data), warned) == (15, [])
    assert "epeat" not in notes


def test_a_pasted_table_without_judges_is_kept_and_said_loudly() -> None:
    plain = TEAS.drop(columns="judge").drop_duplicates()
    data, _, warned = read(pd.concat([plain] * 4, ignore_index=True))
    assert len(data) == 4 * len(plain)
    assert warned[0].startswith(f"data frame: every row occurs 4 times ({3 * len(plain):,} of {4 * len(plain):,} rows")
    assert warned[0].endswith("delete the copies: they make results look much more certain than they are.")


def test_votes_of_a_model_about_prompts_that_are_not_there_stay() -> None:
    rng = np.random.default_rng(0)
    votes = pd.DataFrame({"judge": rng.choice(["gpt", "claude"], 400), "model_a": "x", "model_b": "y"})
    votes["winner"] = rng.choice(["model_a", "model_b"], 400, p=[0.7, 0.3])
    data, _, warned = read(votes)
    assert (len(data), warned) == (400, [])


def test_one_judge_of_all_rows_tells_nothing_apart() -> None:
    wins = pd.DataFrame({"judge": "me", "winner": list("aab"), "loser": list("bbc")})
    assert len(read(wins)[0]) == 3


def test_a_winner_and_a_loser_who_changed_places_are_another_answer() -> None:
    once = pd.DataFrame({"judge": [f"j{k}" for k in range(20)], "winner": "a", "loser": "b"})
    twice = pd.concat([once, once[:15]], ignore_index=True)
    assert len(read(twice)[0]) == 20
    twice.loc[20:25, ["winner", "loser"]] = ["b", "a"]
    assert len(read(twice)[0]) == 35


def test_judges_of_one_mind_who_are_asked_at_random_stay() -> None:
    rng = np.random.default_rng(0)
    pairs = np.sort([rng.choice(6, 2, replace=False) for _ in range(90)])
    votes = pd.DataFrame({"worker": rng.choice(list("uvw"), 90), "winner": pairs[:, 0], "loser": pairs[:, 1]})
    data, notes, warned = read(votes)
    assert (len(data), warned) == (90, [])
    assert "They count as further answers: the same may have been asked again." in notes


def test_ids_of_items_number_no_rows() -> None:
    wins = pd.DataFrame({"winner_id": [1, 1, 2], "loser_id": [2, 2, 3], "team_id": [7, 7, 8]})
    assert len(read(wins)[0]) == 3


def test_ballots_of_voters_count_once() -> None:
    ballots = pd.DataFrame({"voter": ["u", "v", "w"], "ranking": ["a > b", "b > a", "a > b"]})
    data, notes, warned = read(pd.concat([ballots] * 2, ignore_index=True))
    assert len(data) == 3
    assert '"voter" among them' in warned[0]
    assert "Left out: 3 of 6 rows" in notes
    same_ballots = ballots.drop(columns="voter")
    assert len(read(pd.concat([same_ballots] * 2, ignore_index=True))[0]) == 6


def test_pairs_to_predict_are_all_answered() -> None:
    pairs = pd.DataFrame({"id": [1, 1, 2], "first": list("aab"), "second": list("bbc")})
    assert len(read_preferences(pairs, need_outcomes=False).data) == 3


def test_lines_of_a_file_are_named_after_copies_were_left_out(tmp_path: Path) -> None:
    rows = VOTES.splitlines(keepends=True)
    path = tmp_path / "votes.csv"
    path.write_text("".join([*rows[:4], *rows[1:4], "11,1682352099,ann,bob,nobody knows\n"]))
    with (
        pytest.warns(DataWarning, match=r"votes.csv: 3 of 7 rows are copies.*line 5 repeats line 2"),
        pytest.raises(DataError, match=r'line 8: winner "nobody knows"'),
    ):
        read_preferences(path)
    path.write_text("".join([*rows, *rows[1:]]))
    with pytest.warns(DataWarning, match="the whole table occurs 2 times"):
        assert len(read_comparisons(path)) == 10
    assert len(read_comparisons(path, repeated_rows="keep")) == 20
