"""``preflearn rank``: a table of comparisons in, a ranking with its uncertainty and its warnings out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from preflearn.cli.console import count, facts, hanging, plain, print_json, progress, table
from preflearn.cli.csv_files import write_csv
from preflearn.cli.options import File, Flag, Machine, RankModel, ReadOptions, Source, Whole
from preflearn.cli.sources import Read, about, describe_data, read_comparisons, save_notes
from preflearn.cli.targets import check_targets
from preflearn.exceptions import DataError

if TYPE_CHECKING:
    from preflearn.analysis import RankResult

__all__ = ["MODEL_COLUMN", "USAGE", "print_result", "rank"]

USAGE = "preflearn rank DATA [OPTIONS]"
MODEL_COLUMN = 39  # where the words of a model start in the table of a ladder


def rank(
    data: Source,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    model: RankModel = "auto",
    out: File | None = None,
    report: File | None = None,
    save: File | None = None,
    json: Flag = False,
    top: Whole = 30,
    level: float = 0.9,
    circles: bool | None = None,
    explain: Flag = False,
    machine: Machine = Machine(),  # noqa: B008 - frozen
    force: Flag = False,
) -> None:
    """Rank what was compared, and say how far to trust it.

    DATA is a table of comparisons (CSV, TSV, JSONL or Parquet) such as
    winner,loser; left,right,winner; model_a,model_b,winner;
    worker,left,right,label; home,away,score_home,score_away;
    first,second,outcome; or rankings, one per row, best first; or a PrefLib file.
    It is recognised by its columns and says how it was read. A hyphen (-) reads
    standard input.

    Rows with scores (SVMlight) are compared within their queries, at most 1,500
    rows: each is an item with features, and the cost of their uncertainties grows
    with the cube of their number. For more, preflearn fit learns from the rows
    without listing pairs, and preflearn predict ranks the rows of each query.

    The model is chosen by evidence: with features (--items) or without, with one
    relevance per feature or not; then what else decides, where the data show it:
    an advantage of one side, reliabilities or tastes of judges, circles.
    --explain shows the models that were compared.

    For example:

        preflearn rank matches.csv
        preflearn rank matches.csv --items items.csv --report report.html
        preflearn rank games.csv --columns first=home,second=away,winner=result
        cat votes.jsonl | preflearn rank - --json

    Parameters
    ----------
    data
        Table of comparisons or rankings; - for standard input.
    model
        auto chooses by evidence. bradley-terry, thurstone: one utility per item. gp: a smooth utility of the features,
        gp-ard with a relevance for each; -own: and an effect of each item. Added with +, as in bradley-terry+side:
        side, reliability (of judges), tastes (of judges), circles.
    out
        CSV file for the whole ranking.
    report
        HTML file for a page with figures.
    save
        Where the model goes, for preflearn predict. It holds data only, no code.
    json
        Print JSON instead of a table.
    top
        How many rows to print.
    level
        Probability of the intervals.
    circles
        Look for circles whatever it costs (default: up to 20,000 pairs; learned up to 1,000 items, with
        features up to 2,500 pairs).
    explain
        Print the models that were compared, and what was not tried (--json always has them).
    force
        Replace files that exist.
    """
    machine.apply()
    check_targets({"--out": out, "--report": report, "--save": save}, force, [data, reading.items])
    if top < 1:
        raise DataError(f"--top is {top}; it must be 1 or more.")
    if not 0 < level < 1:
        raise DataError(f"--level is {level:g}; it must be between 0 and 1, such as 0.9.")
    with progress("Reading"):
        read = read_comparisons(data, reading)
    if not json:
        facts([*(("Read", line) for line in read.told), ("Data", describe_data(read.data))])
    from preflearn.analysis.ranker import rank_comparisons

    with progress("Ranking") as tell, about(read.source):
        result = rank_comparisons(
            read.data,
            read.told,
            read.encoder,
            model=model,
            level=level,
            circles=circles,
            random_state=machine.seed,
            progress=tell,
        )
        written = _write(result, read, out=out, save=save, report=report, seed=machine.seed, tell=tell)
    if json:
        print_json(result.summary())
        return
    print_result(result, top, explain=explain)
    facts([("Saved", line) for line in written])


def _write(
    result: RankResult,
    read: Read,
    *,
    out: Path | None,
    save: Path | None,
    report: Path | None,
    seed: int,
    tell: Callable[[str, float], None],
) -> list[str]:
    """Write what was asked for and return what was written."""
    written = []
    if out is not None:
        columns = result.to_dict()
        write_csv(list(columns), zip(*columns.values(), strict=True), out)
        written.append(f"{out}: the ranking of {count(len(result), 'item')}")
    if save is not None:
        from preflearn import files

        files.save(result.model, save, notes=save_notes(read))
        written.append(f"{save}: the model")
    if report is not None:
        from preflearn.report import write_report

        tell("Writing the report", 0.95)
        write_report(result, report, source=read.source, random_state=seed)
        written.append(f"{report}: the report")
    return written


def print_result(result: RankResult, top: int, *, explain: bool = False) -> None:
    """Print the model, the verdict, the table and the warnings; to ``explain`` prints all models that were fitted."""
    lines = [("Model", f"{result.ladder.why}.")]
    if not explain:  # else the table says it
        lines += [("", f"Not tried: {what}.") for what in result.ladder.left_out]
    if result.rankability is not None:
        verdict = result.rankability
        odds = "" if verdict.verdict == "only noise" else f" ({verdict.odds})"
        lines.append(("Verdict", f"{verdict.told.rstrip('.')}{odds}."))
    if result.checked:
        lines.append(("Checks", result.checked))
    facts(lines)
    if explain:
        plain("")
        hanging(result.ladder.table(), MODEL_COLUMN)
    listing = result.listing().top(top)
    columns = [(one.title, "right" if one.kind == "number" else "left") for one in listing.columns.values()]
    spare = sorted((one for one in listing.columns.values() if one.spare), key=lambda one: -one.spare)
    narrow = table(columns, listing.rows, spare=[one.title for one in spare])
    if narrow:
        facts([("", f"Not shown for lack of room: {', '.join(narrow)}. --out writes all columns.")])
    if len(result) > len(listing):
        facts([("", f"and {count(len(result) - len(listing), 'more item')}: --top {len(result)} shows all.")])
    facts([("Warning", one.text) for one in result.warnings])
