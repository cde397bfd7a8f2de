"""Cross-validation splitters that keep what belongs together in one fold: groups, clusters, pairs, items.

Assignment depends on the labels and the seed, never on the order of rows: distinct units are sorted, shuffled by the
seed, then dealt to folds. Permuting rows permutes the folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from preflearn.data import Comparisons, Ratings
from preflearn.data.fields import check_labels, codes
from preflearn.exceptions import DataError

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


class _Folds:
    """What the splitters share: parameters, dealing of units to folds, train and test rows."""

    def __init__(self, n_splits: int = 5, *, shuffle: bool = True, random_state: Any = 0) -> None:
        if isinstance(n_splits, bool) or not isinstance(n_splits, int | np.integer):
            raise TypeError(f"{type(self).__name__}: n_splits must be an integer; got {type(n_splits).__name__}.")
        if n_splits < 2:
            raise DataError(code="n-splits-below-two", owner=type(self).__name__).says(
                f"n_splits must be at least 2; got {n_splits}."
            )
        self.n_splits = int(n_splits)
        self.shuffle = shuffle
        self.random_state = random_state

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of splits."""
        return self.n_splits

    def __repr__(self) -> str:
        return f"{type(self).__name__}(n_splits={self.n_splits}, random_state={self.random_state})"

    def _deal(self, sizes: NDArray[np.intp], what: str) -> NDArray[np.intp]:
        """Return the fold of each unit: units in shuffled order, larger first, each to the smallest fold so far."""
        from sklearn.utils import check_random_state

        n_units = len(sizes)
        if n_units < self.n_splits:
            raise DataError(code="too-few-units-for-folds", owner=type(self).__name__).says(
                f"{n_units} {what} cannot fill {self.n_splits} folds",
                f"Use at most n_splits={n_units}, or more data; with fewer than 2 {what} nothing can be held out",
            )
        order = np.arange(n_units)
        if self.shuffle:
            order = check_random_state(self.random_state).permutation(n_units)
        order = order[np.argsort(-sizes[order], kind="stable")]
        fold = np.empty(n_units, dtype=np.intp)
        load = np.zeros(self.n_splits, dtype=np.int64)
        for unit in order:
            fold[unit] = np.argmin(load)
            load[fold[unit]] += sizes[unit]
        return fold

    def _split(self, X: Any, unit: NDArray[np.intp], what: str) -> Iterator[Split]:
        """Yield the splits of rows of these units, numbered in sorted order."""
        times = X.times if isinstance(X, Comparisons) else None
        fold = self._deal(np.bincount(unit, times).astype(np.intp), what)[unit]
        for k in range(self.n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)


class GroupFolds(_Folds):
    """Folds of whole groups, balanced by number of rows, or of comparisons as they were listed.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds.
    shuffle : bool, default=True
        Whether groups are dealt in random order; False deals them in sorted order.
    random_state : int, RandomState or None, default=0
        Seed of the order.

    Notes
    -----
    Groups are those of ``X`` if it is a `Ratings` or `Comparisons` with groups, else the argument ``groups`` or
    ``qid``. With scikit-learn's metadata routing it asks for both, so ``params={"qid": qid}`` reaches it.

    Examples
    --------
    >>> from preflearn.data import Ratings
    >>> from preflearn.selection.splitters import GroupFolds
    >>> data = Ratings([[1], [2], [3], [4]], score=[0, 1, 0, 1], group=["a", "a", "b", "b"])
    >>> for train, test in GroupFolds(n_splits=2, shuffle=False).split(data):
    ...     print(train, test)
    [2 3] [0 1]
    [0 1] [2 3]
    """

    def split(self, X: Any, y: Any = None, groups: Any = None, qid: Any = None) -> Iterator[Split]:
        """Yield train and test row numbers."""
        labels = groups if qid is None else qid
        if isinstance(X, Ratings | Comparisons) and X.group is not None:
            labels = X.group
        if labels is None:
            raise DataError(code="no-groups-to-split", owner="GroupFolds").says(
                "there are no groups",
                "Give X with groups (Ratings or Comparisons), or pass qid=... (in a search or cross_validate: "
                "turn on metadata routing and pass params={'qid': qid})",
            )
        n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
        yield from self._split(X, codes(check_labels(labels, n_rows, "groups", "GroupFolds", "row"), n_rows), "groups")

    def get_metadata_routing(self) -> Any:
        """Return what scikit-learn's routing should hand to `split`: groups, under either name."""
        from sklearn.utils.metadata_routing import MetadataRequest

        request = MetadataRequest(owner=type(self).__name__)
        for name in ("groups", "qid"):
            request.split.add_request(param=name, alias=True)
        return request


