"""``preflearn convert``: between tables of comparisons, rankings and rows with scores."""

from __future__ import annotations

from typing import Literal

from preflearn.cli.console import facts, progress
from preflearn.cli.options import File, Flag, ReadOptions, Source
from preflearn.cli.sources import about, read_any
from preflearn.cli.targets import check_targets
from preflearn.exceptions import DataError

USAGE = "preflearn convert DATA OUT [OPTIONS]"
TABLES = (".csv", ".tsv", ".jsonl", ".parquet")
ROWS = (".svmlight", ".svm", ".libsvm", ".letor", ".txt")
_WITHOUT_FEATURES = "Features of the items were left out, as this layout has no place for them. Keep their table."
_WITHOUT_COVARIATES = "Covariates were left out, as this layout has no place for them. Keep the table that was read."


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

    The ending of OUT says its format: .csv, .tsv, .jsonl or .parquet for
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
        Columns of a table of comparisons (default: winner-loser where the first one won in each row, else
        left-right-winner, which keeps the sides).
    force
        Replace OUT if it exists.
    """
    check_targets({"OUT": out}, force, [data, reading.items])
    from preflearn._disk import atomic_file
    from preflearn.cli.comparison_files import RANKINGS, as_comparisons, ranking_content, row_content, table_content
    from preflearn.io.export import check_ending

    kind = out.suffix.lower()
    if kind not in (*TABLES, *RANKINGS, *ROWS):
        named = f'the ending "{kind}" is not a known format' if kind else "the name has no ending"
        raise DataError(f"{out}: {named}. Use {', '.join((*TABLES, *RANKINGS))} or .svmlight.")
    if kind in TABLES:
        check_ending(out)
    if layout is not None and kind not in TABLES:
        raise DataError(f"{out}: --layout is for tables of comparisons ({', '.join(TABLES)}). Leave it out.")
    with progress(f"Converting {data}"):
        found = read_any(data, reading, margins=True)
        with about(found.source):
            if kind in ROWS:
                content, what = row_content(found.data, out)
            elif kind in RANKINGS:
                content, what = ranking_content(as_comparisons(found.data), out, kind)
            else:
                content, what = table_content(as_comparisons(found.data), out, kind, layout)
        with atomic_file(out, overwrite=force) as stream:
            stream.write(content)
    left = [] if kind in ROWS or found.data.items is None else [("Note", _WITHOUT_FEATURES)]
    if getattr(found.data, "covariates", None) is not None:
        left.append(("Note", _WITHOUT_COVARIATES))
    facts([*(("Read", line) for line in found.notes), ("Saved", f"{out}: {what}"), *left])
