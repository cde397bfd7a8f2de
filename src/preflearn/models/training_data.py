"""Training data of the least-squares estimators: scored rows in groups, and listed comparisons or a graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from preflearn.data import Chunks, Comparisons, Ratings
from preflearn.data.fields import check_labels, check_weight, codes
from preflearn.exceptions import DataError, DataWarning, Setting, first_few
from preflearn.kernels.precomputed import check_kernel_matrix
from preflearn.operators import Edges, FloatArray, Groups, IntArray, Operator, Rows

Ties = Literal["include", "exclude"]
Weighting = Literal["pairs", "groups"]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What least squares see of rows: pairs of rows inside groups, or each by itself."""

    ties: Ties = "include"
    weighting: Weighting = "pairs"
    pairs: bool = True

    def seen_as(self, other: Seen) -> Self:
        """Return the same seen in another way."""
        return replace(self, ties=other.ties, weighting=other.weighting, pairs=other.pairs)

    def operator_of(self, y: Any, code: IntArray, weight: FloatArray | None) -> Groups | Rows:
        """Return the operator that sees scored rows in whole groups."""
        if self.pairs:
            return Groups.build(y, code, weight, ties=self.ties, weighting=self.weighting)
        return replace(Rows.build(y, weight), code=code)


@dataclass(frozen=True)
class RowData(Seen):
    """Scored rows in groups; rows of weight zero are gone."""

    X: Any
    y: FloatArray  # (n,), or (n, q) for q outputs
    code: IntArray
    weight: FloatArray | None
    grouped: bool
    kept: IntArray | None = None  # rows of the given X that are left, None if all
    n_given: int = 0  # rows of the given X
    table: Any = None  # rows of the given X, all of them

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return int(self.y.shape[0])

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.code.max()) + 1

    n_statements = n_items  # what may be left out: rows

    @property
    def row_weight(self) -> FloatArray | None:
        """Weights of the items themselves: those of the rows."""
        return self.weight

    @property
    def outputs(self) -> tuple[int, ...]:
        """Number of outputs, (q,), or () where scores have one dimension."""
        return self.y.shape[1:]

    @property
    def pair_weight(self) -> FloatArray:
        """Weights of rows of which the product is that of a pair."""
        weight = np.ones(self.n_items) if self.weight is None else self.weight
        if self.weighting == "pairs":
            return weight
        return np.asarray(weight / np.sqrt(np.bincount(self.code, weight))[self.code])

    def alike(self) -> list[RowData]:
        """Return the data in parts whose outputs one operator sees: together, or one by one where ties do not count."""
        if not self.outputs or not self.pairs or self.ties == "include":
            return [self]
        return [replace(self, y=self.y[:, [k]]) for k in range(self.y.shape[1])]

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Whether scores differ in some group, for each output."""
        one = np.empty((self.n_groups, *self.outputs))
        one[self.code] = self.y
        return np.atleast_1d((self.y != one[self.code]).any(axis=0))

    def operator(self, rows: IntArray | None = None) -> Groups | Rows:
        """Return the operator that sees the pairs, or the scores, of all rows or of some."""
        y, code, weight = self.y, self.code, self.weight
        if rows is not None and rows.shape[0] == 0:
            raise DataError(code="no-training-rows").says(
                "There are no rows to train on", "Check cv: every training set needs some"
            )
        if rows is not None:
            y, code = y[rows], np.unique(code[rows], return_inverse=True)[1]
            weight = None if weight is None else weight[rows]
        return self.operator_of(y, code, weight)

    def training(self, rows: IntArray) -> tuple[IntArray, Groups | Rows]:
        """Return the items that some rows are about, and the operator that sees them."""
        return rows, self.operator(rows)


@dataclass(frozen=True)
class PairData(Seen):
    """Listed comparisons over the items that occur in them, or an explicit graph; weights are positive."""

    X: Any
    first: IntArray
    second: IntArray
    margin: FloatArray  # (m,), or (m, q) for q outputs
    weight: FloatArray | None
    code: IntArray | None  # group of each comparison, None without groups
    kept: IntArray | None  # items of the given table that occur, None if all
    rows: IntArray  # the given comparisons that are left
    n_given: int = 0  # comparisons as given
    table: Any = None  # rows of the given items, all of them
    row_weight: ClassVar[None] = None  # comparisons have weights, their items have none
    n_groups: ClassVar[int] = 1  # items are in no groups

    @property
    def n_items(self) -> int:
        """Number of items that occur."""
        return int(self.X.shape[0])

    @property
    def n_statements(self) -> int:
        """Number of what may be left out: comparisons."""
        return int(self.margin.shape[0])

    @property
    def outputs(self) -> tuple[int, ...]:
        """Number of outputs, (q,), or () where margins have one dimension."""
        return self.margin.shape[1:]

    def preferences(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Return winner, loser and weight of the comparisons that are no ties."""
        rows = np.flatnonzero(self.margin)
        first, second, won = self.first[rows], self.second[rows], self.margin[rows] > 0
        return np.where(won, first, second), np.where(won, second, first), self._weights(rows)

    def _weights(self, rows: IntArray) -> FloatArray:
        """Return the weights of some comparisons, those of each group summing to one if groups weigh the same."""
        weight = np.ones(rows.shape[0]) if self.weight is None else self.weight[rows]
        if self.weighting == "pairs":
            return weight
        if self.code is None:
            raise DataError(code="weighting-without-groups").says(
                'weighting="groups" weighs groups of comparisons, and these have none',
                'Build Comparisons with group=..., or use weighting="pairs"',
            )
        return np.asarray(weight / np.bincount(self.code[rows], weight)[self.code[rows]])

    def alike(self) -> list[PairData]:
        """Return the data in parts whose outputs one operator sees: together, or one by one where ties do not count."""
        if not self.outputs or self.ties == "include":
            return [self]
        return [replace(self, margin=self.margin[:, [k]]) for k in range(self.margin.shape[1])]

    @property
    def decided(self) -> NDArray[np.bool_]:
        """Whether some comparison is no tie, for each output."""
        return np.atleast_1d(self.margin.any(axis=0))

    @property
    def counted(self) -> Any:
        """Which comparisons count: all, or those that are not ties (of a single output)."""
        if self.ties == "include":
            return np.ones(self.n_statements, dtype=bool)
        return self.margin.reshape(self.n_statements) != 0

    def operator(self, code: IntArray | None = None) -> Edges:
        """Return the operator that sees the comparisons; ties are comparisons with outcome 0.

        ``weighting="groups"`` scales the weights of each group of comparisons to sum to one. ``code`` keeps repeats of
        a pair apart that will be left out with different groups.
        """
        keep = self.counted
        if keep.shape[0] == 0:
            raise DataError(code="no-training-comparisons").says(
                "There are no comparisons to train on", "Check cv: every training set needs some"
            )
        if not keep.any():
            raise DataError(code="all-ties-excluded").says(
                "all comparisons are ties, and " + Setting("ties", "exclude") + " drops them",
                "Use " + Setting("ties", "include"),
            )
        rows = np.flatnonzero(keep)
        code = None if code is None else code[rows]
        ends = self.first[rows], self.second[rows], self.margin[rows]
        return Edges.build(self.n_items, *ends, self._weights(rows), code)

    def training(self, rows: IntArray) -> tuple[IntArray, Edges]:
        """Return the items that some comparisons are about, and the operator that sees these."""
        items, place = np.unique(np.concatenate([self.first[rows], self.second[rows]]), return_inverse=True)
        ends: dict[str, Any] = {"first": place[: len(rows)], "second": place[len(rows) :], "margin": self.margin[rows]}
        labels = {"weight": self.weight, "code": self.code}
        ends |= {name: None if label is None else label[rows] for name, label in labels.items()}
        return items, replace(self, X=self.X[items], **ends).operator()