class ClusterFolds(_Folds):
    """Folds of comparisons in which all comparisons of a cluster (prompt, task, session) fall together.

    Comparisons of one cluster are not independent: with some of them in training, the test of the others measures
    what is special about the cluster, not how well the model predicts a new cluster.

    Parameters
    ----------
    n_splits, shuffle, random_state
        As for `GroupFolds`.

    Notes
    -----
    Comparisons whose cluster is unknown ("") are clusters of their own, told apart by their order only.

    Examples
    --------
    >>> from preflearn.data import Comparisons
    >>> from preflearn.selection import ClusterFolds
    >>> data = Comparisons(3, [0, 1, 0, 1], [1, 2, 2, 0], cluster=["p", "q", "p", "q"])
    >>> for train, test in ClusterFolds(n_splits=2, shuffle=False).split(data):
    ...     print(train, test)
    [1 3] [0 2]
    [0 2] [1 3]
    """

    def split(self, X: Comparisons, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield train and test row numbers."""
        _check_comparisons(X, "ClusterFolds")
        if X.cluster is None:
            raise DataError(code="no-clusters-to-split", owner="ClusterFolds").says(
                "the comparisons have no clusters", "Build Comparisons with cluster=..."
            )
        yield from self._split(X, X.clusters(), "clusters")


class PairFolds(_Folds):
    """Folds of comparisons in which all comparisons of the same two items fall together.

    Without it, a repeated match is in both training and test rows and the test measures memory.

    Parameters
    ----------
    n_splits, shuffle, random_state
        As for `GroupFolds`.

    Examples
    --------
    >>> from preflearn.data import Comparisons
    >>> from preflearn.selection.splitters import PairFolds
    >>> data = Comparisons(3, [0, 1, 1], [1, 0, 2], [1, 1, 1])
    >>> for train, test in PairFolds(n_splits=2).split(data):
    ...     print(train, test)
    [2] [0 1]
    [0 1] [2]
    """

    def split(self, X: Comparisons, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield train and test row numbers."""
        _check_comparisons(X, "PairFolds")
        yield from self._split(X, X.pairs.row, "distinct pairs")


class ItemFolds(_Folds):
    """Folds of items: no held-out item is seen in training.

    How well are items ranked that were never compared before? Needs features.

    Parameters
    ----------
    n_splits : int, default=5
        Number of folds of items.
    test : {"any", "both"}, default="any"
        Test comparisons have at least one held-out item, or two. With "both", comparisons between a held-out and a
        training item are in neither part.
    shuffle, random_state
        As for `GroupFolds`.

    Notes
    -----
    Only items that occur in a comparison are dealt; folds are balanced by number of items.

    Examples
    --------
    >>> from preflearn.data import Comparisons
    >>> from preflearn.selection.splitters import ItemFolds
    >>> data = Comparisons([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0], [2, 3, 1])
    >>> for train, test in ItemFolds(n_splits=2, shuffle=False).split(data):
    ...     print(train, test)
    [1] [0 2]
    [0] [1 2]
    """

    def __init__(
        self,
        n_splits: int = 5,
        *,
        test: Literal["any", "both"] = "any",
        shuffle: bool = True,
        random_state: Any = 0,
    ) -> None:
        super().__init__(n_splits, shuffle=shuffle, random_state=random_state)
        if test not in ("any", "both"):
            raise DataError(code="item-folds-test", owner="ItemFolds").says(
                f'test must be "any" or "both"; got {test!r}.'
            )
        self.test = test

    def split(self, X: Comparisons, y: Any = None, groups: Any = None) -> Iterator[Split]:
        """Yield train and test row numbers."""
        _check_comparisons(X, "ItemFolds")
        used = X.used_items()
        fold_of_item = np.full(X.n_items, -1, dtype=np.intp)
        fold_of_item[used] = self._deal(np.ones(len(used), dtype=np.intp), "compared items")
        any_side = 'test="any", '
        splits = []
        for fold in range(self.n_splits):
            first, second = fold_of_item[X.first] == fold, fold_of_item[X.second] == fold
            test = first | second if self.test == "any" else first & second
            splits.append((np.flatnonzero(~(first | second)), np.flatnonzero(test)))
            for rows, part in zip(splits[-1], ("training", "test"), strict=True):
                if not len(rows):
                    raise DataError(code="item-fold-empty", owner="ItemFolds").says(
                        f'fold {fold} of {self.n_splits} has no {part} comparisons (test="{self.test}", {len(used)} '
                        f"items, {len(X)} comparisons)",
                        f"Use another n_splits or random_state, {any_side if self.test == 'both' else ''}or PairFolds",
                    )
        yield from splits


def _check_comparisons(X: object, owner: str) -> None:
    if not isinstance(X, Comparisons):
        raise TypeError(f"{owner}: X must be Comparisons; got {type(X).__name__}. For rows in groups use GroupFolds.")
