"""Preferences that no utility explains: c(i, j) = -c(j, i), a skew function of two items.

Its covariance is made of one between items, k: K((i, j), (i', j')) = k(i, i') k(j, j') - k(i, j') k(j, i'). What the
latents are depends on how many pairs there are, and on whether items have features:

    `PairPreferences`   one latent for each distinct pair, that of the utility (if there is one) and of c together
    `PairEffects`       items without features: c is independent from pair to pair, and every pair is a group of its own
    `SkewFunctions`     weights of a basis of skew functions, for many pairs of items with features

How much an item is preferred to some items on average is c(i, ·) at an opponent who is their mean: all kernels are
linear in the row of each item, so that the row of this opponent is the mean of theirs, and no pairs are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg.blas import dtrmm

from preflearn.kernels.pair_kernels import (
    difference_gram,
    difference_pullback,
    skew_diag,
    skew_features,
    skew_gram,
    skew_pullback,
)
from preflearn.linalg import eigh_leading, weighted_square
from preflearn.terms import Asked, Combined, FloatArray, Given, IntArray, Items, Own, Parameters, Rows, Seen, Term
from preflearn.terms.utility import ItemKernel, Utility

Pairs = tuple[IntArray, IntArray]

_FUNCTIONS = 256  # leading eigenvectors that pairs are made of
ROUNDING = 1e-12  # share of the largest product of eigenvalues


def circle_variance(items: ItemKernel, rows: Rows) -> FloatArray:
    """Return the prior variances of c at rows; a single item has no part in circles."""
    if rows.against == "nothing":
        return np.zeros(len(rows))
    one, other, shared = items.ends(rows)
    return skew_diag((one, other), shared)


@dataclass(frozen=True)
class Circles(Term):
    """c with the covariance of ``items``, whatever its latents are."""

    items: ItemKernel

    @property
    def learned(self) -> dict[str, Parameters]:
        """The covariance between items."""
        return {"items": self.items.parameters.named("cyclic ")}

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        return {"circles": self.items}

    def variance(self, rows: Rows) -> FloatArray:
        """Return the prior variances of rows."""
        return circle_variance(self.items, rows)

    def covariance(self, rows: Rows) -> FloatArray:
        """Return the prior covariance of rows."""
        if rows.against == "nothing":
            return super().covariance(rows)
        return skew_gram(self.items.extended(rows), rows.ends, rows.ends)


@dataclass(frozen=True)
class PairPreferences(Term):
    """f_low - f_high + c(low, high) at the distinct pairs of training, which are the latents; m² numbers.

    Either part may be absent. Parameters are the utility's, then those of the circles.
    """

    utility: ItemKernel | None
    circles: ItemKernel | None
    n_items: int
    pairs: Pairs  # (k,) each: places of the items, in ascending order

    @property
    def learned(self) -> dict[str, Parameters]:
        """Both parts, where they are there."""
        found = {} if self.utility is None else {"utility": self.utility.parameters}
        return found if self.circles is None else {**found, "circles": self.circles.parameters.named("cyclic ")}

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        found = {"utility": self.utility, "circles": self.circles}
        return {name: part for name, part in found.items() if part is not None}

    def seen(self, rows: Rows) -> Seen:
        """Return one entry, at the row's pair."""
        place = _places(self.pairs, rows.low, rows.high, self.n_items)
        return Seen(_one_each(place, len(self.pairs[0])))

    def _each(self) -> Iterator[tuple[ItemKernel, Any, Any, Any]]:
        """Yield the covariance between items of each part, that between pairs with its pullback, and the part."""
        if self.utility is not None:
            back = partial(difference_pullback, pairs=self.pairs, n_items=self.n_items)
            yield self.utility, difference_gram, lambda N, K: back(N), Utility(self.utility)
        if self.circles is not None:
            yield self.circles, skew_gram, lambda N, K: skew_pullback(N, K, self.pairs), Circles(self.circles)

    def prior(self) -> Given:
        """Return the covariance (k, k) of the pairs."""
        G: Any = 0.0
        pulls: list[Callable[[FloatArray], FloatArray]] = []
        for items, gram, back, _ in self._each():
            K, pull = items.gram()
            part = gram(K, self.pairs, self.pairs)
            part += G
            G = part
            pulls.append(lambda N, K=K, pull=pull, back=back: pull(back(N, K)))  # type: ignore[misc]
        return Given(G, None, lambda N, own: np.concatenate([one(N) for one in pulls]))

    def ask(self, rows: Rows) -> Asked:
        """Return covariances with the pairs of training."""
        total: Any = 0.0
        variance = np.zeros(len(rows))
        for items, gram, _, term in self._each():
            total = total + gram(rows.extended(items.cross(rows.items)), rows.ends, self.pairs)
            variance += term.variance(rows)
        return Asked(Combined(total), None, variance)

    def means(self, items: Items, a: FloatArray) -> FloatArray:
        """Return the means between all items; (k + p²) n operations, and no pairs are listed."""
        n, (first, second) = self.n_items, self.pairs
        total = np.zeros((len(items.number), len(items.number)))
        if self.utility is not None:
            sums: Any = np.bincount(first, a, minlength=n) - np.bincount(second, a, minlength=n)
            total += Utility(self.utility).means(items, sums)
        if self.circles is not None:
            total += _skew_means(self.circles.cross(items), sp.csr_array((a, self.pairs), shape=(n, n)))
        return total

    def covariance(self, rows: Rows) -> FloatArray:
        """Return the prior covariance of rows."""
        return np.asarray(sum(term.covariance(rows) for *_, term in self._each()))


