"""``preflearn predict``: probabilities of pairs, utilities of items, scores of rows, as CSV."""

from __future__ import annotations

from preflearn._files import open_stream
from preflearn.cli.console import facts, working
from preflearn.cli.csv_files import write_csv
from preflearn.cli.options import File, Flag, ReadOptions, Source
from preflearn.cli.sources import open_saved, read_again, titled
from preflearn.cli.targets import check_targets
from preflearn.exceptions import DataError

__all__ = ["USAGE", "predict"]

USAGE = "preflearn predict MODEL [DATA] [OPTIONS]"


def predict(
    model: File,
    data: Source | None = None,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    out: File | None = None,
    force: Flag = False,
) -> None:
    """Predict pairs, items or rows with a saved model, and write CSV.

    For a table of pairs (first,second or any table of comparisons) the columns
    are first,second,probability,difference,std: how likely first is preferred (a
    tie counts half, and has a column of its own where ties are possible), and by
    how much, without the advantage of a side if the model has learned one. For a
    table of items they are item,utility,std,rank,rank_low,rank_high,p_best (of a
    model with circles item,utility,std,rank); utilities are relative to the mean of
    the items of training.
    Models by least squares give margins and scores without probabilities; for
    SVMlight rows row,qid,score,rank.

    For example:

        preflearn predict model.preflearn pairs.csv
        preflearn predict model.preflearn new-items.csv --out utilities.csv
        preflearn predict model.preflearn test.txt --out scores.csv

    Parameters
    ----------
    model
        Model file from preflearn fit or preflearn rank --save.
    data
        What to predict; - for standard input. May be left out for a model of comparisons: all its items are ranked.
    out
        CSV file to write (default: standard output).
    force
        Replace the CSV file if there is one.
    """
    check_targets({"--out": out}, force, [str(model), data, reading.items])
    from preflearn.cli.model_answers import answer_about_training, answer_for

    with working(f"Opening {model.name}"):
        saved = open_saved(model, data)
    if data is None:
        if not saved.probable and saved.known is None:
            raise DataError("DATA is missing. Give a file of rows, items or pairs to score: MODEL DATA.")
        for option, value in (("--items", reading.items), ("--columns", reading.columns), ("--format", reading.format)):
            if value is not None:
                raise DataError(
                    f"{option} says how DATA is read, and DATA is missing. Leave it out, or give MODEL DATA."
                )
        header, rows, what = answer_about_training(saved)
    else:
        with working(f"Reading {titled(data)}"), read_again(data):
            header, rows, what = answer_for(saved, data, reading)
    write_csv(header, rows, out)
    if out is not None and open_stream(out) is None:  # a table on standard output is nothing but the table
        facts([("Saved", f"{out}: {what}")])
