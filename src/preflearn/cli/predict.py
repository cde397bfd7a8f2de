"""``preflearn predict``: probabilities of pairs, utilities of items, scores of rows, as a table."""

from __future__ import annotations

from preflearn.cli.console import facts, progress
from preflearn.cli.options import File, Flag, Output, ReadOptions, Source
from preflearn.cli.sources import open_saved, titled
from preflearn.cli.targets import check_targets
from preflearn.exceptions import DataError

USAGE = "preflearn predict MODEL [DATA] [OPTIONS]"


def predict(
    model: File,
    data: Source | None = None,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    pairs: Flag = False,
    output: Output = Output(),  # noqa: B008 - frozen
) -> None:
    """Predict pairs, items or rows with a saved model, and write a table.

    The columns of the table depend on DATA.

    Pairs (first,second or any table of comparisons):
    first,second,probability,difference,std. The probability is that first is
    preferred; a tie counts half, and has a column of its own where ties are
    possible. The advantage of a side does not count (preflearn forecast counts it).
    Covariates of the model are read from columns of the same names; without these
    columns they count as equal.

    Items: item,utility,std,rank,rank_low,rank_high,p_best (of a model with circles
    item,utility,std,rank). Utilities are relative to the mean of the training items.

    SVMlight rows: row,qid,docid,score,rank, with docid where each line names its
    document, as those of LETOR do. Least-squares models give scores and margins,
    and no probabilities.

    Rows with features, for a model of labels: row,label,ranking and for each label
    the probability to be first (p_...). A column of names stands in place of row.

    Rows with named features in a Parquet or CSV file of more than 64 MB, in a
    directory or in files by a pattern, are scored piece by piece by a model by least
    squares: --out then has their utilities beside the columns that are no features.

    Without --out the table is CSV on standard output.

    For example:

        preflearn predict model.preflearn pairs.csv
        preflearn predict model.preflearn new-items.csv --out utilities.csv
        preflearn predict model.preflearn test.txt --out scores.csv
        preflearn predict model.preflearn 'rows/*.parquet' --out s.parquet
        preflearn predict labels.preflearn new-rows.csv --pairs --out pairs.parquet

    Parameters
    ----------
    model
        Model file from preflearn fit or preflearn rank --save.
    data
        What to predict; - for standard input. May be left out for a model of comparisons: all its items are ranked.
    pairs
        Of a model of labels: the probability of every pair of labels for each row, in place of the ranking.
    """
    check_targets({"--out": output.out}, output.force, [str(model), data, reading.items], bom=output.bom)
    from preflearn.cli import labels
    from preflearn.cli.large_files import predict_in_pieces
    from preflearn.cli.model_answers import answer_about_training, answer_for

    with progress(f"Opening {model.name}"):
        saved = open_saved(model, data)
    if pairs and not saved.of_labels:
        raise DataError(f"{model}: --pairs is for models of labels; give this one a table of pairs. Leave it out.")
    if data is not None:
        with progress(f"Scoring {titled(data)}"):
            written = predict_in_pieces(saved, data, reading, output)
        if written is not None:
            facts([("Saved", f"{output.out}: {written}")])
            return
    if saved.of_labels and data is not None:
        with progress(f"Reading {titled(data)}"):
            columns, what = labels.answer(saved, data, reading, pairs=pairs)
    elif data is None:
        if not saved.probable and saved.known is None:
            raise DataError("DATA is missing. Give a file of rows, items or pairs to score: MODEL DATA.")
        for option in reading.given:
            raise DataError(f"{option} says how DATA is read, and DATA is missing. Leave it out, or give MODEL DATA.")
        columns, what = answer_about_training(saved)
    else:
        with progress(f"Reading {titled(data)}"):
            columns, what = answer_for(saved, data, reading)
    if output.write(columns):
        facts([("Saved", f"{output.out}: {what}")])