def given_alone(
    owner: str, X: Any, y: Any, qid: Any, sample_weight: Any, graph: Any = None
) -> tuple[Any, Any, Any, Any]:
    """Return rows, scores, groups and weights, of Ratings where these are given; data objects are given alone."""
    if isinstance(X, Chunks | Comparisons | Ratings):
        kind, given = type(X).__name__, {"y": y, "qid": qid, "sample_weight": sample_weight, "graph": graph}
        extra = [name for name, value in given.items() if value is not None]
        if extra:
            raise TypeError(
                f"{owner}: {kind} carry their own scores, groups and weights, but {first_few(extra)} was given as "
                f"well. Pass the {kind} alone, or plain arrays."
            )
    return (X.items, X.score, X.group, X.weight) if isinstance(X, Ratings) else (X, y, qid, sample_weight)


def row_data(owner: str, X: Any, y: FloatArray, qid: Any, weight: FloatArray | None, *, pairwise: bool) -> RowData:
    """Return scored rows without those of weight zero; labels of groups are of any kind."""
    n, kept, table = y.shape[0], None, X
    code = codes(None if qid is None else check_labels(qid, n, "qid", owner, "row"), n)
    if weight is not None and not weight.all():
        kept = np.flatnonzero(weight)
        X = X[kept][:, kept] if pairwise else X[kept]
        y, weight, code = y[kept], weight[kept], np.unique(code[kept], return_inverse=True)[1]
    return RowData(X, y, code, weight, qid is not None, kept, n, table)


