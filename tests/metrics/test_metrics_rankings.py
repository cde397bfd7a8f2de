"""Top-heavy metrics against loops over all orders of the tied rows, against scikit-learn, and by hand."""

from __future__ import annotations

import math
from itertools import groupby, permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score, ndcg_score

from fast_share import every_seed
from preflearn.exceptions import DataError
from preflearn.metrics import mean_average_precision, ndcg, precision_at_k

TIES = ["average", "worst", "best", "order"]


def random_problem(seed):
    """Small unsorted groups with few different scores, so that ties abound."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 13))
    truth = rng.integers(0, rng.integers(1, 4), n)
    score = rng.integers(0, 4, n) / 2
    number = rng.integers(0, rng.integers(1, 5), n)
    qid = [number, np.array(["b", "a", "d", "c"])[number], None][seed % 3]
    return truth, score, qid


def groups_of(truth, score, qid):
    labels = [0] * len(truth) if qid is None else list(qid)
    for label in sorted(set(labels)):
        yield [(t, s) for t, s, own in zip(truth.tolist(), score.tolist(), labels, strict=True) if own == label]


def orders(rows):
    """Yield the labels in every ranking which the scores allow."""
    ranked = sorted(rows, key=lambda row: -row[1])
    blocks = [[t for t, _ in block] for _, block in groupby(ranked, key=lambda row: row[1])]
    for choice in product(*(permutations(block) for block in blocks)):
        yield [label for block in choice for label in block]


def judge(rows, ties, metric):
    """Apply a metric of one ranking under a convention for ties."""
    if ties == "order":
        return metric([t for t, _ in sorted(rows, key=lambda row: -row[1])])  # sorted is stable
    values = [metric(order) for order in orders(rows)]
    return {"average": math.fsum(values) / len(values), "worst": min(values), "best": max(values)}[ties]


def average_precision(labels, relevant):
    hits, total = 0, 0.0
    for rank, label in enumerate(labels, start=1):
        if label >= relevant:
            hits += 1
            total += hits / rank
    return total / hits if hits else math.nan


def dcg(labels, k, gain, discount):
    total = 0.0
    for rank, label in enumerate(labels[:k], start=1):
        value = 2**label - 1 if gain == "exponential" else label
        shown = 1 / math.log2(1 + rank) if discount == "log2" else 1 if rank <= 2 else 1 / math.log2(rank)
        total += value * shown
    return total


@pytest.mark.parametrize("ties", TIES)
@every_seed(48, 200)
def test_average_precision_equals_the_loop_over_all_orders(seed, ties):
    truth, score, qid = random_problem(seed)
    relevant = 1 + seed % 2
    wanted = [judge(rows, ties, lambda o: average_precision(o, relevant)) for rows in groups_of(truth, score, qid)]
    arguments = {"qid": qid, "relevant": relevant, "ties": ties}
    found = mean_average_precision(truth, score, **arguments, undefined="skip", average=None)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    zeroed = np.nan_to_num(wanted)
    assert mean_average_precision(truth, score, **arguments) == pytest.approx(zeroed.mean(), abs=1e-12)
    if not np.isnan(wanted).all():
        skipped = mean_average_precision(truth, score, **arguments, undefined="skip")
        assert skipped == pytest.approx(np.nanmean(wanted), abs=1e-12)
    else:
        with pytest.raises(DataError, match=f"relevant={relevant}"):
            mean_average_precision(truth, score, **arguments, undefined="skip")


@pytest.mark.parametrize("ties", TIES)
@every_seed(48, 200)
def test_ndcg_equals_the_loop_over_all_orders(seed, ties):
    truth, score, qid = random_problem(seed)
    k = [None, 1, 3, 20][seed % 4]
    gain, discount = ["exponential", "linear"][seed // 4 % 2], ["log2", "letor"][seed // 8 % 2]
    wanted = []
    for rows in groups_of(truth, score, qid):
        ideal = dcg(sorted((t for t, _ in rows), reverse=True), k, gain, discount)
        value = judge(rows, ties, lambda o: dcg(o, k, gain, discount))
        wanted.append(value / ideal if ideal else math.nan)
    wanted = np.array(wanted)
    arguments = {"k": k, "qid": qid, "gain": gain, "discount": discount, "ties": ties}
    found = ndcg(truth, score, **arguments, undefined="skip", average=None)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    for undefined, value in (("zero", 0.0), ("one", 1.0)):
        mean = np.where(np.isnan(wanted), value, wanted).mean()
        assert ndcg(truth, score, **arguments, undefined=undefined) == pytest.approx(mean, abs=1e-12)
    if not np.isnan(wanted).all():
        assert ndcg(truth, score, **arguments, undefined="skip") == pytest.approx(np.nanmean(wanted), abs=1e-12)


@pytest.mark.parametrize("ties", TIES)
@every_seed(48, 200)
def test_precision_equals_the_loop_over_all_orders(seed, ties):
    truth, score, qid = random_problem(seed)
    k = 1 + seed % 6
    wanted = [
        judge(rows, ties, lambda o: sum(label >= 1 for label in o[:k]) / k) for rows in groups_of(truth, score, qid)
    ]
    found = precision_at_k(truth, score, k=k, qid=qid, ties=ties, average=None)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    mean = precision_at_k(truth, score, k=k, qid=qid, ties=ties)
    assert mean == pytest.approx(np.mean(wanted), abs=1e-12)


@every_seed(50)
def test_scikit_learn_agrees(seed):
    rng = np.random.default_rng(seed)
    truth, tied = rng.integers(0, 4, 30), rng.integers(0, 8, 30) / 3
    for k in (None, 5):
        reference = ndcg_score([truth], [tied], k=k)  # linear gain, ties averaged
        assert ndcg(truth, tied, k=k, gain="linear") == pytest.approx(reference, abs=1e-12)
    score = rng.permutation(30)  # without ties: scikit-learn treats tied rows as one threshold
    reference = average_precision_score(truth >= 2, score)
    assert mean_average_precision(truth, score, relevant=2) == pytest.approx(reference, abs=1e-12)


def test_precision_divides_by_k_also_where_a_group_is_shorter():
    assert precision_at_k([1, 1, 1], [3, 2, 1], k=5) == pytest.approx(0.6)


def test_letors_discount_leaves_the_first_two_ranks_alone():
    for rank, shown in ((1, 1.0), (2, 1.0), (3, 1 / math.log2(3)), (4, 0.5)):
        truth = np.zeros(6)
        truth[rank - 1] = 1
        assert ndcg(truth, -np.arange(6), discount="letor") == pytest.approx(shown, abs=1e-15)


def test_the_expectation_lies_between_worst_and_best_and_order_follows_the_rows():
    truth, score = np.array([0, 2, 1, 0, 1]), np.zeros(5)
    for metric in (mean_average_precision, ndcg, lambda *a, **k: precision_at_k(*a, k=2, **k)):
        value = {ties: metric(truth, score, ties=ties) for ties in TIES}
        assert value["worst"] < value["average"] < value["best"]
        best_first = np.argsort(-truth, kind="stable")
        assert metric(truth[best_first], score, ties="order") == value["best"]
        assert metric(truth[best_first[::-1]], score, ties="order") == value["worst"]


rows_strategy = st.lists(
    st.tuples(st.integers(0, 3), st.integers(-3, 3), st.sampled_from("abc")), min_size=1, max_size=25
)


@given(rows=rows_strategy, data=st.data())
def test_row_order_group_names_and_the_scale_of_scores_do_not_matter(rows, data):
    truth, score, qid = (np.array(column) for column in zip(*rows, strict=True))
    order = np.array(data.draw(st.permutations(range(len(rows)))))
    renamed = np.array([{"a": (1, 2), "b": (0, 9), "c": (0, 1)}[label] for label in qid])
    renamed = [tuple(label) for label in renamed[order].tolist()]
    for metric in (mean_average_precision, ndcg, lambda *a, **k: precision_at_k(*a, k=3, **k)):
        for ties in ("average", "worst", "best"):
            value = metric(truth, score, qid=qid, ties=ties)
            moved = metric(truth[order], np.exp(score[order]), qid=renamed, ties=ties)
            assert moved == pytest.approx(value, abs=1e-12)


def test_unsigned_and_boolean_columns_rank_like_others():
    truth, score = np.array([True, False, True]), np.array([3, 200, 100], dtype=np.uint8)
    wanted = mean_average_precision([1, 0, 1], [3.0, 200.0, 100.0])
    assert mean_average_precision(truth, score) == wanted == pytest.approx((1 / 2 + 2 / 3) / 2)
    score[1] = 0  # -0 is 0 among unsigned numbers, which would put the lowest score first
    assert mean_average_precision(truth, score) == 1.0


def test_many_groups_equal_one_group_at_a_time():
    rng = np.random.default_rng(1)
    truth, score, qid = rng.integers(0, 3, 600), rng.integers(0, 6, 600), rng.integers(0, 40, 600)
    for metric in (mean_average_precision, ndcg, lambda *a, **k: precision_at_k(*a, k=3, **k)):
        alone = [metric(truth[qid == label], score[qid == label]) for label in np.unique(qid)]
        np.testing.assert_allclose(metric(truth, score, qid=qid, average=None), alone, rtol=0, atol=1e-12)
