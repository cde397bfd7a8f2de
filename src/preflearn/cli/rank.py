"""``preflearn rank``: a table of comparisons in, a ranking with its uncertainty and its warnings out."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from preflearn.cli.console import facts, hanging, plain, print_json, progress, width
from preflearn.cli.dialect import dialect_for
from preflearn.cli.options import Count, File, Flag, Machine, Output, RankModel, ReadOptions, Source, given_options
from preflearn.cli.sources import about, describe_data, read_comparisons, save_notes
from preflearn.cli.targets import check_targets, write_all
from preflearn.exceptions import DataError
from preflearn.table_format import plural

if TYPE_CHECKING:
    from preflearn.analysis import RankResult
    from preflearn.messages import Dialect
    from preflearn.table_format import TextTable

USAGE = "preflearn rank DATA [OPTIONS]"
PRINTED = 30  # rows of a long table
MODEL_COLUMN = 44  # where the words of a model start in the table of a ladder


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Heading:
    """What stands at the top of a report.

    Attributes
    ----------
    title
        Title of the report (default: Ranking of ... items).
    author
        Who made the report.
    date
        Date of the report, as it is to be printed.
    """

    title: str | None = None
    author: str | None = None
    date: str | None = None


def rank(
    data: Source,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    model: RankModel = "auto",
    by: str | None = None,
    output: Output = Output(),  # noqa: B008 - frozen
    report: File | None = None,
    heading: Heading = Heading(),  # noqa: B008 - frozen
    save: File | None = None,
    json: Flag = False,
    top: Count | None = None,
    every: Annotated[bool, Parameter(name="--all", negative="", show_default=False)] = False,
    scale: Literal["utility", "elo"] = "utility",
    anchor: str | None = None,
    level: float = 0.9,
    circles: bool | None = None,
    explain: Flag = False,
    scheduler: str | None = None,
    machine: Machine = Machine(),  # noqa: B008 - frozen
) -> None:
    """Rank items from comparisons, and say how far to trust the ranking.

    DATA is a table of comparisons (CSV, TSV, JSONL or Parquet) such as
    winner,loser; left,right,winner; model_a,model_b,winner;
    worker,left,right,label; home,away,score_home,score_away;
    first,second,outcome; or rankings, one per row, best first; or a PrefLib file.
    The layout is recognised by the columns, and the output says how the file was
    read. A hyphen (-) reads standard input. A directory of CSV or Parquet files, or
    a pattern such as 'votes/*.parquet', is one table; it may be larger than memory,
    as equal rows are counted.

    Rows with scores (SVMlight) are compared within their queries, at most 1,500
    rows: each is an item with features, and the cost of their uncertainties grows
    with the cube of their number. For more, preflearn fit learns from the rows
    without listing pairs, and preflearn predict ranks the rows of each query.

    The model is chosen by evidence: with features (--items) or without, with one
    relevance per feature or not. Further terms are added if the data show them: an
    advantage of one side, reliabilities or tastes of judges, circles.
    --explain shows the models that were compared.

    For example:

        preflearn rank matches.csv
        preflearn rank matches.csv --items items.csv --report report.html
        preflearn rank games.csv --columns first=home,second=away,winner=result
        preflearn rank votes.csv --scale elo --anchor Oolong=1000 --out board.md
        preflearn rank votes.csv --by language --out boards.csv
        cat votes.jsonl | preflearn rank - --json

    Parameters
    ----------
    data
        Table of comparisons or rankings; - for standard input.
    model
        auto chooses by evidence. bradley-terry, thurstone: one utility per item. gp: a smooth utility of the features,
        gp-ard with a relevance for each; -own: and an effect of each item. gpgp: circles without a utility, and so
        without a single ranking. Added with +, as in bradley-terry+side: side, reliability (of judges), tastes (of
        judges), circles.
    by
        Rank once for each value of this column too: places are printed side by side, and --out has all rankings.
    report
        HTML file for a page with figures.
    save
        File for the model, for preflearn predict. It holds data only, no code.
    json
        Print JSON instead of a table.
    top
        How many rows to print (default: 30).
    every
        Print all rows.
    scale
        Units of utilities: elo has 400 points for odds of 10 to 1.
    anchor
        Item and the number it has, such as Oolong=1000 (default: the average item has 0, or 1500 Elo points).
    level
        Probability of the intervals.
    circles
        Always look for circles, even if it takes long (default: look up to 20,000 pairs, and learn them up to
        1,000 items, with features up to 2,500 pairs).
    explain
        Print the models that were compared, and what was not tried (--json always has them).
    scheduler
        Address of a Dask cluster, such as tcp://10.0.0.5:8786, whose workers count the votes, those of each file in one
        task: of a large file, or a directory or a pattern of files such as 'votes/*.parquet', which all workers see.
    """
    machine.apply()
    out = output.out
    check_targets(
        {"--out": out, "--report": report, "--save": save}, output.force, [data, reading.items], bom=output.bom
    )
    if top is not None and every:
        raise DataError("--top prints some rows, and --all prints all of them. Leave out one of the two.")
    if not 0 < level < 1:
        raise DataError(f"--level is {level:g}; it must be between 0 and 1, such as 0.9.")
    if output.bom and out is None:
        raise DataError("--bom is for the file of --out. Leave it out, or add --out FILE.")
    to_stdout = out is not None and not output.to_file
    if to_stdout and json:
        raise DataError("--json and --out both write to standard output. Give --out a file, or leave out one of them.")
    for option in given_options(heading) if report is None else ():
        raise DataError(f"{option} is for the report. Add --report FILE, or leave {option} out.")
    fixed = None if anchor is None else _anchor(anchor)
    for option, given in (("--report", report), ("--save", save), ("--explain", explain or None)):
        if by is not None and given is not None:
            raise DataError(
                f"{option} is about one ranking, and --by makes several. Leave out one of the two, or give a file that "
                f'holds one category of column "{by}".'
            )
    if by is not None and not (json or out) and (scale != "utility" or anchor is not None):
        raise DataError(
            "--by prints places, which have no scale. Add --out FILE or --json, or leave out --scale and --anchor."
        )

    from preflearn.analysis import RankResult
    from preflearn.analysis.ranker import rank_categories, rank_comparisons
    from preflearn.analysis.result import find_anchor

    with progress("Reading"):
        read, X = read_comparisons(data, reading, by=by, counted=True, scheduler=scheduler)
        if fixed is not None and X.names is not None:
            find_anchor(X.names, fixed)
    printed, dialect = not json and not to_stdout, dialect_for(rank)
    if printed:
        facts([*(("Read", line) for line in read.notes), ("Data", describe_data(X))])
    result: Any
    with progress("Ranking") as tell, about(read.source):
        settings: dict[str, Any] = {"model": model, "level": level, "circles": circles, "random_state": machine.seed}
        if by is None:
            result = rank_comparisons(read, progress=tell, **settings)
            what, shown = f"the ranking of {plural(len(result), 'item')}", result.listing(scale, fixed)
        else:
            result = rank_categories(read, read.by, by, progress=tell, **settings)
            what, shown = f"the ranking of all and those of {len(result)} categories", result.listing()
        tell("Writing", 0.95)
        saved, failed = write_all(
            (out, what, lambda _: output.write(result.table(scale, fixed), shown)),
            (save, "the model", lambda path: _save_model(result, path, save_notes(read), output.force)),
            (
                report,
                "the report",
                lambda path: _report(result, path, read.source, heading, machine.seed, output),
            ),
        )
    if json:
        print_json(result.summary(scale, fixed, dialect=dialect))
    elif printed:
        if isinstance(result, RankResult):
            _print_model(result, explain, dialect)
        _print_rows(shown, None if every else top or PRINTED)
        if by is None and (scale != "utility" or fixed is not None):
            average = f"The average item has {result.scale(scale, fixed).origin:.4g}"
            facts([("Scale", f"400 points are odds of 10 to 1. {average}." if scale == "elo" else f"{average}.")])
        if isinstance(result, RankResult):
            facts([("Warning", one.worded(dialect)) for one in result.warnings])
        else:
            facts([("", line) for line in result.sentences()])
        facts(saved)
    if failed is not None:
        raise failed


def _anchor(text: str) -> dict[str, float]:
    """Return the item of an anchor and its number."""
    name, _, value = text.rpartition("=")
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not name or not isfinite(number):
        raise DataError(f'--anchor is "{text}"; it must be an item and its number, such as Oolong=1000.')
    return {name: number}


def _save_model(result: RankResult, path: Path, notes: dict[str, Any], force: bool) -> None:
    from preflearn.files import save

    save(result.model, path, notes=notes, overwrite=force)


def _report(result: RankResult, path: Path, source: str, heading: Heading, seed: int, output: Output) -> None:
    from preflearn.report import write_report

    write_report(result, path, source=source, random_state=seed, overwrite=output.force, **asdict(heading))


def _print_model(result: RankResult, explain: bool, dialect: Dialect) -> None:
    """Print the model, the verdict and the checks; to ``explain`` prints all models that were fitted."""
    from preflearn.analysis.analyse import sentence_of

    lines = [("Model", f"{result.ladder.why}.")]
    if not explain:  # else the table says it
        lines += [("", f"Not tried: {what}.") for what in result.ladder.left_out]
    if result.rankability is not None:
        verdict = result.rankability
        odds = "" if verdict.verdict == "only noise" else f" ({verdict.odds})"
        lines.append(("Verdict", f"{verdict.sentence.rstrip('.')}{odds}."))
    checked = sentence_of(result.checks, dialect)
    if checked:
        lines.append(("Checks", checked))
    facts(lines)
    if explain:
        plain("")
        hanging(result.ladder.table(), MODEL_COLUMN)


def _print_rows(listing: TextTable, top: int | None) -> None:
    """Print the first rows of a table, the columns for which there is room, and what is not shown."""
    shown, room = listing.top(top), width()
    plain(f"\n{shown.text(room)}\n")
    narrow = shown.left_out(room)
    if narrow:
        facts([("", f"Not shown for lack of room: {', '.join(narrow)}. --out writes all columns.")])
    if len(listing) > len(shown):
        facts([("", f"and {plural(len(listing) - len(shown), 'more item')}: --all shows all.")])