def pair_data(owner: str, data: Comparisons, X: Any, *, pairwise: bool) -> PairData:
    """Return comparisons of positive weight over those of the items X that occur in them."""
    rows = np.arange(len(data)) if data.weight is None else np.flatnonzero(data.weight)
    if rows.shape[0] == 0:
        raise DataError(code="all-comparisons-weigh-zero", owner=owner).says(
            f"all {len(data)} comparisons have weight zero", "Give some of them a positive weight"
        )
    first, second = data.first[rows], data.second[rows]
    used, table = np.unique(np.concatenate([first, second])), X
    kept: IntArray | None = None
    if used.shape[0] < data.n_items:
        kept = used
        X = X[used][:, used] if pairwise else X[used]
        first, second = np.searchsorted(used, first), np.searchsorted(used, second)
    if pairwise:
        check_kernel_matrix(owner, X)
    weight = None if data.weight is None else data.weight[rows]
    code = None if data.group is None else codes(data.group[rows], rows.shape[0])
    return PairData(X, first, second, data.outcome[rows], weight, code, kept, rows, len(data), table)


def identity(n: int) -> Any:
    """Return the features of n items that have none: all alike and all different, K = I."""
    return sp.eye_array(n, format="csr")


def check_row_weight(sample_weight: Any, n: int, owner: str) -> FloatArray | None:
    """Return weights of rows; a single number is scikit-learn's way to say that all weigh the same."""
    if sample_weight is None:
        return None
    weight = np.asarray(sample_weight)
    if weight.ndim == 0:
        weight = np.full(n, weight)
    if weight.ndim != 1:
        raise DataError(code="sample-weight-shape", owner=owner).says(
            f"sample_weight has shape {weight.shape}", f"Give one weight per row, shape ({n},)"
        )
    return check_weight(weight, n, owner, "row")


def graph_data(owner: str, X: Any, y: FloatArray, weight: FloatArray | None, graph: Any, qid: Any) -> PairData:
    """Return the edges of an explicit preference graph over scored rows."""
    W = _check_graph(owner, graph, y.shape[0], qid)
    upper = sp.coo_array(sp.triu(W, 1))
    first, second, v = upper.coords[0].astype(np.intp), upper.coords[1].astype(np.intp), upper.data
    if weight is not None:
        v = v * weight[first] * weight[second]
    edges = np.flatnonzero(v > 0)
    if edges.shape[0] == 0:
        raise DataError(code="graph-without-edges", owner=owner).says(
            "graph has no positive weight, so there is nothing to learn from", "Give at least one W[i, j] > 0"
        )
    first, second = first[edges], second[edges]
    rows = np.arange(edges.shape[0])
    return PairData(X, first, second, y[first] - y[second], v[edges], None, None, rows, rows.shape[0], X)


def _check_graph(owner: str, graph: Any, n: int, qid: Any) -> Any:
    if qid is not None:
        raise TypeError(f"{owner}: give the preference graph by qid or by graph, not by both.")
    W = sp.csr_array(graph, dtype=np.float64)
    if W.shape != (n, n):
        raise DataError(code="graph-shape", owner=owner).says(
            f"graph has shape {W.shape} for {n} rows", "Give one weight W[i, j] per pair of rows"
        )
    if not np.isfinite(W.data).all() or (W.data < 0).any():
        raise DataError(code="graph-weights", owner=owner).says(
            "graph has negative or non-finite weights", "Give W[i, j] >= 0, 0 for no comparison"
        )
    if abs(W - W.T).max() > 1e-10 * max(W.data.max(initial=0.0), 1e-300):
        raise DataError(code="graph-not-symmetric", owner=owner).says(
            "graph is not symmetric", "A pair has one weight: pass (W + W.T) / 2"
        )
    return W


def warn_if_nothing_to_learn(owner: str, data: RowData | PairData, operators: Sequence[Operator]) -> None:
    """Raise where no pair is left, warn where all pairs are tied."""
    sizes = np.bincount(data.code) if isinstance(data, RowData) else np.array([data.n_statements + 1])
    found = np.concatenate([seen.target.reshape(seen.target.shape[0], -1).any(axis=0) for seen in operators])
    warn_of_pairs(owner, sizes.shape[0], int(sizes.max()), found & data.decided)


def warn_of_pairs(owner: str, n_groups: int, largest: int, decided: Any) -> None:
    """Raise where no group has two rows, warn of outputs of which all pairs are tied."""
    if largest < 2:
        raise DataError(code="no-group-of-two", owner=owner).says(
            f"none of the {n_groups} groups has two rows, so there is no pair to learn from. qid names "
            "the group (query, sentence) of each row: check that it is not the row's own id."
        )
    tied = np.flatnonzero(~np.asarray(decided))
    if tied.shape[0]:
        where = f" in columns {first_few(tied.tolist())} of y" if np.any(decided) else ""
        DataWarning(code="all-pairs-tied", owner=owner).warn(
            f"all pairs are tied{where}, so nothing can be learned and every utility will be equal{where and ' there'}",
            "Check that the scores or outcomes are in the right column",
        )
