"""What a saved model answers, as tables: probabilities of pairs, utilities of items, scores of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from preflearn.cli.options import ReadOptions
from preflearn.cli.sources import Saved, check_rows, is_svmlight, read_any, titled
from preflearn.data import Comparisons, ItemTable, Ratings
from preflearn.exceptions import DataError, FileFormatError, first_few, nearest_names
from preflearn.io.item_features import NAME_WORDS
from preflearn.io.opening import read_table
from preflearn.table_format import plural

Answer = tuple[dict[str, Any], str]  # columns, and what they are
MOST_RANKED = 3_000  # items whose joint covariance is held


def answer_about_training(saved: Saved) -> Answer:
    """Return the predictions for the items that a model was trained on."""
    return _items(saved, training_items(saved), str(saved.path))


def answer_for(saved: Saved, data: str, reading: ReadOptions) -> Answer:
    """Return the predictions for a file of rows, pairs or items."""
    try:
        found = read_for(saved, data, reading, outcomes=False)
    except FileFormatError as error:
        if reading.format is not None or reading.columns is not None:
            raise
        if not _has_names(saved, data):
            if error.message.code not in ("who-won-unclear", "outcome-column-unclear"):
                raise
            columns = first_few(read_table(data).columns, 8)
            raise FileFormatError(
                f"{titled(data)}: the columns {columns} are neither those of pairs (first,second) nor of items (item). "
                "Rename them, or name the sides: --columns first=COLUMN,second=COLUMN"
            ) from None
        if reading.items is not None:
            raise DataError(f"{titled(data)}: this is a table of items already. Leave out --items.") from None
        return _items(saved, saved.table(data), titled(data))
    if isinstance(found, Ratings):
        return _rows(saved, found)
    return _pairs(saved, found)


def read_for(saved: Saved, data: str, reading: ReadOptions, *, outcomes: bool) -> Comparisons | Ratings:
    """Return data that a model can predict: pairs of items it knows or that are given, or rows with its features."""
    if is_svmlight(data, reading):
        if saved.probable:
            raise DataError(
                f"{titled(data)}: the model predicts comparisons, and these are rows with scores. Give pairs or items."
            )
        if saved.known is not None:
            raise DataError(
                f"{titled(data)}: the model was trained on comparisons of {len(saved.known)} named items without "
                "features, so it can score only these items. Train with preflearn fit DATA --items ITEMS to score new "
                "ones."
            )
        rows = read_any(
            data, reading, n_features=saved.n_features, zero_based=bool(saved.notes.get("zero_based", False))
        ).data
        assert isinstance(rows, Ratings)
        check_rows(saved, rows, titled(data))
        return rows
    reading = _with_covariates(saved, data, reading)
    if data == str(reading.items) == "-":
        raise DataError("standard input cannot be both the pairs and the items. Give --items a file.")
    on_rows = saved.rows_encoder if reading.items is None else None
    if on_rows is not None:
        found = read_any(data, reading, items=on_rows, need_outcomes=outcomes).data
        if isinstance(found, Comparisons) and found.items is not None:
            return found
    items = None
    if saved.probable or saved.known is not None:
        if saved.known is not None and reading.items is not None:
            raise DataError(f"{reading.items}: the model was trained without features. Leave out --items.")
        items = training_items(saved)
        if reading.items is not None:
            items = _with_training(saved, saved.table(str(reading.items)))
    elif reading.items is not None:
        items = saved.table(str(reading.items))
    found = read_any(data, replace(reading, items=None), items=items, need_outcomes=outcomes).data
    assert isinstance(found, Comparisons)
    if found.items is None and saved.known is None:
        raise DataError(
            f"{titled(data)}: the model was trained on {plural(saved.n_features, 'feature')} of the items, and a table "
            "of pairs has none. Give them with --items ITEMS."
        )
    return found


def _with_covariates(saved: Saved, data: str, reading: ReadOptions) -> ReadOptions:
    """Return the options with the covariates of the model named, if the table has columns of their names."""
    names = getattr(getattr(saved.estimator, "comparisons_", None), "covariate_names", None)
    asked = reading.columns or ""
    if names is None or "covariates=" in asked or any(set("+,=") & set(str(name)) for name in names):
        return reading
    columns = set(read_table(data).columns)
    if all(name in columns or _is_difference(str(name), columns) for name in names):
        held = f"covariates={'+'.join(str(name) for name in names)}"
        return replace(reading, columns=f"{asked},{held}" if asked else held)
    return reading


def _is_difference(name: str, columns: set[str]) -> bool:
    """Return whether a name such as days_home-days_away is the difference of two columns."""
    cuts = ((name[:place], name[place + 1 :]) for place, mark in enumerate(name) if mark == "-")
    return any(one.strip() in columns and other.strip() in columns for one, other in cuts)


def _has_names(saved: Saved, data: str) -> bool:
    """Return whether a table looks like one of items."""
    known = {word.lower() for word in (*NAME_WORDS, (saved.notes.get("encoder") or {}).get("name") or "item")}
    return any(column.lower() in known for column in read_table(data).columns)


def training_items(saved: Saved) -> ItemTable:
    """Return the items that a model was trained on."""
    if saved.probable:
        data = saved.estimator.comparisons_
        named = ItemTable(data.items, data.names, data.feature_names, data.n_items)
        return named._replace(names=_names(named))
    assert saved.known is not None
    return ItemTable(None, np.array(saved.known, dtype=object), None, len(saved.known))


def _rows(saved: Saved, data: Ratings) -> Answer:
    score = saved.estimator.predict(data.items)
    group = np.zeros(len(data), dtype=np.intp) if data.group is None else data.group
    columns = {
        "row": np.arange(1, len(data) + 1),
        "qid": [""] * len(data) if data.group is None else group,
        **({} if data.names is None else {"docid": [str(name) for name in data.names]}),
        "score": score,
        "rank": rank_in_groups(score, group),
    }
    groups = "one group" if data.n_groups == 1 else plural(data.n_groups, "group")
    return columns, f"scores of {plural(len(data), 'row')} in {groups}"


def _items(saved: Saved, table: ItemTable, source: str) -> Answer:
    names = _names(table)
    if saved.known is not None:
        _check_known(names, saved.known, source)
    what = f"{plural(len(names), 'item')}, best first"
    if saved.probable:
        return _utilities(saved, table, names, source), f"utilities of {what}"
    score = _scores(saved, table, names)
    order = np.argsort(-score, kind="stable")
    rank = rankdata(-score[order], "min").astype(np.intp)
    return {"item": names[order], "score": score[order], "rank": rank}, f"scores of {what}"


def _utilities(saved: Saved, table: ItemTable, names: Any, source: str) -> dict[str, Any]:
    """Return utilities relative to the mean of the training items, with places among the given items."""
    known = training_items(saved)
    if getattr(saved.estimator, "cyclic_kernel", None) is not None:
        return _preferred(saved, table, names, source)
    utility = saved.estimator.predict_utility(table) - float(saved.estimator.predict_utility(known).mean())
    if len(names) + known.n_items > MOST_RANKED:
        order = np.argsort(-utility, kind="stable")
        return {"item": names[order], "utility": utility[order], "rank": np.arange(1, len(order) + 1)}
    r = saved.estimator.rank(table)
    columns = {"item": names, "utility": utility, "std": _deviations(saved, table, known)}
    places = {"rank": r.rank, "rank_low": r.rank_low, "rank_high": r.rank_high, "p_best": r.p_best}
    return {name: values[r.row] for name, values in columns.items()} | places


def _preferred(saved: Saved, table: ItemTable, names: Any, source: str) -> dict[str, Any]:
    """Return how much items are preferred on average to those of training and to each other, where circles may be."""
    known = training_items(saved)
    if known.values is None:
        together = known
    else:
        together = _together(table, known) if table.names is None else _with_training(saved, table)
    if together.n_items > MOST_RANKED:
        raise DataError(
            f"{source}: preferences of this model may run in circles, so items are compared with each other and with "
            f"those of training: {together.n_items:,} are too many (at most {MOST_RANKED:,}). Give fewer, or pairs."
        )
    r = saved.estimator.rank(together)
    if known.values is None:
        place = {str(name): number for number, name in enumerate(r.names)}
        where = np.array([place[name] for name in names])
    else:  # the given ones come first
        where = np.argsort(r.row)[: len(names)]
    order = np.argsort(where, kind="stable")
    rows = where[order]
    return {"item": names[order], "utility": r.utility[rows], "std": r.std[rows], "rank": np.arange(1, len(order) + 1)}


def _deviations(saved: Saved, table: ItemTable, known: ItemTable) -> Any:
    """Return standard deviations of utilities relative to the mean of the training items."""
    both: ItemTable = known
    if known.values is not None:
        both, rows = _together(known, table), known.n_items + np.arange(table.n_items)
    else:
        place = {name: row for row, name in enumerate(_names(known))}
        rows = np.array([place[name] for name in _names(table)])
    cov = saved.estimator.predict_utility(both, return_cov=True)[1]
    across = cov[:, : known.n_items].mean(axis=1)
    return np.sqrt(np.maximum(cov.diagonal()[rows] - 2 * across[rows] + across[: known.n_items].mean(), 0.0))


def _together(one: ItemTable, other: ItemTable) -> ItemTable:
    """Return one table of two with the same features."""
    values = np.concatenate([np.asarray(one.values), np.asarray(other.values)])
    return ItemTable(values, np.concatenate([_names(one), _names(other)]), one.feature_names, len(values))


def _names(table: ItemTable) -> Any:
    """Return the names of items as text, or their numbers."""
    names = range(table.n_items) if table.names is None else table.names
    return np.array([str(name) for name in names], dtype=object)


def _with_training(saved: Saved, table: ItemTable) -> ItemTable:
    """Return the given items, and those of training that are not among them."""
    known = training_items(saved)
    if known.values is None or table.values is None or table.names is None:
        return table
    given = set(_names(table))
    rest = [row for row, name in enumerate(_names(known)) if name not in given]
    if not rest:
        return table
    return _together(table, ItemTable(known.values[rest], _names(known)[rest], known.feature_names, len(rest)))


def _pairs(saved: Saved, data: Comparisons) -> Answer:
    label = _names(ItemTable(None, data.names, None, data.n_items))
    sides = {"first": label[data.first], "second": label[data.second]}
    what = plural(len(data), "pair")
    if not saved.probable:
        score = _scores(saved, ItemTable(data.items, None, data.feature_names, data.n_items), label)
        return sides | {"margin": score[data.first] - score[data.second]}, f"margins of {what}"
    model = saved.estimator
    sides["probability"] = model.predict_proba(data)[:, 1]
    if getattr(model, "ties", False):
        sides["tie"] = model.predict_outcome_proba(data)[:, 1]
    sides["difference"], sides["std"] = model.predict_difference(data, return_std=True)
    knows_judges = getattr(model, "judge_kernel", None) is not None or getattr(model, "judge_reliability", False)
    if not knows_judges or data.judge is None:
        return sides, f"probabilities of {what}"
    # whose preferences these are
    return {"judge": [str(name) for name in data.judge]} | sides, f"probabilities of {what}, each by its judge"


def _check_known(names: Any, known: list[str], source: str) -> None:
    there = set(known)
    unknown = [name for name in names if name not in there]
    if unknown:
        nearest = nearest_names(unknown[0], known)
        raise DataError(
            f'{source}: "{unknown[0]}" is not among the {len(known)} items that the model knows'
            f"{' (' + nearest + ')' if nearest else ''}; {len(unknown)} of {len(names)} items are unknown. "
            "Without features it can score only the items that it was trained on."
        )


def _scores(saved: Saved, table: ItemTable, names: Any) -> Any:
    """Return the scores of a model by least squares."""
    if saved.known is None:
        return saved.estimator.predict(table)
    place = {name: row for row, name in enumerate(saved.known)}
    rows = np.array([place[name] for name in names])
    return saved.estimator.predict(sp.eye_array(saved.n_features, format="csr")[rows])


def rank_in_groups(score: Any, group: Any) -> Any:
    """Return the rank of each row in its group, 1 for the highest score; equal scores share the better rank."""
    code, sizes = np.unique(group, return_inverse=True, return_counts=True)[1:]
    place = rankdata(-score, "dense").astype(np.intp)
    among_all = rankdata(code * (place.max() + 1) + place, "min").astype(np.intp)  # groups one after the other
    return among_all - (np.cumsum(sizes) - sizes)[code]
