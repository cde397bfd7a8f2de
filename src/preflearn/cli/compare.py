"""``preflearn compare``: several models side by side, on comparisons that they have not seen."""

from __future__ import annotations

from typing import Any

from preflearn.cli.console import facts, print_json, progress, table
from preflearn.cli.options import ComparedModel, Flag, Folds, Machine, ReadOptions, Source, Unit
from preflearn.cli.sources import about, describe_data
from preflearn.exceptions import DataError

USAGE = "preflearn compare DATA [MODELS] [OPTIONS]"


def compare(
    data: Source,
    /,
    *models: ComparedModel,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    by: Unit = "pair",
    folds: Folds = 5,
    json: Flag = False,
    machine: Machine = Machine(),  # noqa: B008 - frozen
) -> None:
    """Compare models side by side on comparisons that they have not seen.

    Every model predicts the same held-out comparisons; the differences of the log
    losses from the best are tested pair by pair.

    For example:

        preflearn compare matches.csv --items items.csv
        preflearn compare matches.csv bradley-terry thurstone
        preflearn compare votes.csv bradley-terry judges --by judge

    Parameters
    ----------
    data
        Table of comparisons; - for standard input.
    models
        As in preflearn rank, or rankrls or kpcrank, or of rows with labels as in preflearn fit (default: all that
        the data allow).
    by
        What is held out as a whole.
    folds
        Number of folds.
    json
        Print JSON instead of a table.
    """
    machine.apply()
    from preflearn.analysis.cross_validated import LEAST_SQUARES, hold_out, models_to_compare
    from preflearn.analysis.model_names import BESIDE, terms_of
    from preflearn.cli import held_out_comparisons as cv
    from preflearn.cli import labels
    from preflearn.selection import paired_difference

    found_labels = labels.look_for_labels(data, reading, models)
    if found_labels.layout is not None:
        labels.check_folds(by)
        labels.compare(found_labels, models, folds, machine.seed, as_json=json)
        return
    with progress("Reading") as tell:
        with labels.guessing(found_labels):
            read, X = cv.read_to_hold_out(data, reading, by, found_labels.table)
        names = list(dict.fromkeys(models)) or models_to_compare(X, by)
        for name in names:
            if name not in LEAST_SQUARES:
                with about(read.source):
                    terms_of(name, X)
        if len(names) < 2:
            raise DataError(f"{read.source}: there is one model to compare ({names[0]}). Name two or more.")
        found = {}
        for k, name in enumerate(names):
            with about(read.source):
                found[name] = hold_out(
                    X,
                    name,
                    by,
                    folds,
                    machine.seed,
                    lambda what, share, k=k, name=name: tell(f"{name}: {what}", (k + share) / len(names)),
                )
    probable = [name for name in names if name not in LEAST_SQUARES]
    order = sorted(probable, key=lambda name: found[name].log_loss) + [n for n in names if n in LEAST_SQUARES]
    best = order[0]
    rows, answer = [], []
    for name in order:
        one = found[name]
        entry: dict[str, Any] = {"model": name, "accuracy": one.accuracy}
        cells = [name, f"{one.accuracy:.4f}", "-", "-", "-", "-"]
        if name in probable:
            entry |= {"log_loss": one.log_loss, "calibration_error": one.calibration_error}
            cells[2:4] = [f"{one.log_loss:.4f}", f"{one.calibration_error:.4f}"]
            if name != best:
                behind = paired_difference(one, found[best], random_state=machine.seed)
                entry |= {"behind": behind.mean, "std_error": behind.std_error, "p_value": behind.p_value}
                cells[4:] = [f"{behind.mean:.4f} ± {behind.std_error:.4f}", f"{behind.p_value:.2g}"]
        rows.append(cells)
        answer.append(entry)
    notes = cv.fewer_folds(found[best], folds)
    alone = next((name for name in order if name in BESIDE), None)
    if alone is not None:
        notes.append(f"A term alone, such as {alone}, stands for {terms_of(alone, X).name}.")
    if json:
        whole = {**cv.data_facts(read, X, by, found[best]), "best": best, "models": answer, "notes": notes}
        print_json(whole)
        return
    facts([*(("Read", line) for line in read.notes), ("Data", describe_data(X))])
    facts([("Folds", f"{found[best].n_folds}, the same for all; held out are {cv.UNITS[by]}")])
    right = ("accuracy", "log loss", "calibration", "behind the best", "p")
    table([("model", "left"), *((name, "right") for name in right)], rows)
    units = "judges" if by == "judge" else "pairs"
    notes.append(f"behind the best: difference of log losses ± its standard error; p: sign-flip test over the {units}.")
    facts([("Note", note) for note in notes])
