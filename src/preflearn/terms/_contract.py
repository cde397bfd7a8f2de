"""What a term of the sum answers.

A model is x_r = Σ_t a_t(r)'f_t + c_t(r)'h_t: every term has latents that all rows may see, f, or latents that only the
rows of one group see, h, or both. `preflearn.inference.problem` adds terms up, and asks each of them:

    parameters, with_theta      its free parameters, and the term at others
    seen(rows)                  what the rows of training see of its latents
    prior()                     the covariance of its latents, and from derivatives by that to derivatives by theta
    ask(rows, ...)              what new rows have to do with its latents

To add a term write a class with these, in a module of its own, and list it where estimators choose terms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp

from preflearn.terms.parameters import Parameters
from preflearn.terms.rows import FloatArray, IntArray, Items, Rows

__all__ = ["Asked", "Combined", "Direct", "Given", "Multiple", "Own", "Seen", "Term", "pair_design", "scatter"]


class Seen(NamedTuple):
    """What rows see of a term: sparse arrays with few entries each, or an ndarray where each row sees all."""

    shared: Any = None  # (m, n) of the latents that all rows may see; None: there are none
    own: Any = None  # (m, c), sparse: of the c kinds of latents that every group has
    group: IntArray | None = None  # (m,): the group of each row
    family: str = ""  # groups of the same family are the same groups
    alike: bool = False  # whether the shared latents are independent with one variance: K is a `Multiple`


class Multiple(NamedTuple):
    """A multiple of the identity as the covariance of ``size`` latents; an infinite one says nothing about them."""

    variance: float
    size: int


class Given(NamedTuple):
    """The prior of a term's latents.

    ``block`` gives the covariances (sets, k, k) between kinds (sets, k) of a group's latents. ``pull`` takes the
    derivative of the evidence by K, symmetric, and those by the blocks of groups, with their kinds, to theta; where K
    is a `Multiple` it takes the trace of the first.
    """

    K: FloatArray | Multiple | None
    block: Callable[[IntArray], FloatArray] | None
    pull: Callable[[Any, list[tuple[IntArray, FloatArray]]], FloatArray]

    def in_full(self) -> Given:
        """Return the same with K as an array."""
        if not isinstance(self.K, Multiple):
            return self
        pull = self.pull
        return Given(self.K.variance * np.eye(self.K.size), self.block, lambda M, own: pull(float(np.trace(M)), own))


class Own(NamedTuple):
    """Covariances of asked rows with latents of groups: of row ``row``, with the kinds (c,) of ``group``."""

    row: IntArray
    group: IntArray
    cross: FloatArray  # (entries, c)


class Combined(NamedTuple):
    """Rows that are combinations of fewer others: ``operator`` (p, items), sparse, times ``rows`` (items, n)."""

    operator: Any
    rows: FloatArray


class Direct(NamedTuple):
    """Rows of latents whose prior is a `Multiple`: sums of the latents of training, and of others of that variance.

    ``operator`` (p, items), sparse, combines rows of ``known`` (items, n) and ``new`` (items, k); None: they are rows.
    """

    operator: Any
    known: Any
    new: Any
    variance: float

    @property
    def rows(self) -> Any:
        """What rows see of the latents of training, (p, n), sparse."""
        return _without_zeros(self.known if self.operator is None else self.operator @ self.known)

    @property
    def rest(self) -> Any:
        """What rows see of other latents, of variance 1, (p, k), sparse."""
        new = sp.csr_array((self.known.shape[0], 0)) if self.new is None else self.new
        new = _without_zeros(new if self.operator is None else self.operator @ new)
        return np.sqrt(self.variance) * new if new.nnz else new

    @property
    def total(self) -> FloatArray:
        """Prior variances of the rows, (p,)."""
        squares = _square_sums(self.rows) * self.variance if np.isfinite(self.variance) else np.zeros(len(self))
        return squares + _square_sums(self.rest)

    def __len__(self) -> int:
        return int((self.known if self.operator is None else self.operator).shape[0])

    def in_full(self) -> Any:
        """Return the covariances with the latents of training, as an array or `Combined`."""
        known = self.known if isinstance(self.known, np.ndarray) else self.known.toarray()
        Q = self.variance * known
        return Q if self.operator is None else Combined(self.operator, Q)


def _without_zeros(M: Any) -> Any:
    found = sp.csr_array(M)
    found.eliminate_zeros()
    found.sort_indices()
    return found


def _square_sums(M: Any) -> FloatArray:
    return np.asarray(M.multiply(M).sum(axis=1), dtype=np.float64).ravel()


class Asked(NamedTuple):
    """What asked rows have to do with a term: covariances with its latents, and the prior variance of its part."""

    shared: Any  # (p, n), `Combined`, `Direct` where the prior is a `Multiple`, or None where there is none
    own: Own | None
    variance: FloatArray  # (p,)


class Term(Protocol):
    """One term of the sum, at some parameters; see the module."""

    @property
    def parameters(self) -> Parameters:
        """Free parameters."""
        ...

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of, by name: kernels and variances that estimators report."""
        ...

    def with_theta(self, theta: FloatArray) -> Self:
        """Return the same term at other parameters."""
        ...

    def seen(self, rows: Rows) -> Seen:
        """Return what rows of training see of the latents."""
        ...

    def prior(self) -> Given:
        """Return the prior of the latents."""
        ...

    def ask(self, rows: Rows) -> Asked:
        """Return what rows have to do with the latents."""
        ...

    def means(self, items: Items, a: FloatArray) -> FloatArray | float:
        """Return the means (p, p) of the term between all of some items, a priori covariances times ``a`` (n,)."""
        ...

    def covariance(self, rows: Rows) -> FloatArray:
        """Return the prior covariance (p, p) of the term's part of rows, all of the same judge and cluster."""
        ...


def scatter(own: list[tuple[IntArray, FloatArray]], size: int) -> FloatArray:
    """Return the sum (size, size) of blocks (G, k, k) over the kinds (G, k) that their rows and columns belong to."""
    total = np.zeros(size * size)
    for what, S in own:
        place = np.ravel(what[:, :, None] * size + what[:, None, :])
        total += np.bincount(place, np.ravel(S), minlength=size * size)
    return total.reshape(size, size)


def pair_design(rows: Rows, n_items: int) -> Any:
    """Return the sparse operator (m, n) with +1 at the lower and -1 at the higher item of rows of training."""
    m = len(rows)
    ends = np.concatenate([rows.low, rows.high])
    return sp.csr_array((np.repeat([1.0, -1.0], m), (np.tile(np.arange(m), 2), ends)), shape=(m, n_items))
