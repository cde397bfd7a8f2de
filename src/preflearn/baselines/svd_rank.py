"""SVD-Rank: scores from the two leading singular vectors of the matrix of net preferences."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.sparse.linalg import LinearOperator

from preflearn.baselines._item_scores import ItemScores, Part, extreme_vector
from preflearn.baselines._rival import FloatArray


class SVDRank(ItemScores):
    """Rank items by the singular vectors of net preferences, which for a perfect ranking have rank two.

    Answers: which scores have differences that come closest to what was measured on pairs, as a spectrum sees it?

    Parameters
    ----------
    normalised : bool, default=True
        Whether items count the same however often they were compared (SVD-NRS in the paper, else SVD-RS).

    Attributes
    ----------
    utilities_ : ndarray (n_items,)
        Scores, mean 0 in each connected part, in the scale in which differences are closest to the mean outcomes, or
        margins, of pairs.
    n_items_, item_names_ : int, ndarray or None
        What training looked like.

    Warns
    -----
    DataWarning
        If comparisons leave separate parts; each is ranked by itself. If all pairs are tied.

    See Also
    --------
    SerialRank, RankCentrality : other spectral methods.
    preflearn.structure.ComparableClusters : clusters from more singular vectors of the same matrix (``method="svd"``).

    Notes
    -----
    H_ij is the mean outcome, or margin, of i against j, and 0 for pairs that did not meet. If every pair met and H_ij =
    r_i - r_j, H = r1' - 1r' has rank two, and r is what is orthogonal to 1 in the span of its singular vectors. Pairs
    that are missing at random make H smaller and noisier, not different. With ``normalised`` rows and columns of H are
    divided by the roots of Σ_j |H_ij|. H is skew-symmetric, so its singular values come in pairs, which Lanczos'
    method takes long to separate; iH is Hermitian, and the two vectors are real and imaginary part of its leading
    eigenvector: O(m) for each step, beyond 500 items. *Differences from the paper*: sign and scale by least squares,
    where the paper counts contradicted pairs and takes a median.

    References
    ----------
    d'Aspremont, Cucuringu and Tyagi, "Ranking and synchronization from pairwise measurements via SVD", 2021.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.baselines import SVDRank
    >>> margins = Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"], [1.0, 3.0, 2.0])
    >>> SVDRank().fit(margins).utilities_.round(2)
    array([ 1.33,  0.33, -1.67])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"normalised": ["boolean"]}
    _margins = True

    def __init__(self, normalised: bool = True) -> None:
        self.normalised = normalised

    def _of_part(self, part: Part) -> FloatArray:
        H, n = part.skew, part.n_items
        size = np.asarray(abs(H).sum(axis=1)) if self.normalised else np.ones(n)
        root = np.sqrt(np.where(size > 0, size, 1.0))

        def apply(v: Any) -> Any:
            return 1j * ((H @ (v.T / root).T).T / root).T

        hermitian = LinearOperator((n, n), matvec=apply, matmat=apply, dtype=np.complex128)
        wins = np.asarray(H.sum(axis=1))
        z = extreme_vector(hermitian, type(self).__name__, largest=True, start=wins)
        U = np.column_stack([z.real, z.imag]) * np.sqrt(2)  # orthonormal
        shadow = U.T @ (1 / root)
        if not shadow.any():
            shadow = np.array([1.0, 0.0])
        return part.scaled(root * (U @ [-shadow[1], shadow[0]]))
