"""Training data of the least-squares estimators: scored rows in groups, and listed comparisons or a graph."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from preflearn.data import Comparisons, Ratings
from preflearn.data.fields import check_labels, check_weight, codes
from preflearn.exceptions import DataError, DataWarning, Setting, first_few
from preflearn.operators import Edges, FloatArray, Groups, IntArray

Ties = Literal["include", "exclude"]
Weighting = Literal["pairs", "groups"]


@dataclass(frozen=True)
class RowData:
    """Scored rows in groups; rows of weight zero are gone."""

    X: Any
    y: FloatArray
    code: IntArray
    weight: FloatArray | None
    grouped: bool
    kept: IntArray | None = None  # rows of the given X that are left, None if all
    n_given: int = 0  # rows of the given X
    ties: Ties = "include"
    weighting: Weighting = "pairs"

    @property
    def n_items(self) -> int:
        """Number of rows."""
        return int(self.y.shape[0])

    n_statements = n_items  # what may be left out: rows

    @property
    def row_weight(self) -> FloatArray | None:
        """Weights of the items themselves: those of the rows."""
        return self.weight

    def operator(self, rows: IntArray | None = None) -> Groups:
        """Return the operator that sees the pairs of all rows, or of some."""
        y, code, weight = self.y, self.code, self.weight
        if rows is not None and rows.shape[0] == 0:
            raise DataError(code="no-training-rows").says(
                "There are no rows to train on", "Check cv: every training set needs some"
            )
        if rows is not None:
            y, code = y[rows], np.unique(code[rows], return_inverse=True)[1]
            weight = None if weight is None else weight[rows]
        return Groups.build(y, code, weight, ties=self.ties, weighting=self.weighting)

    def training(self, rows: IntArray) -> tuple[IntArray, Groups]:
        """Return the items that some rows are about, and the operator that sees their pairs."""
        return rows, self.operator(rows)


@dataclass(frozen=True)
class PairData:
    """Listed comparisons over the items that occur in them, or an explicit graph; weights are positive."""

    X: Any
    first: IntArray
    second: IntArray
    margin: FloatArray
    weight: FloatArray | None
    code: IntArray | None  # group of each comparison, None without groups
    kept: IntArray | None  # items of the given table that occur, None if all
    rows: IntArray  # the given comparisons that are left
    n_given: int = 0  # comparisons as given
    ties: Ties = "include"
    weighting: Weighting = "pairs"
    row_weight: ClassVar[None] = None  # comparisons have weights, their items have none

    @property
    def n_items(self) -> int:
        """Number of items that occur."""
        return int(self.X.shape[0])

    @property
    def n_statements(self) -> int:
        """Number of what may be left out: comparisons."""
        return int(self.margin.shape[0])

    @property
    def counted(self) -> Any:
        """Which comparisons count: all, or those that are not ties."""
        return np.ones(self.n_statements, dtype=bool) if self.ties == "include" else self.margin != 0

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
        weight = None if self.weight is None else self.weight[keep]
        if self.weighting == "groups":
            if self.code is None:
                raise DataError(code="weighting-without-groups").says(
                    'weighting="groups" weighs groups of comparisons, and these have none',
                    'Build Comparisons with group=..., or use weighting="pairs"',
                )
            weight = np.ones(int(keep.sum())) if weight is None else weight
            weight = weight / np.bincount(self.code[keep], weight)[self.code[keep]]
        code = None if code is None else code[keep]
        return Edges.build(self.n_items, self.first[keep], self.second[keep], self.margin[keep], weight, code)

    def training(self, rows: IntArray) -> tuple[IntArray, Edges]:
        """Return the items that some comparisons are about, and the operator that sees these."""
        items, place = np.unique(np.concatenate([self.first[rows], self.second[rows]]), return_inverse=True)
        ends: dict[str, Any] = {"first": place[: len(rows)], "second": place[len(rows) :], "margin": self.margin[rows]}
        labels = {"weight": self.weight, "code": self.code}
        ends |= {name: None if label is None else label[rows] for name, label in labels.items()}
        return items, replace(self, X=self.X[items], **ends).operator()


def is_precomputed(kernel: Any) -> bool:
    """Return whether rows are kernel values."""
    return isinstance(kernel, str) and kernel == "precomputed"


def given_alone(
    owner: str, X: Any, y: Any, qid: Any, sample_weight: Any, graph: Any = None
) -> tuple[Any, Any, Any, Any]:
    """Return rows, scores, groups and weights, of Ratings where these are given; data objects are given alone."""
    if isinstance(X, Comparisons | Ratings):
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
    n, kept = y.shape[0], None
    code = codes(None if qid is None else check_labels(qid, n, "qid", owner, "row"), n)
    if weight is not None and not weight.all():
        kept = np.flatnonzero(weight)
        X = X[kept][:, kept] if pairwise else X[kept]
        y, weight, code = y[kept], weight[kept], np.unique(code[kept], return_inverse=True)[1]
    return RowData(X, y, code, weight, qid is not None, kept, n)


def pair_data(owner: str, data: Comparisons, X: Any, *, pairwise: bool) -> PairData:
    """Return comparisons of positive weight over those of the items X that occur in them."""
    rows = np.arange(len(data)) if data.weight is None else np.flatnonzero(data.weight)
    if rows.shape[0] == 0:
        raise DataError(code="all-comparisons-weigh-zero", owner=owner).says(
            f"all {len(data)} comparisons have weight zero", "Give some of them a positive weight"
        )
    first, second = data.first[rows], data.second[rows]
    used = np.unique(np.concatenate([first, second]))
    kept: IntArray | None = None
    if used.shape[0] < data.n_items:
        kept = used
        X = X[used][:, used] if pairwise else X[used]
        first, second = np.searchsorted(used, first), np.searchsorted(used, second)
    if pairwise:
        check_kernel_matrix(owner, X)
    weight = None if data.weight is None else data.weight[rows]
    code = None if data.group is None else codes(data.group[rows], rows.shape[0])
    return PairData(X, first, second, data.outcome[rows], weight, code, kept, rows, len(data))


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


def check_kernel_matrix(owner: str, K: Any) -> None:
    """Raise unless a precomputed matrix of kernel values is square, symmetric and positive semi-definite."""
    if K.shape[0] != K.shape[1]:
        raise DataError(code="precomputed-not-square", owner=owner).says(
            f'kernel="precomputed" needs the square kernel matrix of the training rows; got shape {K.shape}',
            "Give K(train, train) to fit and K(new, train) to predict",
        )
    gap = abs(K - K.T).max()
    if gap > 1e-8 * max(abs(K).max(), 1e-300):
        raise DataError(code="precomputed-not-symmetric", owner=owner).says(
            f"the precomputed kernel matrix is not symmetric (largest difference {gap:.3g})",
            "Pass (K + K.T) / 2 if the difference is rounding, or check the order of rows and columns",
        )
    dense = np.array(K.toarray() if hasattr(K, "toarray") else K, dtype=np.float64)
    dense.flat[:: K.shape[0] + 1] += 1e-8 * max(float(np.abs(dense).max()), 1e-300)
    try:
        scipy.linalg.cholesky(dense, lower=True, overwrite_a=False, check_finite=False)
    except np.linalg.LinAlgError:
        least = float(scipy.linalg.eigvalsh(dense, subset_by_index=[0, 0])[0])
        raise DataError(code="precomputed-not-a-kernel", owner=owner).says(
            f"the precomputed matrix is not a kernel: it has negative eigenvalues (smallest {least:.3g})",
            "Use a positive semi-definite kernel, or clip its negative eigenvalues to zero first",
        ) from None


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
            "The graph has no edge left to learn from", "Give W at least one positive entry W[i, j]"
        )
    first, second = first[edges], second[edges]
    rows = np.arange(edges.shape[0])
    return PairData(X, first, second, y[first] - y[second], v[edges], None, None, rows, rows.shape[0])


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


def warn_if_nothing_to_learn(owner: str, data: RowData | PairData, operator: Groups | Edges) -> None:
    """Raise where no pair is left, warn where all pairs are tied."""
    if isinstance(data, RowData) and np.bincount(data.code).max() < 2:
        raise DataError(code="no-group-of-two", owner=owner).says(
            f"none of the {data.n_items} groups has two rows, so there is no pair to learn from. qid names "
            "the group (query, sentence) of each row: check that it is not the row's own id."
        )
    if not operator.target.any():
        DataWarning(code="all-pairs-tied", owner=owner).warn(
            "all pairs are tied, so nothing can be learned and every utility will be equal",
            "Check that the scores or outcomes are in the right column",
        )
