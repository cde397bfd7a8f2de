"""What a term of the sum answers, what it is asked, and the parameters that it has.

A model is x_r = Σ_t a_t(r)'f_t + c_t(r)'h_t: every term has latents that all rows may see, f, or latents that only the
rows of one group see, h, or both. `preflearn.inference.problem` adds terms up, and asks the methods of `Term`. To add a
term derive a class from it, in a module of its own, and list it where estimators choose terms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from preflearn.linalg import distinct_numbers, square_norms

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

# What a parameter is: priors of parameters and searches go by this, and never by a name.
Kind = Literal["variance", "length scale", "shape", "share", "likelihood"]
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
    def joined(cls, parts: Iterable[Parameters]) -> Parameters:
        """Return the parameters of several parts."""
        every = [cls((), (), np.zeros(0), np.zeros((0, 2))), *parts]
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


def kernel_parameters(kernel: Any) -> Parameters:
    """Return the free parameters of a kernel of scikit-learn."""
    names: list[str] = []
    kinds: list[Kind] = []
    for free in kernel.hyperparameters:
        count = 0 if free.fixed else free.n_elements
        own = free.name.split("__")[-1]
        name = own.replace("_", " ")
        names += [name] if count == 1 else [f"{name} {number}" for number in range(count)]
        kind: Kind = {"length_scale": "length scale", "constant_value": "variance"}.get(own, "shape")  # type: ignore[assignment]
        kinds += [kind] * count
    bounds = np.reshape(kernel.bounds, (-1, 2)).astype(np.float64)
    return Parameters(tuple(names), tuple(kinds), np.asarray(kernel.theta, dtype=np.float64), bounds)


def constant_parameters(kernel: Any, name: str, kind: Kind = "variance") -> Parameters:
    """Return the free parameter of a ConstantKernel under a name of its own."""
    found = kernel_parameters(kernel)
    return replace(found, names=(name,) * len(found), kinds=(kind,) * len(found))


class Parametric:
    """Base of frozen dataclasses some of whose fields have parameters: kernels of scikit-learn, or others of these."""

    @property
    def learned(self) -> dict[str, Parameters]:
        """Those fields, in their order, with the parameters of each; fields that are None have none."""
        return {}

    @cached_property
    def parameters(self) -> Parameters:
        """Free parameters."""
        return Parameters.joined(self.learned.values())

    def clone_with_theta(self, theta: FloatArray) -> Self:
        """Return the same at other parameters."""
        learned = self.learned
        pieces = np.split(theta, np.cumsum([len(part) for part in learned.values()])[:-1])
        parts = {name: getattr(self, name).clone_with_theta(piece) for name, piece in zip(learned, pieces, strict=True)}
        return replace(self, **parts) if parts else self  # type: ignore[type-var]


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
    """Rows (p,) about pairs of items, or about single ones: the value of ``low`` against ``high``.

    Rows are ``against`` another item, nothing (the utility of ``low`` alone), or the mean of all ``items``; ``high``
    counts for two items only.
    """

    items: Items
    low: IntArray  # places among the items
    high: IntArray
    against: Literal["item", "nothing", "mean"] = "item"
    side: FloatArray | None = None  # +1 where ``low`` stood on the first side, -1 where on the second; None: no side
    who: Who | None = None  # None where judges are not told apart
    cluster: IntArray | None = None  # numbers, `POPULATION` or `UNKNOWN`; None where clusters are not told apart
    covariates: FloatArray | None = None  # (p, q): numbers of ``low`` less those of ``high``; None: equal

    def __len__(self) -> int:
        return int(self.low.shape[0])

    @classmethod
    def of_items(cls, items: Items, against: Literal["nothing", "mean"], **more: Any) -> Rows:
        """Return a row for each of some items."""
        places = np.arange(len(items.number))
        return cls(items, places, places, against, **more)

    def part(self, rows: Any) -> Rows:
        """Return some of the rows."""
        columns = {"side": self.side, "cluster": self.cluster, "covariates": self.covariates}
        some: dict[str, Any] = {name: x[rows] for name, x in columns.items() if x is not None}
        who = None if self.who is None else Who(self.who.number[rows], self.who.X)
        return replace(self, low=self.low[rows], high=self.high[rows], who=who, **some)

    def few(self, rows: Any) -> Rows:
        """Return some rows about two items each, with these items alone."""
        part = self.part(rows)
        used, place = distinct_numbers(np.concatenate([part.low, part.high]), len(part.items.number))
        low, high = place.reshape(2, -1)
        return replace(part, items=Items.__getitem__(self.items, used), low=low, high=high)

    @property
    def ends(self) -> tuple[IntArray, IntArray]:
        """Places of both ends in what `extended` returns."""
        n = len(self.items.number)
        if self.against == "item":
            return self.low, self.high
        return self.low, np.full(len(self), n)

    def operator(self) -> Any:
        """Return the sparse operator (p, items) with +1 at one end and -1 at the other, over what is `extended`."""
        return pair_operator(*self.ends, len(self.items.number) + (self.against != "item"))

    def extended(self, M: Any) -> Any:
        """Return rows of numbers for the items with one more row for what they stand against, if that is no item."""
        if self.against == "item":
            return M
        last = M.mean(axis=0)[None] if self.against == "mean" else np.zeros((1, M.shape[1]))
        if isinstance(M, np.ndarray):
            return np.vstack([M, last])
        return sp.csr_array(sp.vstack([M, sp.csr_array(last)]))


class Seen(NamedTuple):
    """What rows see of a term: sparse arrays with few entries each, or an ndarray where each row sees all."""

    shared: Any = None  # (m, n) of the latents that all rows may see; None: there are none
    own: Any = None  # (m, c), sparse: of the c kinds of latents that every group has
    group: IntArray | None = None  # (m,): the group of each row
    family: str = ""  # groups of the same family are the same groups
    alike: bool = False  # whether the shared latents are independent with one variance: K is a `Multiple`
    functions: int = 0  # how many functions the shared latents are sums of: K is a `Products`; 0: K is held
    effects: bool = False  # whether each of these latents is also an effect of its own


class Multiple(NamedTuple):
    """A multiple of the identity as the covariance of ``size`` latents; an infinite one says nothing about them."""

    variance: float
    size: int


class Products(NamedTuple):
    """K = FF' + own I for functions F (n, r); nothing is n x n. `Given.pull` then takes `Slopes`."""

    F: FloatArray
    own: float = 0.0


