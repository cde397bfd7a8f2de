"""What a term of the sum answers, what it is asked, and the parameters that it has.

A model is x_r = Σ_t a_t(r)'f_t + c_t(r)'h_t: every term has latents that all rows may see, f, or latents that only the
rows of one group see, h, or both. `preflearn.inference.problem` adds terms up, and asks each of them:

    parameters, with_theta      its free parameters, and the term at others
    seen(rows)                  what the rows of training see of its latents
    prior()                     the covariance of its latents, and from derivatives by that to derivatives by theta
    ask(rows, ...)              what new rows have to do with its latents

To add a term write a class with these, in a module of its own, and list it where estimators choose terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

__all__ = [
    "POPULATION",
    "UNKNOWN",
    "Asked",
    "Combined",
    "Direct",
    "FloatArray",
    "Given",
    "IntArray",
    "Items",
    "Kind",
    "Multiple",
    "Own",
    "Parameters",
    "Rows",
    "Seen",
    "Term",
    "Who",
    "constant_parameters",
    "kernel_parameters",
    "pair_design",
    "scatter",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# What a parameter is: priors of parameters and searches go by this, and never by a name.
Kind = Literal["variance", "length scale", "shape", "share"]
# In place of the number of a judge or of a cluster: what all have in common, and one that was never seen before.
POPULATION, UNKNOWN = -1, -2


@dataclass(frozen=True)
class Parameters:
    """Free parameters, one after the other; ``theta`` are their logarithms."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    theta: FloatArray
    bounds: FloatArray  # (n_theta, 2), in log space

    @classmethod
    def none(cls) -> Parameters:
        """Return no parameters."""
        return cls((), (), np.zeros(0), np.zeros((0, 2)))

    @classmethod
    def joined(cls, parts: Iterable[Parameters]) -> Parameters:
        """Return the parameters of several parts."""
        every = [cls.none(), *parts]
        return cls(
            tuple(name for part in every for name in part.names),
            tuple(kind for part in every for kind in part.kinds),
            np.concatenate([part.theta for part in every]),
            np.concatenate([part.bounds for part in every]).astype(np.float64),
        )

    def __len__(self) -> int:
        return len(self.names)

    def named(self, prefix: str) -> Parameters:
        """Return the same parameters with a word before each name."""
        return Parameters(tuple(f"{prefix}{name}" for name in self.names), self.kinds, self.theta, self.bounds)


def kernel_parameters(kernel: Any, prefix: str = "") -> Parameters:
    """Return the free parameters of a kernel of scikit-learn."""
    names: list[str] = []
    kinds: list[Kind] = []
    for free in kernel.hyperparameters:
        count = 0 if free.fixed else free.n_elements
        own = free.name.split("__")[-1]
        name = prefix + own.replace("_", " ")
        names += [name] if count == 1 else [f"{name} {number}" for number in range(count)]
        kind: Kind = {"length_scale": "length scale", "constant_value": "variance"}.get(own, "shape")  # type: ignore[assignment]
        kinds += [kind] * count
    bounds = np.reshape(kernel.bounds, (-1, 2)).astype(np.float64)
    return Parameters(tuple(names), tuple(kinds), np.asarray(kernel.theta, dtype=np.float64), bounds)


def constant_parameters(kernel: Any, name: str, kind: Kind = "variance") -> Parameters:
    """Return the free parameter of a ConstantKernel under a name of its own."""
    free = kernel.theta.shape[0]
    bounds = np.reshape(kernel.bounds, (-1, 2)).astype(np.float64)
    return Parameters((name,) * free, (kind,) * free, np.asarray(kernel.theta, dtype=np.float64), bounds)


class Items(NamedTuple):
    """Items to ask about: their features, and which latent of training each is (numbers from n_items on: new ones)."""

    X: Any
    number: IntArray

    def __getitem__(self, rows: Any) -> Items:
        """Return some of them."""
        return Items(None if self.X is None else self.X[rows], self.number[rows])


class Who(NamedTuple):
    """Who judges: numbers of judges of training, `POPULATION`, `UNKNOWN`, or n_judges + a row of ``X``."""

    number: IntArray
    X: Any = None


@dataclass(frozen=True)
class Rows:
    """Rows (p,) about pairs of items, or about single ones.

    Attributes
    ----------
    items : Items
        The items that rows are about.
    low, high : ndarray (p,)
        Places of the two items among them; a row's value is that of ``low`` against ``high``.
    against : {"item", "nothing", "mean"}
        Whether a row is about two items, about the utility of ``low`` alone, or about how much ``low`` is preferred to
        all of the items on average; ``high`` counts for two items only.
    side : ndarray (p,) or None
        +1 where ``low`` stood on the first side, -1 where on the second; None: no side.
    who : Who or None
        Who judges; None where judges are not told apart.
    cluster : ndarray (p,) or None
        Numbers of clusters, `POPULATION` or `UNKNOWN`; None where clusters are not told apart.
    covariates : ndarray (p, q) or None
        Numbers of ``low`` less those of ``high``; None: equal.
    """

    items: Items
    low: IntArray
    high: IntArray
    against: Literal["item", "nothing", "mean"] = "item"
    side: FloatArray | None = None
    who: Who | None = None
    cluster: IntArray | None = None
    covariates: FloatArray | None = None

    def __len__(self) -> int:
        return int(self.low.shape[0])

    @classmethod
    def of_items(cls, items: Items, against: Literal["nothing", "mean"], **more: Any) -> Rows:
        """Return a row for each of some items."""
        places = np.arange(len(items.number))
        return cls(items, places, places, against, **more)

    def part(self, rows: Any) -> Rows:
        """Return some of the rows."""

        def some(x: Any) -> Any:
            return None if x is None else x[rows]

        who = None if self.who is None else Who(self.who.number[rows], self.who.X)
        return replace(
            self,
            low=self.low[rows],
            high=self.high[rows],
            side=some(self.side),
            who=who,
            cluster=some(self.cluster),
            covariates=some(self.covariates),
        )

    @property
    def ends(self) -> tuple[IntArray, IntArray]:
        """Places of both ends in what `extended` returns."""
        n = len(self.items.number)
        if self.against == "item":
            return self.low, self.high
        return self.low, np.full(len(self), n)

    def operator(self) -> Any:
        """Return the sparse operator (p, items) with +1 at one end and -1 at the other, over what is `extended`."""
        p, (low, high) = len(self), self.ends
        size = len(self.items.number) + (self.against != "item")
        rows = np.tile(np.arange(p), 2)
        return sp.csr_array((np.repeat([1.0, -1.0], p), (rows, np.concatenate([low, high]))), shape=(p, size))

    def extended(self, M: FloatArray) -> FloatArray:
        """Return rows of numbers for the items with one more row for what they stand against, if that is no item."""
        if self.against == "item":
            return M
        return np.vstack([M, M.mean(axis=0) if self.against == "mean" else np.zeros(M.shape[1])])


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
