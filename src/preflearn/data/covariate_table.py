"""Covariates of comparisons: one row of numbers per comparison, the first side's numbers less the second's."""

from __future__ import annotations

from typing import Any, TypeAlias

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import cells_text, is_missing, unmask
from preflearn.data.item_table import frame_of, numeric_columns
from preflearn.exceptions import DataError, first_few

__all__ = ["Covariates", "check_covariates"]

Covariates: TypeAlias = tuple[NDArray[np.float64] | None, tuple[str, ...] | None]  # values, names

_CURE = "Encode text as numbers, the first side's less the second's, or drop the column."


def check_covariates(covariates: Any, n_rows: int, owner: str) -> Covariates:
    """Return covariates as a new table of finite floats, and the names of its columns; None stays None."""
    if covariates is None:
        return None, None
    values, names = _read(covariates, owner)
    if not values.shape[1]:
        raise DataError(
            f"covariates has no columns (shape {values.shape})",
            "Give at least one column, or leave it out",
            code="covariates-without-columns",
            owner=owner,
        )
    if len(values) != n_rows:
        raise DataError(
            f"covariates has {len(values)} rows for {n_rows} comparisons",
            "Give one row per comparison, in the same order",
            code="covariates-row-count",
            owner=owner,
        )
    _check_finite(values, names, owner)
    return values, names


def _read(covariates: Any, owner: str) -> tuple[NDArray[np.float64], tuple[str, ...] | None]:
    native = nw.from_native(covariates, pass_through=True, series_only=True)
    if isinstance(native, nw.Series):  # one column; its name, if it has one, is that of the covariate
        table = native.rename("0" if native.name in (None, "") else str(native.name)).to_frame()
        return _columns(table, owner), None if native.name in (None, "") else tuple(table.columns)
    frame = frame_of(covariates, f"{owner}, covariates")
    if frame is not None:
        return _columns(frame, owner), tuple(frame.columns)
    return _from_array(covariates, owner), None


def _columns(frame: nw.DataFrame[Any], owner: str) -> NDArray[np.float64]:
    schema = frame.schema
    text = [c for c in frame.columns if not (schema[c].is_numeric() or schema[c] == nw.Boolean)]
    if text:
        raise DataError(
            f"{len(text)} of {len(schema)} columns of covariates are not numeric ({first_few(text)}; "
            f"{schema[text[0]]})",
            _CURE,
            code="covariates-not-numeric",
            owner=owner,
        )
    return numeric_columns(frame, list(frame.columns), owner)


def _from_array(covariates: Any, owner: str) -> NDArray[np.float64]:
    if hasattr(covariates, "toarray"):  # a sparse matrix
        covariates = covariates.toarray()
    try:
        given = np.asarray(unmask(covariates))
    except ValueError:
        raise DataError(
            "the rows of covariates differ in length",
            "Give every comparison a number in every column",
            code="covariates-ragged",
            owner=owner,
        ) from None
    if given.ndim not in (1, 2):
        found = f"shape {given.shape}" if given.ndim else type(covariates).__name__
        raise TypeError(
            f"{owner}: covariates must have shape (n_comparisons, n_covariates) or (n_comparisons,); got {found}. "
            "Use one row per comparison."
        )
    table = given[:, None] if given.ndim == 1 else given
    if table.dtype.kind in "biuf":
        return np.array(table, dtype=np.float64, order="C")
    values = np.empty(table.shape)
    table = np.array(covariates, dtype=object).reshape(table.shape)  # NumPy makes all cells text where one is
    for (row, column), value in np.ndenumerate(table):
        number = np.nan if is_missing(value) else _number(value)
        if number is None:
            raise DataError(
                f"covariates must be numbers; row {row}, column {column} holds {first_few([value])}",
                _CURE,
                code="covariates-not-numeric",
                owner=owner,
            )
        values[row, column] = number
    return values


def _number(value: Any) -> float | None:
    if isinstance(value, str | bytes):
        return None
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def _check_finite(values: NDArray[np.float64], names: tuple[str, ...] | None, owner: str) -> None:
    rows, columns = np.nonzero(~np.isfinite(values))
    if not len(rows):
        return
    raise DataError(
        f"covariates has {len(rows)} missing or infinite values in {len(set(rows.tolist()))} of "
        f"{len(values)} comparisons ({cells_text(rows, columns, values[rows, columns], names)})",
        "Impute them, or drop those comparisons or columns",
        code="covariates-missing",
        owner=owner,
    )
