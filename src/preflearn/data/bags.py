"""Bags: items that are not one vector but a sample of vectors."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from preflearn.data.fields import (
    Frozen,
    as_list,
    cells_text,
    check_labels,
    check_names,
    object_array,
    repeated,
    row_selector,
    unmask,
)
from preflearn.data.tables import frame_of, numeric_columns, open_frame
from preflearn.exceptions import DataError, first_few
from preflearn.items import ItemSet


class Bags(Frozen, ItemSet):
    """Items that are bags of vectors: a patient's measurements, a photo's patches, a player's matches.

    Usable wherever an item table is. Two bags are compared by their distributions: the kernel between them is the mean
    of the kernel over all pairs of a point of the one and a point of the other.

    Parameters
    ----------
    bags : sequence of n_items arrays or data frames of shape (n_points, n_features)
        The points of every item; numbers of points may differ, columns are the same for all. Those of frames are
        matched by name with the columns of the first.
    names : sequence of shape (n_items,), default=None
        Distinct labels of the items.
    feature_names : sequence of str of shape (n_features,), default=None
        Distinct names of the columns; None is those of the frames. Names of all columns of frames say their order.

    Attributes
    ----------
    points : array of shape (n_points, n_features)
        All points, bag after bag, float64 and read-only.
    offsets : array of shape (n_items + 1,)
        The points of item i are ``points[offsets[i]:offsets[i + 1]]``.
    names, feature_names : array of shape (n_items,) and tuple of str, or None
        As given, or of the frames.
    sizes, n_points : array of shape (n_items,), int
        Number of points of every item, and of all.
    shape : tuple
        (n_items, n_features).

    Notes
    -----
    K(P, Q) = mean of k(x, y) over x in P and y in Q (kernel mean embeddings), so that the utility of a bag is the mean
    over its points of a function that is learned. With a linear kernel only the means of bags count. A Gaussian kernel
    also sees spread about a common place, but hardly the spread of every bag about a mean of its own, if these differ
    as much: give deviations from the bag's mean as features where that is what matters.

    The order of the points of a bag has no influence, nor has listing all of them twice. A bag of one point is a row of
    a plain table. The kernel matrix costs n_points² n_features multiplications, in blocks; n_items² numbers are kept.

    Indexing selects items (``bags[[2, 0]]``) and columns (``bags[:, [1]]``).

    Examples
    --------
    >>> from preflearn import Bags, Comparisons, PreferenceGP
    >>> players = Bags([[[1.0], [3.0]], [[2.0]], [[0.0], [1.0], [5.0]]], names=["ann", "bob", "cy"])
    >>> players
    Bags(3 items of 1 to 3 points with 1 features, named)
    >>> players.means().ravel()
    array([2., 2., 2.])
    >>> model = PreferenceGP(hyperparameters="fixed").fit(Comparisons(players, ["bob", "ann"], ["ann", "cy"]))
    >>> model.rank().names  # the steady before the unsteady, though their means are equal
    array(['bob', 'ann', 'cy'], dtype=object)
    """

    _ROW_FIELDS: ClassVar = ("offsets",)
    ndim: ClassVar = 2
    one_row_each: ClassVar = False

    points: NDArray[np.float64]
    offsets: NDArray[np.intp]
    names: NDArray[Any] | None
    feature_names: tuple[str, ...] | None

    def __init__(self, bags: Any, names: Any = None, feature_names: Any = None) -> None:
        if feature_names is not None:
            feature_names = [str(name) for name in as_list(feature_names, "feature_names", "Bags")]
        labels = None if names is None else as_list(names, "names", "Bags")
        arrays, feature_names = _arrays(bags, labels, feature_names)
        sizes = [len(array) for array in arrays]
        self._prepare(np.concatenate(arrays), np.concatenate([[0], np.cumsum(sizes)]), names, feature_names, "Bags")

    def _prepare(self, points: NDArray[np.float64], offsets: Any, names: Any, feature_names: Any, owner: str) -> None:
        """Check what concerns all bags together and set the fields."""
        n_items = len(offsets) - 1
        if points.shape[1] == 0:
            raise DataError(code="bags-without-features", owner=owner).says(
                "the points have no columns", "Give at least one feature"
            )
        names = None if names is None else check_names(names, n_items, owner)
        if feature_names is not None:
            feature_names = tuple(str(name) for name in feature_names)
            if len(feature_names) != points.shape[1]:
                raise DataError(code="bag-feature-names-count", owner=owner).says(
                    f"there are {len(feature_names)} feature names for {points.shape[1]} columns",
                    "Give one name per column",
                )
            twice = repeated(feature_names)
            if twice:
                raise DataError(code="bag-feature-names-repeated", owner=owner).says(
                    f"{len(twice)} of the feature names occur more than once ({first_few(twice)})",
                    "Every feature needs its own name",
                )
        self._fill(points=points, offsets=np.asarray(offsets, dtype=np.intp), names=names, feature_names=feature_names)
        rows, columns = np.nonzero(~np.isfinite(points))
        if not len(rows):
            return
        items = np.searchsorted(self.offsets, rows, side="right") - 1

        def place(row: int) -> str:
            item = int(np.searchsorted(self.offsets, row, side="right")) - 1
            known = "" if names is None else f" ({first_few([names[item]])})"
            return f"bag {item}{known}, point {row - self.offsets[item]}"

        raise DataError(code="bag-values-missing", owner=owner).says(
            f"{len(rows)} values of {len(set(items.tolist()))} bags are missing or infinite "
            f"({cells_text(rows, columns, points[rows, columns], self.feature_names, place)})",
            "Drop those points, or impute them",
        )

    @classmethod
    def from_table(cls, frame: Any, item: str, features: Sequence[str] | None = None) -> Self:
        """Build from one data frame of any library with a row for every point.

        Parameters
        ----------
        frame : data frame
            One row per point; the rows of an item need not be next to each other.
        item : str
            Column that says which item a point belongs to. Items are named by it, in order of appearance.
        features : sequence of str, default=None
            Columns of features, which must be numbers; all others by default.

        Returns
        -------
        Bags
            One bag for every item.

        Examples
        --------
        >>> import pandas as pd
        >>> from preflearn import Bags
        >>> table = pd.DataFrame({"photo": ["sea", "sea", "hill"], "red": [0.1, 0.2, 0.4], "blue": [0.9, 0.8, 0.3]})
        >>> Bags.from_table(table, item="photo").sizes
        array([2, 1])
        """
        owner = f"{cls.__name__}.from_table"
        table, columns, chosen = open_frame(frame, {"item": item}, owner, f"{cls.__name__}([array, ...])", features)
        if not len(table):
            raise DataError(code="bag-table-empty", owner=owner).says(
                "the table has no rows, so there are no bags", "Give at least one point"
            )
        labels = check_labels(columns["item"], len(table), "item", owner, "row").tolist()
        number: dict[Any, int] = {}
        code = np.array([number.setdefault(label, len(number)) for label in labels], dtype=np.intp)
        points = numeric_columns(table, chosen, owner)[np.argsort(code, kind="stable")]
        built = cls.__new__(cls)
        offsets = np.concatenate([[0], np.cumsum(np.bincount(code))])
        built._prepare(points, offsets, object_array(list(number)), chosen, owner)
        return built

    @property
    def sizes(self) -> NDArray[np.intp]:
        """Number of points of every item."""
        return np.diff(self.offsets)

    @property
    def n_points(self) -> int:
        """Number of points of all items."""
        return int(self.points.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """(n_items, n_features), as of an item table."""
        return len(self), int(self.points.shape[1])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __repr__(self) -> str:
        sizes = self.sizes
        low, high = int(sizes.min(initial=sizes[0] if len(self) else 0)), int(sizes.max(initial=0))
        points = f"{low} to {high} points" if low != high else f"{low} point{'' if low == 1 else 's'}"
        named = "" if self.names is None else ", named"
        return f"Bags({len(self)} items of {points} with {self.shape[1]} features{named})"

    def __getitem__(self, key: Any) -> Self:
        """Select items by integer, slice, mask or list of integers, and columns by a second index."""
        columns: Any = slice(None)
        if isinstance(key, tuple) and len(key) == 2 and key[1] is not Ellipsis:
            key, columns = key
            columns = np.arange(self.shape[1])[row_selector(columns, self.shape[1])]
        rows = np.arange(len(self))[row_selector(key, len(self))]
        sizes = self.sizes[rows]
        offsets = np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(sizes)])
        taken = np.repeat(self.offsets[rows] - offsets[:-1], sizes) + np.arange(offsets[-1])
        features = self.feature_names
        if features is not None and not isinstance(columns, slice):
            features = tuple(features[column] for column in columns)
        return self._from_fields(
            points=np.ascontiguousarray(self.points[taken][:, columns]),
            offsets=offsets,
            names=None if self.names is None else self.names[rows],
            feature_names=features,
        )

    def __array__(self, *args: object, **kwargs: object) -> NDArray[Any]:
        raise TypeError(
            "Bags are not a table with one row per item. Use .means() for the mean of every bag, .points for all "
            "points, or a model that takes Bags, such as PreferenceGP or RankRLS with a kernel."
        )

    def average(self, values: Any) -> NDArray[np.float64]:
        """Return the means (n_items, r) over every bag's points of values (n_points, r)."""
        return np.asarray(np.add.reduceat(values, self.offsets[:-1], axis=0) / self.sizes[:, np.newaxis])

    def point_weights(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return weights of points (n_points,) from those of bags, each shared equally among its points."""
        return np.repeat(weight / self.sizes, self.sizes)

    def to_list(self) -> list[NDArray[np.float64]]:
        """Return the points of every item, arrays of shape (n_points, n_features)."""
        return [self.points[start:stop] for start, stop in zip(self.offsets[:-1], self.offsets[1:], strict=True)]

    def bare(self) -> Self:
        """Return the bags alone: names are kept where the items are used."""
        return self._from_fields(points=self.points, offsets=self.offsets, names=None, feature_names=None)

    def checked(self) -> Self:
        """Return the bags: they were checked when they were built."""
        return self

    def with_points(self, points: Any, owner: str) -> Self:
        """Return the same bags with every point changed, as a transformer of rows does."""
        points = np.array(points.toarray() if hasattr(points, "toarray") else points, dtype=np.float64)
        if points.ndim != 2 or len(points) != self.n_points:
            raise DataError(code="bag-transformer-changed-rows", owner=owner).says(
                f"{self.n_points} points became an array of shape {points.shape}",
                "Use a transformer that returns one row for every row",
            )
        built = type(self).__new__(type(self))
        built._prepare(points, self.offsets, self.names, None, owner)
        return built

    def joined(self, other: Bags) -> Self:
        """Return these bags and then those of another."""
        return self._from_fields(
            points=np.concatenate([self.points, other.points]),
            offsets=np.concatenate([self.offsets, self.n_points + other.offsets[1:]]),
            names=None,
            feature_names=None,
        )

    def keys(self) -> list[Hashable]:
        """Return what is equal for bags with the same distribution: distinct points, in lexical order, and shares."""
        keys: list[Hashable] = []
        for array in self.to_list():
            distinct, counts = np.unique(array + 0.0, axis=0, return_counts=True)  # + 0.0: -0 is 0
            keys.append((tuple(distinct.ravel().tolist()), tuple((counts // np.gcd.reduce(counts)).tolist())))
        return keys

    def distinct(self) -> NDArray[np.intp]:
        """Return numbers of distinct bags, in the lexical order of their keys."""
        keys: list[Any] = self.keys()
        place = {key: row for row, key in enumerate(sorted(set(keys)))}
        return np.array([place[key] for key in keys], dtype=np.intp)

    def all_equal(self) -> bool:
        """Say whether all bags have the same distribution."""
        return len(set(self.keys())) == 1

    def equal(self, other: Any) -> bool:
        """Say whether others are bags with, one by one, the same distributions."""
        return isinstance(other, Bags) and self.keys() == other.keys()


def _arrays(
    bags: Any, names: list[Any] | None, features: list[str] | None
) -> tuple[list[NDArray[np.float64]], list[str] | None]:
    """Return the points of every bag as arrays with the same number of columns, and the names of these."""
    if isinstance(bags, str | bytes | dict) or not isinstance(bags, Iterable) or sparse.issparse(bags):
        raise TypeError(
            f"Bags: bags must be a sequence of arrays of shape (n_points, n_features); got {type(bags).__name__}."
        )
    if frame_of(bags, "Bags") is not None:
        raise TypeError('Bags: got a data frame. Use Bags.from_table(frame, item="...") with the column of items.')
    bags = list(bags)
    if not bags:
        raise DataError(code="no-bags", owner="Bags").says("there are no bags", "Give at least one")
    named = [] if names is None else [f" ({first_few([name])})" for name in names[: len(bags)]]
    which = [f"bag {number}{name}" for number, name in enumerate(named + [""] * (len(bags) - len(named)))]
    plain = (np.ndarray, list, tuple)
    frames = [
        None if isinstance(bag, plain) else frame_of(bag, f"Bags: {one}") for bag, one in zip(bags, which, strict=True)
    ]
    columns, features = _columns(frames, which, features)
    arrays = [
        _array(bag if frame is None else numeric_columns(frame, columns, f"Bags: {one}"), one)
        for bag, frame, one in zip(bags, frames, which, strict=True)
    ]
    other = [number for number, array in enumerate(arrays) if array.shape[1] != arrays[0].shape[1]]
    if other:
        raise DataError(code="bag-widths-differ", owner="Bags").says(
            f"{len(other)} of {len(arrays)} bags have other numbers of columns than the first: {which[0]} "
            f"has {arrays[0].shape[1]} and {which[other[0]]} has {arrays[other[0]].shape[1]}",
            "Give every point the same features",
        )
    return arrays, features


def _columns(frames: list[Any], which: list[str], features: list[str] | None) -> tuple[list[str], list[str] | None]:
    """Return the columns to take from every frame, in order, and the names of features; frames must have the same."""
    given = [(frame.columns, one) for frame, one in zip(frames, which, strict=True) if frame is not None]
    if not given:
        return [], features
    columns, first = given[0]
    for own, one in given:
        missing = [column for column in columns if column not in own]
        extra = [column for column in own if column not in columns]
        if missing or extra:
            lacks = f" has no {first_few(missing)}" if missing else ""
            has = f"{' and' if missing else ''} also has {first_few(extra)}" if extra else ""
            raise DataError(code="bag-columns-differ", owner="Bags").says(
                f"the columns of {one} are not those of {first}: it{lacks}{has}", "Give every point the same features"
            )
    known = [name for name in features or columns if name in columns]
    if features is None or not known:
        return columns, features or columns  # new names for all
    if set(features) != set(columns):
        raise DataError(code="bag-feature-names-unknown", owner="Bags").says(
            f"{len(known)} of the feature names are columns of the frames ({first_few(known)}) and the "
            f"others are not (columns: {first_few(columns, 8)})",
            "Name all columns, or leave feature_names out",
        )
    return features, features


def _array(bag: Any, which: str) -> NDArray[np.float64]:
    if sparse.issparse(bag):
        raise TypeError(f"Bags: {which} is sparse. Pass its toarray().")
    try:
        array = np.asarray(unmask(bag))
        if array.dtype.kind == "c":
            raise TypeError("complex numbers")
        array = np.array(array, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise TypeError(f"Bags: {which} must be a table of real numbers ({error}).") from None
    if array.ndim in (1, 2) and not len(array):
        raise DataError(code="empty-bag", owner="Bags").says(
            f"{which} is empty", "Every item needs at least one point: drop it"
        )
    if array.ndim != 2:
        cure = "For one point per item pass the table itself as items, or Bags(table[:, None, :])."
        raise TypeError(
            f"Bags: {which} has shape {array.shape}; every bag must have shape (n_points, n_features). "
            f"{cure if array.ndim < 2 else 'Use one row per point.'}"
        )
    return array
