"""Tables out: CSV that a spreadsheet cannot run, whole files or none."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

__all__ = ["csv_text", "safe_cell", "write_csv", "write_text"]


def write_csv(header: Sequence[str], rows: Iterable[Sequence[Any]], out: Path | None, *, delimiter: str = ",") -> None:
    """Write a table to a file, whole or not at all, or to standard output."""
    if out is None:
        _write(sys.stdout, header, rows, delimiter)
        return
    write_text(csv_text(header, rows, delimiter=delimiter), out)


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]], *, delimiter: str = ",") -> str:
    """Return a table as text."""
    text = io.StringIO(newline="")
    _write(text, header, rows, delimiter)
    return text.getvalue()


def write_text(text: str, out: Path) -> None:
    """Write a text file, whole or not at all."""
    from preflearn._files import atomic_file

    with atomic_file(out) as stream:
        stream.write(text.encode("utf-8", "surrogatepass"))


def _write(stream: Any, header: Sequence[str], rows: Iterable[Sequence[Any]], delimiter: str) -> None:
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\n")
    writer.writerow([safe_cell(name) for name in header])
    writer.writerows([safe_cell(value) for value in row] for row in rows)


def safe_cell(value: Any) -> Any:
    """Return a cell that a spreadsheet shows and does not run: a quote before ``=HYPERLINK(...)`` makes it text.

    A text that starts like one that has been made so gets another quote: different cells stay different.
    """
    if isinstance(value, str) and value.lstrip("'")[:1] in ("=", "+", "-", "@", "\t", "\r"):
        try:
            float(value)
        except ValueError:
            return f"'{value}"
    return value
