"""Tables with features and a ranking of labels, or a class, on each row: found, learned, predicted and judged."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from preflearn.cli.console import facts, print_json, progress, table
from preflearn.cli.dialect import COMMAND_LINE
from preflearn.cli.metric_lines import Line, calibration_line
from preflearn.cli.options import LABEL_MODELS, OF_FEATURES, ReadOptions
from preflearn.cli.sources import Saved, about, is_model, is_svmlight, titled
from preflearn.exceptions import DataError
from preflearn.io.label_tables import (
    LabelLayout,
    LabelReading,
    guess_class,
    guess_ranks,
    label_layout,
    no_labels,
    read_labels,
)
from preflearn.io.opening import are_several, open_source
from preflearn.io.read_options import Options
from preflearn.io.table import Table
from preflearn.table_format import plural

if TYPE_CHECKING:
    from preflearn.analysis.label_models import LabelScores
    from preflearn.data import LabelPreferences

_READ = ("--columns", "--format", "--drop")  # options that say how such a table is read
_COMPARED = ("label-frequencies", "label-gp-linear", "label-gp", "label-svm")


@dataclass(frozen=True)
class Found:
    """A table that was opened, and its layout if its rows say which labels suit them."""

    table: Table | None
    layout: LabelLayout | None
    options: Options

    def read(self) -> LabelReading:
        """Return what it holds."""
        assert self.table is not None
        return read_labels(self.table, self.layout, self.options)


def look_for_labels(source: str, reading: ReadOptions, models: Sequence[str] = ()) -> Found:
    """Open a table, and find out whether it is one of labels; ``models`` are those that were asked for."""
    of_labels = [model for model in models if model in LABEL_MODELS]
    others = [model for model in models if model not in LABEL_MODELS and model != "auto"]
    if of_labels and others:
        raise DataError(
            f"{of_labels[0]} learns from rows with labels, and {others[0]} from comparisons. Name models of one kind."
        )
    missing = "drop" if reading.drop else "error"
    options = Options("read_label_preferences", columns=reading.columns, missing=missing)
    others_only = is_model(source) or are_several(source) or reading.format in ("preflib", "comparisons")
    if others_only or is_svmlight(source, reading):
        if of_labels:
            raise DataError(
                f"{titled(source)}: {of_labels[0]} needs a table with features and a ranking or a class on each row."
            )
        return Found(None, None, options)
    opened = open_source(source, "read_preferences")
    if not isinstance(opened, Table):
        return Found(None, None, options)
    if reading.items is not None and not of_labels:
        return Found(opened, None, options)  # the features are those of what is ranked
    form = "rankings" if reading.format == "rankings" else None
    layout = label_layout(opened, options.given, form=form)
    if layout is None:
        if of_labels:
            raise no_labels(opened)
        return Found(opened, None, options)
    if others:
        if others[0].split("+")[0] in OF_FEATURES:
            raise DataError(
                f"{titled(source)}: {others[0]} learns from comparisons of items with features, and here features "
                f"describe rows with {layout.what} of labels. Use {LABEL_MODELS[0]}, which learns from such rows."
            )
        return Found(opened, None, options)
    for option in reading.given:
        if option not in _READ:
            raise DataError(
                f"{titled(source)}: each row has features and {layout.what} of labels, and {option} is for "
                "comparisons. Leave it out."
            )
    return Found(opened, layout, options)


@contextlib.contextmanager
def guessing(found: Found | None) -> Iterator[None]:
    """Say in the error that a table holds no comparisons what else it could be."""
    try:
        yield
    except DataError as error:
        table = None if found is None or found.options.given else found.table
        if table is None or error.message.code != "who-won-unclear":
            raise
        said, ranks, column = COMMAND_LINE.render(error.message), guess_ranks(table), guess_class(table)
        if ranks is not None:
            raise DataError(
                f"{said}. If these are the ranks of labels on each row: --columns labels={ranks}"
            ) from error
        if column is None:
            raise
        raise DataError(f'{said}. If "{column}" is the class of each row: --columns class={column}') from error


def describe(data: LabelPreferences, layout: str) -> str:
    """Return what was read in a few words."""
    what = "classes" if layout == "class" else "rankings"
    features = plural(data.n_features, "feature")
    return (
        f"{plural(len(data), 'row')} with {features}, {what} of {data.n_labels} labels, "
        f"{plural(data.n_edges, 'preference')} between two"
    )


def learn(found: Found, model: str, seed: int) -> tuple[Any, dict[str, Any]]:
    """Return a model of labels and what its file should say about it."""
    from preflearn.analysis.label_models import learn_labels

    read = found.read()
    assert read.data is not None
    shown = describe(read.data, read.layout)
    facts([*(("Read", line) for line in read.notes), ("Data", shown)])
    with progress("Learning") as tell, about(read.source):
        learned = learn_labels(read.data, model, random_state=seed, progress=tell)
    facts([("Model", f"{learned.words}."), *(("", note) for note in learned.notes)])
    notes = {"trained_on": Path(read.source).name, "data": shown, "encoder": read.encoder.to_dict()}
    return learned.model, notes | {"labels": read.columns}


def _rows(saved: Saved, data: str, reading: ReadOptions, *, need_labels: bool) -> tuple[LabelReading | None, Any, Any]:
    """Return new rows as a model wants them: what they say of labels, their features, and the title and ids of rows."""
    from preflearn.io import ItemEncoder

    for option in reading.given:
        if option not in _READ:
            raise DataError(
                f"{titled(data)}: {option} is for comparisons, and the model is one of labels. Leave it out."
            )
    fields = saved.notes.get("encoder")
    encoder = None if fields is None else ItemEncoder.from_dict(fields)
    found = look_for_labels(data, reading) if need_labels else None
    opened = open_source(data, "read_label_preferences") if found is None else found.table
    if opened is None or not isinstance(opened, Table):
        raise DataError(
            f"{titled(data)}: the model ranks labels for rows with features, and these are no such rows. Give a table."
        )
    options = Options("read_label_preferences", columns=reading.columns, missing="drop" if reading.drop else "error")
    if encoder is None:
        table = saved.table(data)
        if not need_labels:
            return None, table, ("row", range(1, table.n_items + 1))
        raise DataError(f"{saved.path}: the model file does not say how features are encoded. Judge it in Python.")
    layout = None
    if found is not None:
        layout = found.layout or _as_in_training(saved, opened)
        if layout is None:
            raise no_labels(opened)
    labels = saved.estimator.labels_.tolist() if need_labels else None
    read = read_labels(opened, layout, options, labels=labels, encoder=encoder)
    name = read.encoder.name
    ids = range(1, read.items.n_items + 1) if read.items.names is None else read.items.names
    return read, read.items, (name or "row", [str(one) for one in ids] if name else ids)


def _as_in_training(saved: Saved, opened: Table) -> LabelLayout | None:
    """Return the layout by the columns that said in training which labels suit a row, where they are there."""
    columns = dict(saved.notes.get("labels") or {})
    columns.pop("name", None)
    given = {role: named.replace(",", "+") if role == "labels" else named for role, named in columns.items()}
    if not given or any(set(named.split("+")) - set(opened.columns) for named in given.values()):
        return None
    return label_layout(opened, given)


def answer(saved: Saved, data: str, reading: ReadOptions, *, pairs: bool) -> tuple[dict[str, Any], str]:
    """Return the ranking of labels for each row with the probability of each to be first, or those of all pairs."""
    import numpy as np

    model = saved.estimator
    _, items, (title, ids) = _rows(saved, data, reading, need_labels=False)
    labels = [str(label) for label in model.labels_.tolist()]
    title = title if title not in ("label", "ranking", "first", "second", "probability") else "row"
    if pairs:
        if not hasattr(model, "preference_matrix"):
            raise DataError(f"{saved.path}: the model has no probabilities. Leave out --pairs.")
        first, second = np.triu_indices(len(labels), 1)
        P = model.preference_matrix(items)[:, first, second]
        columns = {
            title: np.repeat(np.array(list(ids), dtype=object), len(first)).tolist(),
            "first": [labels[k] for k in first] * len(P),
            "second": [labels[k] for k in second] * len(P),
            "probability": P.ravel(),
        }
        return columns, f"probabilities of {plural(len(first), 'pair')} of labels for {plural(len(P), 'row')}"
    order = np.argsort(-model.predict_utility(items), axis=1, kind="stable")
    columns = {
        title: list(ids),
        "label": [labels[row[0]] for row in order],
        "ranking": [" > ".join(labels[place] for place in row) for row in order],
    }
    if hasattr(model, "predict_label_proba"):
        P = model.predict_label_proba(items)
        columns |= {f"p_{label}": P[:, place] for place, label in enumerate(labels)}
    return columns, f"rankings of {len(labels)} labels for {plural(len(order), 'row')}"


def questions(saved: Saved, rows: str, n: int, seed: int) -> dict[str, Any]:
    """Return the pairs of labels that are worth asking about for some rows, as columns of a table to fill in."""
    import numpy as np

    from preflearn.active import suggest
    from preflearn.models import LabelPreferenceGP

    model = saved.estimator
    if not isinstance(model, LabelPreferenceGP):
        raise DataError(f"{saved.path}: the model has no probabilities. Use one of {', '.join(LABEL_MODELS[:3])}.")
    _, items, (title, ids) = _rows(saved, rows, ReadOptions(), need_labels=False)
    n_pairs = items.n_items * len(model.labels_) * (len(model.labels_) - 1) // 2
    found = suggest(model, items, min(n, n_pairs), random_state=seed)
    swap = np.random.default_rng(seed).random(len(found)) < 0.5  # which label stands left must not hint at anything
    sides = np.array([found.first_name, found.second_name], dtype=object)
    one, other = np.where(swap, sides[::-1], sides)
    every, title = list(ids), title if title not in ("left", "right", "winner", "information") else "row"
    assert found.item is not None
    return {
        title: [every[place] for place in found.item],
        "left": one,
        "right": other,
        "winner": [""] * len(found),
        "information": np.round(found.gain, 4),
    }


def score_lines(scores: LabelScores) -> list[Line]:
    """Return the metrics of a model of labels."""
    lines = []
    if scores.label_error is not None:
        lines.append(Line("label_error", "label error", scores.label_error, "rows whose first label is not predicted"))
    lines += [
        Line("preference_error", "preference error", scores.preference_error, "pairs of labels in the wrong order"),
        Line("kendall_tau", "Kendall tau", scores.tau, "mean of rows; 1 all as predicted, 0 chance, -1 reversed"),
    ]
    if scores.probable:
        pair, first = "of pairs, in nats; guessing gives 0.693", "of the first label, in nats"
        lines.append(Line("log_loss", "log loss", scores.edges.log_loss, pair))
        lines.append(calibration_line(scores.edges.calibration_error))
        if scores.label_log_loss is not None:
            lines.append(Line("label_log_loss", "label log loss", scores.label_log_loss, first))
    return lines


def judge(saved: Saved, data: str, reading: ReadOptions) -> tuple[list[Line], list[str], dict[str, int], str]:
    """Return metrics of a saved model on rows that it has not seen, notes, sizes, and what was read."""
    from preflearn.analysis.label_models import score_labels

    read, _, _ = _rows(saved, data, reading, need_labels=True)
    assert read is not None
    assert read.data is not None
    with about(read.source):
        scores = score_labels(saved.estimator, read.data)
    return score_lines(scores), _no_probabilities(scores), _sizes(read.data), describe(read.data, read.layout)


def _sizes(data: LabelPreferences) -> dict[str, int]:
    return {"n_rows": len(data), "n_labels": data.n_labels, "n_preferences": data.n_edges}


def _no_probabilities(scores: LabelScores) -> list[str]:
    return [] if scores.probable else ["The model has no probabilities, so there is no log loss."]


def check_folds(by: str, relevant: float | None = None) -> None:
    """Raise for options of cross-validation that only comparisons have."""
    if by != "pair":
        raise DataError(f"--by {by} is for comparisons, and these are rows with labels. Leave it out.")
    if relevant is not None:
        raise DataError("--relevant is for grades, and rows with labels have none. Leave it out.")


def cross_validate(
    found: Found, model: str, folds: int, seed: int, show: Callable[[list[Line], list[str]], None], *, as_json: bool
) -> None:
    """Cross-validate one model and print how it did; ``show`` prints metrics."""
    from preflearn.analysis.label_models import LABEL_MODELS as WORDS
    from preflearn.analysis.label_models import hold_out_labels

    read = found.read()
    assert read.data is not None
    with progress("Learning") as tell, about(read.source):
        scores, learned = hold_out_labels(read.data, model, folds, random_state=seed, progress=tell)
    notes = [*_fewer(scores, folds), *_no_probabilities(scores)]
    names = [one.name for one in learned]
    lines = score_lines(scores)
    if as_json:
        choice = {"from": "each training part", "models": names} if model == "auto" else None
        facts_of = {"data": read.source, **_sizes(read.data), "held_out": "row", "n_folds": scores.edges.n_folds}
        metrics = {line.key: line.value for line in lines}
        print_json({**facts_of, "model": model, "choice": choice, "metrics": metrics, "notes": notes})
        return
    if model != "auto":
        words = f"{WORDS[model]} ({model})"
    elif len(set(names)) == 1:
        words = f"{learned[0].words}: chosen by its evidence on each training part"
    else:
        counts = ", ".join(f"{name} in {n} of {len(names)}" for name, n in Counter(names).most_common())
        words = f"chosen by its evidence on each training part: {counts}"
    facts([*(("Read", line) for line in read.notes), ("Data", describe(read.data, read.layout))])
    facts([("Model", words), ("Folds", f"{scores.edges.n_folds}; held out are single rows")])
    show(lines, notes)


def _fewer(scores: LabelScores, asked: int) -> list[str]:
    there = scores.edges.n_folds
    return [] if there >= asked else [f"{there} folds instead of {asked}: there are only {there} rows to hold out."]


def compare(found: Found, models: Sequence[str], folds: int, seed: int, *, as_json: bool) -> None:
    """Cross-validate several models on the same folds and print them side by side."""
    from preflearn.analysis.label_models import hold_out_labels
    from preflearn.selection import paired_difference

    read = found.read()
    assert read.data is not None
    names = list(dict.fromkeys(models)) or list(_COMPARED)
    if "auto" in names or len(names) < 2:
        raise DataError(f"{read.source}: there is one model to compare ({names[0]}). Name two or more.")
    scores: dict[str, LabelScores] = {}
    with progress("Learning") as tell, about(read.source):
        for k, name in enumerate(names):

            def within(what: str, share: float, k: int = k, name: str = name) -> None:
                tell(f"{name}: {what}", (k + share) / len(names))

            scores[name], _ = hold_out_labels(read.data, name, folds, random_state=seed, progress=within)
    probable = sorted((n for n in names if scores[n].probable), key=lambda n: scores[n].edges.log_loss)
    rest = sorted((n for n in names if not scores[n].probable), key=lambda n: scores[n].preference_error)
    rows, answer = [], []
    for name in (*probable, *rest):
        one = scores[name]
        entry: dict[str, Any] = {"model": name, **{line.key: line.value for line in score_lines(one)}}
        label = "-" if one.label_error is None else f"{one.label_error:.4f}"
        cells = [name, f"{one.tau:.4f}", label, "-", "-", "-"]
        if name in probable:
            cells[3] = f"{one.edges.log_loss:.4f}"
            if name != probable[0]:
                behind = paired_difference(one.edges, scores[probable[0]].edges, random_state=seed)
                entry |= {"behind": behind.mean, "std_error": behind.std_error, "p_value": behind.p_value}
                cells[4:] = [f"{behind.mean:.4f} ± {behind.std_error:.4f}", f"{behind.p_value:.2g}"]
        rows.append(cells)
        answer.append(entry)
    some = scores[names[0]]
    notes = _fewer(some, folds)
    if as_json:
        whole = {"data": read.source, **_sizes(read.data), "held_out": "row", "n_folds": some.edges.n_folds}
        print_json({**whole, "best": answer[0]["model"], "models": answer, "notes": notes})
        return
    facts([*(("Read", line) for line in read.notes), ("Data", describe(read.data, read.layout))])
    facts([("Folds", f"{some.edges.n_folds}, the same for all; held out are single rows")])
    right = ("tau", "label error", "log loss", "behind", "p")
    table([("model", "left"), *((name, "right") for name in right)], rows)
    notes.append("behind: difference of log losses ± its standard error; p: sign-flip test over the rows.")
    facts([("Note", note) for note in notes])
