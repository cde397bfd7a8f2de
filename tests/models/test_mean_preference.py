"""Rankings where preferences may run in circles: by how much an item is preferred to all items on average."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, PreferenceGP
from preflearn.terms import Rows

pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one")


def problem(seed, n=9, m=60, judges=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    z = X[first, 0] - X[second, 0] + X[first, 0] * X[second, 1] - X[first, 1] * X[second, 0]
    outcome = np.where(z + rng.logistic(size=m) > 0, 1.0, -1.0)
    judge = [f"j{k}" for k in rng.integers(0, judges, m)] if judges else None
    return Comparisons(X, first, second, outcome, judge=judge), rng


def smooth(scale=1.0):
    return ConstantKernel(2.0) * RBF(scale)


def pair_joint(s, items, pairs, who):
    return s.posterior.joint(s.problem.query(Rows(items, *pairs, who=who), joint=True))


def mean_joint(s, items, who):
    return s.posterior.joint(s.problem.query(Rows.of_items(items, "mean", who=who), joint=True))


def means_of_pairs(n):
    """Return the operator (n, pairs) from preferences of all pairs to their means over all items."""
    low, high = np.triu_indices(n, 1)
    S = np.zeros((n, len(low)))
    S[low, np.arange(len(low))] = 1 / n
    S[high, np.arange(len(low))] = -1 / n
    return (low, high), S


@pytest.mark.parametrize(
    ("parts", "kind"),
    [
        ({"kernel": smooth(), "cyclic_kernel": smooth(1.3)}, "pairs"),
        ({"kernel": None, "cyclic_kernel": smooth(1.3)}, "pairs"),
        ({"kernel": smooth(), "cyclic_kernel": smooth(1.3), "own_effect": True}, "pairs"),
        ({"kernel": smooth(), "cyclic_kernel": smooth(1.3)}, "functions"),
        ({"kernel": None, "cyclic_kernel": smooth(1.3)}, "functions"),
    ],
)
def test_it_is_the_mean_over_all_pairs(parts, kind, monkeypatch):
    if kind == "functions":
        monkeypatch.setattr("preflearn.models._sum_of_terms.BASIS_FROM", 0)
        monkeypatch.setattr("preflearn.models._sum_of_terms.MANY_PAIRS", 0)
        monkeypatch.setattr("preflearn.models._sum_of_terms.MOST_FUNCTIONS", 7)
    data, rng = problem(0)
    model = PreferenceGP(**parts, likelihood="logit", hyperparameters="fixed").fit(data)
    assert model._choice.kind == kind
    new = rng.normal(size=(6, 2))
    for items in (new, None, data.items[[0, 3, 3]]):
        asked, _ = model._items_of_table(items)
        n = len(asked.number)
        pairs, S = means_of_pairs(n)
        mean, covariance = pair_joint(model._solution, asked, pairs, None)
        found = mean_joint(model._solution, asked, None)
        np.testing.assert_allclose(found[0], S @ mean, atol=1e-10)
        np.testing.assert_allclose(found[1], S @ covariance @ S.T, atol=1e-10)
        ranking = model.rank(items)
        np.testing.assert_allclose(ranking.utility, (S @ mean)[ranking.row], atol=1e-10)
        np.testing.assert_allclose(ranking.std**2, (S @ covariance @ S.T).diagonal()[ranking.row], atol=1e-10)
        np.testing.assert_allclose(
            ranking.utility, model.preference_matrix(items).mean.mean(axis=1)[ranking.row], atol=1e-10
        )


def test_of_one_judge_it_is_the_mean_over_what_that_judge_prefers():
    data, rng = problem(1, judges=3)
    model = PreferenceGP(
        smooth(), cyclic_kernel=smooth(1.3), judge_kernel=ConstantKernel(0.5), hyperparameters="fixed"
    ).fit(data)
    asked, _ = model._items_of_table(rng.normal(size=(5, 2)))
    pairs, S = means_of_pairs(5)
    for judge in (None, "j1"):
        mean, covariance = pair_joint(model._solution, asked, pairs, model._judge(judge, len(pairs[0]), "rank"))
        found = mean_joint(model._solution, asked, model._judge(judge, 5, "rank"))
        np.testing.assert_allclose(found[0], S @ mean, atol=1e-10)
        np.testing.assert_allclose(found[1], S @ covariance @ S.T, atol=1e-10)


@pytest.mark.parametrize("utility", [True, False])
def test_pairs_with_effects_of_their_own_are_those_of_items_that_have_nothing_in_common(utility):
    data, _ = problem(2, m=25)  # so that some pairs were never compared
    kernels = [ConstantKernel(1.5) if utility else None, ConstantKernel(0.8)]
    by_name = PreferenceGP(kernels[0], cyclic_kernel=kernels[1], hyperparameters="fixed").fit(data.with_items(9))
    assert by_name._choice.kind == "effects"
    apart = [None if kernel is None else kernel * RBF(1e-3, "fixed") for kernel in kernels]
    by_feature = PreferenceGP(apart[0], cyclic_kernel=apart[1], hyperparameters="fixed").fit(data)
    for items in (None, [0, 3, 4, 7], [2, 2, 5, 8, 5]):
        found, wanted = (
            mean_joint(model._solution, model._items_of_table(asked)[0], None)
            for model, asked in ((by_name, items), (by_feature, items if items is None else data.items[items]))
        )
        np.testing.assert_allclose(found[0], wanted[0], atol=1e-7)
        np.testing.assert_allclose(found[1], wanted[1], atol=1e-7)


def test_without_circles_it_is_the_utility():
    data, rng = problem(3)
    plain = PreferenceGP(smooth(), hyperparameters="fixed").fit(data)
    hardly = PreferenceGP(smooth(), cyclic_kernel=ConstantKernel(1e-5) * RBF(1.0), hyperparameters="fixed").fit(data)
    new = rng.normal(size=(7, 2))
    one, other = plain.rank(new), hardly.rank(new)
    np.testing.assert_allclose(one.utility, other.utility, atol=1e-6)
    np.testing.assert_allclose(one.std, other.std, atol=1e-6)
    np.testing.assert_array_equal(one.row, other.row)
    np.testing.assert_allclose(one.p_best, other.p_best, atol=0.05)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is worth only")
def test_an_average_over_hyperparameters_is_a_mixture_of_them():
    data, _ = problem(4)
    model = PreferenceGP(
        smooth(), cyclic_kernel=smooth(), hyperparameters="average", n_points=8, n_restarts=0, random_state=0
    ).fit(data)
    ranking = model.rank()
    asked, _ = model._items_of_table(None)
    parts = [(w, *mean_joint(s, asked, None)) for w, s in model._mixture]
    mean = np.sum([w * m for w, m, _ in parts], axis=0)
    variance = np.sum([w * (C.diagonal() + (m - mean) ** 2) for w, m, C in parts], axis=0)
    assert len(parts) > 3
    np.testing.assert_allclose(ranking.utility, mean[ranking.row], atol=1e-10)
    np.testing.assert_allclose(ranking.std, np.sqrt(variance)[ranking.row], atol=1e-10)
    assert ranking.p_best.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("parts", [{}, {"cyclic_kernel": "rbf"}])
def test_equal_items_are_as_often_the_best(parts):
    X = np.array([[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [2.0, 0.0]])
    model = PreferenceGP("rbf", **parts, hyperparameters="fixed").fit(Comparisons(X, [1, 2, 3, 0], [0, 0, 1, 3]))
    ranking = model.rank(X[:3])
    assert set(ranking.row[:2]) == {1, 2}
    assert ranking.p_best[0] == pytest.approx(ranking.p_best[1], abs=0.04)
    assert ranking.rank_low[0] == ranking.rank_low[1]
    assert ranking.p_next[0] == pytest.approx(0.5, abs=0.04)
    assert ranking.p_best.sum() == pytest.approx(1.0)
