"""Preference models: a sum of terms over comparisons, learned, updated, kept, and asked for its effects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from scipy.special import ndtri
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.data.join import concatenate
from preflearn.data.pair_table import warn_before_learning
from preflearn.exceptions import DataWarning, PreflearnWarning, Setting
from preflearn.inference.contract import Method, Warm
from preflearn.inference.ep import EP
from preflearn.inference.evidence import (
    METHODS,
    Evidence,
    Learned,
    Search,
    Solution,
    Starts,
    check_theta,
    learn,
    updated,
)
from preflearn.inference.laplace import Laplace
from preflearn.inference.search import HyperPrior
from preflearn.items import as_items
from preflearn.kernels.precomputed import KernelRows
from preflearn.linalg import few_threads
from preflearn.models._observations import Statements, read
from preflearn.models._sum_of_terms import Choice, choose
from preflearn.models._utility_answers import UtilityPosterior
from preflearn.models.ranking import mix
from preflearn.terms import POPULATION, Items, Rows, Who

LEVEL = 0.9  # probability of the intervals of effects
HEAVY = 100.0  # votes for one outcome of one cell, of which the mode says as much as moments do
NOTHING_BUT_NOISE = 30.0  # times the deviation of utilities


class Effect(NamedTuple):
    """An effect in units of utility: its name, posterior mean and deviation, and the central 90 % interval.

    Examples
    --------
    >>> from preflearn import BradleyTerry, Comparisons
    >>> games = Comparisons(None, ["ann", "bob"] * 5, ["bob", "ann"] * 5, [1, 1, 1, -1, 1] * 2)
    >>> effect = BradleyTerry(side=True).fit(games).side_effect_
    >>> effect.name, bool(effect.estimate > 0)
    ('first side', True)
    """

    name: str
    estimate: float
    std: float
    low: float
    high: float

    def __str__(self) -> str:
        # two digits of the deviation, whatever the unit
        digits = 2 if not self.std else max(0, 1 - int(np.floor(np.log10(self.std))))
        form = f".{digits}f" if digits < 7 else ".2g"
        estimate, std, low, high = (f"{value:{form}}" for value in self[1:])
        return f"{self.name} {estimate} ± {std} (90 %: {low} ... {high})"


class OfEvidence(BaseEstimator):
    """Base of estimators whose parameters are learned by evidence; not public."""

    _learned: Learned

    def _keep_learned(self, learned: Learned, items: Any, feature_names: Any) -> None:
        """Set the attributes about what was learned, and about the features of items."""
        solution, evidence = learned.solution, learned.evidence
        self._learned, self.optima_ = learned, learned.optima
        self._solution: Solution = solution
        self.likelihood_, self.info_ = solution.likelihood, solution.info
        self.log_evidence_ = learned.log_evidence
        free = evidence.parameters
        self.theta_, self.bounds_, self.theta_names_ = learned.theta, free.bounds, free.names
        self.on_bags_ = not as_items(items).one_row_each
        self.__dict__.pop("feature_names_in_", None)  # of an earlier fit
        if feature_names is not None:
            self.feature_names_in_ = np.asarray(feature_names, dtype=object)

    def log_evidence(self, theta: Any = None, *, gradient: bool = True) -> Any:
        """Return the log evidence at log parameters ``theta`` (default: the chosen ones), with its gradient."""
        check_is_fitted(self)
        given = check_theta("log_evidence", self.theta_ if theta is None else theta, self.theta_names_)
        with few_threads(self._learned.evidence.order):
            value, slope = replace(self._learned.evidence)(given)  # a copy: asking moves no warm start
        return (value, slope) if gradient else value


class PreferenceModel(OfEvidence, UtilityPosterior, ABC):
    """Base of estimators that learn a sum of terms from comparisons; not public.

    An estimator says which terms (`_choose`), how to learn their parameters (`_search`, `_n_points`), and what it sees
    of data that it cannot learn from (`_check_data`).
    """

    inference: str
    hyperparameters: str
    hyperprior_: HyperPrior | None

    def _check_data(self, X: Any) -> None:
        """Raise an error if nothing can be learned from X."""
        if not isinstance(X, Comparisons):
            raise TypeError(
                f"{type(self).__name__} learns from Comparisons; got {type(X).__name__}. "
                "Build Comparisons(items, first, second, outcome), or use RankRLS for rows with scores."
            )

    def _choose(self, X: Comparisons, data: Statements, known: Choice | None) -> Choice:
        """Return the terms over statements; ``known`` has parameters to take over."""
        return choose(self, X, data, known)

    @abstractmethod
    def _search(self, X: Comparisons, data: Statements, evidence: Evidence) -> Search:
        """Return the search for parameters."""

    @abstractmethod
    def _n_points(self, evidence: Evidence) -> int:
        """Return the number of points to average over."""

    @abstractmethod
    def _warn(self, points: Any) -> None:
        """Warn of what is odd about what was learned."""

    def _generator(self) -> Any:
        """Return the source of random starts and points; None where there is nothing random."""

    def _method(self, data: Statements | None) -> Method:
        """Return the method that parameters are learned by, over these statements.

        With a latent for nearly every row, as of clusters and tastes, the mode is far from the mean: Laplace's method
        finds a fraction of their variance, and too little spread of utilities. "auto" is then EP.
        """
        if self.inference != "auto":
            return METHODS[self.inference]()
        tastes = self.judge_kernel is not None and not self.judge_reliability  # with both the sizes of modes are right
        if data is None or not (tastes or data.rows.cluster is not None):
            return Laplace()
        return EP() if data.seen.weight.max(initial=0.0) <= HEAVY else Laplace()

    def update(self, X: Comparisons, *, hyperparameters: Literal["keep", "improve"] = "keep") -> Self:
        """Add comparisons to what the model has learned from, starting from what it knows.

        Parameters
        ----------
        X : Comparisons
            New comparisons. Items are matched by name; without names the same table means the same items and any
            other table other items. New items may appear.
        hyperparameters : {"keep", "improve"}, default="keep"
            Whether to keep the hyperparameters, and reliabilities of judges, or to search on from them.

        Returns
        -------
        estimator
            Itself, as if fitted on old and new comparisons at these hyperparameters.
        """
        check_is_fitted(self)
        self._check_data(X)
        if hyperparameters not in ("keep", "improve"):
            raise ValueError(f'update: hyperparameters={hyperparameters!r} is not one of "keep", "improve".')
        self.likelihood_.check_outcomes(X.outcome)
        if self._kernel_rows is not None and X.items is not None:
            X = X._take(slice(None), items=self._match_columns(X.items, X.feature_names))
        together = concatenate(self.comparisons_, X)
        warn_before_learning(together, type(self).__name__, known=self.comparisons_)
        data = read(self, together, exact=self.likelihood_.margins)
        known = self._choice.at(self._solution.problem)
        evidence = self._evidence_of(data, self._choose(together, data, known), self.likelihood_)
        evidence.hyperprior = self.hyperprior_
        self._take_over(evidence, data, self._learned)
        improve = hyperparameters == "improve" and self.hyperparameters != "fixed"
        free = evidence.parameters
        improve = improve and (len(free) > 0 or evidence.reliability is not None)
        # new comparisons may bring terms that no other could tell
        same = free.names == self.theta_names_
        points = self._learned.points if same and not improve else None
        first = Starts([free.theta], free.bounds) if improve else None
        before, empty = self._learned, replace(evidence)

        def again(direction: Learned) -> Evidence:
            one = replace(empty)
            self._take_over(one, data, direction)
            return one

        self._learn(together, data, evidence, first, self._generator(), points, None if improve else (before, again))
        return self

    def _take_over(self, evidence: Evidence, data: Statements, known: Learned) -> None:
        """Start from what is known: cells that were there before start where they were."""
        before = self.comparisons_
        counted = slice(None) if before.weight is None else np.flatnonzero(before.weight)
        g = np.zeros(evidence.seen.n_cells)
        g[data.cell[: len(before)][counted]] = known.solution.posterior.g[self._statements.cell[counted]]
        evidence.warm = Warm(g)

    def _evidence_of(self, data: Statements, choice: Choice, likelihood: Any) -> Evidence:
        """Return the evidence of statements under a sum of terms."""
        method = self._method(None if likelihood.margins else data)
        if method.log_concave_only and not likelihood.log_concave:
            raise ValueError(
                f"{type(self).__name__}: {type(likelihood).__name__} is not log-concave, which {method.words} needs. "
                "Use "
                + " or ".join(f'inference="{name}"' for name, one in METHODS.items() if not one.log_concave_only)
                + "."
            )
        problem = choice.problem(data, dense=np.inf if method.exact_only else self._dense)
        return Evidence(problem, likelihood, data.seen, method, about=choice)

    def _learn(
        self,
        X: Comparisons,
        data: Statements,
        evidence: Evidence,
        first: Starts | None,
        rng: Any,
        points: Any = None,
        known: tuple[Learned, Callable[[Learned], Evidence]] | None = None,
    ) -> None:
        """Choose hyperparameters from the given starts, infer, and keep what prediction needs.

        Of an update ``known`` is what was learned before, and the evidence to start from in one of its directions.
        """
        n_points = 0 if first is None else self._n_points(evidence)
        seed = 0 if rng is None or not n_points else int(rng.integers(2**31))
        search = self._search(X, data, evidence)
        learned = learn(evidence, first, n_points=n_points, seed=seed, points=points, search=search)
        if known is not None:
            learned = updated(known[0], learned, known[1])
        self._keep(X, data, learned)
        self._warn(learned.points)

    def _keep(self, X: Comparisons, data: Statements, learned: Learned) -> None:
        """Set what a fitted model says about itself; nothing else does."""
        self._keep_learned(learned, X.items, X.feature_names)
        problem = learned.solution.problem
        self._choice, self.comparisons_ = learned.evidence.about, X
        self._mixture, self._used = learned.mixture, data.used
        self._statements = self._answered = data
        for name in ("hyperposterior_", "judges_"):
            self.__dict__.pop(name, None)
        if learned.points is not None:
            self.hyperposterior_ = learned.points
        self._knows_judges = self.judge_kernel is not None or self.side == "judge" or bool(self.judge_reliability)
        if self._knows_judges:
            self.judges_ = np.fromiter(data.judges, dtype=object)
        self.clusters_ = np.fromiter(data.clusters, dtype=object)
        clusters = problem.parts.get("clusters")
        self.cluster_variance_ = None if clusters is None else float(clusters.variance.constant_value)
        self.info_ = replace(self.info_, **_latents(self._choice, problem, data))
        self.featureless_, self.n_items_ = X.items is None, X.n_items
        self.n_features_in_, self.item_names_ = X.n_features, X.names
        self._kernel_rows = X.items if isinstance(X.items, KernelRows) else None
        self.classes_ = np.array([-1.0, 1.0])

    @property
    def side_effect_(self) -> Effect:
        """Advantage of the first side, where ``side`` is learned."""
        check_is_fitted(self)
        if "side" not in self._solution.problem.parts:
            raise AttributeError(
                f"{type(self).__name__}: there is no side_effect_, as no side was learned. Fit with side=True; where a "
                "side cannot be separated from the items a warning says so."
            )
        return self._effects(["first side"], side=np.ones(1))[0]

    @property
    def covariate_effects_(self) -> list[Effect]:
        """Effects of one unit of every covariate of the comparisons."""
        check_is_fitted(self)
        names, width = self.comparisons_.covariate_names, self._statements.rows.covariates
        if width is None:
            raise AttributeError(
                f"{type(self).__name__}: there are no covariate_effects_ where comparisons have no covariates."
            )
        q = width.shape[1]
        return self._effects(
            [f"covariate {k}" for k in range(q)] if names is None else list(names), covariates=np.eye(q)
        )

    def _effects(self, names: list[str], **beside: Any) -> list[Effect]:
        """Return what rows of an item against itself still see."""
        item = Items(None if self.comparisons_.items is None else self.comparisons_.items[:1], np.full(1, 10**9))
        here = np.zeros(len(names), dtype=np.intp)
        who = Who(np.full(len(names), POPULATION)) if self._knows_judges else None
        mean, variance = mix(self._moments(Rows(item, here, here, who=who, **beside)))
        away = -ndtri((1 - LEVEL) / 2) * np.sqrt(variance)
        rows = zip(names, mean.tolist(), np.sqrt(variance).tolist(), mean - away, mean + away, strict=True)
        return [Effect(name, m, s, float(a), float(b)) for name, m, s, a, b in rows]


def _latents(choice: Choice, problem: Any, data: Statements) -> dict[str, Any]:
    """Return what the latents of preferences are, and what share of the variance of circles they lose."""
    words = {
        "items": "items",
        "weights": "weights of functions",
        "pairs": "pairs",
        "effects": "effects of pairs",
        "functions": "skew functions",
    }
    functions = problem.parts.get("functions")
    lost = 0.0 if functions is None else 1.0 - functions.kept_share(data.pairs)
    weighted = problem.parts.get("utility functions")
    if weighted is not None:
        lost = weighted.lost_share()
    return {"latents": words[choice.kind], "n_latents": problem.n_latents, "lost": max(lost, 0.0)}


class UnfinishedWarning(PreflearnWarning, ConvergenceWarning):
    """An iteration stopped before it reached its tolerance; the message says how far it came.

    Examples
    --------
    >>> from preflearn.models import UnfinishedWarning
    >>> from sklearn.exceptions import ConvergenceWarning
    >>> issubclass(UnfinishedWarning, ConvergenceWarning)
    True
    """


def warn_unfinished(owner: str, inference: str, infos: list[Any], likelihood: Any) -> None:
    """Warn if an inference did not reach its tolerance."""
    unfinished = [info for info in infos if not info.converged]
    if unfinished:
        worst = max(unfinished, key=lambda info: info.residual)
        other = inference == EP.name and likelihood.log_concave
        UnfinishedWarning(code="inference-unfinished", owner=owner).warn(
            f"{inference} stopped after {worst.steps} steps with residual {worst.residual:.1e} (wanted "
            f"{worst.wanted:.0e}); probabilities are approximate",
            "Check for extreme weights or bounds of the kernel",
            *(("use " + Setting("inference", Laplace.name),) if other else ()),
        )


def warn_only_noise(owner: str, inference: str, sigma: float, count: str, cure: str) -> None:
    """Warn if the noise that was learned is much larger than all differences of utilities."""
    if sigma > NOTHING_BUT_NOISE:
        better = 'inference="ep" (more accurate where there are few), ' if inference == Laplace.name else ""
        DataWarning(code="no-differences-found", owner=owner).warn(
            f"by {METHODS[inference].words} the evidence of these {count} is highest where all utilities "
            "are equal: they show no differences beyond noise",
            f"Probabilities are close to 1/2. Collect more, or use {better}{cure}",
        )


def warn_few_points(owner: str, n_points: int, effective_size: float) -> None:
    """Warn if an average over hyperparameters rests on a few points."""
    if effective_size < 5:
        UnfinishedWarning(code="few-effective-points", owner=owner).warn(
            f"the average over {n_points} points of the hyperparameters is worth only {effective_size:.1f} draws",
            "Raise " + Setting("n_points"),
            "use fewer free parameters",
        )
