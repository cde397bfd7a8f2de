"""Graphs of comparisons: triads, clustering, cycles and Smith sets against brute force; Hodge against projections."""

from itertools import combinations, permutations

import numpy as np
import pytest

from preflearn import Comparisons
from preflearn.data.pair_table import net_preferences
from preflearn.structure import graph as graph_module
from preflearn.structure.graph import (
    average_clustering,
    cyclic_triads,
    hodge,
    smith_sets,
    strongest_cycles,
    triangles,
)


def draw(seed, n=7, share=0.7):
    rng = np.random.default_rng(seed)
    first, second = np.triu_indices(n, 1)
    kept = np.flatnonzero(rng.random(len(first)) < share)
    if not kept.size:
        kept = np.array([0])
    turned = rng.random(len(kept)) < 0.5
    a, b = np.where(turned, second[kept], first[kept]), np.where(turned, first[kept], second[kept])
    outcome = np.round(rng.normal(size=len(kept)), 2)
    return Comparisons(n, a, b, outcome, weight=rng.uniform(0.5, 3, len(kept)))


def matrix(pairs, net):
    G = np.zeros((pairs.n_items, pairs.n_items))
    G[pairs.low, pairs.high], G[pairs.high, pairs.low] = net, -net
    return G


@pytest.mark.parametrize("seed", range(10))
def test_counts_are_those_of_all_triples(seed):
    pairs, net = net_preferences(draw(seed))
    G = matrix(pairs, net)
    triples = [t for t in combinations(range(7), 3) if all(G[a, b] != 0 for a, b in combinations(t, 2))]
    circles = [t for t in triples if len({int((G[i, list(t)] > 0).sum()) for i in t}) == 1]
    assert cyclic_triads(pairs, net) == (len(circles), len(triples))
    found, complete = triangles(pairs)
    assert complete
    compared = np.zeros((7, 7), dtype=bool)
    compared[pairs.low, pairs.high] = compared[pairs.high, pairs.low] = True
    every = {t for t in combinations(range(7), 3) if all(compared[a, b] for a, b in combinations(t, 2))}
    assert set(map(tuple, found.tolist())) == every
    shares = []
    for item in range(7):
        near = np.flatnonzero(compared[item])
        if len(near):
            near_pairs = list(combinations(near, 2))
            shares.append(np.mean([compared[a, b] for a, b in near_pairs]) if near_pairs else 0.0)
    assert average_clustering(draw(seed)) == pytest.approx(np.mean(shares))


def test_repeats_and_turned_comparisons_are_one_net_preference():
    data = Comparisons(3, [0, 1, 2, 0], [1, 0, 0, 1], [1, 1, 1, 1], weight=[2, 1, 1, 0])
    pairs, net = net_preferences(data)
    np.testing.assert_array_equal(pairs.low, [0, 0])
    np.testing.assert_array_equal(pairs.high, [1, 2])
    np.testing.assert_allclose(net, [1 / 3, -1])
    np.testing.assert_allclose(pairs.count, [3, 1])


@pytest.mark.parametrize("seed", range(10))
def test_the_strongest_cycle_has_the_strongest_weakest_edge(seed):
    pairs, net = net_preferences(draw(seed, n=6))
    G = matrix(pairs, net)
    first = np.where(net > 0, pairs.low, pairs.high)
    second = np.where(net > 0, pairs.high, pairs.low)
    found = strongest_cycles(first, second, np.abs(net), 3)
    best = 0.0
    for size in range(3, 7):
        for cycle in permutations(range(6), size):
            best = max(best, min(G[a, b] for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True)))
    assert (found[0][0] if found else 0.0) == pytest.approx(best)
    for strength, cycle in found:
        edges = [G[a, b] for a, b in zip(cycle, (*cycle[1:], cycle[0]), strict=True)]
        assert min(edges) == pytest.approx(strength)
    assert [s for s, _ in found] == sorted((s for s, _ in found), reverse=True)


def test_no_cycle_is_searched_where_there_is_none(monkeypatch):
    searched = []
    shortest = graph_module._shortest
    monkeypatch.setattr(graph_module, "_shortest", lambda *args: searched.append(args[1:]) or shortest(*args))
    rng = np.random.default_rng(0)
    order = rng.permutation(40)
    low, high = np.triu_indices(40, 1)
    strength = rng.random(len(low))
    assert strongest_cycles(order[low], order[high], strength, 3) == []
    assert searched == []
    strength[-1] = 0.0
    first, second = np.append(order[low], order[39]), np.append(order[high], order[0])
    found = strongest_cycles(first, second, np.append(strength, 0.0), 3)
    assert [(s, set(cycle)) for s, cycle in found] == [(0.0, {order[0], order[39]})]
    assert len(searched) == 1


def test_smith_sets_are_the_smallest_that_beat_all_outside():
    rng = np.random.default_rng(0)
    G = rng.normal(size=(50, 6, 6))
    beats = np.triu(G > 0, 1)
    beats = beats | (~beats.transpose(0, 2, 1) & np.tri(6, k=-1, dtype=bool))
    for tournament, inside in zip(beats, smith_sets(beats), strict=True):
        dominant = [
            set(some)
            for count in range(1, 7)
            for some in combinations(range(6), count)
            if all(tournament[a, b] for a in some for b in range(6) if b not in some)
        ]
        assert set(np.flatnonzero(inside)) == dominant[0]


