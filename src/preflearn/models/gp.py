"""Gaussian processes over the utilities of items, learned from comparisons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.data.pair_table import warn_before_learning
from preflearn.exceptions import DataError, DataWarning
from preflearn.inference.contract import Observed, Query
from preflearn.inference.ep import EP
from preflearn.inference.evidence import (
    METHODS,
    Evidence,
    Learned,
    Search,
    Starts,
    hyperprior_of,
    learned_again,
    numbers,
)
from preflearn.inference.search import starts
from preflearn.likelihoods import LIKELIHOOD_NAMES, get_likelihood
from preflearn.likelihoods.resolve import likelihood_of
from preflearn.linalg import few_threads, generator
from preflearn.models._model_state import choice_again, choice_state, hyperprior_again
from preflearn.models._observations import Statements, read, with_kernel_rows
from preflearn.models._preference import PreferenceModel, warn_few_points, warn_only_noise, warn_unfinished
from preflearn.models._sum_of_terms import Choice, choose, search_by_functions, search_from_rough_optima
from preflearn.models._utility_answers import LeftOut, Mixture, without_comparisons, without_items, without_judges
from preflearn.models.ranking import Part, mix, share_ties
from preflearn.operators import FloatArray
from preflearn.terms.circles import circle_variance
from preflearn.terms.reliability import Reliability
from preflearn.terms.utility import ITEM_KERNELS, length_scales

MANY_ITEMS, MANY_DRAWS, FEW_DRAWS = (
    3_000,
    4_000,
    400,
)  # draws over which places of so many items, and of more, are counted
DOUBT = 0.05  # probability of the reverse that is warned of
RELIABILITY = 0.1  # deviation of the reliabilities of judges of one kind a priori


class PreferenceGP(PreferenceModel):
    """Gaussian process over utilities, learned from comparisons.

    Answers: who is better, with what probability, and how sure are we?

    Parameters
    ----------
    kernel : Kernel, None or name, default=None
        Prior covariance of utilities: any kernel of ``sklearn.gaussian_process.kernels``, or a variance times one
        with a name: "rbf", "ard", "linear", "laplacian", "matern" ("matern32"), "matern52", "rational_quadratic",
        "precomputed". None is "rbf", a Gaussian kernel whose length scale starts at the typical distance of two items;
        "ard" has one length scale per feature. Bounds that were left at scikit-learn's default are tied to the
        distances of the items. For items without features None is a variance times the identity (Thurstone or
        Bradley-Terry with a prior). Beside a ``cyclic_kernel`` None means that there is no utility.

        "precomputed": the item table is the kernel matrix of the items, and new items are rows of kernel values with
        these, (n_new, n_items), which say what to expect; with those among the new items beside them,
        (n_new, n_items + n_new), also how surely.
    likelihood : {"probit", "logit", "gaussian", "davidson"} or likelihood, default="probit"
        How outcomes depend on utility differences; "gaussian" regresses margins, and learns their precision;
        "davidson" always has ties, whose weight it learns, without a threshold;
        ``Flipped()`` learns which share of outcomes is reversed, at any difference, and needs ``inference="ep"``.
    inference : {"auto", "laplace", "ep"}, default="auto"
        Approximation of the posterior. EP is more accurate if each latent has few comparisons, and two to four times
        slower. "auto" uses EP with clusters and tastes, because Laplace's method finds only a part of their variance,
        and Laplace's method otherwise. With ``judge_reliability``, "auto" learns parameters and reliabilities by
        Laplace's method, which puts utilities too close together; answers then come from one solution by EP.
    hyperparameters : {"maximise", "average", "fixed"}, default="maximise"
        What to do with the free parameters of kernel and likelihood: take the values of highest evidence, average
        predictions over their posterior (for few parameters), or keep the given values.
    hyperprior : float or None, default=None
        Prior of the logarithms of these parameters between their bounds. None: uniform, as in the papers. A number:
        normal with this deviation around the start of the search, except for length scales, because features may be
        useless. With few comparisons the best fit may have a variance at its bound, and intervals are then too narrow.
        1.5 (a factor of 4.5 either way) says little more than that the variance is not at its bound.
    ties : bool, default=False
        Whether ties are possible. A difference below a threshold is a tie, and the threshold is learned.
    own_effect : bool, default=False
        Whether each item has an own effect, not explained by its features, with a learned variance.
    cyclic_kernel : Kernel, {"rbf", "ard", "precomputed"} or None, default=None
        Kernel between items for preferences that no utility explains, such as circles: g(i, j) = f_i - f_j + c(i, j),
        c(i, j) = -c(j, i), with covariance k(i, k) k(j, l) - k(i, l) k(j, k). With ``kernel=None`` there is no utility
        at all (GPGP); for items without features, ConstantKernel() makes c independent from pair to pair.
    judge_kernel : {"identity", "rbf", "ard"}, Kernel or None, default=None
        How judges differ (`Comparisons.judge`). None: not at all. "identity": besides the shared preferences, each
        judge has own preferences, independent of other judges, with the same kernels times a learned share;
        ConstantKernel(0.5) starts at that share. A kernel between features of judges (`Comparisons.judges`): similar
        judges have similar preferences, and new judges are predicted from their features; WhiteKernel(0.5) + kernel
        adds own preferences that start at that share.
    judge_reliability : bool, default=False
        Whether some judges follow the utilities more closely than others: z = s x with one s per judge, around 1 for
        most judges, near 0 for a judge who answers by chance and around -1 for a contrary one. Where contrary judges
        nearly balance the others answers are averages over two rankings, one about the reverse of the other. With
        ``hyperparameters="fixed"`` all are 1, with their prior deviation.
    side : bool or "judge", default=False
        Whether the first side has an advantage (home, white, the answer that is read first); "judge": each judge also
        has an own advantage, besides the shared one. Answers leave the advantage out unless asked (``side=True``).
    cluster : bool, default=False
        Whether comparisons of one cluster (`Comparisons.cluster`: a prompt, a task, a session) share an
        effect: one of the cluster on each item in it. Ranks are for the population of clusters.
        ``inference="ep"`` learns its variance much better than Laplace's method, where items are seen a few times in
        each cluster.
    covariates : bool, default=True
        Whether numbers of the rows (`Comparisons.covariates`) have effects, where there are any. Items are ranked at
        equal covariates.
    exact : bool, default=False
        Whether circles of items with features are learned over all distinct pairs, however many. If False, skew
        functions are used where they are quicker (``info_`` says which, and the share of the variance that is lost).
    approximation : Nystroem, RandomFourier or None, default=None
        Functions whose sums utilities are, for more items than a kernel matrix can be held of: time and memory are
        proportional to the number of items, and ``info_`` says which share of the kernel's variance is lost. What
        stands beside utilities can be all but a ``cyclic_kernel``; beyond 3,000 items only one of own effects, terms of
        judges, and clusters.
    n_restarts : int, default=2
        Random starts of the search, beside the kernel's own values; every optimum is kept in ``optima_``. One that
        leads to an optimum of an earlier start ends there.
    n_points : int, default=64
        Points for ``hyperparameters="average"``.
    random_state : int, RandomState or None, default=None
        Source of the random starts.

    Attributes
    ----------
    kernel_, cyclic_kernel_, likelihood_ : Kernel or None, likelihood
        Kernels and likelihood at the chosen hyperparameters.
    log_evidence_ : float
        Log evidence of the comparisons there; with ``judge_reliability`` a lower bound of it, averaged over what
        reliabilities may be (beside a ``judge_kernel`` it is given the most probable ones).
    sigma_ : float
        Noise of one item's utility relative to the prior deviation of utilities (a judge's): the σ of the paper.
    own_variance_ : float or None
        Variance of the items' own effects.
    judges_, judge_share_, judge_kernel_ : ndarray, float, Kernel or None
        Names of the judges, the variance of a judge's own preferences in units of the population's, and the kernel
        between judges, where there is a ``judge_kernel``.
    reliability_, reliability_std_ : ndarray (n_judges,)
        Reliability of each judge and its deviation, with ``judge_reliability``.
    reverse_probability_ : float
        Probability that about the reverse of the more probable ranking is right, and contrary judges are: at most 1/2,
        and 0 where reliabilities leave no doubt. All answers count both.
    side_effect_ : Effect
        Advantage of the first side in units of utility, its deviation and interval, with ``side``.
    covariate_effects_ : list of Effect
        Effect of one unit of every covariate, with deviation and interval.
    cluster_variance_, clusters_ : float or None, ndarray
        Variance of the effect of a cluster on an item, and the names of the clusters.
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
        "kernel": [HasMethods(["diag", "clone_with_theta"]), StrOptions(set(ITEM_KERNELS)), None],
        "likelihood": [StrOptions(set(LIKELIHOOD_NAMES)), HasMethods("log_density")],
        "inference": [StrOptions({"auto", *METHODS})],
        "hyperparameters": [StrOptions({"maximise", "average", "fixed"})],
        "hyperprior": [Interval(Real, 0, None, closed="neither"), None],
        "ties": ["boolean"],
        "own_effect": ["boolean"],
        "cyclic_kernel": [HasMethods(["diag", "clone_with_theta"]), StrOptions({"rbf", "ard", "precomputed"}), None],
        "judge_kernel": [HasMethods(["diag", "clone_with_theta"]), StrOptions({"identity", "rbf", "ard"}), None],
        "judge_reliability": ["boolean"],
        "side": ["boolean", StrOptions({"judge"})],
        "cluster": ["boolean"],
        "covariates": ["boolean"],
        "exact": ["boolean"],
        "approximation": [HasMethods(["functions"]), None],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "n_points": [Interval(Integral, 8, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        kernel: Any = None,
        likelihood: Any = "probit",
        inference: str = "auto",
        *,
        hyperparameters: Literal["maximise", "average", "fixed"] = "maximise",
        hyperprior: float | None = None,
        ties: bool = False,
        own_effect: bool = False,
        cyclic_kernel: Any = None,
        judge_kernel: Any = None,
        judge_reliability: bool = False,
        side: bool | Literal["judge"] = False,
        cluster: bool = False,
        covariates: bool = True,
        exact: bool = False,
        approximation: Any = None,
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
        self.judge_reliability = judge_reliability
        self.side = side
        self.cluster = cluster
        self.covariates = covariates
        self.exact = exact
        self.approximation = approximation
        self.n_restarts = n_restarts
        self.n_points = n_points
        self.random_state = random_state

    def fit(self, X: Any, y: None = None, *, start: Mapping[str, float] | None = None, hold: bool = False) -> Self:
        """Learn from comparisons.

        Parameters
        ----------
        X : Comparisons
            What was compared, with what outcome; ``y`` is not used.
        start : dict of str to float, default=None
            Where the search for hyperparameters starts, by the names of ``theta_names_``, such as those that another
            model has learned; others start as the kernel has them. A ``hyperprior`` stays where it is.
        hold : bool, default=False
            Whether the parameters that ``start`` names stay there, and only the others are learned or averaged over.
        """
        self._validate_params()
        self._check_data(X)
        X = with_kernel_rows("PreferenceGP", X, kernel=self.kernel, cyclic_kernel=self.cyclic_kernel)
        warn_before_learning(X, type(self).__name__, parts=self.cyclic_kernel is None or self.kernel is not None)
        likelihood, self._unit = likelihood_of("PreferenceGP", self.likelihood, X.outcome, X.weight, ties=self.ties)
        data = read(self, X, exact=likelihood.margins)
        evidence = self._evidence_of(data, choose(self, X, data, None), likelihood)
        self.hyperprior_ = None if self.hyperprior is None else hyperprior_of(evidence, float(self.hyperprior))
        evidence.hyperprior = self.hyperprior_
        rng = self._generator()
        first = None
        if self.hyperparameters != "fixed":
            theta, bounds = _started(evidence, start, hold=hold)
            first = Starts(starts(theta, bounds, self.n_restarts, rng), bounds)
        elif start is not None or hold:
            raise ValueError(
                'fit: start is for a search, and hyperparameters="fixed" does not search. Give the kernel these values.'
            )
        self._learn(X, data, evidence, first, rng)
        return self

    def _evidence_of(self, data: Statements, choice: Choice, likelihood: Any) -> Evidence:
        evidence = super()._evidence_of(data, choice, likelihood)
        if self.judge_reliability and data.reliable and data.judge is not None and data.judges:
            if evidence.problem.estimated:
                raise DataError(code="reliability-needs-exact-variances", owner="PreferenceGP").says(
                    "judge_reliability needs exact variances, but with this many latents "
                    f"({evidence.problem.n_latents:,}) they are only estimated",
                    "Leave out judge_reliability, or cluster or judge_kernel, or use fewer items",
                )
            known = np.where(data.judge < len(data.judges), data.judge, -1)
            evidence.reliability = Reliability(known, np.ones(len(data.judges)), RELIABILITY)
        return evidence

    def _take_over(self, evidence: Evidence, data: Statements, known: Learned) -> None:
        super()._take_over(evidence, data, known)
        if evidence.reliability is not None:
            place = {name: number for number, name in enumerate(self.judges_)}
            before = known.evidence.reliability or evidence.reliability
            where = np.array([place.get(name, -1) for name in data.judges], dtype=np.intp)
            evidence.reliability = before.taken_over(evidence.reliability.judge, where)

    def _generator(self) -> Any:
        return generator(self.random_state, "PreferenceGP")

    def _n_draws(self, n_items: int) -> int:
        return FEW_DRAWS if n_items > MANY_ITEMS and self.approximation is not None else MANY_DRAWS

    def _n_points(self, evidence: Evidence) -> int:
        return self.n_points if self.hyperparameters == "average" and len(evidence.parameters) else 0

    def _search(self, X: Comparisons, data: Statements, evidence: Evidence) -> Search:
        def rebuild(choice: Choice, likelihood: Any) -> Evidence:
            new = self._evidence_of(data, choose(self, X, data, choice), likelihood)
            new.hyperprior = evidence.hyperprior
            return new

        choice: Choice = evidence.about
        if choice.searched_by_functions(data) and evidence.reliability is None:
            return partial(search_by_functions, choice, data, rebuild)
        return partial(search_from_rough_optima, choice, data)

    def _keep(self, X: Comparisons, data: Statements, learned: Learned) -> None:
        super()._keep(X, data, learned)
        parts = learned.solution.problem.parts
        self._reliability = None
        for name in ("judge_share_", "judge_kernel_"):
            self.__dict__.pop(name, None)
        utility, circles, tastes = (parts.get(name) for name in ("utility", "circles", "tastes"))
        self.kernel_ = None if utility is None else utility.main
        self.own_variance_ = None if utility is None or utility.own is None else utility.own_variance
        self.cyclic_kernel_ = None if circles is None else circles.main
        if tastes is not None:
            self.judge_share_, self.judge_kernel_ = tastes.rho, tastes.kernel
        if learned.evidence.reliability is not None:
            self._widen(data, learned)

    def _widen(self, data: Statements, learned: Learned) -> None:
        """Let answers be as uncertain as the reliabilities of judges are; every outcome is then a cell of its own."""
        seen = Observed(data.seen.y, data.seen.weight, np.arange(len(data.seen.y)), len(data.seen.y))
        self._answered = replace(data, rows=data.rows.part(data.seen.cell), seen=seen)
        self._mixture, self._reliable = [], []
        for one in learned.directions:
            mixture, reliable = self._widened(data, one)
            self._mixture += [(one.weight * w, s) for w, s in mixture]
            self._reliable += [reliable] * len(mixture)
        mean, variance = mix(
            [Part(w, s, std**2, None) for (w, _), (s, std) in zip(self._mixture, self._reliable, strict=True)]
        )
        self._reliability = self._reliable[0] if learned.reverse is None else (mean, np.sqrt(variance))

    def _widened(self, data: Statements, learned: Learned) -> tuple[Mixture, tuple[FloatArray, FloatArray]]:
        """Return the solutions of one direction, as uncertain as judges are, and their reliabilities and deviations."""
        evidence = learned.evidence
        reliability = evidence.reliability
        assert reliability is not None
        n = len(reliability.value)
        # of Gaussian outcomes both methods find the same posterior
        refine = self.inference == "auto" and not evidence.likelihood.margins
        at = [(w, evidence.solved_by(EP(), s) if refine else s) for w, s in learned.mixture]
        mixture = [(w, evidence.widened(s, data.rows)) for w, s in at]
        variance = np.zeros(n)
        for w, s in mixture:
            part, place = s.problem.layout.of_groups(
                len(s.problem.terms) - 1, s.problem.parts["reliability"].about(), n
            )
            shared = np.zeros((n, s.problem.layout.places[1]))
            if place is not None:
                shared[:, place] = part.toarray()
            error = s.problem.parts["reliability"]
            query = Query(shared, error.deviation**2, part if place is None else None)
            variance += w * (s.posterior.moments(query)[1] + (error.size * reliability.value) ** 2)
        if reliability.spread is not None:  # the most there is where it is not known which kind a judge is
            variance = np.maximum(variance, reliability.spread**2)
        return mixture, (reliability.value, np.sqrt(variance))

    def _file_state(self) -> dict[str, Any]:
        """Return what model files keep: comparisons, kernels, parameters, and a few numbers for each comparison."""
        return {
            "comparisons": self.comparisons_,
            "unit": float(self._unit),
            "likelihood": self._learned.evidence.likelihood,
            "hyperprior": self.hyperprior_,
            **choice_state(self._choice),
            **self._learned.state(),
        }

    def _from_file_state(self, state: dict[str, Any]) -> None:
        self._validate_params()
        X, likelihood = state["comparisons"], get_likelihood(state["likelihood"])
        self._check_data(X)
        X = with_kernel_rows("PreferenceGP", X, kernel=self.kernel, cyclic_kernel=self.cyclic_kernel)
        self._unit = float(numbers(state["unit"], "unit"))
        likelihood.check_outcomes(X.outcome if likelihood.margins else np.sign(X.outcome))
        data = read(self, X, exact=likelihood.margins)
        evidence = self._evidence_of(data, choice_again(self, X, data, state), likelihood)
        evidence.hyperprior = self.hyperprior_ = hyperprior_again(state["hyperprior"], self.hyperprior, evidence)
        self._keep(X, data, learned_again(evidence, state))

    def _warn(self, points: Any) -> None:
        owner = type(self).__name__
        warn_unfinished(owner, self._learned.evidence.method.name, [s.info for _, s in self._mixture], self.likelihood_)
        reverse = self._learned.reverse
        if reverse is not None and reverse.weight >= DOUBT:
            DataWarning(code="judges-contradict", owner=owner).warn(
                f"some of the {len(self.judges_)} judges answer the opposite of others. Two rankings, one about the "
                f"reverse of the other, explain the comparisons, with probabilities of {1 - reverse.weight:.0%} and "
                f"{reverse.weight:.0%}; answers count both",
                "Leave out the judges who are wrong, if you know them",
                "add comparisons of known outcome without a judge",
            )
        if points is not None:
            warn_few_points(owner, self.n_points, points.effective_size)
        elif self.optima_:
            count = f"{len(self.comparisons_)} comparisons"
            name = self._learned.evidence.method.name
            cure = 'hyperparameters="average" or a kernel with a fixed variance'
            warn_only_noise(owner, name, self.sigma_, count, cure)

    @property
    def reliability_(self) -> FloatArray:
        """Reliability of each judge, where ``judge_reliability`` is learned."""
        return self._reliabilities("reliability_")[0]

    @property
    def reliability_std_(self) -> FloatArray:
        """Deviation of the reliability of each judge."""
        return self._reliabilities("reliability_std_")[1]

    def _reliabilities(self, name: str) -> tuple[FloatArray, FloatArray]:
        if self._reliability is None:
            raise AttributeError(
                f"PreferenceGP: there is no {name}, as no reliabilities were learned. Fit with judge_reliability=True; "
                "with one judge a warning says that they cannot be separated from how much items differ."
            )
        return self._reliability

    @property
    def sigma_(self) -> float:
        """Noise of one item's utility in units of the prior deviation of utilities."""
        check_is_fitted(self)
        parts = self._solution.problem.parts
        rows = self._statements.rows
        variance = 2 * np.mean(parts["utility"].variance(rows.items)) if "utility" in parts else 0.0
        if "circles" in parts:
            variance += np.mean(circle_variance(parts["circles"], rows))
        if "tastes" in parts:
            variance *= parts["tastes"].similarity
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

    def leave_one_out(self, by: Literal["comparison", "item", "judge"] = "comparison") -> Any:
        """Return predicted probabilities for the training comparisons without having learned from them.

        Parameters
        ----------
        by : {"comparison", "item", "judge"}, default="comparison"
            "comparison" takes out each comparison alone (its repeats stay), "item" all comparisons of one of its items,
            "judge" all comparisons of its judge, where the model distinguishes judges.

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
        if by == "judge" and self._statements.judge is None:
            raise ValueError(
                "leave_one_out: the model does not distinguish judges. Fit it with "
                'PreferenceGP(judge_kernel="identity"), or give by="comparison".'
            )
        X, data = self.comparisons_, self._answered
        with few_threads(self._learned.evidence.order):
            if by == "comparison":
                return share_ties(without_comparisons(self._mixture, data, X))
            if by == "judge":
                # a judge of reliability 1: what was learned about this one's reliability is left out
                return share_ties(
                    np.sum([one.weight * self._without_judges(one) for one in self._learned.directions], axis=0)
                )
            first, second = without_items(self._mixture, data, X)
        return LeftOut(share_ties(first), share_ties(second))

    def _without_judges(self, learned: Learned) -> FloatArray:
        """Return probabilities without any comparison of the same judge, in one direction."""
        seen = learned.evidence.observed
        halves = len(seen.y) // len(self._statements.seen.y)
        data = replace(self._statements, seen=seen, judge=np.tile(cast(Any, self._statements.judge), halves))
        return without_judges(learned.mixture, data, self.comparisons_)


def _started(evidence: Evidence, start: Mapping[str, Any] | None, *, hold: bool) -> tuple[FloatArray, FloatArray]:
    """Return log parameters, those that ``start`` names at its values, and bounds; ``hold`` fixes the named ones."""
    if not isinstance(hold, (bool, np.bool_)):
        raise TypeError(f"fit: hold is {hold!r}; it must be True or False.")
    if start is not None and not isinstance(start, Mapping):
        raise TypeError(
            f"fit: start is a {type(start).__name__}; give names and values, such as "
            "dict(zip(model.theta_names_, np.exp(model.theta_)))."
        )
    if hold and not start:
        raise ValueError("fit: hold=True holds the parameters that start names; give start as well.")
    free = evidence.parameters
    theta, bounds, names = free.theta, free.bounds, free.names
    for name, value in (start or {}).items():
        if name not in names:
            raise ValueError(f'fit: start has "{name}", which is not one of the free parameters ({", ".join(names)}).')
        if isinstance(value, (bool, np.bool_)) or not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise ValueError(
                f'fit: start has {value!r} for "{name}"; it must be a positive number (not its logarithm).'
            )
        place = names.index(name)
        low, high = bounds[place]
        theta[place] = np.clip(np.log(float(value)), low, high)
        if hold:
            if abs(theta[place] - np.log(float(value))) > 1e-9:
                raise ValueError(
                    f'fit: hold=True with {float(value):g} for "{name}", which is outside its bounds '
                    f"({np.exp(low):g} to {np.exp(high):g}). Give a value within them, or a kernel with wider bounds."
                )
            bounds[place] = theta[place]
    return theta, bounds
