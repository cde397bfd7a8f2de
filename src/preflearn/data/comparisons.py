"""Comparisons: pairwise preferences over a table of items, checked once and then trusted."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from preflearn.data.fields import Frozen, as_column, check_choice, check_labels, check_weight, codes, rows_text
from preflearn.data.pair_table import (
    PairTable,
    connected_parts,
    facts_of,
    first_of_equal,
    merge_pairs,
    warn_zero_one,
)
from preflearn.data.sides import check_outcome, check_rows, named_items
from preflearn.data.tables import ItemTable, check_covariates, check_items, check_judges
from preflearn.exceptions import DataError, DataWarning, Setting, first_few

if TYPE_CHECKING:
    from preflearn.data.tables import ItemArray

# What comparisons may be labelled with: fields of `Comparisons`, and roles of columns.
LABELS = ("group", "judge", "cluster")
_BESIDE = (*LABELS, "covariates")


class Comparisons(Frozen):
    """Pairwise preferences: which of two items was preferred, how clearly, and by whom.

    Parameters
    ----------
    items : array, sparse matrix, data frame or Bags of shape (n_items, n_features), int or None
        One row of features per item. Of a data frame (pandas, polars, pyarrow, ...) a column called ``item``,
        ``name`` or ``id``, or a pandas index of strings, becomes the names and the other columns must be numbers.
        An int is the number of items without features. None means no features: the items are then ``names`` or,
        without names, the distinct values of ``first`` and ``second`` in order of appearance.
        A precomputed kernel is an array of shape (n_items, n_items).
        An array is copied unless it is read-only float64 already. `Bags` are items that are samples of vectors.
    first, second : sequences of shape (n_comparisons,)
        The two sides: row numbers of items, or names. Integers are row numbers unless the names are integers.
    outcome : float or sequence of shape (n_comparisons,), default=1
        Positive: ``first`` was preferred; negative: ``second``; 0: a tie. Any real number is a margin.
    weight : sequence of shape (n_comparisons,), default=None
        How much each comparison counts, at least 0; weight 2 is the same as listing it twice.
    group, judge, cluster : sequences of shape (n_comparisons,), default=None
        Labels: which ranking, choice or query a comparison came from; who judged ("" if unknown); the prompt, task
        or session that it belongs to ("" if unknown: then a cluster of its own). Comparisons of one cluster are not
        independent votes.
    covariates : data frame, or array of shape (n_comparisons, n_covariates) or (n_comparisons,), default=None
        Numbers of each comparison to hold equal when items are compared: the first side's number minus the second's,
        such as the difference in length or in days of rest. A data frame also gives the column names.
    judges : table of shape (n_judges, n_judge_features), default=None
        Features of the judges, for models that ask how judges differ: a data frame with their names in a column called
        ``judge`` (or user, worker, annotator, name, id), or an array with judges as row numbers.
    names : sequence of shape (n_items,), default=None
        Distinct labels of the items.
    self_comparisons : {"error", "drop"}, default="error"
        What to do with comparisons of an item with itself.

    Attributes
    ----------
    items, first, second, outcome, weight, group, judge, cluster, covariates, judges, names
        As given, checked and read-only: numbers as float64, sides as row numbers of items, names as objects, judges as
        an `ItemTable`; None where there are none.
    feature_names, covariate_names : tuple of str or None
        Column names of data frames.
    n_items, n_comparisons, n_features : int
        Counts; ``n_features`` is 0 without features.
    shape : tuple
        (n_comparisons, 2).
    times : ndarray of shape (n_comparisons,) or None
        How many equal comparisons, as they were listed, each of these stands for; ``weight`` is their sum.
    n_listed : int
        How many comparisons were listed: ``n_comparisons``, or the sum of ``times``.
    pairs : PairTable
        The distinct pairs with counts of wins, losses and ties, and the pair of each comparison.

    Warns
    -----
    DataWarning
        If outcomes are only 0 and 1 (0 is a tie, not a loss); if comparisons of an item with itself were dropped.
        ``fit`` warns of data that mislead learning, such as parts of the items that were never compared.

    Notes
    -----
    It is scikit-learn's ``X`` with one row per comparison: indexing selects comparisons and shares the item table,
    so cross-validation, grid search and ``train_test_split`` work unchanged. Building costs O(n d + m log m).

    Examples
    --------
    >>> from preflearn.data import Comparisons
    >>> matches = Comparisons(None, ["ann", "bob"], ["bob", "cy"], [1, -1])
    >>> matches
    Comparisons(2 comparisons of 3 items without features)
    >>> matches.names
    array(['ann', 'bob', 'cy'], dtype=object)
    >>> matches[1].outcome
    array([-1.])
    """

    _ROW_FIELDS: ClassVar = ("first", "second", "outcome", "weight", "times", *_BESIDE)

    items: ItemArray | None
    first: NDArray[np.intp]
    second: NDArray[np.intp]
    outcome: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    times: NDArray[np.int64] | None = None
    group: NDArray[Any] | None
    judge: NDArray[Any] | None
    cluster: NDArray[Any] | None = None  # these three have a default for pickles that are older than they are
    covariates: NDArray[np.float64] | None = None
    covariate_names: tuple[str, ...] | None = None
    judges: ItemTable | None
    names: NDArray[Any] | None
    feature_names: tuple[str, ...] | None
    n_items: int

    def __init__(
        self,
        items: Any,
        first: Any,
        second: Any,
        outcome: Any = 1,
        *,
        weight: Any = None,
        group: Any = None,
        judge: Any = None,
        cluster: Any = None,
        covariates: Any = None,
        judges: Any = None,
        names: Any = None,
        self_comparisons: Literal["error", "drop"] = "error",
    ) -> None:
        labels = {"group": group, "judge": judge, "cluster": cluster}
        beside = {"weight": weight, "covariates": covariates, "judges": judges, "names": names}
        self._prepare(items, first, second, outcome, self_comparisons=self_comparisons, **labels, **beside)
        warn_zero_one(self.outcome)

    @classmethod
    def _build(cls, items: Any, first: Any, second: Any, outcome: Any, **options: Any) -> Self:
        """Build from outcomes that are known to use 0 for ties, so that 0 and 1 alone are no cause for a warning."""
        built = cls.__new__(cls)
        built._prepare(items, first, second, outcome, **options)
        return built

    def _prepare(
        self,
        items: Any,
        first: Any,
        second: Any,
        outcome: Any,
        *,
        weight: Any = None,
        covariates: Any = None,
        judges: Any = None,
        names: Any = None,
        self_comparisons: str = "error",
        **labels: Any,
    ) -> None:
        """Check everything and set the fields."""
        owner = type(self).__name__
        unknown = [name for name in labels if name not in LABELS]
        if unknown:
            raise TypeError(f"{owner}: there is no {first_few(unknown)}. Labels are {', '.join(LABELS)}.")
        check_choice(self_comparisons, ("error", "drop"), "self_comparisons", owner)
        first, second = as_column(first, "first", owner), as_column(second, "second", owner)
        n_rows = len(first)
        if len(second) != n_rows:
            raise DataError(code="sides-differ-in-length", owner=owner).says(
                f"first has {n_rows} values and second {len(second)}", "Each comparison needs both sides"
            )
        if not n_rows:
            raise DataError(code="no-comparisons", owner=owner).says("there are no comparisons", "Give at least one")
        table = named_items(items, first, second, names, owner)
        rows_first, rows_second = check_rows(first, table, "first", owner), check_rows(second, table, "second", owner)
        labels = {
            name: None if labels.get(name) is None else check_labels(labels[name], n_rows, name, owner, "comparison")
            for name in LABELS
        }
        numbers, covariate_names = check_covariates(covariates, n_rows, owner)
        self._fill(
            items=table.values,
            first=rows_first,
            second=rows_second,
            outcome=check_outcome(outcome, n_rows, owner),
            weight=check_weight(weight, n_rows, owner, "comparison"),
            times=None,
            **labels,
            covariates=numbers,
            covariate_names=covariate_names,
            judges=check_judges(judges, labels["judge"], owner),
            names=table.names,
            feature_names=table.feature_names,
            n_items=table.n_items,
        )
        self._check_self_comparisons(self_comparisons)

    def _check_self_comparisons(self, policy: str) -> None:
        same = np.flatnonzero(self.first == self.second)
        if not len(same):
            return
        owner, n_rows = type(self).__name__, len(self)
        items = first_few([self._label(row) for row in self.first[same[:4]].tolist()])
        where = f"{rows_text(same)}; items {items}"
        what = f"{len(same)} of {n_rows} comparisons are of an item with itself ({where})"
        if policy == "error":
            leave = "leave them out with " + Setting("self_comparisons", "drop")
            raise DataError(code="self-comparison", owner=owner).says(what, "Drop them", leave)
        if len(same) == n_rows:
            raise DataError(code="only-self-comparisons", owner=owner).says(
                what, "Nothing is left after dropping them: check that first and second differ"
            )
        DataWarning(code="self-comparisons-dropped", owner=owner).warn(what, "They were dropped")
        keep = self[np.flatnonzero(self.first != self.second)]
        self._fill(**keep._fields())

    def _labels(self) -> dict[str, NDArray[Any]]:
        """Return the labels that are given."""
        return {name: labels for name in LABELS if (labels := getattr(self, name)) is not None}

    def _label_keys(self) -> list[NDArray[Any]]:
        """Return columns of numbers in which comparisons of a pair differ where their labels or covariates do."""
        keys: list[NDArray[Any]] = [codes(labels, len(self)) for labels in self._labels().values()]
        if self.covariates is not None:
            keys.extend(self.pairs.sign * column for column in self.covariates.T)  # seen from the lower item
        return keys

    def __len__(self) -> int:
        return len(self.first)

    def _label(self, row: int) -> Any:
        return row if self.names is None else self.names[row]

    @property
    def n_comparisons(self) -> int:
        """Number of comparisons."""
        return len(self.first)

    @property
    def n_listed(self) -> int:
        """Number of comparisons as they were listed, equal ones counted apart."""
        return self.number(np.ones(len(self), dtype=bool))

    def number(self, which: NDArray[np.bool_]) -> int:
        """Return how many of the comparisons that were listed are among some."""
        return int(np.count_nonzero(which) if self.times is None else self.times[which].sum())

    @property
    def listed_weight(self) -> NDArray[np.float64] | None:
        """What each of the comparisons that a row stands for weighs; None where all weigh 1 and none were given."""
        if self.weight is None or self.times is None:
            return self.weight
        each = self.weight / self.times
        return None if (each == 1.0).all() else each

    @property
    def n_features(self) -> int:
        """Number of features, 0 without features."""
        return 0 if self.items is None else int(self.items.shape[1])

    @property
    def shape(self) -> tuple[int, int]:
        """(n_comparisons, 2): what scikit-learn reads as the size of ``X``."""
        return len(self.first), 2

    @cached_property
    def pairs(self) -> PairTable:
        """The distinct pairs, how often each item of them won, and which pair each comparison belongs to."""
        return PairTable.build(self.first, self.second, self.outcome, self.weight, self.n_items)

    def __repr__(self) -> str:
        features = f"with {self.n_features} features" if self.n_features else "without features"
        columns = [name for name in ("weight", *_BESIDE) if getattr(self, name) is not None]
        return (
            f"Comparisons({len(self)} comparisons of {self.n_items} items {features}"
            f"{'; ' + ', '.join(columns) if columns else ''})"
        )

    def swapped(self, mask: Any = None) -> Self:
        """Return the same statements with sides exchanged, outcomes and covariates negated (where ``mask`` is true)."""
        where, exchanged = self._exchanged(mask)
        covariates = _signed(self.covariates, np.where(where, -1.0, 1.0))
        return self._take(slice(None), covariates=covariates, **exchanged)

    def merged(self, *, keep_labels: bool = True) -> Self:
        """Return one comparison per unordered pair: weights summed, outcomes averaged by weight.

        Comparisons with different group, judge, cluster or covariates stay apart, and so do those whose cluster is
        unknown, unless ``keep_labels=False``, which drops all of these. The smaller row number comes first and rows are
        sorted.

        Notes
        -----
        Exact for squared loss: sum_i w_i (y_i - z)^2 = (sum w_i)(mean - z)^2 + constant. Probit, logit and hinge
        losses of outcomes +1 and -1 are not functions of the mean; there, merge only repeats that agree.
        """
        if keep_labels:
            apart = [] if self.cluster is None else [self.clusters()]
            source, changed = merge_pairs(self, [*self._label_keys(), *apart])
            turned = None if self.covariates is None else self.covariates[source]
            changed["covariates"] = _signed(turned, self.pairs.sign[source])
        else:
            source, changed = merge_pairs(self, [])
            changed |= dict.fromkeys((*_BESIDE, "covariate_names", "judges"))
        changed["times"] = None
        return self._take(source, **changed)

    def counted(self) -> Self:
        """Return equal comparisons as one each, which weighs as much as they do together; ``times`` is their number.

        Equal are those with the same sides, outcome, weight, judge, cluster and covariates. Rankings (``group``) are
        returned as they are, and comparisons whose cluster is unknown stay apart.

        Examples
        --------
        >>> votes = Comparisons(None, ["ann", "bob", "ann"], ["bob", "ann", "bob"]).counted()
        >>> len(votes), votes.n_listed, votes.weight
        (2, 3, array([2., 1.]))
        """
        if self.group is not None:
            return self
        each = self.listed_weight
        keys: list[NDArray[Any]] = [self.first, self.second, self.outcome]
        keys += [] if each is None else [each]
        keys += [] if self.judge is None else [codes(self.judge, len(self))]
        keys += [] if self.cluster is None else [self.clusters()]
        keys += [] if self.covariates is None else [*self.covariates.T]
        source, row = first_of_equal(keys)
        times = np.ones(len(self), dtype=np.int64) if self.times is None else self.times
        weight = np.ones(len(self)) if self.weight is None else self.weight
        totals = {"times": np.zeros(len(source), dtype=np.int64), "weight": np.bincount(row, weight)}
        np.add.at(totals["times"], row, times)
        return self._take(source, **totals)

    def used_items(self) -> NDArray[np.intp]:
        """Return the sorted row numbers of the items that occur in a comparison."""
        return np.unique(np.concatenate([self.first, self.second]))

    def parts(self) -> NDArray[np.intp]:
        """Return the connected part (0, 1, ...) of each item; items never compared are parts of their own."""
        return connected_parts(self.first, self.second, self.n_items)

    def clusters(self) -> NDArray[np.intp]:
        """Return the cluster (0, 1, ...) of each comparison; those of unknown cluster are clusters of their own."""
        if self.cluster is None:
            return np.arange(len(self), dtype=np.intp)
        number = codes(self.cluster, len(self)).copy()
        unknown = np.flatnonzero([label == "" for label in self.cluster.tolist()])
        number[unknown] = len(self) + np.arange(len(unknown))
        return np.unique(number, return_inverse=True)[1].astype(np.intp, copy=False)

    def with_items(self, items: Any) -> Self:
        """Return the same comparisons over another item table with the same number of rows."""
        table = check_items(items, "with_items", self.names)
        if table.n_items != self.n_items:
            raise DataError(code="item-count-changed", owner="with_items").says(
                f"the new table has {table.n_items} rows; these comparisons are of {self.n_items} items",
                "Give one row per item, in the same order",
            )
        return self._take(slice(None), items=table.values, feature_names=table.feature_names)

    def without_features(self) -> Self:
        """Return the same comparisons of items that are only names."""
        return self._take(slice(None), items=None, feature_names=None)

    def summary(self) -> str:
        """Return a short text: counts, ties, labels, parts, repeats and contradictions."""
        return "\n".join(f"{what:<14} {text}" for what, text in facts_of(self).items())


def _signed(covariates: NDArray[np.float64] | None, sign: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return covariates with some rows negated; 0 stays 0, not -0."""
    return None if covariates is None else sign[:, None] * covariates + 0.0
