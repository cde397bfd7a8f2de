"""Gaussian processes over the utilities of items, learned from comparisons."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, first_few
from preflearn.inference.design import Design, pair_operator
from preflearn.inference.ep import ep, ep_gradient
from preflearn.inference.evidence import maximise, starts
from preflearn.inference.factor import Factor
from preflearn.inference.laplace import laplace, laplace_gradient
from preflearn.inference.posterior import Info, Posterior
from preflearn.likelihoods import Gaussian, get_likelihood
from preflearn.linalg import cholesky_pivoted
from preflearn.operators import FloatArray, IntArray
from preflearn.priors import ItemPrior

__all__ = ["PreferenceGP"]


@dataclass
class Evidence:
    """The evidence of hyperparameters as a function, with the last solution as a warm start for the next."""

    prior: ItemPrior
    likelihood: Any
    A: Any
    y: FloatArray
    weight: FloatArray
    inference: Literal["laplace", "ep"]
    warm: Any = field(default=None)

    @property
    def theta(self) -> FloatArray:
        """Kernel parameters, then the likelihood's."""
        return np.concatenate([self.prior.theta, self.likelihood.theta])

    def split(self, theta: FloatArray) -> tuple[ItemPrior, Any]:
        """Return the prior and the likelihood at other parameters."""
        n = self.prior.theta.shape[0]
        return self.prior.with_theta(theta[:n]), self.likelihood.with_theta(theta[n:])

    def __call__(self, theta: FloatArray) -> tuple[float, FloatArray]:
        """Return the evidence and its gradient."""
        prior, likelihood = self.split(theta)
        K, pull = prior.gram()
        posterior, _, sites = self._infer(Factor.build(K), likelihood)
        if self.inference == "laplace":
            M, own = laplace_gradient(posterior, self.A, self.y, self.weight, likelihood)
        else:
            M, own = ep_gradient(posterior, self.A, self.y, self.weight, likelihood, sites)
        return posterior.log_evidence, np.concatenate([pull(M), own])

    def solve(self, theta: FloatArray) -> tuple[Posterior, Info]:
        """Return the posterior at these parameters."""
        prior, likelihood = self.split(theta)
        posterior, info, _ = self._infer(Factor.build(prior.gram()[0]), likelihood)
        return posterior, info

    def _infer(self, factor: Factor, likelihood: Any) -> tuple[Posterior, Info, Any]:
        if self.inference == "laplace":
            posterior, info = laplace(factor, self.A, self.y, self.weight, likelihood, start=self.warm)
            self.warm = posterior.a
            return posterior, info, None
        posterior, info, sites = ep(factor, self.A, self.y, self.weight, likelihood, start=self.warm)
        self.warm = sites if info.converged else None
        return posterior, info, sites


