"""What a posterior over utilities answers: utilities, differences, probabilities, draws, ranks, and leave-outs."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from types import MethodType
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.data.fields import check_count
from preflearn.inference.evidence import Learned, Solution
from preflearn.inference.independent import DENSE
from preflearn.items import as_items
from preflearn.linalg import distinct_numbers, draw_normal, few_threads, generator, normal_root
from preflearn.metrics.pairwise import score_of_margins
from preflearn.models._observations import Statements
from preflearn.models.asked import OfStatements
from preflearn.models.ranking import (
    Part,
    PreferenceMatrix,
    Ranking,
    better_probabilities,
    mix,
    outcome_probabilities,
    preference_matrix_of,
    probability_of,
    rank_draws,
    relative_variances,
    share_ties,
)
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import POPULATION, UNKNOWN, Items, Rows, Who

Mixture = list[tuple[float, Solution]]
Moments = tuple[FloatArray, FloatArray]


class LeftOut(NamedTuple):
    """P(second preferred) and P(first preferred) with the first, or the second, item of a comparison left out."""

    first: FloatArray
    second: FloatArray


def without_comparisons(mixture: Mixture, data: Statements, X: Comparisons) -> FloatArray:
    """Return P(second), P(tie), P(first) of every comparison under the posterior without it, (m, 3)."""
    weight = np.ones(len(X)) if X.listed_weight is None else X.listed_weight
    return _probabilities(mixture, X, [_without_part(s, data, weight) for _, s in mixture])


def without_items(mixture: Mixture, data: Statements, X: Comparisons) -> tuple[FloatArray, FloatArray]:
    """Return the same under the posterior without any comparison of the first item, and of the second."""
    cell, m = data.seen.cell, len(data.seen.y)
    ends = np.concatenate([data.rows.low[cell], data.rows.high[cell]])
    answers = [_without_groups(s, data, ends) for _, s in mixture]
    first = data.row + m * (X.first > X.second)  # the cell's second end where the comparison is turned
    second = data.row + m * (X.first < X.second)
    sides = ([(mean[side], variance[side]) for mean, variance in answers] for side in (first, second))
    one, other = (_probabilities(mixture, X, found) for found in sides)
    return one, other


def without_judges(mixture: Mixture, data: Statements, X: Comparisons) -> FloatArray:
    """Return the same under the posterior without any comparison of the same judge, for one of reliability 1."""
    assert data.judge is not None
    answers = [_without_groups(s, data, data.judge) for _, s in mixture]
    return _probabilities(mixture, X, [(mean[data.row], variance[data.row]) for mean, variance in answers])


def _probabilities(mixture: Mixture, X: Comparisons, answers: list[Moments]) -> FloatArray:
    sign = np.where(X.first > X.second, -1.0, 1.0)  # cells have their lower item first
    every = zip(mixture, answers, strict=True)
    return outcome_probabilities([Part(w, sign * m, v, s.likelihood) for (w, s), (m, v) in every])[:, ::-1]


def _without_part(s: Solution, data: Statements, weight: FloatArray) -> Moments:
    row, seen = data.row, data.seen
    z, variance = seen.see(s.posterior.x)[row], seen.spread(s.posterior.curve.variances)[row]
    rest = np.maximum(1.0 - weight * s.tau[row] * variance, 1e-10)
    return (z - weight * s.nu[row] * variance) / rest, variance / rest


def _without_groups(s: Solution, data: Statements, group: IntArray) -> Moments:
    """Leave out one group of outcomes after the other; return the moments of x of its outcomes without it.

    ``group`` has an entry for each outcome, or several times as many where an outcome belongs to several groups.
    """
    seen, posterior, m = data.seen, s.posterior, len(data.seen.y)
    assert seen.cell is not None
    scale = np.ones(m) if seen.scale is None else seen.scale
    tau, nu = scale**2 * seen.weight * s.tau, scale * seen.weight * s.nu
    order = np.argsort(group, kind="stable")
    mean, variance = np.empty(len(group)), np.empty(len(group))
    for places in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        rows = places % m
        cells, which = np.unique(seen.cell[rows], return_inverse=True)
        t, b = (np.bincount(which, x[rows], minlength=len(cells)) for x in (tau, nu))
        few = posterior.curve.touched(posterior.u, cells)
        A: Any = few.A
        if few.mean.shape[0] >= len(cells):  # fewer cells than latents
            x, V, Lam, A = A @ few.mean, np.asarray(A @ (A @ few.covariance).T), np.diag(t), sp.eye_array(len(cells))
        else:
            x, V, Lam, b = few.mean, few.covariance, (A.T @ sp.diags_array(t) @ A).toarray(), A.T @ b
        # (V⁻¹ - Λ)⁻¹ = (I - VΛ)⁻¹ V, and its mean (I - VΛ)⁻¹ (x - V ν)
        solved = np.asarray(np.linalg.solve(np.eye(len(x)) - V @ Lam, np.column_stack([x - V @ b, V])))
        mean[places] = np.asarray(A @ solved[:, 0])[which]
        variance[places] = np.maximum(np.asarray(A.multiply(A @ solved[:, 1:]).sum(axis=1)).ravel(), 1e-300)[which]
    return mean, variance


MOST_DRAWN = 100  # items whose pairs are drawn jointly
BLOCK = 2**22  # covariances between new and training items that are held at a time
DRAWN = 2**20  # outcomes that are drawn at a time


class _OfUtilities:
    """A method that only models with utilities have: scikit-learn's ``available_if`` with the reason in the message."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __get__(self, model: Any, owner: Any = None) -> Any:
        if model is None:
            return self.function
        if model.cyclic_kernel is not None and model.kernel is None:
            raise AttributeError(
                f"{type(model).__name__}: with cyclic_kernel and kernel=None items have no utilities, so there is no "
                f"{self.function.__name__}: preferences may run in circles. Use preference_matrix, or give "
                'kernel="rbf" beside cyclic_kernel.'
            )
        return MethodType(self.function, model)


