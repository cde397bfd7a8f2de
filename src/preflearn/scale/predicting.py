"""Predictions of rows in pieces, written as they are made."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np

from preflearn._disk import atomic_file
from preflearn.data.chunks import Chunks
from preflearn.exceptions import DataError, Place

Columns = dict[str, Any]


def predict_to(
    model: Any,
    chunks: Chunks,
    path: str | Path,
    *,
    dtype: Literal["float64", "float32"] = "float64",
    overwrite: bool = True,
) -> int:
    """Write the utilities of rows to a file, piece by piece; return the number of rows.

    Answers: how do I score a table that does not fit in memory?

    Parameters
    ----------
    model : estimator
        A fitted model that learns from rows, such as `RankRLS`.
    chunks : Chunks
        The rows. Their groups, and columns of ``read_chunks(..., keep=...)``, are written beside the utilities.
    path : str or path
        A Parquet (.parquet, which needs pyarrow) or CSV file (.csv). It appears when it is complete.
    dtype : {"float64", "float32"}, default="float64"
        Kind of numbers in a Parquet file.
    overwrite : bool, default=True
        Whether an existing file is replaced; else it is a DataError.

    Returns
    -------
    int
        Number of rows.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from preflearn import RankRLS
    >>> from preflearn.scale import Chunks, predict_to
    >>> rows = Chunks([([[0.0], [1.0]], [1, 3], ["a", "a"]), ([[2.0]], [4], ["a"])])
    >>> model = RankRLS(alpha=1e-6).fit(rows)
    >>> with TemporaryDirectory() as folder:
    ...     predict_to(model, rows, Path(folder, "scores.csv"))
    ...     print(Path(folder, "scores.csv").read_text().split()[:2])
    3
    ['group,utility', 'a,0.0']
    """
    path = Path(path)
    writers = {".parquet": _write_parquet, ".csv": _write_csv}
    if path.suffix.lower() not in writers:
        raise DataError(code="predictions-ending", where=Place(str(path))).says(
            f'predictions are not written in the format of "{path.suffix}"', "Use .parquet or .csv"
        )
    with atomic_file(path, overwrite=overwrite) as stream:
        return writers[path.suffix.lower()](stream, _predicted(model, chunks, np.dtype(dtype)))


def _predicted(model: Any, chunks: Chunks, dtype: Any) -> Iterator[Columns]:
    for chunk in chunks:
        beside: Columns = {} if chunk.kept is None else dict(chunk.kept)
        if chunk.group is not None:
            beside = {"group": chunk.group, **beside}
        utility = model.predict(Chunks([chunk], chunks.feature_names))
        yield {**beside, "utility": utility.astype(dtype)}


def _write_csv(stream: IO[bytes], pieces: Iterator[Columns]) -> int:
    n = 0
    for columns in pieces:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if n == 0:
            writer.writerow(columns)
        writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
        stream.write(text.getvalue().encode("utf-8", "replace"))
        n += len(columns["utility"])
    return n


def _write_parquet(stream: IO[bytes], pieces: Iterator[Columns]) -> int:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise DataError(code="predictions-need-pyarrow").says(
            "Parquet files are written by pyarrow, which is not installed", "Write .csv", 'install "preflearn[io]"'
        ) from None
    n, writer = 0, None
    try:
        for columns in pieces:
            table = pa.table(columns)
            writer = writer or parquet.ParquetWriter(stream, table.schema)
            writer.write_table(table.cast(writer.schema))
            n += table.num_rows
    finally:
        if writer is not None:
            writer.close()
    return n
