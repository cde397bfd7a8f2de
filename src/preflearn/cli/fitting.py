"""``preflearn fit``: read, learn, save, and say what was done."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from preflearn.analysis.ranker import rank_comparisons
from preflearn.cli.console import facts, progress, working
from preflearn.cli.sources import Read, about, describe_data, is_svmlight, read_again, read_any, save_notes, titled
from preflearn.cli.training import (
    Choices,
    check_data,
    check_no_least_squares,
    check_options,
    describe_model,
    describe_score,
    describe_switch,
    train,
)
from preflearn.data import Comparisons, Ratings
from preflearn.exceptions import DataError, FileFormatError
from preflearn.io import Reading
from preflearn.io.svmlight import MOST_FEATURES
from preflearn.model_file import save

__all__ = ["run"]


def run(source: str, target: Path, choices: Choices) -> None:
    """Learn from comparisons by evidence, from scored rows (or where asked) by least squares."""
    with read_again(source):
        _run(source, target, choices)


def _run(source: str, target: Path, choices: Choices) -> None:
    asked, squares = choices, choices.by_least_squares
    if squares:
        choices = choices.resolved()
        check_options(choices)
    else:
        check_no_least_squares(choices)
    if choices.n_features is not None and not 1 <= choices.n_features <= MOST_FEATURES:
        raise DataError(f"--n-features is {choices.n_features}; it must be at least 1 and at most {MOST_FEATURES:,}.")
    if not is_svmlight(source, choices.reading):
        for option, given in (("--zero-based", choices.zero_based), ("--n-features", choices.n_features)):
            if given:
                raise DataError(f"{titled(source)}: {option} is for SVMlight files, and this is a table. Leave it out.")
    with working(f"Reading {titled(source)}"):
        reading = _read(source, choices, squares)
    if isinstance(reading.data, Ratings) and not squares:
        if choices.model is not None:
            raise DataError(
                f"{reading.source}: --model {choices.model} learns from comparisons, and these are rows with scores. "
                "Use --model rankrls, or leave it out."
            )
        choices, squares = choices.resolved(), True
    if squares:
        _by_least_squares(reading, target, choices, describe_switch(asked, reading.data))
        return
    assert isinstance(reading.data, Comparisons)
    read = Read(reading.data, reading.notes, reading.source, reading.encoder)
    facts([*(("Read", line) for line in read.told), ("Data", describe_data(read.data))])
    with progress("Learning") as tell, about(read.source):
        result = rank_comparisons(
            read.data, read.told, read.encoder, model=choices.model or "auto", random_state=choices.seed, progress=tell
        )
        save(result.model, target, notes=save_notes(read))
    lines = [("Model", f"{result.ladder.why}."), *(("Warning", one.text) for one in result.warnings)]
    facts([*lines, ("Saved", _saved(target))])


def _read(source: str, choices: Choices, margins: bool) -> Reading:
    try:
        return read_any(
            source, choices.reading, margins=margins, n_features=choices.n_features, zero_based=choices.zero_based
        )
    except FileFormatError as error:
        if choices.n_features is not None and f"n_features={choices.n_features}" in str(error):
            message = str(error).partition(" (n_features")[0]
            raise FileFormatError(f"{message}. Raise --n-features, or leave it out.") from None
        raise


def _by_least_squares(reading: Reading, target: Path, choices: Choices, note: str | None) -> None:
    data, source = reading.data, reading.source
    check_data(source, data, choices)
    facts([*(("Read", line) for line in reading.notes), ("Data", describe_data(data))])
    with working(f"Learning from {source}"), about(source):
        result = train(data, choices)
    with working(f"Saving {target.name}"):
        save(result.estimator, target, notes=_notes(reading, choices))
    lines = [("Model", describe_model(choices, result.estimator)), ("Chosen", result.chosen)]
    if result.score is not None:
        lines.append(("Score", describe_score(choices.scoring or "disagreement", result.score)))
    facts([*lines, *([("Note", note)] if note else []), ("Saved", _saved(target))])


def _notes(reading: Reading, choices: Choices) -> dict[str, Any]:
    """Return what `preflearn predict` has to know beside the model."""
    data = reading.data
    notes: dict[str, Any] = {
        "trained_on": Path(reading.source).name,
        "data": describe_data(data),
        "zero_based": choices.zero_based,
        "encoder": None if reading.encoder is None else reading.encoder.to_dict(),
    }
    if isinstance(data, Comparisons) and data.items is None:
        assert data.names is not None
        notes["item_names"] = [str(name) for name in data.names]
    return notes


def _saved(target: Path) -> str:
    return f"{target} ({max(1, round(target.stat().st_size / 1000)):,} kB)"
