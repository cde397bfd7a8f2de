"""PageRank of the graph of comparisons: losers point to those who beat them."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import Interval

from preflearn.baselines._item_scores import ItemScores, Part
from preflearn.baselines._rival import FloatArray
from preflearn.data.pair_table import pair_matrix

SETTLED = 1e-14  # change of the distribution in a step


class PageRank(ItemScores):
    """Rank items by PageRank: a loss is a link to the winner.

    Answers: who was beaten only by those who are hard to beat?

    Parameters
    ----------
    damping : float, default=0.85
        Probability that the walk follows a link rather than jump to any item.

    Attributes
    ----------
    scores_ : ndarray (n_items,)
        The stationary distribution, which sums to 1.
    utilities_ : ndarray (n_items,)
        Its logarithm, mean 0.
    n_items_, item_names_ : int, ndarray or None
        What training looked like.

    Warns
    -----
    DataWarning
        If comparisons leave separate parts, whose scores then say as much about the parts as about items. If all pairs
        are tied.

    See Also
    --------
    RankCentrality : a walk whose distribution is that of a Bradley-Terry model.

    Notes
    -----
    From item i the walk moves to j in proportion to how often j beat i (a tie is half a win for both); from items that
    never lost it jumps anywhere. Steps are repeated until nothing changes, at most log(1e-14) / log(damping) of them,
    O(m) each. The oldest of these methods, and the crudest: it is here because the paper on inconsistent preferences
    names it. *Differences from the paper*: none.

    References
    ----------
    Page, Brin, Motwani and Winograd, "The PageRank citation ranking: bringing order to the Web", 1998.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.baselines import PageRank
    >>> PageRank().fit(Comparisons(None, ["ann", "bob"], ["bob", "cy"])).scores_.round(3)
    array([0.474, 0.341, 0.184])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"damping": [Interval(Real, 0, 1, closed="neither")]}

    def __init__(self, damping: float = 0.85) -> None:
        self.damping = damping

    def _utilities_of(self, whole: Part) -> FloatArray:
        n, (low, high) = whole.n_items, whole.wins
        links = pair_matrix(whole.low, whole.high, high, low, n)
        lost = np.asarray(links.sum(axis=1))
        share = np.divide(1.0, lost, out=np.zeros(n), where=lost > 0)
        scores = np.full(n, 1 / n)
        change = 1.0
        while change > SETTLED:
            jumps = 1 - self.damping * scores[lost > 0].sum()
            moved = self.damping * (links.T @ (scores * share)) + jumps / n
            change, scores = float(np.abs(moved - scores).sum()), moved
        self.scores_ = scores / scores.sum()
        utilities = np.log(self.scores_)
        return np.asarray(utilities - utilities.mean())
