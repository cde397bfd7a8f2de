"""Files of rows that are read in pieces: Parquet, CSV and SVMlight, one or many of each."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from preflearn.data.chunks import Chunk, Chunks
from preflearn.exceptions import FileFormatError, Place, first_few, nearest_names
from preflearn.io.opening import is_path
from preflearn.io.svmlight import Limits, parse_lines, parse_whole

ENDINGS = (".parquet", ".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".svm", ".svmlight", ".libsvm", ".letor")
_SVMLIGHT = (".txt", ".svm", ".svmlight", ".libsvm", ".letor")


class Columns(NamedTuple):
    """Which column is what; features None: all others."""

    target: str | None
    group: str | None
    weight: str | None
    features: tuple[str, ...] | None
    kept: tuple[str, ...]

    @property
    def labels(self) -> list[str]:
        """The columns that say something of rows."""
        return [name for name in (self.target, self.group, self.weight) if name is not None]


def read_chunks(
    paths: Any,
    *,
    target: str | None = None,
    group: str | None = None,
    weight: str | None = None,
    features: Sequence[str] | None = None,
    keep: Sequence[str] = (),
    n_features: int | None = None,
    chunk_rows: int = 65_536,
) -> Chunks:
    r"""Return the rows of files in pieces, for tables that do not fit in memory.

    Answers: how do I fit a model on files larger than memory?

    Parameters
    ----------
    paths : str, path or sequence of these
        Parquet, CSV (also packed by gzip) or SVMlight files: a file, a directory, a pattern such as
        ``"data/*.parquet"``, or a list of these. They are read in the order of their names.
    target, group, weight : str, default=None
        Columns of scores, groups and weights; SVMlight files have these by themselves.
    features : sequence of str, default=None
        Columns of features; by default all others.
    keep : sequence of str, default=()
        Columns that are no features but stand beside predictions, such as the name of a document.
    n_features : int, default=None
        Number of features of SVMlight files; by default the largest index, for which they are read once more.
    chunk_rows : int, default=65536
        About how many rows a piece has.

    Returns
    -------
    Chunks
        Pass it to ``fit`` in the place of ``X``. Every pass reads the files again; of Parquet files only the columns
        that are needed.

    Raises
    ------
    FileFormatError
        If there is no such file or column, if files differ in their columns, or if one is damaged.

    Notes
    -----
    CSV files are read by pyarrow where it is installed, and several times more slowly where it is not.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from preflearn import RankRLS
    >>> from preflearn.scale import read_chunks
    >>> with TemporaryDirectory() as folder:
    ...     for part, rows in enumerate(["3,1,0.5\n2,1,0.1\n", "1,2,0.3\n4,2,0.9\n"]):
    ...         _ = Path(folder, f"part{part}.csv").write_text("score,query,length\n" + rows)
    ...     RankRLS().fit(read_chunks(folder, target="score", group="query")).coef_.round(2)
    array([1.45])
    """
    files = list_files(paths)
    columns = Columns(target, group, weight, None if features is None else tuple(features), tuple(keep))
    kinds = {_kind(path) for path in files}
    if len(kinds) > 1:
        raise FileFormatError(code="chunk-files-of-kinds", where=Place(str(files[0].parent))).says(
            f"there are files of several kinds ({first_few(sorted(kinds))})", "Name those of one kind, as in data/*.csv"
        )
    kind = kinds.pop()
    if kind == "svmlight":
        return SvmlightChunks(files, n_features, chunk_rows)
    return TableChunks(files, columns, chunk_rows, parquet_batches if kind == "parquet" else csv_batches)


def list_files(paths: Any) -> list[Path]:
    """Return the files that paths, directories and patterns name, in the order of their names."""
    given = [paths] if is_path(paths) else list(paths)
    found: list[Path] = []
    for one in given:
        path = Path(one)
        if path.is_dir():
            inside = sorted(p for p in path.iterdir() if p.is_file() and p.name.lower().endswith(ENDINGS))
            if not inside:
                raise FileFormatError(code="chunk-directory-empty", where=Place(str(path))).says(
                    f"no file in this directory ends in {', '.join(ENDINGS)}",
                    "Give one file, or name several, as in data/part-*",
                )
            found += inside
        elif path.exists():
            found.append(path)
        else:
            base = Path(path.anchor) if path.is_absolute() else Path()
            parts = path.parts[1:] if path.is_absolute() else path.parts
            matched = sorted(name for name in base.glob(str(Path(*parts))) if name.is_file())
            if not matched:
                raise FileFormatError(code="no-such-chunk-file", where=Place(str(path))).says(
                    "there is no such file, and no file has a name like it", "Check the path"
                )
            found += matched
    return found


def column_names(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet or CSV file."""
    first = next((parquet_batches if _kind(path) == "parquet" else csv_batches)(path, None, 1, _no_check), None)
    if first is None:
        raise FileFormatError(code="chunk-file-empty", where=Place(str(path))).says(
            "the file has no rows", "Give a file with data"
        )
    return first[0]


