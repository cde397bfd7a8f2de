"""BAHSIC: features on which outcomes depend, found by leaving out one after the other."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons, ItemTable
from preflearn.exceptions import DataError
from preflearn.items import as_items
from preflearn.linalg import generator

FloatArray = NDArray[np.float64]
_EQUAL = 1e-12  # squared distances below this share of the largest are 0


class BAHSIC(TransformerMixin, BaseEstimator):
    """Keep the features that say who wins, by backward elimination with the Hilbert-Schmidt independence criterion.

    Answers: on which features of items do outcomes depend, before any model is chosen?

    Parameters
    ----------
    n_features : int, default=5
        How many to keep.
    n_comparisons : int, default=1000
        Most comparisons that are looked at; of more, so many are drawn.
    random_state : int, Generator, RandomState or None, default=None
        Which comparisons are drawn.

    Attributes
    ----------
    support_ : ndarray of bool (n_features_in_,)
        Which features are kept.
    ranking_ : ndarray of int (n_features_in_,)
        1 for features that are kept, 2 for the one that was dropped last, and so on.
    dependence_ : ndarray (n_features_in_ - n_features + 1,)
        The criterion with all features, and after each that was dropped.
    n_features_in_ : int
    feature_names_in_ : ndarray of str, if the items' features have names

    See Also
    --------
    preflearn.PreferenceGP : ``kernel="ard"`` learns a relevance for each feature instead.

    Notes
    -----
    Comparison r of items a and b has d_r = x_a - x_b, features standardised over the items, and outcome y_r (a tie 0).
    Each counts in both directions, (d, y) and (-d, -y). The dependence of outcomes on some features is y'Ky, K the
    Gaussian kernel of differences in these features, whose width is the median distance. As k(-d, -d') = k(d, d'),
    it is 2 Σ_rs y_r y_s (k(d_r - d_s) - k(d_r + d_s)). In each step that feature goes without which the dependence is
    largest; first those that never differ. O(m² n_features²) for m comparisons.

    *Differences from the paper*: the criterion is not centred, because outcomes in both directions have mean 0.

    References
    ----------
    Song, Smola, Gretton, Bedo and Borgwardt, "Feature selection via dependence maximization", 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn import Comparisons
    >>> from preflearn.selection import BAHSIC
    >>> X = np.random.default_rng(0).normal(size=(20, 4))
    >>> first, second = np.triu_indices(20, 1)
    >>> games = Comparisons(X, first, second, np.sign(X[first, 2] - X[second, 2]))
    >>> chosen = BAHSIC(1).fit(games)
    >>> chosen.support_
    array([False, False,  True, False])
    >>> chosen.transform(games).n_features
    1
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_features": [Interval(Integral, 1, None, closed="left")],
        "n_comparisons": [Interval(Integral, 2, None, closed="left")],
        "random_state": ["random_state", np.random.Generator],
    }

    def __init__(self, n_features: int = 5, *, n_comparisons: int = 1000, random_state: Any = None) -> None:
        self.n_features = n_features
        self.n_comparisons = n_comparisons
        self.random_state = random_state

    def fit(self, X: Comparisons, y: None = None) -> Self:
        """Choose features from comparisons of items with a table of features."""
        self._validate_params()
        table = _table(X)
        d = table.shape[1]
        self.n_features_in_ = d
        self.__dict__.pop("feature_names_in_", None)
        if X.feature_names is not None:
            self.feature_names_in_ = np.array(X.feature_names, dtype=object)
        used = np.arange(len(X))
        if len(X) > self.n_comparisons:
            used = np.sort(
                generator(self.random_state, type(self).__name__).choice(len(X), self.n_comparisons, replace=False)
            )
        spread = table.std(axis=0)
        table = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        D = table[X.first[used]] - table[X.second[used]]
        weight = np.ones(len(used)) if X.weight is None else X.weight[used]
        self._eliminate(D, weight * np.sign(X.outcome[used]))
        return self

    def _eliminate(self, D: FloatArray, y: FloatArray) -> None:
        d = D.shape[1]
        whole = sum((_squares(D[:, k]) for k in range(d)), np.zeros((2, len(D), len(D))))
        left, dropped, found = list(range(d)), list[int](), [_dependence(whole, y)]
        while len(left) > self.n_features:
            idle = [place for place, k in enumerate(left) if not D[:, k].any()]  # the same in both items, always
            without = [_dependence(whole - _squares(D[:, k]), y) for k in left] if not idle else []
            best = idle[0] if idle else int(np.argmax(without))
            found.append(found[-1] if idle else without[best])
            dropped.append(left.pop(best))
            whole -= _squares(D[:, dropped[-1]])
        self.support_ = np.zeros(d, dtype=bool)
        self.support_[left] = True
        self.ranking_ = np.ones(d, dtype=np.intp)
        self.ranking_[dropped[::-1]] = np.arange(len(dropped)) + 2
        self.dependence_ = np.array(found)

    def transform(self, X: Any) -> Any:
        """Return comparisons over the features that are kept, or these columns of a table."""
        check_is_fitted(self)
        owner = type(self).__name__
        table = _table(X) if isinstance(X, Comparisons) else np.asarray(X, dtype=np.float64)
        if table.ndim != 2 or table.shape[1] != self.n_features_in_:
            raise DataError(code="bahsic-other-features", owner=owner).says(
                f"the items have {table.shape[-1]} features, and training had {self.n_features_in_}",
                "Give the same features",
            )
        kept = table[:, self.support_]
        if not isinstance(X, Comparisons):
            return kept
        names = None if X.feature_names is None else [X.feature_names[k] for k in np.flatnonzero(self.support_)]
        return X.with_items(kept if names is None else ItemTable(kept, None, tuple(names), len(kept)))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the features that are kept, or x0, x1, ... by their places."""
        check_is_fitted(self)
        usual = np.array([f"x{k}" for k in range(self.n_features_in_)], dtype=object)
        return np.asarray(getattr(self, "feature_names_in_", usual))[self.support_]


def _table(X: Any) -> FloatArray:
    """Return the features of compared items as an array."""
    owner = "BAHSIC"
    if not isinstance(X, Comparisons):
        raise TypeError(
            f"{owner} learns from Comparisons; got {type(X).__name__}. "
            "Build Comparisons(items, first, second, outcome)."
        )
    if X.items is None:
        raise DataError(code="bahsic-needs-features", owner=owner).says("the items have no features", "Pass items=...")
    values = as_items(X.items).means()
    return np.asarray(values.toarray() if hasattr(values, "toarray") else values, dtype=np.float64)


def _squares(x: FloatArray) -> FloatArray:
    """Return squared differences and squared sums of all pairs, (2, m, m)."""
    return np.stack([np.square(x[:, None] - x), np.square(x[:, None] + x)])


def _dependence(squared: FloatArray, y: FloatArray) -> float:
    """Return the criterion, from squared distances of differences in the same and in opposite direction."""
    squared = np.maximum(squared, 0.0)  # of a difference of sums
    apart = squared[squared > _EQUAL * squared.max(initial=0.0)]
    if not len(apart):
        return 0.0
    same, opposite = np.exp(-squared / (2 * np.median(apart)))
    return float(2 * (y @ same @ y - y @ opposite @ y))
