"""Files in: comparisons, model files, and data in the shape that a model wants."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflearn.exceptions import DataError, DataWarning, FileFormatError, Place, first_few
from preflearn.messages import FileNote
from preflearn.table_format import plural

if TYPE_CHECKING:
    from preflearn.cli.options import ReadOptions
    from preflearn.data import Comparisons, ItemTable, Ratings
    from preflearn.io import ItemEncoder, Reading
    from preflearn.io.counted_files import Counting
    from preflearn.io.table import Table


def is_svmlight(source: str, options: ReadOptions) -> bool:
    """Return whether a file holds rows with scores."""
    from preflearn.io.opening import kind_of, read_start

    if options.format is not None:
        return options.format == "svmlight"
    try:
        start = read_start(source, 1 << 16)
        if start[:2] == b"\x1f\x8b":
            start = zlib.decompressobj(wbits=31).decompress(start, 1 << 16)
    except DataError:
        raise
    except (OSError, ValueError, zlib.error):
        return False  # the reader says what is wrong
    return kind_of(start, source) == "svmlight"


def read_any(
    source: str,
    options: ReadOptions,
    *,
    items: ItemTable | ItemEncoder | None = None,
    n_features: int | None = None,
    zero_based: bool = False,
    opened: Table | None = None,
    scheduler: str | None = None,
    **further: Any,
) -> Reading:
    """Return what a file holds, comparisons or rows with scores; ``items`` are known already, or how to encode them.

    ``opened`` is the table in the file, where that is known; ``scheduler`` the address of a cluster that counts files.
    """
    from preflearn.io.read_options import Options
    from preflearn.io.reading import read_with

    if scheduler is not None and source == "-":
        raise DataError("--scheduler counts files, and standard input is none. Give the path of a file.")
    if is_model(source):
        raise FileFormatError(f"{source}: this is a model file of preflearn, not data. Give a data file.")
    rows: dict[str, Any] = {}
    if is_svmlight(source, options):
        for option in options.given:
            if option != "--format":
                why = "rows bring their own features" if option == "--items" else f"{option} is for tables"
                raise DataError(f"{titled(source)}: this is an SVMlight file, and {why}. Leave out {option}.")
        rows = {"n_features": n_features, "zero_based": zero_based}
    if options.items is not None:
        _check_items(source, options.items)
    table = items if items is not None or options.items is None else str(options.items)
    said = options.keywords()
    form = said.pop("form")
    how = Options("read_preferences", **said, **further)
    with _counting(scheduler) as counting:
        reading = read_with(how, source if opened is None else opened, table, form=form, counting=counting, **rows)
    if options.lower_wins and "score_first" not in reading.columns:
        raise DataError(
            f"{reading.source}: --lower-wins is for two columns of scores, not for {reading.layout}. Leave it out."
        )
    return reading


@contextlib.contextmanager
def _counting(scheduler: str | None) -> Iterator[Counting]:
    """Return how files are counted: by the workers of the cluster at an address, or here."""
    from preflearn.io.counted_files import count_in_turn

    if scheduler is None:
        yield count_in_turn
        return
    from preflearn.scale.dask_files import cluster, counting_on

    with cluster(scheduler) as client:
        yield counting_on(client)


def _check_items(source: str, items: Path) -> None:
    """Raise DataError for a file that cannot be the table of items."""
    from preflearn.cli.options import ReadOptions

    if is_model(items):
        raise FileFormatError(f"{items}: this is a model file of preflearn. Give --items a table of items.")
    if is_svmlight(str(items), ReadOptions()):
        raise FileFormatError(f"{items}: this is an SVMlight file. Give --items a table with a column of names.")
    if source == str(items) == "-":
        raise DataError("standard input cannot be both the comparisons and the items. Give --items a file.")
    same = source == str(items)
    with contextlib.suppress(OSError, ValueError):
        same = same or Path(source).samefile(items)
    if same:
        raise DataError(
            f"{source}: this file is given both as the comparisons and as --items. Give --items the table of items, or "
            "leave it out."
        )


def titled(source: str) -> str:
    """Return the name of a file in messages."""
    return "standard input" if source == "-" else source


@contextlib.contextmanager
def about(source: str) -> Iterator[None]:
    """Name the file that was read in messages of the library that name none."""
    try:
        yield
    except DataError as error:
        if error.message.code == "other" or error.message.where is not None:
            raise
        raise DataError(error.message.at(Place(source))) from error


def read_comparisons(
    source: str,
    options: ReadOptions,
    by: str | None = None,
    opened: Table | None = None,
    *,
    counted: bool = False,
    scheduler: str | None = None,
) -> tuple[Reading, Comparisons]:
    """Return how a file was read, and its comparisons; rows with scores are compared within their groups.

    ``by`` is the column of a category for each of them; ``counted`` counts equal rows of large files, and ``scheduler``
    is the address of a cluster that counts files.
    """
    from preflearn.analysis.ranker import listed
    from preflearn.data import Comparisons

    reading = read_any(source, options, by=by, opened=opened, counted=counted, scheduler=scheduler)
    with about(reading.source):
        reading = listed(reading)
    assert isinstance(reading.data, Comparisons)
    return reading, reading.data


def comparisons_of(source: str, options: ReadOptions, opened: Table | None = None) -> tuple[Reading, Comparisons, Any]:
    """Return the comparisons of a file, or those that a model file was learned from, and that model (else None)."""
    from preflearn.data import Comparisons
    from preflearn.io import Reading

    if not is_model(source):
        return *read_comparisons(source, options, opened=opened), None
    for option in options.given:
        raise DataError(f"{source}: a model file brings its own data. Leave out {option}.")
    saved = open_saved(Path(source))
    data = getattr(saved.estimator, "comparisons_", None)
    if saved.of_labels:
        raise DataError(
            f"{source}: this is a model of labels, and it learned from no comparisons. Give a table of some, or ask "
            "preflearn suggest about rows with features: --items ROWS."
        )
    if not isinstance(data, Comparisons):
        raise DataError(
            f"{source}: this least-squares model does not keep its data. Give the table of comparisons instead."
        )
    what = f"a model, and the {plural(data.n_listed, 'comparison')} of {plural(data.n_items, 'item')} it learned from"
    reading = Reading(data, what, {}, (FileNote(source, f"{what}."),), None, source)
    return reading, data, saved.estimator


def save_notes(read: Reading) -> dict[str, Any]:
    """Return what a model file says about where the model comes from, and how new items are encoded."""
    return {
        "trained_on": Path(read.source).name,
        "data": describe_data(read.data),
        "encoder": None if read.encoder is None else read.encoder.to_dict(),
    }


def describe_data(data: Ratings | Comparisons) -> str:
    """Return what was read in a few words."""
    from preflearn.data import Comparisons

    features = plural(data.n_features, "feature") if data.n_features else "no features"
    if isinstance(data, Comparisons):
        ties = data.number(data.outcome == 0)
        tied = f", {plural(ties, 'tie')}" if ties else ""
        weighed = (
            ""
            if data.weight is None or data.listed_weight is None
            else f", weights of {data.weight.sum():,.6g} in total"
        )
        return f"{plural(data.n_listed, 'comparison')} of {plural(data.n_items, 'item')} with {features}{tied}{weighed}"
    low, high = data.score.min(), data.score.max()
    groups = "one group" if data.n_groups == 1 else plural(data.n_groups, "group")
    return f"{plural(len(data), 'row')} with {features} in {groups}, scores from {low:g} to {high:g}"


def is_model(path: str | Path) -> bool:
    """Return whether a file is a model file."""
    from preflearn.io.opening import is_model as holds_model

    return holds_model(Path(path))


@dataclass(frozen=True)
class Saved:
    """An opened model file."""

    path: Path
    estimator: Any
    notes: dict[str, Any]

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self.estimator.n_features_in_)

    @property
    def probable(self) -> bool:
        """Whether the model gives probabilities of comparisons."""
        return hasattr(self.estimator, "predict_proba") and hasattr(self.estimator, "comparisons_")

    @property
    def of_labels(self) -> bool:
        """Whether the model says which labels suit a row."""
        return hasattr(self.estimator, "labels_")

    @property
    def known(self) -> list[str] | None:
        """Names of the items, if they have no features."""
        if self.probable:
            data = self.estimator.comparisons_
            if data.items is not None:
                return None
            return [str(name) for name in (range(data.n_items) if data.names is None else data.names)]
        return self.notes.get("item_names")

    @property
    def rows_encoder(self) -> ItemEncoder | None:
        """How features were encoded that stood on the rows of the comparisons, if they did."""
        from preflearn.io import ItemEncoder

        fields = self.notes.get("encoder")
        return ItemEncoder.from_dict(fields) if fields is not None and fields["name"] is None else None

    def table(self, source: str) -> ItemTable:
        """Return a table of items with the features of the model."""
        from preflearn.data import ItemTable
        from preflearn.io import ItemEncoder, read_items
        from preflearn.io.item_features import NAME_WORDS, check_distinct
        from preflearn.io.opening import read_table

        if self.known is not None:
            names = read_items(source).names
            if names is None:
                raise DataError(f"{source}: there is no column of names. Name it item, and list items of the model.")
            return ItemTable(None, names, None, len(names))
        if self.notes.get("encoder") is not None:
            encoder = ItemEncoder.from_dict(self.notes["encoder"])
            given = read_table(source)
            if encoder.name is None:  # learned from features on rows; a new table may have names
                words = {column.lower(): column for column in given.columns if column not in encoder.columns}
                named = next((words[word] for word in NAME_WORDS if word in words), None)
                encoder = replace(encoder, name=named)
            if encoder.name is not None:
                check_distinct(given, given.column(encoder.name, "the names of the items"))
            return encoder.transform(given)
        table = read_items(source, features=self.notes.get("feature_names"))
        n_features = 0 if table.values is None else table.values.shape[1]
        if n_features != self.n_features:
            names = self.notes.get("feature_names")
            which = f" ({first_few(names, 6)})" if names else ""
            raise DataError(
                f"{source}: the items have {plural(n_features, 'feature')}, but the model was trained on "
                f"{self.n_features}{which}. Give the same columns as in training."
            )
        return table


def open_saved(path: Path, data: str | None = None) -> Saved:
    """Open a model file; data in its place are recognised."""
    from preflearn.files import open_model

    if str(path) == "-":
        raise DataError("MODEL is -, but a model cannot be read from standard input. Give the path of a model file.")
    try:
        estimator, notes = open_model(path)
    except FileFormatError:
        if data is not None and path.is_file() and not is_model(path) and is_model(data):
            raise FileFormatError(
                f"{path}: this is data, and {data} is the model. The model comes first: MODEL DATA."
            ) from None
        raise
    outputs = getattr(estimator, "_outputs", ())
    if outputs:
        raise DataError(
            f"{path}: the model predicts {outputs[0]} scores for each row, and the commands can use only one. "
            "Ask it in Python: preflearn.load(path).predict(rows)."
        )
    return Saved(path, estimator, notes)


def check_rows(saved: Saved, rows: Ratings, source: str) -> None:
    """Warn if SVMlight rows have no groups, or only the first half of the features of the model."""
    import numpy as np

    if rows.group is None:
        DataWarning(code="rows-without-qid", where=Place(source)).warn(
            "no line has a qid, so that all rows are one group", "Write qid:1 in each line if they are"
        )
    X: Any = rows.items
    used = np.flatnonzero(X.any(axis=0)) if isinstance(X, np.ndarray) else X.indices
    last = int(used.max(initial=-1)) + 1
    if 2 * last <= saved.n_features:
        DataWarning(code="half-of-the-features", where=Place(source)).warn(
            f"only features up to {last} occur, but the model was trained on {saved.n_features}; the others are "
            "taken as 0",
            "Check that model and data belong together",
        )