@pytest.mark.parametrize("seed", range(10))
def test_the_three_parts_are_orthogonal_projections(seed):
    pairs, net = net_preferences(draw(seed))
    h = hodge(pairs, net)
    m = len(net)
    W = np.diag(pairs.count)
    A = np.zeros((m, 7))
    A[np.arange(m), pairs.low], A[np.arange(m), pairs.high] = 1, -1
    edge = {pair: e for e, pair in enumerate(zip(pairs.low.tolist(), pairs.high.tolist(), strict=True))}
    columns = []
    for i, j, k in combinations(range(7), 3):
        if {(i, j), (j, k), (i, k)} <= set(edge):
            column = np.zeros(m)
            column[[edge[i, j], edge[j, k], edge[i, k]]] = 1, 1, -1
            columns.append(column / pairs.count)
    B = np.array(columns).T.reshape(m, -1)

    def share(basis):
        root = np.sqrt(pairs.count)[:, None]
        Q, s, _ = np.linalg.svd(root * basis, full_matrices=False)
        Q = Q[:, s > 1e-10]
        return np.sum((Q.T @ (root[:, 0] * net)) ** 2) / (net @ W @ net)

    assert h.gradient == pytest.approx(share(A), abs=1e-8)
    assert h.curl == pytest.approx(share(B) if B.shape[1] else 0.0, abs=1e-8)
    assert h.gradient + h.curl + h.harmonic == pytest.approx(1, abs=1e-8)


def test_where_somebody_met_all_triangles_need_no_list(monkeypatch):
    rng = np.random.default_rng(3)
    star = [(0, k) for k in range(1, 7)] + [(7, 8), (7, 9)]  # in both parts somebody met all others
    pairs = np.array(star + [(1, 2), (2, 3), (1, 3), (4, 5), (8, 9)] * 2)
    X = Comparisons(10, *pairs.T, rng.normal(size=len(pairs)))
    quick = hodge(*net_preferences(X))
    assert quick.harmonic == pytest.approx(0, abs=1e-12)
    monkeypatch.setattr(graph_module, "_some_met_all", lambda pairs: False)
    slow = hodge(*net_preferences(X))
    assert (quick.gradient, quick.curl) == pytest.approx((slow.gradient, slow.curl), abs=1e-9)


def test_scores_rank_and_a_ring_of_four_is_harmonic(monkeypatch):
    ranked = Comparisons(4, [0, 1, 2, 0], [1, 2, 3, 2], [1, 1, 1, 2])
    h = hodge(*net_preferences(ranked))
    assert h.gradient == pytest.approx(1)
    np.testing.assert_allclose(-np.diff(h.scores), 1, atol=1e-8)
    ring = hodge(*net_preferences(Comparisons(4, [0, 1, 2, 3], [1, 2, 3, 0])))
    assert ring.harmonic == pytest.approx(1)
    monkeypatch.setattr(graph_module, "MOST_TRIANGLES", 1)
    first, second = np.triu_indices(6, 1)
    met = first // 2 != second // 2  # nobody met all others
    outcome = np.random.default_rng(0).normal(size=15)[met]
    part = hodge(*net_preferences(Comparisons(6, first[met], second[met], outcome)))
    assert not part.complete


@pytest.mark.data
def test_clustering_coefficients_are_those_of_the_paper(data_dir):
    examples = data_dir / "chameleons" / "matches.csv"
    rows = [line.split(",") for line in examples.read_text().splitlines()[1:]]
    pairs = [frozenset((row[-2], row[-1])) for row in rows]
    once = [row for row, pair in zip(rows, pairs, strict=True) if pairs.count(pair) == 1]
    contests = Comparisons(None, [row[-2] for row in once], [row[-1] for row in once])
    assert len(contests.pairs) == 104
    assert average_clustering(contests) == pytest.approx(0.33, abs=0.005)
    rows = [line.split(",") for line in (data_dir / "flatlizards" / "contest.csv").read_text().splitlines()[1:]]
    contests = Comparisons(None, [row[-2] for row in rows], [row[-1] for row in rows])
    assert average_clustering(contests) == pytest.approx(0.0735, abs=0.0005)
    rows = [
        line.split(",") for line in (data_dir / "nfl_2000_2018" / "authors_comparisons.csv").read_text().splitlines()
    ]
    seasons = [[row for row in rows if row[0] == str(year)] for year in range(2000, 2019)]
    found = [average_clustering(Comparisons(None, [r[1] for r in rows], [r[2] for r in rows])) for rows in seasons]
    assert np.mean(found) == pytest.approx(0.54, abs=0.01)


def test_comparisons_of_no_weight_do_not_join_items():
    data = Comparisons(3, [0, 1, 2], [1, 2, 0], weight=[1, 1, 0])
    assert average_clustering(data) == 0.0
