"""Columns as data frames of the libraries that people have."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Literal

from preflearn.io.export import one_kind


def data_frame(columns: Mapping[str, list[Any]], library: Literal["pandas", "polars"]) -> Any:
    """Return columns as a DataFrame; in polars what is missing is null, and names of several kinds become text."""
    try:
        found = import_module(library)
    except ImportError:
        raise ImportError(
            f"to_{library} needs {library}: pip install {library}. Or use to_dict() with the data frame library you "
            "have."
        ) from None
    return found.DataFrame({name: one_kind(x) if library == "polars" else x for name, x in columns.items()})
