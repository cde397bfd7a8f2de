"""Rows that come in pieces: tables that do not fit in memory, read again whenever they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import check_labels, check_real, check_weight
from preflearn.exceptions import DataError, first_few
from preflearn.items import is_sparse


@dataclass(frozen=True)
class Chunk:
    """Some rows of a table.

    Attributes
    ----------
    X : ndarray or CSR matrix (n, n_features)
        Features.
    y : ndarray (n,) or None
        Scores.
    group : ndarray (n,) or None
        Labels of groups.
    weight : ndarray (n,) or None
        Weights of rows.
    place : str, default=""
        Where the rows come from, for messages.
    kept : mapping of str to ndarray (n,), default=None
        Further columns, which are passed on beside predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn.data import Chunk
    >>> piece = Chunk(np.zeros((3, 2)), np.array([1.0, 0.0, 2.0]), np.array([1, 1, 2]))
    >>> piece.X.shape
    (3, 2)
    """

    X: Any
    y: NDArray[np.float64] | None = None
    group: NDArray[Any] | None = None
    weight: NDArray[np.float64] | None = None
    place: str = ""
    kept: Mapping[str, NDArray[Any]] | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def take(self, rows: Any) -> Chunk:
        """Return some of the rows."""
        y, group, weight = (None if part is None else part[rows] for part in (self.y, self.group, self.weight))
        return Chunk(self.X[rows], y, group, weight, self.place)


class Chunks:
    """Scored rows in groups that are read in pieces, as often as they are needed.

    Pass it to ``fit`` of `RLS`, `RankRLS`, `RLSCV` or `RankRLSCV` alone, in the place of ``X``; the answers are those
    of the same rows in memory. Rows of a group may be anywhere.

    Parameters
    ----------
    source : callable or iterable
        A function that returns an iterator of pieces, or something that can be gone through more than once, such as a
        list. A piece is ``(X, y)``, ``(X, y, group)``, ``(X, y, group, weight)`` or a `Chunk`; X alone serves
        `predict`.
    feature_names : sequence of str, default=None
        Names of the features.

    See Also
    --------
    preflearn.scale.read_chunks : pieces of Parquet, CSV and SVMlight files.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn import RankRLS
    >>> from preflearn.data import Chunks
    >>> def pieces():
    ...     for seed in range(3):
    ...         rng = np.random.default_rng(seed)
    ...         X = rng.normal(size=(100, 4))
    ...         yield X, X @ [1, 2, 0, 0] + rng.normal(size=100), rng.integers(0, 10, 100)
    >>> RankRLS(alpha=1.0).fit(Chunks(pieces)).coef_.round(1)
    array([ 1. ,  2.1, -0. , -0. ])
    """

    def __init__(self, source: Callable[[], Iterable[Any]] | Iterable[Any], feature_names: Any = None) -> None:
        if isinstance(source, Iterator):
            raise TypeError(
                "Chunks: source is an iterator, which can be gone through once, and rows are read more than once. Give "
                "a function that returns a new iterator, or a list."
            )
        self._open: Callable[[], Iterable[Any]] = source if callable(source) else source.__iter__
        self.feature_names = None if feature_names is None else tuple(str(name) for name in feature_names)

    def __iter__(self) -> Iterator[Chunk]:
        """Yield checked pieces; empty ones are left out."""
        seen: tuple[int, bool, bool, bool] | None = None
        for number, piece in enumerate(self._open()):
            chunk = _checked(piece, number)
            if len(chunk) == 0:
                continue
            shape = chunk.X.shape[1], *(part is not None for part in (chunk.y, chunk.group, chunk.weight))
            if seen is None:
                seen = shape
            elif shape != seen:
                raise _differs(chunk.place, shape, seen)
            yield chunk

    def labels(self) -> Iterator[Chunk]:
        """Yield the same pieces; their features may be missing (X without columns) where that is quicker to read."""
        return iter(self)

    def columns(self) -> tuple[Any, Any, Any]:
        """Return scores, groups and weights of all rows; None where there are none."""
        parts = [(chunk.y, chunk.group, chunk.weight) for chunk in self.labels()]
        y, group, weight = (
            None if not column or column[0] is None else np.concatenate(column) for column in zip(*parts, strict=True)
        )
        return y, group, weight


def _checked(piece: Any, number: int) -> Chunk:
    """Return a piece with its fields checked."""
    kept = None
    if isinstance(piece, Chunk):
        X, y, group, weight, place, kept = piece.X, piece.y, piece.group, piece.weight, piece.place, piece.kept
    elif isinstance(piece, tuple):
        if not 2 <= len(piece) <= 4:
            raise TypeError(f"Chunks: piece {number} has {len(piece)} parts. Give (X, y), (X, y, group) or all four.")
        X, y, group, weight = (*piece, None, None)[:4]
        place = ""
    else:
        X, y, group, weight, place = piece, None, None, None, ""
    place = place or f"piece {number}"
    X = _features(X, place)
    n = int(X.shape[0])
    return Chunk(
        X,
        None if y is None else check_real(y, n, "y", place, "row"),
        None if group is None else check_labels(group, n, "group", place, "row"),
        check_weight(weight, n, place, "row", some_positive=False),
        place,
        kept,
    )


def _features(X: Any, place: str) -> Any:
    if is_sparse(X):
        X = X.tocsr()
        values = X.data
    else:
        try:
            X = values = np.asarray(X, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(code="chunk-not-numbers", owner=place).says(
                "the features are not all numbers", "Give an array of numbers, one row each"
            ) from None
        if X.ndim != 2:
            raise DataError(code="chunk-not-a-table", owner=place).says(
                f"X has shape {X.shape}", "Give an array with one row of features each, shape (n, n_features)"
            )
    if not np.isfinite(values).all():
        where = [] if is_sparse(X) else np.unique(np.nonzero(~np.isfinite(X))[0]).tolist()
        rows = f" (rows {first_few(where)} of the piece)" if where else ""
        raise DataError(code="chunk-not-finite", owner=place).says(
            f"features are missing or infinite{rows}", "Impute them, or drop those rows"
        )
    return X


def _differs(place: str, shape: Any, seen: Any) -> DataError:
    """Return the error of a piece that is not like those before it."""
    if shape[0] != seen[0]:
        what = f"has {shape[0]} features, and those before it have {seen[0]}"
    else:
        names = ("scores", "groups", "weights")
        other = [name for name, one, all_ in zip(names, shape[1:], seen[1:], strict=True) if one != all_]
        with_ = [shape[1 + names.index(name)] for name in other]
        what = f"{'has' if with_[0] else 'lacks'} {other[0]}, unlike those before it"
    return DataError(code="chunk-differs", owner=place).says(f"this piece {what}", "Give all pieces the same columns")
