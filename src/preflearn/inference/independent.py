"""Independent utilities of items: x = A f + D b, f ~ N(0, vI) of the items, b ~ N(0, diag(k)) of columns all rows see.

    P = I/v + Λ,      Λ = A'TA, the Laplacian of a graph of comparisons.

Questions are direct, so that covariances with the latents need not be written down, and of the evidence's derivative by
their prior covariance only the diagonal counts: Λ - ΛCΛ = K⁻¹ - K⁻¹CK⁻¹ gives it from that of C = P⁻¹, of which there
are two forms:

    `Factored`      a dense Cholesky factor, for some thousand items: everything is exact
    `Precision`     P as a sparse matrix for many more, and no array of its size

The latter solves systems by conjugate gradients, with a sparse factor where the graph is narrow enough to have one and
else with the diagonal as preconditioner. Variances come from draws, f = P⁻¹(ε/√v + A'√τ η), and log |P| from Lanczos
quadrature. Given its neighbours an item has variance 1/P_ii, so only the variance of its conditional mean is left to
the draws; the level of each connected part, which no comparison touches, has its prior variance and is left out too.

Without a prior (v infinite) P = Λ is singular along the level: C is its pseudo-inverse, and utilities are centred.

The columns D border P: with X = P⁻¹A'TD and the Schur complement G = diag(1/k) + D'TD - D'TA X, f given b rests on P
alone, and b moves f by -X b. That takes a system for each of them, and is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
import scipy.sparse.linalg

from preflearn.exceptions import DataError, Message, Setting
from preflearn.inference.contract import FACTOR_ALWAYS, Curve, Query, System, Touched
from preflearn.inference.dense import Design, forms_of_rows, lower
from preflearn.linalg import cholesky_at_least_one, cholesky_one_plus, square_norms
from preflearn.linalg.iterative import conjugate, trace_of
from preflearn.operators import FloatArray, IntArray

DENSE = 3_000  # latents up to which a dense factor is the quickest, whatever the graph
FEW = 256  # latents whose joint covariance is solved for, one system each
NARROW = 10  # entries of a sparse factor for each entry of P up to which it is quicker than many steps without
EXACT, CLOSE, ROUGH = 1e-11, 1e-8, 1e-4  # relative residuals of means, covariances, and draws for variances
N_DRAWS, MORE = 64, 4  # draws that variances are estimated from, and how many times more with a sparse factor
AT_ONCE = 64  # draws that are solved for together
MOST_STEPS = 20_000
PROBES = 16  # vectors of random signs for a determinant
BLOCK = 2**24  # numbers held at a time
DIAGONAL_STEPS = 60  # with the diagonal alone, before a dense factor is the better buy
CANCELLED = 1e-6  # of the variances of single latents, below which that of a difference is worked out from the factor

LOOSE = Message(
    "the comparisons hardly hold the items together, so that maximum likelihood loses all digits",
    ("Use " + Setting("prior", "evidence"),),
    code="hardly-connected",
    owner="BradleyTerry",
)


class Inverse:
    """What is asked of C = P⁻¹, which both answers have in common; ``ridge`` is 1/v, 0 without a prior."""

    ridge: float
    design: Design

    def _centred(self, x: FloatArray) -> FloatArray:
        """Return x, without a prior less its mean over each connected part, whose level is not known."""
        return x if self.ridge else self.design.without_level(x)


class Precision(Inverse):
    """P = I/v + Λ, and what is asked of its inverse C; see the module for what is exact and what is estimated."""

    def __init__(self, design: Design, tau: FloatArray, variance: float, n_draws: int) -> None:
        self.design, self.variance, self.n_draws = design, variance, n_draws
        self.ridge = 1.0 / variance  # 0 without a prior
        A = design.A
        root = A.data * np.repeat(np.sqrt(tau), np.diff(A.indptr))
        self.root = sp.csr_array((root, A.indices, A.indptr), shape=A.shape)  # Λ = root'root
        self.P = design.local_laplacian(tau, sparse=True)
        self.diagonal = np.maximum(self.P.diagonal() + self.ridge, 1e-300)
        self.P.setdiag(self.diagonal)
        self.start: FloatArray | None = None  # draws of a nearby precision

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_factor"}  # which cannot be pickled

    @cached_property
    def _factor(self) -> tuple[IntArray, Any] | None:
        order, size = self.design.narrow_order
        if size > NARROW * self.P.nnz:
            return None
        P = self.P[order][:, order].tocsc()
        if not self.ridge:
            P = P + sp.diags_array(1e-9 * self.diagonal[order])
        options = {"SymmetricMode": True}
        return order, scipy.sparse.linalg.splu(P.tocsc(), "NATURAL", diag_pivot_thresh=0.0, options=options)

    def precondition(self, b: FloatArray) -> FloatArray:
        """Return b through the sparse factor, or over the diagonal."""
        if self._factor is None:
            return self._centred((b.T / self.diagonal).T)
        order, lu = self._factor
        x = np.empty_like(b)
        x[order] = lu.solve(np.ascontiguousarray(b[order]))
        return self._centred(x)

    def solve(self, b: FloatArray, tol: float = EXACT, start: FloatArray | None = None) -> FloatArray:
        """Return C b, (n,) or (n, k)."""
        b = self._centred(b)
        return self._centred(conjugate(lambda x: self.P @ x, b, self.precondition, tol, MOST_STEPS, start)[0])

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws (n, count) by solving with perturbed right-hand sides."""
        x = self._draw(count, rng)
        if not self.ridge:
            return x
        part, size = self.design.parts
        level = rng.standard_normal((int(part.max()) + 1, count))
        return np.asarray(x + np.sqrt(self.variance / size)[:, None] * level[part])

    def _draw(self, count: int, rng: np.random.Generator, start: FloatArray | None = None) -> FloatArray:
        """Return draws without the levels of parts."""
        n = self.design.n
        b = rng.standard_normal((n, count)) * np.sqrt(self.ridge) if self.ridge else np.zeros((n, count))
        b += self.root.T @ np.stack([rng.standard_normal(self.root.shape[0]) for _ in range(count)], axis=1)
        known = start if start is not None and start.shape == b.shape else None
        return self.design.without_level(self.solve(self.design.without_level(b), ROUGH, known))

    @cached_property
    def draws(self) -> FloatArray:
        """The draws that variances are estimated from, without levels, from the same noise whatever the precision."""
        start, self.start = self.start, None
        return self._draw(self.n_draws * (1 if self._factor is None else MORE), np.random.default_rng(0), start)

    @cached_property
    def _images(self) -> FloatArray:
        return np.asarray(self.P @ self.draws)

    @property
    def levels(self) -> FloatArray:
        """Variance of the level of each item's part."""
        return (self.variance if self.ridge else 0.0) / self.design.parts[1]

    @cached_property
    def variances(self) -> FloatArray:
        """1/P_ii, and the mean square of the mean given the neighbours, over the draws and for the level."""
        moved = self.draws - self._images / self.diagonal[:, None]
        level = self.levels * np.square((self.diagonal - self.ridge) / self.diagonal)
        return np.asarray(1.0 / self.diagonal + np.mean(np.square(moved), axis=1) + level)

    def spreads(self, low: IntArray, high: IntArray) -> FloatArray:
        """Return the variances of f_low - f_high: given all other items exactly, and of that mean over the draws."""
        out = np.empty(low.shape[0])
        part, count = self.design.parts[0], self.draws.shape[1]
        step = max(1, BLOCK // (8 * count))
        for start in range(0, low.shape[0], step):
            i, j = low[start : start + step], high[start : start + step]
            p, q, r = self.diagonal[i], self.diagonal[j], self.P[i, j]
            det = np.maximum(p * q - r * r, 1e-14 * p * q)
            a, b = (q + r) / det, (p + r) / det
            xi, xj = self.draws[i], self.draws[j]
            moved = (p[:, None] * xi + r[:, None] * xj - self._images[i]) * a[:, None]
            moved -= (q[:, None] * xj + r[:, None] * xi - self._images[j]) * b[:, None]
            up, down = a * (p + r - self.ridge), b * (q + r - self.ridge)  # as the level of all rises by one
            apart = self.levels[i] * up**2 + self.levels[j] * down**2
            level = np.where(part[i] == part[j], self.levels[i] * np.square(up - down), apart)
            out[start : start + step] = (p + q + 2 * r) / det + np.einsum("ij,ij->i", moved, moved) / count + level
        return out

    def forms(self, E: Any) -> FloatArray:
        """Return the variances of rows E f: single items, differences of two, or whatever else by a system each."""
        out, size = np.zeros(E.shape[0]), np.diff(E.indptr)
        one = np.flatnonzero(size == 1)
        at = E.indptr[one]
        out[one] = np.square(E.data[at]) * self.variances[E.indices[at]]
        two = np.flatnonzero(size == 2)
        a, b = E.indptr[two], E.indptr[two] + 1
        pairs = E.data[a] == -E.data[b]
        two, a, b = two[pairs], a[pairs], b[pairs]
        out[two] = np.square(E.data[a]) * self.spreads(E.indices[a].astype(np.intp), E.indices[b].astype(np.intp))
        other = size > 1
        other[two] = False
        for rows in np.array_split(np.flatnonzero(other), max(1, int(other.sum()) // AT_ONCE)):
            if rows.shape[0]:
                some = E[rows]
                out[rows] = (some @ self.solve(some.T.toarray(), CLOSE)).diagonal()
        return out

    def among(self, E: Any) -> FloatArray:
        """Return E C E' by a system for each of the items that rows see."""
        few = np.unique(E.indices)
        b = np.zeros((self.design.n, few.shape[0]))
        b[few, np.arange(few.shape[0])] = 1.0
        some = E[:, few]
        C = some @ (some @ self.solve(b, CLOSE)[few]).T
        return np.asarray((C + C.T) / 2)

    @cached_property
    def log_det(self) -> float:
        """Log determinant of vP: exact from a sparse factor, else estimated; 0 without a prior.

        With D the diagonal and D^-½PD^-½ = I - E:  log |P| = log |D| - tr E²/2 + tr (log(I - E) + E + E²/2), where only
        the last trace is estimated, by Lanczos quadrature from random signs.
        """
        if not self.ridge:
            return 0.0
        n = self.design.n
        if self._factor is not None:
            return float(np.log(np.abs(self._factor[1].U.diagonal())).sum() + n * np.log(self.variance))
        root = 1.0 / np.sqrt(self.diagonal)
        exact = float(np.log(self.variance * self.diagonal).sum())
        M = sp.csr_array(sp.diags_array(root) @ self.P @ sp.diags_array(root))
        square = float(np.sum(np.square(M.data))) - float(np.sum(np.square(M.diagonal())))

        def rest(x: FloatArray) -> FloatArray:
            gap = 1.0 - x
            return np.asarray(np.log(x) + gap + 0.5 * gap * gap)

        signs = np.random.default_rng(1).choice([-1.0, 1.0], (n, PROBES))
        return float(exact - 0.5 * square + trace_of(lambda x: M @ x, signs, rest))


class Factored(Inverse):
    """The same questions answered by LL' = I + vΛ, C = v (LL')⁻¹.

    Without a prior LL' = Λ/s + ee', e the level of unit length and s the typical size of Λ, and C = (LL')⁻¹/s - ee'/s.
    """

    def __init__(self, design: Design, tau: FloatArray, variance: float, *, semidefinite: bool) -> None:
        self.design, n = design, design.n
        B = design.local_laplacian(tau, sparse=False).T
        self.ridge = 1.0 / variance
        self.variance = variance if self.ridge else n / max(float(np.trace(B)), 1e-300)
        B *= self.variance
        if self.ridge:
            B.flat[:: n + 1] += 1.0
        else:
            B += 1.0 / n
        self.L, failed = scipy.linalg.lapack.dpotrf(B, lower=1, clean=1)
        if failed and not self.ridge:
            raise DataError(LOOSE)
        if failed and not semidefinite:
            raise np.linalg.LinAlgError("B is not positive definite")
        if failed:  # entries beyond 1e16 of each other: the eigenvalues below 1 are rounding
            B.flat[:: n + 1] -= 1.0
            self.L = cholesky_at_least_one(B)

    @cached_property
    def log_det(self) -> float:
        """Log determinant of vP; 0 without a prior."""
        return 2.0 * float(np.log(self.L.diagonal()).sum()) if self.ridge else 0.0

    def solve(self, b: FloatArray, tol: float = 0.0) -> FloatArray:
        """Return C b, (n,) or (n, k)."""
        x = scipy.linalg.lapack.dpotrs(self.L, self._centred(b), lower=1)[0] if b.size else b
        return self._centred(self.variance * np.asarray(x))

    @cached_property
    def lower(self) -> FloatArray:
        """The lower triangle of C."""
        inverse = np.asarray(scipy.linalg.lapack.dpotri(self.L, lower=1)[0])
        inverse *= self.variance
        if not self.ridge:
            inverse -= self.variance / self.design.n  # e is an eigenvector of LL' with eigenvalue 1
        return inverse

    @property
    def variances(self) -> FloatArray:
        """Variances of the items."""
        return np.asarray(self.lower.diagonal())

    def forms(self, E: Any) -> FloatArray:
        """Return the variances of rows E f."""
        found, own = forms_of_rows(E, self.lower)
        # small differences of large numbers are worked out from the factor instead
        unsure = np.flatnonzero(found <= CANCELLED * own)
        step = max(1, BLOCK // max(1, self.design.n))
        for start in range(0, unsure.shape[0], step):
            rows = unsure[start : start + step]
            half = lower(self.L, self._centred(E[rows].T.toarray()))
            found[rows] = self.variance * np.einsum("ij,ij->j", half, half)
        return found

    def among(self, E: Any) -> FloatArray:
        """Return E C E'."""
        C = np.tril(self.lower)
        C += np.tril(C, -1).T
        return np.asarray(E @ (E @ C).T)

    def draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws (n, count) around the mean."""
        noise = rng.standard_normal((self.design.n, count))
        return self._centred(np.sqrt(self.variance) * lower(self.L, noise, transposed=True))


class IndependentSystem(System):
    """S = [A √v, D √k]; without a prior [A, D]. ``dense`` says whether P is factored as a dense matrix."""

    smooth = True

    def __init__(
        self, design: Design, variance: float, border: FloatArray, dense: bool = True, n_draws: int = N_DRAWS
    ) -> None:
        self.design, self.variance, self.border, self.dense, self.n_draws = design, variance, border, dense, n_draws
        self.size = self.order = design.n + len(border)
        self.ridge = 1.0 if np.isfinite(variance) else 0.0
        k = np.append(np.full(design.n, variance), border)
        self.roots = np.sqrt(k) if self.ridge else np.ones(self.size)  # diagonal of R

    def forward(self, u: FloatArray) -> FloatArray:
        """Return S u."""
        return self.design.forward(self.roots * u)

    def back(self, g: FloatArray) -> FloatArray:
        """Return S'g."""
        return np.asarray(self.roots * self.design.back(g))

    def curve(self, tau: FloatArray, *, semidefinite: bool = True, near: Curve | None = None) -> IndependentCurve:
        """Return B, ready to solve systems with."""
        weighted = tau[:, None] * self.design.D
        columns, squares = np.asarray(self.design.AT @ weighted), self.design.D.T @ weighted
        return IndependentCurve(self, self.precision(tau, semidefinite, near), columns, squares, semidefinite)

    def precision(self, tau: FloatArray, semidefinite: bool, near: Curve | None) -> Any:
        """Return P."""
        if self.dense:
            return Factored(self.design, tau, self.variance, semidefinite=semidefinite)
        sparse = Precision(self.design, tau, self.variance, self.n_draws)
        if isinstance(near, IndependentCurve) and near.precision.n_draws == self.n_draws:
            sparse.start = near.precision.__dict__.get("draws")
        return sparse

    def start(self, g: FloatArray, near: Curve | None) -> FloatArray:
        """Return roughly where the mode is: to first order f = ka moves by C (a dlog k) with the prior variances k."""
        if not isinstance(near, IndependentCurve) or near.system.size != self.size or not self.ridge:
            return self.back(g)
        before, after, a = near.system.roots, self.roots, self.design.back(g)
        change = np.clip(2.0 * np.log(after / before), -1.0, 1.0)
        f = before**2 * a
        if change.any():
            f = f + before * near.precondition(before * change * a)
        return np.asarray(f / after)

    def newton(self, tau: FloatArray, b: FloatArray, near: Curve | None, tol: float) -> tuple[FloatArray, Curve | None]:
        """Return B⁻¹ b up to a relative error; see `System.newton`."""
        if not self.dense:
            return self.curve(tau).solve(b, max(tol, EXACT)), near
        if self.size > FACTOR_ALWAYS:
            # in a graph without bottlenecks a few products will do, with the diagonal of B as preconditioner
            squares = np.append(self.design.AT.power(2) @ tau, np.square(self.design.D).T @ tau)
            diagonal = np.maximum(self.ridge + self.roots**2 * squares, 1e-300)
            x, left = conjugate(
                lambda x: self.ridge * x + self.back(tau * self.forward(x)),
                self._centred(b),
                lambda r: self._centred(r / diagonal),
                tol,
                DIAGONAL_STEPS,
            )
            if left <= tol:
                return x, near
        return super().newton(tau, b, near, tol)

    def _centred(self, x: FloatArray) -> FloatArray:
        """Return x, without a prior with utilities less their mean."""
        n = self.design.n
        return x if self.ridge else np.concatenate([x[:n] - x[:n].mean(), x[n:]])


@dataclass(frozen=True)
class IndependentCurve(Curve):
    """B = R'PR, P with the columns of D as its border."""

    system: IndependentSystem
    precision: Any  # `Factored` or `Precision`
    columns: FloatArray  # A'TD
    squares: FloatArray  # D'TD
    semidefinite: bool = True  # see `System.curve`

    @cached_property
    def _moves(self) -> FloatArray:
        """X = P⁻¹A'TD, (n, q)."""
        return self.precision.solve(self.columns) if self.columns.size else self.columns

    @cached_property
    def _border(self) -> FloatArray:
        """Lower Cholesky factor of the Schur complement G."""
        return self._schur(self._moves)

    def _schur(self, X: FloatArray) -> FloatArray:
        root, G = np.sqrt(self.system.border), self.squares - self.columns.T @ X
        if self.system.ridge:
            return cholesky_one_plus(root[:, None] * G * root, semidefinite=self.semidefinite) / root[:, None]
        try:
            return np.asarray(np.linalg.cholesky(G), dtype=np.float64)
        except np.linalg.LinAlgError:
            raise DataError(LOOSE) from None

    @property
    def log_det(self) -> float:
        """Log determinant of B."""
        own = np.log(np.square(np.diagonal(self._border)) * self.system.border) if self.precision.ridge else np.zeros(0)
        return float(self.precision.log_det + own.sum())

    def solve(self, b: FloatArray, tol: float = EXACT) -> FloatArray:
        """Return B⁻¹ b for one vector, to the last digits but a few or up to a relative error."""
        n, roots = self.system.design.n, self.system.roots
        b = b / roots
        if not self.columns.shape[1]:
            return np.asarray(self.precision.solve(b, tol) / roots)
        if tol > EXACT and "_moves" not in self.__dict__:
            solved = self.precision.solve(np.column_stack([b[:n], self.columns]), tol)
            x, X = solved[:, 0], solved[:, 1:]
            L = self._schur(X)
        else:
            x, X, L = self.precision.solve(b[:n], tol), self._moves, self._border
        own = scipy.linalg.cho_solve((L, True), b[n:] - X.T @ b[:n])
        return np.asarray(np.concatenate([x - X @ own, own]) / roots)

    def precondition(self, b: FloatArray) -> FloatArray:
        """Return about B⁻¹ b."""
        return self.solve(b, ROUGH)

    def _lifted(self, E: Any) -> FloatArray:
        """Return (b - X'a) of rows [a, b], times a root of the covariance of D's latents, (q, p)."""
        n = self.system.design.n
        return lower(self._border, (E[:, n:].toarray() - E[:, :n] @ self._moves).T)

    def forms(self, E: Any) -> FloatArray:
        """Return the variances of rows E of all latents."""
        if not self.columns.shape[1]:
            return np.asarray(self.precision.forms(E))
        own = np.square(self._lifted(E)).sum(axis=0)
        return np.asarray(self.precision.forms(E[:, : self.system.design.n]) + own)

    @cached_property
    def variances(self) -> FloatArray:
        """Posterior variances of x at the cells."""
        design, q = self.system.design, self.columns.shape[1]
        own = np.asarray(self.precision.forms(design.A))
        return own + design.square_norms(self._lift) if q else own

    @cached_property
    def _lift(self) -> FloatArray:
        """How all latents move with those of D, [-X, I], times a root of the covariance of these; (n + q, q)."""
        moves = np.vstack([-self._moves, np.eye(self.columns.shape[1])])
        return np.ascontiguousarray(lower(self._border, moves.T).T)

    def sensitivity(self, plus: FloatArray, minus: FloatArray) -> FloatArray:
        """Return the diagonal of the derivative of the evidence by the prior covariance; see the module."""
        n, q = self.system.design.n, self.columns.shape[1]
        if not self.precision.ridge:
            return np.zeros(n + q)
        k, roots = np.square(self.system.roots), self.system.roots
        C = np.append(self.precision.variances, np.zeros(q)) + square_norms(self._lift)
        squares = np.square(self.system.back(plus) / roots) - np.square(self.system.back(minus) / roots)
        return np.asarray(0.5 * ((C / k - 1.0) / k + squares))

    def touched(self, u: FloatArray, cells: IntArray) -> Touched:
        """Return some cells themselves."""
        C = self.covariance(self.system.design.rows(cells))
        return Touched(sp.eye_array(len(cells), format="csr"), self.system.forward(u)[cells], C)

    def covariance(self, E: Any) -> FloatArray:
        """Return E C E' for rows E of all latents."""
        lifted = self._lifted(E)
        return np.asarray(self.precision.among(E[:, : self.system.design.n]) + lifted.T @ lifted)

    def moments(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and variances of a query."""
        return np.asarray(query.shared @ (self.system.roots * u)), self.forms(query.shared) + query.prior

    def joint(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return posterior means and the covariance of a query."""
        C = self.covariance(query.shared) + (query.rest @ query.rest.T).toarray()
        return np.asarray(query.shared @ (self.system.roots * u)), np.asarray((C + C.T) / 2)

    def draws(self, u: FloatArray, g: FloatArray, query: Query, count: int, rng: np.random.Generator) -> FloatArray:
        """Return joint draws (count, p) of a query."""
        if self._exact(query):
            return super().draws(u, g, query, count, rng)
        latent, step = self.system.roots * u, count if self.system.dense else AT_ONCE
        found = []
        for start in range(0, count, step):
            some = min(step, count - start)
            drawn = query.shared @ (latent[:, None] + self._draw(some, rng))
            found.append((drawn + query.rest @ rng.standard_normal((query.rest.shape[1], some))).T)
        return np.concatenate(found)

    def _draw(self, count: int, rng: np.random.Generator) -> FloatArray:
        """Return draws (n + q, count) of the latents around their means."""
        f = self.precision.draw(count, rng)
        own = lower(self._border, rng.standard_normal((self.columns.shape[1], count)), transposed=True)
        return np.concatenate([f - self._moves @ own, own])

    def relative(self, u: FloatArray, g: FloatArray, query: Query) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of a query, relative to the mean of all of it."""
        mean, variance = self.joint(u, g, query) if self._exact(query) else self.moments(u, g, query)
        E, rest, roots = query.shared, query.rest, self.system.roots
        # covariances with the mean
        shared = np.asarray(E @ (roots * self.solve(roots * np.asarray(E.mean(axis=0)))) + rest @ rest.mean(axis=0))
        own = variance.diagonal() if variance.ndim > 1 else variance
        return mean - mean.mean(), np.maximum(own - 2.0 * shared + shared.mean(), 0.0)

    def _exact(self, query: Query) -> bool:
        """Return whether few enough values are asked for to solve for their covariance where others are estimated."""
        return not self.system.dense and query.shared.shape[0] <= FEW
