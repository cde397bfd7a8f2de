"""The commands that examine, suggest, compare and convert, with their options and help."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter

from preflearn.cli.commands import Unit, app
from preflearn.cli.options import ComparedModel, File, Flag, Machine, RankModel, ReadOptions, Source, Whole

__all__: list[str] = []


@app.command(usage="Usage: preflearn inspect DATA [OPTIONS]")
def inspect(
    data: Source,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    clusters: Whole | None = None,
    json: Flag = False,
    top: Whole = 30,
    machine: Machine = Machine(),  # noqa: B008 - frozen
) -> None:
    """Say whether comparisons can be ranked at all, and if not, what is going on.

    The verdict with its odds, how much a ranking and how much circles explain,
    the strongest cycles, who beats everybody, groups of items that are comparable
    only among themselves (where preferences run in circles), and how far each
    judge can be relied upon (where judges are named).

    For example:

        preflearn inspect matches.csv
        preflearn inspect matches.csv --items items.csv --clusters 3

    Parameters
    ----------
    data
        Table of comparisons, or a model file that was learned from one; - for standard input.
    clusters
        Look for this many groups of comparable items.
    json
        Print JSON instead of text; it has all rows of all tables.
    top
        How many judges, groups and items of a group to print.
    """
    machine.apply()
    from preflearn.cli.inspecting import run

    run(data, reading, clusters, json, top, machine.seed)


@app.command(usage="Usage: preflearn suggest DATA [OPTIONS]")
def suggest(
    data: Source,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    n: Annotated[Whole, Parameter(name=["--number", "-n"])] = 10,
    best: Whole | None = None,
    judges: str | None = None,
    model: RankModel | None = None,
    out: File | None = None,
    machine: Machine = Machine(),  # noqa: B008 - frozen
    force: Flag = False,
) -> None:
    """Say which comparisons to make next: those that are expected to tell most.

    Writes a table left,right,winner,information with an empty column to fill in;
    preflearn rank reads it when it is filled. Information is in nats. Sides are
    in random order.

    For example:

        preflearn suggest matches.csv -n 20 --out next.csv
        preflearn suggest matches.csv --best 3
        preflearn suggest matches.csv --judges ann,bob

    Parameters
    ----------
    data
        Table of comparisons made so far, or a model file that was learned from one; - for standard input.
    n
        How many comparisons.
    best
        Find out which this many items are the best, instead of all utilities.
    judges
        Names of judges to share the comparisons among.
    model
        As of preflearn rank (default: auto).
    out
        CSV file to write (default: standard output).
    force
        Replace the CSV file if there is one.
    """
    machine.apply()
    from preflearn.cli.targets import check_targets

    check_targets({"--out": out}, force, [data, reading.items])
    from preflearn.cli.suggesting import run

    run(data, reading, n, best, judges, model, out, machine.seed)


@app.command(usage="Usage: preflearn compare DATA [MODELS] [OPTIONS]")
def compare(
    data: Source,
    /,
    *models: ComparedModel,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    by: Unit = "pair",
    folds: Whole = 5,
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
        As of preflearn rank, or rankrls (default: all that the data allow).
    by
        What is held out as a whole.
    folds
        Number of folds.
    json
        Print JSON instead of a table.
    """
    machine.apply()
    from preflearn.cli.comparing import run_compare

    run_compare(data, reading, list(models), by, folds, json, machine.seed)


@app.command(usage="Usage: preflearn convert DATA OUT [OPTIONS]")
def convert(
    data: Source,
    out: File,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    layout: Literal["winner-loser", "first-second-outcome", "left-right-winner"] | None = None,
    force: Flag = False,
) -> None:
    """Convert between the formats that preflearn reads.

    The format of OUT is told by its name: .csv, .tsv, .jsonl or .parquet for
    comparisons; .soc, .soi, .toc or .toi for rankings (PrefLib); .svmlight or
    .txt for rows with scores.

    For example:

        preflearn convert votes.soc votes.csv
        preflearn convert games.csv games.jsonl --layout winner-loser
        preflearn convert train.txt.gz pairs.csv

    Parameters
    ----------
    data
        File to read; - for standard input.
    out
        File to write.
    layout
        Columns of a table of comparisons (default: winner-loser where there are no ties, else left-right-winner).
    force
        Replace OUT if it exists.
    """
    from preflearn.cli.targets import check_targets

    check_targets({"OUT": out}, force, [data, reading.items])
    from preflearn.cli.converting import run

    run(data, out, reading, layout)


@app.command
def doctor(*, json: Flag = False) -> int:
    """Say whether this installation works: versions, threads and a self-test.

    For example:

        preflearn doctor

    Parameters
    ----------
    json
        Print JSON instead of text.
    """
    from preflearn.cli.checkup import run

    return 0 if run(json) else 1


@app.command
def demo(*, seed: Whole = 0) -> None:
    """Learn from generated data of several kinds and say what came out.

    Graded documents in query groups, noisy scores of a few similar items per
    group, pairwise comparisons with margins, and preferences that run in
    circles. Nothing is read or written. Takes a few seconds.

    For example:

        preflearn demo --seed 1

    Parameters
    ----------
    seed
        Seed of the data; the same seed gives the same numbers.
    """
    from preflearn.cli.demonstration import run

    run(seed)