def _no_check(names: Sequence[str], path: Path) -> None:
    """Take any columns."""


def _kind(path: Path) -> str:
    name = path.name.lower()
    with path.open("rb") as stream:
        start = stream.read(4)
    if name.endswith(".parquet") or start == b"PAR1":
        return "parquet"
    return "svmlight" if name.removesuffix(".gz").endswith(_SVMLIGHT) else "csv"


Check = Callable[[Sequence[str], Path], None]  # of the names of a file's columns
Batches = Callable[[Path, Sequence[str] | None, int, Check], Iterator[tuple[list[str], list[NDArray[Any]]]]]


class TableChunks(Chunks):
    """Pieces of tables with named columns."""

    def __init__(self, files: Sequence[Path], columns: Columns, chunk_rows: int, batches: Batches) -> None:
        self._files = files
        self._columns = columns
        self._rows = chunk_rows
        self._batches = batches
        names = column_names(files[0])
        for name in (*columns.labels, *(columns.features or ()), *columns.kept):
            _check_column(name, names, files[0])
        self._names = names if columns.features is None else None  # no further columns where all others are features
        others = {*columns.labels, *columns.kept}
        features = columns.features or tuple(name for name in names if name not in others)
        super().__init__(lambda: self._read(list(features), columns.kept), features)

    def labels(self) -> Iterator[Chunk]:
        """Yield pieces without features, which need not be read from Parquet files."""
        return self._read([])

    def _read(self, features: list[str], kept: Sequence[str] = ()) -> Iterator[Chunk]:
        columns = self._columns
        wanted = list(dict.fromkeys([*features, *columns.labels, *kept]))
        alike: dict[str, bool] = {}

        def check(names: Sequence[str], path: Path) -> None:
            for name in wanted:
                _check_column(name, names, path)
            more = [name for name in names if self._names is not None and name not in self._names]
            if more:
                raise FileFormatError(code="chunk-column-more", where=Place(str(path))).says(
                    f"there are columns that {self._files[0]} does not have ({first_few(more)})",
                    "Name the columns that are features",
                    "give all files the same columns",
                )

        for path in self._files:
            seen = 0
            for names, values in self._batches(path, wanted, self._rows, check):
                table = dict(zip(names, values, strict=True))
                for name in {*kept, columns.group} - {None}:
                    _check_kind(alike, table[str(name)], str(name), path)
                n = values[0].shape[0] if values else 0
                X = np.empty((n, len(features)))
                for j, name in enumerate(features):
                    X[:, j] = _numbers(table[name], name, path, seen)
                parts = [
                    None if name is None else _numbers(table[name], name, path, seen)
                    for name in (columns.target, columns.weight)
                ]
                group = None if columns.group is None else table[columns.group]
                beside = {name: table[name] for name in kept} or None
                yield Chunk(X, parts[0], group, parts[1], f"{path}, rows {seen + 1} to {seen + n}", beside)
                seen += n


