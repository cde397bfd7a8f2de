"""Comparisons as the terms of a preference model see them: turned, numbered, merged where no term sees a difference.

Terms that the comparisons cannot tell apart from others are left out with a warning.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import lsqr

from preflearn.data import Comparisons, LabelPreferences
from preflearn.exceptions import DataError, DataWarning, first_few
from preflearn.inference.contract import Observed
from preflearn.kernels.precomputed import KernelRows
from preflearn.kernels.rules import is_precomputed
from preflearn.models.asked import OfStatements
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import Items, Rows, Who, pair_operator


@dataclass(frozen=True)
class Statements:
    """Distinct rows of what the terms see (cells), and distinct outcomes of each with their weights."""

    used: IntArray  # rows of the item table that occur; items of ``rows`` are numbered in their order
    rows: Rows  # the cells, the lower item first
    seen: Observed  # outcomes, seen from the lower item
    row: IntArray  # the outcome that each comparison is merged into; those of weight 0 are in none, and have the first
    judge: IntArray | None  # of each outcome, where outcomes of different judges are kept apart
    judges: list[Any] = field(default_factory=list)  # names, sorted; comparisons without one have numbers beyond
    clusters: list[Any] = field(default_factory=list)  # the same
    n_judges: int = 0  # with those beyond
    reliable: bool = True  # whether the reliability of judges can be separated from how much items differ

    @property
    def cell(self) -> IntArray:
        """The cell of each comparison."""
        assert self.seen.cell is not None
        return np.asarray(self.seen.cell[self.row])

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The distinct pairs of items, in ascending order."""
        n = self.used.shape[0]
        code = self.rows.low * n + self.rows.high
        code = code if (np.diff(code) > 0).all() else np.unique(code)
        return code // n, code % n


def statements_of(
    X: Comparisons,
    *,
    exact: bool,
    judge: IntArray | None = None,
    cluster: IntArray | None = None,
    side: bool = False,
    covariates: bool = False,
    judges_apart: bool = True,
    all_items: bool = False,
) -> Statements:
    """Turn every comparison so that the lower item comes first, and merge those that are equal in all that is seen.

    Of outcomes more than the sign counts where they are ``exact``. Seen are numbers of judges and clusters, the side of
    the lower item and covariates, as far as they are given or wanted. Cells of different judges are different unless a
    reliability scales what is the same for all (``judges_apart=False``). With ``all_items`` items that were never
    compared are numbered, too.
    """
    if not (exact or side or covariates) and judge is None and cluster is None:
        return _counts(X, all_items=all_items)
    weight = np.ones(len(X)) if X.weight is None else X.weight
    counted = np.flatnonzero(weight)
    first, second = X.first[counted], X.second[counted]
    sign = np.where(first > second, -1.0, 1.0)
    outcome = (X.outcome[counted] if exact else np.sign(X.outcome[counted])) * sign + 0.0
    m = counted.shape[0]
    used, ends = _used(np.concatenate([first, second]), X.n_items, all_items=all_items)
    low, high = np.minimum(ends[:m], ends[m:]), np.maximum(ends[:m], ends[m:])
    table = None
    if covariates:
        assert X.covariates is not None
        table = X.covariates[counted] * sign[:, None] + 0.0
    who, where = (None if labels is None else labels[counted] for labels in (judge, cluster))
    apart = who if judges_apart else None
    columns = None if table is None else np.unique(table, axis=0, return_inverse=True)[1].ravel()
    cell, source = _distinct([low * used.shape[0] + high, sign if side else None, apart, where, columns])
    row, of_row = _distinct([cell, None if judges_apart else who, outcome])
    seen = Observed(
        outcome[of_row],
        np.asarray(np.bincount(row, weight[counted], minlength=of_row.shape[0]), dtype=np.float64),
        cell[of_row],
        source.shape[0],
    )
    rows = Rows(
        Items(None if X.items is None else X.items[used], np.arange(used.shape[0])),
        low[source],
        high[source],
        side=sign[source] if side else None,
        who=None if apart is None else Who(apart[source]),
        cluster=None if where is None else where[source],
        covariates=None if table is None else table[source],
    )
    merged = np.zeros(len(X), dtype=np.intp)
    merged[counted] = row
    return Statements(used, rows, seen, merged, None if who is None else who[of_row])


