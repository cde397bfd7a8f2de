"""``preflearn evaluate``: how well a saved model, or one that is cross-validated, predicts what it has not seen."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflearn.cli.console import facts, print_json, progress, table
from preflearn.cli.options import Flag, Machine, RankModel, ReadOptions, Source, Unit, Whole
from preflearn.cli.sources import Saved, about, describe_data, is_model, open_saved, titled
from preflearn.exceptions import DataError

if TYPE_CHECKING:
    from preflearn.cli.metric_lines import Line
    from preflearn.data import Comparisons

USAGE = "preflearn evaluate [MODEL] DATA [OPTIONS]"


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
    if relevant is not None and not isfinite(relevant):
        raise DataError(f"--relevant is {relevant:g}; it must be a grade, such as 1.")
    if second is None:
        if is_model(first):
            raise DataError(f"{first}: this is a model, and DATA to judge it on is missing: MODEL DATA.")
        if relevant is not None:
            raise DataError(f"{first}: --relevant is for grades, and comparisons have none. Leave it out.")
        _cross_validate(first, reading, model, by, folds, as_json=json, seed=machine.seed)
        return
    for option, given in (("--model", model != "auto"), ("--by", by != "pair"), ("--folds", folds != 5)):
        if given:
            raise DataError(
                f"{option} is for cross-validation of DATA alone, and {first} is a model already. Leave it out."
            )
    _judge(Path(first), second, reading, relevant, as_json=json)


def _cross_validate(
    data: str, reading: ReadOptions, model: str, by: str, folds: int, *, as_json: bool, seed: int
) -> None:
    """Cross-validate one model and print how it did."""
    from preflearn.analysis.cross_validated import MOST_ASKED, hold_out, hold_out_auto
    from preflearn.analysis.model_names import terms_of
    from preflearn.cli import held_out_comparisons as cv
    from preflearn.cli.metric_lines import held_out_lines

    with progress("Reading") as tell:
        read, X = cv.read_to_hold_out(data, reading, by, folds)
        with about(read.source):
            if model != "auto":
                chosen, found = None, hold_out(X, model, by, folds, seed, tell)
            else:
                chosen, found = hold_out_auto(X, by, folds, seed, tell)
    notes = cv.fewer_folds(found, folds)
    if chosen is not None and not chosen.within:
        notes.append(
            "The model was chosen by its evidence on all comparisons, also the held-out ones, because choosing it "
            f"again in each fold would take long (judges were asked about more than {MOST_ASKED:,} items, together). "
            "The figures can be a little too good. Give --model to avoid this."
        )
    used = [terms_of(model, X)] if chosen is None else chosen.terms
    if by == "pair" and X.items is None and any("circles" in terms for terms in used):
        notes.append(
            "All comparisons of a pair are held out together. Circles between items without features are effects of "
            "single pairs, so they say nothing about a pair that was not seen. For pairs that were seen, the report of "
            "preflearn rank predicts every comparison from all the others."
        )
    lines = held_out_lines(found)
    if as_json:
        choice = None if chosen is None else {"from": chosen.source, "models": chosen.names}
        _print_json({**cv.data_facts(read, X, by, found), "model": model, "choice": choice}, lines, notes)
        return
    meant = f"{used[0].words} ({model})" if chosen is None else str(chosen)
    facts([*(("Read", line) for line in read.notes), ("Data", describe_data(X))])
    facts([("Model", meant), ("Folds", f"{found.n_folds}; held out are {cv.UNITS[by]}")])
    _print_lines(lines, notes)


def _print_json(about: dict[str, Any], lines: list[Line], notes: list[str]) -> None:
    print_json({**about, "metrics": {line.key: line.value for line in lines}, "notes": notes})


def _print_lines(lines: list[Line], notes: list[str]) -> None:
    columns = [("metric", "left"), ("value", "right"), ("meaning", "left")]
    table(columns, [(line.name, f"{line.value:.4f}", line.meaning) for line in lines])
    facts([("Note", note) for note in notes])


def _judge(model: Path, data: str, reading: ReadOptions, relevant: float | None, *, as_json: bool) -> None:
    """Judge a saved model on data."""
    from preflearn.cli.metric_lines import judge_comparisons, judge_rows
    from preflearn.cli.model_answers import read_for
    from preflearn.data import Comparisons

    with progress(f"Opening {model.name}"):
        saved = open_saved(model, data)
    with progress(f"Judging on {titled(data)}"):
        given = read_for(saved, data, reading, outcomes=True)
        if isinstance(given, Comparisons):
            if relevant is not None:
                raise DataError(f"{titled(data)}: --relevant is for grades, and comparisons have none. Leave it out.")
            try:
                lines, notes = judge_comparisons(given, *_predictions(saved, given))
            except DataError as error:
                raise DataError(f"{titled(data)}: {error}") from None
            sizes = {"n_comparisons": len(given), "n_items": given.n_items}
        else:
            sizes = {"n_rows": len(given), "n_groups": given.n_groups}
            lines, notes = judge_rows(given, saved.estimator.predict(given), relevant)
    if saved.notes.get("trained_on") == Path(data).name:
        notes.append("The model was trained on a file of this name: the figures are too good if it is the same file.")
    name = Path(data).name
    if as_json:
        _print_json({"model": model.name, "data": name, **sizes}, lines, notes)
        return
    facts([("Read", f"{titled(name)}: {describe_data(given)}"), ("Model", f"{model.name}: {_describe(saved)}")])
    _print_lines(lines, notes)


def _predictions(saved: Saved, data: Comparisons) -> tuple[Any, Any]:
    """Return margins of comparisons, and probabilities where the model has them."""
    from preflearn.selection import outcome_probability

    if not saved.probable:
        return saved.estimator.predict(data), None
    model = saved.estimator
    stands = {"side": True} if getattr(model, "side", False) else {}  # outcomes were made on sides
    return model.predict_difference(data, **stands), outcome_probability(model, data)


def _describe(saved: Saved) -> str:
    kind = type(saved.estimator).__name__
    trained = saved.notes.get("trained_on")
    return f"{kind}, trained on {trained} ({saved.notes.get('data')})" if trained else kind
