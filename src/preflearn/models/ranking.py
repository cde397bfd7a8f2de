"""What is known of many items at once: rankings and matrices of preferences, from mixtures of normal distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, ndtri

from preflearn.operators import FloatArray, IntArray
from preflearn.table_format import Column, TextTable, chance, decimal, interval, place_range


class Part(NamedTuple):
    """Normal distributions at one point of the hyperparameters, with the likelihood there: one of a mixture."""

    weight: float
    mean: FloatArray
    variance: FloatArray  # or a covariance
    likelihood: Any


def mix(parts: list[Part]) -> tuple[FloatArray, FloatArray]:
    """Return mean and variances, or covariances between the numbers along the last axis, of a mixture."""
    if len(parts) == 1:
        return parts[0].mean, parts[0].variance
    mean = np.sum([w * m for w, m, *_ in parts], axis=0)
    far = [(m - mean, v.ndim > m.ndim) for _, m, v, _ in parts]
    away = [d[..., :, None] * d[..., None, :] if joint else d**2 for d, joint in far]
    return mean, np.sum([part.weight * (part.variance + a) for part, a in zip(parts, away, strict=True)], axis=0)


def outcome_probabilities(parts: list[Part]) -> FloatArray:
    """Return P(first), P(tie) and P(second) of differences, (m, 3)."""
    return np.asarray(sum(w * likelihood.probability(m, v) for w, m, v, likelihood in parts))


def better_probabilities(parts: list[Part]) -> FloatArray:
    """Return P(z > 0), 0 and P(z < 0) of differences z, (m, 3): who is better, whatever the next comparison says."""
    with np.errstate(over="ignore"):  # a difference that is known exactly
        z = [(w, m / np.maximum(np.sqrt(v), 1e-300)) for w, m, v, _ in parts]
    return np.asarray(sum(w * np.column_stack([ndtr(x), np.zeros_like(x), ndtr(-x)]) for w, x in z))


def share_ties(p: FloatArray) -> FloatArray:
    """Return P(second) and P(first) from P(second), P(tie) and P(first); both sum to 1 to the last bit."""
    second, first = p[:, 0] + 0.5 * p[:, 1], p[:, 2] + 0.5 * p[:, 1]
    more = np.maximum(first, second) / (first + second)  # of the larger, so that swapped sides give swapped answers
    return np.where(
        (first >= second)[:, None], np.column_stack([1.0 - more, more]), np.column_stack([more, 1.0 - more])
    )


@dataclass(frozen=True)
class PreferenceMatrix:
    """Preferences between all pairs of items; row against column.

    Attributes
    ----------
    names : ndarray (n,)
        Names or row numbers of the items.
    mean : ndarray (n, n)
        Posterior means G of latent preferences; ``G == -G.T`` to the last bit.
    std : ndarray (n, n)
        Their posterior standard deviations.
    probability : ndarray (n, n)
        P(row wins the next comparison with column), ties shared equally; 1/2 on the diagonal, and the two of a pair sum
        to 1.
    better : ndarray (n, n)
        P(latent preference of row over column > 0), without the noise of a comparison: more comparisons drive it to 0
        or 1, and ``probability`` only to how often the better one wins.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ConstantKernel
    >>> from preflearn import Comparisons, PreferenceGP
    >>> circle = Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"], weight=[9, 9, 9])
    >>> model = PreferenceGP(cyclic_kernel=ConstantKernel(), hyperparameters="fixed").fit(circle)
    >>> model.preference_matrix(["rock", "scissors", "paper"]).probability.round(2)
    array([[0.5 , 0.85, 0.15],
           [0.15, 0.5 , 0.85],
           [0.85, 0.15, 0.5 ]])
    """

    names: Any
    mean: FloatArray
    std: FloatArray
    probability: FloatArray
    better: FloatArray


def preference_matrix_of(names: Any, low: IntArray, high: IntArray, parts: list[Part]) -> PreferenceMatrix:
    """Return the matrices from the distributions of the pairs above the diagonal."""
    n = names.shape[0]
    mean, variance = mix(parts)
    G, S, P, better = np.zeros((n, n)), np.zeros((n, n)), np.full((n, n), 0.5), np.full((n, n), 0.5)
    G[low, high], G[high, low] = mean, -mean
    S[low, high] = S[high, low] = np.sqrt(variance)
    P[low, high], P[high, low] = probability_of(parts)
    better[low, high], better[high, low] = probability_of(parts, noise=False)
    return PreferenceMatrix(names, G, S, P, better)


def probability_of(parts: list[Part], *, noise: bool = True) -> tuple[FloatArray, FloatArray]:
    """Return P(first is preferred) and P(second is preferred) of differences, ties shared equally."""
    p = outcome_probabilities(parts) if noise else better_probabilities(parts)
    return p[:, 0] + p[:, 1] / 2, p[:, 2] + p[:, 1] / 2


HALVINGS = 50  # of an interval that a quantile lies in


@dataclass(frozen=True)
class Ranking:
    """Items from best to worst, with how sure that is.

    Attributes
    ----------
    names : ndarray (n_items,)
        Items, the best first; row numbers where items have no names.
    row : ndarray (n_items,)
        Where each stood in the table that was ranked.
    utility, std : ndarray (n_items,)
        Posterior mean and standard deviation of the utility relative to the mean of these items.
    low, high : ndarray (n_items,)
        Central interval of that utility.
    rank : ndarray (n_items,)
        1, 2, ...: order of the means.
    rank_low, rank_high : ndarray (n_items,)
        Interval of the item's place among these items: the central one, and up to ``rank`` where that lies outside
        (the place of the first of very many items is seldom the first in a draw).
    p_best : ndarray (n_items,)
        Probability to be the best of them; sums to 1.
    p_top : ndarray (n_items,)
        Probability to be among the best ``k``; sums to k.
    p_next : ndarray (n_items,)
        Probability to be better than the next one of the ranking; NaN for the last.
    p_win : ndarray (n_items,)
        Probability to win one comparison with an opponent of average utility, no side, covariate or judge counted; a
        tie is half a win.
    tier : ndarray (n_items,)
        1, 2, ... along the ranking: items like the best of their tier at ``level`` (`tiers_of`).
    k : int
        How many count as the top.
    level : float
        Probability of the intervals.

    Examples
    --------
    >>> from preflearn import Comparisons, PreferenceGP
    >>> matches = Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"])
    >>> print(PreferenceGP(hyperparameters="fixed").fit(matches).rank(k=2, random_state=0))
    rank  tier  item  utility  90 % interval  places  P(best)  P(top 2)
       1     1  ann      0.62  -0.41 to 1.65  1-3         66%       92%
       2     1  bob      0.00  -1.00 to 1.00  1-3         26%       75%
       3     1  cy      -0.62  -1.65 to 0.41  1-3          8%       33%
    """

    names: Any
    row: IntArray
    utility: FloatArray
    std: FloatArray
    low: FloatArray
    high: FloatArray
    rank: IntArray
    rank_low: IntArray
    rank_high: IntArray
    p_best: FloatArray
    p_top: FloatArray
    p_next: FloatArray
    p_win: FloatArray
    tier: IntArray
    k: int
    level: float

    def __len__(self) -> int:
        return len(self.names)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists, ready for a data frame of any library."""
        columns = ["rank", "names", "utility", "std", "low", "high", "rank_low", "rank_high"]
        columns += ["p_best", "p_top", "p_next", "p_win", "tier"]
        return {("item" if name == "names" else name): list(getattr(self, name)) for name in columns}

    def listing(
        self, points: Callable[[FloatArray], FloatArray] = np.asarray, digits: int = 2, unit: str = "utility"
    ) -> TextTable:
        """Return the table that is shown, with utilities changed to other units by ``points``.

        Keys are ``rank``, ``tier``, ``item``, ``utility``, ``interval``, ``places``, ``p_best``, ``p_top``, ``p_next``
        and ``p_win``.
        """
        low, high = points(self.low), points(self.high)
        return TextTable(
            {
                "rank": Column("rank", self.rank),
                "tier": Column("tier", self.tier),
                "item": Column("item", self.names, kind="name"),
                "utility": Column(unit, points(self.utility), partial(decimal, digits=digits)),
                "interval": Column(
                    f"{100 * self.level:.0f} % interval",
                    list(zip(low, high, strict=True)),
                    partial(interval, digits=digits),
                    spare=2,
                ),
                "places": Column(
                    "places", list(zip(self.rank_low, self.rank_high, strict=True)), place_range, "text", spare=1
                ),
                "p_best": Column("P(best)", self.p_best, chance),
                "p_top": Column(f"P(top {self.k})", self.p_top, chance, spare=4),
                "p_next": Column("P(above next)", self.p_next, chance, spare=4),
                "p_win": Column("P(win)", self.p_win, chance, spare=3),
            }
        )

    def __str__(self) -> str:
        return self.listing().select("rank", "tier", "item", "utility", "interval", "places", "p_best", "p_top").text()


