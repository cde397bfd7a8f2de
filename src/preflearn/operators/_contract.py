"""How latent utilities are seen by least squares: roots of preference-graph Laplacians.

Every least-squares model of the library minimises, over utilities f of n items,

    (c - C'f)'(c - C'f) + λ‖f‖²,        L = C C',

where L is the Laplacian of the preference graph. The n x r matrix C is a *root* of L,
never formed where a rule will do:

=========  ==================================  ==============================  ============
operator   sees                                C'f                             cost of C'F
=========  ==================================  ==============================  ============
`Rows`     each item's own score (regression)  sqrt(w_i) f_i                   n k
`Groups`   all pairs inside groups, implied    scaled group-centred f          n k
`Edges`    listed pairs, distinct              sqrt(w_ij) (f_i - f_j)          m k
`Root`     the same pairs, m > n of them       Cholesky of grounded Laplacian  n² k
=========  ==================================  ==============================  ============

(F has k columns.) The contract is `Operator`: ``apply`` (C'F), ``adjoint`` (C U), ``target`` (c).
Weights are strictly positive here: callers drop rows of weight zero first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

__all__ = ["BLOCK", "Features", "FloatArray", "IntArray", "Operator", "RowIndex", "project"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
RowIndex = slice | IntArray
Features = Callable[[RowIndex], Any]

# Elements of one streamed block of feature rows: 4 MiB of float64 stays in cache while it is centred and multiplied.
BLOCK = 1 << 19


class Operator(Protocol):
    """A root C of a Laplacian with its targets c; see the module docstring."""

    @property
    def n_items(self) -> int:
        """Number of latents."""
        ...

    @property
    def target(self) -> FloatArray:
        """Targets c, (r,)."""
        ...

    def apply(self, F: FloatArray) -> FloatArray:
        """Return C'F, (r, k) for F (n_items, k)."""
        ...

    def adjoint(self, U: FloatArray) -> FloatArray:
        """Return C U, (n_items, k) for U (r, k)."""
        ...


def project(operator: Operator, K: FloatArray) -> FloatArray:
    """Return C'KC for a symmetric K, overwriting K where the operator is square."""
    n = operator.n_items
    if operator.target.shape[0] != n:
        return operator.apply(np.ascontiguousarray(operator.apply(K).T))
    # C' from the left block by block, then again on the transpose: no second n x n array.
    step = max(1, BLOCK // max(n, 1))
    for side in (K, K.T):
        for j in range(0, n, step):
            side[:, j : j + step] = operator.apply(side[:, j : j + step])
    return K
