"""Groups of items that can be compared within and not across."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from preflearn.data import Comparisons
from preflearn.data.pair_table import net_preferences
from preflearn.exceptions import DataError, quiet
from preflearn.models import PreferenceGP
from preflearn.structure.graph import FloatArray, shares

MOST = 10  # clusters that "auto" considers
MOSTLY = 0.6  # least share of all preferences that rankings within clusters must explain


class ComparableClusters(ClusterMixin, BaseEstimator):
    """Find clusters of items that can be ranked within each cluster and not across.

    Answers: which of these items are comparable, and how do they rank among themselves?

    Parameters
    ----------
    n_clusters : int or "auto", default="auto"
        Number of clusters; "auto" is the number, up to ten, with which rankings within clusters explain most of all
        preferences, including those across clusters; one if that is less than 60 %.
    method : {"gpgp", "svd", "partial"}, default="gpgp"
        The preference matrix: of a Gaussian process over pairs (GPGP), of observed net preferences (SVD), or of those
        that a utility does not find too close to call (partial ranking with abstention).
    assign : {"affinity", "kmeans"}, default="affinity"
        How items are put into clusters: by the size of preferences between them, or by k-means on the leading singular
        vectors, as in the paper.
    abstention : float, default=0.6
        For "partial": probability of the likely winner, from 0.5 to 1, below which two items count as not comparable.
        At 0.5 nothing is left out, which is "svd".
    model : PreferenceGP, default=None
        For "gpgp" the model to fit; None is ``PreferenceGP(cyclic_kernel="rbf")``, which needs features.
    random_state : int, RandomState or None, default=None
        Source of the starts of k-means and of the search for hyperparameters.

    Attributes
    ----------
    labels_ : ndarray (n_items,)
        Cluster of every item.
    n_clusters_ : int
        Number of clusters.
    preferences_ : ndarray (n_items, n_items)
        The preference matrix, row against column.
    singular_values_ : ndarray (n_items,)
        Its spectrum, in pairs of equal values; L clusters have 2 L large ones.
    utilities_ : ndarray (n_items,)
        Utility of every item within its cluster, mean 0 there.
    ranks_ : ndarray (n_items,)
        Place of every item within its cluster, from 1.
    explained_ : ndarray (n_clusters_,)
        Share of the squared preferences within each cluster that differences of these utilities explain: 1 for a
        perfect ranking, less if the cluster has circles of its own.

    Notes
    -----
    With L clusters the true matrix is Σ (f_l 1_l' - 1_l f_l'), of rank 2 L (equation 7 of the paper). The paper
    runs k-means on its leading 2 L singular vectors U, which differ within a cluster as much as between clusters.
    What is zero between clusters are the entries of the matrix and of U U'. So "affinity" clusters by their sizes:
    spectrally for "gpgp", and by k-means on normalised rows of U U' otherwise (observed preferences are all of one
    size). Utilities are the means of the rows of the matrix within each cluster. *Differences from the paper*:
    "affinity", which finds more of the right clusters in the paper's simulation
    (``preflearn reproduce gpgp-fig3``); and the number of clusters, which the paper reads from the gap in
    the spectrum.

    References
    ----------
    Chau, González and Sejdinovic, "Learning inconsistent preferences with Gaussian processes", 2022, section 3.2.
    Cheng, Hüllermeier, Waegeman and Welker, "Label ranking with partial abstention based on thresholded probabilistic
    models", 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn import Comparisons
    >>> from preflearn.structure import ComparableClusters
    >>> first, second = np.triu_indices(8, 1)
    >>> same = (first < 4) == (second < 4)  # items 0 to 3 and 4 to 7 are compared among themselves
    >>> data = Comparisons(8, first[same], second[same])
    >>> ComparableClusters(2, "svd", random_state=0).fit(data).ranks_
    array([1, 2, 3, 4, 1, 2, 3, 4])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "method": [StrOptions({"gpgp", "svd", "partial"})],
        "assign": [StrOptions({"affinity", "kmeans"})],
        "abstention": [Interval(Real, 0.5, 1, closed="both")],
        "model": [HasMethods(["fit", "preference_matrix"]), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        n_clusters: int | Literal["auto"] = "auto",
        method: Literal["gpgp", "svd", "partial"] = "gpgp",
        *,
        assign: Literal["affinity", "kmeans"] = "affinity",
        abstention: float = 0.6,
        model: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.method = method
        self.assign = assign
        self.abstention = abstention
        self.model = model
        self.random_state = random_state

    def fit(self, X: Comparisons, y: None = None) -> Self:
        """Find the clusters of the items of comparisons.

        Parameters
        ----------
        X : Comparisons
            What was compared, with what outcome.
        y : None
            Not used.

        Returns
        -------
        ComparableClusters
            Itself, fitted.
        """
        self._validate_params()
        if not isinstance(X, Comparisons):
            raise TypeError(f"ComparableClusters learns from Comparisons; got {type(X).__name__}.")
        self._check_number(X.n_items)
        return self.fit_matrix(self._matrix(X))

    def fit_matrix(self, preferences: Any) -> Self:
        """Find the clusters in a preference matrix that was learned before.

        Parameters
        ----------
        preferences : array of shape (n_items, n_items)
            Antisymmetric: how strongly the item of a row is preferred to that of a column, for example
            ``model.preference_matrix().mean``.

        Returns
        -------
        ComparableClusters
            Itself, fitted.
        """
        self._validate_params()
        G = check_array(preferences, dtype=np.float64, input_name="preferences")
        n = G.shape[0]
        if G.shape != (n, n) or np.abs(G + G.T).max(initial=0.0) > 1e-8 * np.abs(G).max(initial=0.0):
            raise ValueError(
                f"ComparableClusters: preferences of shape {G.shape} are not antisymmetric. Give a square array with "
                "preferences[i, j] = -preferences[j, i]."
            )
        self._check_number(n)
        U, s, _ = np.linalg.svd(G)
        counts = range(1, max(1, min(MOST, n // 2)) + 1) if self.n_clusters == "auto" else [int(self.n_clusters)]
        found = [self._assign(G, U, count) for count in counts]
        explained = [_explained(G, labels) for labels in found]
        # arcs of a circle can be ranked, too: clusters must leave little between them
        best = int(np.argmax(explained))
        self.labels_ = found[best if explained[best] >= MOSTLY or len(found) == 1 else 0]
        self.n_clusters_ = int(self.labels_.max()) + 1 if self.n_clusters == "auto" else int(self.n_clusters)
        self.preferences_, self.singular_values_ = G, s
        self.utilities_, self.ranks_ = np.zeros(n), np.zeros(n, dtype=np.intp)
        self.explained_ = np.ones(self.n_clusters_)
        for label in range(self.n_clusters_):
            members = np.flatnonzero(self.labels_ == label)
            among = G[np.ix_(members, members)]
            within = among.mean(axis=1)
            if np.any(among):
                self.explained_[label] = shares(among)[0]
            self.utilities_[members] = within  # their mean is 0, as the matrix is antisymmetric
            self.ranks_[members[np.argsort(-within, kind="stable")]] = np.arange(1, members.shape[0] + 1)
        return self

    def _check_number(self, n_items: int) -> None:
        if self.n_clusters != "auto" and self.n_clusters > n_items:
            raise ValueError(f"ComparableClusters: n_clusters={self.n_clusters}, but there are {n_items} items.")

    def _assign(self, G: FloatArray, U: FloatArray, count: int) -> Any:
        if count == 1:
            return np.zeros(G.shape[0], dtype=np.intp)
        if count == G.shape[0]:
            return np.arange(count)
        from sklearn.cluster import KMeans  # a tenth of the time that all imports take

        if self.method == "gpgp" and self.assign == "affinity":
            rows = _spectral(np.abs(G), count)
        else:
            U = U[:, : 2 * count]
            rows = U if self.assign == "kmeans" else np.abs(normalize(U @ U.T))
        # equal items may leave fewer different rows than clusters
        with quiet(ConvergenceWarning):
            return KMeans(count, n_init=20, random_state=self.random_state).fit(rows).labels_

    def _matrix(self, X: Comparisons) -> FloatArray:
        ties = bool((X.outcome == 0).any())
        if self.method == "gpgp":
            model = self.model
            if model is None:
                if X.items is None:
                    raise DataError(code="clusters-need-features", owner="ComparableClusters").says(
                        'method="gpgp" needs features of the items',
                        "Give Comparisons the features: items=...",
                        'use method="svd" or "partial"',
                        "pass model=PreferenceGP(cyclic_kernel=ConstantKernel())",
                    )
                model = PreferenceGP(cyclic_kernel="rbf", ties=ties, random_state=self.random_state)
            return np.asarray(model.fit(X).preference_matrix().mean)
        pairs, net = net_preferences(X)
        if self.method == "partial":
            P = PreferenceGP(ties=ties, random_state=self.random_state).fit(X).preference_matrix().probability
            sure = np.maximum(P, 1 - P)[pairs.low, pairs.high]
            net = np.where(sure < self.abstention, 0.0, net)
        return np.asarray(pairs.matrix(net, -net).toarray())


def _spectral(size: FloatArray, count: int) -> FloatArray:
    """Return the leading eigenvectors of affinities, scaled by degrees, with rows of norm 1 (Ng, Jordan and Weiss)."""
    W = size + 1e-6 * size.mean() + np.finfo(float).tiny  # keeps items without any preference connected
    root = np.sqrt(W.sum(axis=1))
    n = len(W)
    vectors = eigh(W / root[:, None] / root, subset_by_index=(n - count, n - 1))[1]
    return np.asarray(normalize(vectors))


def _explained(G: FloatArray, labels: Any) -> float:
    """Return the share of all squared preferences that rankings within clusters explain."""
    explained = 0.0
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        among = G[np.ix_(members, members)]
        explained += shares(among)[0] * float(np.sum(among**2))
    return explained / max(float(np.sum(G**2)), np.finfo(float).tiny)
