"""``preflearn rank``: a table of comparisons in, a ranking with its uncertainty and its warnings out."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preflearn.analysis import RankResult
from preflearn.analysis.ranker import rank_comparisons
from preflearn.cli.console import count, facts, hanging, plain, progress, table
from preflearn.cli.options import ReadOptions
from preflearn.cli.sources import Read, about, describe_data, read_comparisons, save_notes
from preflearn.cli.tables import write_csv
from preflearn.exceptions import DataError

__all__ = ["MODEL_COLUMN", "RankOptions", "print_result", "run"]

MODEL_COLUMN = 27  # where the words of a model start in the table of a ladder


@dataclass(frozen=True)
class RankOptions:
    """The options of ``preflearn rank`` beside those of reading."""

    model: str = "auto"
    out: Path | None = None
    report: Path | None = None
    save: Path | None = None
    json: bool = False
    top: int = 30
    level: float = 0.9
    circles: bool | None = None
    explain: bool = False
    seed: int = 0


def run(data: str, reading: ReadOptions, options: RankOptions) -> None:
    """Read, rank, print and write."""
    if options.top < 1:
        raise DataError(f"--top is {options.top}; it must be 1 or more.")
    if not 0 < options.level < 1:
        raise DataError(f"--level is {options.level:g}; it must be between 0 and 1, such as 0.9.")
    with progress("Reading"):
        read = read_comparisons(data, reading)
    if not options.json:
        facts([*(("Read", line) for line in read.told), ("Data", describe_data(read.data))])
    with progress("Ranking") as tell, about(read.source):
        result = rank_comparisons(
            read.data,
            read.told,
            read.encoder,
            model=options.model,
            level=options.level,
            circles=options.circles,
            random_state=options.seed,
            progress=tell,
        )
        written = _write(result, read, options, tell)
    if options.json:
        sys.stdout.write(json.dumps(result.summary(), indent=2, ensure_ascii=False, allow_nan=False) + "\n")
        return
    print_result(result, options.top, explain=options.explain)
    facts([("Saved", line) for line in written])


def _write(result: RankResult, read: Read, options: RankOptions, tell: Any) -> list[str]:
    """Write what was asked for and return what was written."""
    written = []
    if options.out is not None:
        columns = result.to_dict()
        write_csv(list(columns), zip(*columns.values(), strict=True), options.out)
        written.append(f"{options.out}: the ranking of {count(len(result), 'item')}")
    if options.save is not None:
        from preflearn.model_file import save

        save(result.model, options.save, notes=save_notes(read))
        written.append(f"{options.save}: the model")
    if options.report is not None:
        from preflearn.report import write_report

        tell("Writing the report", 0.95)
        write_report(result, options.report, source=read.source, random_state=options.seed)
        written.append(f"{options.report}: the report")
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
    header, rows = result.rows(top)
    columns = [(name, "left" if name in ("item", "places", "W-L-T") else "right") for name in header]
    interval = next(name for name in header if name.endswith("interval"))
    narrow = table(columns, rows, spare=("P(win)", "W-L-T", interval, "places"))
    if narrow:
        facts([("", f"Not shown for lack of room: {', '.join(narrow)}. --out writes all columns.")])
    if len(result) > len(rows):
        facts([("", f"and {count(len(result) - len(rows), 'more item')}: --top {len(result)} shows all.")])
    facts([("Warning", one.text) for one in result.warnings])
