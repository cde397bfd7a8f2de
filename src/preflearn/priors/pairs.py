"""A Gaussian process over pairs of items: what a utility explains, and what no utility can.

    g(i, j) = f_i - f_j + c(i, j),    c(i, j) = -c(j, i),

f an item prior, c with the skew kernel of a second kernel between items (`preflearn.kernels.pairs`). Either part may be
absent. The latents of inference are g at the distinct pairs that were compared.

How much an item is preferred to some items on average is g(i, ·) at an opponent who is their mean: both kernels are
linear in the row of each item, so that the row of this opponent is the mean of theirs, and no pairs are listed.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from preflearn.kernels.pairs import difference_gram, difference_pullback, skew_diag, skew_gram, skew_pullback
from preflearn.priors.items import ItemPrior, Items
from preflearn.priors.parts import OfParts

__all__ = ["PairKernels", "PairParts", "PairPrior"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Pairs = tuple[IntArray, IntArray]
Rows = tuple[FloatArray | None, FloatArray | None]  # of the utility and of the cyclic part, None where it is absent
Pullback = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class PairParts(OfParts):
    """The two parts of g, and what does not depend on the form of the latents.

    ``theta`` are the utility's parameters, then those of the cyclic part. ``cyclic`` is an item prior, too: its
    covariance is what the skew kernel is made of. For items without features it is a multiple of the identity, and c is
    independent from pair to pair.
    """

    utility: ItemPrior | None
    cyclic: ItemPrior | None
    n_items: int

    @property
    def item_priors(self) -> tuple[ItemPrior, ...]:
        """The parts that are there."""
        return tuple(part for part in (self.utility, self.cyclic) if part is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the free parameters."""
        cyclic = () if self.cyclic is None else tuple(f"cyclic {name}" for name in self.cyclic.names)
        return (*(() if self.utility is None else self.utility.names), *cyclic)

    @property
    def kernel(self) -> Any:
        """Kernel of the utility, None where there is none."""
        return None if self.utility is None else self.utility.kernel

    @property
    def own(self) -> Any:
        """Variance of the items' own effects in the utility."""
        return None if self.utility is None else self.utility.own

    def with_theta(self, theta: FloatArray) -> Self:
        """Return the same prior at other parameters."""
        n = 0 if self.utility is None else self.utility.theta.shape[0]
        return replace(
            self,
            utility=None if self.utility is None else self.utility.with_theta(theta[:n]),
            cyclic=None if self.cyclic is None else self.cyclic.with_theta(theta[n:]),
        )

    def difference_variance(self, new: Items, first: IntArray, second: IntArray) -> FloatArray:
        """Return the prior variances of g at listed pairs of items."""
        total = np.zeros(first.shape[0])
        if self.utility is not None:
            total += self.utility.difference_variance(new, first, second)
        if self.cyclic is not None:
            total += self.cyclic_variance(new, first, second)
        return total

    def cyclic_variance(self, new: Items, first: IntArray, second: IntArray) -> FloatArray:
        """Return the prior variances of the cyclic part at listed pairs of items."""
        cyclic = self.cyclic
        assert cyclic is not None
        variance = cyclic.variance(new)
        shared = (variance[first] + variance[second] - cyclic.difference_variance(new, first, second)) / 2
        return skew_diag((variance[first], variance[second]), shared)

    @abstractmethod
    def cross_pairs(self, new: Items, pairs: Pairs) -> Any:
        """Return the covariance (p, latents) of g at pairs of new items with the latents."""

    def covariance(self, new: Items) -> FloatArray:
        """Return the prior covariance (p, p) of utilities of items."""
        return self._utility.covariance(new)

    def variance(self, new: Items) -> FloatArray:
        """Return the prior variances (p,) of utilities of items."""
        return self._utility.variance(new)

    @property
    def _utility(self) -> ItemPrior:
        assert self.utility is not None, "no utility: whoever asks should have looked"
        return self.utility


