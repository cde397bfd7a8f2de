"""``preflearn fit``: read, learn, save, and say what was done."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from preflearn.cli.console import facts, progress, working
from preflearn.cli.dialect import COMMAND_LINE
from preflearn.cli.options import File, FitModel, Flag, Machine, ReadOptions, Source, Whole
from preflearn.cli.sources import about, describe_data, is_svmlight, read_again, read_any, save_notes, titled
from preflearn.cli.targets import check_targets
from preflearn.exceptions import DataError

if TYPE_CHECKING:
    from preflearn.cli.fit_least_squares import Choices
    from preflearn.io import Reading

__all__ = ["USAGE", "Kernel", "fit"]

USAGE = "preflearn fit DATA --save MODEL [OPTIONS]"
# Must be preflearn.kernels.KERNEL_NAMES, which would import scikit-learn; a test compares the two.
Kernel = Literal["linear", "poly2", "poly3", "rbf", "laplacian", "matern32", "matern52", "rational_quadratic"]


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
    check_targets({"--save": save}, force, [data, reading.items])
    from preflearn.cli.fit_least_squares import Choices

    choices = Choices(
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
    )
    with read_again(data):
        _fit(data, save, choices, force)


def _fit(source: str, target: Path, choices: Choices, force: bool) -> None:
    """Learn from comparisons by evidence, from scored rows (or where asked) by least squares."""
    from preflearn.analysis.ranker import rank_comparisons
    from preflearn.cli import fit_least_squares as least_squares
    from preflearn.data import Comparisons, Ratings
    from preflearn.files import save
    from preflearn.io.reading import MOST_FEATURES

    asked, squares = choices, choices.by_least_squares
    if squares:
        choices = choices.resolved()
        least_squares.check_options(choices)
    else:
        least_squares.check_no_least_squares(choices)
    if choices.n_features is not None and not 1 <= choices.n_features <= MOST_FEATURES:
        raise DataError(f"--n-features is {choices.n_features}; it must be at least 1 and at most {MOST_FEATURES:,}.")
    if not is_svmlight(source, choices.reading):
        for option, given in (("--zero-based", choices.zero_based), ("--n-features", choices.n_features)):
            if given:
                raise DataError(f"{titled(source)}: {option} is for SVMlight files, and this is a table. Leave it out.")
    with working(f"Reading {titled(source)}"):
        reading = _read(source, choices, squares)
    if isinstance(reading.data, Ratings) and not squares:
        if choices.model is not None:
            raise DataError(
                f"{reading.source}: --model {choices.model} learns from comparisons, and these are rows with scores. "
                "Use --model rankrls, or leave it out."
            )
        choices, squares = choices.resolved(), True
    if squares:
        _by_least_squares(reading, target, choices, force, least_squares.describe_switch(asked, reading.data))
        return
    assert isinstance(reading.data, Comparisons)
    facts([*(("Read", line) for line in reading.notes), ("Data", describe_data(reading.data))])
    with progress("Learning") as tell, about(reading.source):
        result = rank_comparisons(
            reading.data,
            reading.notes,
            reading.encoder,
            model=choices.model or "auto",
            random_state=choices.seed,
            progress=tell,
        )
        save(result.model, target, notes=save_notes(reading), overwrite=force)
    lines = [("Model", f"{result.ladder.why}."), *(("Warning", one.worded(COMMAND_LINE)) for one in result.warnings)]
    facts([*lines, ("Saved", _saved(target))])


def _read(source: str, choices: Choices, margins: bool) -> Reading:
    return read_any(
        source, choices.reading, margins=margins, n_features=choices.n_features, zero_based=choices.zero_based
    )


def _by_least_squares(reading: Reading, target: Path, choices: Choices, force: bool, note: str | None) -> None:
    from preflearn.cli import fit_least_squares as least_squares
    from preflearn.files import save

    data, source = reading.data, reading.source
    least_squares.check_data(source, data, choices)
    facts([*(("Read", line) for line in reading.notes), ("Data", describe_data(data))])
    with working(f"Learning from {source}"), about(source):
        result = least_squares.train(data, choices)
    with working(f"Saving {target.name}"):
        save(result.estimator, target, notes=_notes(reading, choices), overwrite=force)
    lines = [("Model", least_squares.describe_model(choices, result.estimator)), ("Chosen", result.chosen)]
    if result.score is not None:
        lines.append(("Score", least_squares.describe_score(choices.scoring or "disagreement", result.score)))
    facts([*lines, *([("Note", note)] if note else []), ("Saved", _saved(target))])


def _notes(reading: Reading, choices: Choices) -> dict[str, Any]:
    """Return what `preflearn predict` has to know beside the model."""
    from preflearn.data import Comparisons

    data = reading.data
    notes: dict[str, Any] = {
        "trained_on": Path(reading.source).name,
        "data": describe_data(data),
        "zero_based": choices.zero_based,
        "encoder": None if reading.encoder is None else reading.encoder.to_dict(),
    }
    if isinstance(data, Comparisons) and data.items is None:
        assert data.names is not None
        notes["item_names"] = [str(name) for name in data.names]
    return notes


def _saved(target: Path) -> str:
    return f"{target} ({max(1, round(target.stat().st_size / 1000)):,} kB)"
