"""What a preference model reads off comparisons, and which of the terms that it is asked for they can tell apart."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, DataWarning, first_few, warn_user
from preflearn.models._gp_judges import cluster_names, judge_names, warn_one_judge
from preflearn.models._statements import Statements, label_numbers, statements_of
from preflearn.operators import FloatArray

__all__ = ["read"]

SAME = 1e-8  # relative residual up to which a column is a difference of one number of each item


def read(model: Any, X: Comparisons, *, exact: bool, quiet: bool = False) -> Statements:
    """Return comparisons as the model's terms see them; ``quiet`` keeps warnings back, which were given before."""
    with warnings.catch_warnings():
        if quiet:
            warnings.simplefilter("ignore", DataWarning)
        return _read(model, X, exact=exact)


def _read(model: Any, X: Comparisons, *, exact: bool) -> Statements:
    owner = type(model).__name__
    judges: list[Any] = []
    clusters: list[Any] = []
    judge = cluster = None
    n_judges = 0
    wanted = [name for name in ("judge_kernel", "judge_reliability") if getattr(model, name)]
    wanted += ["side"] if model.side == "judge" else []
    if wanted:
        judges = judge_names(owner, X, {"side": 'side="judge"'}.get(wanted[0], wanted[0]))
        judge = label_numbers(X.judge, judges)
        n_judges = int(judge.max(initial=-1)) + 1
        if model.judge_kernel is not None:
            warn_one_judge(owner, X, judges)
    apart = model.judge_kernel is not None or model.side == "judge"
    if model.judge_reliability and len(judges) == 1 and len(judges) == n_judges:
        warn_user(
            f"{owner}: all comparisons are by one judge ({first_few(judges)}): how reliable it is cannot be told from "
            "how much items differ. The model is learned without judge_reliability.",
            DataWarning,
        )
        judge, judges, n_judges = (judge, judges, n_judges) if apart else (None, [], 0)
    if model.cluster:
        clusters = cluster_names(owner, X)
        cluster = label_numbers(X.cluster, clusters)
        if np.bincount(cluster).max(initial=0) < 2:
            warn_user(
                f"{owner}: each of the {len(X)} comparisons is in a cluster of its own, so that what a cluster has in "
                "common cannot be told from noise. The model is learned without cluster=True.",
                DataWarning,
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
    return replace(data, judges=judges, clusters=clusters, n_judges=n_judges)


def _sides_differ(owner: str, X: Comparisons) -> bool:
    """Return whether an advantage of the first side can be told from utilities; raise where sides mean nothing."""
    signs = np.sign(X.outcome if X.weight is None else X.outcome[X.weight > 0])
    if len(signs) > 1 and abs(signs.sum()) == len(signs):
        raise DataError(
            f"{owner}: side=True asks for the advantage of the first side, but the "
            f"{'first' if signs[0] > 0 else 'second'} item won all {len(signs)} comparisons: sides seem to be sorted "
            "by the result. Give first and second as they stood, or leave side=False."
        )
    if _is_difference(X, np.ones(len(X))):
        warn_user(
            f"{owner}: who stood on the first side follows from which items were compared, so that the side's "
            "advantage cannot be told from theirs. The model is learned without side=True.",
            DataWarning,
        )
        return False
    return True


def _check_covariates(owner: str, X: Comparisons) -> bool:
    """Warn of columns whose effect cannot be told from others'; return whether any column says something."""
    table = X.covariates
    assert table is not None
    names = [f"column {k}" for k in range(table.shape[1])] if X.covariate_names is None else list(X.covariate_names)
    zero = [name for name, column in zip(names, table.T, strict=True) if not column.any()]
    if len(zero) == len(names):
        warn_user(
            f"{owner}: all covariates are 0 in every row ({first_few(zero)}), so they say nothing. The model is "
            "learned without them.",
            DataWarning,
        )
        return False
    for name, column in zip(names, table.T, strict=True):
        if name in zero:
            warn_user(f'{owner}: covariate "{name}" is 0 in every row, so it has no effect.', DataWarning)
        elif len(column) > 1 and np.ptp(column) == 0:
            warn_user(
                f'{owner}: covariate "{name}" is {column[0]:g} in every row: its effect is an advantage of the first '
                "side. Use side=True in its place.",
                DataWarning,
            )
        elif _is_difference(X, column):
            warn_user(
                f'{owner}: covariate "{name}" is a difference of one number of each item, so that its effect cannot be '
                "told from the items' utilities, which share it between them. Give it as a feature of the items, or "
                "leave it out.",
                DataWarning,
            )
    return True


def _is_difference(X: Comparisons, column: FloatArray) -> bool:
    """Return whether a number of every row is u_first - u_second for some u of the items."""
    m = len(X)
    ends = np.concatenate([X.first, X.second])
    A = sp.csr_array((np.repeat([1.0, -1.0], m), (np.tile(np.arange(m), 2), ends)), shape=(m, X.n_items))
    size = float(np.linalg.norm(column))
    found: Any = lsqr(A, column, atol=1e-12, btol=1e-12, iter_lim=4 * X.n_items + 100)
    return float(np.linalg.norm(A @ found[0] - column)) <= SAME * size
