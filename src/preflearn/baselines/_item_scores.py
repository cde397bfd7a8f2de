"""What rivals share that give each item a number, from who beat whom alone: parts, scale, matching, eigenvectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh
from sklearn.utils.validation import check_is_fitted

from preflearn.baselines._rival import FloatArray, IntArray, Rival, check_asked, check_some
from preflearn.data import Comparisons
from preflearn.data.pair_table import connected_parts, net_preferences, pair_matrix, warn_before_learning
from preflearn.exceptions import DataError
from preflearn.models.asked import OfItems
from preflearn.models.training_data import warn_of_pairs

DENSE_LIMIT = 500  # items up to which LAPACK is as quick as Lanczos
MOST_DENSE = 5_000  # items up to which it steps in where Lanczos does not converge
PRECISION = 1e-10  # of Lanczos, relative to the eigenvalue


@dataclass(frozen=True)
class Part:
    """Pairs of items that comparisons connect: a net preference for each pair, and how often it was compared."""

    low: IntArray
    high: IntArray
    net: FloatArray  # seen from the lower item
    count: FloatArray
    n_items: int

    @cached_property
    def skew(self) -> Any:
        """Net preferences as a sparse matrix, row against column."""
        return pair_matrix(self.low, self.high, self.net, -self.net, self.n_items)

    @property
    def wins(self) -> tuple[FloatArray, FloatArray]:
        """How often the lower and the higher item won, where net preferences are those of directions; a tie is half."""
        return self.count * (1 + self.net) / 2, self.count * (1 - self.net) / 2

    def scaled(self, scores: FloatArray) -> FloatArray:
        """Return scores of mean 0 times the number, of either sign, with which differences are closest to preferences.

        Least squares: Σ n (net - t (s_i - s_j))² over pairs is smallest at t = Σ n net (s_i - s_j) / Σ n (s_i - s_j)².
        """
        scores = scores - scores.mean()
        apart = scores[self.low] - scores[self.high]
        size = float(self.count @ apart**2)
        return scores * (float(self.count @ (self.net * apart)) / size) if size else np.zeros_like(scores)


class ItemScores(OfItems, Rival):
    """Base of rivals that learn a number for each item, and use no features; not public."""

    _keeps_items = True
    _margins: ClassVar[bool] = False  # whether more of an outcome counts than its sign

    utilities_: FloatArray

    def fit(self, X: Comparisons, y: None = None) -> Self:
        """Learn from comparisons: who was preferred to whom; features are not used."""
        self._validate_params()
        owner = type(self).__name__
        if not isinstance(X, Comparisons):
            raise TypeError(
                f"{owner} learns from Comparisons; got {type(X).__name__}. "
                "Build Comparisons(items, first, second, outcome)."
            )
        check_some(X, owner)
        if X.weight is not None:
            X = X[np.flatnonzero(X.weight)]
        X = X.without_features()
        warn_before_learning(X, owner)
        pairs, net = net_preferences(X)
        if not self._margins:
            net = (pairs.wins - pairs.losses) / pairs.count
        warn_of_pairs(owner, 1, X.n_items, np.array([net.any()]))
        self.n_items_ = self.n_features_in_ = X.n_items
        self.item_names_, self.featureless_ = X.names, True
        self.utilities_ = self._utilities_of(Part(pairs.low, pairs.high, net, pairs.count, X.n_items))
        return self

    def _utilities_of(self, whole: Part) -> FloatArray:
        """Return utilities: of each connected part by itself, mean 0 there, as nothing is known across parts."""
        found = np.zeros(whole.n_items)
        for members, part in connected(whole):
            found[members] = self._of_part(part)
        return found

    def _of_part(self, part: Part) -> FloatArray:
        raise NotImplementedError

    def decision_function(self, X: Comparisons) -> FloatArray:
        """Return differences of utilities, (m,): positive where the first item is preferred.

        Items are matched with those of training by name, or by row number.
        """
        check_is_fitted(self)
        check_asked(X, type(self).__name__)
        used, place = np.unique(np.concatenate([X.first, X.second]), return_inverse=True)
        rows = self._rows_of_training(X.without_features(), used)
        assert rows is not None
        first, second = self.utilities_[rows][place].reshape(2, -1)
        return np.asarray(first - second)


def connected(whole: Part) -> Iterator[tuple[IntArray, Part]]:
    """Yield the items of each connected part of two items or more, and its pairs in their numbers."""
    label = connected_parts(whole.low, whole.high, whole.n_items)
    by_item, by_pair = np.argsort(label, kind="stable"), np.argsort(label[whole.low], kind="stable")
    ends_item = np.cumsum(np.bincount(label))
    ends_pair = np.cumsum(np.bincount(label[whole.low], minlength=len(ends_item)))
    place = np.empty(whole.n_items, dtype=np.intp)
    for k, end in enumerate(ends_item):
        members = by_item[ends_item[k - 1] if k else 0 : end]
        if len(members) > 1:
            rows = by_pair[ends_pair[k - 1] if k else 0 : ends_pair[k]]
            place[members] = np.arange(len(members))
            ends = place[whole.low[rows]], place[whole.high[rows]]
            yield members, Part(*ends, whole.net[rows], whole.count[rows], len(members))


def extreme_vector(operator: LinearOperator, owner: str, *, largest: bool, start: FloatArray) -> Any:
    """Return the eigenvector of the largest, or smallest, eigenvalue of a Hermitian operator."""
    n = operator.shape[0]
    if n > DENSE_LIMIT:
        start = start + np.linspace(1, 2, n)  # never zero
        try:
            which: Literal["LA", "SA"] = "LA" if largest else "SA"
            found = eigsh(operator, 1, which=which, v0=start.astype(operator.dtype), tol=PRECISION, ncv=40)
            return found[1][:, 0]
        except ArpackNoConvergence:
            if n > MOST_DENSE:
                raise DataError(code="scores-not-found", owner=owner).says(
                    f"the eigenvector of {n:,} items was not found: the comparisons connect them too loosely",
                    "Use BradleyTerry or RankCentrality",
                ) from None
    number = n - 1 if largest else 0
    return eigh(operator @ np.eye(n, dtype=operator.dtype), subset_by_index=(number, number))[1][:, 0]