class PreferenceGP(BaseEstimator):
    """Gaussian process over utilities, learned from comparisons.

    Answers: who is better, with what probability, and how sure are we?

    Parameters
    ----------
    kernel : sklearn.gaussian_process.kernels.Kernel, default=None
        Prior covariance of utilities; None is ``1.0 * RBF`` with the length-scale started from the spread of the items.
        For items without features None is a variance times the identity (Thurstone with a prior).
    likelihood : {"probit", "logit", "gaussian"} or likelihood, default="probit"
        How outcomes depend on utility differences.
    inference : {"laplace", "ep"}, default="laplace"
        Approximation of the posterior.
    optimise : bool, default=True
        Whether free hyperparameters maximise the evidence.
    n_restarts : int, default=2
        Random starts of that search, beside the kernel's own values.
    random_state : int, RandomState or None, default=None
        Source of the random starts.

    Attributes
    ----------
    kernel_ : Kernel
        Kernel at the chosen hyperparameters.
    likelihood_ : likelihood
        Likelihood at the chosen hyperparameters.
    log_evidence_ : float
        Log evidence there.
    optima_ : list of Optimum
        Every optimum found, the best first.
    info_ : Info
        How the last inference ended.

    Notes
    -----
    f ~ N(0, K), outcomes independent given the differences z = f_first - f_second. Cost per Newton step O(n³) plus
    O(m): repeated comparisons are merged into weights. *Differences from the paper*: the noise is fixed and the kernel
    has a variance, which is the same model.

    References
    ----------
    Chu and Ghahramani, "Preference learning with Gaussian processes", 2005.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.models.gp import PreferenceGP
    >>> matches = Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"])
    >>> model = PreferenceGP(optimise=False).fit(matches)
    >>> model.predict_proba(matches)[:, 1].round(2)
    array([0.64, 0.76, 0.64])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [HasMethods(["diag", "clone_with_theta"]), None],
        "likelihood": [StrOptions({"probit", "logit", "gaussian"}), HasMethods("log_density")],
        "inference": [StrOptions({"laplace", "ep"})],
        "optimise": ["boolean"],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = None,
        likelihood: Any = "probit",
        inference: Literal["laplace", "ep"] = "laplace",
        *,
        optimise: bool = True,
        n_restarts: int = 2,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.inference = inference
        self.optimise = optimise
        self.n_restarts = n_restarts
        self.random_state = random_state

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn from comparisons.

        Parameters
        ----------
        X : Comparisons
            What was compared, with what outcome.
        y : None
            Not used: comparisons carry their outcomes.

        Returns
        -------
        PreferenceGP
            Itself, fitted.
        """
        self._validate_params()
        if not isinstance(X, Comparisons):
            raise TypeError(
                f"PreferenceGP learns from Comparisons; got {type(X).__name__}. "
                "Build Comparisons(items, first, second, outcome), or use RankRLS for rows with scores."
            )
        likelihood = get_likelihood(self.likelihood)
        first, second, outcome, weight = _merge(X, exact=isinstance(likelihood, Gaussian))
        likelihood.check_outcomes(outcome)
        if self.inference == "ep" and weight.min() < 1:
            raise DataError(
                f"PreferenceGP: {int((weight < 1).sum())} comparisons weigh less than 1, which EP cannot use. "
                'Scale the weights up, or use inference="laplace".'
            )
        used, place = np.unique(np.concatenate([first, second]), return_inverse=True)
        prior, bounds = self._prior(X, used)
        m = first.shape[0]
        A = Design(pair_operator(place[:m].astype(np.intp), place[m:].astype(np.intp), used.shape[0]))
        evidence = Evidence(prior, likelihood, A, outcome, weight, self.inference)
        bounds = np.concatenate([bounds, np.reshape(likelihood.bounds, (-1, 2))])
        theta = evidence.theta
        self.optima_ = []
        if self.optimise and theta.shape[0]:
            rng = np.random.default_rng(_seed(self.random_state))
            self.optima_ = maximise(evidence, starts(theta, bounds, self.n_restarts, rng), bounds)
            theta = self.optima_[0].theta
        evidence.warm = None
        self._posterior, self.info_ = evidence.solve(theta)
        self._prior_, self.likelihood_ = evidence.split(theta)
        self._evidence = evidence
        self.kernel_ = self._prior_.kernel
        self.log_evidence_ = self._posterior.log_evidence
        self.theta_, self.bounds_ = theta, bounds
        self.names_ = X.names
        self.n_items_ = X.n_items
        self.n_features_in_ = X.n_features
        self.used_ = used
        self.classes_ = np.array([-1.0, 1.0])
        if not self.info_.converged:
            warnings.warn(
                f"PreferenceGP: {self.inference} stopped after {self.info_.steps} steps with residual "
                f"{self.info_.residual:.1e} (wanted {self.info_.wanted:.0e}); probabilities are approximate.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return self

    def _prior(self, X: Comparisons, used: IntArray) -> tuple[ItemPrior, FloatArray]:
        if X.items is None:
            kernel = ConstantKernel(1.0, (1e-4, 1e4)) if self.kernel is None else self.kernel
            if not isinstance(kernel, ConstantKernel):
                raise DataError(
                    "PreferenceGP: the items have no features, so a kernel over features cannot be used. "
                    "Give Comparisons an item table, or use kernel=None."
                )
            return ItemPrior(None, kernel, used.shape[0]), np.asarray(kernel.bounds, dtype=np.float64).reshape(-1, 2)
        items = X.items[used]
        kernel = _default_kernel(items) if self.kernel is None else self.kernel
        return ItemPrior(items, kernel, used.shape[0]), np.asarray(kernel.bounds, dtype=np.float64).reshape(-1, 2)

    def log_evidence(self, theta: FloatArray | None = None) -> tuple[float, FloatArray]:
        """Return the log evidence at log parameters ``theta`` (default: the chosen ones), and its gradient."""
        check_is_fitted(self)
        return self._evidence(self.theta_ if theta is None else np.asarray(theta, dtype=np.float64))

    def predict_utility(self, items: Any, *, return_std: bool = False, return_cov: bool = False) -> Any:
        """Return posterior means of utilities of items, with standard deviations or the covariance if wanted.

        Parameters
        ----------
        items : array-like (n_items, n_features), or item names (items without features)
            Items, seen in training or new.
        return_std, return_cov : bool, default=False
            What to return beside the means; not both.

        Returns
        -------
        mean : ndarray (n_items,)
            Means; only differences mean anything.
        std or cov : ndarray
            Standard deviations (n_items,) or covariance (n_items, n_items).
        """
        check_is_fitted(self)
        if return_std and return_cov:
            raise ValueError("predict_utility: ask for return_std or return_cov, not both.")
        new = self._new_items(items)
        Q = self._prior_.cross(new)
        if return_cov:
            return self._posterior.joint(Q, self._prior_.covariance(new))
        mean, variance = self._posterior.moments(Q, self._prior_.variance(new))
        return (mean, np.sqrt(variance)) if return_std else mean

    def sample_utilities(self, items: Any, n_samples: int = 1000, random_state: Any = None) -> FloatArray:
        """Return draws of the utilities of items from their joint posterior, (n_samples, n_items)."""
        mean, covariance = self.predict_utility(items, return_cov=True)
        L, order = cholesky_pivoted(covariance)
        noise = np.random.default_rng(_seed(random_state)).standard_normal((n_samples, L.shape[1]))
        draws = np.empty((n_samples, mean.shape[0]))
        draws[:, order] = noise @ L.T
        return np.asarray(draws + mean)

    def _new_items(self, items: Any) -> Any:
        if self._prior_.X is None:
            if self.names_ is None:
                rows = np.asarray(items, dtype=np.intp)
            else:
                place = {name: row for row, name in enumerate(self.names_)}
                unknown = [name for name in items if name not in place]
                if unknown:
                    raise DataError(
                        f"PreferenceGP: {len(unknown)} items are not among the {len(place)} of training (names "
                        f"{first_few(unknown)}). Without features only items seen in training have a utility."
                    )
                rows = np.array([place[name] for name in items], dtype=np.intp)
            return self._numbers(rows)
        X = np.asarray(items, dtype=np.float64) if not hasattr(items, "tocsr") else items.tocsr()
        if X.ndim != 2 or X.shape[1] != self.n_features_in_:
            raise DataError(
                f"PreferenceGP: items have shape {X.shape}, but the model was fitted on {self.n_features_in_} "
                "features. Give one row per item with the same columns as in training."
            )
        return X

    def decision_function(self, X: Comparisons) -> FloatArray:
        """Return the posterior mean of the utility differences, first minus second."""
        return self._differences(X)[0]

    def predict_proba(self, X: Comparisons) -> FloatArray:
        """Return P(second preferred) and P(first preferred), (m, 2), ties shared equally."""
        mean, variance = self._differences(X)
        p = self.likelihood_.probability(mean, variance)
        return np.column_stack([p[:, 2] + p[:, 1] / 2, p[:, 0] + p[:, 1] / 2])

    def predict(self, X: Comparisons) -> FloatArray:
        """Return +1 where the first item is predicted to be preferred, -1 where the second, 0 for equal utilities."""
        return np.asarray(np.sign(self.decision_function(X)))

    def _differences(self, X: Comparisons) -> tuple[FloatArray, FloatArray]:
        check_is_fitted(self)
        used, place = np.unique(np.concatenate([X.first, X.second]), return_inverse=True)
        m = len(X)
        # Every pair is computed with its lower item first and then turned: swapping sides flips the sign exactly.
        first, second = place[:m], place[m:]
        low, high = np.minimum(first, second).astype(np.intp), np.maximum(first, second).astype(np.intp)
        new = self._table(X, used)
        operator = pair_operator(low, high, used.shape[0])
        mean, variance = self._posterior.moments(
            self._prior_.cross(new), self._prior_.difference_variance(new, low, high), operator
        )
        return np.where(first == low, mean, -mean), variance

    def _table(self, X: Comparisons, used: IntArray) -> Any:
        if (X.items is None) != (self._prior_.X is None):
            raise DataError("PreferenceGP: training and new comparisons must both have features, or both have none.")
        if X.items is not None:
            return X.items[used]
        if X.names is not None and self.names_ is not None:
            return self._new_items(X.names[used])
        return self._numbers(used)

    def _numbers(self, rows: IntArray) -> IntArray:
        # Rows of the training table as numbers of latents; items that were never compared get numbers of their own.
        place = np.full(max(self.n_items_, int(rows.max(initial=0)) + 1), -1)
        place[self.used_] = np.arange(self.used_.shape[0])
        return np.asarray(np.where(place[rows] >= 0, place[rows], self.used_.shape[0] + rows))


def _merge(X: Comparisons, *, exact: bool) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
    """Turn every comparison so that the lower item comes first, and merge equal ones into weights."""
    rows = np.arange(len(X)) if X.weight is None else np.flatnonzero(X.weight)
    weight = np.ones(rows.shape[0]) if X.weight is None else X.weight[rows]
    first, second = X.first[rows], X.second[rows]
    outcome = X.outcome[rows] if exact else np.sign(X.outcome[rows])
    outcome = np.where(first > second, -outcome, outcome)
    table = np.column_stack([np.minimum(first, second), np.maximum(first, second), outcome])
    distinct, place = np.unique(table, axis=0, return_inverse=True)
    total = np.asarray(np.bincount(place.ravel(), weight, minlength=distinct.shape[0]), dtype=np.float64)
    return distinct[:, 0].astype(np.intp), distinct[:, 1].astype(np.intp), distinct[:, 2], total


def _default_kernel(items: Any) -> Any:
    dense = items.toarray() if hasattr(items, "toarray") else np.asarray(items)
    scale = float(np.sqrt(2 * dense.var(axis=0).sum())) or 1.0
    return ConstantKernel(1.0, (1e-4, 1e4)) * RBF(scale, (1e-2 * scale, 1e3 * scale))


def _seed(random_state: Any) -> Any:
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return random_state
