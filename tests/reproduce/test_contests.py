"""Contests, games and citations are read as the papers have them, and learned no worse than printed."""

import gzip

import numpy as np
import pytest

from preflearn.reproduce import Case, experiments
from preflearn.reproduce.papers.contests import citations

RUNS = {run.name: run for run in experiments()["gpgp-table1"].runs}
PRINTED = experiments()["gpgp-table1"].paper


def records(name, folder, **settings):
    run = RUNS[name]
    return {one["row"]: one for one in run.trial(Case(0, 0, {**run.settings, **settings}, folder))}


@pytest.mark.data
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("name", "row"), [("gpgp-table1-chameleons", "Chameleon"), ("gpgp-table1-lizards", "Flatlizard")]
)
def test_the_sets_are_those_of_the_paper(name, row, data_dir):
    found = records(name, data_dir / RUNS[name].data.folder)[row]
    for key, by in (("items", 0), ("pairs", 0), ("clustering", 0.005)):
        assert abs(found[key] - PRINTED[row][key]) <= by, key
    assert found["chosen"] > 0.7


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.filterwarnings("ignore")
def test_seasons_and_citations_are_learned(data_dir):
    football = records("gpgp-table1-nfl", data_dir / "nfl_2000_2018", years=[2005, 2006])["NFL 2000-18"]
    assert football["clustering"] == pytest.approx(0.54, abs=0.03)
    assert football["chosen"] > 0.6
    papers = records("gpgp-table1-citations", data_dir / "citation_graphs", edges=200)["ArXiv graph"]
    assert papers["pairs"] == pytest.approx(200, abs=10)
    assert papers["PGP"] > 0.55


def graph(folder, n, rng):
    edges = rng.integers(0, n, size=(4 * n, 2))
    edges = edges[edges[:, 0] != edges[:, 1]]
    with gzip.open(folder / "edge.csv.gz", "wt") as stream:
        stream.writelines(f"{a},{b}\n" for a, b in edges)
    with gzip.open(folder / "node-feat.csv.gz", "wt") as stream:
        stream.writelines(f"{k},{k / 2}\n" for k in range(n))
    return {(a, b) for a, b in edges.tolist()}


def test_a_part_of_a_graph_has_the_citations_among_its_papers(tmp_path):
    rng = np.random.default_rng(0)
    edges = graph(tmp_path, 200, rng)
    found = citations(tmp_path, rng, 60)
    kept = found.X[:, 0].astype(int)  # features say which papers they are
    np.testing.assert_array_equal(found.X[:, 1], kept / 2)
    pairs = list(zip(kept[found.winner].tolist(), kept[found.loser].tolist(), strict=True))
    assert edges.issuperset(pairs)
    inside = {frozenset(edge) for edge in edges if set(edge) <= set(kept.tolist())}
    assert {frozenset(pair) for pair in pairs} == inside
    assert len(pairs) == len(inside)
    assert 50 <= len(pairs) <= 70
