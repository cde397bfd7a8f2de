"""Hostile problems: whatever the scale and however degenerate, answers are finite and nothing raises."""

import numpy as np
import pytest

from preflearn import KPCR, KPCRCV, RLS, RLSCV, Comparisons, KPCRank, KPCRankCV, RankRLS, RankRLSCV

pytestmark = pytest.mark.filterwarnings("ignore::preflearn.exceptions.PreflearnWarning")

ROW_MODELS = [
    RLS(1e-6),
    RankRLS(1e-10),
    RankRLS(1e10, "rbf", ties="exclude"),
    RankRLS(1e-8, "rbf", weighting="groups"),
    RankRLS(1e-3, "poly3"),
    RankRLSCV(kernel="matern32"),
    RankRLSCV(),
    KPCR(5),
    KPCRCV(5, cv=2),
    RLSCV(),
    KPCRank(20),
    KPCRank(3, "linear"),
    KPCRankCV(5, ["linear", "rbf"], cv=2),
]


def rows(rng):
    n, d = int(rng.integers(6, 20)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-8, 9, size=d) + 10.0 ** rng.integers(-8, 9)
    kind = rng.integers(0, 4)
    if kind == 0:
        X[:] = X[0]  # identical items
    elif kind == 1:
        X[:, 0] = 0.0
    elif kind == 2:
        X[n // 2 :] = X[: n - n // 2]  # every item twice, with other scores
    y = rng.normal(size=n) * 10.0 ** rng.integers(-8, 9)
    if rng.random() < 0.3:
        y = np.sign(y)
    qid = np.sort(rng.integers(0, 3, n))
    qid[:4] = [0, 0, 1, 1]
    y[:4] = [0, 1, 1, 0]
    weight = 10.0 ** rng.uniform(-8, 8, n) if rng.random() < 0.5 else None
    return X, y, np.sort(qid), weight


@pytest.mark.parametrize("model", ROW_MODELS, ids=repr)
def test_rows(model):
    for seed in range(20):
        X, y, qid, weight = rows(np.random.default_rng(seed))
        model.fit(X, y, qid=qid, sample_weight=weight)
        assert np.isfinite(model.predict(X)).all(), seed
        assert np.isfinite(model.predict(3 * X[:2] + 1)).all(), seed


@pytest.mark.parametrize(
    "model",
    [RankRLS(1e-9), RankRLS(1e-9, "rbf"), RankRLSCV(), RankRLSCV(kernel="rbf"), KPCRank(8), KPCRankCV(4, cv=2)],
    ids=repr,
)
def test_comparisons(model):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, _, _, _ = rows(rng)
        m = int(rng.integers(3, 40))
        first = rng.integers(0, len(X), m)
        second = (first + rng.integers(1, len(X), m)) % len(X)
        if seed % 4 == 0:
            first[:], second[:] = [0, 1] * (m // 2) + [0] * (m % 2), [1, 0] * (m // 2) + [1] * (m % 2)  # contradictions
            first[-1], second[-1] = 2, 3
        outcome = np.where(rng.random(m) < 0.2, 0.0, rng.choice([-1.0, 1.0], m)) * 10.0 ** rng.integers(-8, 9)
        outcome[-1] = 1.0
        weight = 10.0 ** rng.uniform(-8, 8, m) if seed % 3 == 0 else None
        data = Comparisons(X, first, second, outcome, weight=weight)
        margin = model.fit(data).predict(data)
        assert np.isfinite(margin).all(), seed
        np.testing.assert_array_equal(model.predict(data.swapped()), -margin)
