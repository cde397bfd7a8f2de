"""Rank centrality: how often a walk that always moves to winners is at each item."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import ArpackNoConvergence, eigs, splu
from scipy.special import expit
from sklearn.utils._param_validation import Interval

from preflearn.baselines._item_scores import PRECISION, ItemScores, Part
from preflearn.baselines._rival import FloatArray
from preflearn.data import Comparisons
from preflearn.data.pair_table import pair_matrix
from preflearn.exceptions import DataError

DIRECT_LIMIT = 2_000  # items up to which a sparse factor of the chain is small


class RankCentrality(ItemScores):
    """Rank items by the stationary distribution of a random walk that moves from losers to winners.

    Answers: what are the strengths of a Bradley-Terry model, as a walk on the comparisons sees them?

    Parameters
    ----------
    prior : float, default=1.0
        Wins that are added to either side of every pair that met. With 0 an item that never lost would keep the walk
        for ever, and every item must have a chain of wins over every other.

    Attributes
    ----------
    utilities_ : ndarray (n_items,)
        Logarithm of the stationary distribution, mean 0 in each connected part: utilities of a Bradley-Terry model.
    n_items_, item_names_ : int, ndarray or None
        What training looked like.

    Warns
    -----
    DataWarning
        If comparisons leave separate parts; each is ranked by itself. If all pairs are tied.

    See Also
    --------
    PageRank : a walk that also jumps anywhere.
    preflearn.BradleyTerry : the likelihood of the same model, more exact, with intervals.

    Notes
    -----
    From item i the walk moves to j with probability a_ij / d, where a_ij = (w_ji + prior) / (n_ij + 2 prior) is the
    share of their n_ij comparisons that j won (a tie is half a win for both) and d the largest number of opponents of
    any item; otherwise it stays. If shares are those of a Bradley-Terry model exactly, so is the answer. How often a
    pair met matters through ``prior`` alone. One sparse factor for up to 2,000 items, Arnoldi's method beyond, O(m) for
    each step. *Differences from the paper*: none; ``prior`` is the paper's regularised form.

    References
    ----------
    Negahban, Oh and Shah, "Rank centrality: ranking from pairwise comparisons", 2017.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.baselines import RankCentrality
    >>> data = Comparisons(None, ["ann", "bob", "bob", "cy"], ["bob", "ann", "cy", "bob"], weight=[3, 1, 2, 1])
    >>> RankCentrality(prior=0).fit(data).utilities_.round(2)
    array([ 0.96, -0.14, -0.83])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"prior": [Interval(Real, 0, None, closed="left")]}

    def __init__(self, prior: float = 1.0) -> None:
        self.prior = prior

    def _of_part(self, part: Part) -> FloatArray:
        low, high = ((wins + self.prior) / (part.count + 2 * self.prior) for wins in part.wins)
        moves = pair_matrix(part.low, part.high, high, low, part.n_items)  # to the winner
        moves.eliminate_zeros()
        n_strong = connected_components(moves, directed=True, connection="strong")[0]
        if n_strong > 1:
            raise DataError(code="walk-without-return", owner="RankCentrality").says(
                f"items fall into {n_strong} groups, and those of one never lost to those of the groups below, so that "
                "the walk does not come back",
                "Set prior above 0",
            )
        opponents = np.bincount(np.concatenate([part.low, part.high]), minlength=part.n_items)
        utilities = np.log(np.maximum(stationary(moves / opponents.max()), np.finfo(float).tiny))
        return np.asarray(utilities - utilities.mean())

    def predict_proba(self, X: Comparisons) -> FloatArray:
        """Return P(second preferred) and P(first preferred) of the Bradley-Terry model, (m, 2)."""
        difference = self.decision_function(X)
        return np.column_stack([expit(-difference), expit(difference)])


def stationary(moves: Any) -> FloatArray:
    """Return the stationary distribution of a walk with these probabilities to move, which must connect all items."""
    n, leave = moves.shape[0], np.asarray(moves.sum(axis=1))
    if n > DIRECT_LIMIT:
        try:
            chain = (moves.T + sp.diags_array(1 - leave)).tocsr()
            found = np.abs(eigs(chain, 1, which="LR", v0=np.ones(n), tol=PRECISION)[1][:, 0].real)
            found = moves.T @ found / leave  # no small entry is a difference of large ones
            return np.asarray(found / found.sum())
        except ArpackNoConvergence:
            pass
    # π = P'π with one entry, of an item that the walk likes, set to 1; no pivoting: elimination subtracts nothing
    one = int(np.argmax(np.asarray(moves.sum(axis=0)) - leave))
    others = np.flatnonzero(np.arange(n) != one)
    left = (sp.diags_array(leave) - moves.T).tocsc()[:, others]
    known = np.asarray(moves[[one]].toarray()).ravel()[others]
    factor = splu(left[others], "MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    found = np.insert(factor.solve(known), one, 1.0)
    return np.asarray(found / found.sum())
