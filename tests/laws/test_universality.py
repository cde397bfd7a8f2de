"""Theorem 1 of the paper on inconsistent preferences: the skew kernel learns any skew function, and no utility does.

The theorem says that functions of the kernel's space come as close as one likes, uniformly, to every continuous skew
function g. Here g is learned from its values at random pairs, and the largest error on a grid is compared with what no
utility can go below: around a ⟶ b ⟶ c ⟶ a differences of a utility add up to zero, so one of the three is wrong by a
third of g(a, b) + g(b, c) + g(c, a) at least.
"""

import numpy as np
import pytest

from preflearn import Comparisons, PreferenceGP

GRID = np.linspace(-np.pi, np.pi, 25)
FIRST, SECOND = np.triu_indices(len(GRID), 1)
ASKED = Comparisons(GRID[:, None], FIRST, SECOND)
FUNCTIONS = {
    "a circle": lambda a, b: np.sin(a - b),
    "circles here and there": lambda a, b: 3 * np.exp(-((a - 1) ** 2) - (b + 1) ** 2),
    "a ranking that turns": lambda a, b: (a - b) * np.cos(a * b / 3),
}


def skew(name, a, b):
    half = FUNCTIONS[name]
    return half(a, b) if name == "a circle" else half(a, b) - half(b, a)


def error(name, n_pairs, **kernels):
    """The largest error on the grid after learning from so many pairs of points, each point in one pair."""
    points = np.random.default_rng(0).uniform(-np.pi, np.pi, (2 * n_pairs, 1))
    first, second = np.arange(n_pairs), np.arange(n_pairs, 2 * n_pairs)
    data = Comparisons(points, first, second, skew(name, points[first, 0], points[second, 0]))
    model = PreferenceGP(likelihood="gaussian", n_restarts=0, random_state=0, **kernels).fit(data)
    return np.abs(model.predict_difference(ASKED) - skew(name, GRID[FIRST], GRID[SECOND])).max()


def beyond_utilities(name):
    """The least largest error that a utility can have on the grid, or less."""
    G = skew(name, GRID[:, None], GRID[None, :])
    return np.abs(G[:, :, None] + G[None, :, :] + G.T[:, None, :]).max() / 3


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_skew_function_outside_every_utility_is_learned(name):
    few, more = (error(name, n_pairs, kernel=None, cyclic_kernel="rbf") for n_pairs in (20, 80))
    assert more < few
    assert more < 0.05 * beyond_utilities(name)


@pytest.mark.filterwarnings("ignore:.*no differences beyond noise")  # of a circle it says so
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_utility_fails_on_it(name):
    assert beyond_utilities(name) > 0.8
    assert error(name, 80, kernel="rbf") >= beyond_utilities(name)


def test_a_utility_is_a_skew_function_like_others():
    """In the other direction the kernel loses nothing but data: differences of a utility are learned, too."""
    points = np.random.default_rng(1).uniform(-2, 2, (120, 1))
    first, second = np.arange(60), np.arange(60, 120)
    utility = np.sin(points[:, 0])
    data = Comparisons(points, first, second, utility[first] - utility[second])
    model = PreferenceGP(None, "gaussian", cyclic_kernel="rbf", n_restarts=0, random_state=0).fit(data)
    asked = np.linspace(-2, 2, 15)
    one, other = np.triu_indices(15, 1)
    found = model.predict_difference(Comparisons(asked[:, None], one, other))
    np.testing.assert_allclose(found, np.sin(asked[one]) - np.sin(asked[other]), atol=0.02)