def _check_column(name: str, known: Sequence[str], path: Path) -> None:
    if name not in known:
        near = nearest_names(name, known)
        raise FileFormatError(code="chunk-column-missing", where=Place(str(path))).says(
            f'there is no column "{name}"' + (f" ({near})" if near else ""), f"Columns are {first_few(known, 8)}"
        )


def _check_kind(alike: dict[str, bool], values: NDArray[Any], name: str, path: Path) -> None:
    """Raise FileFormatError where a column of labels holds words, and held numbers before, or the other way round."""
    numbers = values.dtype.kind in "iufb"
    if alike.setdefault(name, numbers) != numbers:
        here, before = ("numbers", "words") if numbers else ("words", "numbers")
        raise FileFormatError(code="chunk-of-another-kind", where=Place(str(path))).says(
            f'column "{name}" holds {here} here and {before} in the rows before', "Write it in one way in all files"
        )


def _numbers(values: NDArray[Any], name: str, path: Path, before: int) -> NDArray[np.float64]:
    """Return a column of numbers; FileFormatError names the first row that is not a number."""
    if values.dtype.kind not in "iufb":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            row = next(i for i, value in enumerate(values) if not _is_number(value))
            raise FileFormatError(code="chunk-not-a-number", where=Place(str(path))).says(
                f'column "{name}" holds {str(values[row])[:40]!r} in row {before + row + 1}, which is not a number',
                "Leave the column out with features=, or turn it into numbers",
            ) from None
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.shape[0]:
        raise FileFormatError(code="chunk-gap", where=Place(str(path))).says(
            f'column "{name}" is empty or infinite in row {before + int(bad[0]) + 1}', "Fill the gap, or drop the row"
        )
    return np.asarray(values, dtype=np.float64)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def parquet_batches(
    path: Path, wanted: Sequence[str] | None, rows: int, check: Check
) -> Iterator[tuple[list[str], list[NDArray[Any]]]]:
    """Yield names and columns of some rows of a Parquet file."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        raise FileFormatError(code="chunks-need-pyarrow", where=Place(str(path))).says(
            "Parquet files are read by pyarrow, which is not installed", 'Install preflearn with "preflearn[io]"'
        ) from None
    try:
        with parquet.ParquetFile(path) as table:
            check(table.schema_arrow.names, path)
            for batch in table.iter_batches(rows, columns=None if wanted is None else list(wanted), use_threads=False):
                yield batch.schema.names, [_array(column) for column in batch.columns]
    except (ArrowException, OSError) as error:
        raise _broken(path, error) from None


def csv_batches(
    path: Path, wanted: Sequence[str] | None, rows: int, check: Check
) -> Iterator[tuple[list[str], list[NDArray[Any]]]]:
    """Yield names and columns of some rows of a CSV file."""
    delimiter = "\t" if ".tsv" in path.name.lower() else ","
    try:
        from pyarrow import ArrowException, csv
    except ImportError:
        yield from _plain_csv(path, wanted, rows, check, delimiter)
        return
    options = csv.ReadOptions(use_threads=False, block_size=1 << 24)
    convert = csv.ConvertOptions(include_columns=None if wanted is None else list(wanted))
    try:
        if wanted is not None:
            with csv.open_csv(
                path, csv.ReadOptions(block_size=1 << 20), csv.ParseOptions(delimiter=delimiter)
            ) as table:
                check(table.schema.names, path)
        with csv.open_csv(path, options, csv.ParseOptions(delimiter=delimiter), convert) as table:
            for batch in table:
                for start in range(0, batch.num_rows, rows):
                    part = batch.slice(start, rows)
                    yield part.schema.names, [_array(column) for column in part.columns]
    except (ArrowException, OSError, UnicodeDecodeError, EOFError) as error:
        raise _broken(path, error) from None


def _array(column: Any) -> NDArray[Any]:
    """Return a column of pyarrow; texts as numpy strings, gaps as NaN or None."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    values: NDArray[Any] = column.to_numpy(zero_copy_only=False)
    text = types.is_string(column.type) or types.is_large_string(column.type)
    return values.astype(np.str_) if text and not column.null_count else values