class UtilityPosterior(OfStatements):
    """Base of estimators with a posterior over utilities; not public.

    A fitted one has ``_mixture``, weighted solutions at one or several points of the hyperparameters.
    """

    _learned: Learned
    _mixture: list[tuple[float, Solution]]
    _reliability: tuple[FloatArray, FloatArray] | None = None  # of every judge, and its deviation
    _reliable: list[tuple[FloatArray, FloatArray]]  # the same in each solution of the mixture, where there are any
    _dense: float = DENSE  # independent latents up to which they are factored as one matrix

    @_OfUtilities
    def predict_utility(
        self, items: Any = None, *, return_std: bool = False, return_cov: bool = False, judge: Any = None
    ) -> Any:
        """Return posterior means of utilities of items, with standard deviations or the covariance if wanted.

        Parameters
        ----------
        items : table or Bags (n_items, n_features), names or row numbers of training items, or None, default=None
            Items, seen in training or new; None is those of training.
        return_std, return_cov : bool, default=False
            What to return beside the means; not both.
        judge : label, default=None
            Whose utilities, where the model distinguishes judges; None is the population that judges come from.

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
        new, _ = self._items_of_table(items)
        rows = Rows.of_items(new, "nothing", who=self._judge(judge, len(new.number), "predict_utility"))
        if return_cov:
            return mix(self._joints(rows))
        mean, variance = mix(self._moments(rows, variances=return_std))
        return (mean, np.sqrt(variance)) if return_std else mean

    def _moments(self, rows: Rows, total: int = 0, *, variances: bool = True) -> list[Part]:
        """Return means and variances of rows, some of ``total``, for each solution of the mixture.

        Where only means are wanted, variances may be NaN.
        """
        if variances:
            self._check_variances(rows.items)
        with few_threads(self._size(rows.items)):
            return [Part(w, *_moments(s, rows, total), s.likelihood) for w, s in self._mixture]

    def _joints(self, rows: Rows) -> list[Part]:
        """Return means and covariance of rows, for each solution of the mixture."""
        self._check_variances(rows.items)
        with few_threads(self._size(rows.items)):
            found = [(w, s.posterior.joint(s.problem.query(rows, joint=True)), s) for w, s in self._mixture]
        return [Part(w, *moments, s.likelihood) for w, moments, s in found]

    @_OfUtilities
    def sample_utilities(
        self, items: Any = None, n_samples: int = 1000, random_state: Any = None, *, judge: Any = None
    ) -> FloatArray:
        """Return draws of the utilities of items from their joint posterior, (n_samples, n_items).

        Items and judge are as in `predict_utility`; ``random_state`` (int, RandomState, Generator or None) is the
        source of the draws.
        """
        check_is_fitted(self)
        rng = generator(random_state, "sample_utilities")
        new = self._items_of_table(items)[0]
        return self._draw(new, n_samples, rng, self._judge(judge, len(new.number), "sample_utilities"))

    def _draw(
        self,
        new: Any,
        n_samples: int,
        rng: np.random.Generator,
        asked: Who | None,
        pairs: tuple[IntArray, IntArray] | None = None,
    ) -> FloatArray:
        """Return draws of utilities, or of preferences between listed pairs."""
        self._check_variances(new)
        rows = Rows.of_items(new, "nothing", who=asked)
        if pairs is not None:
            who = None if asked is None else Who(np.full(len(pairs[0]), asked.number[0]), asked.X)
            rows = Rows(new, *pairs, who=who)
        with few_threads(self._size(new)):
            return np.concatenate(
                [
                    s.posterior.draw(s.problem.query(rows, joint=not s.problem.direct), count, rng)
                    for count, (_, s) in zip(self._counts(n_samples, rng), self._mixture, strict=True)
                    if count
                ]
            )

    def _counts(self, n_samples: int, rng: np.random.Generator) -> list[int]:
        """Return how many of some draws are from each solution of the mixture."""
        check_count(n_samples, "n_samples", type(self).__name__)
        if len(self._mixture) == 1:
            return [int(n_samples)]
        return [int(count) for count in rng.multinomial(int(n_samples), [w for w, _ in self._mixture])]

    def sample_preferences(
        self, items: Any = None, n_samples: int = 1000, random_state: Any = None, *, judge: Any = None
    ) -> FloatArray:
        """Return draws of all preferences between items from their joint posterior, (n_samples, n_items, n_items).

        Row against column; every draw is antisymmetric to the last bit. Parameters are those of `sample_utilities`;
        with features and a cyclic part at most 100 items: all their pairs are drawn together.
        """
        check_is_fitted(self)
        rng = generator(random_state, "sample_preferences")
        new, _ = self._items_of_table(items)
        n = len(new.number)
        asked = self._judge(judge, n, "sample_preferences")
        if self.cyclic_kernel is None:
            f = self._draw(new, n_samples, rng, asked)
            return np.asarray(f[:, :, None] - f[:, None, :])
        if self._choice.kind == "effects":
            return self._draw_effects(new, n_samples, rng)
        if n > MOST_DRAWN:
            raise ValueError(
                f"sample_preferences: {n} items have {n * (n - 1) // 2} pairs, which would be drawn together. Give at "
                f"most {MOST_DRAWN} items, for example those of the highest preference_matrix().mean.sum(axis=1)."
            )
        low, high = (side.astype(np.intp) for side in np.triu_indices(n, 1))
        draws = np.zeros((int(n_samples), n, n))
        draws[:, low, high] = self._draw(new, n_samples, rng, asked, (low, high))
        draws[:, high, low] = -draws[:, low, high]
        return draws

    def rank(
        self,
        items: Any = None,
        *,
        k: int = 3,
        level: float = 0.9,
        n_samples: int | None = None,
        random_state: Any = 0,
        judge: Any = None,
    ) -> Ranking:
        """Rank items, with intervals for utilities and places, P(best) and P(top k), from their joint posterior.

        By how much each is preferred to these items on average: by its utility, unless preferences may run in circles.

        Parameters
        ----------
        items, judge : as in `predict_utility`
            Which items to rank, and whose ranking.
        k : int, default=3
            How many count as the top.
        level : float, default=0.9
            Probability of the intervals.
        n_samples : int, default=None
            Joint draws that places and probabilities are counted over; None is 4,000, and 400 for more than 3,000 items
            of `BradleyTerry`.
        random_state : int, Generator, RandomState or None, default=0
            Source of the draws.

        Returns
        -------
        Ranking
            Items from best to worst.
        """
        check_is_fitted(self)
        check_count(k, "k", type(self).__name__)
        if not 0 < level < 1:
            raise ValueError(f"rank: level={level!r} must be between 0 and 1, for example 0.9.")
        rng = generator(random_state, "rank")
        new, names = self._items_of_table(items)
        asked = self._judge(judge, len(new.number), "rank")
        n_samples = self._n_draws(len(new.number)) if n_samples is None else n_samples
        if self.cyclic_kernel is None:
            parts, draws = self._relative(new, asked), self._draw(new, n_samples, rng, asked)
        else:
            joints = self._joints(Rows.of_items(new, "mean", who=asked))
            counts = self._counts(n_samples, rng)
            with few_threads(self._size(new)):
                every = zip(joints, counts, strict=True)
                draws = np.concatenate([draw_normal(part.mean, part.variance, n, rng) for part, n in every])
            parts = [part._replace(variance=np.maximum(part.variance.diagonal(), 0.0)) for part in joints]
        return rank_draws(names, parts, draws, int(k), level)

    def _n_draws(self, n_items: int) -> int:
        """Return the default number of draws over which places of items are counted."""
        return 4000

    def _relative(self, new: Items, asked: Who | None) -> list[Part]:
        """Return means and variances of utilities relative to the mean of all items, for each solution."""
        rows = Rows.of_items(new, "nothing", who=asked)
        if not self._mixture[0][1].problem.direct:
            return [Part(w, m - m.mean(), relative_variances(C), link) for w, m, C, link in self._joints(rows)]
        with few_threads(self._size(new)):
            return [Part(w, *s.posterior.relative(s.problem.query(rows)), s.likelihood) for w, s in self._mixture]

    def predict_difference(self, X: Comparisons, *, return_std: bool = False, side: bool = False) -> Any:
        """Return the posterior mean of the differences, first minus second, and their deviations if wanted.

        Parameters
        ----------
        X : Comparisons, list of pairs or data frame with two columns
            Pairs; their outcomes are not looked at. Judges, clusters and covariates count where the model knows them.
            Items of training may be given by name alone: ``Comparisons(None, ["ann"], ["bob"])``, ``[("ann", "bob")]``.
        return_std : bool, default=False
            Whether to return deviations, too.
        side : bool, default=False
            Whether the advantage of the first side counts, where the model knows it (``side=True``).

        Returns
        -------
        mean, or mean and std : ndarray (m,)
            In units of utility.
        """
        mean, variance = mix(self._differences(X, side, variances=return_std))
        return (mean, np.sqrt(variance)) if return_std else mean

    @_OfUtilities
    def joint_utilities(self, items: Any = None, judges: Any = (None,)) -> tuple[FloatArray, FloatArray]:
        """Return the joint posterior of utilities for several judges: means (n_judges, n_items) and their covariance.

        Items are as in `predict_utility`. A judge None is the population that judges come from; one that was never seen
        is a stranger. The covariance (n_judges * n_items, n_judges * n_items) has one judge after the other.
        """
        check_is_fitted(self)
        new, _ = self._items_of_table(items)
        panel, n = self._panel(list(judges), "joint_utilities"), len(new.number)
        places = np.tile(np.arange(n), len(judges))
        who = None if panel is None else Who(np.repeat(panel.number, n), panel.X)
        mean, covariance = mix(self._joints(Rows(new, places, places, "nothing", who=who)))
        return mean.reshape(-1, n), covariance

    def joint_differences(self, X: Comparisons) -> tuple[FloatArray, FloatArray]:
        """Return the joint posterior of utility differences, first minus second: means (m,) and covariance (m, m).

        Of the judges of X where it has some, else of the population, with neither clusters nor reliabilities; circles
        are a part of it.
        """
        check_is_fitted(self)
        rows, sign = self._rows_of_pairs(X)
        panel = self._panel([None] * len(X) if X.judge is None else X.judge.tolist(), "joint_differences")
        mean, covariance = mix(self._joints(replace(rows, who=panel)))
        return sign * mean, sign[:, None] * covariance * sign

    @property
    def reliabilities(self) -> dict[Any, float] | None:
        """Reliability of each judge by name, in the more probable direction; None where none were learned."""
        if self._reliability is None:
            return None
        return dict(zip(self.judges_.tolist(), self._reliable[0][0].tolist(), strict=True))

    @property
    def reverse_probability_(self) -> float:
        """Probability that about the reverse of the more probable ranking is right; 0 where judges leave no doubt."""
        check_is_fitted(self)
        reverse = self._learned.reverse
        return 0.0 if reverse is None else reverse.weight

    def in_likely_direction(self) -> Self:
        """Return the model as if the more probable of two rankings, one about the reverse of the other, were right.

        No answer of judges whose reliability is not known decides between these. The model itself where there is one.
        """
        check_is_fitted(self)
        if self._learned.reverse is None:
            return self
        new = copy(self)
        n = len(self._learned.mixture)
        new._mixture = [(w / self._learned.weight, s) for w, s in self._mixture[:n]]
        new._reliable, new._reliability = self._reliable[:n], self._reliable[0]
        new._learned = replace(self._learned, weight=1.0, reverse=None)
        return new

    def newcomer_variance(self, X: Comparisons, *, judge: bool = True) -> FloatArray:
        """Return the prior variance (m,) that a cluster, and a ``judge``, that was never seen adds to differences."""
        check_is_fitted(self)
        rows, _ = self._rows_of_pairs(X)

        def variance(cluster: int, who: int) -> FloatArray:
            asked = replace(
                rows,
                cluster=np.full(len(rows), cluster) if self.cluster else None,
                who=Who(np.full(len(rows), who)) if self._knows_judges else None,
            )
            total = [w * sum(term.ask(asked).variance for term in s.problem.terms) for w, s in self._mixture]
            return np.asarray(sum(total))

        return variance(UNKNOWN, UNKNOWN if judge else POPULATION) - variance(POPULATION, POPULATION)

    def difference_posteriors(self, X: Comparisons, *, side: bool = False) -> list[Part]:
        """Return the posterior of the utility differences, first minus second, at every point of the hyperparameters.

        The posterior is their mixture, of which `predict_difference` gives mean and deviation only; X and side are as
        there. There is one point unless ``hyperparameters="average"``.
        """
        return self._differences(X, side)

    def preference_matrix(self, items: Any = None, *, judge: Any = None) -> PreferenceMatrix:
        """Return which of two items is preferred, by how much, how surely, and which is better, for all pairs of items.

        Items and judge are as in `predict_utility`.
        """
        check_is_fitted(self)
        new, names = self._items_of_table(items)
        low, high = (side.astype(np.intp) for side in np.triu_indices(len(new.number), 1))
        asked = self._judge(judge, low.shape[0], "preference_matrix")
        parts = self._moments(Rows(new, low, high, who=asked), len(low))
        return preference_matrix_of(np.asarray(names), low, high, parts)

    def _draw_effects(self, new: Items, n_samples: int, rng: np.random.Generator) -> FloatArray:
        """Return draws of all preferences of items without features, whose pairs have effects of their own."""
        blocks = []
        distinct, place = np.unique(new.number, return_inverse=True)
        k, place = distinct.shape[0], place.ravel()
        low, high = (side.astype(np.intp) for side in np.triu_indices(k, 1))
        with few_threads(self._size(new)):
            for count, (_, s) in zip(self._counts(n_samples, rng), self._mixture, strict=True):
                parts: Any = s.problem.parts
                curve: Any = s.posterior.curve
                shared, own = curve.draw(s.posterior.u, count, rng)
                utility, circles = parts.get("utility"), parts["circles"]
                f = np.zeros((count, k))
                if utility is not None:  # items that were never compared are as they were
                    f = np.sqrt(utility.own_variance) * rng.standard_normal((count, k))
                    known = np.flatnonzero(distinct < utility.n_items)
                    f[:, known] = shared[:, distinct[known]]
                c = circles.own_variance * rng.standard_normal((count, low.shape[0]))
                rows = Rows(Items(None, distinct), low, high)
                t = next(t for t, term in enumerate(s.problem.terms) if "circles" in term.parts)
                of_pairs = s.problem.terms[t].ask(rows).own
                assert of_pairs is not None
                cross, where = s.problem.layout.of_groups(t, of_pairs, len(rows))
                known_pairs = cross.tocoo()
                c[:, known_pairs.row] = (own if where is None else shared[:, where])[:, known_pairs.col]
                draws = np.zeros((count, k, k))
                draws[:, low, high] = f[:, low] - f[:, high] + c
                draws[:, high, low] = -draws[:, low, high]
                blocks.append(draws[:, place[:, None], place])
        return np.concatenate(blocks)

    def _matrix_cost(self) -> float:
        """Return the operations that variances of all pairs of the training items take, beyond those of the items."""
        return float(self._used.shape[0] ** 2 / 2 * float(self._pair_latents) ** 2)

    @property
    def _pair_latents(self) -> int:
        """Number of latents that pairs are asked about one by one; 0 where those of items do."""
        if self.cyclic_kernel is None or self._choice.kind == "effects":
            return 0
        return max(s.problem.order for _, s in self._mixture)

    def _mean_preferences(self) -> FloatArray:
        """Return the means of a `preference_matrix` of the training items, at the price of no variances."""
        if not self._pair_latents:
            return self.preference_matrix().mean
        new, _ = self._items_of_table(None)
        with few_threads(len(new.number)):
            return np.asarray(sum(w * s.problem.means(new, s.posterior.g) for w, s in self._mixture))

    def _pair_probabilities(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return P(first is preferred to second) of a `preference_matrix` of the training items, for some pairs."""
        new, _ = self._items_of_table(None)
        low, high = np.minimum(first, second), np.maximum(first, second)
        asked = self._judge(None, len(low), "preference_matrix")
        parts = self._moments(Rows(new, low, high, who=asked), len(low))
        p = probability_of(parts)
        return np.where(first == low, p[0], p[1])

    def decision_function(self, X: Comparisons) -> FloatArray:
        """Return the posterior mean of the utility differences, first minus second."""
        return np.asarray(self.predict_difference(X))

    def predict_outcome_proba(self, X: Comparisons, *, side: bool = False) -> FloatArray:
        """Return P(second preferred), P(tie) and P(first preferred), (m, 3); see `predict_difference`."""
        return outcome_probabilities(self._differences(X, side))[:, ::-1]

    def predict_proba(self, X: Comparisons, *, side: bool = False, noise: bool = True) -> FloatArray:
        """Return P(second preferred) and P(first preferred), (m, 2), ties shared equally; see `predict_difference`.

        Who wins the next comparison, or with ``noise=False`` who is better: P(utility of first > utility of second),
        kpcrank (11). A comparison errs, so the second is the surer of the two, and the one that more data drive to 0 or
        1: an item that wins 60 % of its games may well be better with a probability of 99 %.
        """
        parts = self._differences(X, side)
        return share_ties((outcome_probabilities(parts) if noise else better_probabilities(parts))[:, ::-1])

    def sample_outcomes(
        self, X: Comparisons, n_samples: int = 1000, random_state: Any = None, *, side: bool = False
    ) -> NDArray[np.int8]:
        """Return draws of the outcomes of comparisons to come, (n_samples, m): 1 (first), 0 (a tie) or -1 (second).

        Comparisons of one draw share the same utilities, so that sums over comparisons, such as the points of a season,
        are as uncertain as they should be. X and side are as in `predict_difference`. Costs one covariance of the
        differences, (m, m).
        """
        self._check_side(side)
        rng = generator(random_state, "sample_outcomes")
        rows, sign = self._rows_asked(self._pairs_of(X), side)
        blocks = []
        parts, counts = self._joints(rows), self._counts(n_samples, rng)
        reliable = [None] * len(parts) if rows.who is None or self._reliability is None else self._reliable
        for part, count, of_judges in zip(parts, counts, reliable, strict=True):
            root = normal_root(part.variance)
            for some in np.array_split(np.arange(count), 1 + count * len(sign) // DRAWN) if count else ():
                z = sign * (part.mean + rng.standard_normal((len(some), root.shape[1])) @ root.T)
                if rows.who is not None and of_judges is not None:
                    z *= _draw_reliable(*of_judges, rows.who, len(some), rng)
                p = part.likelihood.probability(z.ravel(), np.zeros(z.size))
                u = rng.random(z.size)
                blocks.append(((u < p[:, 0]).astype(np.int8) - (u >= p[:, 0] + p[:, 1])).reshape(z.shape))
        return np.concatenate(blocks)

    def predict(self, X: Comparisons) -> FloatArray:
        """Return +1 where the first item is predicted to be preferred, -1 where the second, 0 for equal utilities."""
        return np.asarray(np.sign(self.decision_function(X)))

    def score(self, X: Comparisons, y: None = None) -> float:
        """Return the share of comparisons whose winner is predicted; ties are left out, equal predictions count 1/2."""
        return score_of_margins(X, self.decision_function(X))

    def _differences(self, X: Comparisons, side: bool = False, *, variances: bool = True) -> list[Part]:
        self._check_side(side)
        rows, sign = self._rows_asked(self._pairs_of(X), side)
        answers = self._moments(rows, len(sign), variances=variances)
        if rows.who is not None and self._reliability is not None:
            every = zip(self._reliable, answers, strict=True)
            answers = [_as_reliable(*reliable, rows.who, part) for reliable, part in every]
        return [part._replace(mean=sign * part.mean) for part in answers]

    def _check_side(self, side: bool) -> None:
        check_is_fitted(self)
        if side and not self.side:
            raise ValueError(
                f"{type(self).__name__}: side=True asks for the advantage of the first side, which the model does not "
                f"know. Fit it with {type(self).__name__}(side=True), or leave side=False."
            )

    def _rows_asked(self, X: Comparisons, side: bool) -> tuple[Rows, FloatArray]:
        """Return rows about pairs with all that the model looks at, as `_rows_of_pairs` does."""
        rows, sign = self._rows_of_pairs(X)
        numbers = self._covariates_of(X)
        asked = replace(
            rows,
            side=sign if side else None,
            who=self._judges_of(X),
            cluster=self._clusters_of(X),
            covariates=None if numbers is None else sign[:, None] * numbers,
        )
        return asked, sign

    def _rows_of_pairs(self, X: Comparisons) -> tuple[Rows, FloatArray]:
        """Return rows about pairs, the lower item first, and -1 where that is the second one.

        Every pair is computed this way round and then turned: swapping sides flips the sign exactly.
        """
        used, place = distinct_numbers(np.concatenate([X.first, X.second]), X.n_items)
        first, second = place.reshape(2, -1)
        low, high = np.minimum(first, second), np.maximum(first, second)
        return Rows(self._items_of(X, used), low, high), np.where(first == low, 1.0, -1.0)

    def _check_variances(self, new: Items) -> None:
        """Raise where covariances of some items are not known."""
        as_items(new.X).check_variances(type(self).__name__)

    def _size(self, new: Items) -> int:
        """Return the order of the largest matrix that an answer about new items takes."""
        return int(max(self._used.shape[0], len(new.number), self._pair_latents))


def _moments(s: Solution, rows: Rows, total: int) -> tuple[FloatArray, FloatArray]:
    """Return means and variances of rows; of pairs a part at a time, as each has covariances with many latents."""
    if not len(rows):
        return np.zeros(0), np.zeros(0)
    step = max(1, BLOCK // max(1, s.problem.held))
    if rows.against != "item" or s.problem.width(rows) <= step:
        return s.posterior.moments(s.problem.query(rows, total=total))
    parts = [
        s.posterior.moments(s.problem.query(rows.few(slice(start, start + step)), total=total))
        for start in range(0, len(rows), step)
    ]
    return np.concatenate([m for m, _ in parts]), np.concatenate([v for _, v in parts])


def _as_reliable(value: FloatArray, std: FloatArray, asked: Who, part: Part) -> Part:
    """Return moments of s x for judges who are known, s and x taken for independent; of others s is 1."""
    known = (asked.number >= 0) & (asked.number < len(value))
    place = np.where(known, asked.number, 0)
    s, of_s = np.where(known, value[place], 1.0), np.where(known, np.square(std[place]), 0.0)
    variance = (s**2 + of_s) * part.variance + of_s * np.square(part.mean)
    return part._replace(mean=s * part.mean, variance=np.asarray(variance))


def _draw_reliable(value: FloatArray, std: FloatArray, asked: Who, count: int, rng: np.random.Generator) -> FloatArray:
    """Return draws of the reliabilities of the judges who are asked, (count, m); 1 for those who are not known."""
    known = (asked.number >= 0) & (asked.number < len(value))
    drawn = value + std * rng.standard_normal((count, len(value)))
    return np.where(known, drawn[:, np.where(known, asked.number, 0)], 1.0)
