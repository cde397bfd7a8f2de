"""Columns as data frames of the libraries that people have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from preflearn.io.export import one_kind


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