class Slopes(NamedTuple):
    """Derivatives by the functions of `Products`, and by the variance of the effects beside them."""

    F: FloatArray
    own: float = 0.0


class Given(NamedTuple):
    """The prior of a term's latents.

    ``block`` gives the covariances (sets, k, k) between kinds (sets, k) of a group's latents. ``pull`` takes the
    derivatives of the evidence by K (its trace, if K is a `Multiple`; `Slopes`, if it is `Products`) and by the blocks
    of groups, with their kinds, to theta.
    """

    K: FloatArray | Multiple | Products | None
    block: Callable[[IntArray], FloatArray] | None
    pull: Callable[[Any, list[tuple[IntArray, FloatArray]]], FloatArray]

    def in_full(self) -> Given:
        """Return the same with K as an array."""
        pull = self.pull
        if isinstance(self.K, Products):
            F, K = self.K.F, self.K.F @ self.K.F.T
            K.flat[:: len(K) + 1] += self.K.own
            return Given(K, self.block, lambda M, own: pull(Slopes((M + M.T) @ F, float(np.trace(M))), own))
        if not isinstance(self.K, Multiple):
            return self
        return Given(self.K.variance * np.eye(self.K.size), self.block, lambda M, own: pull(float(np.trace(M)), own))


class Own(NamedTuple):
    """Covariances of asked rows with latents of groups: of row ``row``, with the kinds (c,) of ``group``."""

    row: IntArray
    group: IntArray
    cross: FloatArray  # (entries, c)


