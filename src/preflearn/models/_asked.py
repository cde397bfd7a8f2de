"""What a fitted model is asked about: items, judges, clusters and covariates, matched with those of training."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons, ItemTable, Ratings
from preflearn.data.join import join_judges
from preflearn.data.tables import check_items, frame_of
from preflearn.exceptions import DataError, first_few, nearest_names
from preflearn.items import as_items
from preflearn.models._input import identity
from preflearn.models._sum_of_terms import judge_parts
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import POPULATION, UNKNOWN, Items, Who

__all__ = [
    "asked_by",
    "asked_of",
    "asked_pairs",
    "check_kind",
    "clusters_of",
    "covariates_of",
    "item_table",
    "items_of_comparisons",
    "items_of_table",
    "match_columns",
]


def item_table(estimator: Any, comparisons: Comparisons) -> Any:
    """Return the features of the items of comparisons that are to be predicted, matched by name."""
    check_is_fitted(estimator)
    owner = type(estimator).__name__
    X, wanted = comparisons.items, estimator.n_features_in_
    known = getattr(estimator, "item_names_", None)
    if X is not None:
        if getattr(estimator, "featureless_", False):
            raise DataError(code="trained-without-features", owner=owner).says(
                "the model was fitted on items without features; give the same kind of items."
            )
        return match_columns(estimator, X, comparisons.feature_names)
    if not getattr(estimator, "featureless_", False):
        raise DataError(code="trained-with-features", owner=owner).says(
            f"the items have no features, but the model was fitted on {wanted}", "Give Comparisons an item table"
        )
    if known is None and comparisons.names is not None:
        raise DataError(code="trained-on-numbered-items", owner=owner).says(
            "the model was fitted on numbered items and these have names, so which is which is not known",
            "Give names in training, or row numbers here",
        )
    if known is not None and comparisons.names is not None:
        place = {name: row for row, name in enumerate(known)}
        unknown = [name for name in comparisons.names if name not in place]
        if unknown:
            hint = nearest_names(str(unknown[0]), map(str, known))
            raise DataError(code="items-not-in-training", owner=owner).says(
                f"{len(unknown)} of {comparisons.n_items} items were not seen in training (names "
                f"{first_few(unknown)}{'; ' + hint if hint else ''})",
                "Without features only items seen in training can be compared",
            )
        return identity(wanted)[[place[name] for name in comparisons.names]]
    if comparisons.n_items != wanted:
        raise DataError(code="item-count-of-training", owner=owner).says(
            f"the comparisons have {comparisons.n_items} items without features, but the model was fitted on {wanted}",
            "Without features only the items seen in training can be compared",
        )
    return identity(wanted)


def check_kind(estimator: Any, X: Any) -> None:
    """Raise unless new items are bags where those of training were, and rows where they were rows."""
    owner, bags = type(estimator).__name__, getattr(estimator, "on_bags_", False)
    rows = as_items(X).one_row_each
    if bags and rows:
        raise DataError(code="trained-on-bags", owner=owner).says(
            "the model was fitted on Bags and got a table with one row per item",
            "Give Bags; a row alone is a bag of one point: Bags(table[:, None, :])",
        )
    if not bags and not rows:
        raise DataError(code="trained-on-rows", owner=owner).says(
            "the model was fitted on a table with one row per item and got Bags",
            "Fit it on Bags, or give bags.means() if the rows of training were means",
        )


def match_columns(estimator: Any, X: Any, names: Any) -> Any:
    """Return X with its columns in the order of training, by name where both have names."""
    owner, wanted = type(estimator).__name__, estimator.n_features_in_
    check_kind(estimator, X)
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and names is not None and list(names) != list(known):
        missing = [name for name in known if name not in set(names)]
        if missing:
            raise DataError(code="features-of-training-missing", owner=owner).says(
                f"{len(missing)} of the {wanted} features of training are missing (columns {first_few(missing)})",
                "Give the same columns as in training",
            )
        place = {name: column for column, name in enumerate(names)}
        return X[:, [place[name] for name in known]]
    if X.shape[1] != wanted:
        raise DataError(code="feature-count-of-training", owner=owner).says(
            f"the items have {X.shape[1]} features, but the model was fitted on {wanted}",
            "Give the same columns in the same order as in training",
        )
    return X


def asked_pairs(model: Any, X: Any) -> Comparisons:
    """Return the pairs that a fitted model is asked about: Comparisons, or two items of training on each row.

    Rows are a list or array of pairs, of names or row numbers, or a data frame with two columns.
    """
    if isinstance(X, Comparisons):
        return X
    owner, train = type(model).__name__, model.comparisons_
    frame = frame_of(X, owner)
    if frame is not None and len(frame.columns) == 2:
        sides = [frame[name].to_list() for name in frame.columns]
    elif frame is None and _are_pairs(X):
        sides = [[pair[side] for pair in X] for side in (0, 1)]
    else:
        got = f"a frame with {len(frame.columns)} columns" if frame is not None else type(X).__name__
        raise TypeError(
            f"{owner}: expected Comparisons of two items each; got {got}. Pass Comparisons(items, first, second), or, "
            'for items of training, pairs of names such as [("ann", "bob")] or a frame with two columns.'
        )
    items = train.n_items if train.items is None else train.items
    first, second = sides
    return Comparisons._build(items, first, second, 1, names=train.names)


def _are_pairs(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.shape[1] == 2 and len(X) > 0 and X.dtype.kind in "iuOUT"
    pairs = isinstance(X, list | tuple) and len(X) > 0
    return pairs and all(isinstance(pair, list | tuple | np.ndarray) and len(pair) == 2 for pair in X)


def items_of_comparisons(model: Any, X: Comparisons, used: IntArray) -> Items:
    """Return the items of comparisons with these row numbers."""
    owner = type(model).__name__
    if not isinstance(X, Comparisons):
        raise TypeError(f"{owner}: expected Comparisons of two items each; got {type(X).__name__}.")
    if X.items is None:
        if not model.featureless_ and X.names is not None and model.item_names_ is not None:
            return items_of_comparisons(model, model.comparisons_, _rows_of_names(model, X.names[used]))
        if not model.featureless_:
            raise DataError(code="asked-items-without-features", owner=owner).says(
                f"the items have no features, but the model was fitted on {model.n_features_in_}",
                "Give Comparisons an item table",
                "names in training and here",
            )
        if X.names is not None:
            return _by_name(model, X.names[used])
        return _by_row(model, used)
    if model.featureless_:
        raise DataError(code="asked-items-with-features", owner=owner).says(
            "the model was fitted on items without features; give the same kind of items."
        )
    return _with_features(model, match_columns(model, X.items, X.feature_names), X.names, used)


def items_of_table(model: Any, items: Any) -> tuple[Items, Any]:
    """Return items and their names from a table of features, from names or from row numbers of training."""
    found, names = _items_of_table(model, items)
    if not len(found.number):
        raise _no_items(model)
    return found, names


def _no_items(model: Any) -> DataError:
    return DataError(code="no-items-asked", owner=type(model).__name__).says(
        "there are no items", "Give at least one, or None for those of training"
    )


def _items_of_table(model: Any, items: Any) -> tuple[Items, Any]:
    owner = type(model).__name__
    if items is None:
        train = model.comparisons_
        rows = np.arange(train.n_items)
        names = rows if train.names is None else train.names
        return items_of_comparisons(model, train, rows), names
    if isinstance(items, Comparisons | Ratings):
        items = ItemTable(items.items, items.names, items.feature_names, items.n_items)
    known_by_name = not isinstance(items, ItemTable) and _is_labels(owner, items)
    if known_by_name:
        labels = list(items)
        if not labels:
            raise _no_items(model)
        if _are_rows(model.item_names_, labels):
            numbers = _check_rows(model, labels)
            names = numbers if model.item_names_ is None else model.item_names_[numbers]
        else:
            numbers, names = _rows_of_names(model, labels), np.array(labels, dtype=object)
        return items_of_comparisons(model, model.comparisons_, numbers), names
    table = items if isinstance(items, ItemTable) else _read(model, items)
    if model.featureless_ or table.values is None:
        if table.names is not None and model.featureless_:
            return _by_name(model, table.names), table.names
        raise DataError(code="asked-items-of-another-kind", owner=owner).says(
            f"the model was fitted on items {'without' if model.featureless_ else 'with'} features; give "
            f"{'names or row numbers of its items' if model.featureless_ else 'their feature rows'}."
        )
    rows = match_columns(model, table.values, table.feature_names)
    every = np.arange(rows.shape[0])
    return _with_features(model, rows, table.names, every), every if table.names is None else table.names


def _with_features(model: Any, rows: Any, names: Any, used: IntArray) -> Items:
    """Return some items of a table of features; who is who is known by name, by row, or by features."""
    if names is not None and model.item_names_ is not None:
        number = _numbers_of_names(model, names[used])
    elif model._items_matter and _same_table(model, rows):
        number = _numbers(model, used)
    else:
        number = _numbers_of_rows(model, rows[used])
    return Items(rows[used], number)


def _read(model: Any, items: Any) -> ItemTable:
    known = getattr(model, "feature_names_in_", None)
    frame = frame_of(items, type(model).__name__)
    if known is not None and frame is not None:
        # the frame that the items came from: other columns than features and names are left out
        keep = [c for c in frame.columns if c in set(known) or c.lower() in ("item", "name", "id")]
        if set(known) <= set(keep):
            items = frame.select(keep).to_native()
    return check_items(items, type(model).__name__)


def _is_labels(owner: str, items: Any) -> bool:
    if isinstance(items, str) or sparse.issparse(items) or not as_items(items).one_row_each:
        return False
    if hasattr(items, "columns") or isinstance(nw.from_native(items, pass_through=True), nw.DataFrame):
        return False
    try:
        ndim = np.ndim(items)
    except ValueError:  # rows of different lengths, or arrays of different shapes
        ndim = -1
    if ndim < 0 or ndim > 2:
        raise DataError(code="asked-items-shape", owner=owner).says(
            "items must be rows of features, all of the same length; got "
            f"{'rows of different lengths' if ndim < 0 else f'{ndim} dimensions'}",
            "If every item is a sample of rows, pass Bags(items)",
        )
    return ndim == 1


def _are_rows(names: Any, labels: list[Any]) -> bool:
    # as everywhere: integers are row numbers unless the names are integers themselves
    if names is None:
        return True
    return all(_is_integer(label) for label in labels) and not any(_is_integer(name) for name in names)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _by_name(model: Any, names: Any) -> Items:
    if model.item_names_ is None:
        raise DataError(code="asked-names-of-numbered-items", owner=type(model).__name__).says(
            "the model was fitted on numbered items and these have names, so which is which is not known",
            "Give names in training, or row numbers here",
        )
    return _by_row(model, _rows_of_names(model, names))


def _rows_of_names(model: Any, names: Any) -> IntArray:
    place = {name: row for row, name in enumerate(model.item_names_)}
    unknown = [name for name in names if name not in place]
    if unknown:
        hint = nearest_names(str(unknown[0]), map(str, model.item_names_))
        raise DataError(code="asked-items-unknown", owner=type(model).__name__).says(
            f"{len(unknown)} items are not among the {len(place)} of training (names "
            f"{first_few(unknown)}{'; ' + hint if hint else ''})",
            "Only items seen in training are known by name",
        )
    return np.array([place[name] for name in names], dtype=np.intp)


def _check_rows(model: Any, labels: list[Any]) -> IntArray:
    n = model.n_items_
    bad = [row for row in labels if not _is_integer(row) or not 0 <= row < n]
    if bad:
        raise DataError(code="asked-row-not-a-number", owner=type(model).__name__).says(
            f"{first_few(bad)} is no row number of the {n} items of training",
            f"Pass whole numbers from 0 to {n - 1}, or a table with one row of features per item",
        )
    return np.array(labels, dtype=np.intp)


def _by_row(model: Any, rows: IntArray) -> Items:
    if rows.max(initial=0) >= model.n_items_:
        raise DataError(code="asked-row-out-of-range", owner=type(model).__name__).says(
            f"item number {int(rows.max())} is not among the {model.n_items_} of training",
            "Without features only items seen in training can be compared",
        )
    return Items(None, _numbers(model, rows))


def _numbers(model: Any, rows: IntArray) -> IntArray:
    # Rows of the training table as numbers of latents; items that were never compared get numbers of their own.
    used = model._used
    place = np.full(model.n_items_, -1, dtype=np.intp)
    place[used] = np.arange(used.shape[0])
    return np.asarray(np.where(place[rows] >= 0, place[rows], used.shape[0] + rows))


def _new_numbers(model: Any, count: int) -> IntArray:
    return np.asarray(model._used.shape[0] + model.n_items_ + np.arange(count))


def _numbers_of_names(model: Any, names: Any) -> IntArray:
    number = _new_numbers(model, len(names))
    if not model._items_matter:
        return number
    place = {name: row for row, name in enumerate(model.item_names_)}
    known = np.array([row for row, name in enumerate(names) if name in place], dtype=np.intp)
    if len(known):
        number[known] = _numbers(model, np.array([place[names[row]] for row in known], dtype=np.intp))
    return number


def _numbers_of_rows(model: Any, rows: Any) -> IntArray:
    """Find items of training by their features: an item is known if exactly one training item has its features.

    Bags have the same features if they have the same distribution.
    """
    number = _new_numbers(model, rows.shape[0])
    if not model._items_matter or sparse.issparse(rows):
        return number
    place: dict[Any, int] = {}
    for row, key in enumerate(as_items(model.comparisons_.items).keys()):
        place[key] = -1 if key in place else row
    for index, key in enumerate(as_items(rows).keys()):
        row = place.get(key, -1)
        if row >= 0:
            number[index] = _numbers(model, np.array([row]))[0]
    return number


def _same_table(model: Any, rows: Any) -> bool:
    known = model.comparisons_.items
    return rows is known or (sparse.issparse(rows) == sparse.issparse(known) and as_items(rows).equal(known))


def clusters_of(model: Any, X: Comparisons) -> IntArray | None:
    """Return the cluster of each of some comparisons; None where the model does not tell clusters apart."""
    if not model.cluster:
        return None
    if X.cluster is None:
        return np.full(len(X), UNKNOWN)
    place = {name: number for number, name in enumerate(model.clusters_)}
    return np.array([place.get(name, UNKNOWN) for name in X.cluster.tolist()], dtype=np.intp)


def covariates_of(model: Any, X: Comparisons) -> FloatArray | None:
    """Return the covariates of some comparisons, columns as in training; None where they are equal, or do not count."""
    known = model.comparisons_.covariates
    if X.covariates is None or known is None or not getattr(model, "covariates", False):
        return None
    names, wanted = X.covariate_names, model.comparisons_.covariate_names
    if names is not None and wanted is not None and set(names) == set(wanted):
        return np.asarray(X.covariates[:, [names.index(name) for name in wanted]])
    if X.covariates.shape[1] != known.shape[1] or (names is not None and wanted is not None):
        what = f"{known.shape[1]} columns" if wanted is None else ", ".join(f'"{name}"' for name in wanted)
        raise DataError(code="covariates-of-training-lacking", owner=type(model).__name__).says(
            f"give the covariates of training ({what}); these comparisons have "
            f"{X.covariates.shape[1] if names is None else first_few(list(names))}",
            "Or give none, for equal ones",
        )
    return X.covariates


def asked_of(model: Any, X: Comparisons) -> Who | None:
    """Return who is asked in each of some comparisons; None where the model does not tell judges apart."""
    if not model._knows_judges:
        return None
    if X.judge is None:
        return Who(np.full(len(X), UNKNOWN))
    place: dict[Any, int] = {name: number for number, name in enumerate(model.judges_)}
    labels = list(dict.fromkeys(X.judge.tolist()))
    written = {str(name): name for name in model.judges_}
    alike = [label for label in labels if label not in place and str(label) in written]
    if alike:
        raise DataError(code="judge-written-differently", owner=type(model).__name__).says(
            f"judge {alike[0]!r} is not among those of training, but {written[str(alike[0])]!r} is",
            "Write judges as words or as numbers, the same way as in training",
        )
    features = None
    if _by_features(model) and X.judges is not None:
        table: Any = join_judges(model.comparisons_.judges, X.judges, type(model).__name__)
        features, first = table.values, model._choice.n_judges
        for row, name in enumerate(table.names):
            place.setdefault(name, first + row)
    return Who(np.array([place.get(name, UNKNOWN) for name in X.judge.tolist()], dtype=np.intp), features)


def asked_by(model: Any, judge: Any, count: int, owner: str) -> Who | None:
    """Return one judge, or without a name the population, as the one who is asked about everything."""
    knows = model._knows_judges
    if judge is None:
        return Who(np.full(count, POPULATION)) if knows else None
    if not knows:
        raise ValueError(
            f"{owner}: judge={judge!r}: the model does not tell judges apart. Fit it with "
            'PreferenceGP(judge_kernel="identity").'
        )
    names = list(model.judges_)
    if judge in names:
        return Who(np.full(count, names.index(judge)))
    table = model.comparisons_.judges
    if _by_features(model) and table is not None and judge in list(table.names):
        number = model._choice.n_judges + list(table.names).index(judge)  # known by its features alone
        return Who(np.full(count, number), table.values)
    hint = nearest_names(str(judge), [repr(name) for name in names])
    raise DataError(code="judge-unknown", owner=owner).says(
        f"judge {judge!r} is not among the {len(names)} of training{'; ' + hint if hint else ''}",
        "Leave judge=None for the population that judges come from",
    )


def _by_features(model: Any) -> bool:
    return model.judge_kernel is not None and judge_parts(model.judge_kernel)[1] is not None
