"""A pool of items as seen by a fitted model of comparisons: the only module here that asks such a model anything.

Items have *numbers* 0, 1, ... inside the pool, *rows* of the item table (that of training unless another was given) and
perhaps *names*. Pairs come in by name or by row and are turned into numbers once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from preflearn.active._criteria import JointPosterior
from preflearn.active.outcome_information import check_likelihood, mixture_information
from preflearn.data import Comparisons, ItemTable
from preflearn.data.fields import as_list, check_names, label_array, look_up, object_array, rows_text
from preflearn.data.sides import check_rows
from preflearn.data.tables import check_items
from preflearn.exceptions import DataError, first_few
from preflearn.models.ranking import mix
from preflearn.operators import FloatArray, IntArray

# Pairs or items asked of the model at once, so that memory does not grow with their number.
_CHUNK = 1 << 13


@dataclass(frozen=True)
class Panel:
    """Who is asked: names of judges, and for each candidate the number of one of them; -1 for nobody in particular."""

    names: Sequence[Any]
    judge: IntArray  # (candidates,)

    @classmethod
    def of_each(cls, names: Sequence[Any], n_pairs: int) -> Panel:
        """Return the judges for candidates that are all pairs for each of them; without any, for the pairs."""
        return cls(names, np.repeat(np.arange(len(names)) if names else np.full(1, -1), n_pairs))

    @property
    def named(self) -> NDArray[np.bool_]:
        """Which candidates are asked of a named judge."""
        return np.asarray(self.judge >= 0)


@dataclass(frozen=True)
class Pool:
    """Items of a fitted model, and the posterior of their utilities."""

    model: Any
    owner: str
    table: ItemTable
    rows: IntArray  # of the table, one per item of the pool
    training: bool  # whether the table is that of training

    @classmethod
    def build(cls, model: Any, items: Any, owner: str) -> Pool:
        """Return the pool of ``items``, or of the items that the model was fitted on."""
        if not hasattr(model, "difference_posteriors"):  # what `rank` returns has the model of its answers
            model = getattr(model, "model", model)
        if not hasattr(model, "difference_posteriors"):
            raise TypeError(f"{owner}: the model is a {type(model).__name__}; pass a fitted PreferenceGP.")
        check_is_fitted(model)
        model = model.in_likely_direction()  # whoever is asked, answers leave it open where judges do
        check_likelihood(model.likelihood_, owner)
        train = model.comparisons_
        known = ItemTable(train.items, train.names, train.feature_names, train.n_items)
        if items is None:
            return cls(model, owner, known, np.arange(known.n_items), True)
        if isinstance(items, Comparisons):
            items = ItemTable(items.items, items.names, items.feature_names, items.n_items)
        if isinstance(items, ItemTable) and items.values is None:
            items = np.arange(items.n_items) if items.names is None else items.names
        if _is_labels(items):
            return cls(model, owner, known, _training_rows(items, known, owner), True)
        table = check_items(items, owner)
        if table.values is None or known.values is None:
            kind = "names or row numbers" if known.values is None else "a table of features, names or row numbers"
            raise TypeError(
                f"{owner}: items must be {kind}, because the model was fitted on items "
                f"{'without' if known.values is None else 'with'} features; got {type(items).__name__}."
            )
        return cls(model, owner, table, np.arange(table.n_items), False)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def names(self) -> NDArray[Any] | None:
        """Names of the items, where they have any."""
        return None if self.table.names is None else self.table.names[self.rows]

    def labels(self, numbers: IntArray) -> NDArray[Any]:
        """Return the names of items, or their rows where there are no names."""
        rows = self.rows[numbers]
        return rows if self.table.names is None else label_array(self.table.names[rows].tolist())

    def _items(self, numbers: IntArray | slice) -> Any:
        """Return some items in a form that the model takes."""
        rows = self.rows[numbers]
        names = None if self.table.names is None else self.table.names[rows]
        if self.training:
            return rows if names is None else names
        return ItemTable(self.table.values[rows], names, self.table.feature_names, rows.shape[0])  # type: ignore[index]

    @property
    def circles(self) -> bool:
        """Whether preferences may run in circles."""
        return self.model.cyclic_kernel is not None

    @property
    def tastes(self) -> bool:
        """Whether judges have utilities of their own."""
        return self.model.judge_kernel is not None

    @property
    def tells_judges(self) -> bool:
        """Whether it matters which judge is asked."""
        return self.tastes or self.model.reliabilities is not None

    @property
    def strangers(self) -> bool:
        """Whether outcomes depend on effects of judges or clusters that were never seen before."""
        return self.tastes or bool(self.model.cluster)

    def comparisons(self, first: IntArray, second: IntArray, judge: Any = None) -> Comparisons:
        """Return pairs of the pool as comparisons, unchecked."""
        return Comparisons._from_fields(
            items=self.table.values,
            first=self.rows[first],
            second=self.rows[second],
            outcome=np.ones(first.shape[0]),
            weight=None,
            group=None,
            cluster=None,
            covariates=None,
            covariate_names=None,
            judge=judge,
            judges=None,
            names=self.table.names,
            feature_names=self.table.feature_names,
            n_items=self.table.n_items,
        )

    def pair_moments(self, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance (m,) of the utility differences of pairs, over all points of the hyperparameters."""
        some = (slice(i, i + _CHUNK) for i in range(0, first.shape[0], _CHUNK))
        parts = [mix(self.model.difference_posteriors(self.comparisons(first[rows], second[rows]))) for rows in some]
        mean, variance = np.concatenate([np.zeros((2, 0)), *parts], axis=1)
        return mean, variance

    @property
    def averaged(self) -> bool:
        """Whether the posterior is an average over several points of the hyperparameters."""
        points = getattr(self.model, "hyperposterior_", None)
        return points is not None and points.weight.shape[0] > 1

    def information(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return what outcomes of pairs would tell, in nats, (m,)."""
        some = (slice(i, i + _CHUNK) for i in range(0, first.shape[0], _CHUNK))
        points = (self.model.difference_posteriors(self.comparisons(first[rows], second[rows])) for rows in some)
        return np.concatenate([np.zeros(0), *map(mixture_information, points)])

    def marginals(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of every item's utility."""
        parts = [
            self.model.predict_utility(self._items(slice(i, i + _CHUNK)), return_std=True)
            for i in range(0, len(self), _CHUNK)
        ]
        return np.concatenate([mean for mean, _ in parts]), np.concatenate([std for _, std in parts])

    def joint(self, numbers: IntArray, judges: Sequence[Any] = ()) -> tuple[FloatArray, FloatArray]:
        """Return mean and covariance of the utilities of some items, and then of each judge's of the same items."""
        if not judges:
            mean, covariance = self.model.predict_utility(self._items(numbers), return_cov=True)
        else:
            mean, covariance = self.model.joint_utilities(self._items(numbers), [None, *judges])
        return np.ravel(mean), np.asarray(covariance)

    def questions(
        self,
        numbers: IntArray,
        first: IntArray,
        second: IntArray,
        panel: Panel,
        criterion: str,
        known: tuple[FloatArray, FloatArray] | None = None,
    ) -> JointPosterior:
        """Return candidates about utilities; pairs are places in ``numbers``, whose joint posterior may be known."""
        own_utilities = self.tastes and bool(panel.named.any())
        mean, covariance = self.joint(numbers, panel.names) if own_utilities or known is None else known
        block = numbers.shape[0] * (panel.judge + 1) if own_utilities else 0
        return JointPosterior(
            self.model.likelihood_,
            mean,
            covariance,
            block + first,
            block + second,
            self._newcomers(numbers[first], numbers[second], panel),
            self._reliability(panel),
            (first, second) if own_utilities and criterion != "preferences" else None,
        )

    def preferences(self, first: IntArray, second: IntArray, panel: Panel) -> JointPosterior:
        """Return candidates about preferences between two items, each of which is a value by itself."""
        judge = None
        if self.tastes and panel.named.any():
            judge = object_array([panel.names[k] if k >= 0 else None for k in panel.judge.tolist()])
        mean, covariance = self.model.joint_differences(self.comparisons(first, second, judge))
        m = mean.shape[0]
        return JointPosterior(
            self.model.likelihood_,
            np.append(mean, 0.0),
            np.pad(covariance, (0, 1)),  # the last value is zero
            np.arange(m),
            np.full(m, m),
            self._newcomers(first, second, panel),
            self._reliability(panel),
        )

    def _newcomers(self, first: IntArray, second: IntArray, panel: Panel) -> Any:
        """Return the variance that effects of unknown clusters, and of an unknown judge if nobody is named, add."""
        if not self.strangers:
            return 0.0
        X, named = self.comparisons(first, second), panel.named
        own = np.zeros(len(X))
        for rows, judge in ((named, False), (~named, True)):
            if rows.any():
                own[rows] = self.model.newcomer_variance(X[rows], judge=judge)
        return own

    def _reliability(self, panel: Panel) -> Any:
        """Return how closely who is asked follows the utilities: 1 where that is not known."""
        known = self.model.reliabilities or {}
        return np.array([*(known.get(name, 1.0) for name in panel.names), 1.0])[panel.judge]

    def pairs(self, pairs: Any, what: str) -> tuple[IntArray, IntArray]:
        """Return the numbers of the two items of each pair, given as tuples, rows of two, or comparisons."""
        if isinstance(pairs, Comparisons):
            if pairs.names is not None and self.names is not None:
                sides = [pairs.names[pairs.first], pairs.names[pairs.second]]
            elif pairs.n_items == self.table.n_items:
                sides = [pairs.first, pairs.second]
            else:
                raise DataError(code="pool-without-names", owner=self.owner).says(
                    f"{what} has {pairs.n_items} items and the pool has {self.table.n_items}, and without names "
                    "they cannot be matched",
                    "Name the items",
                )
        else:
            listed = _two_columns(pairs, what, self.owner)
            sides = [np.empty(len(listed), dtype=object) for _ in range(2)]
            for row, (one, other) in enumerate(listed):
                sides[0][row], sides[1][row] = one, other
        first, second = (self._numbers(side, what) for side in sides)
        same = np.flatnonzero(first == second)
        if same.size:
            raise DataError(code="pool-self-pair", owner=self.owner).says(
                f"{same.size} of {first.size} pairs in {what} compare an item with itself ({rows_text(same)}; "
                f"items {first_few(self.labels(first[same[:4]]))})",
                "Drop them",
            )
        return first, second

    def _numbers(self, given: NDArray[Any], what: str) -> IntArray:
        values, names = given.tolist(), self.names
        integers = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
        by_row = names is None or (integers and not any(isinstance(name, int) for name in names))
        known = self.rows.tolist() if names is None or by_row else names.tolist()
        place = {label: number for number, label in enumerate(known)}
        among = f"{'rows' if by_row else 'names'} of the pool"
        return look_up(
            values, place, what, among, "Correct them or add the items", code="not-in-pool", owner=self.owner
        )


def _is_labels(items: Any) -> bool:
    if isinstance(items, ItemTable | str) or sparse.issparse(items) or np.ndim(items) != 1:
        return False
    return not isinstance(nw.from_native(items, pass_through=True), nw.DataFrame)


def _training_rows(labels: Any, known: ItemTable, owner: str) -> IntArray:
    listed = as_list(labels, "items", owner)
    check_names(listed, len(listed), owner)
    return check_rows(listed, known, "items", owner)


def pair_codes(first: IntArray, second: IntArray, n_items: int) -> IntArray:
    """Return one number per unordered pair."""
    return np.minimum(first, second).astype(np.int64) * n_items + np.maximum(first, second)


def _two_columns(pairs: Any, what: str, owner: str) -> list[Any]:
    if isinstance(pairs, np.ndarray):
        pairs = pairs.tolist()
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise TypeError(f"{owner}: {what} must be pairs of items or Comparisons; got {type(pairs).__name__}.")
    listed = list(pairs)
    for row, pair in enumerate(listed):
        if isinstance(pair, str | bytes) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise TypeError(f"{owner}: {what} must be pairs of items; row {row} is {first_few([pair])}.")
    return [[v.item() if isinstance(v, np.generic) else v for v in pair] for pair in listed]
