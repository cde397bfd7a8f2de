"""Results on the disk: the table as Markdown and JSON, the figure as SVG and PNG."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from preflearn._disk import atomic_file
from preflearn.exceptions import DataError, DataWarning
from preflearn.reproduce.experiment import Experiment, Record
from preflearn.reproduce.outcome import Outcome

_LOOK: Any = {"svg.hashsalt": "preflearn", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False}
_DOTS = 150  # of PNG, by inch


def save(outcome: Outcome, records: Sequence[Record], folder: Path) -> list[Path]:
    """Write table and figure, and return the files; without matplotlib no figure, and a warning."""
    experiment = outcome.experiment
    texts = {
        ".json": as_text(outcome),
        ".md": markdown(outcome),
    }
    written = []
    try:
        for ending, text in texts.items():
            path = folder / f"{experiment.name}{ending}"
            with atomic_file(path) as stream:
                stream.write(text.encode())
            written.append(path)
        if experiment.draw is not None:
            written += _draw(experiment, records, folder)
    except OSError as error:
        raise DataError(code="reproduce-not-saved", owner=experiment.name).says(
            f"{error.filename} cannot be written ({error.strerror}); finished trials are kept in {folder / 'trials'}",
            "Make room, or move what is in the way, and run the same again",
        ) from None
    return written


def as_text(outcome: Outcome) -> str:
    """Return the numbers as JSON, a line for each row of the table."""
    *head, (name, rows) = outcome.as_json().items()
    lines = [f" {_json(key)}: {_json(value)}," for key, value in head]
    listed = ",\n".join(f"  {_json(row)}" for row in rows)
    return "\n".join(["{", *lines, f" {_json(name)}: [", listed, " ]", "}"]) + "\n"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def markdown(outcome: Outcome, level: int = 1) -> str:
    """Return title, table, notes and how it was run."""
    one = outcome.experiment
    parts = [f"{'#' * level} {one.title}", f"`preflearn reproduce {one.name}`: {one.source}."]
    if outcome.rows:
        parts.append(outcome.table.markdown())
    notes = "\n".join(f"- {note}" for note in one.notes)
    return "\n\n".join([*parts, *([notes] if notes else []), " ".join(outcome.remarks)]) + "\n"


def _draw(experiment: Experiment, records: Sequence[Record], folder: Path) -> list[Path]:
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError:
        DataWarning(code="reproduce-no-figure", owner=experiment.name).warn(
            "the figure is left out, because matplotlib is not installed", 'pip install "preflearn[plot]"'
        )
        return []
    assert experiment.draw is not None
    paths = [folder / f"{experiment.name}{ending}" for ending in (".svg", ".png")]
    with rc_context(_LOOK):
        figure = Figure(figsize=experiment.size, layout="constrained")
        experiment.draw(figure, records)
        for path in paths:
            with atomic_file(path) as stream:
                kind = path.suffix[1:]
                figure.savefig(
                    stream, format=kind, dpi=_DOTS, metadata={"Date": None} if kind == "svg" else {"Software": None}
                )
    return paths
