"""A ranking of items with its uncertainty, from draws of their utilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from preflearn.operators import FloatArray, IntArray

__all__ = ["Ranking", "rank_draws", "relative_deviations"]


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
        Central interval of the item's place among these items.
    p_best : ndarray (n_items,)
        Probability to be the best of them; sums to 1.
    p_top : ndarray (n_items,)
        Probability to be among the best ``k``; sums to k.
    p_next : ndarray (n_items,)
        Probability to be better than the next one of the ranking; NaN for the last.
    k : int
        How many count as the top.
    level : float
        Probability of the intervals.

    Examples
    --------
    >>> from preflearn import Comparisons, PreferenceGP
    >>> matches = Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"])
    >>> print(PreferenceGP(hyperparameters="fixed").fit(matches).rank(k=2, random_state=0))
    rank  item  utility     90 % interval  places  P(best)  P(top 2)
       1  ann      0.62   -0.40 ...  1.65  1 - 3      0.66      0.92
       2  bob      0.00   -0.98 ...  0.98  1 - 3      0.26      0.75
       3  cy      -0.62   -1.64 ...  0.42  1 - 3      0.08      0.33
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
    k: int
    level: float

    def __len__(self) -> int:
        return len(self.names)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists, ready for a data frame of any library."""
        columns = (
            "rank",
            "names",
            "utility",
            "std",
            "low",
            "high",
            "rank_low",
            "rank_high",
            "p_best",
            "p_top",
            "p_next",
        )
        return {("item" if name == "names" else name): list(getattr(self, name)) for name in columns}

    def __str__(self) -> str:
        top = f"P(top {self.k})"
        shown = [str(name) for name in self.names]
        wide = max(4, *(len(name) for name in shown))
        places = [f"{a} - {b}" for a, b in zip(self.rank_low, self.rank_high, strict=True)]
        far = max(6, *map(len, places))
        interval = f"{100 * self.level:.0f} % interval"
        lines = [f"rank  {'item':<{wide}}  utility  {interval:>16}  {'places':<{far}}  P(best)  {top}"]
        for i, name in enumerate(shown):
            lines.append(
                f"{self.rank[i]:4d}  {name:<{wide}}  {round(self.utility[i], 2) + 0.0:7.2f}  "
                f"{self.low[i]:6.2f} ... {self.high[i]:5.2f}  {places[i]:<{far}}  "
                f"{self.p_best[i]:7.2f}  {self.p_top[i]:{len(top)}.2f}"
            )
        return "\n".join(lines)


def rank_draws(names: Any, mean: FloatArray, std: FloatArray, draws: FloatArray, k: int, level: float) -> Ranking:
    """Rank items by their means; places and probabilities are counted over joint draws (n_draws, n_items).

    ``std`` are deviations relative to the mean of the items: the level of utilities is not known from comparisons.
    """
    n = mean.shape[0]
    # utilities that are equal but for rounding keep the order of the items
    order = np.argsort(-np.round(mean / max(float(np.abs(mean).max(initial=0.0)), 1e-300), 10), kind="stable")
    utility = mean - mean.mean()
    relative = draws - draws.mean(axis=1, keepdims=True)
    relative -= relative.mean(axis=0)
    spread = relative.std(axis=0)
    tail = (1 - level) / 2
    # the shape is that of the draws, mean and deviation are known
    low, high = utility + np.quantile(relative, [tail, 1 - tail], axis=0) * (std / np.where(spread > 0, spread, 1.0))
    # ranks of equal draws (equal items) are shared at random order of the sort: stable, by row
    places = np.empty(draws.shape, dtype=np.intp)
    np.put_along_axis(places, np.argsort(-draws, axis=1, kind="stable"), np.arange(1, n + 1)[None, :], axis=1)
    rank_low, rank_high = np.quantile(places, [tail, 1 - tail], axis=0, method="closest_observation").astype(np.intp)
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
        rank=np.arange(1, n + 1),
        rank_low=rank_low[order],
        rank_high=rank_high[order],
        p_best=(places == 1).mean(axis=0)[order],
        p_top=(places <= k).mean(axis=0)[order],
        p_next=np.append(above + 0.5 * equal, np.nan),
        k=k,
        level=level,
    )


def relative_deviations(covariance: FloatArray) -> FloatArray:
    """Return the standard deviations of utilities relative to their mean."""
    rows = covariance.mean(axis=1)
    return np.asarray(np.sqrt(np.maximum(covariance.diagonal() - 2 * rows + rows.mean(), 0.0)))