def _counts(X: Comparisons, *, all_items: bool) -> Statements:
    """Return statements where nothing but pairs and signs of outcomes is seen: the counts of `Comparisons.pairs`."""
    counted = slice(None) if X.weight is None or X.weight.all() else np.flatnonzero(X.weight)
    some = X if isinstance(counted, slice) else X[counted]
    pairs, m = some.pairs, len(some.pairs)
    weight = np.column_stack([pairs.losses, pairs.ties, pairs.wins]).ravel()
    there = np.flatnonzero(weight > 0)
    number = np.zeros(3 * m, dtype=np.intp)
    number[there] = np.arange(there.shape[0])
    used, ends = _used(np.concatenate([pairs.low, pairs.high]), X.n_items, all_items=all_items)
    items = Items(None if X.items is None else X.items[used], np.arange(used.shape[0]))
    merged = np.zeros(len(X), dtype=np.intp)
    merged[counted] = number[3 * pairs.row + (np.sign(pairs.sign * some.outcome) + 1).astype(np.intp)]
    outcome = np.asarray(there % 3 - 1, dtype=np.float64)
    seen = Observed(outcome, weight[there], there // 3, m)
    return Statements(used, Rows(items, ends[:m], ends[m:]), seen, merged, None)


def _used(ends: IntArray, n_items: int, *, all_items: bool) -> tuple[IntArray, IntArray]:
    """Return the items that are numbered, and the numbers of some."""
    there = np.full(n_items, all_items)
    there[ends] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[ends]


def _distinct(labels: list[Any]) -> tuple[IntArray, IntArray]:
    """Return a number for each different combination of labels, in ascending order, and where each occurs first."""
    code = np.zeros(len(labels[0]), dtype=np.intp)
    for label in (label for label in labels if label is not None):
        values, place = np.unique(label, return_inverse=True)
        code = np.unique(code, return_inverse=True)[1].ravel() * len(values) + place.ravel()
    _, source, number = np.unique(code, return_index=True, return_inverse=True)
    return number.ravel().astype(np.intp), source.astype(np.intp)


def _numbered(labels: Any) -> tuple[list[Any], IntArray]:
    """Return the distinct labels, sorted, and the number of each; every row without one ("") has its own number."""
    every = set(labels.tolist()) - {""}
    try:
        names = sorted(every)
    except TypeError:  # numbers and words
        names = sorted(every, key=str)
    place = {name: number for number, name in enumerate(names)}
    numbers = np.array([place.get(name, -1) for name in labels.tolist()], dtype=np.intp)
    nobody = np.flatnonzero(numbers < 0)
    numbers[nobody] = len(names) + np.arange(nobody.shape[0])
    return names, numbers


MANY, SORTED = 50, 0.95  # decided comparisons, and the share of wins less losses that no side's advantage makes
SAME = 1e-8  # relative residual up to which a column is a difference of one number of each item


def read(model: OfStatements, X: Comparisons, *, exact: bool) -> Statements:
    """Return comparisons as the model's terms see them; warn of terms that they cannot tell from others."""
    owner = type(model).__name__
    if not len(X) or (X.weight is not None and not X.weight.any()):
        raise DataError(code="no-comparisons-to-learn-from", owner=owner).says(
            f"there are no comparisons to learn from{f' (all {len(X)} have weight zero)' if len(X) else ''}",
            "Give at least one of positive weight",
        )
    judges: list[Any] = []
    clusters: list[Any] = []
    judge = cluster = None
    n_judges, reliable = 0, True
    wanted = [name for name in ("judge_kernel", "judge_reliability") if getattr(model, name)]
    wanted += ['side="judge"'] if model.side == "judge" else []
    if wanted:
        if X.judge is None:
            raise DataError(code="judges-missing", owner=owner).says(
                f"{wanted[0]} asks how judges differ, but the comparisons have no judges",
                f"Give Comparisons judge=..., or leave {wanted[0]} out",
            )
        judges, judge = _numbered(X.judge)
        n_judges = int(judge.max(initial=-1)) + 1
    alone = len(judges) == 1 and n_judges == 1
    if model.judge_kernel is not None and alone:
        DataWarning(code="tastes-of-one-judge", owner=owner).warn(
            f"all comparisons are by one judge ({first_few(judges)}): its own taste "
            "cannot be separated from the taste that judges share, so answers for other judges are guesses",
            "Leave judge_kernel=None",
        )
    apart = model.judge_kernel is not None or model.side == "judge"
    if model.judge_reliability and alone:
        DataWarning(code="reliability-of-one-judge", owner=owner).warn(
            f"all comparisons are by one judge ({first_few(judges)}): its reliability cannot be separated from "
            "how much items differ",
            "The model is learned without judge_reliability",
        )
        reliable = False
        judge, judges, n_judges = (judge, judges, n_judges) if apart else (None, [], 0)
    if model.cluster:
        if X.cluster is None:
            raise DataError(code="clusters-missing", owner=owner).says(
                "cluster=True needs the prompt, task or session of each comparison, and the comparisons have none",
                "Give Comparisons cluster=..., or leave cluster=False",
            )
        clusters, cluster = _numbered(X.cluster)
        sizes = np.bincount(cluster)
        if sizes.max(initial=0) < 2 or len(sizes) == 1:
            DataWarning(code="clusters-without-effect", owner=owner).warn(
                f"each of the {len(X)} comparisons is in a cluster of its own, so effects of clusters cannot be "
                "separated from noise"
                if sizes.max(initial=0) < 2
                else f"all comparisons are in one cluster ({first_few(clusters)}), so its effect cannot be separated "
                "from the utilities of the items",
                "The model is learned without cluster=True",
            )
            cluster, clusters = None, []
    side = bool(model.side) and _sides_differ(owner, X)
    columns = model.covariates and X.covariates is not None and _check_covariates(owner, X)
    data = statements_of(
        X,
        exact=exact,
        judge=judge,
        cluster=cluster,
        side=side,
        covariates=columns,
        judges_apart=apart,
        all_items=model._all_items,
    )
    return replace(data, judges=judges, clusters=clusters, n_judges=n_judges, reliable=reliable)


def _sides_differ(owner: str, X: Comparisons) -> bool:
    """Return whether an advantage of the first side is identifiable; raise where sides mean nothing."""
    signs = np.sign(X.outcome if X.weight is None else X.outcome[X.weight > 0])
    signs = signs[signs != 0]
    if len(signs) > 1 and abs(signs.sum()) == len(signs):
        raise DataError(code="one-side-won-all", owner=owner).says(
            "side=True asks for the advantage of the first side, but the "
            f"{'first' if signs[0] > 0 else 'second'} item won all {len(signs)} decided comparisons: sides "
            "seem to be sorted by the result",
            "Give first and second as they stood, or leave side=False",
        )
    if len(signs) >= MANY and abs(signs.mean()) > SORTED:
        side, share = ("first", np.mean(signs > 0)) if signs.sum() > 0 else ("second", np.mean(signs < 0))
        DataWarning(code="one-side-won-most", owner=owner).warn(
            f"the {side} item won {share:.1%} of {len(signs)} decided comparisons",
            "If sides were sorted by the result, the side gets the credit that the items deserve. Give "
            "first and second as they stood, or leave side=False",
        )
    if _is_difference(X, np.ones(len(X))):
        DataWarning(code="side-follows-from-items", owner=owner).warn(
            "which item is on the first side follows from which items were compared, so the "
            "advantage of a side cannot be separated from the utilities of the items",
            "The model is learned without side=True",
        )
        return False
    return True


def _check_covariates(owner: str, X: Comparisons) -> bool:
    """Warn of columns whose effect is not identifiable; return whether any column has one."""
    table = X.covariates
    assert table is not None
    names = [f"column {k}" for k in range(table.shape[1])] if X.covariate_names is None else list(X.covariate_names)
    zero = [name for name, column in zip(names, table.T, strict=True) if not column.any()]
    if len(zero) == len(names):
        DataWarning(code="covariates-all-zero", owner=owner).warn(
            f"all covariates are 0 in every row ({first_few(zero)}), so they have no effect",
            "The model is learned without them",
        )
        return False
    for name, column in zip(names, table.T, strict=True):
        if name in zero:
            DataWarning(code="covariate-zero", owner=owner).warn(
                f'covariate "{name}" is 0 in every row, so it has no effect.'
            )
        elif len(column) > 1 and np.ptp(column) == 0:
            DataWarning(code="covariate-constant", owner=owner).warn(
                f'covariate "{name}" is {column[0]:g} in every row: its effect is an advantage of the first side',
                "Use side=True in its place",
            )
        elif _is_difference(X, column):
            DataWarning(code="covariate-of-items", owner=owner).warn(
                f'covariate "{name}" is a difference of one number of each item, so its effect cannot be '
                "separated from the utilities of the items",
                "Give it as a feature of the items, or leave it out",
            )
    return True


def _is_difference(X: Comparisons, column: FloatArray) -> bool:
    """Return whether a number of every row is u_first - u_second for some u of the items."""
    A = pair_operator(X.first, X.second, X.n_items)
    size = float(np.linalg.norm(column))
    found: Any = lsqr(A, column, atol=1e-12, btol=1e-12, iter_lim=4 * X.n_items + 100)
    return float(np.linalg.norm(A @ found[0] - column)) <= SAME * size


def with_kernel_rows(owner: str, data: Any, **kernels: Any) -> Any:
    """Return data whose items are rows of a kernel matrix, where the kernels between items say that they are."""
    given = {name: is_precomputed(kernel) for name, kernel in kernels.items() if kernel is not None}
    there = isinstance(data.items, KernelRows)
    if not any(given.values()) and not there:
        return data
    if not all(given.values()) or not given:
        others = [name for name, precomputed in given.items() if not precomputed] or list(kernels)
        raise DataError(code="precomputed-beside-features", owner=owner).says(
            f"the item table is a kernel matrix, and {others[0]} asks for features",
            f'Use {others[0]}="precomputed" as well, or features for both',
        )
    if data.items is None:
        return data
    return data._take(slice(None), items=KernelRows.of_training(owner, data.items))


class Edges(NamedTuple):
    """Distinct edges, the lower label first, with the items that have any."""

    X: Any
    item: IntArray
    first: IntArray
    second: IntArray
    outcome: FloatArray
    weight: FloatArray


def merged_edges(owner: str, data: LabelPreferences, *, exact: bool) -> Edges:
    """Turn every edge so that the lower label comes first, merge equal ones into weights, drop items without any."""
    rows = np.arange(data.n_edges) if data.weight is None else np.flatnonzero(data.weight)
    if rows.shape[0] == 0:
        raise DataError(code="no-edges-to-learn-from", owner=owner).says(
            f"there are no edges to learn from (items: {len(data)})", "Give some a positive weight"
        )
    weight = np.ones(rows.shape[0]) if data.weight is None else data.weight[rows]
    first, second = data.first[rows], data.second[rows]
    outcome = data.outcome[rows] if exact else np.sign(data.outcome[rows])
    outcome = np.where(first > second, -outcome, outcome) + 0.0
    table = np.column_stack([data.item[rows], np.minimum(first, second), np.maximum(first, second), outcome])
    distinct, place = np.unique(table, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), weight, minlength=distinct.shape[0])
    used, item = np.unique(distinct[:, 0].astype(np.intp), return_inverse=True)
    return Edges(
        data.items[used],
        item.ravel().astype(np.intp),
        distinct[:, 1].astype(np.intp),
        distinct[:, 2].astype(np.intp),
        distinct[:, 3],
        np.asarray(total, dtype=np.float64),
    )


