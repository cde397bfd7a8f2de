"""Comparisons with a known truth, for the tests of rankings."""

import numpy as np

from preflearn import Comparisons

NAMES = [f"item {k:02d}" for k in range(60)]


def pairs(rng, n, m):
    first = rng.integers(0, n, m)
    return first, (first + rng.integers(1, n, m)) % n


def by_utility(seed, n=12, m=300, spread=1.5, side=0.0, ties=0.0, features=None, judge=None):
    """Return comparisons by utilities with logistic noise; ``features(rng, utility)`` makes an item table."""
    rng = np.random.default_rng(seed)
    u = spread * rng.normal(size=n)
    first, second = pairs(rng, n, m)
    margin = u[first] - u[second] + side + rng.logistic(size=m)
    outcome = np.where(np.abs(margin) < ties, 0.0, np.sign(margin))
    items = n if features is None else features(rng, u)
    return Comparisons(items, first, second, outcome, names=NAMES[:n], judge=judge), u


def circular(seed, n=9, repeats=6):
    """Return comparisons in which every item beats the next few in a circle, most of the time."""
    rng = np.random.default_rng(seed)
    first, second = (np.repeat(side, repeats) for side in np.triu_indices(n, 1))
    ahead = (second - first) % n <= n // 2
    outcome = np.where(ahead ^ (rng.random(len(first)) < 0.1), 1.0, -1.0)
    return Comparisons(n, first, second, outcome, names=NAMES[:n])
