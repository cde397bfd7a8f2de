"""Laplace's method for utilities with independent priors, where Newton's matrix is as sparse as the comparisons.

The same objective, evidence and gradient as in `laplace.py` with K = vI, in the utilities themselves:

    Σ w log p(y | z) - f'f/2v,   z = A f,   P = I/v + Λ,   log evidence = the maximum - ½ log |I + vΛ|.

Without a prior the second term and the evidence are absent, and utilities are centred.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preflearn.exceptions import DataError
from preflearn.inference.krylov import conjugate
from preflearn.inference.pair_graph import PairGraph
from preflearn.inference.pair_precision import DENSE, DensePrecision, SparsePrecision, precision_of
from preflearn.inference.posterior import Info
from preflearn.operators import FloatArray

__all__ = ["Mode", "evidence_gradient", "find_mode", "first_side", "mode_at"]

TOL = 1e-6  # Newton's last step, in units of the posterior's deviation: what is left is its square
WANTED = 1e-9  # what is left
FEW_STEPS, MORE_STEPS = 12, 60  # of conjugate gradients with an old factor, or none, before a new one is the better buy
MOST_INNER = 20_000
FACTOR_ALWAYS = 150  # items up to which a factor costs no more than a few products
MOST_STEPS = 100


@dataclass(frozen=True)
class Mode:
    """Utilities ``f`` at the maximum, its value, derivatives of log p and precision there, and how the search ended."""

    graph: PairGraph
    f: FloatArray
    value: float
    derivatives: Any
    variance: float | None
    precision: DensePrecision | SparsePrecision
    info: Info

    def kept(self) -> dict[str, Any]:
        """Return what `mode_at` needs."""
        return {"utility": self.f, "steps": self.info.steps}

    def towards(self, variance: float | None) -> FloatArray:
        """Return roughly where the mode is with another variance of the prior: df/dlog v = Cf/v."""
        if self.variance is None or variance is None or variance == self.variance:
            return self.f
        change = float(np.clip(np.log(variance / self.variance), -1.0, 1.0))
        return np.asarray(self.f + change / self.variance * self.precision.solve(self.f))

    @property
    def log_likelihood(self) -> float:
        """Log likelihood of the comparisons."""
        return self.value + (0.0 if self.variance is None else 0.5 * float(self.f @ self.f) / self.variance)

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation; NaN without a prior."""
        return float(self.value - 0.5 * self.precision.log_det) if self.variance is not None else np.nan


def find_mode(
    graph: PairGraph,
    y: FloatArray,
    weight: FloatArray,
    likelihood: Any,
    variance: float | None,
    *,
    near: Mode | None = None,
    n_draws: int = 64,
    dense: int = DENSE,
) -> Mode:
    """Climb by Newton steps, which are halved until they climb (the objective is concave), and factor P at the top.

    ``near`` is the mode of a nearby problem, a start and a preconditioner. The search stops on the length of the step
    in units of the posterior's deviation.
    """
    ridge = 0.0 if variance is None else 1.0 / variance
    f = np.zeros(graph.n_items) if near is None else near.towards(variance)
    factor: Any = None if near is None or graph.n_items > dense else near.precision

    def objective(f: FloatArray) -> tuple[float, Any]:
        d = likelihood.log_density(y, graph.differences(f))
        return float(weight @ d.value) - 0.5 * ridge * float(f @ f), d

    value, d = objective(f)
    steps, size, before = 0, np.inf, np.inf
    while True:
        if size <= TOL or steps >= MOST_STEPS:
            break
        gradient, tau = graph.adjoint(weight * d.first) - ridge * f, -weight * d.second
        step, factor = _step(graph, tau, variance, gradient, factor, min(0.03, size), dense)
        before, size = size, float(np.sqrt(max(float(gradient @ step), 0.0)))
        # near the top only rounding keeps a step from being a small part of the one before
        if size == 0.0 or (size > 0.5 * before and size < 1e-6):
            break
        length = 1.0
        trial, d_trial = objective(f + step)
        while not trial >= value + 1e-4 * length * size**2 - 1e-12 * abs(value) and length > 1e-10:
            length /= 2
            trial, d_trial = objective(f + length * step)
        if length <= 1e-10:
            break
        if length < 1.0:
            factor, size = None, np.inf
        f, value, d = f + length * step, trial, d_trial
        steps += 1
    there = value, d
    return mode_at(
        graph, y, weight, likelihood, variance, f, steps=steps, there=there, near=near, n_draws=n_draws, dense=dense
    )


def mode_at(
    graph: PairGraph,
    y: FloatArray,
    weight: FloatArray,
    likelihood: Any,
    variance: float | None,
    f: FloatArray,
    *,
    steps: int,
    there: tuple[float, Any] | None = None,
    near: Mode | None = None,
    n_draws: int = 64,
    dense: int = DENSE,
) -> Mode:
    """Return the mode that was found at utilities ``f`` after so many steps: the precision there, and what is left.

    ``there`` is the objective with the derivatives of log p, if they are known.
    """
    ridge = 0.0 if variance is None else 1.0 / variance
    if there is None:
        d = likelihood.log_density(y, graph.differences(f))
        value = float(weight @ d.value) - 0.5 * ridge * float(f @ f)
    else:
        value, d = there
    gradient, tau = graph.adjoint(weight * d.first) - ridge * f, -weight * d.second
    precision = precision_of(graph, tau, variance, n_draws=n_draws, dense=dense)
    if isinstance(precision, SparsePrecision) and near is not None and isinstance(near.precision, SparsePrecision):
        precision.start = near.precision.draws if near.precision.n_draws == n_draws else None
    left = float(np.sqrt(max(float(gradient @ precision.solve(gradient)), 0.0)))
    # digits of the utilities themselves, where the posterior is sharper than these
    digits = 1e-6 * float(np.sqrt(tau @ np.square(graph.differences(f)) + ridge * float(f @ f)))
    residual = left / max(1.0, digits)
    return Mode(graph, f, value, d, variance, precision, Info(steps, residual, WANTED, residual <= 100 * WANTED))


