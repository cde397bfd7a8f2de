"""Metrics of pairs against brute force over all pairs in exact fractions, and the laws they obey."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fast_share import cases, every_seed
from preflearn.exceptions import DataError
from preflearn.metrics import concordance_index, disagreement_error, kendall_tau_b, pairwise_accuracy, spearman
from preflearn.metrics._rows import check_rows, pair_sums

PROBLEMS = cases(60, 250)


def random_problem(seed):
    """Rows in unsorted groups (some of one row), with ties on both sides; labels and weights of several kinds."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    truth = rng.integers(0, rng.integers(1, 6), n)
    score = rng.integers(0, rng.integers(1, 20), n) / 4 - 1
    number = rng.integers(0, rng.integers(1, 6), n)
    qid = [number, np.array(["b", "a", "ä", "c10", "c9"])[number], number * 1000 - 7, None][seed % 4]
    weight = [None, rng.integers(0, 4, n), rng.random(n)][seed % 3]
    if weight is not None and not weight.any():
        weight = None
    return truth, score, qid, weight


def by_group(truth, score, qid, weight):
    """Yield the rows of each group in sorted order of the labels, as lists of (truth, score, exact weight)."""
    labels = [0] * len(truth) if qid is None else list(qid)
    weights = [1] * len(truth) if weight is None else weight.tolist()
    for label in sorted(set(labels)):
        yield [
            (t, s, Fraction(w))
            for t, s, w, own in zip(truth.tolist(), score.tolist(), weights, labels, strict=True)
            if own == label
        ]


def brute_sums(rows):
    names = ("total", "truth_differs", "score_differs", "truth_only", "score_only", "discordant")
    sums = dict.fromkeys(names, Fraction(0))
    for (t, s, w), (u, r, v) in combinations(rows, 2):
        sums["total"] += w * v
        sums["truth_differs"] += w * v * (t != u)
        sums["score_differs"] += w * v * (s != r)
        sums["truth_only"] += w * v * (t != u and s == r)
        sums["score_only"] += w * v * (t == u and s != r)
        sums["discordant"] += w * v * ((t - u) * (s - r) < 0)
    return sums


def brute_error(rows, ties):
    """Return (cost, weight of the counted pairs), from the sentence in the docstring."""
    cost = counted = Fraction(0)
    for (t, s, w), (u, r, v) in combinations(rows, 2):
        if t != u:
            counted += w * v
            if s == r:
                cost += w * v / 2
            elif (t < u) != (s < r):
                cost += w * v
        elif ties == "include":
            counted += w * v
            cost += w * v / 2 * (s != r)
    return cost, counted


def ratio(cost, counted):
    return float(cost / counted) if counted else np.nan


@every_seed(PROBLEMS)
def test_pair_sums_equal_the_sums_over_listed_pairs(seed):
    truth, score, qid, weight = random_problem(seed)
    found = pair_sums(check_rows("test", truth, score, qid, weight))
    # weights are scaled by a power of two on entry, which fractions undo exactly
    scale = 1 if weight is None else Fraction(2) ** int(np.frexp(weight.max())[1])
    wanted = [brute_sums(rows) for rows in by_group(truth, score, qid, weight)]
    for name in wanted[0]:
        values = getattr(found, name)
        if weight is None:
            assert values.dtype == np.int64
            assert values.tolist() == [sums[name] for sums in wanted]
        else:
            exact = [float(sums[name] / scale**2) for sums in wanted]
            np.testing.assert_allclose(values, exact, rtol=1e-12, atol=0)  # also: 0 is exactly 0


