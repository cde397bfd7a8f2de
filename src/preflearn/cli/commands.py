"""The commands with their options and help; the work is imported when a command runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from preflearn._version import __version__

__all__ = ["app"]

# Must be preflearn.kernels.KERNEL_NAMES, which would import scikit-learn; a test compares the two.
Kernel = Literal["linear", "poly2", "poly3", "rbf", "laplacian", "matern32", "matern52", "rational_quadratic"]
Model = Literal["rankrls", "rls", "kpcrank", "kpcr"]
Flag = Annotated[bool, Parameter(negative="", show_default=False)]

app = App(
    name="preflearn",
    version=f"preflearn {__version__}",
    help_format="plaintext",
    suppress_keyboard_interrupt=False,  # main answers it
    help="Learn rankings from scores in groups and from pairwise comparisons.\n\n"
    "For example:\n\n"
    "    preflearn demo\n"
    "    preflearn fit train.txt --save model.preflearn\n"
    "    preflearn evaluate model.preflearn test.txt\n"
    "    preflearn predict model.preflearn new.txt --out scores.csv\n\n"
    "Each command has its own help, such as preflearn fit --help. Exit codes: 0 done, 2 bad input, 130 interrupted, 1 "
    "an error of preflearn itself; --traceback (or PREFLEARN_TRACEBACK=1) shows where an error came from.",
)


@app.command
def demo(*, seed: int = 0) -> None:
    """Learn from generated data of three kinds and say what came out.

    Graded documents in query groups, noisy scores of a few similar items per
    group, and pairwise comparisons with margins. Nothing is read or written.
    Takes a few seconds.

    For example:

        preflearn demo --seed 1

    Parameters
    ----------
    seed
        Seed of the data; the same seed gives the same numbers.
    """
    from preflearn.cli.demonstration import run

    run(seed)


@app.command(usage="Usage: preflearn fit DATA --save MODEL [OPTIONS]")
def fit(
    data: Path,
    /,
    *,
    save: Path,
    items: Path | None = None,
    model: Model = "rankrls",
    kernel: Kernel | None = None,
    alpha: str | None = None,
    components: str | None = None,
    ties: Literal["include", "exclude", "auto"] | None = None,
    weighting: Literal["pairs", "groups"] | None = None,
    nystroem: int | None = None,
    scoring: str | None = None,
    format: Literal["svmlight", "comparisons"] | None = None,  # noqa: A002 - the name of the option
    n_features: int | None = None,
    zero_based: Flag = False,
    columns: str | None = None,
    seed: int = 0,
    force: Flag = False,
) -> None:
    """Learn a model from a file and save it.

    DATA is a text file in SVMlight or LETOR format (score qid:Q index:value ...,
    may be gzip), or a table of comparisons (CSV, TSV, JSON lines or Parquet) with
    columns winner,loser or first,second,outcome or home,away,score_home,score_away
    and the like. It is recognised by its content and its name.

    The penalty, or the number of components, is chosen by cross-validation
    unless it is given. The score that is printed is that of the best candidate,
    so it is a little optimistic: use preflearn evaluate on other data.

    For example:

        preflearn fit train.txt --save model.preflearn
        preflearn fit matches.csv --save model.preflearn
        preflearn fit matches.csv --items items.csv --kernel rbf --save m.preflearn

    Parameters
    ----------
    data
        SVMlight file, or table of comparisons.
    save
        Where the model goes. It holds data only, no code.
    items
        Table of the compared items: a column of names (item, name or id) and numeric features.
    model
        rankrls: score differences, with a penalty. kpcrank: the same, on few components. rls, kpcr: scores.
    kernel
        Default: linear for rankrls and rls, rbf for kpcrank and kpcr.
    alpha
        Strength of the penalty of rankrls and rls: a positive number, or auto (default).
    components
        Number of components of kpcrank and kpcr: a whole number, or auto (default).
    ties
        Whether pairs with equal scores count (default: include); auto chooses.
    weighting
        Whether every pair weighs the same or every group (default: pairs).
    nystroem
        Approximate the kernel by its values against this many rows, for data of more than about 5,000 rows.
    scoring
        What the choices should be best at: disagreement (default), map, ndcg@10, precision@5, kendall_tau_b, ...
    format
        How to read DATA, if it is not recognised.
    n_features
        Number of features of SVMlight files, if later files may have larger feature numbers than DATA.
    zero_based
        Feature numbers of the SVMlight file start at 0, not at 1.
    columns
        Columns of a table by role, where they are not found by name, such as first=home_team,second=away_team.
    seed
        Seed of random choices (Nystroem rows, folds).
    force
        Replace the model file if there is one.
    """
    from preflearn.cli.sources import check_target

    check_target(save, "--save", force, sources=[data, items])
    from preflearn.cli.training import Choices, run

    run(
        data,
        save,
        Choices(
            items=items,
            model=model,
            kernel=kernel,
            alpha=alpha,
            components=components,
            ties=ties,
            weighting=weighting,
            nystroem=nystroem,
            scoring=scoring,
            form=format,
            n_features=n_features,
            zero_based=zero_based,
            columns=columns,
            seed=seed,
        ),
    )


@app.command(usage="Usage: preflearn predict MODEL [DATA] [OPTIONS]")
def predict(
    model: Path,
    data: Path | None = None,
    /,
    *,
    items: Path | None = None,
    out: Path | None = None,
    format: Literal["svmlight", "comparisons", "items"] | None = None,  # noqa: A002 - the name of the option
    force: Flag = False,
) -> None:
    """Score new data with a saved model and write the scores as CSV.

    For SVMlight rows the columns are row,qid,score,rank, with rank 1 for the best
    of a group. For a table of items they are item,score,rank. For a table of
    pairs (first,second or winner,loser) they are first,second,margin, where a
    positive margin says that first is preferred.

    For example:

        preflearn predict model.preflearn test.txt --out scores.csv
        preflearn predict model.preflearn items.csv
        preflearn predict model.preflearn pairs.csv --items items.csv

    Parameters
    ----------
    model
        Model file from preflearn fit.
    data
        What to score. May be left out for a model of comparisons without features: all its items are then ranked.
    items
        Features of the items of a table of pairs.
    out
        CSV file to write (default: standard output).
    format
        How to read DATA, if it is not recognised.
    force
        Replace the CSV file if there is one.
    """
    from preflearn.cli.sources import check_target

    if out is not None:
        check_target(out, "--out", force, sources=[model, data, items])
    from preflearn.cli.predicting import run

    run(model, data, items, out, format)


@app.command(usage="Usage: preflearn evaluate MODEL DATA [OPTIONS]")
def evaluate(
    model: Path,
    data: Path,
    /,
    *,
    items: Path | None = None,
    relevant: float | None = None,
    format: Literal["svmlight", "comparisons"] | None = None,  # noqa: A002 - the name of the option
    columns: str | None = None,
    json: Flag = False,
) -> None:
    """Judge a saved model on data with known scores or outcomes.

    For rows in groups: disagreement error, pairwise accuracy, Kendall's tau_b
    and, where the scores are grades 0, 1, 2, ..., MAP, precision and NDCG at the
    top. For comparisons: accuracy and disagreement error.

    For example:

        preflearn evaluate model.preflearn test.txt
        preflearn evaluate model.preflearn test.txt --relevant 2 --json
        preflearn evaluate model.preflearn matches.csv --items items.csv

    Parameters
    ----------
    model
        Model file from preflearn fit.
    data
        SVMlight file, or table of comparisons, that the model has not seen.
    items
        Features of the compared items.
    relevant
        Grades from this number on count as relevant in MAP and precision (default: 1).
    format
        How to read DATA, if it is not recognised.
    columns
        Columns of a table by role, where they are not found by name, such as first=home_team,second=away_team.
    json
        Print JSON instead of a table.
    """
    from preflearn.cli.evaluating import run

    run(model, data, items, relevant, format, columns, json)
