"""The cyclic part of many pairs through a fixed basis of skew functions.

Let V (n, r) be orthonormal functions on the items, and ψ_ab(i, j) = V_ia V_jb - V_ib V_ja for some pairs a < b. With
c ≈ Σ_ab w_ab ψ_ab, where w = <ψ, c> over all pairs of items, the weights have the covariance

    Γ = skew kernel of M = V'KV at the pairs (a, b),       cov(c(x, x'), w_ab) = the same of K(x, ·) V at (x, x'),

so latents are q weights instead of m pairs, whatever m is. V are leading eigenvectors of the kernel matrix at some
parameters and the kept (a, b) those with the largest products of eigenvalues: the best q functions for the skew kernel
there. At other parameters Γ is no longer diagonal but still exact for these functions, and smooth in the parameters, so
that the evidence has a gradient. What is approximated is the rest of c, beyond the q functions, which is taken to be
zero at the pairs of training; in prediction its variance is added.

A search for parameters takes it to be independent from pair to pair instead, with the variance that is missing there:
few functions then show what rougher parameters are worth, as what they do not hold is nearly that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.blas import dtrmm

from preflearn.kernels.pairs import difference_gram, skew_diag, skew_features, skew_gram, skew_pullback
from preflearn.linalg import eigh_leading, weighted_square
from preflearn.priors.items import ItemPrior, Items
from preflearn.priors.pairs import PairKernels, Pairs, Pullback, Rows

__all__ = ["SkewBasis", "SkewBasisPrior", "SkewRestPrior"]

FloatArray = NDArray[np.float64]

_FUNCTIONS = 256  # leading eigenvectors that pairs are made of
ROUNDING = 1e-12  # share of the largest product of eigenvalues


@dataclass(frozen=True)
class SkewBasis:
    """Orthonormal functions V (n, r) and the pairs (a, b), (q,) each, that are kept."""

    V: FloatArray
    kept: Pairs
    lost: float = 0.0  # share of the variance over all pairs of items, at the parameters they were chosen for

    @classmethod
    def build(cls, K: FloatArray, least: int, most: int, lost: float) -> SkewBasis:
        """Return the functions with the largest products of eigenvalues of K that lose at most a share of the total.

        At least and at most so many of them, as far as products are not rounding.
        """
        values, V = eigh_leading(K, min(K.shape[0], _FUNCTIONS))
        values = np.maximum(values, 0.0)
        a, b = np.triu_indices(values.shape[0], 1)
        products = values[a] * values[b]
        order = np.argsort(-products, kind="stable")
        total = (np.trace(K) ** 2 - np.square(K).sum()) / 2  # over all pairs of all eigenvalues
        wanted = int(np.searchsorted(np.cumsum(products[order]), (1 - lost) * total)) + 1
        order = order[: min(most, max(least, wanted))]
        order = np.sort(order[products[order] > ROUNDING * products[order[:1]]])
        used = int(b[order].max(initial=0)) + 1
        held = float(products[order].sum() / total) if total > 0.0 else 1.0
        return cls(np.ascontiguousarray(V[:, :used]), (a[order], b[order]), max(0.0, 1.0 - held))

    def features(self, rows: FloatArray, pairs: Pairs) -> FloatArray:
        """Return the skew functions (m, q) of pairs of items, given what the r functions are at each item."""
        return skew_features(rows, pairs, self.kept)


@dataclass(frozen=True)
class SkewBasisPrior(PairKernels):
    """Utilities of the items, then weights of the skew functions, as latents."""

    basis: SkewBasis

    def gram(self) -> tuple[FloatArray, Pullback]:
        """Return the covariance of the latents and its pullback N -> <N, dK/dtheta>."""
        return self._gram(self._cyclic.gram())

    def _gram(self, cyclic: tuple[FloatArray, Pullback]) -> tuple[FloatArray, Callable[..., FloatArray]]:
        # the pullback also takes a sensitivity to the cyclic part's kernel matrix itself
        n = 0 if self.utility is None else self.n_items
        (K, pull_cyclic), V, kept = cyclic, self.basis.V, self.basis.kept
        M = V.T @ K @ V
        size = n + kept[0].shape[0]
        G = np.zeros((size, size))
        G[n:, n:] = skew_gram(M, kept, kept)
        pull = None
        if self.utility is not None:
            G[:n, :n], pull = self.utility.gram()

        def pullback(N: FloatArray, of_kernel: Any = 0.0) -> FloatArray:
            first = np.zeros(0) if pull is None else pull(np.ascontiguousarray(N[:n, :n]))
            return np.concatenate([first, pull_cyclic(V @ skew_pullback(N[n:, n:], M, kept) @ V.T + of_kernel)])

        return G, pullback

    def cross_rows(self, rows: Rows, pairs: Pairs) -> FloatArray:
        """Return the covariance of g at pairs with the latents, from the rows (items, n) of the parts."""
        utility, cyclic = rows
        assert cyclic is not None
        Q = self.basis.features(cyclic @ self.basis.V, pairs)
        if utility is None:
            return Q
        own = np.arange(self.n_items), np.full(self.n_items, self.n_items)  # f_i - 0
        return np.hstack([difference_gram(np.pad(utility, ((0, 0), (0, 1))), pairs, own), Q])

    def means(self, new: Items, a: FloatArray) -> FloatArray:
        """Return (p, p), the means of g between new items; p² r operations."""
        q, r = self.basis.kept[0].shape[0], self.basis.V.shape[1]
        return self._means(new, a[:-q], sp.csr_array((a[-q:], self.basis.kept), shape=(r, r)), self.basis.V)

    def cross(self, new: Items) -> FloatArray:
        """Return the covariance of utilities of items with the latents."""
        return np.pad(self._utility.cross(new), ((0, 0), (0, self.basis.kept[0].shape[0])))

    def kept_share(self, pairs: Pairs) -> float:
        """Return the share of the prior variance of c at pairs of training items that the functions hold."""
        K: Any = self._cyclic.gram()[0]
        Psi = self.basis.features(self.basis.V, pairs)
        Gamma = skew_gram(self.basis.V.T @ K @ self.basis.V, self.basis.kept, self.basis.kept)
        held = _square_forms(Psi, Gamma).sum()
        total = _variances(K, pairs).sum()
        return float(held / total) if total > 0 else 1.0

    @property
    def _cyclic(self) -> ItemPrior:
        assert self.cyclic is not None
        return self.cyclic


@dataclass(frozen=True)
class SkewRestPrior(SkewBasisPrior):
    """Utilities, weights of the skew functions, and what these leave of each pair, independently, as latents."""

    pairs: Pairs  # (k,) each: the distinct ones
    Psi: FloatArray  # (k, q): the functions there
    build: Callable[[FloatArray, FloatArray, int], Any]  # from covariance, variances (k,) and k to a factor of both

    def factor(self) -> tuple[Any, Callable[[tuple[FloatArray, FloatArray]], FloatArray]]:
        """Return the factor of the latents' covariance, and its pullback from f, w (n + q, n + q) and pairs (k,)."""
        K, pull_cyclic = self._cyclic.gram()
        G, pull = self._gram((K, pull_cyclic))
        Psi, (i, j), q = self.Psi, self.pairs, self.Psi.shape[1]
        rest = _variances(K, self.pairs) - _square_forms(Psi, G[-q:, -q:])
        variance: FloatArray = np.diagonal(K)

        def pullback(found: tuple[FloatArray, FloatArray]) -> FloatArray:
            N, s = found[0].copy(), np.where(rest > 0.0, found[1], 0.0)
            # <s, d rest> = <s, d(K_ii K_jj - K_ij²)> - <Ψ'diag(s)Ψ, dΓ>
            N[-q:, -q:] -= weighted_square(Psi, s)
            n = K.shape[0]
            P = -np.bincount(i * n + j, s * K[i, j], minlength=n * n).reshape(n, n)
            P += P.T
            P.flat[:: n + 1] += np.bincount(i, s * variance[j], minlength=n)
            P.flat[:: n + 1] += np.bincount(j, s * variance[i], minlength=n)
            return pull(N, P)

        return self.build(G, np.maximum(rest, 0.0), len(i)), pullback


def _variances(K: FloatArray, pairs: Pairs) -> FloatArray:
    i, j = pairs
    return skew_diag((K[i, i], K[j, j]), K[i, j])


def _square_forms(rows: FloatArray, G: FloatArray) -> FloatArray:
    # r'Gr = 2 r'Tr row by row, T the lower triangle of G with half of its diagonal
    T = np.array(G, order="F")
    T.flat[:: G.shape[0] + 1] /= 2
    # rows in C order are columns in Fortran order
    half = dtrmm(2.0, T, rows.T, lower=1, trans_a=1)
    return np.asarray(np.einsum("ij,ij->i", half.T, rows))
