"""The evidence of hyperparameters as a function, and the solution at some of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import numpy as np
from threadpoolctl import ThreadpoolController

from preflearn.exceptions import DataError
from preflearn.inference.ep import ep, ep_gradient
from preflearn.inference.factor import Factor
from preflearn.inference.hyperprior import HyperPrior
from preflearn.inference.laplace import laplace, laplace_gradient
from preflearn.inference.posterior import Curvature, Info, Posterior
from preflearn.operators import FloatArray

__all__ = ["Evidence", "Solution", "few_threads", "hyperprior_of", "numbers"]

# Moments of a likelihood that is not log-concave that match no better than this say nothing about the evidence.
UNKNOWN = 1e-3

# Up to this many latents two BLAS threads spend more time waiting for each other than they save.
ONE_THREAD = 999

LARGEST = 1e100  # number of a posterior that is believed
SAME = 1e-6  # relative difference up to which kept numbers belong together: rounding, on another machine too


def few_threads(n_latents: int) -> Any:
    """Return a context in which BLAS uses one thread if the problem is small, and never two pools of threads at once.

    Wheels of NumPy and SciPy each bring a BLAS library. Inference does its large products through SciPy's, so NumPy's
    is kept at one thread: the threads of two pools wait for each other (n = 1,000 took twice as long as on one thread).
    """
    every, numpy_only = _controllers()
    return (every if n_latents <= ONE_THREAD else numpy_only).limit(limits=1)


@cache
def _controllers() -> tuple[Any, Any]:
    # looking through the loaded libraries takes milliseconds, so once
    every = ThreadpoolController().select(user_api="blas")
    paths = [library["filepath"] for library in every.info()]
    own = [path for path in paths if "numpy" in path.split("site-packages")[-1]] if len(paths) > 1 else []
    return every, every.select(filepath=own)


@dataclass(frozen=True)
class Solution:
    """The posterior at some hyperparameters; ``tau`` and ``nu`` are each comparison's part in it, per unit weight."""

    prior: Any
    likelihood: Any
    posterior: Posterior
    info: Info
    tau: FloatArray
    nu: FloatArray

    def kept(self) -> dict[str, Any]:
        """Return what `Evidence.again` needs: a few numbers for each comparison and latent, and no matrix."""
        posterior = self.posterior
        return {
            "tau": self.tau,
            "nu": self.nu,
            "a": posterior.a,
            "u": posterior.u,
            "left": _left(posterior.factor, posterior.u, posterior.a),
            "log_evidence": float(posterior.log_evidence),
            "info": self.info,
        }