@pytest.mark.parametrize("ties", ["exclude", "include"])
@every_seed(PROBLEMS)
def test_disagreement_equals_brute_force_under_every_average(seed, ties):
    truth, score, qid, weight = random_problem(seed)
    parts = [brute_error(rows, ties) for rows in by_group(truth, score, qid, weight)]
    per_group = np.array([ratio(*part) for part in parts])
    arguments = {"qid": qid, "sample_weight": weight, "ties": ties}
    found = disagreement_error(truth, score, **arguments, average=None)
    np.testing.assert_allclose(found, per_group, rtol=1e-12, atol=1e-15)
    if weight is None:
        np.testing.assert_array_equal(found, per_group)
    if np.isnan(per_group).all():
        for average in ("groups", "pairs"):
            with pytest.raises(DataError, match="undefined"):
                disagreement_error(truth, score, **arguments, average=average)
        return
    pooled = ratio(sum(part[0] for part in parts), sum(part[1] for part in parts))
    assert disagreement_error(truth, score, **arguments) == pytest.approx(np.nanmean(per_group), abs=1e-12)
    assert disagreement_error(truth, score, **arguments, average="pairs") == pytest.approx(pooled, abs=1e-12)
    if ties == "exclude":
        index = concordance_index(truth, score, qid=qid, sample_weight=weight)
        assert index == pytest.approx(1 - pooled, abs=1e-12)


def kpcrank_cost(rows):
    """(4) of the KPCRank paper, literally: 1/2 sum_ij |sign(s_i - s_j) - sign(f_i - f_j)|, sign(0) = -1."""

    def sign(value):
        return 1 if value > 0 else -1

    return Fraction(1, 2) * sum(abs(sign(t - u) - sign(s - r)) for (t, s, _), (u, r, _) in product(rows, rows))


def rankrls_cost(rows):
    """(3) of the RankRLS paper, literally: 1/2 sum_ij 1/2 |sign(y_i - y_j) - sign(f_i - f_j)|, sign(0) = 0."""

    def sign(value):
        return (value > 0) - (value < 0)

    return Fraction(1, 4) * sum(abs(sign(t - u) - sign(s - r)) for (t, s, _), (u, r, _) in product(rows, rows))


@every_seed(200)
def test_the_two_papers_give_the_same_error_once_divided_by_their_largest_value(seed):
    truth, score, _, _ = random_problem(seed)
    if len(truth) < 2:
        truth, score = np.array([1, 1]), np.array([0.0, 2.0])
    rows = next(by_group(truth, score, None, None))
    reversed_rows = [(i, -i, 1) for i in range(len(rows))]
    kpcrank = kpcrank_cost(rows) / kpcrank_cost(reversed_rows)
    rankrls = rankrls_cost(rows) / rankrls_cost(reversed_rows)
    assert kpcrank == rankrls
    assert disagreement_error(truth, score, ties="include") == float(kpcrank)


@every_seed(PROBLEMS)
def test_tau_b_is_scipys_in_every_group(seed):
    truth, score, qid, _ = random_problem(seed)
    wanted = []
    for rows in by_group(truth, score, qid, None):
        t, s = [row[0] for row in rows], [row[1] for row in rows]
        wanted.append(stats.kendalltau(t, s).statistic if len(set(t)) > 1 and len(set(s)) > 1 else np.nan)
    found = kendall_tau_b(truth, score, qid=qid, average=None)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    if not np.isnan(wanted).all():
        assert kendall_tau_b(truth, score, qid=qid) == pytest.approx(np.nanmean(wanted), abs=1e-12)
    else:
        with pytest.raises(DataError, match="constant"):
            kendall_tau_b(truth, score, qid=qid)


@every_seed(PROBLEMS)
def test_weighted_tau_b_equals_brute_force(seed):
    truth, score, qid, _ = random_problem(seed)
    weight = np.random.default_rng(seed).random(len(truth))
    wanted = []
    for rows in by_group(truth, score, qid, weight):
        sums = brute_sums(rows)
        agreement = sums["truth_differs"] - sums["truth_only"] - 2 * sums["discordant"]
        scale = np.sqrt(float(sums["truth_differs"] * sums["score_differs"]))
        wanted.append(float(agreement) / scale if scale else np.nan)
    found = kendall_tau_b(truth, score, qid=qid, sample_weight=weight, average=None)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)


