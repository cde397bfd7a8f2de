"""What the rivals share: comparisons of items with features and without ties, and answers from margins."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, first_few
from preflearn.items import as_items
from preflearn.metrics.pairwise import score_of_margins

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]


def check_comparisons(X: Any, owner: str) -> None:
    """Refuse what is not comparisons of rows of features."""
    if not isinstance(X, Comparisons):
        raise TypeError(
            f"{owner} learns from Comparisons; got {type(X).__name__}. "
            "Build Comparisons(items, first, second, outcome)."
        )
    check_features(X, owner)
    if not as_items(X.items).one_row_each:
        raise DataError(code="rival-takes-no-bags", owner=owner).says(
            "the items are Bags and this baseline takes rows",
            "Use PreferenceGP, or means of bags: comparisons.with_items(bags.means())",
        )


def check_asked(X: Any, owner: str) -> None:
    """Refuse to predict what is not comparisons."""
    if not isinstance(X, Comparisons):
        raise TypeError(
            f"{owner} predicts Comparisons; got {type(X).__name__}. Build Comparisons(items, first, second)."
        )


def check_some(X: Comparisons, owner: str) -> None:
    """Refuse to learn from no comparisons, and from none that counts."""
    if not len(X):
        raise DataError(code="rival-without-comparisons", owner=owner).says(
            "there are no comparisons to learn from", "Check cv: every training set needs some"
        )
    if X.weight is not None and not X.weight.any():
        raise DataError(code="rival-all-weights-zero", owner=owner).says(
            f"all {len(X)} comparisons have weight 0", "Give at least one a positive weight"
        )


def check_features(X: Comparisons, owner: str) -> None:
    """Refuse items without features."""
    if X.items is None:
        raise DataError(code="rival-needs-features", owner=owner).says("the items have no features", "Pass items=...")


def check_decided(X: Comparisons, owner: str) -> None:
    """Refuse ties."""
    ties = np.flatnonzero(X.outcome == 0)
    if ties.size:
        raise DataError(code="rival-takes-no-ties", owner=owner).says(
            f"{ties.size} of {len(X)} comparisons are ties (rows {first_few(ties)}), and it learns nothing from ties",
            "Drop them: comparisons[comparisons.outcome != 0]",
        )


class Rival(BaseEstimator):
    """Base of estimators whose answer about comparisons is a margin."""

    def decision_function(self, X: Comparisons) -> FloatArray:
        """Return predicted margins of comparisons, (m,): positive where the first item is preferred."""
        raise NotImplementedError

    def predict(self, X: Comparisons) -> FloatArray:
        """Return +1 where the first item is predicted to be preferred, -1 where the second, 0 for equals."""
        return np.asarray(np.sign(self.decision_function(X)))

    def score(self, X: Comparisons, y: None = None) -> float:
        """Return the share of comparisons whose winner is predicted (`preflearn.metrics.pairwise_accuracy`)."""
        return score_of_margins(X, self.decision_function(X))
