"""Posterior precision of utilities with independent priors: P = I/v + Λ, and what is asked of its inverse C.

Λ is the Laplacian of a graph of comparisons. Without a prior (v infinite) P = Λ is singular along the level of
utilities, which comparisons do not see: then C is its pseudo-inverse, and utilities are centred.

Up to `DENSE` items P is factored as a dense matrix and everything is exact. Beyond, no matrix of that size is held:
systems are solved by conjugate gradients (with a sparse factor where the graph is narrow enough to have one, else with
the diagonal as preconditioner), variances come from draws, x = P⁻¹(ε/√v + A'√τ η), and log |P| from Lanczos quadrature.
Given its neighbours an item has variance 1/P_ii, so only the variance of its conditional mean is left to the draws. The
level of each connected part, of which comparisons say nothing, has its prior variance, and is left out of them too.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from preflearn.exceptions import DataError
from preflearn.inference.krylov import conjugate, trace_of
from preflearn.inference.pair_graph import PairGraph
from preflearn.operators import FloatArray, IntArray

__all__ = ["DENSE", "DensePrecision", "Precision", "SparsePrecision", "precision_of"]

DENSE = 3_000  # items up to which a dense factor is the quickest, whatever the graph
NARROW = 10  # entries of a sparse factor for each entry of P up to which it is quicker than many steps without
EXACT, ROUGH = 1e-11, 1e-4  # relative residuals of means, and of draws that variances are estimated from
MORE = 4
MOST_STEPS = 20_000
PROBES = 16  # vectors of random signs for a determinant
BLOCK = 2**24  # numbers held at a time


class Precision(Protocol):
    """What `DensePrecision` and `SparsePrecision` answer."""

    def precondition(self, b: FloatArray) -> FloatArray:
        """Return C b, or something like it."""
        ...

    def solve(self, b: FloatArray) -> FloatArray:
        """Return C b, (n,) or (n, k)."""
        ...

    @property
    def log_det(self) -> float:
        """Log determinant of I + vΛ; without a prior there is none."""
        ...

    @property
    def variances(self) -> FloatArray:
        """Diagonal of C."""
        ...

    def spreads(self, low: IntArray, high: IntArray) -> FloatArray:
        """Return the variances of f_low - f_high."""
        ...

    def joint(self, items: IntArray) -> FloatArray:
        """Return the covariance of some items."""
        ...

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of f around its mean, (n, count)."""
        ...


class DensePrecision:
    """C = s (B⁻¹ - e 11'/n) with B = I + vΛ, s = v, e = 0, or without a prior B = sΛ + 11'/n, e = 1."""

    def __init__(self, graph: PairGraph, tau: FloatArray, variance: float | None) -> None:
        pairs = graph.pair_sums(tau)
        degrees = graph.degrees(pairs)
        n = graph.n_items
        self.prior = variance is not None
        self.scale = variance if variance is not None else n / max(float(degrees.sum()), 1e-300)
        B = graph.dense(self.scale * pairs, self.scale * degrees + (1.0 if self.prior else 0.0))
        if not self.prior:
            B += 1.0 / n
        self.L, failed = scipy.linalg.lapack.dpotrf(B, lower=1, clean=1, overwrite_a=0 if self.prior else 1)
        if failed and self.prior:  # entries beyond 1e16 of each other: what is below 1 is rounding
            values, vectors = np.linalg.eigh(B + np.tril(B, -1).T)
            R: Any = np.linalg.qr(np.sqrt(np.maximum(values, 1.0))[:, None] * vectors.T, mode="r")
            self.L = np.asfortranarray((R * np.sign(R.diagonal())[:, None]).T)
        elif failed:
            raise DataError(
                "BradleyTerry: the comparisons hardly hold the items together, so that maximum likelihood loses all "
                'digits. Use prior="evidence".'
            )

    def solve(self, b: FloatArray) -> FloatArray:
        """Return C b."""
        x = np.asarray(scipy.linalg.cho_solve((self.L, True), b, check_finite=False)) * self.scale
        return x if self.prior else np.asarray(x - x.mean(axis=0))

    precondition = solve

    @property
    def log_det(self) -> float:
        """Exact."""
        return 2.0 * float(np.log(self.L.diagonal()).sum())

    @cached_property
    def _inverse(self) -> FloatArray:
        """Lower triangle of C."""
        inverse = np.asarray(scipy.linalg.lapack.dpotri(self.L, lower=1)[0])
        inverse *= self.scale
        if not self.prior:
            inverse -= self.scale / inverse.shape[0]
        return inverse

    @property
    def variances(self) -> FloatArray:
        """Exact."""
        return np.maximum(self._inverse.diagonal(), 0.0)

    def spreads(self, low: IntArray, high: IntArray) -> FloatArray:
        """Return the exact variances of f_low - f_high."""
        v, inverse = self._inverse.diagonal(), self._inverse
        return np.maximum(v[low] + v[high] - 2.0 * inverse[np.maximum(low, high), np.minimum(low, high)], 0.0)

    def joint(self, items: IntArray) -> FloatArray:
        """Return the exact covariance of some items."""
        lower = np.tril(self._inverse)
        whole = lower + np.tril(lower, -1).T
        return np.asarray(whole[np.ix_(items, items)])

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws by the factor: L'x = ε."""
        noise = rng.standard_normal((self.L.shape[0], count))
        x = np.sqrt(self.scale) * scipy.linalg.solve_triangular(self.L, noise, lower=True, trans="T")
        return np.asarray(x) if self.prior else np.asarray(x - x.mean(axis=0))