def rank_draws(names: Any, parts: list[Part], draws: FloatArray, k: int, level: float) -> Ranking:
    """Rank items by their means; places and probabilities are counted over joint draws (n_draws, n_items).

    ``parts`` are of utilities relative to the mean of the items: their level is not known from comparisons.
    """
    utility, variance = mix(parts)
    std, n = np.sqrt(variance), utility.shape[0]
    # utilities that are equal but for rounding keep the order of the items
    order = np.argsort(-np.round(utility / max(float(np.abs(utility).max(initial=0.0)), 1e-300), 10), kind="stable")
    tail = (1 - level) / 2
    low, high = (_quantile(parts, p) for p in (tail, 1 - tail))
    draws = _apart(draws, utility, std)
    places = np.empty(draws.shape, dtype=np.int32)
    np.put_along_axis(places, np.argsort(-draws, axis=1, kind="stable"), np.arange(1, n + 1)[None, :], axis=1)
    rank_low, rank_high = np.quantile(places, [tail, 1 - tail], axis=0, method="closest_observation").astype(np.intp)
    rank = np.arange(1, n + 1)
    sorted_draws = draws[:, order]
    above = np.mean(sorted_draws[:, :-1] > sorted_draws[:, 1:], axis=0)
    equal = np.mean(sorted_draws[:, :-1] == sorted_draws[:, 1:], axis=0)
    return Ranking(
        names=np.asarray(names)[order],
        row=order,
        utility=utility[order],
        std=std[order],
        low=low[order],
        high=high[order],
        rank=rank,
        rank_low=np.minimum(rank_low[order], rank),
        rank_high=np.maximum(rank_high[order], rank),
        p_best=(places == 1).mean(axis=0)[order],
        p_top=(places <= k).mean(axis=0)[order],
        p_next=np.append(above + 0.5 * equal, np.nan),
        p_win=probability_of(parts)[0][order],
        tier=tiers_of(sorted_draws, level),
        k=k,
        level=level,
    )


