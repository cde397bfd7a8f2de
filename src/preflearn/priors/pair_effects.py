"""Items without features and preferences that run in circles: every pair has an effect of its own.

    g(i, j) = f_i - f_j + c_ij,    c_ij = -c_ji ~ N(0, s²) independently for each pair,

s the constant of the cyclic kernel: the skew kernel of a multiple of the identity is s² times the identity over pairs.
Latents are the utilities of the items and the effects of the pairs that were compared; no matrix has the size of these.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from preflearn.priors.items import Items
from preflearn.priors.pairs import PairParts, Pairs

__all__ = ["AskedMeans", "AskedPairs", "PairEffectPrior"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


class AskedPairs(NamedTuple):
    """Pairs (p,) of some items, and what of them is known."""

    first: IntArray  # places among the items
    second: IntArray
    cross: FloatArray  # covariance of the items' utilities with those of training, (items, n)
    difference_variance: FloatArray  # prior variance of f_first - f_second
    effect_variance: FloatArray  # prior variance of c
    pair: IntArray  # number among the pairs of training, -1 for pairs never compared
    sign: FloatArray  # -1 where the pair of training, or the same pair listed elsewhere, is the other way round
    same: IntArray  # equal for the same pair, numbered from 0


class AskedMeans(NamedTuple):
    """Items (p,), for how much each is preferred to all of them on average; the distinct ones, and what is known."""

    place: IntArray  # of each item among the distinct ones
    share: FloatArray  # of a distinct item among all
    cross: FloatArray  # covariance of the distinct items' utilities with those of training, (items, n)
    covariance: FloatArray  # of them with each other
    first: IntArray  # pairs of training between these items: places, the lower item first
    second: IntArray
    pair: IntArray  # and which pairs of training they are


@dataclass(frozen=True)
class PairEffectPrior(PairParts):
    """Utilities of items (none if ``utility`` is None), then effects of pairs, as latents."""

    pairs: Pairs  # (k,) each, rows of the items; in their order, the lower item first
    build: Callable[[FloatArray, float, int], Any]  # from the items' covariance, s² and k to a factor of both

    def factor(self) -> tuple[Any, Callable[[tuple[FloatArray, FloatArray]], FloatArray]]:
        """Return the factor of the latents' covariance, and its pullback from items (n, n) and pairs (k,)."""
        assert self.cyclic is not None
        K, pull = (np.zeros((0, 0)), None) if self.utility is None else self.utility.gram()
        variance = float(self.cyclic.own.constant_value) ** 2
        free = self.cyclic.theta.shape[0]

        def pullback(found: tuple[FloatArray, FloatArray]) -> FloatArray:
            first = np.zeros(0) if pull is None else pull(found[0])
            return np.concatenate([first, np.full(free, 2 * variance * float(found[1].sum()))])

        return self.build(K, variance, self.pairs[0].shape[0]), pullback

    def cross_pairs(self, new: Items, pairs: Pairs) -> AskedPairs:
        """Return what is known of pairs of new items."""
        first, second = pairs
        i, j = new.number[first], new.number[second]
        base = max(self.n_items, int(new.number.max(initial=0)) + 1)
        code = np.minimum(i, j) * base + np.maximum(i, j)
        known = self.pairs[0] * base + self.pairs[1]
        place = np.minimum(np.searchsorted(known, code), known.shape[0] - 1)
        utility = self.utility
        return AskedPairs(
            first,
            second,
            np.zeros((len(new.number), 0)) if utility is None else utility.cross(new),
            np.zeros(first.shape[0]) if utility is None else utility.difference_variance(new, first, second),
            self.cyclic_variance(new, first, second),
            np.where(known[place] == code, place, -1),
            np.where(i > j, -1.0, 1.0),
            np.unique(code, return_inverse=True)[1].ravel(),
        )

    def cross_means(self, new: Items) -> AskedMeans:
        """Return what is known of how much items are preferred to all of them."""
        number, row, place, count = np.unique(new.number, return_index=True, return_inverse=True, return_counts=True)
        whereabouts = np.full(max(self.n_items, int(number.max(initial=-1)) + 1), -1)
        whereabouts[number] = np.arange(len(number))
        first, second = whereabouts[self.pairs[0]], whereabouts[self.pairs[1]]
        pair = np.flatnonzero((first >= 0) & (second >= 0))
        distinct = Items(None if new.X is None else new.X[row], number)
        return AskedMeans(
            place.ravel(),
            count / max(len(new.number), 1),
            np.zeros((len(number), 0)) if self.utility is None else self.utility.cross(distinct),
            self.covariance(distinct),
            first[pair],
            second[pair],
            pair,
        )

    def cross(self, new: Items) -> FloatArray:
        """Return the covariance (p, n) of utilities of items with those of training."""
        return self._utility.cross(new)

    def covariance(self, new: Items) -> FloatArray:
        """Return the prior covariance (p, p) of utilities of items, zero where there are none."""
        p = len(new.number)
        return np.zeros((p, p)) if self.utility is None else self.utility.covariance(new)