class SparsePrecision:
    """P as a sparse matrix; see the notes of the module for what is exact and what is estimated, and from what."""

    def __init__(self, graph: PairGraph, tau: FloatArray, variance: float | None, n_draws: int = 64) -> None:
        self.graph, self.tau, self.variance, self.n_draws = graph, tau, variance, n_draws
        pairs = graph.pair_sums(tau)
        diagonal = graph.degrees(pairs)
        ridge = 0.0 if variance is None else 1.0 / variance
        self.diagonal = np.maximum(diagonal + ridge, 1e-300)
        self.P = graph.sparse(pairs, self.diagonal)
        self.start: FloatArray | None = None  # draws of a nearby precision

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_factor"}  # which cannot be pickled

    @cached_property
    def _factor(self) -> tuple[IntArray, Any] | None:
        order, size = self.graph.narrow_order
        if size > NARROW * self.P.nnz:
            return None
        P = self.P[order][:, order].tocsc()
        if self.variance is None:
            P = P + scipy.sparse.diags_array(1e-9 * self.diagonal[order])
        options = {"SymmetricMode": True}
        return order, scipy.sparse.linalg.splu(P.tocsc(), "NATURAL", diag_pivot_thresh=0.0, options=options)

    def precondition(self, b: FloatArray) -> FloatArray:
        """Return b through the sparse factor, or over the diagonal."""
        if self._factor is None:
            return self.over_diagonal(b)
        order, lu = self._factor
        x = np.empty_like(b)
        x[order] = lu.solve(np.ascontiguousarray(b[order]))
        return self.centred(x)

    def over_diagonal(self, b: FloatArray) -> FloatArray:
        """Return b over the diagonal of P."""
        return self.centred((b.T / self.diagonal).T)

    def centred(self, x: FloatArray) -> FloatArray:
        """Return x, without a prior less its mean: the level of utilities is not known."""
        return x if self.variance is not None else np.asarray(x - x.mean(axis=0))

    def solve(self, b: FloatArray) -> FloatArray:
        """Return C b to the last digits but a few."""
        return self._solve(b, EXACT)

    def _solve(self, b: FloatArray, tol: float, start: FloatArray | None = None) -> FloatArray:
        b = self.centred(b)
        return self.centred(conjugate(lambda x: self.P @ x, b, self.precondition, tol, MOST_STEPS, start)[0])

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws by solving with perturbed right-hand sides."""
        x = self._draw(count, rng)
        if self.variance is None:
            return x
        part, size = self.graph.parts
        level = rng.standard_normal((int(part.max()) + 1, count))
        return np.asarray(x + np.sqrt(self.variance / size)[:, None] * level[part])

    def _draw(self, count: int, rng: np.random.Generator, start: FloatArray | None = None) -> FloatArray:
        """Return draws without the levels of parts."""
        low, high, n = self.graph.low, self.graph.high, self.graph.n_items
        b = np.zeros((n, count))
        if self.variance is not None:
            b = rng.standard_normal((n, count)) / np.sqrt(self.variance)
        root = np.sqrt(self._pairs)
        for k in range(count):
            noise = root * rng.standard_normal(root.shape[0])
            b[:, k] += np.bincount(low, noise, n) - np.bincount(high, noise, n)
        known = start if start is not None and start.shape == b.shape else None
        return self.graph.without_level(self._solve(self.graph.without_level(b), ROUGH, known))

    @cached_property
    def draws(self) -> FloatArray:
        """The draws that variances are estimated from, without levels: the same noise whatever the precision.

        They are ``n_draws``, and more where there is a sparse factor: there they cost little, and say less.
        """
        start, self.start = self.start, None
        return self._draw(self.n_draws * (1 if self._factor is None else MORE), np.random.default_rng(0), start)

    @cached_property
    def _images(self) -> FloatArray:
        return np.asarray(self.P @ self.draws)

    @property
    def levels(self) -> FloatArray:
        """Variance of the level of each item's part."""
        return (0.0 if self.variance is None else self.variance) / self.graph.parts[1]

    def _moved(self, diagonal: FloatArray, beside: FloatArray | float = 0.0) -> FloatArray:
        # what others say of an item when the level of all rises by one: P1 = 1/v
        return np.asarray(diagonal + beside - (0.0 if self.variance is None else 1.0 / self.variance))

    @cached_property
    def variances(self) -> FloatArray:
        """1/P_ii, and the mean square of what the neighbours say, over the draws and for the level."""
        told = self.draws - self._images / self.diagonal[:, None]
        level = self.levels * np.square(self._moved(self.diagonal) / self.diagonal)
        return np.asarray(1.0 / self.diagonal + np.mean(np.square(told), axis=1) + level)

    def spreads(self, low: IntArray, high: IntArray) -> FloatArray:
        """Return the variances of f_low - f_high: given all other items exactly, and what those say over the draws."""
        out = np.empty(low.shape[0])
        part, count = self.graph.parts[0], self.draws.shape[1]
        step = max(1, BLOCK // (8 * count))
        for start in range(0, low.shape[0], step):
            i, j = low[start : start + step], high[start : start + step]
            p, q, r = self.diagonal[i], self.diagonal[j], self._entries(i, j)
            det = np.maximum(p * q - r * r, 1e-14 * p * q)
            a, b = (q + r) / det, (p + r) / det
            xi, xj = self.draws[i], self.draws[j]
            told = (p[:, None] * xi + r[:, None] * xj - self._images[i]) * a[:, None]
            told -= (q[:, None] * xj + r[:, None] * xi - self._images[j]) * b[:, None]
            up, down = a * self._moved(p, r), b * self._moved(q, r)
            apart = self.levels[i] * up**2 + self.levels[j] * down**2
            level = np.where(part[i] == part[j], self.levels[i] * np.square(up - down), apart)
            out[start : start + step] = (p + q + 2 * r) / det + np.einsum("ij,ij->i", told, told) / count + level
        return out

    def relative(self, items: IntArray) -> FloatArray:
        """Return the variances of some items' utilities relative to their mean."""
        x, part = self.draws[items], self.graph.parts[0][items]
        mean, levels = x.mean(axis=0), self.levels[items]
        share = np.bincount(part) / items.shape[0]
        level = levels * (1.0 - 2.0 * share[part]) + float(levels @ share[part]) / items.shape[0]
        return np.asarray(self.variances[items] - levels - 2 * (x @ mean) / mean.shape[0] + np.mean(mean**2) + level)

    def _entries(self, i: IntArray, j: IntArray) -> FloatArray:
        low, high, n = np.minimum(i, j), np.maximum(i, j), self.graph.n_items
        key = low * n + high
        known = self.graph.keys
        place = np.minimum(np.searchsorted(known, key), known.shape[0] - 1)
        return np.asarray(np.where(known[place] == key, -self._pairs[place], 0.0))

    @cached_property
    def _pairs(self) -> FloatArray:
        return self.graph.pair_sums(self.tau)

    def joint(self, items: IntArray) -> FloatArray:
        """Return the covariance of some items by one system each."""
        distinct, place = np.unique(items, return_inverse=True)
        b = np.zeros((self.graph.n_items, distinct.shape[0]))
        b[distinct, np.arange(distinct.shape[0])] = 1.0
        C = self._solve(b, 1e-8)[distinct]
        return np.asarray(((C + C.T) / 2)[np.ix_(place.ravel(), place.ravel())])

    @cached_property
    def log_det(self) -> float:
        """Log determinant of vP: exact from a sparse factor, else estimated.

        With D the diagonal and D^-½PD^-½ = I - E:  log |P| = log |D| - tr E²/2 + tr (log(I - E) + E + E²/2), where only
        the last trace is estimated, by Lanczos quadrature from random signs.
        """
        if self.variance is None:
            return float("nan")
        n = self.diagonal.shape[0]
        if self._factor is not None:
            return float(np.log(np.abs(self._factor[1].U.diagonal())).sum() + n * np.log(self.variance))
        root = 1.0 / np.sqrt(self.diagonal)
        exact = float(np.log(self.variance * self.diagonal).sum())
        square = 2.0 * float(np.sum(np.square(self._pairs * root[self.graph.low] * root[self.graph.high])))

        def rest(x: FloatArray) -> FloatArray:
            gap = 1.0 - x
            return np.asarray(np.log(np.maximum(x, 1e-300)) + gap + 0.5 * gap * gap)

        signs = np.random.default_rng(1).choice([-1.0, 1.0], (n, PROBES))
        M = scipy.sparse.diags_array(root) @ self.P @ scipy.sparse.diags_array(root)
        return float(exact - 0.5 * square + trace_of(M.tocsr(), signs, rest))


def precision_of(
    graph: PairGraph, tau: FloatArray, variance: float | None, *, n_draws: int = 64, dense: int = DENSE
) -> DensePrecision | SparsePrecision:
    """Return the precision in the form that suits the number of items."""
    if graph.n_items <= dense:
        return DensePrecision(graph, tau, variance)
    return SparsePrecision(graph, tau, variance, n_draws)