def check_maximum(owner: str, data: Statements, names: Any) -> None:
    """Raise DataError unless the likelihood has a maximum: from every item a chain of wins (or ties) leads to each."""
    n, cell, outcome = data.used.shape[0], data.seen.cell, data.seen.y
    low, high = data.rows.low[cell], data.rows.high[cell]
    up, down = outcome >= 0, outcome <= 0
    winner, loser = np.concatenate([low[up], high[down]]), np.concatenate([high[up], low[down]])
    beats = sp.csr_array((np.ones(winner.shape[0]), (winner, loser)), shape=(n, n))
    if connected_components(beats, directed=True, connection="strong")[0] == 1:
        if not outcome.any():
            raise DataError(code="all-ties-no-maximum", owner=owner).says(
                "all comparisons are ties, so the likelihood (prior=None) has no maximum: a wider "
                "threshold is always better",
                "Add comparisons with a winner",
            )
        return
    label = np.arange(n) if names is None else names
    cure = 'Use prior="auto" (or a number), or leave these items out.'
    part = connected_components(beats, directed=False)[1]
    sizes = np.bincount(part)
    if sizes.shape[0] > 1:
        alone = np.flatnonzero(sizes[part] == 1)
        least = np.flatnonzero(part == np.argmin(sizes))
        who = (
            f"{alone.shape[0]} of {n} items were never compared ({first_few(label[alone].tolist())})"
            if alone.shape[0]
            else f"the items fall into {sizes.shape[0]} parts that were never compared with each other (the smallest: "
            f"{first_few(label[least].tolist())})"
        )
        raise DataError(code="no-maximum-parts", owner=owner).says(
            f"maximum likelihood (prior=None) does not exist: {who}", cure
        )
    wins, losses = np.bincount(winner, minlength=n), np.bincount(loser, minlength=n)
    ends = [
        f"{rows.shape[0]} {what} ({first_few(label[rows].tolist())})"
        for rows, what in ((np.flatnonzero(losses == 0), "never lost"), (np.flatnonzero(wins == 0), "never won"))
        if rows.shape[0]
    ]
    if not ends:
        ends = [f"some never lost to any of the others ({first_few(label[_top(beats)].tolist())})"]
    raise DataError(code="no-maximum-ends", owner=owner).says(
        f"maximum likelihood (prior=None) does not exist, utilities would be infinite: of {n} items "
        f"{' and '.join(ends)}",
        cure,
    )


def _top(beats: Any) -> Any:
    """Return the items of a strong component that no item outside has beaten."""
    part = connected_components(beats, directed=True, connection="strong")[1]
    winner, loser = beats.nonzero()
    beaten = np.unique(part[loser[part[winner] != part[loser]]])
    return np.flatnonzero(part == np.setdiff1d(np.unique(part), beaten)[0])
