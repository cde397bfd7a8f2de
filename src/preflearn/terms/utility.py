"""Utilities of items: a row sees that of its lower item less that of its higher one.

Covariances between items are a kernel over their features, an effect of each item alone, or both (`ItemKernel`). Below
the term: which kernels over items there are by name, where a search for their parameters starts, and its bounds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    WhiteKernel,
)

from preflearn.exceptions import DataError
from preflearn.items import as_items
from preflearn.kernels import gram, gram_and_pullback, gram_diag, gram_listed
from preflearn.kernels.precomputed import NAME, Precomputed
from preflearn.kernels.resolve import RADIAL
from preflearn.kernels.rules import is_precomputed, kernel_parts
from preflearn.terms import (
    Asked,
    Combined,
    Direct,
    FloatArray,
    Given,
    Items,
    Multiple,
    Parameters,
    Parametric,
    Rows,
    Seen,
    Term,
    constant_parameters,
    kernel_parameters,
)

DEFAULT_BOUNDS = (1e-5, 1e5)  # scikit-learn's default: the user has not chosen any
ITEM_KERNELS = ("ard", "linear", NAME, *RADIAL)
VARIANCE = (1e-4, 1e4)  # bounds of the variance of utilities, in units of the noise


@dataclass(frozen=True)
class ItemKernel(Parametric):
    """A function of the features with covariance ``kernel`` + an effect of the item itself.

    The own effects are independent with variance ``own`` (a ConstantKernel). Items without features have nothing else
    (``X`` and ``kernel`` are None); ``own`` is None where features are all that counts. Parameters are the kernel's and
    then the own variance.
    """

    X: Any
    kernel: Any
    own: Any
    n_items: int
    own_name: str = "own effect constant value"  # what the parameter is called

    @property
    def learned(self) -> dict[str, Parameters]:
        """Kernel and own variance."""
        found = {} if self.kernel is None else {"kernel": kernel_parameters(self.kernel)}
        return found if self.own is None else {**found, "own": constant_parameters(self.own, self.own_name)}

    def over(self, X: Any, n_items: int) -> ItemKernel:
        """Return the same over other items."""
        return replace(self, X=X, n_items=n_items)

    @property
    def main(self) -> Any:
        """The kernel over features, or without features the variance of single items."""
        return self.own if self.kernel is None else self.kernel

    @property
    def own_variance(self) -> float:
        """Variance of the items' own effects."""
        return 0.0 if self.own is None else float(self.own.constant_value)

    def gram(self) -> tuple[FloatArray, Callable[[FloatArray], FloatArray]]:
        """Return the covariance (n, n) of the training items, and its pullback M -> <M, dK/dtheta>."""
        if self.kernel is None:
            K, pull = np.zeros((self.n_items, self.n_items)), None
        else:
            K, pull = gram_and_pullback(self.kernel, self.X)
        own = self.own_variance
        if self.own is not None:
            K.flat[:: self.n_items + 1] += own
        free = 0 if self.own is None else self.own.theta.shape[0]

        def pullback(M: FloatArray) -> FloatArray:
            first = np.zeros(0) if pull is None else pull(M)
            return np.concatenate([first, np.full(free, own * np.trace(M))])

        return K, pullback

    def cross(self, new: Items) -> FloatArray:
        """Return the covariance (p, n) of items with the training items."""
        Q = np.zeros((len(new.number), self.n_items)) if self.kernel is None else gram(self.kernel, new.X, self.X)
        if self.own is not None:
            known = np.flatnonzero(new.number < self.n_items)
            Q[known, new.number[known]] += self.own_variance
        return Q

    def direct(self, rows: Rows) -> Direct:
        """Return what rows see of the utilities of training and of new items; of items without features."""
        number, n = rows.items.number, self.n_items
        new = np.unique(number[number >= n])
        column = np.where(number < n, number, n + np.searchsorted(new, number))
        chosen = (np.ones(len(number)), column, np.arange(len(number) + 1))
        items = sp.csr_array(chosen, shape=(len(number), n + len(new)))
        return Direct.of(rows.operator() @ rows.extended(items), n, self.own_variance)

    def covariance(self, new: Items) -> FloatArray:
        """Return the covariance (p, p) of items."""
        p = len(new.number)
        K = np.zeros((p, p)) if self.kernel is None else gram(self.kernel, new.X)
        if self.own is not None:
            K += self.own_variance * (new.number[:, None] == new.number)
        return K

    def variance(self, new: Items) -> FloatArray:
        """Return the variances (p,) of items."""
        return self.own_variance + (
            np.zeros(len(new.number)) if self.kernel is None else np.asarray(gram_diag(self.kernel, new.X))
        )

    def ends(self, rows: Rows) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return, for each row, the variances of its two ends and their covariance."""
        new, (low, high) = rows.items, rows.ends
        if rows.against == "mean":
            G = self.extended(rows)
            return G[low, low], G[high, high], G[low, high]
        variance = self.variance(new)
        if rows.against == "nothing":
            zero = np.zeros(len(rows))
            return variance[low], zero, zero
        shared = np.where(new.number[low] == new.number[high], self.own_variance, 0.0)
        if self.kernel is not None:
            shared = shared + gram_listed(self.kernel, new.X, low, high)
        return variance[low], variance[high], shared

    def extended(self, rows: Rows) -> FloatArray:
        """Return the covariance of the items of rows, with that of what they stand against as the last one."""
        G = rows.extended(self.covariance(rows.items))
        return np.asarray(rows.extended(np.ascontiguousarray(G.T)))


@dataclass(frozen=True)
class Utility(Term):
    """f_low - f_high, f with the covariance of ``items``; latents are the utilities of the training items."""

    items: ItemKernel
    of_items: ClassVar[bool] = True

    @property
    def learned(self) -> dict[str, Parameters]:
        """The covariance."""
        return {"items": self.items.parameters}

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        return {"utility": self.items}

    def seen(self, rows: Rows) -> Seen:
        """Return +1 and -1 at the two items."""
        return Seen(rows.operator(), alike=self.items.kernel is None)

    def prior(self) -> Given:
        """Return the kernel matrix, or without features a multiple of the identity."""
        if self.items.kernel is None:
            v, free = self.items.own_variance, len(self.parameters)
            return Given(Multiple(v, self.items.n_items), None, lambda trace, own: np.full(free, v * trace))
        K, pull = self.items.gram()
        return Given(K, None, lambda M, own: pull(M))

    def ask(self, rows: Rows) -> Asked:
        """Return covariances of differences with the utilities of training; without features these utilities."""
        if self.items.kernel is None:
            direct = self.items.direct(rows)
            return Asked(direct, None, direct.total)
        Q = rows.extended(self.items.cross(rows.items))
        return Asked(Combined(Q, rows.operator()), None, self.variance(rows))

    def variance(self, rows: Rows) -> FloatArray:
        """Return the prior variances of differences."""
        one, other, shared = self.items.ends(rows)
        return np.asarray(np.maximum(one + other - 2 * shared, 0.0))

    def means(self, items: Items, a: FloatArray) -> FloatArray:
        """Return differences of the mean utilities of all items."""
        f = self.items.cross(items) @ a
        return np.asarray(f[:, None] - f)

    def covariance(self, rows: Rows) -> FloatArray:
        """Return the prior covariance of differences."""
        G: Any = self.items.extended(rows)
        A = rows.operator()
        return np.asarray(A @ (A @ G).T)


# --- kernels by name, and where a search starts -----------------------------------------------------------------------


def start_kernel(owner: str, kernel: Any, items: Any, unit: float = 1.0, *, parameter: str = "kernel") -> Any:
    """Return the kernel to start from: a default, or the given one with bounds where it has none of its own.

    ``unit`` is the unit of utilities, squared, which variances are multiples of; messages call the kernel
    ``parameter``.

    A length scale is between a twentieth of the typical distance of two items and twenty times their largest (per
    feature: of its range): below, all items are unrelated; above, the kernel is linear.

    Examples
    --------
    >>> start_kernel("PreferenceGP", "rbf", np.array([[0.0], [2.0]]))
    1**2 * RBF(length_scale=1.41)
    """
    given = is_precomputed(kernel)
    if given and parameter == "judge_kernel":
        raise ValueError(f"{owner}: {parameter} is precomputed, but judges have features, or names alone.")
    typical, largest, spread, extent = _sizes_of_given(items) if given else _sizes(owner, items)
    if kernel is None or isinstance(kernel, str):
        kernel = _named_kernel("rbf" if kernel is None else kernel, typical, spread, unit)
    check_kernel(owner, kernel, parameter)
    changed: dict[str, Any] = {}
    for name, value in kernel.get_params().items():
        if not name.endswith("_bounds") or isinstance(value, str) or np.shape(value) != (2,):
            continue
        if tuple(np.asarray(value, dtype=float)) != DEFAULT_BOUNDS:
            continue
        what = name.removesuffix("_bounds")
        if what.endswith("length_scale"):
            if np.ndim(kernel.get_params()[what]) == 1 and np.size(kernel.get_params()[what]) == extent.shape[0]:
                changed[name] = np.column_stack([0.05 * spread, 20 * extent * np.sqrt(extent.shape[0])])
            else:
                changed[name] = (0.05 * typical, 20 * largest)
        elif what.endswith("constant_value"):
            changed[name] = VARIANCE[0] * unit, VARIANCE[1] * unit
    return clone(kernel).set_params(**changed) if changed else kernel


def _named_kernel(name: str, typical: float, spread: FloatArray, unit: float) -> Any:
    """Return a variance times the kernel of a name, in the units of the items."""
    if name == "linear":
        return _variance(typical, unit) * DotProduct(0.0, "fixed")
    if name == NAME:
        return _variance(typical, unit) * Precomputed()
    if name == "ard":
        return ConstantKernel(unit) * RBF(spread * np.sqrt(2 * spread.shape[0]))
    return ConstantKernel(unit) * RADIAL[name](typical)


def _variance(typical: float, unit: float) -> Any:
    """Return the variance that a kernel is multiplied by whose values grow with the distances of items."""
    # two items at the typical distance differ as they do under an "rbf": 2 (1 - exp(-1/2)) = 0.79 variances
    per = unit * 2 * (1 - np.exp(-0.5)) / typical**2
    return ConstantKernel(per, (VARIANCE[0] * per, VARIANCE[1] * per))


def check_kernel(owner: str, kernel: Any, parameter: str) -> None:
    """Refuse kernels that cannot be the covariance of utilities, and parameters whose logarithms do not exist."""
    if isinstance(kernel, type):
        raise TypeError(f"{owner}: {parameter} is the class {kernel.__name__}; pass an object, {kernel.__name__}(...).")
    if isinstance(kernel, CompoundKernel):
        raise TypeError(
            f"{owner}: {parameter} is a CompoundKernel, several kernels at once. Use a sum or a product of kernels."
        )
    for part in kernel_parts(kernel):
        if isinstance(part, WhiteKernel):
            cure = " For effects of items beyond their features use own_effect=True (PreferenceGP)."
            raise ValueError(
                f"{owner}: {parameter} has a WhiteKernel, which adds noise to every observation, but outcomes already "
                f"have noise.{cure if parameter == 'kernel' else ' Leave it out.'}"
            )
        if getattr(part, "metric", None) == "precomputed":
            raise ValueError(
                f'{owner}: {parameter} is PairwiseKernel(metric="precomputed"). Use "precomputed", or Precomputed() of '
                "preflearn.kernels as a part of another kernel."
            )
        if part.requires_vector_input and is_precomputed(kernel):
            raise ValueError(
                f"{owner}: {parameter} joins a kernel between features ({part}) to a precomputed one, and there is one "
                "table. Add up the values beforehand, K + gram(kernel, X), or use one of the two."
            )
    _check_values(owner, kernel, parameter)


def _check_values(owner: str, kernel: Any, parameter: str) -> None:
    given = kernel.get_params()
    for name, value in given.items():
        if name.endswith("_bounds") and not (isinstance(value, str) and value == "fixed"):
            bounds = _numbers(value)
            low, high = (
                (bounds[..., 0], bounds[..., 1])
                if bounds.shape[-1:] == (2,) and bounds.size
                else (np.full(1, np.nan),) * 2
            )
            if not ((low > 0) & (low <= high) & (high < np.inf)).all():
                shown = value.tolist() if isinstance(value, np.ndarray) else value
                raise ValueError(
                    f"{owner}: bounds of {name.removesuffix('_bounds')} of {parameter} are {shown!r}; they must be "
                    'pairs (low, high) of positive finite numbers, or "fixed".'
                )
        elif name.rpartition("__")[2] in ("nu", "exponent"):
            number = _numbers(value)
            if number.ndim or not number > 0:
                raise ValueError(f"{owner}: {name} of {parameter} is {value!r}; it must be a positive number.")
    for free in kernel.hyperparameters:
        value = given[free.name]
        values = _numbers(value)
        if not ((values >= 0) & (values < np.inf)).all() or not (free.fixed or values.all()):
            shown = value.tolist() if isinstance(value, np.ndarray) else value
            raise ValueError(f"{owner}: {free.name} of {parameter} is {shown!r}; it must be positive and finite.")


def _numbers(value: Any) -> FloatArray:
    """Return a value as real numbers, NaN where it is something else."""
    try:
        return np.asarray(np.nan if value is None or isinstance(value, str) else value, dtype=np.float64)
    except (TypeError, ValueError):
        return np.full((), np.nan)


def _sizes_of_given(items: Any) -> tuple[float, float, FloatArray, FloatArray]:
    """Return the same of items of a kernel matrix, which has no features: distances are those between functions."""
    K = items.values()
    # the mean of |x - x'|² = k(x, x) + k(x', x') - 2 k(x, x')
    typical = float(np.sqrt(max(2 * (np.diagonal(K).mean() - K.mean()), 0.0))) or 1.0
    return typical, typical, np.ones(1), np.ones(1)


def _sizes(owner: str, items: Any) -> tuple[float, float, FloatArray, FloatArray]:
    """Return typical and largest distance of two items, and the deviation and range of every feature.

    Of bags these are distances of points, every bag counting the same.
    """
    given, n_items = as_items(items), items.shape[0]
    share = None if given.one_row_each else given.point_weights(np.full(n_items, 1 / n_items))
    items = given.points
    size = float(abs(items).max()) if items.shape[1] else 0.0
    if size > 1e100:
        raise DataError(code="features-overflow", owner=owner).says(
            f"features reach {size:.0e}, whose squares overflow",
            "Scale them, for example by OnItems(StandardScaler()), or take logarithms",
        )
    if hasattr(items, "tocsc"):
        mean = np.asarray(items.mean(axis=0)).ravel()
        square = np.asarray(items.multiply(items).mean(axis=0)).ravel()
        variance = np.maximum(square - mean**2, 0.0)
        extent = np.asarray((items.max(axis=0) - items.min(axis=0)).todense()).ravel()
    else:
        variance = items.var(axis=0) if share is None else share @ np.square(items - share @ items)
        extent = np.ptp(items, axis=0)
        variance = np.where(extent > 0, variance, 0.0)
    spread = np.where(variance > 0, np.sqrt(variance), 1.0)
    extent = np.where(extent > 0, extent, 1.0)
    typical = float(np.sqrt(2 * variance.sum())) or 1.0
    return typical, max(float(np.sqrt((extent[variance > 0] ** 2).sum())), typical), spread, extent


def length_scales(kernel: Any, n_features: int) -> FloatArray | None:
    """Return the length scale of every feature, if the kernel has exactly one part with length scales."""
    found = [part for part in kernel_parts(kernel) if hasattr(part, "length_scale")]
    if len(found) != 1:
        return None
    return np.asarray(np.broadcast_to(np.asarray(found[0].length_scale, dtype=np.float64), (n_features,)))
