"""Utilities of items without features: Bradley-Terry and Thurstone models, and least squares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.data.pair_table import warn_before_learning
from preflearn.exceptions import DataError, first_few
from preflearn.inference.contract import Method
from preflearn.inference.dense import Design
from preflearn.inference.evidence import (
    METHODS,
    Evidence,
    Learned,
    Search,
    Solution,
    Starts,
    learned_again,
    maximise_evidence,
    search_by_gradients,
)
from preflearn.inference.independent import FEW, Precision
from preflearn.inference.laplace import Laplace, MaximumLikelihood
from preflearn.inference.search import HyperPrior, Optimum
from preflearn.likelihoods.resolve import likelihood_of
from preflearn.models._model_state import scale_again
from preflearn.models._observations import Statements, check_maximum, read
from preflearn.models._preference import PreferenceModel, warn_only_noise, warn_unfinished
from preflearn.models._sum_of_terms import Choice, beside
from preflearn.operators import FloatArray
from preflearn.terms.utility import VARIANCE, ItemKernel

N_POINTS = 16  # of an average, for each parameter
FEW_ITEMS = 300  # up to which several starts cost nothing
SPREAD = 1.5  # deviation of the weak prior of log variance around 0: deviations of utilities from about 0.2 to 4.5
ENDLESS = 50.0  # times the noise: an effect of a column beyond has no maximum


class BradleyTerry(PreferenceModel):
    """Bradley-Terry or Thurstone model with a Gaussian prior: utilities of items without features.

    Answers: who is best, by how much, and how sure are we, if we only know which item beat which?

    Parameters
    ----------
    link : {"logit", "probit"}, default="logit"
        Noise on the difference of two utilities: logistic (Bradley-Terry) or normal with variance 2, that is 1 for each
        item (Thurstone).
    prior : "auto", "evidence", float or None, default="auto"
        Variance of the utilities' normal prior. "auto" learns it by evidence with a weak prior for the
        variance, which matters only if comparisons say little: deviations from 0.2 to 4.5 are likely. "evidence" has no
        such prior: the estimate may then be zero with few comparisons, and infinite with comparisons that never
        contradict each other. A number is the variance itself. None is maximum likelihood, which exists only if chains
        of wins lead from every item to every other.
    inference : {"auto", "laplace", "ep"}, default="auto"
        Laplace's method, quick at any size, or expectation propagation, up to 3,000 items: closer to the exact answer,
        with wider intervals, if items met a few times or differ by much more than the noise. "auto" uses EP with
        clusters, because Laplace's method finds only a part of their variance, and Laplace's method otherwise.
    hyperparameters : {"maximise", "average"}, default="maximise"
        Whether to take the most probable variance and threshold, or to average over their posterior: with few
        comparisons an average makes intervals as wide as they should be. With more than 3,000 items both parameters are
        known well enough.
    ties, side, cluster, covariates : as in `PreferenceGP`
        What else outcomes depend on.

    Attributes
    ----------
    utility_, std_ : ndarray (n_items_,)
        Posterior means and standard deviations of utilities (with ``prior=None`` centred, and standard errors).
    prior_variance_ : float or None
        Variance of the prior.
    likelihood_ : likelihood
        Likelihood, with the threshold that was learned.
    log_evidence_ : float or None
        Log evidence of the comparisons; None with ``prior=None``.
    log_likelihood_ : float
        Log likelihood of the comparisons at ``utility_``.
    hyperprior_ : HyperPrior or None
        The weak prior of ``theta_``, with ``prior="auto"``; infinite deviations mean a uniform one.
    n_iter_ : int
        Newton steps that the last inference took.
    side_effect_, covariate_effects_, cluster_variance_, clusters_, judges_ : see `PreferenceGP`
        What was learned beside utilities.
    optima_, hyperposterior_, theta_, bounds_, theta_names_, info_, comparisons_, item_names_, n_items_ : see there
        How it was learned, and from what.

    Warns
    -----
    ConvergenceWarning
        If inference did not reach its tolerance.
    DataWarning
        If the items fall into parts that were never compared with each other; if comparisons show nothing but noise.

    Notes
    -----
    f ~ N(0, vI), P(first) = F(f_first - f_second), F logistic or normal; only signs of outcomes count. The same model,
    to the last digits, as `PreferenceGP` for items without features. Comparisons are merged into
    pairs with weights; a Newton step costs O(pairs) beside the factor, and factors are kept between steps. A side and
    covariates have effects N(0, 4) and N(0, learned) in units of the noise, none of both with ``prior=None``: what is
    reported is then the maximum of the likelihood with its standard errors.

    Up to 3,000 items P = I/v + Λ is factored as a dense matrix, O(n³), and everything is exact. Beyond, no n x n matrix
    is held. Utilities are still exact, by conjugate gradients; so is a covariance of up to 256 items that is asked for
    as such, and what `rank` says of as few. Standard deviations and probabilities rest on variances from 64 draws, of
    which only the part that an item's opponents add is estimated: deviations are off by about 0.5 % where items have
    six opponents or more, by 2 % where they have four whom they met often, and by 9 % at most. The evidence is
    estimated too unless the graph is narrow, to about 1e-5 of its size; the learned variance is off by a small part of
    its own uncertainty. 100,000 items and 1,000,000 comparisons take about 20 s and 0.6 GB, and `rank` another 45 s.

    References
    ----------
    Bradley and Terry, "Rank analysis of incomplete block designs", 1952.
    Thurstone, "A law of comparative judgment", 1927.
    Rao and Kupper, "Ties in paired-comparison experiments", 1967.

    Examples
    --------
    >>> from preflearn import BradleyTerry, Comparisons
    >>> matches = Comparisons(None, ["ann", "ann", "bob", "cy"], ["bob", "cy", "cy", "ann"], weight=[3, 4, 2, 1])
    >>> model = BradleyTerry(prior=1.0).fit(matches)
    >>> model.predict_proba(matches)[:, 1].round(2)
    array([0.69, 0.79, 0.62, 0.21])
    >>> model.utility_.round(2), model.std_.round(2)
    (array([ 0.79, -0.12, -0.67]), array([0.74, 0.77, 0.76]))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "link": [StrOptions({"logit", "probit"})],
        "inference": [StrOptions({"auto", *METHODS})],
        "hyperparameters": [StrOptions({"maximise", "average"})],
        "prior": [StrOptions({"auto", "evidence"}), Interval(Real, 0, None, closed="neither"), None],
        "ties": ["boolean"],
        "side": ["boolean", StrOptions({"judge"})],
        "cluster": ["boolean"],
        "covariates": ["boolean"],
    }
    _WITH_PRIOR: ClassVar[tuple[tuple[str, Any, str], ...]] = (
        ("inference", "ep", 'inference="ep"'),
        ("hyperparameters", "average", 'hyperparameters="average"'),
        ("side", "judge", 'side="judge"'),
        ("cluster", True, "cluster=True"),
    )
    _all_items = True
    _unit = 1.0  # utilities are in units of the noise

    def __init__(
        self,
        link: Literal["logit", "probit"] = "logit",
        prior: Literal["auto", "evidence"] | float | None = "auto",
        *,
        inference: str = "auto",
        hyperparameters: Literal["maximise", "average"] = "maximise",
        ties: bool = False,
        side: bool | Literal["judge"] = False,
        cluster: bool = False,
        covariates: bool = True,
    ) -> None:
        self.link = link
        self.prior = prior
        self.inference = inference
        self.hyperparameters = hyperparameters
        self.ties = ties
        self.side = side
        self.cluster = cluster
        self.covariates = covariates

    def fit(self, X: Any, y: None = None) -> Self:
        """Learn from Comparisons of items without features; ``y`` is not used."""
        self._validate_params()
        self._check_data(X)
        data = read(self, X, exact=False)
        if self.prior is not None:
            warn_before_learning(X, type(self).__name__)
        evidence = self._start(X, data, self._choose(X, data, None))
        theta, bounds = evidence.parameters.theta, evidence.parameters.bounds
        starts = [theta]
        exact = not evidence.problem.estimated and not evidence.method.exact_only and isinstance(self.prior, str)
        if exact and len(theta) > 1 and evidence.problem.n_latents <= FEW_ITEMS:
            # with few items a threshold and a variance may explain the same: values decide, from several starts
            starts += [theta + np.eye(len(theta))[0] * step for step in (-np.log(10), np.log(10))]
        self._learn(X, data, evidence, Starts(starts, bounds), None)
        return self

    def _check_data(self, X: Any) -> None:
        owner = type(self).__name__
        wants = [written for name, value, written in self._WITH_PRIOR if getattr(self, name) == value]
        if self.prior is None and wants:
            raise ValueError(
                f"{owner}: {' and '.join(wants)} needs a prior, and prior=None is maximum likelihood. Use "
                'prior="auto", or leave that out.'
            )
        super()._check_data(X)
        if X.items is not None:
            raise DataError(code="features-not-used", owner=owner).says(
                f"the items have {X.n_features} features, which it does not use",
                "Use PreferenceGP, or leave them out: X.with_items(X.n_items)",
            )
        tied = np.flatnonzero(X.outcome == 0)
        if tied.shape[0] and not self.ties:
            raise DataError(code="ties-not-modelled", owner=owner).says(
                f"{tied.shape[0]} of {len(X)} comparisons are ties (rows {first_few(tied)}), which have "
                "probability zero without a threshold",
                f"Use {owner}(ties=True), or drop them",
            )
        if X.n_items <= self._dense:
            return
        if self._method(None).exact_only:
            raise DataError(code="too-many-items-for-inference", owner=owner).says(
                f'inference="{self.inference}" factors a matrix of all items at every sweep; {X.n_items} items '
                f"are more than {self._dense}",
                'Use inference="laplace"',
            )
        if self.cluster or self.side == "judge":
            which = "cluster=True" if self.cluster else 'side="judge"'
            raise DataError(code="too-many-items-for-terms", owner=owner).says(
                f"with {which} a matrix of all items must be in memory; {X.n_items} items are more than {self._dense}",
                "Leave that out, or use fewer items",
            )

    def _start(self, X: Comparisons, data: Statements, choice: Choice) -> Evidence:
        """Return the evidence to start from, with the weak prior of the variance, the first of its parameters."""
        likelihood = likelihood_of(type(self).__name__, self.link, X.outcome, X.weight, ties=self.ties)[0]
        evidence = self._evidence_of(data, choice, likelihood)
        self.hyperprior_ = None
        if self.prior == "auto":
            spread = np.full(len(evidence.parameters), np.inf)
            spread[0] = SPREAD
            self.hyperprior_ = HyperPrior(np.zeros(len(spread)), spread)
        evidence.hyperprior = self.hyperprior_
        return evidence

    def _method(self, data: Statements | None) -> Method:
        return MaximumLikelihood() if self.prior is None else super()._method(data)

    def _choose(self, X: Comparisons, data: Statements, known: Choice | None) -> Choice:
        if self.prior is None:
            check_maximum(type(self).__name__, data, X.names)
        if known is not None:
            return super()._choose(X, data, known)
        if isinstance(self.prior, str):
            own = ConstantKernel(1.0, VARIANCE)
        else:
            own = ConstantKernel(np.inf if self.prior is None else float(self.prior), "fixed")
        utility = ItemKernel(None, None, own, data.used.shape[0], "variance")
        found = Choice("items", utility, None, **beside(self, X, data))
        if self.prior is not None:
            return found
        return replace(found, kernels=dict.fromkeys(found.kernels, own))

    def _search(self, X: Comparisons, data: Statements, evidence: Evidence) -> Search:
        return _search

    def _n_points(self, evidence: Evidence) -> int:
        average = self.hyperparameters == "average" and not evidence.problem.estimated
        return N_POINTS * len(evidence.parameters) if average else 0

    def _keep(self, X: Comparisons, data: Statements, learned: Learned) -> None:
        solution = learned.solution
        effects: Any = solution.posterior.u[solution.problem.layout.n_many :]
        if self.prior is None and np.abs(effects).max(initial=0.0) > ENDLESS * solution.likelihood.noise_deviation:
            raise DataError(code="effect-unbounded", owner=type(self).__name__).says(
                "the maximum-likelihood estimate (prior=None) does not exist: the effect of the side or of a covariate "
                "predicts all winners, so it has no limit",
                'Use prior="auto" (or a number), or leave it out',
            )
        super()._keep(X, data, learned)
        self.prior_variance_ = solution.problem.parts["utility"].own_variance
        if self.prior is None:
            self.log_evidence_ = self.prior_variance_ = None  # type: ignore[assignment]
        seen = self._statements.seen
        z = seen.see(solution.posterior.x)
        self.log_likelihood_ = float(seen.weight @ self.likelihood_.log_density(seen.y, z).value)
        self.utility_, self.std_ = self.predict_utility(return_std=True)
        self.n_iter_ = self.info_.steps

    def _warn(self, points: Any) -> None:
        owner, sigma, method = type(self).__name__, self.sigma_, self._learned.evidence.method.name
        warn_unfinished(owner, method, [self.info_], self.likelihood_)
        if self.optima_ and isinstance(self.prior, str) and sigma is not None:
            warn_only_noise(owner, method, sigma, f"{len(self.comparisons_)} comparisons", "prior=1.0")

    def _file_state(self) -> dict[str, Any]:
        """Return what model files keep: comparisons, parameters, a few numbers for each comparison and cell."""
        return {"comparisons": self.comparisons_, "scale": self._choice.scale, **self._learned.state()}

    def _from_file_state(self, state: dict[str, Any]) -> None:
        self._validate_params()
        X = state["comparisons"]
        self._check_data(X)
        data = read(self, X, exact=False)
        choice = self._choose(X, data, None)
        evidence = self._start(X, data, replace(choice, scale=scale_again(state["scale"], choice)))
        if state["hyperposterior"] is not None and (self.hyperparameters != "average" or evidence.problem.estimated):
            raise DataError(code="points-without-parameters").says(
                "there are points of the hyperparameters, which do not fit the parameters"
            )
        self._keep(X, data, learned_again(evidence, state))

    @property
    def sigma_(self) -> float | None:
        """Noise of one item's utility in units of the prior deviation of utilities; None with ``prior=None``."""
        check_is_fitted(self)
        v = self.prior_variance_
        return None if v is None else float(self.likelihood_.noise_deviation / np.sqrt(2.0 * v))

    def log_evidence(self, theta: Any = None, *, gradient: bool = True) -> Any:
        """As for `PreferenceGP`; ValueError with ``prior=None``."""
        check_is_fitted(self)
        if self.prior is None:
            raise ValueError("log_evidence: there is no evidence without a prior. Fit with prior=1.0, for example.")
        return super().log_evidence(theta, gradient=gradient)

    def _n_draws(self, n_items: int) -> int:
        return 400 if self._solution.problem.estimated and n_items > FEW else 4000