@dataclass
class Evidence:
    """Log evidence and gradient as a function of theta (the prior's, then the likelihood's).

    A prior is an object with ``theta``, ``bounds``, ``with_theta`` and either ``gram() -> (K, pull)`` or ``factor() ->
    (factor, pull)``, where pull(M) = <M, dK/dtheta>. The last solution is the warm start of the next.
    """

    prior: Any
    likelihood: Any
    design: Any  # a `Design`, or what answers like one
    y: FloatArray
    weight: FloatArray
    inference: Literal["laplace", "ep"]
    hyperprior: HyperPrior | None = None
    tol: float = 1e-9  # of the gradient at the mode, by Laplace's method
    warm: Any = field(default=None, repr=False)
    highest: tuple[float, Any] = field(default=(-np.inf, None), repr=False)
    solved: tuple[FloatArray, Solution] | None = field(default=None, init=False, repr=False)  # the last solution

    @property
    def theta(self) -> FloatArray:
        """Parameters of the prior, then the likelihood's."""
        return np.concatenate([self.prior.theta, self.likelihood.theta])

    @property
    def bounds(self) -> FloatArray:
        """Bounds of theta, (n_theta, 2)."""
        return np.concatenate([self.prior.bounds, np.reshape(self.likelihood.bounds, (-1, 2))])

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters whose logarithms are theta."""
        return (*self.prior.names, *self.likelihood.names)

    def split(self, theta: FloatArray) -> tuple[Any, Any]:
        """Return the prior and the likelihood at other parameters."""
        n = self.prior.theta.shape[0]
        return self.prior.with_theta(theta[:n]), self.likelihood.with_theta(theta[n:])

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the evidence and its gradient, NaN where inference fails so that neither is known."""
        prior, likelihood = self.split(theta)
        factor, pull = _factor(prior)
        posterior, info, sites = self._infer(factor, likelihood)
        if not likelihood.log_concave:
            if info.residual > UNKNOWN:
                return np.nan, np.full(theta.shape, np.nan)
            if posterior.log_evidence > self.highest[0]:
                self.highest = posterior.log_evidence, sites
        if self.inference == "laplace":
            M, own = laplace_gradient(posterior, self.design, self.y, self.weight, likelihood)
        else:
            M, own = ep_gradient(posterior, self.design, self.y, self.weight, likelihood, sites)
        return posterior.log_evidence, np.concatenate([pull(M), own])

    def believed(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return what is searched and averaged over: the evidence with the prior of theta, and its gradient."""
        value, slope = self(theta)
        gain, pull = self.hyperprior_gain(theta)
        return value + gain, slope + pull

    def hyperprior_gain(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return what the prior of theta adds to the evidence, and its gradient."""
        return (0.0, np.zeros_like(theta)) if self.hyperprior is None else self.hyperprior.gain(theta, self.bounds)

    def settle(self) -> None:
        """End a search, so that a solution no longer depends on where it came from.

        Log-concave likelihoods have one solution, which is found from nothing; others start at their highest evidence.
        """
        self.warm = self.highest[1]

    def solve(self, theta: FloatArray) -> Solution:
        """Return the posterior at these parameters."""
        if self.solved is not None and np.array_equal(self.solved[0], theta):
            return self.solved[1]
        prior, likelihood = self.split(theta)
        factor, _ = _factor(prior)
        posterior, info, sites = self._infer(factor, likelihood)
        if sites is None:
            z = self.design.A @ factor.forward(posterior.u)
            d = likelihood.log_density(self.y, z)
            sites = -d.second, d.first - d.second * z
        solution = Solution(prior, likelihood, posterior, info, *sites)
        self.solved = theta, solution
        return solution

    def again(self, theta: FloatArray, kept: dict[str, Any]) -> Solution:
        """Return the posterior that `solve` found at these parameters, from what `Solution.kept` said; one factor of B.

        The coordinates u are those of a root of the kernel matrix, and another machine may choose another root of a
        singular one: where they are not of this root they are worked out from a, which is the same for all.
        """
        prior, likelihood = self.split(theta)
        factor, _ = _factor(prior)
        m, n = self.design.shape
        tau, nu, a, u = (numbers(kept[name], name) for name in ("tau", "nu", "a", "u"))
        if tau.shape != (m,) or nu.shape != (m,) or a.shape != (n,):
            raise DataError(f"a posterior of {tau.shape[:1]} comparisons and {a.shape[:1]} latents, not of {m} and {n}")
        if likelihood.log_concave and tau.min(initial=0.0) < 0.0:
            raise DataError("a comparison has a negative precision")
        if u.shape != (factor.rank,) or not _left(factor, u, a) <= 2 * float(kept["left"]) + SAME:
            u = factor.back(a)
        z = self.design.A @ factor.forward(u)
        wrong = np.abs(self.design.AT @ (self.weight * (nu - tau * z)) - a)
        if not wrong.max(initial=0.0) <= SAME * (1.0 + float(self.weight @ (np.abs(nu) + np.abs(tau * z)))):
            raise DataError("the parts of comparisons are not those of the posterior")
        Lam = self.design.laplacian(self.weight * tau)
        curvature = Curvature.build(factor, Lam, semidefinite=likelihood.log_concave)
        posterior = Posterior.of(factor, curvature, u, a, float(numbers(kept["log_evidence"], "log_evidence")))
        if not isinstance(kept["info"], Info):
            raise DataError("how the inference ended is not said")
        return Solution(prior, likelihood, posterior, kept["info"], tau, nu)

    def warmth(self) -> Any:
        """Return the warm start of the next evaluation as data: the ``a`` of Laplace's method, or the sites of EP."""
        return self.warm[0] if self.warm is not None and self.inference == "laplace" else self.warm

    def warm_again(self, kept: Any, solutions: list[Solution]) -> None:
        """Take up a warm start of `warmth`; the factor of B that goes with it is that of a solution with the same a."""
        if kept is None:
            return
        if self.inference == "ep":
            tau, nu = (numbers(part, "warm start") for part in kept)
            if tau.shape != self.y.shape or nu.shape != self.y.shape:
                raise DataError("a warm start of other comparisons")
            self.warm = tau, nu
            return
        a = numbers(kept, "warm start")
        if a.shape != (self.design.shape[1],):
            raise DataError("a warm start of other latents")
        near = next((s.posterior for s in reversed(solutions) if np.array_equal(s.posterior.a, a)), None)
        smooth = near is not None and getattr(near.factor, "order", near.factor) is None
        self.warm = a, near.curvature if near is not None and smooth else None

    def _infer(self, factor: Any, likelihood: Any) -> tuple[Posterior, Info, Any]:
        if self.inference == "laplace":
            start, near = self.warm if self.warm is not None else (None, None)
            # triangular factors change smoothly with the parameters, pivoted ones jump
            smooth = getattr(factor, "order", factor) is None
            near = near if smooth else None
            problem = factor, self.design, self.y, self.weight, likelihood
            posterior, info = laplace(*problem, start=start, near=near, tol=self.tol)
            self.warm = posterior.a, posterior.curvature if smooth else None
            return posterior, info, None
        posterior, info, sites = ep(factor, self.design, self.y, self.weight, likelihood, start=self.warm)
        if info.converged:
            self.warm = sites
        return posterior, info, sites


def hyperprior_of(evidence: Evidence, spread: float) -> HyperPrior:
    """Return normal priors around the parameters of an evidence.

    Length scales keep a uniform one: features may be of no use at all.
    """
    length = np.array(["length scale" in name for name in evidence.names], dtype=bool)
    return HyperPrior(np.clip(evidence.theta, *evidence.bounds.T), np.where(length, np.inf, spread))


def numbers(value: Any, what: str) -> FloatArray:
    """Return floats whose squares are finite, or raise."""
    found = np.asarray(value)
    if found.dtype != np.float64 or not (np.abs(found) <= LARGEST).all():
        raise DataError(f"{what} should be finite numbers")
    return found


def _left(factor: Any, u: FloatArray, a: FloatArray) -> float:
    # of u = R'a, which holds at the end of every inference, in units of u
    return float(np.linalg.norm(u - factor.back(a)) / max(1.0, float(np.linalg.norm(u))))


def _factor(prior: Any) -> tuple[Any, Any]:
    if hasattr(prior, "factor"):
        return prior.factor()  # type: ignore[no-any-return]
    K, pull = prior.gram()
    return Factor.build(K), pull
