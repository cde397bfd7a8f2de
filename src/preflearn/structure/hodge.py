"""Hodge decomposition of net preferences: what a ranking explains, circles of three, and longer circles.

On the graph of compared pairs with weights w, net preferences y split into three parts that are orthogonal in the inner
product Σ w a b (Jiang, Lim, Yao and Ye, 2011):

    gradient   differences s_i - s_j of scores, the weighted least-squares ranking
    curl       what runs in circles of three items that were all compared with each other
    harmonic   what runs in longer circles only
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsmr

from preflearn.structure.graph import FloatArray, Flow, IntArray

__all__ = ["Hodge", "hodge"]

MOST_TRIANGLES = 1_000_000


@dataclass(frozen=True)
class Hodge:
    """Shares of the squared net preferences, which sum to 1, and the scores (n,) of the gradient, mean 0 in each part.

    ``complete`` says whether all circles of three were used; otherwise some of the curl is counted as harmonic.
    """

    gradient: float
    curl: float
    harmonic: float
    scores: FloatArray
    complete: bool


def hodge(flow: Flow) -> Hodge:
    """Decompose net preferences.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.structure.graph import Flow
    >>> h = hodge(Flow.of(Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"])))
    >>> round(h.gradient, 6), round(h.curl, 6), round(h.harmonic, 6)
    (0.0, 1.0, 0.0)
    """
    m, n = flow.low.shape[0], flow.n_items
    root = np.sqrt(flow.weight)
    rows = np.tile(np.arange(m), 2)
    A = sp.csr_array((np.repeat([1.0, -1.0], m), (rows, np.concatenate([flow.low, flow.high]))), shape=(m, n))
    scores = _least_squares(sp.diags_array(root) @ A, root * flow.net)
    gradient = A @ scores
    rest = flow.net - gradient
    i, j, k, complete = triangles(flow)
    curl = np.zeros(m)
    if i.shape[0]:
        # a flow of the curl part is W⁻¹C'φ for a potential φ of the triangles i < j < k
        code = flow.low * n + flow.high  # in this order
        sides = [np.searchsorted(code, a * n + b) for a, b in ((i, j), (j, k), (i, k))]
        t = np.arange(i.shape[0])
        C = sp.csr_array(
            (np.repeat([1.0, 1.0, -1.0], t.shape[0]), (np.concatenate(sides), np.tile(t, 3))), shape=(m, t.shape[0])
        )
        curl = (C @ _least_squares(sp.diags_array(1 / root) @ C, root * rest)) / flow.weight
    total = float(flow.weight @ flow.net**2)
    if total == 0:
        return Hodge(1.0, 0.0, 0.0, scores, complete)
    shares = [float(flow.weight @ part**2) / total for part in (gradient, curl)]
    return Hodge(shares[0], shares[1], max(0.0, 1.0 - sum(shares)), scores, complete)


def triangles(flow: Flow) -> tuple[IntArray, IntArray, IntArray, bool]:
    """Return triples i < j < k that were all compared with each other, at most a million, and whether these are all."""
    n, m = flow.n_items, flow.low.shape[0]
    U = sp.csr_array((np.ones(m), (flow.low, flow.high)), shape=(n, n))  # from lower to higher
    found: list[Any] = []
    count = 0
    for e in range(m):
        i, j = int(flow.low[e]), int(flow.high[e])
        third = np.intersect1d(
            U.indices[U.indptr[i] : U.indptr[i + 1]], U.indices[U.indptr[j] : U.indptr[j + 1]], assume_unique=True
        )
        if third.shape[0]:
            found.append(np.column_stack([np.full(third.shape, i), np.full(third.shape, j), third]))
            count += third.shape[0]
            if count > MOST_TRIANGLES:
                break
    listed = np.concatenate(found).astype(np.intp) if found else np.zeros((0, 3), dtype=np.intp)
    return listed[:, 0], listed[:, 1], listed[:, 2], count <= MOST_TRIANGLES


def _least_squares(A: Any, b: FloatArray) -> FloatArray:
    return np.asarray(lsmr(A, b, atol=1e-13, btol=1e-13, conlim=0, maxiter=20 * max(A.shape))[0])