def tiers_of(draws: FloatArray, level: float) -> IntArray:
    """Return the tier of each item: which ones cannot be distinguished from the best of their tier.

    Walking down the ranking, a new tier starts with the first item that is worse than the first of the tier above it
    with a probability of at least ``level``, that of the intervals. ``draws`` (n_draws, n_items) are joint draws of the
    utilities, items from best to worst.

    It does not mean that items of one tier are equal (more comparisons may part them), nor that every item of a tier is
    surely better than every item of the next: the last of one and the first of the next are often close. Each statement
    is about two items; that all of them hold at once is less probable.
    """
    columns = np.ascontiguousarray(draws.T)
    tier = np.ones(len(columns), dtype=np.intp)
    first = 0
    for place in range(1, len(columns)):
        # equal draws are no evidence for either
        worse = np.mean(columns[first] > columns[place]) + 0.5 * np.mean(columns[first] == columns[place])
        if worse >= level:
            first = place
        tier[place] = tier[place - 1] + (first == place)
    return tier


def _apart(draws: FloatArray, utility: FloatArray, std: FloatArray) -> FloatArray:
    """Return draws in which items that are equal but for rounding are put in a random order."""
    size = max(float(np.abs(utility).max(initial=0.0)), float(std.max(initial=0.0)), 1e-300)
    rounding = 1e-13 * float(np.abs(draws).max(initial=0.0))  # their common level, of which no comparison tells
    order = np.argsort(utility, kind="stable")
    same = (np.diff(utility[order]) <= 1e-9 * size + rounding) & (
        np.abs(np.diff(std[order] ** 2)) <= 1e-9 * size * (size + rounding) + 1e13 * rounding**2
    )
    alike = np.unique(np.concatenate([order[:-1][same], order[1:][same]]))
    if alike.shape[0]:
        rng = np.random.default_rng((0, len(utility)))  # a seed that no draws have
        draws = draws - draws.mean(axis=1, keepdims=True)
        draws[:, alike] += (1e-6 * size + 100 * rounding) * rng.standard_normal((draws.shape[0], alike.shape[0]))
    return draws


def _quantile(parts: list[Part], p: float) -> FloatArray:
    """Return where mixtures of normal distributions have probability p below, by halving."""
    w = np.array([part.weight for part in parts])[:, None]
    mean, sd = np.stack([part.mean for part in parts]), np.sqrt([part.variance for part in parts])
    ends = mean + sd * ndtri(p)
    low, high = ends.min(axis=0), ends.max(axis=0)  # each part has as much below its own
    for _ in range(HALVINGS if len(parts) > 1 else 0):
        middle = 0.5 * (low + high)
        below = np.sum(w * ndtr((middle - mean) / np.maximum(sd, 1e-300)), axis=0) < p
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))


def relative_variances(covariance: FloatArray) -> FloatArray:
    """Return the variances of utilities relative to their mean."""
    rows = covariance.mean(axis=1)
    return np.asarray(np.maximum(covariance.diagonal() - 2 * rows + rows.mean(), 0.0))
