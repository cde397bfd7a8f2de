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

    Parameters
    ----------
    normalised : bool, default=True
        Take the Laplacian I - D^-½ S D^-½, D = diag(S1), as the paper's analysis of missing comparisons does, instead
        of D - S.

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
    meet. Items i and j are alike by S = ½ (n 11' + C C'), and the eigenvector v of the second smallest eigenvalue of
    the Laplacian orders them (D^-½ v, if it is normalised); if all pairs have met and agree with an order, it finds
    this order. Only C, which is sparse, is multiplied with: O(m) for each step of Lanczos' method, beyond 500 items.

    Few and noisy comparisons are its weakness: which others two items have both met is then chance, and about n^1.5
    comparisons are needed. D - S suffers most, because this chance is also on its diagonal. Kendall's tau with the
    truth, n items with 20 random opponents each and logistic noise of scale 1 (8 draws, n = 50 and 200): 0.55 and 0.44
    by D - S, 0.58 and 0.57 normalised, 0.67 and 0.67 by counting wins, 0.68 and 0.68 by `preflearn.BradleyTerry`, which
    suits such data better.

    *Differences from the paper*: of the two directions it takes the one that least squares prefers, where the paper
    counts contradicted comparisons; pairs that met several times are not drawn at random but averaged.

    References
    ----------
    Fogel, d'Aspremont and Vojnović, "Spectral ranking using seriation", 2016.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.baselines import SerialRank
    >>> data = Comparisons(None, ["ann", "ann", "ann", "bob", "bob", "cy"], ["bob", "cy", "di", "cy", "di", "di"])
    >>> SerialRank().fit(data).utilities_.round(2)
    array([ 0.75,  0.25, -0.25, -0.75])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"normalised": ["boolean"]}

    def __init__(self, normalised: bool = True) -> None:
        self.normalised = normalised

    def _of_part(self, part: Part) -> FloatArray:
        wins = np.asarray(part.skew.sum(axis=1))
        alike, weight = _normalised(part) if self.normalised else (_laplacian(part), np.ones(part.n_items))
        vector = extreme_vector(alike, type(self).__name__, largest=self.normalised, start=wins)
        return part.scaled(weight * vector)


def _laplacian(part: Part) -> LinearOperator:
    """Return D - S without its constant part, which changes no eigenvector, and with 1 out of the way."""
    C, n = part.skew, part.n_items
    degree = np.asarray(C @ (C.T @ np.ones(n)))
    # above every eigenvalue
    lifted = 2 * float((abs(C) @ (abs(C).T @ np.ones(n))).max()) + 1

    def apply(v: Any) -> Any:
        return (degree * v.T).T - C @ (C.T @ v) + lifted * v.mean(axis=0)

    return LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64)


def _normalised(part: Part) -> tuple[LinearOperator, FloatArray]:
    """Return n² (D^-½ S D^-½ - q q'), q its leading eigenvector, and D^-½ up to a factor.

    With D = ½ n² r², r = (1 + δ)^½ and δ = CC'1 / n², this is t CC' t + n (t t' - r r' / (1 + mean δ)), t = 1 / r. The
    second part is a difference of nearly equal matrices: t t' - r r' = e t' + r e', e = t - r = -δ t, has no such one.
    """
    C, n = part.skew, part.n_items
    delta = np.asarray(C @ (C.T @ np.ones(n))) / n**2
    r = np.sqrt(1 + delta)
    t, e = 1 / r, -delta / r
    share = delta.mean() / (1 + delta.mean())

    def apply(v: Any) -> Any:
        scaled = (t * v.T).T
        along = np.multiply.outer(e, t @ v) + np.multiply.outer(r, e @ v + share * (r @ v))
        return (t * (C @ (C.T @ scaled)).T).T + n * along

    return LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.float64), t