@every_seed(PROBLEMS)
def test_spearman_is_scipys_and_the_papers_formula(seed):
    truth, score, qid, _ = random_problem(seed)
    pearson, formula = [], []
    for rows in by_group(truth, score, qid, None):
        t, s = stats.rankdata([row[0] for row in rows]), stats.rankdata([row[1] for row in rows])
        length = len(rows)
        pearson.append(stats.spearmanr(t, s).statistic if len(set(t)) > 1 and len(set(s)) > 1 else np.nan)
        formula.append(1 - 6 * np.sum((t - s) ** 2) / (length * (length**2 - 1)) if length > 1 else np.nan)
    found = spearman(truth, score, qid=qid, average=None)
    np.testing.assert_allclose(found, pearson, rtol=0, atol=1e-12)
    found = spearman(truth, score, qid=qid, ties="formula", average=None)
    np.testing.assert_allclose(found, formula, rtol=0, atol=1e-12)


def test_spearmans_two_conventions_agree_without_ties_and_differ_with_them():
    rng = np.random.default_rng(0)
    truth, score, qid = rng.permutation(60), rng.permutation(60), np.arange(60) % 4
    both = [spearman(truth, score, qid=qid, ties=ties) for ties in ("average", "formula")]
    assert both[0] == pytest.approx(both[1], abs=1e-12)
    truth = truth // 10
    both = [spearman(truth, score, qid=qid, ties=ties) for ties in ("average", "formula")]
    assert abs(both[0] - both[1]) > 1e-4


rows_strategy = st.lists(
    st.tuples(st.integers(0, 4), st.integers(-5, 5), st.sampled_from("abc"), st.integers(1, 3)), min_size=3, max_size=30
).filter(lambda rows: any(r[0] != q[0] and r[1] != q[1] and r[2] == q[2] for r, q in combinations(rows, 2)))

WEIGHTED = [
    disagreement_error,
    lambda *a, **k: disagreement_error(*a, **k, average="pairs"),
    lambda *a, **k: disagreement_error(*a, **k, ties="include"),
    concordance_index,
    kendall_tau_b,
]
UNWEIGHTED = [spearman, lambda *a, **k: spearman(*a, **k, ties="formula")]


def columns(rows):
    truth, score, qid, weight = zip(*rows, strict=True)
    return np.array(truth), np.array(score, dtype=float), np.array(qid), np.array(weight)


@given(rows=rows_strategy, data=st.data())
def test_the_order_of_the_rows_and_the_names_of_the_groups_do_not_matter(rows, data):
    truth, score, qid, weight = columns(rows)
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    renamed = np.array([{"a": 30, "b": -1, "c": 7}[label] for label in qid])
    for metric in WEIGHTED:
        value = metric(truth, score, qid=qid, sample_weight=weight)
        moved = metric(truth[order], score[order], qid=renamed[order], sample_weight=weight[order])
        assert moved == pytest.approx(value, abs=1e-12)
    for metric in UNWEIGHTED:
        moved = metric(truth[order], score[order], qid=renamed[order])
        assert moved == pytest.approx(metric(truth, score, qid=qid), abs=1e-12)


@given(rows=rows_strategy)
def test_only_the_order_of_scores_matters_and_reversing_it_flips_the_verdict(rows):
    truth, score, qid, weight = columns(rows)
    for metric in WEIGHTED:
        value = metric(truth, score, qid=qid, sample_weight=weight)
        assert metric(truth**3 - 8, np.exp(score), qid=qid, sample_weight=7 * weight) == pytest.approx(value, abs=1e-12)
    for metric in UNWEIGHTED:
        value = metric(truth, score, qid=qid)
        assert metric(truth**3 - 8, np.exp(score), qid=qid) == pytest.approx(value, abs=1e-12)
    arguments = {"qid": qid, "sample_weight": weight}
    error = disagreement_error(truth, score, **arguments)
    assert disagreement_error(truth, -score, **arguments) == pytest.approx(1 - error, abs=1e-12)
    tau = kendall_tau_b(truth, score, **arguments)
    assert kendall_tau_b(truth, -score, **arguments) == pytest.approx(-tau, abs=1e-12)


