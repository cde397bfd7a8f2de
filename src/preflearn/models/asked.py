"""What a fitted model is asked about: items, judges, clusters and covariates, matched with those of training."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, ClassVar

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons, ItemTable, Ratings
from preflearn.data.join import join_judges
from preflearn.data.tables import check_items, frame_of
from preflearn.exceptions import DataError, first_few, nearest_names
from preflearn.items import as_items
from preflearn.kernels.precomputed import KernelRows
from preflearn.models.training_data import identity
from preflearn.operators import FloatArray, IntArray
from preflearn.table_format import plural
from preflearn.terms import POPULATION, UNKNOWN, Items, Who


class OfItems(BaseEstimator):
    """Base of estimators that were fitted on items, and are asked about others; not public."""

    n_features_in_: int
    n_items_: int
    item_names_: Any
    featureless_: bool  # whether items of training were known by name or number alone
    on_bags_: bool
    _keeps_items: ClassVar[bool] = False  # whether it still has the features of items that are given by name
    _kernel_rows: KernelRows | None = None  # of training, where items are known by kernel values

    def _check_kind(self, X: Any) -> None:
        """Raise unless new items are bags where those of training were, and rows where they were rows."""
        bags, rows = getattr(self, "on_bags_", False), as_items(X).one_row_each
        if bags and rows:
            raise DataError(code="trained-on-bags", owner=type(self).__name__).says(
                "the model was fitted on Bags and got a table with one row per item",
                "Give Bags; a row alone is a bag of one point: Bags(table[:, None, :])",
            )
        if not bags and not rows:
            raise DataError(code="trained-on-rows", owner=type(self).__name__).says(
                "the model was fitted on a table with one row per item and got Bags",
                "Fit it on Bags, or give bags.means() if the rows of training were means",
            )

    def _match_columns(self, X: Any, names: Any) -> Any:
        """Return X with its columns in the order of training, by name where both have names."""
        self._check_kind(X)
        known, owner = getattr(self, "feature_names_in_", None), type(self).__name__
        if self._kernel_rows is not None:
            return self._kernel_rows.asked(owner, X, names, known)
        X = match_columns(owner, X, names, known)
        if X.shape[1] != self.n_features_in_:
            raise DataError(code="feature-count-of-training", owner=owner).says(
                f"the items have {plural(X.shape[1], 'feature')}, but the model was fitted on {self.n_features_in_}",
                "Give the same columns in the same order as in training",
            )
        return X

    def _features_of(self, X: Comparisons, used: IntArray | None = None) -> Any:
        """Return the features of all items of comparisons, or of some."""
        check_is_fitted(self)
        rows = self._rows_of_training(X, np.arange(X.n_items) if used is None else used)
        if rows is not None:
            return identity(self.n_features_in_)[rows]
        table = self._match_columns(X.items, X.feature_names)
        return table if used is None else table[used]

    def _rows_of_training(self, X: Comparisons, used: IntArray) -> IntArray | None:
        """Return which items of training some items of comparisons are; None if they have features of their own."""
        bare, known = getattr(self, "featureless_", False), getattr(self, "item_names_", None)
        if X.items is not None:
            if bare:
                raise DataError(code="trained-without-features", owner=type(self).__name__).says(
                    "the model was fitted on items without features; give the same kind of items."
                )
            return None
        named = X.names is not None and known is not None
        if not bare and not (named and self._keeps_items):
            raise DataError(code="trained-with-features", owner=type(self).__name__).says(
                f"the items have no features, but the model was fitted on {self.n_features_in_}",
                "Give Comparisons the features: items=...",
                *(("names in training and here",) if self._keeps_items else ()),
            )
        return self._check_rows(used) if X.names is None else self._rows_of_names(X.names[used], known)

    def _rows_of_names(self, names: Any, known: Any) -> IntArray:
        """Return which items of training, with known names, have these names."""
        if known is None:
            raise DataError(code="trained-on-numbered-items", owner=type(self).__name__).says(
                "the model was fitted on numbered items, but these items have names, so they cannot be matched",
                "Give names in training, or row numbers here",
            )
        place = {name: row for row, name in enumerate(known)}
        unknown = [name for name in names if name not in place]
        if unknown:
            hint = nearest_names(str(unknown[0]), map(str, known))
            raise DataError(code="items-not-in-training", owner=type(self).__name__).says(
                f"{first_few(unknown)} {'is' if len(unknown) == 1 else 'are'} not among the {len(place)} items of "
                f"training{f' ({hint})' if hint else ''}",
                "A model can be asked by name only for items of its training",
            )
        return np.array([place[name] for name in names], dtype=np.intp)

    def _check_rows(self, labels: Any) -> IntArray:
        """Return row numbers of training as an array."""
        n = self.n_items_ if self._keeps_items else self.n_features_in_
        bad = [row for row in labels if not _is_integer(row) or not 0 <= row < n]
        if bad:
            raise DataError(code="asked-row-not-a-number", owner=type(self).__name__).says(
                f"{first_few(bad)} is not a row number of the {n} training items",
                f"Pass whole numbers from 0 to {n - 1}"
                f"{'' if self.featureless_ else ', or a table with one row of features per item'}",
            )
        return np.array(labels, dtype=np.intp)


class OfStatements(OfItems):
    """Base of estimators that keep the comparisons they learned from; not public."""

    comparisons_: Comparisons
    judges_: Any
    clusters_: Any
    _used: IntArray  # rows of the training items that have latents
    _choice: Any
    _knows_judges: bool
    _unit: float  # of utilities, squared
    _all_items: bool = False  # whether items that were never compared have latents
    _keeps_items = True
    # What a model may have: estimators have parameters of these names, or do without.
    kernel: Any = None
    cyclic_kernel: Any = None
    judge_kernel: Any = None
    judge_reliability: bool = False
    own_effect: bool = False
    exact: bool = False
    approximation: Any = None
    side: Any = False
    cluster: bool = False
    covariates: bool = True

    @property
    def _items_matter(self) -> bool:
        """Whether which item it is counts beside its features."""
        return bool(self.own_effect or self.cluster)

    def _pairs_of(self, X: Any) -> Comparisons:
        """Return the pairs that are asked about: Comparisons, or two items of training on each row.

        Rows are a list or array of pairs, of names or row numbers, or a data frame with two columns.
        """
        if isinstance(X, Comparisons):
            return X
        owner, train = type(self).__name__, self.comparisons_
        frame = frame_of(X, owner)
        if frame is not None and len(frame.columns) == 2:
            sides = [frame[name].to_list() for name in frame.columns]
        elif frame is None and _are_pairs(X):
            sides = [[pair[side] for pair in X] for side in (0, 1)]
        else:
            got = f"a frame with {len(frame.columns)} columns" if frame is not None else type(X).__name__
            raise TypeError(
                f"{owner}: expected Comparisons of two items each; got {got}. Pass Comparisons(items, first, second), "
                'or, for items of training, pairs of names such as [("ann", "bob")] or a frame with two columns.'
            )
        items = train.n_items if train.items is None else train.items
        return Comparisons._build(items, sides[0], sides[1], 1, names=train.names)

    def _items_of(self, X: Comparisons, used: IntArray) -> Items:
        """Return the items of comparisons with these row numbers."""
        rows = self._rows_of_training(X, used)
        if rows is not None:
            return self._items_of_training(rows)
        return self._new_items(self._match_columns(X.items, X.feature_names), X.names, used)

    def _items_of_table(self, items: Any) -> tuple[Items, Any]:
        """Return items and their names from a table of features, from names or from row numbers of training."""
        owner = type(self).__name__
        if items is None:
            rows = np.arange(self.n_items_)
            return self._items_of_training(rows), rows if self.item_names_ is None else self.item_names_
        if isinstance(items, Comparisons | Ratings):
            items = ItemTable(items.items, items.names, items.feature_names, items.n_items)
        if not isinstance(items, ItemTable) and _is_labels(owner, items):
            labels = list(items)
            self._check_some(labels)
            if self.item_names_ is not None and not _are_rows(self.item_names_, labels):
                return self._items_of_training(self._rows_of_names(labels, self.item_names_)), np.array(
                    labels, dtype=object
                )
            rows = self._check_rows(labels)
            return self._items_of_training(rows), rows if self.item_names_ is None else self.item_names_[rows]
        table = items if isinstance(items, ItemTable) else self._read_table(items)
        self._check_some(range(table.n_items))
        if table.names is not None and self.featureless_:
            return self._items_of_training(self._rows_of_names(table.names, self.item_names_)), table.names
        if self.featureless_ or table.values is None:
            raise DataError(code="asked-items-of-another-kind", owner=owner).says(
                f"the model was fitted on items {'without' if self.featureless_ else 'with'} features; give "
                f"{'names or row numbers of its items' if self.featureless_ else 'their feature rows'}."
            )
        every = np.arange(table.n_items)
        new = self._new_items(self._match_columns(table.values, table.feature_names), table.names, every)
        return new, every if table.names is None else table.names

    def _check_some(self, items: Any) -> None:
        if not len(items):
            raise DataError(code="no-items-asked", owner=type(self).__name__).says(
                "there are no items", "Give at least one, or None for those of training"
            )

    def _read_table(self, items: Any) -> ItemTable:
        known = getattr(self, "feature_names_in_", None)
        frame = frame_of(items, type(self).__name__)
        if known is not None and frame is not None and self._kernel_rows is None:
            # the frame that the items came from: other columns than features and names are left out
            keep = [c for c in frame.columns if c in set(known) or c.lower() in ("item", "name", "id")]
            if set(known) <= set(keep):
                items = frame.select(keep).to_native()
        return check_items(items, type(self).__name__)

    def _items_of_training(self, rows: IntArray) -> Items:
        X = self.comparisons_.items
        if X is None:
            return Items(None, self._numbers(rows))
        return Items(X[rows], self._numbers(rows) if self._items_matter else self._new_numbers(len(rows)))

    def _new_items(self, X: Any, names: Any, used: IntArray) -> Items:
        """Return some items of a table of features; which ones are of training is known by name, row or features."""
        number, train = self._new_numbers(len(used)), self.comparisons_.items
        if not self._items_matter:
            return Items(X[used], number)
        if names is not None and self.item_names_ is not None:
            place = {name: row for row, name in enumerate(self.item_names_)}
            known = np.array([place.get(name, -1) for name in names[used]], dtype=np.intp)
        elif X is train or (sparse.issparse(X) == sparse.issparse(train) and as_items(X).equal(train)):
            known = used
        elif sparse.issparse(X):
            known = np.full(len(used), -1)
        else:  # exactly one item of training has these features (bags: this distribution)
            alike: dict[Any, int] = {}
            keys, asked = as_items(train).keys(), as_items(X[used]).keys()
            for row, key in enumerate(keys):
                alike[key] = -1 if key in alike else row
            known = np.array([alike.get(key, -1) for key in asked], dtype=np.intp)
        return Items(X[used], np.where(known >= 0, self._numbers(known), number))

    def _numbers(self, rows: IntArray) -> IntArray:
        """Return rows of training as numbers of latents; items that were never compared have numbers of their own."""
        place = np.full(self.n_items_, -1, dtype=np.intp)
        place[self._used] = np.arange(self._used.shape[0])
        return np.asarray(np.where(place[rows] >= 0, place[rows], self._used.shape[0] + rows))

    def _new_numbers(self, count: int) -> IntArray:
        return np.asarray(self._used.shape[0] + self.n_items_ + np.arange(count))

    def _clusters_of(self, X: Comparisons) -> IntArray | None:
        """Return the cluster of each of some comparisons; None where the model does not distinguish clusters."""
        if not self.cluster:
            return None
        if X.cluster is None:
            return np.full(len(X), UNKNOWN)
        place = {name: number for number, name in enumerate(self.clusters_)}
        return np.array([place.get(name, UNKNOWN) for name in X.cluster.tolist()], dtype=np.intp)

    def _covariates_of(self, X: Comparisons) -> FloatArray | None:
        """Return covariates with columns as in training; None where they are equal on both sides, or do not count."""
        known = self.comparisons_.covariates
        if X.covariates is None or known is None or not self.covariates:
            return None
        names, wanted = X.covariate_names, self.comparisons_.covariate_names
        if names is not None and wanted is not None and set(names) == set(wanted):
            return np.asarray(X.covariates[:, [names.index(name) for name in wanted]])
        if X.covariates.shape[1] != known.shape[1] or (names is not None and wanted is not None):
            what = f"{known.shape[1]} columns" if wanted is None else ", ".join(f'"{name}"' for name in wanted)
            raise DataError(code="covariates-of-training-lacking", owner=type(self).__name__).says(
                f"give the covariates of training ({what}); these comparisons have "
                f"{X.covariates.shape[1] if names is None else first_few(list(names))}",
                "Or give none, for equal ones",
            )
        return X.covariates

    def _judges_of(self, X: Comparisons) -> Who | None:
        """Return who is asked in each of some comparisons; None where the model does not distinguish judges."""
        if not self._knows_judges:
            return None
        if X.judge is None:
            return Who(np.full(len(X), UNKNOWN))
        names = set(self.judges_.tolist())
        written = {str(name): name for name in names}
        alike = [label for label in dict.fromkeys(X.judge.tolist()) if label not in names and str(label) in written]
        if alike:
            raise DataError(code="judge-written-differently", owner=type(self).__name__).says(
                f"judge {alike[0]!r} is not among those of training, but {written[str(alike[0])]!r} is",
                "Write judges as words or as numbers, the same way as in training",
            )
        known = self._choice.judge_features is not None and X.judges is not None
        table = join_judges(self.comparisons_.judges, X.judges, type(self).__name__) if known else None
        place, features = self._places_of_judges(table)
        return Who(np.array([place.get(name, UNKNOWN) for name in X.judge.tolist()], dtype=np.intp), features)

    def _places_of_judges(self, table: Any) -> tuple[dict[Any, int], Any]:
        """Return the numbers of judges of training and then of those in a table of features, and these features."""
        place: dict[Any, int] = {name: number for number, name in enumerate(self.judges_)}
        if self._choice.judge_features is None or table is None:
            return place, None
        for row, name in enumerate(table.names):
            place.setdefault(name, self._choice.n_judges + row)
        return place, table.values

    def _judge(self, judge: Any, count: int, caller: str) -> Who | None:
        """Return one judge, or without a name the population, as the one who is asked about everything."""
        if judge is None:
            return Who(np.full(count, POPULATION)) if self._knows_judges else None
        if not self._knows_judges:
            raise ValueError(
                f"{caller}: judge={judge!r}: the model does not distinguish judges. Fit it with "
                'PreferenceGP(judge_kernel="identity").'
            )
        place, features = self._places_of_judges(self.comparisons_.judges)
        if not isinstance(judge, Hashable) or judge not in place:
            raise self._unknown_judge(judge, caller)
        return Who(np.full(count, place[judge]), features)

    def _unknown_judge(self, judge: Any, caller: str) -> DataError:
        names = list(self.judges_)
        hint = nearest_names(str(judge), [repr(name) for name in names])
        return DataError(code="judge-unknown", owner=caller).says(
            f"judge {judge!r} is not among the {len(names)} of training{'; ' + hint if hint else ''}",
            "Leave judge=None for the population that judges come from",
        )

    def _panel(self, judges: Any, caller: str) -> Who | None:
        """Return several judges, None for the population; each name that was never seen is a stranger of its own."""
        if not self._knows_judges:
            for judge in judges:
                self._judge(judge, 1, caller)  # which raises for a name
            return None
        place, features = self._places_of_judges(self.comparisons_.judges)
        place[None] = POPULATION
        for judge in judges:
            if judge not in place:
                if features is not None:
                    raise self._unknown_judge(judge, caller)
                place[judge] = self._choice.n_judges + len(place)
        return Who(np.array([place[judge] for judge in judges], dtype=np.intp), features)


def match_columns(owner: str, X: Any, names: Any, known: Any) -> Any:
    """Return X with its columns in the order of training, by name where both have names."""
    if known is None or names is None or list(names) == list(known):
        return X
    place = {name: column for column, name in enumerate(names)}
    missing = [name for name in known if name not in place]
    if missing:
        raise DataError(code="features-of-training-missing", owner=owner).says(
            f"{len(missing)} of the {len(known)} features of training are missing (columns {first_few(missing)})",
            "Give the same columns as in training",
        )
    return X[:, [place[name] for name in known]]


def _are_pairs(X: Any) -> bool:
    if isinstance(X, np.ndarray):
        return X.ndim == 2 and X.shape[1] == 2 and len(X) > 0 and X.dtype.kind in "iuOUT"
    pairs = isinstance(X, list | tuple) and len(X) > 0
    return pairs and all(isinstance(pair, list | tuple | np.ndarray) and len(pair) == 2 for pair in X)


def _is_labels(owner: str, items: Any) -> bool:
    """Return whether items are given by names or numbers, one-dimensional."""
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
    return all(_is_integer(label) for label in labels) and not any(_is_integer(name) for name in names)


def _is_integer(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