def _plain_csv(
    path: Path, wanted: Sequence[str] | None, rows: int, check: Check, delimiter: str
) -> Iterator[tuple[list[str], list[NDArray[Any]]]]:
    """Yield the same by Python's own reader."""
    import csv

    opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
    try:
        with opener(path, "rt", encoding="utf-8-sig", newline="") as stream:
            lines = csv.reader(stream, delimiter=delimiter)
            names = next(lines, [])
            check(names, path)
            place = [names.index(name) for name in (names if wanted is None else wanted)]
            some: list[list[str]] = []
            for line in lines:
                if len(line) != len(names):
                    raise FileFormatError(code="chunk-row-length", where=Place(str(path), lines.line_num)).says(
                        f"the row has {len(line)} cells, and the header {len(names)}", "Mend or drop the row"
                    )
                some.append(line)
                if len(some) == rows:
                    yield [names[j] for j in place], [_column([one[j] for one in some]) for j in place]
                    some = []
            if some:
                yield [names[j] for j in place], [_column([one[j] for one in some]) for j in place]
    except (OSError, UnicodeDecodeError, EOFError) as error:
        raise _broken(path, error) from None


def _column(cells: list[str]) -> NDArray[Any]:
    """Return cells as whole numbers, numbers or texts."""
    for kind in (np.int64, np.float64):
        try:
            return np.array([cell or "nan" for cell in cells] if kind is np.float64 else cells).astype(kind)
        except ValueError:
            continue
    return np.array(cells)


def _broken(path: Path, error: Exception) -> FileFormatError:
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return FileFormatError(code="chunk-file-broken", where=Place(str(path))).says(
        f"the file cannot be read, or is cut off ({reason[:160]})", "Copy or write it again"
    )


class SvmlightChunks(Chunks):
    """Pieces of SVMlight files."""

    def __init__(self, files: Sequence[Path], n_features: int | None, chunk_rows: int) -> None:
        self._files = files
        self._bytes = 256 * chunk_rows
        self.n_features = (
            n_features
            or 1
            + max(int(rows.features.indices.max(initial=0)) for path in files for rows in self._parsed(path, None))
            - 1
        )
        super().__init__(self._read)

    def _read(self) -> Iterator[Chunk]:
        for path in self._files:
            seen = 0
            for rows in self._parsed(path, self.n_features):
                n = rows.label.shape[0]
                found = rows.features
                parts: Any = (found.data, found.indices - 1, found.indptr)
                X: Any = sparse.csr_array(parts, shape=(n, self.n_features))
                if found.nnz > 0.5 * n * self.n_features or self.n_features <= 200:
                    X = X.toarray()
                yield Chunk(X, rows.label, rows.qid, None, f"{path}, rows {seen + 1} to {seen + n}")
                seen += n

    def _parsed(self, path: Path, n_features: int | None) -> Iterator[Any]:
        limits, before = Limits(1, n_features), 0
        opener: Any = gzip.open if path.name.lower().endswith(".gz") else open
        try:
            with opener(path, "rb") as stream:
                rest = b""
                while block := stream.read(self._bytes):
                    block, end, tail = (rest + block).rpartition(b"\n")
                    rest = tail
                    if block.strip():
                        yield self._rows(block + end, path, limits, before)
                        before += block.count(b"\n") + 1
                if rest.strip():
                    yield self._rows(rest, path, limits, before)
        except (OSError, EOFError) as error:
            raise _broken(path, error) from None

    def _rows(self, block: bytes, path: Path, limits: Limits, before: int) -> Any:
        if re.fullmatch(rb"(\s*(#[^\n]*)?\n?)*", block[:4096]) and not block[4096:]:
            raise FileFormatError(code="svmlight-no-rows", where=Place(str(path))).says(
                "there are only comments", "Give a file with rows"
            )
        found = parse_whole(block, limits)
        if found is None:  # the slow way names the line; empty lines before it stand for those of earlier pieces
            found = parse_lines(b"\n" * before + block, str(path), limits)
        return found
