"""Pairwise preferences from the sinc function: the artificial data of the KPCRank paper, section 6.2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preflearn.data import Comparisons
from preflearn.data.fields import check_count
from preflearn.datasets._params import RandomState, as_generator, check_number

_N_GRID, _N_TRAIN_POINTS, _N_TEST_POINTS = 2000, 1000, 338  # as the paper has them
_EQUAL = 1e-9  # x and -x are both on the grid and have the same sinc up to rounding


@dataclass(frozen=True, eq=False)
class SincPreferences:
    """Training and test comparisons of points by their sinc values, with the truth.

    Attributes
    ----------
    train, test : Comparisons
        Each over its own table of points, one column x in ascending order. The test outcomes are never flipped.
    grid : array of shape (2000,)
        Equidistant points of [-4, 4].
    sinc : array of shape (2000,)
        True utilities sin(πx) / (πx) on the grid.
    flipped : array of shape (n_pairs,)
        Which training outcomes were reversed.

    Examples
    --------
    >>> from preflearn.datasets import make_sinc_preferences
    >>> data = make_sinc_preferences(random_state=0)
    >>> data.train.n_features
    1
    """

    train: Comparisons
    test: Comparisons
    grid: NDArray[np.float64]
    sinc: NDArray[np.float64]
    flipped: NDArray[np.bool_]


def make_sinc_preferences(
    n_pairs: int = 379,
    n_test_pairs: int = 48,
    *,
    flip: float = 0.0,
    margins: bool = True,
    random_state: RandomState = None,
) -> SincPreferences:
    """Generate comparisons of points in [-4, 4] by their sinc values.

    Answers: is a smooth utility recovered from few comparisons, exact or binary, clean or partly reversed?

    Parameters
    ----------
    n_pairs : int, default=379
        Number of training comparisons.
    n_test_pairs : int, default=48
        Number of test comparisons. An error rate on 48 moves in steps of 0.02: raise it (up to about 56,000)
        for stable estimates.
    flip : float in [0, 1], default=0
        Share of the training outcomes to reverse, rounded to a whole number of them; the paper's figure 1 has 0.05.
    margins : bool, default=True
        Outcomes sinc(x) - sinc(x') if True, their signs +1 and -1 if False.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    SincPreferences
        ``train``, ``test``, ``grid``, ``sinc`` and ``flipped``.

    Notes
    -----
    Of 2000 equidistant points 1000 are sampled for training and 338 of the others for testing. Comparisons are drawn
    without repetition from the pairs within each sample, and their sides at random; w = sinc(x) - sinc(x').

    *Differences from the paper*: it does not say whether the two samples are disjoint (here they are) nor how pairs
    were made from them; pairs (x, -x), whose sinc values are equal, are left out (here). With ``margins=True`` a
    flipped outcome keeps its size; the paper flips binary outcomes only.

    References
    ----------
    Tsivtsivadze, Cseke and Heskes, "Kernel principal component ranking: robust ranking on noisy data", 2008.

    Examples
    --------
    >>> from preflearn.datasets import make_sinc_preferences
    >>> data = make_sinc_preferences(flip=0.05, margins=False, random_state=0)
    >>> data.train
    Comparisons(379 comparisons of 1000 items with 1 features)
    >>> int(data.flipped.sum())
    19
    """
    owner = "make_sinc_preferences"
    n_pairs = check_count(n_pairs, "n_pairs", owner)
    n_test_pairs = check_count(n_test_pairs, "n_test_pairs", owner)
    flip = check_number(flip, "flip", owner, high=1.0)
    rng = as_generator(random_state)
    grid = np.linspace(-4.0, 4.0, _N_GRID)
    drawn = rng.permutation(_N_GRID)[: _N_TRAIN_POINTS + _N_TEST_POINTS]
    train = _compare(rng, grid[np.sort(drawn[:_N_TRAIN_POINTS])], n_pairs, "n_pairs")
    test = _compare(rng, grid[np.sort(drawn[_N_TRAIN_POINTS:])], n_test_pairs, "n_test_pairs")

    flipped = np.zeros(n_pairs, dtype=bool)
    flipped[rng.choice(n_pairs, round(flip * n_pairs), replace=False)] = True
    values = np.sinc(grid)
    for array in (grid, values, flipped):
        array.setflags(write=False)
    return SincPreferences(_build(train, flipped, margins), _build(test, None, margins), grid, values, flipped)


_Pairs = tuple[NDArray[np.float64], NDArray[np.intp], NDArray[np.intp]]


def _compare(rng: np.random.Generator, points: NDArray[np.float64], n_pairs: int, name: str) -> _Pairs:
    """Return the points and the sides of comparisons drawn from all pairs of them with different values."""
    first, second = np.triu_indices(len(points), 1)
    values = np.sinc(points)
    usable = np.flatnonzero(np.abs(values[first] - values[second]) > _EQUAL)
    if n_pairs > len(usable):
        raise ValueError(
            f"make_sinc_preferences: {name} is {n_pairs}, but {len(points)} points make {len(usable)} different pairs. "
            "Ask for fewer."
        )
    chosen = rng.choice(usable, n_pairs, replace=False)
    swap = rng.random(n_pairs) < 0.5
    first, second = first[chosen], second[chosen]
    return points, np.where(swap, second, first), np.where(swap, first, second)


def _build(pairs: _Pairs, flipped: NDArray[np.bool_] | None, margins: bool) -> Comparisons:
    points, first, second = pairs
    outcome = np.sinc(points[first]) - np.sinc(points[second])
    if not margins:
        outcome = np.sign(outcome)
    if flipped is not None:
        outcome = np.where(flipped, -outcome, outcome)
    return Comparisons(points[:, None], first, second, outcome)
