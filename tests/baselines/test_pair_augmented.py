"""A classifier of pairs in both orders: against rows made by hand, exact antisymmetry, and mistakes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from preflearn import Comparisons
from preflearn.baselines import PairAugmented
from preflearn.exceptions import DataError


def simulate(seed=0, n=15, m=60):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    code = rng.choice(n * (n - 1) // 2, m, replace=False)
    first, second = (side[code] for side in np.triu_indices(n, 1))
    y = np.sign(X[first, 0] - X[second, 0] + 0.3 * rng.normal(size=m))
    turned = rng.random(m) < 0.5
    return Comparisons(X, np.where(turned, second, first), np.where(turned, first, second), np.where(turned, -y, y))


@pytest.mark.parametrize("estimator", [LogisticRegression(), GaussianProcessClassifier(1.0 * RBF(), random_state=0)])
def test_probabilities_are_averages_over_both_orders_and_antisymmetric(estimator):
    data = simulate()
    model = PairAugmented(estimator).fit(data)
    X = data.items
    rows = np.vstack([np.hstack([X[data.first], X[data.second]]), np.hstack([X[data.second], X[data.first]])])
    plain = clone(estimator).fit(rows, np.concatenate([data.outcome > 0, data.outcome < 0]))
    p = plain.predict_proba(rows)[:, 1].reshape(2, -1)
    np.testing.assert_allclose(model.predict_proba(data)[:, 1], (p[0] + 1 - p[1]) / 2, atol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(data.swapped()), model.predict_proba(data)[:, ::-1])
    np.testing.assert_allclose(model.predict_proba(data).sum(axis=1), 1, atol=1e-15)
    assert model.score(data) > 0.8
    assert cross_val_score(PairAugmented(estimator), data, cv=3).mean() > 0.7


def test_weights_reach_the_classifier():
    data = simulate()
    rows = np.repeat(np.arange(60), 2)
    twice = PairAugmented().fit(data[rows])
    weighted = Comparisons(data.items, data.first, data.second, data.outcome, weight=np.full(60, 2.0))
    np.testing.assert_allclose(PairAugmented().fit(weighted).predict_proba(data), twice.predict_proba(data), atol=1e-5)
    with pytest.raises(DataError, match="takes no weights"):
        PairAugmented(GaussianProcessClassifier()).fit(weighted)


def test_mistakes_are_explained():
    data = simulate()
    with pytest.raises(DataError, match="have no features"):
        PairAugmented().fit(Comparisons(3, [0], [1]))
    with pytest.raises(DataError, match=r"1 of 3 comparisons are ties \(rows 1\)"):
        PairAugmented().fit(Comparisons(data.items, [0, 1, 2], [1, 2, 3], [1, 0, -1]))
    with pytest.raises(TypeError, match="learns from Comparisons"):
        PairAugmented().fit(data.items)


def test_columns_are_matched_by_name():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(10, 3)), columns=list("abc"))
    first, second = np.triu_indices(10, 1)
    outcome = np.sign(
        (table["a"] + 4 * table["b"]).to_numpy()[first] - (table["a"] + 4 * table["b"]).to_numpy()[second]
    )
    model = PairAugmented().fit(Comparisons(table, first, second, outcome))
    turned = Comparisons(table[["c", "a", "b"]], first, second, outcome)
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(turned.with_items(table)))
    with pytest.raises(DataError, match="fitted on 3"):
        model.predict(turned.with_items(table.to_numpy()[:, :2]))


def test_what_is_no_comparison_is_refused_in_words():
    data = simulate()
    with pytest.raises(TypeError, match="PairAugmented predicts Comparisons; got ndarray"):
        PairAugmented().fit(data).predict(data.items)
    with pytest.raises(DataError, match="no comparisons to learn from"):
        PairAugmented().fit(data[:0])
    weighted = Comparisons(data.items, data.first, data.second, data.outcome, weight=np.arange(len(data)) > 0)
    with pytest.raises(DataError, match="all 1 comparisons have weight 0"):
        PairAugmented().fit(weighted[:1])