@given(rows=rows_strategy)
def test_weight_two_is_the_row_listed_twice_and_weight_zero_is_the_row_left_out(rows):
    truth, score, qid, weight = columns(rows)
    often = np.repeat(np.arange(len(rows)), weight)
    for average in ("groups", "pairs"):  # the pairs inside duplicates are true ties, left out by ties="exclude"
        weighted = disagreement_error(truth, score, qid=qid, sample_weight=weight, average=average)
        listed = disagreement_error(truth[often], score[often], qid=qid[often], average=average)
        assert weighted == pytest.approx(listed, abs=1e-12)
    # the same for tau_b: pairs inside duplicates differ on neither side
    weighted = kendall_tau_b(truth, score, qid=qid, sample_weight=weight)
    assert weighted == pytest.approx(kendall_tau_b(truth[often], score[often], qid=qid[often]), abs=1e-12)
    absent = np.concatenate([weight, np.zeros(len(rows))])
    more = [np.concatenate(pair) for pair in ((truth, truth[::-1]), (score, score), (qid, qid))]
    for metric in WEIGHTED:
        value = metric(truth, score, qid=qid, sample_weight=weight)
        assert metric(more[0], more[1], qid=more[2], sample_weight=absent) == pytest.approx(value, abs=1e-12)


def test_a_group_whose_only_pairs_have_weight_zero_is_undefined_even_after_groups_of_large_weight():
    rng = np.random.default_rng(3)
    truth, score = rng.integers(0, 9, 30), rng.normal(size=30)
    qid = np.repeat([0, 1, 2], 10)
    weight = rng.random(30) * np.repeat([1e9, 1.0, 1e-9], 10)
    weight[21:] = 0
    error = disagreement_error(truth, score, qid=qid, sample_weight=weight, average=None)
    assert np.isnan(error).tolist() == [False, False, True]


def test_rows_of_weight_zero_never_make_a_pair_by_rounding():
    for seed in range(200):
        rng = np.random.default_rng(seed)
        truth, score, qid = rng.permutation(40), rng.permutation(40), np.repeat(np.arange(10), 4)
        weight = rng.random(40) * np.repeat(10.0 ** rng.integers(-6, 7, 10), 4)
        weight[(np.arange(40) % 4 > 0) & (qid % 2 == 1)] = 0  # odd groups keep one row
        sums = pair_sums(check_rows("test", truth, score, qid, weight))
        for values in sums:
            assert not values[1::2].any()
        assert sums.total[::2].all()


def test_small_weights_keep_their_digits_behind_large_ones():
    rng = np.random.default_rng(4)
    truth, score, qid = rng.integers(0, 9, 400), rng.normal(size=400), np.repeat(np.arange(20), 20)
    weight = rng.random(400)
    scaled = weight * np.repeat(10.0 ** rng.permutation(np.arange(-10, 10)), 20)
    alone = disagreement_error(truth, score, qid=qid, sample_weight=weight, average=None)
    beside = disagreement_error(truth, score, qid=qid, sample_weight=scaled, average=None)
    np.testing.assert_allclose(beside, alone, rtol=1e-12, atol=0)


def test_huge_and_tiny_weights_do_not_overflow():
    for scale in (1e300, 1e-300):
        assert disagreement_error([1, 2, 3], [1, 3, 2], sample_weight=scale * np.array([1, 1, 2])) == pytest.approx(0.4)