@dataclass(frozen=True)
class PairEffects(Circles):
    """c of items without features: independent N(0, s²) from pair to pair, s the constant of ``items``."""

    pairs: Pairs  # (k,) each: places of the items, in ascending order

    @property
    def _variance(self) -> float:
        return self.items.own_variance**2

    def seen(self, rows: Rows) -> Seen:
        """Return one entry for each row, in the group that is its pair."""
        place = _places(self.pairs, rows.low, rows.high, self.items.n_items)
        return Seen(None, sp.csr_array(np.ones((len(rows), 1))), place, "pair")

    def prior(self) -> Given:
        """Return s² for every pair."""
        free, variance = len(self.parameters), self._variance
        return Given(
            None,
            lambda sets: np.full((*sets.shape, 1), variance),
            lambda M, own: np.full(free, 2 * variance * sum(float(S.sum()) for _, S in own)),
        )

    def ask(self, rows: Rows) -> Asked:
        """Return covariances with the effects of the pairs of training."""
        variance = self.variance(rows)
        number = rows.items.number
        if rows.against == "nothing":
            return Asked(None, None, variance)
        if rows.against == "item":
            i, j = number[rows.low], number[rows.high]
            group = _places(self.pairs, np.minimum(i, j), np.maximum(i, j), self.items.n_items)
            cross = np.where(i > j, -1.0, 1.0) * np.where(i == j, 0.0, self._variance)
            return Asked(None, Own(np.arange(len(rows)), group, cross[:, None]), variance)
        return Asked(None, self._against_mean(rows), variance)

    def _against_mean(self, rows: Rows) -> Own:
        # Σ_j w_j c_ij has the covariance s² w_l with c_kl for i = k, and -s² w_k for i = l
        number, n, (k, l) = rows.items.number, self.items.n_items, self.pairs
        share = self._variance * np.bincount(number, minlength=n)[:n] / number.shape[0]
        place = np.concatenate([k, l]), np.tile(np.arange(len(k)), 2)
        of_items = sp.csr_array((np.concatenate([share[l], -share[k]]), place), shape=(n, len(k)))
        of_items.eliminate_zeros()
        known = np.flatnonzero(number[rows.low] < n)
        found = of_items[number[rows.low][known]].tocoo()
        return Own(known[found.row], found.col.astype(np.intp), found.data[:, None])


