"""Circles that run along one or two of many features."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import preflearn
from preflearn import Bags, Comparisons, PreferenceGP
from preflearn.report import report_html
from preflearn.structure import rankability
from preflearn.structure.circle_search import (
    PRICE,
    _along,
    _gain,
    _units,
    cyclic_residuals,
    functions_of_features,
    n_learned,
    penalised_evidence,
    price,
    similarities,
)

NAMES = [f"quality {k}" for k in range(10)]


def problem(seed, kind, n=50, m=900, d=10):
    """Return comparisons by a utility of the first of ten features, and circles along one, two or none of them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    first, second = rng.permutation(np.column_stack(np.triu_indices(n, 1)))[:m].T
    m = len(first)
    turn = {
        "two": X[first, 2] * X[second, 4] - X[first, 4] * X[second, 2],
        "one": 1.5 * np.sin(2 * (X[first, 5] - X[second, 5])),
        "none": np.zeros(m),
    }[kind]
    z = X[first, 0] - X[second, 0] + turn + rng.logistic(size=m)
    return Comparisons(pd.DataFrame(X, columns=NAMES[:d]), first, second, np.where(z > 0, 1, -1))


@pytest.mark.parametrize(
    ("kind", "along"),
    [("two", ("quality 2", "quality 4")), pytest.param("one", ("quality 5",), marks=pytest.mark.slow)],
)
def test_circles_along_few_features_are_found_and_named(kind, along):
    data = problem(0, kind)
    found = rankability(data, screen=True, likelihood="logit", n_samples=10)
    assert found.found
    assert found.along == along
    assert f"circles run along {' and '.join(along)}" in str(found)
    both = found.models["both"]
    # the same without the features that do not matter: the evidence is that of a model that never saw them
    kernel = both.cyclic_kernel
    few = [NAMES.index(name) for name in along]
    scales = np.asarray(both.cyclic_kernel_.k2.length_scale)
    assert np.ptp(data.items, axis=0).max() < 1e-3 * np.delete(scales, few).min()
    assert (scales[few] < 20 * np.ptp(data.items, axis=0)[few]).all()
    free = [k for k, name in enumerate(both.theta_names_) if name.startswith("cyclic length scale")]
    assert len(free) == len(NAMES)
    assert n_learned(both) == len(both.theta_) - len(NAMES) + len(few)
    assert penalised_evidence(both) == pytest.approx(both.log_evidence_ - PRICE * (n_learned(both) - 1) - math.log(55))
    whole = PreferenceGP("rbf", "logit", cyclic_kernel="rbf", n_restarts=0).fit(data)
    assert both.log_evidence_ > whole.log_evidence_ + 10
    assert kernel.k2.length_scale_bounds.shape == (len(NAMES), 2)


@pytest.mark.slow
def test_without_circles_no_features_are_named():
    for seed in range(3):
        found = rankability(problem(seed, "none"), screen=True, likelihood="logit", n_samples=10)
        assert found.verdict == "rankable"
        assert found.along == ()


@pytest.mark.slow
def test_p_values_that_look_along_features_are_not_too_small():
    p = []
    for seed in range(24):
        model = PreferenceGP("rbf", "logit", n_restarts=0).fit(problem(seed, "none", n=20, m=150, d=6))
        p.append(cyclic_residuals(model, similarities(model, (0.5,)), 0, functions_of_features(model)).p_value)
    assert np.mean(np.array(p) < 0.2) <= 0.35
    assert np.mean(np.array(p) < 0.7) >= 0.25


@pytest.mark.slow
def test_rank_names_the_features_and_the_model_can_be_kept(tmp_path):
    data = problem(1, "two", m=2000)
    data, new = data[:900], data[900:]
    result = preflearn.rank(data)
    assert "circles" in result.ladder.terms
    assert result.summary()["rankability"]["along"] == ["quality 2", "quality 4"]
    assert "run in circles along quality 2 and quality 4" in result.warnings[0].text
    page = report_html(result)
    assert "The circles run along" in page
    preflearn.save(result, tmp_path / "m.preflearn")
    again = preflearn.load(tmp_path / "m.preflearn")
    np.testing.assert_allclose(again.predict_proba(data), result.model.predict_proba(data), rtol=0, atol=1e-12)
    # held-out comparisons of the same truth: what is learned is not only said
    assert result.model.score(new) > preflearn.rank(data, model="gp-own", circles=False).model.score(new) + 0.03


