"""RankSVM on all pairs of a million rows against scikit-learn's LinearSVC on 100,000 listed pairs of the same rows."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.measure import Row, alternate, ratio_row
from preflearn.baselines import RankSVM
from preflearn.datasets import make_ltr
from preflearn.metrics import concordance_index, ndcg


def listed_pairs(y, qid, n_pairs, seed):
    """Draw distinct pairs of rows that are in one group and have different scores."""
    rng = np.random.default_rng(seed)
    size = np.bincount(qid)
    start = np.cumsum(size) - size
    group = rng.integers(0, size.shape[0], 3 * n_pairs)
    first, second = (start[group] + rng.integers(0, size[group]) for _ in range(2))
    pairs = np.unique(np.sort(np.column_stack([first, second])[y[first] != y[second]], axis=1), axis=0)
    return rng.permuted(rng.permutation(pairs)[:n_pairs], axis=1).T


def rank_svm(n, n_pairs, repeats, draws=5):
    """One fit each; how well 5,000 further groups are ranked, by the peer on average over draws of the pairs."""
    data = make_ltr(n // 20 + 5000, 20, 50, random_state=0)
    X, y, qid = data.X[:n], data.y[:n], data.qid[:n]

    def differences(seed):
        first, second = listed_pairs(y, qid, n_pairs, seed)
        return X[first] - X[second], np.sign(y[first] - y[second])

    ours, peer, listed = RankSVM(), LinearSVC(fit_intercept=False), differences(0)
    fit, bare = alternate(lambda: ours.fit(X, y, qid=qid), lambda: peer.fit(*listed), repeats=repeats)
    name = f"LinearSVC, {len(listed[1]):,} pairs"
    yield ratio_row(f"RankSVM, all pairs of {n:,} x 50 (gap {ours.gap_:.0e})", fit, bare, name, 20)
    others = [peer.fit(*differences(seed)).coef_[0] for seed in range(draws)]
    test = slice(n, None)
    for what, metric in (("NDCG@10", partial(ndcg, k=10)), ("share of pairs in order", concordance_index)):
        found, *sampled = (metric(data.y[test], data.X[test] @ w, qid=data.qid[test]) for w in (ours.coef_, *others))
        mean = f"{name}, {np.mean(sampled):.5f} ± {np.std(sampled):.5f} over {draws} draws"
        least = np.mean(sampled) - np.std(sampled)
        yield Row(f"the same, {what}", f"{found:.5f}", mean, "", "≥ mean - deviation", found >= least)