def test_a_large_group_and_many_groups_are_counted_exactly():
    n = 30_000
    rng = np.random.default_rng(5)
    truth, score = rng.integers(0, 50, n), rng.integers(0, 5000, n)
    assert kendall_tau_b(truth, score) == pytest.approx(stats.kendalltau(truth, score).statistic, abs=1e-12)
    qid = np.repeat(np.arange(n // 3), 3)
    reverse = np.tile([2, 1, 0], n // 3)
    assert disagreement_error(-reverse, reverse, qid=qid) == 1.0
    assert disagreement_error(-reverse, reverse, qid=np.zeros(n), average="pairs") == 1.0


def test_large_integers_are_not_merged_by_rounding():
    big = np.array([2**60, 2**60 + 1])
    assert disagreement_error(big, [2, 1]) == 1.0
    assert concordance_index([1, 2], big) == 1.0


def test_groups_of_any_hashable_kind_are_the_same_groups():
    truth, score = [1, 2, 2, 1, 3, 1], [1, 2, 1, 2, 5, 6]
    plain = disagreement_error(truth, score, qid=[0, 0, 1, 1, 2, 2], average=None)
    assert plain.tolist() == [0, 1, 1]
    kinds = [
        ["a", "a", "b", "b", "c", "c"],
        [(1, "x"), (1, "x"), (1, "y"), (1, "y"), (2, "a"), (2, "a")],
        np.array([0.5, 0.5, 1, 1, 2, 2]),
        np.array(["2020", "2020", "2021", "2021", "2022", "2022"], dtype="datetime64[Y]"),
        [1, 1, "1", "1", "a", "a"],
        [False, False, 1, 1, 2, 2],
    ]
    for labels in kinds:
        assert disagreement_error(truth, score, qid=labels, average=None).tolist() == plain.tolist()


def brute_accuracy(outcome, margin, weight):
    right = counted = Fraction(0)
    for o, m, w in zip(outcome, margin, weight, strict=True):
        if o != 0:
            counted += Fraction(w)
            right += Fraction(w) * (Fraction(1, 2) if m == 0 else int((o > 0) == (m > 0)))
    return right, counted


@every_seed(PROBLEMS)
def test_pairwise_accuracy_equals_brute_force(seed):
    rng = np.random.default_rng(seed)
    _, _, group, weight = random_problem(seed)
    n = len(random_problem(seed)[0])
    outcome, margin = rng.integers(-1, 2, n) * rng.random(n), rng.integers(-2, 3, n)
    arguments = {"sample_weight": weight, "group": group}
    triples = list(by_group(outcome, margin, group, weight))
    parts = [brute_accuracy(*zip(*rows, strict=True)) for rows in triples]
    wanted = np.array([ratio(*part) for part in parts])
    np.testing.assert_allclose(
        pairwise_accuracy(outcome, margin, **arguments, average=None), wanted, rtol=0, atol=1e-12
    )
    if np.isnan(wanted).all():
        with pytest.raises(DataError, match="tie"):
            pairwise_accuracy(outcome, margin, **arguments)
        return
    pooled = ratio(sum(part[0] for part in parts), sum(part[1] for part in parts))
    assert pairwise_accuracy(outcome, margin, **arguments) == pytest.approx(pooled, abs=1e-12)
    means = pairwise_accuracy(outcome, margin, **arguments, average="groups")
    assert means == pytest.approx(np.nanmean(wanted), abs=1e-12)
    swapped = pairwise_accuracy(-outcome, -margin, **arguments)
    assert swapped == pytest.approx(pooled, abs=1e-12)


def test_listing_all_pairs_of_a_group_gives_the_concordance_index():
    rng = np.random.default_rng(6)
    truth, score = rng.integers(0, 5, 40), rng.integers(0, 9, 40)
    first, second = np.triu_indices(40, 1)
    accuracy = pairwise_accuracy(truth[first] - truth[second], score[first] - score[second])
    assert concordance_index(truth, score) == pytest.approx(accuracy, abs=1e-12)
