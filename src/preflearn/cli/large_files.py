"""Rows of files that are too large to hold: scored piece by piece."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from preflearn.table_format import plural

if TYPE_CHECKING:
    from preflearn.cli.options import Output, ReadOptions
    from preflearn.cli.sources import Saved

LARGE = 1 << 26  # bytes of files from which rows are scored piece by piece
ENDINGS = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz")


def predict_in_pieces(saved: Saved, source: str, options: ReadOptions, output: Output) -> str | None:
    """Write the utilities of rows in large files, and return what was written; None where that is not for this way."""
    from preflearn.io.chunk_files import column_names, list_files
    from preflearn.models.of_rows import OfRows
    from preflearn.scale import predict_to, read_chunks

    names = getattr(saved.estimator, "feature_names_in_", None)
    if not isinstance(saved.estimator, OfRows) or names is None or saved.notes.get("encoder") is not None:
        return None
    if source == "-" or options.given or output.bom or not output.to_file or output.out is None:
        return None
    if output.out.suffix.lower() not in (".csv", ".parquet"):
        return None
    several = not Path(source).is_file()
    if several and not (Path(source).is_dir() or any(mark in source for mark in "*?[")):
        return None
    files = list_files(source)
    if not all(path.name.lower().endswith(ENDINGS) for path in files):
        return None
    if not several and files[0].stat().st_size < LARGE:
        return None
    features = [str(name) for name in names]
    beside = [name for name in column_names(files[0]) if name not in features and name != "utility"]
    rows = read_chunks(files, features=features, keep=beside)
    n_rows = predict_to(saved.estimator, rows, output.out, overwrite=output.force)
    return f"utilities of {plural(n_rows, 'row')}, in pieces"