def _search(evidence: Evidence, first: Starts) -> tuple[Evidence, list[Optimum]]:
    """Search by gradients, which for one parameter, or from near, takes few evaluations; else by values."""
    if evidence.method.exact_only:  # from near: Laplace's method costs little
        rough = replace(evidence, method=Laplace(), warm=None)
        start = maximise_evidence(rough, first)[1][0].theta
        return search_by_gradients(evidence, Starts([start], first.bounds))
    if len(first.points[0]) > 1:
        return maximise_evidence(evidence, first)
    alone = evidence.problem.direct and len(evidence.problem.parameters) == 1
    return search_by_gradients(evidence, first, _bend if alone else None)


def _bend(solution: Solution) -> FloatArray:
    """Return roughly by how much the gradient falls with the log variance: γ³/2n², γ = n - tr C/v."""
    posterior, v = solution.posterior, solution.problem.parts["utility"].own_variance
    n = solution.problem.layout.n_many
    determined = -2.0 * v * posterior.curve.sensitivity(*np.zeros((2, len(posterior.g))))[:n].sum()
    return np.array([0.5 * max(float(determined), 0.0) ** 3 / n**2])


CLOSE = 1e-6  # relative residual


def utilities_by_least_squares(A: Any, weight: FloatArray) -> Callable[[FloatArray], FloatArray]:
    """Return b -> (A'WA)⁻ A'b for columns b, by conjugate gradients; W is the diagonal of ``weight``.

    A (n_pairs, n_items) has +1 for the lower and -1 for the higher item of each distinct pair.
    """
    design = Design(A)
    precision = Precision(design, weight, math.inf, 0)
    return lambda b: precision.solve(np.asarray(design.AT @ b), CLOSE)