def test_functions_are_of_single_features():
    data = problem(2, "none")
    model = PreferenceGP("rbf", "logit", n_restarts=0).fit(data)
    Phi = functions_of_features(model)
    assert Phi.shape == (50, 10, 3)
    np.testing.assert_allclose(Phi.sum(axis=0), 0.0, atol=1e-10)
    wave = np.cos(2 * np.pi * (stats.rankdata(data.items[:, 6]) - 0.5) / 50)
    np.testing.assert_allclose(Phi[:, 6, 1], 0.6 * (wave - wave.mean()), atol=1e-12)
    stretched = PreferenceGP("rbf", "logit", n_restarts=0).fit(data.with_items(np.sinh(3 * data.items)))
    np.testing.assert_allclose(functions_of_features(stretched), Phi)  # outliers do not matter
    constant = data.with_items(np.column_stack([data.items[:, :3], np.ones(50)]))
    flat = functions_of_features(PreferenceGP("rbf", "logit", n_restarts=0).fit(constant))
    assert not flat[:, 3].any()
    two = PreferenceGP("rbf", "logit", n_restarts=0).fit(data.with_items(data.items[:, :2]))
    assert functions_of_features(two) is None
    bags = PreferenceGP("rbf", "logit", n_restarts=0).fit(data.with_items(Bags([row[None] for row in data.items])))
    assert functions_of_features(bags) is None


def test_the_sign_along_features_is_the_norm_of_their_block():
    from preflearn.structure.circle_search import _along_features

    rng = np.random.default_rng(0)
    functions = rng.normal(size=(7, 3, 2))
    first, second = np.triu_indices(7, 1)
    r = rng.normal(size=(len(first), 2))
    norms = _along_features(7, (first, second), functions)[0](r)
    assert norms.shape == (2, 6)
    for column in range(2):
        R = np.zeros((7, 7))
        R[first, second] = r[:, column]
        R -= R.T
        expected = [
            np.sum(np.square(functions[:, a].T @ R @ functions[:, b])) for a, b in zip(*np.triu_indices(3), strict=True)
        ]
        np.testing.assert_allclose(norms[column], expected)


def test_the_gain_is_that_of_one_variance():
    # k squares with variance v: the likelihood ratio of the best v against 1 is k/2 (ρ - 1 - log ρ), ρ their mean
    rng = np.random.default_rng(0)
    k, seen = 40, np.empty((20_001, 2))
    draws = rng.normal(size=(20_000, k))
    own = 1.5 * rng.normal(size=k)
    seen[0], seen[1:] = np.sum(own**2), np.sum(draws**2, axis=1)[:, None]
    deviation = np.sqrt(np.mean(own**2))
    ratio = stats.norm.logpdf(own, scale=deviation).sum() - stats.norm.logpdf(own).sum()
    np.testing.assert_allclose(_gain(seen), ratio, rtol=0.1)
    assert _gain(np.vstack([np.zeros(2), seen[1:50]])).tolist() == [0.0, 0.0]  # below the mean nothing is gained
    assert _gain(np.ones((5, 1))).tolist() == [0.0]
    units = _units(seen[1:])
    np.testing.assert_allclose(units.mean(axis=0), 0.0, atol=1e-9)
    assert abs(stats.skew(units[:, 0])) < 0.1 < stats.skew(seen[1:, 0])
    assert not _units(np.ones((5, 1))).any()


def test_a_choice_of_features_has_its_price():
    data = problem(0, "one", n=15, m=90, d=6)
    ranking = PreferenceGP("rbf", "logit", n_restarts=0).fit(data)
    assert price(ranking) == PRICE * len(ranking.theta_)
    fixed = PreferenceGP("rbf", "logit", cyclic_kernel=_along(ranking, (1, 3)), n_restarts=0).fit(data)
    assert n_learned(fixed) == len(ranking.theta_) + 3
    assert price(fixed) == pytest.approx(PRICE * (n_learned(fixed) - 1) + math.log(21))  # one length scale is free