@dataclass(frozen=True)
class PairKernels(PairParts):
    """Parts whose covariances with the latents follow from the rows of the items in the kernel matrices."""

    @abstractmethod
    def cross_rows(self, rows: Rows, pairs: Pairs) -> FloatArray:
        """Return the covariance (p, latents) of g at pairs with the latents, from the rows (items, n) of the parts."""

    def cross_pairs(self, new: Items, pairs: Pairs) -> FloatArray:
        """Return the covariance (p, latents) of g at pairs of new items with the latents."""
        return self.cross_rows(self._rows(lambda part: part.cross(new)), pairs)

    def cross_means(self, new: Items) -> FloatArray:
        """Return the covariance (p, latents) of how much items are preferred to all of them with the latents."""
        return self.cross_rows(self._rows(lambda part: _with_mean(part.cross(new))), _against_mean(new))

    @abstractmethod
    def means(self, new: Items, a: FloatArray) -> FloatArray:
        """Return (p, p), the means of g between new items that the ``a`` of a posterior stands for; no pair listed."""

    def pair_covariance(self, new: Items, pairs: Pairs) -> FloatArray:
        """Return the prior covariance (p, p) of g at pairs of items."""
        return _among(self._rows(lambda part: part.covariance(new)), pairs)

    def mean_covariance(self, new: Items) -> FloatArray:
        """Return the prior covariance (p, p) of how much items are preferred to all of them on average."""
        return _among(self._rows(lambda part: _with_mean(_with_mean(part.covariance(new)).T)), _against_mean(new))

    def _means(self, new: Items, of_items: FloatArray, of_pairs: Any, V: FloatArray | None = None) -> FloatArray:
        """Return f_i - f_j + r_i'(S - S')r_j, f = K ``of_items``, S = ``of_pairs`` and r rows of K or of KV."""
        utility, cyclic = self._rows(lambda part: part.cross(new))
        total = np.zeros((len(new.number), len(new.number)))
        if utility is not None:
            f = utility @ of_items
            total += f[:, None] - f
        if cyclic is not None:
            rows = cyclic if V is None else cyclic @ V
            half = rows @ (of_pairs @ rows.T)
            total += half - half.T
        return total

    def _rows(self, of: Callable[[ItemPrior], FloatArray]) -> Rows:
        utility, cyclic = self.utility, self.cyclic
        return None if utility is None else of(utility), None if cyclic is None else of(cyclic)


@dataclass(frozen=True)
class PairPrior(PairKernels):
    """Covariance of g at listed pairs, which are the latents; m² numbers."""

    pairs: Pairs  # (m,) each: rows of the items

    def gram(self) -> tuple[FloatArray, Pullback]:
        """Return the covariance (m, m) of g at the pairs, and its pullback N -> <N, dK/dtheta>."""
        parts: list[FloatArray] = []
        pulls: list[Pullback] = []
        if self.utility is not None:
            K, pull = self.utility.gram()
            parts.append(difference_gram(K, self.pairs, self.pairs))
            pulls.append(lambda N: pull(difference_pullback(N, self.pairs, self.n_items)))
        if self.cyclic is not None:
            C, pull_cyclic = self.cyclic.gram()
            parts.append(skew_gram(C, self.pairs, self.pairs))
            pulls.append(lambda N: pull_cyclic(skew_pullback(N, C, self.pairs)))
        G = parts[0]
        for part in parts[1:]:
            G += part
        return G, lambda N: np.concatenate([one(N) for one in pulls])

    def cross_rows(self, rows: Rows, pairs: Pairs) -> FloatArray:
        """Return the covariance (p, m) of g at pairs with the latents, from the rows (items, n) of the parts."""
        return _among(rows, pairs, self.pairs)

    def means(self, new: Items, a: FloatArray) -> FloatArray:
        """Return (p, p), the means of g between new items; (m + p²) n operations."""
        n, (first, second) = self.n_items, self.pairs
        sums: FloatArray = np.zeros(n)
        sums += np.bincount(first, a, minlength=n)
        sums -= np.bincount(second, a, minlength=n)
        return self._means(new, sums, sp.csr_array((a, self.pairs), shape=(n, n)))

    def cross(self, new: Items) -> FloatArray:
        """Return the covariance (p, m) of utilities of items with the latents."""
        K = self._utility.cross(new)
        return np.asarray(K[:, self.pairs[0]] - K[:, self.pairs[1]])


def _among(rows: Rows, pairs: Pairs, others: Pairs | None = None) -> FloatArray:
    """Return the covariance of g at pairs with g at others, or at themselves."""
    others = pairs if others is None else others
    total = np.zeros((pairs[0].shape[0], others[0].shape[0]))
    for gram, K in zip((difference_gram, skew_gram), rows, strict=True):
        if K is not None:
            total += gram(K, pairs, others)
    return total


def _with_mean(rows: FloatArray) -> FloatArray:
    return np.vstack([rows, rows.mean(axis=0)])


def _against_mean(new: Items) -> Pairs:
    n = len(new.number)
    return np.arange(n), np.full(n, n)