def _step(
    graph: PairGraph,
    tau: FloatArray,
    variance: float | None,
    gradient: FloatArray,
    factor: Any,
    tol: float,
    dense: int,
) -> tuple[FloatArray, Any]:
    """Return Newton's step, and a factor for the next one or None where there is none that helps.

    Dense factors are made only where conjugate gradients are slow with the last one, or with the diagonal alone.
    """
    if graph.n_items <= min(FACTOR_ALWAYS, dense):
        return DensePrecision(graph, tau, variance).solve(gradient), None
    precision = SparsePrecision(graph, tau, variance)
    small = graph.n_items <= dense
    if small:
        most = FEW_STEPS if factor is not None else MORE_STEPS
        near = factor.precondition if factor is not None else precision.over_diagonal
    else:
        most, near = MOST_INNER, precision.precondition
    b = precision.centred(gradient)
    step, solved = conjugate(lambda x: precision.P @ x, b, near, max(0.1 * tol, 1e-11), most)
    if not solved and small:
        factor = DensePrecision(graph, tau, variance)
        return factor.solve(gradient), factor
    return precision.centred(step), factor


def evidence_gradient(
    mode: Mode, y: FloatArray, weight: FloatArray, likelihood: Any
) -> tuple[float, FloatArray, float]:
    """Return the derivatives of the evidence in log v and in the likelihood's own parameters.

    With C = P⁻¹, c_k the variance of z_k and s = ½ A'(c w d₃) the derivative of -½ log |I + vΛ| through the mode:
    ½ f'f/v - ½ (n - tr C/v) + s'Cf/v in log v. The third number is roughly minus the
    second derivative, γ³/2n² with γ = n - tr C/v. Without a prior (profile likelihood) there is no log v.
    """
    graph, f, v = mode.graph, mode.f, mode.variance
    own = likelihood.log_density_theta(y, graph.differences(f)) if likelihood.theta.shape[0] else []
    if v is None:
        return 0.0, np.array([float(weight @ value) for value, _, _ in own]), 0.0
    d = mode.derivatives
    spread = mode.precision.spreads(graph.low, graph.high)[graph.row]
    s = 0.5 * graph.adjoint(spread * weight * d.third)
    Cs = mode.precision.solve(s)
    told = max(graph.n_items - float(mode.precision.variances.sum()) / v, 0.0)
    by_variance = 0.5 * (float(f @ f) / v - told) + float(Cs @ f) / v
    by_own = [
        float(weight @ (value + 0.5 * spread * second)) + float(Cs @ graph.adjoint(weight * first))
        for value, first, second in own
    ]
    return by_variance, np.array(by_own), 0.5 * told**3 / graph.n_items**2


def first_side(
    f: FloatArray,
    v: float | None,
    graph: PairGraph,
    side: FloatArray,
    y: FloatArray,
    weight: FloatArray,
    likelihood: Any,
    *,
    tol: float = 1e-8,
    dense: int = DENSE,
) -> tuple[float, float]:
    """Return the advantage β of the first side and its standard error: z = A f + β side, β without a prior.

    Newton's steps for f and β together, by elimination of f; ``side`` is +1 where the lower item came first, and
    statements of ``graph`` about the same pair are kept apart by it. The search starts from utilities ``f``.
    """
    ridge = 0.0 if v is None else 1.0 / v
    beta = 0.0

    def objective(f: FloatArray, beta: float) -> tuple[float, Any]:
        d = likelihood.log_density(y, graph.differences(f) + beta * side)
        return float(weight @ d.value) - 0.5 * ridge * float(f @ f), d

    value, d = objective(f, beta)
    for _ in range(MOST_STEPS):
        tau = -weight * d.second
        g_f, g_beta = graph.adjoint(weight * d.first) - ridge * f, float(side @ (weight * d.first))
        c = graph.adjoint(tau * side)
        solved = precision_of(graph, tau, v, dense=dense).solve(np.column_stack([g_f, c]))
        information = float(tau.sum()) - float(c @ solved[:, 1])
        if not information > 1e-9 * float(tau.sum()):
            break
        step = (g_beta - float(c @ solved[:, 0])) / information
        move, length = solved[:, 0] - step * solved[:, 1], 1.0
        climb = float(g_f @ move) + g_beta * step
        if climb <= tol**2:
            return beta + step, float(1.0 / np.sqrt(information))
        trial, d_trial = objective(f + move, beta + step)
        while not trial >= value - 1e-12 * abs(value) and length > 1e-10:
            length /= 2
            trial, d_trial = objective(f + length * move, beta + length * step)
        f, beta, value, d = f + length * move, beta + length * step, trial, d_trial
        if abs(beta) > 50 * likelihood.noise_deviation:
            break
    raise DataError(
        "side_effect: the comparisons do not tell the first side's advantage from the utilities (every item, or the "
        "winner, is always on the same side). Nothing can be said about it from them."
    )
