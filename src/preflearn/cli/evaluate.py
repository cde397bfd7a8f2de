"""``preflearn evaluate``: how well a saved model, or one that is cross-validated, predicts what it has not seen."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflearn.cli.console import facts, print_json, progress, table
from preflearn.cli.options import EvaluatedModel, File, Flag, Folds, Machine, ReadOptions, Source, Unit
from preflearn.cli.sources import Saved, about, describe_data, is_model, open_saved, titled
from preflearn.exceptions import DataError

if TYPE_CHECKING:
    from preflearn.cli.labels import Found
    from preflearn.cli.metric_lines import Line
    from preflearn.data import Comparisons

USAGE = "preflearn evaluate [MODEL] DATA [OPTIONS]"


def evaluate(
    first: Source,
    second: Source | None = None,
    /,
    reading: ReadOptions = ReadOptions(),  # noqa: B008 - frozen
    *,
    model: EvaluatedModel = "auto",
    by: Unit = "pair",
    folds: Folds = 5,
    relevant: float | None = None,
    against: File | None = None,
    json: Flag = False,
    machine: Machine = Machine(),  # noqa: B008 - frozen
) -> None:
    """Measure how well a model predicts outcomes that it has not seen.

    With a MODEL file: its predictions for DATA, which it must not have seen. With DATA
    alone: cross-validation, in which nothing of what is predicted is learned from:
    no other comparison of the same two items and, with --by item or --by judge,
    nothing of the same item or judge. Of rows with scores, whole groups are held out,
    with --model rankrls or kpcrank, or where rows are many.

    Comparisons: accuracy, log loss, calibration and tau. Rows with labels: label
    and preference error, Kendall tau, log loss and calibration. Rows in groups:
    disagreement error, pairwise accuracy, Kendall's tau_b and, where the scores
    are grades 0, 1, 2, ..., MAP, precision and NDCG at the top. Two models of rows
    are compared with --against: differences are tested over the groups.

    For example:

        preflearn evaluate matches.csv
        preflearn evaluate matches.csv --items items.csv --by item
        preflearn evaluate train.txt --model rankrls
        preflearn evaluate model.preflearn test.txt --relevant 2 --json
        preflearn evaluate model.preflearn test.txt --against old.preflearn

    Parameters
    ----------
    first
        Model file, table of comparisons, or SVMlight file.
    second
        Table of comparisons or SVMlight file that the model has not seen.
    model
        Without a model file: what to cross-validate, as of preflearn rank, or rankrls or kpcrank, or of rows with
        labels as of preflearn fit; auto chooses anew in each fold.
    by
        What is held out as a whole.
    folds
        Number of folds; fewer where there are not so many pairs, items, judges or groups.
    relevant
        Grades from this number on count as relevant in MAP and precision (default: 1).
    against
        Model file of another model of rows: its figures beside, and Wilcoxon's test of the differences.
    json
        Print JSON instead of a table.
    """
    machine.apply()
    if relevant is not None and not isfinite(relevant):
        raise DataError(f"--relevant is {relevant:g}; it must be a grade, such as 1.")
    if second is None:
        if is_model(first):
            raise DataError(f"{first}: this is a model, and the data to test it on are missing. Give both: MODEL DATA.")
        from preflearn.cli import labels

        found = labels.look_for_labels(first, reading, [model])
        if found.layout is not None:
            labels.check_folds(by, relevant)
            labels.cross_validate(found, model, folds, machine.seed, _print_lines, as_json=json)
            return
        if against is not None:
            raise DataError(f"--against compares {against} with a model on DATA. Give a model file first: MODEL DATA.")
        if _cross_validate_rows(first, reading, model, by, folds, relevant, as_json=json, seed=machine.seed):
            return
        if relevant is not None:
            raise DataError(f"{first}: --relevant is for grades, and comparisons have none. Leave it out.")
        _cross_validate(first, reading, model, by, folds, as_json=json, seed=machine.seed, found=found)
        return
    for option, given in (("--model", model != "auto"), ("--by", by != "pair"), ("--folds", folds != 5)):
        if given:
            raise DataError(
                f"{option} is for cross-validation of DATA alone, and {first} is a model already. Leave it out."
            )
    _judge(Path(first), second, reading, relevant, against, as_json=json)


def _cross_validate_rows(
    source: str,
    reading: ReadOptions,
    model: str,
    by: str,
    folds: int,
    relevant: float | None,
    *,
    as_json: bool,
    seed: int,
) -> bool:
    """Cross-validate a model of rows with scores, and print how it did; False where DATA are comparisons."""
    from preflearn.cli.held_out_rows import hold_out_rows, read_rows

    with progress(f"Reading {titled(source)}"):
        found = read_rows(source, reading, model)
    if found is None:
        return False
    if by != "pair":
        raise DataError(f"{titled(source)}: --by is for comparisons; of rows whole groups are held out. Leave it out.")
    read, data = found
    name = "rankrls" if model == "auto" else model
    with progress("Learning"), about(read.source):
        lines, notes, n_folds = hold_out_rows(data, name, folds, relevant, seed)
    if as_json:
        sizes = {"n_rows": len(data), "n_groups": data.n_groups, "held_out": "group", "n_folds": n_folds}
        _print_json({"data": read.source, **sizes, "model": name}, lines, notes)
        return True
    facts([*(("Read", line) for line in read.notes), ("Data", describe_data(data))])
    facts([("Model", f"{name}, by least squares"), ("Folds", f"{n_folds}; held out are whole groups")])
    _print_lines(lines, notes)
    return True


def _cross_validate(
    data: str, reading: ReadOptions, model: str, by: str, folds: int, *, as_json: bool, seed: int, found: Found
) -> None:
    """Cross-validate one model and print how it did."""
    from preflearn.analysis.cross_validated import LEAST_SQUARES, MOST_ASKED, hold_out, hold_out_auto
    from preflearn.analysis.model_names import terms_of
    from preflearn.cli import held_out_comparisons as cv
    from preflearn.cli.labels import guessing
    from preflearn.cli.metric_lines import held_out_lines

    with progress("Reading") as tell:
        with guessing(found):
            read, X = cv.read_to_hold_out(data, reading, by, found.table)
        with about(read.source):
            if model != "auto":
                chosen, held = None, hold_out(X, model, by, folds, seed, tell)
            else:
                chosen, held = hold_out_auto(X, by, folds, seed, tell)
    notes = cv.fewer_folds(held, folds)
    if chosen is not None and not chosen.within:
        notes.append(
            "The model was chosen by its evidence on all comparisons, also the held-out ones, because choosing it "
            f"again in each fold would take long (judges were asked about more than {MOST_ASKED:,} items, together). "
            "The figures can be a little too good. Give --model to avoid this."
        )
    least_squares = model in LEAST_SQUARES
    used = chosen.terms if chosen is not None else [] if least_squares else [terms_of(model, X)]
    if by == "pair" and X.items is None and any("circles" in terms for terms in used):
        notes.append(
            "All comparisons of a pair are held out together. Circles between items without features are effects of "
            "single pairs, so they say nothing about a pair that was not seen. For pairs that were seen, the report of "
            "preflearn rank predicts every comparison from all the others."
        )
    lines = held_out_lines(held, probable=not least_squares)
    if least_squares:
        notes.append(f"{model} predicts differences, and no probabilities: there is no log loss.")
    if as_json:
        choice = None if chosen is None else {"from": chosen.source, "models": chosen.names}
        _print_json({**cv.data_facts(read, X, by, held), "model": model, "choice": choice}, lines, notes)
        return
    words = LEAST_SQUARES[model] if least_squares else used[0].words
    meant = f"{words} ({model})" if chosen is None else str(chosen)
    facts([*(("Read", line) for line in read.notes), ("Data", describe_data(X))])
    facts([("Model", meant), ("Folds", f"{held.n_folds}; held out are {cv.UNITS[by]}")])
    _print_lines(lines, notes)


def _print_json(about: dict[str, Any], lines: list[Line], notes: list[str]) -> None:
    print_json({**about, "metrics": {line.key: line.value for line in lines}, "notes": notes})


def _print_lines(lines: list[Line], notes: list[str]) -> None:
    columns = [("metric", "left"), ("value", "right"), ("meaning", "left")]
    table(columns, [(line.name, f"{line.value:.4f}", line.meaning) for line in lines])
    facts([("Note", note) for note in notes])


def _judge(
    model: Path, data: str, reading: ReadOptions, relevant: float | None, against: Path | None, *, as_json: bool
) -> None:
    """Judge a saved model on data."""
    from preflearn.cli.metric_lines import judge_comparisons, judge_rows
    from preflearn.cli.model_answers import read_for
    from preflearn.data import Comparisons

    with progress(f"Opening {model.name}"):
        saved = open_saved(model, data)
    if saved.of_labels:
        _judge_labels(saved, data, reading, relevant, against, as_json=as_json)
        return
    with progress(f"Judging on {titled(data)}"):
        given = read_for(saved, data, reading, outcomes=True)
        other = None if against is None else _rival(saved, against, given, titled(data))
        if isinstance(given, Comparisons):
            if relevant is not None:
                raise DataError(f"{titled(data)}: --relevant is for grades, and comparisons have none. Leave it out.")
            try:
                lines, notes = judge_comparisons(given, *_predictions(saved, given))
            except DataError as error:
                raise DataError(f"{titled(data)}: {error}") from None
            sizes = {"n_comparisons": given.n_listed, "n_items": given.n_items}
        else:
            sizes = {"n_rows": len(given), "n_groups": given.n_groups}
            prediction = saved.estimator.predict(given)
            lines, notes = judge_rows(given, prediction, relevant)
    notes += _seen(saved, data)
    name = Path(data).name
    compared = None
    if other is not None and not isinstance(given, Comparisons):
        from preflearn.cli.metric_lines import compare_rows

        compared, tested = compare_rows(given, prediction, other.estimator.predict(given), lines, relevant)
        notes.append(tested)
    if as_json:
        facts_of_data: dict[str, Any] = {"model": model.name, "data": name, **sizes}
        if compared is not None and against is not None:
            facts_of_data["against"] = {
                "model": against.name,
                "metrics": {one.line.key: one.other for one in compared},
                "p_values": {one.line.key: one.p_value for one in compared},
            }
        _print_json(facts_of_data, lines, notes)
        return
    facts([("Read", f"{titled(name)}: {describe_data(given)}"), ("Model", _named(saved))])
    if compared is None or other is None:
        _print_lines(lines, notes)
        return
    facts([("Against", _named(other))])
    columns = [("metric", "left"), *((head, "right") for head in ("value", "against", "difference", "p"))]
    table(columns, [one.cells for one in compared])
    facts([("Note", note) for note in notes])


def _judge_labels(
    saved: Saved, data: str, reading: ReadOptions, relevant: float | None, against: Path | None, *, as_json: bool
) -> None:
    """Judge a saved model of labels."""
    from preflearn.cli import labels

    if against is not None:
        raise DataError("--against compares models of rows in groups. Leave it out; preflearn compare has the others.")
    labels.check_folds("pair", relevant)
    with progress(f"Judging on {titled(data)}"):
        lines, notes, sizes, described = labels.judge(saved, data, reading)
    notes += _seen(saved, data)
    name = Path(data).name
    if as_json:
        _print_json({"model": saved.path.name, "data": name, **sizes}, lines, notes)
        return
    facts([("Read", f"{titled(name)}: {described}"), ("Model", _named(saved))])
    _print_lines(lines, notes)


def _seen(saved: Saved, data: str) -> list[str]:
    """Return a sentence if the model may have been trained on these data."""
    if saved.notes.get("trained_on") != Path(data).name:
        return []
    return ["The model was trained on a file of this name: the figures are too good if it is the same file."]


def _named(saved: Saved) -> str:
    """Return what a model is and where it comes from."""
    on = saved.notes.get("trained_on")
    trained = f", trained on {on} ({saved.notes.get('data')})" if on else ""
    return f"{saved.path.name}: {type(saved.estimator).__name__}{trained}"


def _rival(saved: Saved, against: Path, given: Any, data: str) -> Saved:
    """Return the model to compare with, if it can predict the same rows."""
    from preflearn.data import Comparisons

    if isinstance(given, Comparisons):
        raise DataError(
            f"--against compares models of rows, and {data} holds comparisons. Leave it out; preflearn compare "
            "tests models of comparisons."
        )
    with progress(f"Opening {against.name}"):
        other = open_saved(against)
    features, first = (getattr(one.estimator, "n_features_in_", None) for one in (other, saved))
    zero_based, numbered = (bool(one.notes.get("zero_based", False)) for one in (other, saved))
    if other.probable or other.known is not None or (features, zero_based) != (first, numbered):
        raise DataError(
            f"{against}: this model cannot predict rows with {saved.n_features} features as {saved.path.name} does. "
            "Give a model that was trained on rows with the same features."
        )
    return other


def _predictions(saved: Saved, data: Comparisons) -> tuple[Any, Any]:
    """Return margins of comparisons, and probabilities where the model has them."""
    from preflearn.selection import outcome_probability

    if not saved.probable:
        return saved.estimator.predict(data), None
    model = saved.estimator
    stands = {"side": True} if getattr(model, "side", False) else {}  # outcomes were made on sides
    return model.predict_difference(data, **stands), outcome_probability(model, data)