class Combined(NamedTuple):
    """Covariances of asked rows with shared latents: ``rows`` (p, n), or ``operator`` (p, items) times them."""

    rows: FloatArray
    operator: Any = None  # sparse

    def covariances(self) -> Combined:
        """Return itself."""
        return self

    @property
    def whole(self) -> FloatArray:
        """The covariances (p, n), with combinations carried out."""
        return self.rows if self.operator is None else np.asarray(self.operator @ self.rows)


class Direct(NamedTuple):
    """What asked rows see of latents whose prior is a `Multiple`, and of others of that variance; both sparse."""

    rows: Any  # (p, n)
    rest: Any  # (p, k)
    variance: float

    @classmethod
    def of(cls, seen: Any, n: int, variance: float) -> Direct:
        """Return what rows see of n latents of training and, in further columns, of others."""
        seen = sp.csr_array(seen)
        seen.eliminate_zeros()
        seen.sort_indices()
        return cls(seen[:, :n], seen[:, n:], variance)

    @property
    def total(self) -> FloatArray:
        """Prior variances of the rows, (p,)."""
        squares = square_norms(self.rows) + square_norms(self.rest)
        return np.asarray(self.variance * squares if np.isfinite(self.variance) else 0.0 * squares)

    def covariances(self) -> Combined:
        """Return the covariances with the latents of training."""
        used = np.unique(self.rows.indices)
        few = np.zeros((len(used), self.rows.shape[1]))
        few[np.arange(len(used)), used] = self.variance
        return Combined(few, self.rows[:, used])


class OfFunctions(NamedTuple):
    """What asked rows see of the weights of functions, and of effects beside them if there are any."""

    weights: Combined  # (p, r)
    F: Callable[[], FloatArray]  # the functions at the items of training
    effects: Direct | None = None

    def covariances(self) -> Combined:
        """Return the covariances with the latents of training, which are the sums of functions and effects."""
        rows = np.asarray(self.weights.whole @ self.F().T)
        return Combined(rows if self.effects is None else rows + self.effects.covariances().whole)


class Asked(NamedTuple):
    """Rows to predict, seen by a term: their covariances with its latents, and the prior variance of its part."""

    shared: (
        Combined | Direct | OfFunctions | None
    )  # `Direct` where the prior is a `Multiple`, `OfFunctions` of `Products`
    own: Own | None
    variance: FloatArray  # (p,)


class Term(Parametric):
    """One term of the sum, with its parameters. The module docstring lists its questions."""

    name: ClassVar[str] = ""
    of_items: ClassVar[bool] = False  # whether rows see differences of what their two items see

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of, by name: kernels and variances that estimators report."""
        return {self.name: self}

    def seen(self, rows: Rows) -> Seen:
        """Return what rows of training see of the latents."""
        raise NotImplementedError

    def prior(self) -> Given:
        """Return the prior of the latents."""
        raise NotImplementedError

    def ask(self, rows: Rows) -> Asked:
        """Return what rows have to do with the latents."""
        raise NotImplementedError

    def means(self, items: Items, a: FloatArray) -> FloatArray | float:
        """Return means (p, p) between all of some items, prior covariances times ``a`` (n,); 0 if not about items."""
        return 0.0

    def covariance(self, rows: Rows) -> FloatArray:
        """Return the prior covariance (p, p) of the term's part of rows, all of the same judge and cluster."""
        return np.zeros((len(rows), len(rows)))


def scatter(own: list[tuple[IntArray, FloatArray]], size: int) -> FloatArray:
    """Return the sum (size, size) of blocks (G, k, k) over the kinds (G, k) that their rows and columns belong to."""
    total = np.zeros(size * size)
    for what, S in own:
        place = np.ravel(what[:, :, None] * size + what[:, None, :])
        total += np.bincount(place, np.ravel(S), minlength=size * size)
    return total.reshape(size, size)


def pair_operator(first: IntArray, second: IntArray, n_items: int) -> Any:
    """Return the sparse operator (m, n_items) with +1 at the first and -1 at the second item of each row."""
    m = len(first)
    ends = np.ravel(np.column_stack([first, second]))
    A = sp.csr_array((np.tile([1.0, -1.0], m), ends, np.arange(0, 2 * m + 1, 2)), shape=(m, n_items))
    A.sum_duplicates()
    return A
