"""What a term would add to a model, from the model's residuals and without learning it.

Let r be the derivatives of log p(y | z) at the z of every comparison and W the information there, both without what a
utility of each item would explain (a Newton step: r - WA (A'WA)⁻ A'r). A term that adds Bw to z, w ~ N(0, vI), changes
the log evidence by about

    max over v of  ½ b'(S + I/v)⁻¹ b - ½ log|I + vS|,    b = B'r,  S = B'WB,

exactly so for normal outcomes at known parameters. Of S the diagonal is taken: a fit follows wherever there is a doubt.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.data import Comparisons
from preflearn.models.bradley_terry import utilities_by_least_squares
from preflearn.operators import FloatArray
from preflearn.structure.circle_search import row_reliabilities

__all__ = ["expected_gains", "side_follows_from_items"]

VARIANCES = np.geomspace(1e-4, 1e2, 25)
SIDE_VARIANCE = 4.0  # which is not learned
FEW = 8  # columns of B up to which utilities are taken out of their information, too; of many they are a small part


def expected_gains(model: Any, terms: list[str]) -> dict[str, float]:
    """Return the nats of evidence that each term is expected to add to a fitted model."""
    X: Comparisons = model.comparisons_
    likelihood = model.likelihood_
    weight = np.ones(len(X)) if X.weight is None else X.weight
    scale = row_reliabilities(model)
    z = model.predict_difference(X, side=bool(model.side))
    d = likelihood.log_density(X.outcome if likelihood.margins else np.sign(X.outcome), z)
    scale = np.ones(len(X)) if scale is None else scale
    r, W = scale * weight * d.first, np.square(scale) * np.maximum(-weight * d.second, 0.0)
    A = _differences(X)
    explained = utilities_by_least_squares(A, W)
    r = r - W * (A @ explained(r[:, None])[:, 0])
    gains = {}
    for term in terms:
        B = _COLUMNS[term](X, z)
        b = B.T @ r
        S = B.power(2).T @ W
        if B.shape[1] <= FEW:
            WB = W[:, None] * B.toarray()
            S = np.maximum(S - np.einsum("ij,ij->j", WB, A @ explained(WB)), 0.0)
        v = np.array([SIDE_VARIANCE])[:, None] if term == "side" else VARIANCES[:, None]
        gains[term] = float((0.5 * (v * b**2 / (1 + v * S) - np.log1p(v * S))).sum(axis=1).max())
    return gains


def side_follows_from_items(X: Comparisons) -> float:
    """Return the share of 1, which a side adds to every row, that is a difference of one number of each item."""
    A = _differences(X)
    f = utilities_by_least_squares(A, np.ones(len(X)))(np.ones((len(X), 1)))[:, 0]
    return float(np.square(A @ f).sum() / len(X))


def _differences(X: Comparisons) -> Any:
    m = len(X)
    ends = np.concatenate([X.first, X.second])
    return sp.csr_array((np.repeat([1.0, -1.0], m), (np.tile(np.arange(m), 2), ends)), (m, X.n_items))


def _side(X: Comparisons, z: FloatArray) -> Any:
    return sp.csr_array(np.ones((len(X), 1)))


def _covariates(X: Comparisons, z: FloatArray) -> Any:
    table = np.asarray(X.covariates, dtype=np.float64)
    size = np.sqrt(np.mean(np.square(table), axis=0))
    return sp.csr_array(table / np.where(size > 0, size, 1.0))


def _reliability(X: Comparisons, z: FloatArray) -> Any:
    names, number = np.unique(np.asarray(X.judge).astype(str), return_inverse=True)
    known = (names != "")[number]
    return sp.csr_array((z * known, (np.arange(len(X)), number)), shape=(len(X), len(names)))


def _of_groups(label: Any, X: Comparisons) -> Any:
    """Return +1 and -1 in the columns of (group, first) and (group, second); rows of no group see nothing."""
    names, group = np.unique(np.asarray(label).astype(str), return_inverse=True)
    known = np.tile((names != "")[group], 2)
    ends = np.concatenate([group * X.n_items + X.first, group * X.n_items + X.second])
    cells, column = np.unique(ends, return_inverse=True)
    entries = np.repeat([1.0, -1.0], len(X)) * known
    return sp.csr_array((entries, (np.tile(np.arange(len(X)), 2), column)), shape=(len(X), len(cells)))


_COLUMNS: dict[str, Any] = {
    "side": _side,
    "covariates": _covariates,
    "clusters": lambda X, z: _of_groups(X.cluster, X),
    "tastes": lambda X, z: _of_groups(X.judge, X),
    "reliability": _reliability,
}
