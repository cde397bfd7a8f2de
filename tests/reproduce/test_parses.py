"""Rankings of parses: what the tables of two papers are made from."""

import numpy as np
import pytest

from preflearn.reproduce import Case, experiments
from preflearn.reproduce.papers.parses import read_parses
from preflearn.reproduce.studies.label_noise import gaps

RUNS = {run.name: run for one in experiments().values() for run in one.runs}


@pytest.mark.slow
@pytest.mark.data
def test_public_parses_are_ranked_in_the_papers_order_without_noise(data_dir):
    run = RUNS["kpcrank-table1-public"]
    settings = {**run.settings, "noise": [0.0]}
    (found,) = run.trial(Case(0, 0, settings, data_dir / "bioinfer_parse_rlscore"))
    assert found["RankRLS"] < found["RLS"] < found["KPCRank"] < found["KPCR"] < 0.4
    assert run.trial(Case(1, 0, settings, data_dir / "bioinfer_parse_rlscore")) == [], "nothing would differ"


@pytest.mark.data
def test_halves_are_of_whole_sentences_and_differ(data_dir):
    run, folder = RUNS["rankrls-table8"], data_dir / "bioinfer_parse_rlscore"
    settings = {**run.settings, "kernels": 1}
    rows = [run.trial(Case(repeat, 0, settings, folder))[0] for repeat in range(3)]
    assert [one["row"] for one in rows] == ["as given", *["random halves of the sentences"] * 2]
    assert len({one["RankRLS"] for one in rows}) == 3


def test_parses_of_the_whole_set_are_read_with_one_width(tmp_path):
    (tmp_path / "train.svmlight").write_text("0.5 qid:1 1:1 3:1\n0.7 qid:1 2:1\n")
    (tmp_path / "test.svmlight").write_text("0.5 qid:2 7:1\n0.1 qid:2 1:2\n")
    train, test = read_parses(tmp_path)
    assert train.items.shape == test.items.shape == (2, 7)


def test_the_gap_is_to_the_best_of_the_others():
    record = {"decay": 0.5, "signal": 0.2, "noise": 1.0, "shared": 0.0}
    records = [
        {**record, "KPCRank": 0.3, "KPCR": 0.5, "RLS": 0.4, "RankRLS": 0.2},
        {**record, "KPCRank": 0.3, "KPCR": 0.1, "RLS": 0.4, "RankRLS": 0.5},
        {**record, "noise": 0.0, "KPCRank": 0.9, "KPCR": 0.1, "RLS": 0.4, "RankRLS": 0.5},
    ]
    decays, signals, table = gaps(records, noise=1.0)
    assert (decays, signals) == ([0.5], [0.2])
    np.testing.assert_allclose(table, [[0.0]], atol=1e-12)
