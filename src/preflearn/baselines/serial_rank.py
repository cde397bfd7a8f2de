"""SerialRank: items are put in a row so that those with like results against others are neighbours."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse.linalg import LinearOperator

from preflearn.baselines._item_scores import ItemScores, Part, extreme_vector
from preflearn.baselines._rival import FloatArray


class SerialRank(ItemScores):
    """Rank items by seriation: the Fiedler vector of how alike their results against other items are.

    Answers: in which order do items stand next to those that beat, and lose to, the same others?

    Attributes
    ----------
    utilities_ : ndarray (n_items,)
        The Fiedler vector, mean 0 in each connected part, in the scale in which differences are closest to the mean
        outcomes of pairs.
    n_items_, item_names_ : int, ndarray or None
        What training looked like.

    Warns
    -----
    DataWarning
        If comparisons leave separate parts; each is ranked by itself. If all pairs are tied.

    See Also
    --------
    SVDRank, RankCentrality : other spectral methods.
    preflearn.BradleyTerry : a likelihood, with probabilities and intervals.

    Notes
    -----
    C is the matrix of mean outcomes, C_ij = (wins - losses) / comparisons of i against j, 0 for pairs that did not
    meet. Items i and j are alike by S = ½ (n 11' + C C'), and the eigenvector of the second smallest eigenvalue of
    the Laplacian diag(S1) - S orders them; if all pairs have met and agree with an order, it finds this order. The
    constant part of S changes no eigenvector, so only C, which is sparse, is multiplied with: O(m) for each step of
    Lanczos' method, beyond 500 items. *Differences from the paper*: of the two directions it takes the one that
    least squares prefers, where the paper counts contradicted comparisons; pairs that met several times are not
    drawn at random but averaged.

    References
    ----------
    Fogel, d'Aspremont and Vojnović, "Spectral ranking using seriation", 2016.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.baselines import SerialRank
    >>> data = Comparisons(None, ["ann", "ann", "ann", "bob", "bob", "cy"], ["bob", "cy", "di", "cy", "di", "di"])
    >>> SerialRank().fit(data).utilities_.round(2)
    array([ 0.77,  0.18, -0.18, -0.77])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {}

    def _of_part(self, part: Part) -> FloatArray:
        C, n = part.skew, part.n_items
        degree = np.asarray(C @ (C.T @ np.ones(n)))
        lifted = (
            2 * float((abs(C) @ (abs(C).T @ np.ones(n))).max()) + 1
        )  # above every eigenvalue: moves 1 out of the way

        def apply(v: Any) -> Any:
            return (degree * v.T).T - C @ (C.T @ v) + lifted * v.mean(axis=0)

        laplacian = LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64)
        wins = np.asarray(C.sum(axis=1))
        return part.scaled(extreme_vector(laplacian, type(self).__name__, largest=False, start=wins))
