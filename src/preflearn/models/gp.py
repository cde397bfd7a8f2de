"""Gaussian processes over the utilities of items, learned from comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.data.join import concatenate
from preflearn.data.learning import warn_before_learning
from preflearn.inference.average import average
from preflearn.inference.evidence import Optimum
from preflearn.models._answers import base_prior
from preflearn.models._evidence import Evidence, Solution, few_threads, hyperprior_of
from preflearn.models._gp_items import items_of_comparisons
from preflearn.models._gp_judges import average_similarity, warn_one_judge
from preflearn.models._gp_kernel import length_scales
from preflearn.models._gp_likelihood import check_theta, likelihood_of
from preflearn.models._gp_prior import problem_of, warm_start
from preflearn.models._gp_search import Starts, search, started
from preflearn.models._gp_state import keep, restore, state_of, take_in
from preflearn.models._gp_warnings import warn_few_points, warn_only_noise, warn_unfinished
from preflearn.models._leave_out import LeftOut, without_comparisons, without_items, without_judges
from preflearn.models._mixtures import share_ties
from preflearn.models._utility import UtilityPosterior, generator
from preflearn.priors import ItemPrior

__all__ = ["LeftOut", "PreferenceGP"]


class PreferenceGP(UtilityPosterior):
    """Gaussian process over utilities, learned from comparisons.

    Answers: who is better, with what probability, and how sure are we?

    Parameters
    ----------
    kernel : Kernel, {"rbf", "ard"} or None, default=None
        Prior covariance of utilities: any kernel of ``sklearn.gaussian_process.kernels``. None is "rbf", a variance
        times a Gaussian kernel whose length scale starts at the typical distance of two items; "ard" has one length
        scale per feature. Bounds that were left at scikit-learn's default are tied to the distances of the items.
        For items without features None is a variance times the identity (Thurstone or Bradley-Terry with a prior).
        Beside a ``cyclic_kernel`` None means that there is no utility.
    likelihood : {"probit", "logit", "gaussian"} or likelihood, default="probit"
        How outcomes depend on utility differences; "gaussian" regresses margins, and learns their precision;
        ``Flipped()`` learns what share of outcomes is reversed whatever the difference, and needs ``inference="ep"``.
    inference : {"laplace", "ep"}, default="laplace"
        Approximation of the posterior. EP is the more accurate one where comparisons are few, and slower.
    hyperparameters : {"maximise", "average", "fixed"}, default="maximise"
        What to do with the free parameters of kernel and likelihood: take those of the highest evidence, average
        predictions over their posterior (for few of them), or keep the given ones.
    hyperprior : float or None, default=None
        Prior of the logarithms of these parameters between their bounds. None: uniform, as in the papers. A number:
        normal with this deviation around where the search starts, but for length scales, as features may be of no use.
        Few comparisons may fit best where a variance is at its bound, and intervals are then too narrow; 1.5, a factor
        of 4.5 either way, hardly says more than that it is not.
    ties : bool, default=False
        Whether ties are possible: the threshold below which a difference is a tie is learned.
    own_effect : bool, default=False
        Whether items have, beside what their features explain, an effect of their own, with a learned variance.
    cyclic_kernel : Kernel, {"rbf", "ard"} or None, default=None
        Kernel between items for preferences that no utility explains, such as circles: g(i, j) = f_i - f_j + c(i, j),
        c(i, j) = -c(j, i), with covariance k(i, k) k(j, l) - k(i, l) k(j, k). With ``kernel=None`` there is no utility
        at all (GPGP); for items without features, ConstantKernel() makes c independent from pair to pair.
    judge_kernel : {"identity", "rbf", "ard"}, Kernel or None, default=None
        How judges differ (`Comparisons.judge`). None: not at all. "identity": beside what all share, each has
        preferences of its own, independent of the others', with the same kernels times a learned share;
        ConstantKernel(0.5) starts at that share. A kernel between features of judges (`Comparisons.judges`): similar
        judges also have similar preferences, and new judges are known by their features; WhiteKernel(0.5) + kernel
        starts at that share beside it.
    n_restarts : int, default=2
        Random starts of the search, beside the kernel's own values; every optimum is kept in ``optima_``.
    n_points : int, default=64
        Points for ``hyperparameters="average"``.
    random_state : int, RandomState or None, default=None
        Source of the random starts.

    Attributes
    ----------
    kernel_, cyclic_kernel_ : Kernel or None
        Kernels at the chosen hyperparameters.
    likelihood_ : likelihood
        Likelihood at the chosen hyperparameters.
    log_evidence_ : float
        Log evidence of the comparisons there.
    sigma_ : float
        Noise of one item's utility relative to the prior deviation of utilities (a judge's): the σ of the paper.
    own_variance_ : float or None
        Variance of the items' own effects.
    judges_, judge_share_, judge_kernel_ : ndarray, float, Kernel or None
        Names of the judges, the variance of a judge's own preferences in units of the population's, and the kernel
        between judges, where there is a ``judge_kernel``.
    optima_ : list of Optimum
        Every optimum found, the best first; with a ``hyperprior`` ``evidence`` counts the gain of its density over the
        uniform one.
    hyperprior_ : HyperPrior or None
        Centres and deviations of the normal prior of ``theta_``; infinite ones mean a uniform prior.
    hyperposterior_ : HyperPosterior
        Weighted points, with ``hyperparameters="average"``.
    theta_, bounds_, theta_names_ : ndarray, ndarray, tuple
        Logarithms of the free parameters, their bounds and names.
    info_ : Info
        How the last inference ended.
    comparisons_ : Comparisons
        What it was fitted on, with what updates have added.
    n_features_in_, feature_names_in_, item_names_, n_items_ : int, ndarray, ndarray or None, int
        What training looked like.

    Warns
    -----
    ConvergenceWarning
        If inference did not reach its tolerance.
    DataWarning
        If comparisons are repeated exactly; if items without features fall into parts that were never compared with
        each other; if the comparisons show nothing but noise.

    Notes
    -----
    f ~ N(0, K), outcomes independent given the differences z = f_first - f_second. Repeated comparisons are merged into
    weights. An evaluation of the evidence and its gradient costs O(n³) for n compared items and O(m) for m comparisons,
    whatever the number of hyperparameters; memory a few n x n matrices. With a cyclic part n is the number of distinct
    pairs, and also without where that is smaller; for items without features it stays that of the items, and 50,000
    distinct pairs of 500 items cost about as much as without a cyclic part. *Differences from the paper*: the noise is
    fixed and the kernel has a variance, which is the same model (``sigma_``); logit, margins, ties, weights, own
    effects, EP and averaging are additions.

    References
    ----------
    Chu and Ghahramani, "Preference learning with Gaussian processes", 2005.
    Chau, González and Sejdinovic, "Learning inconsistent preferences with Gaussian processes", 2022 (the cyclic part).

    Examples
    --------
    >>> from preflearn import Comparisons, PreferenceGP
    >>> matches = Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"])
    >>> model = PreferenceGP(hyperparameters="fixed").fit(matches)
    >>> model.predict_proba(matches)[:, 1].round(2)
    array([0.64, 0.76, 0.64])
    >>> model.rank().names
    array(['ann', 'bob', 'cy'], dtype=object)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [HasMethods(["diag", "clone_with_theta"]), StrOptions({"rbf", "ard"}), None],
        "likelihood": [StrOptions({"probit", "logit", "gaussian"}), HasMethods("log_density")],
        "inference": [StrOptions({"laplace", "ep"})],
        "hyperparameters": [StrOptions({"maximise", "average", "fixed"})],
        "hyperprior": [Interval(Real, 0, None, closed="neither"), None],
        "ties": ["boolean"],
        "own_effect": ["boolean"],
        "cyclic_kernel": [HasMethods(["diag", "clone_with_theta"]), StrOptions({"rbf", "ard"}), None],
        "judge_kernel": [HasMethods(["diag", "clone_with_theta"]), StrOptions({"identity", "rbf", "ard"}), None],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "n_points": [Interval(Integral, 8, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = None,
        likelihood: Any = "probit",
        inference: Literal["laplace", "ep"] = "laplace",
        *,
        hyperparameters: Literal["maximise", "average", "fixed"] = "maximise",
        hyperprior: float | None = None,
        ties: bool = False,
        own_effect: bool = False,
        cyclic_kernel: Any = None,
        judge_kernel: Any = None,
        n_restarts: int = 2,
        n_points: int = 64,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.likelihood = likelihood
        self.inference = inference
        self.hyperparameters = hyperparameters
        self.hyperprior = hyperprior
        self.ties = ties
        self.own_effect = own_effect
        self.cyclic_kernel = cyclic_kernel
        self.judge_kernel = judge_kernel
        self.n_restarts = n_restarts
        self.n_points = n_points
        self.random_state = random_state

    def fit(self, X: Any, y: None = None, *, start: Mapping[str, float] | None = None, hold: bool = False) -> Self:
        """Learn from comparisons.

        Parameters
        ----------
        X : Comparisons
            What was compared, with what outcome.
        y : None
            Not used: comparisons carry their outcomes.
        start : dict of str to float, default=None
            Where the search for hyperparameters starts, by the names of ``theta_names_``, such as those that another
            model has learned; others start as the kernel has them. A ``hyperprior`` stays where it is.
        hold : bool, default=False
            Whether the parameters that ``start`` names stay there, and only the others are learned or averaged over.

        Returns
        -------
        PreferenceGP
            Itself, fitted.
        """
        self._validate_params()
        self._check_data(X)
        warn_before_learning(X, type(self).__name__, parts=self.cyclic_kernel is None or self.kernel is not None)
        likelihood, self._unit = likelihood_of(
            "PreferenceGP", self.likelihood, self.inference, X.outcome, X.weight, ties=self.ties
        )
        evidence = self._evidence_of(X, None, likelihood)
        rng = generator(self.random_state, "PreferenceGP")
        first = started(self, evidence, start, rng, hold=hold)
        self._learn(X, evidence, first if self.hyperparameters != "fixed" else None, rng)
        return self

    def update(self, X: Comparisons, *, hyperparameters: Literal["keep", "improve"] = "keep") -> Self:
        """Add comparisons to what the model has learned from, starting from what it knows.

        Parameters
        ----------
        X : Comparisons
            New comparisons. Items are matched by name; without names the same table means the same items and any
            other table other items. New items may appear.
        hyperparameters : {"keep", "improve"}, default="keep"
            Whether to keep the hyperparameters or to search on from them.

        Returns
        -------
        PreferenceGP
            Itself, as if fitted on old and new comparisons at these hyperparameters.
        """
        check_is_fitted(self)
        self._check_data(X)
        if hyperparameters not in ("keep", "improve"):
            raise ValueError(f'update: hyperparameters={hyperparameters!r} is not one of "keep", "improve".')
        old_used, old_prior = self._used, self._solution.prior
        self.likelihood_.check_outcomes(X.outcome)
        together = concatenate(self.comparisons_, X)
        warn_before_learning(together, type(self).__name__, known=self.comparisons_)
        evidence = self._evidence_of(together, old_prior, self.likelihood_)
        if self.inference == "laplace":
            a = warm_start(old_prior, old_used, self._solution.posterior.a, evidence.prior, self._used)
            evidence.warm = None if a is None else (a, None)
        improve = hyperparameters == "improve" and self.hyperparameters != "fixed" and evidence.theta.shape[0] > 0
        rng = generator(self.random_state, "PreferenceGP")
        points = None if improve or not hasattr(self, "hyperposterior_") else self.hyperposterior_
        self._learn(together, evidence, Starts([evidence.theta], evidence.bounds) if improve else None, rng, points)
        return self

    def _check_data(self, X: Any) -> None:
        if not isinstance(X, Comparisons):
            raise TypeError(
                f"PreferenceGP learns from Comparisons; got {type(X).__name__}. "
                "Build Comparisons(items, first, second, outcome), or use RankRLS for rows with scores."
            )

    def _evidence_of(self, X: Comparisons, prior: Any, likelihood: Any) -> Evidence:
        """Merge comparisons and put the prior on the items, or pairs of items, that occur."""
        taken = take_in(self, X, likelihood)
        if taken.judge is not None:
            warn_one_judge(X, list(self.judges_))
        new, design = problem_of(self, X, taken.used, taken.ends, taken.judge, prior)
        self._used, self._merged, self._ends = taken.used, taken.merged, taken.ends
        evidence = Evidence(new, likelihood, design, self._merged.outcome, self._merged.weight, self.inference)
        if prior is None:  # not one that goes on from what was learned
            self.hyperprior_ = None if self.hyperprior is None else hyperprior_of(evidence, float(self.hyperprior))
        evidence.hyperprior = self.hyperprior_
        return evidence

    def _learn(self, X: Comparisons, evidence: Evidence, first: Starts | None, rng: Any, points: Any = None) -> None:
        """Choose hyperparameters from the given starts, infer, and keep what prediction needs."""
        theta = evidence.theta
        self.optima_: list[Optimum] = []
        if first is not None and theta.shape[0]:
            evidence, self.optima_ = search(evidence, first, self._ends, partial(self._evidence_of, X))
            theta = self.optima_[0].theta
        with few_threads(evidence.design.size):
            if self.optima_:
                if self.hyperparameters == "average":
                    assert first is not None
                    seed = int(rng.integers(2**31))
                    points = average(evidence.believed, self.optima_, first.bounds, self.n_points, seed)
                evidence.settle()
            self._solution: Solution = evidence.solve(theta)
            self._mixture = [(1.0, self._solution)]
            if points is not None:
                self.hyperposterior_ = points
                self._mixture = [
                    (float(w), evidence.solve(t)) for w, t in zip(points.weight, points.theta, strict=True)
                ]
            elif hasattr(self, "hyperposterior_"):
                del self.hyperposterior_
        keep(self, X, evidence, theta)
        self._warn(points)

    def _file_state(self) -> dict[str, Any]:
        """Return what model files keep; see `preflearn.models._gp_state`."""
        return state_of(self)

    def _from_file_state(self, state: dict[str, Any]) -> None:
        restore(self, state)

    def _warn(self, points: Any) -> None:
        owner = type(self).__name__
        warn_unfinished(owner, self.inference, [s.info for _, s in self._mixture], self.likelihood_)
        if points is not None:
            warn_few_points(owner, self.n_points, points.effective_size)
        elif self.optima_:
            count = f"{len(self.comparisons_)} comparisons"
            warn_only_noise(owner, self.inference, self.sigma_, count, 'hyperparameters="average" or ')

    @property
    def sigma_(self) -> float:
        """Noise of one item's utility in units of the prior deviation of utilities."""
        check_is_fitted(self)
        prior = base_prior(self._solution.prior)
        items = items_of_comparisons(self, self.comparisons_, self._used)
        utility = prior if isinstance(prior, ItemPrior) else prior.utility
        variance = 0.0 if utility is None else 2 * np.mean(utility.variance(items))
        if self.cyclic_kernel_ is not None:
            variance += np.mean(prior.cyclic_variance(items, *self._ends))
        if self.judge_kernel is not None:
            variance *= average_similarity(self._solution.prior)
        return float(self.likelihood_.noise_deviation / np.sqrt(variance))

    @property
    def relevances_(self) -> dict[str, float]:
        """Relevance of every feature, by name: 1 / length_scale², the κ of the paper."""
        check_is_fitted(self)
        kernel = self.cyclic_kernel_ if self.kernel_ is None else self.kernel_
        scales = None if self.featureless_ else length_scales(kernel, self.n_features_in_)
        if scales is None:
            raise AttributeError(
                "PreferenceGP: relevances need features and a kernel with one set of length scales, such as "
                'kernel="ard".'
            )
        names = getattr(self, "feature_names_in_", None)
        labels = [f"feature {k}" for k in range(len(scales))] if names is None else [str(name) for name in names]
        return {name: float(1 / scale**2) for name, scale in zip(labels, scales, strict=True)}

    def log_evidence(self, theta: Any = None, *, gradient: bool = True) -> Any:
        """Return the log evidence at log parameters ``theta`` (default: the chosen ones), with its gradient."""
        check_is_fitted(self)
        given = check_theta("log_evidence", self.theta_ if theta is None else theta, self.theta_names_)
        with few_threads(self._evidence.design.size):
            value, slope = self._evidence(given)
        return (value, slope) if gradient else value

    def leave_one_out(self, by: Literal["comparison", "item", "judge"] = "comparison") -> Any:
        """Return predicted probabilities for the training comparisons without having learned from them.

        Parameters
        ----------
        by : {"comparison", "item", "judge"}, default="comparison"
            "comparison" takes out each comparison alone (its repeats stay), "item" all comparisons of one of its items,
            "judge" all comparisons of its judge (with a ``judge_kernel``).

        Returns
        -------
        ndarray (m, 2), or LeftOut of two
            As from `predict_proba`. By item there are two answers for every comparison: with its first item left out,
            and with its second.

        Notes
        -----
        Each comparison's Gaussian part is taken out of the posterior in closed form; hyperparameters stay. Exact for
        Gaussian margins. Cost O(n³ + m), by item also the cube of the number of opponents of each item, by judge that
        of the comparisons of each judge.
        """
        check_is_fitted(self)
        if by not in ("comparison", "item", "judge"):
            raise ValueError(f'leave_one_out: by={by!r} is not one of "comparison", "item", "judge".')
        if by == "judge" and self.judge_kernel is None:
            raise ValueError(
                "leave_one_out: the model does not tell judges apart. Fit it with "
                'PreferenceGP(judge_kernel="identity"), or give by="comparison".'
            )
        X, merged = self.comparisons_, self._merged
        with few_threads(self._evidence.design.size):
            if by == "comparison":
                return share_ties(without_comparisons(self._mixture, self._evidence, X, merged.row))
            if by == "judge":
                return share_ties(without_judges(self._mixture, self._evidence, X, merged.row, merged.judge))
            first, second = without_items(self._mixture, self._evidence, X, merged.row, self._ends)
        return LeftOut(share_ties(first), share_ties(second))
