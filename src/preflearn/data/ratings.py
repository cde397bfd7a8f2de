"""Ratings: scores of items in groups; every pair inside a group is implied and never listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import OneRowEach, check_labels, check_real, check_weight, codes, object_array
from preflearn.data.tables import check_items, open_frame
from preflearn.exceptions import DataError

if TYPE_CHECKING:
    from preflearn.data.comparisons import Comparisons
    from preflearn.data.tables import ItemArray


class Ratings(OneRowEach):
    """Scores of items in groups: within a group, a higher score is preferred to a lower one.

    Parameters
    ----------
    items : array, sparse matrix, data frame or Bags of shape (n_items, n_features)
        One row of features per scored item. Of a data frame (pandas, polars, pyarrow, ...) a column called ``item``,
        ``name`` or ``id``, or a pandas index of strings, becomes the names and the other columns must be numbers.
        An array is copied unless it is read-only float64 already. `Bags` are items that are samples of vectors.
    score : sequence of shape (n_items,)
        Finite scores; only differences inside a group mean anything.
    group : sequence of shape (n_items,), default=None
        The query, session or person of each row; rows are only compared within their group. None: one group.
    weight : sequence of shape (n_items,), default=None
        Weights of rows, at least 0; a pair of rows weighs the product of their weights.
    names : sequence of shape (n_items,), default=None
        Labels of the rows, distinct within a group (the same item may be scored in several groups).

    Attributes
    ----------
    items, score, group, weight, names
        As given, checked and read-only, numbers as float64.
    feature_names : tuple of str or None
        Column names of a data frame.
    n_items, n_features, n_groups : int
        Counts.
    shape : tuple
        (n_items, n_features).

    Notes
    -----
    It is scikit-learn's ``X`` with one row per scored item: indexing selects rows with all their fields.

    Examples
    --------
    >>> from preflearn.data import Ratings
    >>> pages = Ratings([[0.1], [0.7], [0.4]], score=[0, 2, 1], group=["cats", "cats", "dogs"])
    >>> pages
    Ratings(3 items with 1 features in 2 groups)
    >>> pages[:2].score
    array([0., 2.])
    """

    _ROW_FIELDS: ClassVar = ("score", "items", "group", "weight", "names")

    items: ItemArray
    score: NDArray[np.float64]
    group: NDArray[Any] | None
    weight: NDArray[np.float64] | None
    names: NDArray[Any] | None
    feature_names: tuple[str, ...] | None

    def __init__(self, items: Any, score: Any, group: Any = None, *, weight: Any = None, names: Any = None) -> None:
        owner = type(self).__name__
        if items is None or isinstance(items, int | np.integer):
            raise TypeError(f"{owner}: items must be a table of features, one row per score; got {items!r}.")
        table = check_items(items, owner, names)
        n_rows = table.n_items
        given = table.names if names is None else names
        self._fill(
            items=table.values,
            score=check_real(score, n_rows, "score", owner, "item"),
            group=None if group is None else check_labels(group, n_rows, "group", owner, "item"),
            weight=check_weight(weight, n_rows, owner, "item"),
            names=None if given is None else object_array(check_labels(given, n_rows, "names", owner, "item").tolist()),
            feature_names=table.feature_names,
        )
        self._check_names()

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        score: str,
        group: str | None = None,
        weight: str | None = None,
        name: str | None = None,
        features: Sequence[str] | None = None,
    ) -> Self:
        """Build from one data frame of any library; arguments are names of columns.

        Without ``features`` every column that is not named otherwise is a feature and must be numeric.

        Examples
        --------
        >>> import pandas as pd
        >>> from preflearn.data import Ratings
        >>> table = pd.DataFrame({"query": [1, 1, 2], "grade": [0, 2, 1], "length": [10.0, 7.0, 3.0]})
        >>> Ratings.from_frame(table, score="grade", group="query").feature_names
        ('length',)
        """
        owner = f"{cls.__name__}.from_frame"
        wanted = {"score": score, "group": group, "weight": weight, "name": name}
        table, columns, chosen = open_frame(frame, wanted, owner, f"{cls.__name__}(...)", features)
        items = table.select(chosen).to_native()
        return cls(items, columns["score"], columns["group"], weight=columns["weight"], names=columns["name"])

    def _check_names(self) -> None:
        if self.names is None:
            return
        seen: dict[tuple[Any, int], int] = {}
        for row, key in enumerate(zip(self.names.tolist(), codes(self.group, len(self)).tolist(), strict=True)):
            if seen.setdefault(key, row) != row:
                raise DataError(code="row-name-repeated", owner=type(self).__name__).says(
                    f"rows {seen[key]} and {row} have the same name ({key[0]!r}) in the same group",
                    "Keep one of them, or rename one",
                )

    @property
    def n_groups(self) -> int:
        """Number of groups; 1 without groups."""
        return 1 if self.group is None else len(set(self.group.tolist()))

    def __repr__(self) -> str:
        weight = "" if self.weight is None else "; weight"
        groups = "one group" if self.group is None else f"{self.n_groups} groups"
        return f"Ratings({self.n_items} items with {self.n_features} features in {groups}{weight})"

    def to_comparisons(self, max_pairs: int | None = None, random_state: Any = None) -> Comparisons:
        """Return the untied pairs within groups as comparisons with score differences as margins.

        Every row is an item; sides are drawn at random. With ``max_pairs`` that many pairs are drawn uniformly, and
        never are all pairs listed. Names are kept if they are distinct over all groups.
        """
        from preflearn.data.converters import from_scores

        distinct = self.names is not None and len(set(self.names.tolist())) == len(self)
        pairs = from_scores(
            self.items,
            self.score,
            self.group,
            max_pairs=max_pairs,
            random_state=random_state,
            weight=self.weight,
            names=self.names if distinct else None,
        )
        return pairs._take(slice(None), feature_names=self.feature_names)
