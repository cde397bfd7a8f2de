"""Columns as data frames of the libraries that people have."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

__all__ = ["one_kind", "pandas_frame", "polars_frame"]


def pandas_frame(columns: Mapping[str, list[Any]]) -> Any:
    """Return columns as a pandas DataFrame."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "to_pandas needs pandas: pip install pandas. Or use to_dict() with the data frame library you have."
        ) from None
    return pd.DataFrame(dict(columns))


def polars_frame(columns: Mapping[str, list[Any]]) -> Any:
    """Return columns as a polars DataFrame: what is missing is null, names of several kinds become text."""
    try:
        import polars as pl
    except ImportError:
        raise ImportError(
            "to_polars needs polars: pip install polars. Or use to_dict() with the data frame library you have."
        ) from None
    return pl.DataFrame({name: one_kind(values) for name, values in columns.items()})


def one_kind(values: list[Any]) -> list[Any]:
    """Return a column as typed tables want it: None where a number is missing, text where kinds differ."""
    values = [None if isinstance(value, float) and math.isnan(value) else value for value in values]
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 and not kinds <= {int, float}:
        return [None if value is None else str(value) for value in values]
    return values
