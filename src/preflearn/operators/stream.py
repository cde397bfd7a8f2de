"""The primal system Z'LZ, Z'Cc as sums over blocks of feature rows: docs/maths.md, section 5."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.operators._contract import BLOCK, Features, FloatArray, RowIndex
from preflearn.operators.edges import Edges
from preflearn.operators.groups import Groups, Rows

__all__ = ["scatter"]

# Fewest rows of a block, however many features.
MIN_ROWS = 64


def scatter(operator: Rows | Groups | Edges, features: Features, n_features: int) -> tuple[FloatArray, FloatArray]:
    """Return M = Z'LZ and b = Z'Cc, streaming over blocks of feature rows.

    ``features(rows)`` returns the dense or sparse feature rows Z[rows]. Z is never held whole for rows and groups, so
    features may be made on the fly (Nystroem, random features) and X is not copied. Cost n d² (m d + n d² for listed
    pairs). Groups are centred before they are multiplied: features may have means far larger than their spread.
    """
    everything = slice(0, operator.n_items)
    if isinstance(operator, Edges):
        Z = features(everything)
        return operator.quadratic(Z), np.asarray(Z.T @ operator.adjoint(operator.target))
    M, b = np.zeros((n_features, n_features)), np.zeros(n_features)
    step = max(MIN_ROWS, BLOCK // max(1, n_features))
    if isinstance(operator, Rows):
        for i in range(0, operator.n_items, step):
            block = slice(i, i + step)
            Z = features(block)
            h = operator.root_weight[block]
            sparse = sp.issparse(Z)
            T = Z.multiply(h[:, None]).tocsr() if sparse else Z * h[:, None]
            _add(M, b, T, operator.target[block])
        return M, b
    for rows, part in operator.chunks(step):
        if part.n_items > 4 * step:
            _scatter_large_group(M, b, part, rows, features, step)
            continue
        Z = features(rows)
        sparse = sp.issparse(Z)
        if sparse:
            M += part.quadratic(Z)
            b += Z.T @ part.adjoint(part.target)
        else:
            _add(M, b, part.apply(Z), part.target)
    return M, b


def _scatter_large_group(
    M: FloatArray, b: FloatArray, part: Groups, rows: RowIndex, features: Features, step: int
) -> None:
    # A group too large for one block: means first, then centred pieces; two passes over its features.
    index = np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows
    pieces = [slice(i, min(i + step, part.n_items)) for i in range(0, part.n_items, step)]

    def take(piece: slice) -> Any:
        here = index[piece]
        return features(slice(int(here[0]), int(here[-1]) + 1) if isinstance(rows, slice) else here)

    w = part.root_weight**2
    if sp.issparse(take(slice(0, 1))):
        Z = features(rows)
        M += part.quadratic(Z)
        b += Z.T @ part.adjoint(part.target)
        return
    group = np.zeros((1, M.shape[0]))
    level = None if part.level is None else np.zeros((part.level_total.shape[0], M.shape[0]))
    for piece in pieces:
        Z = take(piece)
        group += (w[piece] / part.total[0]) @ Z
        if part.level is not None and level is not None:
            here = part.level[piece]
            low = int(here.min())
            mean = sp.csr_matrix(
                (w[piece] / part.level_total[here], (here - low, np.arange(here.shape[0]))),
                shape=(int(here.max()) - low + 1, here.shape[0]),
            )
            level[low : int(here.max()) + 1] += mean @ Z
    for piece in pieces:
        small = replace(
            part,
            n_items=piece.stop - piece.start,
            target=part.target[piece],
            root_weight=part.root_weight[piece],
            code=part.code[piece],
            level=None if part.level is None else part.level[piece],
        )
        _add(M, b, small.centre(take(piece), group, level), small.target)


def _add(M: FloatArray, b: FloatArray, T: Any, target: FloatArray) -> None:
    with np.errstate(over="ignore", invalid="ignore"):  # the solver refuses a system that is not finite
        G = T.T @ T  # NumPy turns this into a symmetric rank-k update
    sparse = sp.issparse(G)
    M += G.toarray() if sparse else G
    b += T.T @ target
