"""``preflearn suggest``: the comparisons that would tell most, as a table to fill in."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from preflearn.cli.console import facts, progress
from preflearn.cli.options import Machine, Output, RankModel, ReadOptions, Source, Whole, within
from preflearn.cli.sources import Saved, about, comparisons_of, is_model, open_saved
from preflearn.cli.targets import check_targets
from preflearn.exceptions import DataError, quiet
from preflearn.table_format import plural

USAGE = "preflearn suggest DATA [OPTIONS]"
MOST = 1_000  # later ones depend on the answers
MOST_FORESEEN = 60  # futures of so many comparisons are simulated in a few seconds


def suggest(
    data: Source,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    n: Annotated[Whole, within(1, MOST, "Ask again when those are answered"), Parameter(name=["--number", "-n"])] = 10,
    best: Whole | None = None,
    judges: str | None = None,
    model: RankModel | None = None,
    output: Output = Output(),  # noqa: B008 - frozen
    machine: Machine = Machine(),  # noqa: B008 - frozen
) -> None:
    """Suggest the comparisons to make next: those expected to be most informative.

    Writes a table left,right,winner,information with an empty column to fill in
    (as CSV on standard output without --out); preflearn rank reads it when it is
    filled. Information is in nats. Sides are in random order.

    For example:

        preflearn suggest matches.csv -n 20 --out next.csv
        preflearn suggest matches.csv --best 3
        preflearn suggest matches.csv --judges ann,bob
        preflearn suggest labels.preflearn --items people.csv

    Parameters
    ----------
    data
        Table of comparisons made so far, or a model file that was learned from one; - for standard input. Of a model
        of labels --items are the rows for which two labels are to be compared.
    n
        How many comparisons.
    best
        Number of best items to find (default: learn all utilities).
    judges
        Names of judges who will share the comparisons. Where judges differ, each is asked what tells most.
    model
        As in preflearn rank (default: auto).
    """
    machine.apply()
    check_targets({"--out": output.out}, output.force, [data, reading.items], bom=output.bom)
    names = None if judges is None else [name.strip() for name in judges.split(",") if name.strip()]
    if names is not None and (not names or len(set(names)) < len(names)):
        raise DataError(f'--judges is "{judges}"; name one judge or more, each once, with commas between them.')
    if reading.items is not None and is_model(data) and (saved := open_saved(Path(data))).of_labels:
        _of_labels(saved, reading, n, {"--best": best, "--judges": judges, "--model": model}, output, machine.seed)
        return
    import numpy as np

    from preflearn.active import remaining_value
    from preflearn.analysis.prepared import prepare
    from preflearn.analysis.ranker import rank_comparisons
    from preflearn.analysis.suggestions import next_comparisons, runs_in_circles

    with progress("Reading") as tell:
        read, given, learned = comparisons_of(data, reading)
        X = prepare(given, again=learned is not None).data
        if best is not None and not 0 < best < X.n_items:
            raise DataError(f"--best is {best}; there are {X.n_items} items, so it must be from 1 to {X.n_items - 1}.")
        if learned is not None and model is not None:
            raise DataError(f"{data}: this is a model already. Leave out --model.")
        with about(read.source):
            if learned is None:
                learned = rank_comparisons(read, model=model or "auto", random_state=machine.seed, progress=tell).model
        circles = runs_in_circles(learned)
        if circles and best is not None:
            raise DataError(
                f"{read.source}: preferences run in circles, so there are no best items. Leave out --best, or give "
                "--model bradley-terry."
            )
        tell("Looking for the most informative pairs", 0.9)
        answered = X if names is not None and X.judge is not None else None
        found = next_comparisons(learned, n, best=best, judges=names, answered=answered, random_state=machine.seed)
        worth = ""
        if output.to_file and len(found) <= MOST_FORESEEN and not circles:
            with quiet():
                worth = str(remaining_value(learned, len(found), random_state=machine.seed))
    # which item stands left must not hint at anything
    swap = np.random.default_rng(machine.seed).random(len(found)) < 0.5
    sides = np.array([found.first_name, found.second_name], dtype=object)
    one, other = np.where(swap, sides[::-1], sides)
    columns: dict[str, Any] = {} if found.judge is None else {"judge": found.judge}
    columns |= {"left": one, "right": other, "winner": [""] * len(found), "information": np.round(found.gain, 4)}
    if output.write(columns):
        lines = [
            ("Saved", f"{output.out}: {plural(len(found), 'comparison')} to make, the most informative first"),
            ("Then", "write the winner's name (or left, right, tie) into the column winner"),
        ]
        facts([*lines, ("Worth", worth)] if worth else lines)


def _of_labels(saved: Saved, reading: ReadOptions, n: int, others: dict[str, Any], output: Output, seed: int) -> None:
    """Write which labels to compare for which rows."""
    from preflearn.cli.labels import questions

    unused = [*(option for option in reading.given if option != "--items"), *(k for k, v in others.items() if v)]
    if unused:
        raise DataError(f"{saved.path}: {unused[0]} is for comparisons, and the model is one of labels. Leave it out.")
    with progress("Looking for the most informative pairs"):
        columns = questions(saved, str(reading.items), n, seed)
    if output.write(columns):
        asked = f"{output.out}: {plural(len(columns['left']), 'pair')} of labels to compare, the most informative first"
        add = "add the answers to the rows of training as rankings, such as tea > milk"
        facts([("Saved", asked), ("Then", f"write the winner's name into the column winner, and {add}")])
