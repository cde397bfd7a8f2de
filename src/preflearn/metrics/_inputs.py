"""The gate through which labels, scores, groups and weights enter a metric.

Everything is checked here once, with messages that name the wrong rows, and trusted below. Group labels of any
hashable kind leave as numbers ``0 .. n_groups - 1`` in sorted order of the labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import InvalidParameterError

from preflearn.data.fields import check_labels, codes
from preflearn.exceptions import DataError, first_few, nearest_names

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]


class Rows(NamedTuple):
    """Checked rows: true and predicted values, group codes without gaps, and weights or None."""

    truth: NDArray[Any]
    score: NDArray[Any]
    group: Indices
    n_groups: int
    weight: Floats | None


def check_rows(
    caller: str,
    truth: ArrayLike,
    score: ArrayLike,
    group: ArrayLike | None = None,
    weight: ArrayLike | None = None,
    names: tuple[str, str, str] = ("y_true", "y_score", "qid"),
) -> Rows:
    """Check the rows of a metric and number its groups; ``names`` are the words of the caller's signature."""
    true_values = _vector(caller, names[0], truth)
    scores = _vector(caller, names[1], score)
    n_rows = len(true_values)
    _check_length(caller, names[1], len(scores), names[0], n_rows)
    if n_rows == 0:
        raise DataError(code="no-rows-to-judge", owner=caller).says(
            "there are no rows to judge", "Pass at least two rows of one group"
        )
    weights = None
    if weight is not None:
        weights = _vector(caller, "sample_weight", weight).astype(np.float64)
        _check_length(caller, "sample_weight", len(weights), names[0], n_rows)
        _refuse(caller, "sample_weight", weights < 0, "are negative", "Weights must be 0 or more")
        if not weights.any():
            raise DataError(code="metric-weights-zero", owner=caller).says(
                f"all {n_rows} weights are 0, so no row counts",
                "Give at least two rows of one group a positive weight, or pass sample_weight=None",
            )
        # Every metric is a ratio, so the scale is free; a power of two changes no digit and rules out overflow.
        weights = np.ldexp(weights, -int(np.frexp(weights.max())[1]))
    number = codes(None if group is None else check_labels(group, n_rows, names[2], caller, "row"), n_rows)
    return Rows(true_values, scores, number, int(number.max()) + 1, weights)


def check_option(caller: str, name: str, value: object, options: Sequence[str | None]) -> None:
    """Refuse a parameter value which is not among the options, naming the nearest one."""
    if (value is None or isinstance(value, str)) and value in options:
        return
    hint = nearest_names(str(value), [option for option in options if option is not None])
    listed = ", ".join(repr(option) for option in options)
    raise InvalidParameterError(
        f"{caller}: {name}={value!r} is not one of {listed}.\n  Choose one of them{' (' + hint + ')' if hint else ''}."
    )


def divide(numerator: NDArray[Any], denominator: NDArray[Any]) -> Floats:
    """Return the ratio, NaN where the denominator is 0."""
    ratio = np.full(len(denominator), np.nan)
    np.divide(numerator, denominator, out=ratio, where=denominator > 0)
    return ratio


def average_groups(caller: str, values: Floats, average: str | None, why: str, cure: str) -> float | Floats:
    """Return one value per group for ``average=None``, else the mean of the groups which have one (not NaN)."""
    if average is None:
        return values
    defined = ~np.isnan(values)
    if not defined.any():
        n_groups = len(values)
        where = "the only group" if n_groups == 1 else f"all {n_groups} groups"
        raise DataError(code="metric-undefined", owner=caller).says(f"undefined in {where}: {why}", cure)
    return float(np.mean(values[defined]))


def _vector(caller: str, name: str, values: ArrayLike) -> NDArray[Any]:
    """Return a 1-D array of finite numbers; integers stay integers, so that no tie is made by rounding."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise DataError(code="metric-numbers-shape", owner=caller).says(
            f"{name} has shape {array.shape}; one number per row is needed",
            f"Pass a 1-D array (a single column becomes one by {name}.ravel())",
        )
    if array.dtype.kind == "b":
        return array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        try:
            if array.dtype.kind != "O":
                raise TypeError
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise DataError(code="metric-not-numbers", owner=caller).says(
                f"{name} holds values which are not real numbers (dtype {array.dtype}; first values: "
                f"{first_few(array.tolist())})",
                "Convert the column to numbers and drop missing rows",
            ) from None
    _refuse(caller, name, ~np.isfinite(array), "are NaN or infinite", "Drop these rows, or give them finite values")
    return array


def _refuse(caller: str, name: str, bad: NDArray[np.bool_], what: str, cure: str) -> None:
    """Raise with the first offending rows if any value is bad."""
    if bad.any():
        rows = np.flatnonzero(bad)
        raise DataError(code="metric-bad-values", owner=caller).says(
            f"{len(rows)} of {len(bad)} values of {name} {what} (rows {first_few(rows)})", cure
        )


def _check_length(caller: str, name: str, length: int, other: str, expected: int) -> None:
    if length != expected:
        raise DataError(code="metric-lengths-differ", owner=caller).says(
            f"{name} has {length} rows but {other} has {expected}", "Pass one value per row in both"
        )
