"""The commands that learn and answer, with their options and help; the work is imported when a command runs."""

from __future__ import annotations

from typing import Literal

from cyclopts import App

from preflearn._version import __version__
from preflearn.cli.options import File, FitModel, Flag, Machine, RankModel, ReadOptions, Source, Whole

__all__ = ["app"]

# Must be preflearn.kernels.KERNEL_NAMES, which would import scikit-learn; a test compares the two.
Kernel = Literal["linear", "poly2", "poly3", "rbf", "laplacian", "matern32", "matern52", "rational_quadratic"]
Unit = Literal["pair", "item", "judge"]

app = App(
    name="preflearn",
    version=f"preflearn {__version__}",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # main answers it
    help="Rank things by comparisons of two: who is best, how sure that is, and whether there is a ranking at all.\n\n"
    "For example:\n\n"
    "    preflearn rank matches.csv --report report.html\n"
    "    preflearn inspect matches.csv\n"
    "    preflearn suggest matches.csv --out next.csv\n"
    "    preflearn fit matches.csv --items items.csv --save model.preflearn\n"
    "    preflearn predict model.preflearn pairs.csv\n\n"
    "Each command has its own help, such as preflearn rank --help. Exit codes: 0 done, 2 bad input, 130 interrupted, "
    "143 terminated, 1 an error of preflearn itself; --traceback (or PREFLEARN_TRACEBACK=1) shows where an error came "
    "from.",
)


@app.command(usage="Usage: preflearn rank DATA [OPTIONS]")
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
    from preflearn.cli.targets import check_targets

    check_targets({"--out": out, "--report": report, "--save": save}, force, [data, reading.items])
    from preflearn.cli.ranking import RankOptions, run

    run(data, reading, RankOptions(model, out, report, save, json, top, level, circles, explain, machine.seed))


@app.command(usage="Usage: preflearn fit DATA --save MODEL [OPTIONS]")
def fit(
    data: Source,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    save: File,
    model: FitModel | None = None,
    kernel: Kernel | None = None,
    alpha: str | None = None,
    components: str | None = None,
    ties: Literal["include", "exclude", "auto"] | None = None,
    weighting: Literal["pairs", "groups"] | None = None,
    nystroem: Whole | None = None,
    scoring: str | None = None,
    n_features: Whole | None = None,
    zero_based: Flag = False,
    machine: Machine = Machine(),  # noqa: B008 - frozen
    force: Flag = False,
) -> None:
    """Learn a model from a file and save it.

    DATA is a table of comparisons, as for preflearn rank, or a text file in
    SVMlight or LETOR format (score qid:Q index:value ..., may be gzip).

    Comparisons are learned by a model with probabilities, chosen by evidence as
    by preflearn rank. Scored rows are learned by least squares on differences,
    and the penalty, or the number of components, is chosen by cross-validation
    unless it is given; the score that is printed is that of the best candidate,
    so it is a little optimistic: use preflearn evaluate on other data.

    For example:

        preflearn fit matches.csv --save model.preflearn
        preflearn fit train.txt --save model.preflearn
        preflearn fit matches.csv --items items.csv --model gp --save m.preflearn

    Parameters
    ----------
    data
        Table of comparisons, or SVMlight file; - for standard input.
    save
        Where the model goes. It holds data only, no code.
    model
        As of preflearn rank (comparisons; default: auto); or by least squares: rankrls (scored rows; default): score
        differences, with a penalty. kpcrank: the same, on few components. rls, kpcr: scores.
    kernel
        Of least squares. Default: linear for rankrls and rls, rbf for kpcrank and kpcr.
    alpha
        Strength of the penalty of rankrls and rls: a positive number, or auto (default).
    components
        Number of components of kpcrank and kpcr: a whole number, or auto (default).
    ties
        Least squares: whether pairs with equal scores count (default: include); auto chooses.
    weighting
        Least squares: whether every pair weighs the same or every group (default: pairs).
    nystroem
        Approximate the kernel by its values against this many rows, for data of more than about 5,000 rows.
    scoring
        What the choices should be best at: disagreement (default), map, ndcg@10, precision@5, kendall_tau_b, ...
    n_features
        Number of features of SVMlight files, if later files may have larger feature numbers than DATA.
    zero_based
        Feature numbers of the SVMlight file start at 0, not at 1.
    force
        Replace the model file if there is one.
    """
    machine.apply()
    from preflearn.cli.targets import check_targets

    check_targets({"--save": save}, force, [data, reading.items])
    from preflearn.cli.fitting import run
    from preflearn.cli.training import Choices

    run(
        data,
        save,
        Choices(
            reading=reading,
            model=model,
            kernel=kernel,
            alpha=alpha,
            components=components,
            ties=ties,
            weighting=weighting,
            nystroem=nystroem,
            scoring=scoring,
            n_features=n_features,
            zero_based=zero_based,
            seed=machine.seed,
        ),
    )


@app.command(usage="Usage: preflearn predict MODEL [DATA] [OPTIONS]")
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
    from preflearn.cli.targets import check_targets

    check_targets({"--out": out}, force, [str(model), data, reading.items])
    from preflearn.cli.predicting import run

    run(model, data, reading, out)


@app.command(usage="Usage: preflearn evaluate [MODEL] DATA [OPTIONS]")
def evaluate(
    first: Source,
    second: Source | None = None,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    model: RankModel = "auto",
    by: Unit = "pair",
    folds: Whole = 5,
    relevant: float | None = None,
    json: Flag = False,
    machine: Machine = Machine(),  # noqa: B008 - frozen
) -> None:
    """Judge how well outcomes are predicted that were not seen.

    With a MODEL file, its predictions for DATA that it has not seen. With DATA
    alone, cross-validation: nothing of what is predicted is seen in learning,
    neither other comparisons of the same two items nor, with --by item or
    --by judge, anything of the same item or judge.

    Comparisons: accuracy, log loss, calibration and tau. Rows in groups:
    disagreement error, pairwise accuracy, Kendall's tau_b and, where the scores
    are grades 0, 1, 2, ..., MAP, precision and NDCG at the top.

    For example:

        preflearn evaluate matches.csv
        preflearn evaluate matches.csv --items items.csv --by item
        preflearn evaluate model.preflearn test.txt --relevant 2 --json

    Parameters
    ----------
    first
        Model file, or table of comparisons.
    second
        Table of comparisons or SVMlight file that the model has not seen.
    model
        Without a model file: what to cross-validate, as of preflearn rank; auto chooses anew in each fold.
    by
        What is held out as a whole.
    folds
        Number of folds; fewer where there are not so many pairs, items or judges.
    relevant
        Grades from this number on count as relevant in MAP and precision (default: 1).
    json
        Print JSON instead of a table.
    """
    machine.apply()
    from preflearn.cli.evaluating import run

    run(first, second, reading, model=model, by=by, folds=folds, relevant=relevant, as_json=json, seed=machine.seed)


import preflearn.cli.more_commands  # noqa: E402, F401 - the other commands put themselves into app