@dataclass(frozen=True)
class SkewBasis:
    """Orthonormal functions V (n, r) and the pairs (a, b), (q,) each, that are kept.

    Let ψ_ab(i, j) = V_ia V_jb - V_ib V_ja. With c ≈ Σ_ab w_ab ψ_ab, where w = <ψ, c> over all pairs of items, the
    weights have the covariance

        Γ = skew kernel of M = V'KV at the pairs (a, b),       cov(c(x, x'), w_ab) = that of K(x, ·) V at (x, x').

    V are leading eigenvectors of the kernel matrix at some parameters and the kept (a, b) those with the largest
    products of eigenvalues: the best q functions for the skew kernel there. At other parameters Γ is no longer diagonal
    but still exact for these functions, and smooth in the parameters, so that the evidence has a gradient.
    """

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
class SkewFunctions(Circles):
    """c as a sum of the functions of ``basis``; what is beyond them is zero at pairs of training and adds to variances.

    With ``rest``, the distinct pairs of training, it is independent from pair to pair instead: a search for parameters
    then sees with few functions what rougher ones are worth.
    """

    basis: SkewBasis
    rest: Pairs | None = None

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        return {"circles": self.items, "functions": self}

    def seen(self, rows: Rows) -> Seen:
        """Return the functions at the pairs of the rows."""
        Psi = self.basis.features(self.basis.V, (rows.low, rows.high))
        if self.rest is None:
            return Seen(Psi)
        place = _places(self.rest, rows.low, rows.high, self.items.n_items)
        return Seen(Psi, _one_each(place, len(self.rest[0])), place, "pair")

    def prior(self) -> Given:
        """Return the covariance Γ of the weights, and what is missing of the variance of each pair."""
        (K, pull), V, kept = self.items.gram(), self.basis.V, self.basis.kept
        M = V.T @ K @ V
        Gamma = skew_gram(M, kept, kept)
        if self.rest is None:
            return Given(Gamma, None, lambda N, own: pull(V @ skew_pullback(N, M, kept) @ V.T))
        i, j = self.rest
        Psi = self.basis.features(V, self.rest)
        missing = _variances(K, self.rest) - _square_forms(Psi, Gamma)
        variance: FloatArray = np.diagonal(K)

        def pullback(N: FloatArray, own: list[tuple[IntArray, FloatArray]]) -> FloatArray:
            s = np.zeros(len(i))
            for what, S in own:
                s[what[:, 0]] = S[:, 0, 0]
            s[missing <= 0.0] = 0.0
            # <s, d missing> = <s, d(K_ii K_jj - K_ij²)> - <Ψ'diag(s)Ψ, dΓ>
            N = N - weighted_square(Psi, s)
            n = K.shape[0]
            P = -np.bincount(i * n + j, s * K[i, j], minlength=n * n).reshape(n, n)
            P += P.T
            P.flat[:: n + 1] += np.bincount(i, s * variance[j], minlength=n)
            P.flat[:: n + 1] += np.bincount(j, s * variance[i], minlength=n)
            return pull(V @ skew_pullback(N, M, kept) @ V.T + P)

        floor = np.maximum(missing, 0.0)
        return Given(Gamma, lambda sets: floor[sets][:, :, None], pullback)

    def ask(self, rows: Rows) -> Asked:
        """Return covariances with the weights."""
        if rows.against == "nothing":
            return Asked(None, None, np.zeros(len(rows)))
        Q = self.basis.features(rows.extended(self.items.cross(rows.items)) @ self.basis.V, rows.ends)
        return Asked(Combined(Q), None, self.variance(rows))

    def means(self, items: Items, a: FloatArray) -> FloatArray:
        """Return the means between all items; p² r operations."""
        r = self.basis.V.shape[1]
        return _skew_means(self.items.cross(items) @ self.basis.V, sp.csr_array((a, self.basis.kept), shape=(r, r)))

    def kept_share(self, pairs: Pairs) -> float:
        """Return the share of the prior variance of c at pairs of training items that the functions hold."""
        K: Any = self.items.gram()[0]
        Psi = self.basis.features(self.basis.V, pairs)
        Gamma = skew_gram(self.basis.V.T @ K @ self.basis.V, self.basis.kept, self.basis.kept)
        held, total = _square_forms(Psi, Gamma).sum(), _variances(K, pairs).sum()
        return float(held / total) if total > 0 else 1.0


def _places(pairs: Pairs, low: IntArray, high: IntArray, n_items: int) -> IntArray:
    """Return which of the distinct pairs, in ascending order, each row is about; -1 for none of them."""
    base = max(n_items, int(low.max(initial=0)) + 1, int(high.max(initial=0)) + 1)
    known, code = pairs[0] * base + pairs[1], low * base + high
    place = np.minimum(np.searchsorted(known, code), known.shape[0] - 1)
    return np.asarray(np.where(known[place] == code, place, -1), dtype=np.intp)


def _one_each(place: IntArray, size: int) -> Any:
    # rows that see one latent each
    m = len(place)
    return sp.csr_array((np.ones(m), place, np.arange(m + 1)), shape=(m, size))


def _skew_means(rows: FloatArray, S: Any) -> FloatArray:
    # r_i'(S - S')r_j
    half = rows @ (S @ rows.T)
    return np.asarray(half - half.T)


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
