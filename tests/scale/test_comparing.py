"""An approximated model beside the exact one on some of the items."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, Nystroem, PreferenceGP
from preflearn.exceptions import DataError
from preflearn.scale import compare_with_exact
from preflearn.scale.comparing import _by_row, _grown

KERNEL = ConstantKernel(4.0, "fixed") * RBF(0.4, "fixed")


def problem(n=80, m=900, names=None, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    f = 2 * np.sin(2 * X[:, 0]) + X[:, 1]
    outcome = np.where(f[first] - f[second] + rng.logistic(size=m) > 0, 1.0, -1.0)
    return Comparisons(X, first, second, outcome, names=names)


def with_landmarks(count):
    return PreferenceGP(KERNEL, "logit", approximation=Nystroem(count, random_state=0))


def test_with_all_landmarks_nothing_is_lost_and_with_few_something_is():
    data = problem()
    same = compare_with_exact(with_landmarks(80), data, n_items=50)
    assert same.n_items <= 50
    assert same.lost == pytest.approx(0.0, abs=1e-8)
    assert same.correlation == pytest.approx(1.0, abs=1e-8)
    assert (same.coverage, same.accuracy) == (1.0, same.accuracy_exact)
    assert same.log_loss == pytest.approx(same.log_loss_exact, abs=1e-7)
    few = compare_with_exact(with_landmarks(3), data, n_items=50)
    assert few.lost > 0.5
    assert few.correlation < 0.9
    assert few.log_loss > few.log_loss_exact + 0.02
    assert few.accuracy < few.accuracy_exact
    text = str(few)
    assert f"accuracy     {few.accuracy:.3f}, exact {few.accuracy_exact:.3f}" in text
    assert (few.n_learned, few.n_held_out) == (same.n_learned, same.n_held_out)


def test_rankings_are_put_back_in_the_order_of_the_items():
    np.testing.assert_array_equal(_by_row(np.array([2, 0, 1]), np.array([1.0, 2.0, 3.0])), [2.0, 3.0, 1.0])


def test_names_and_order_do_not_matter():
    names = [f"item {k}" for k in range(80)]
    one, other = (compare_with_exact(with_landmarks(8), problem(names=given), n_items=40) for given in (None, names))
    assert one == other
    assert one == compare_with_exact(with_landmarks(8), problem(), n_items=40)


def test_items_of_the_subset_were_compared_with_each_other():
    data = problem(n=2_000, m=6_000)
    used = _grown(data, 200, np.random.default_rng(0))
    assert len(np.unique(used)) == 200
    inside = np.isin(data.first, used) & np.isin(data.second, used)
    assert inside.sum() >= 300  # of as many at random there are 60
    alone = Comparisons(np.eye(6), [0, 2, 4], [1, 3, 5])  # nothing to grow into
    assert len(_grown(alone, 4, np.random.default_rng(0))) == 4


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"model": PreferenceGP()}, "must be a PreferenceGP with an approximation"),
        ({"n_items": 1}, "n_items must be a whole number of at least 2; got 1"),
        ({"held_out": 1.0}, "held_out=1.0 must be between 0 and 1"),
        ({"level": 0}, "level=0 must be between"),
    ],
)
def test_parameters_are_checked(changed, message):
    given = {"model": with_landmarks(3), "n_items": 20, **changed}
    with pytest.raises(ValueError, match=message):
        compare_with_exact(given.pop("model"), problem(), **given)


def test_too_few_comparisons_are_refused():
    with pytest.raises(DataError, match="only 1 comparisons are between the 2 items"):
        compare_with_exact(with_landmarks(3), problem(n=2_000, m=2_000), n_items=2)
    with pytest.raises(TypeError, match="build Comparisons"):
        compare_with_exact(with_landmarks(3), [[0, 1]])
