"""The kernel of a Gaussian process over items: defaults and bounds tied to the distances between the items."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, CompoundKernel, ConstantKernel, Kernel, WhiteKernel

from preflearn.exceptions import DataError
from preflearn.items import as_items
from preflearn.operators import FloatArray

__all__ = ["check_kernel", "length_scales", "start_kernel"]

UNTOLD = (1e-5, 1e5)  # scikit-learn's default bounds: nobody has said anything about this parameter
VARIANCE = (1e-4, 1e4)  # of utilities, in units of the noise


def start_kernel(owner: str, kernel: Any, items: Any, unit: float = 1.0, *, parameter: str = "kernel") -> Any:
    """Return the kernel to start from: a default, or the given one with bounds where it has none of its own.

    ``unit`` is the unit of utilities, squared, which variances are multiples of; messages call the kernel
    ``parameter``.

    A length scale is between a twentieth of the typical distance of two items and twenty times their largest (per
    feature: of its range): below, all items are unrelated; above, the kernel is linear.
    """
    typical, largest, spread, extent = _sizes(owner, items)
    if kernel is None or isinstance(kernel, str):
        ard = kernel == "ard"
        kernel = ConstantKernel(unit) * RBF(spread * np.sqrt(2 * spread.shape[0]) if ard else typical)
    check_kernel(owner, kernel, parameter)
    changed: dict[str, Any] = {}
    for name, value in kernel.get_params().items():
        if not name.endswith("_bounds") or isinstance(value, str) or np.shape(value) != (2,):
            continue
        if tuple(np.asarray(value, dtype=float)) != UNTOLD:
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


def check_kernel(owner: str, kernel: Any, parameter: str) -> None:
    """Refuse kernels that cannot be the covariance of utilities, and parameters whose logarithms do not exist."""
    if isinstance(kernel, type):
        raise TypeError(f"{owner}: {parameter} is the class {kernel.__name__}; pass an object, {kernel.__name__}(...).")
    if isinstance(kernel, CompoundKernel):
        raise TypeError(
            f"{owner}: {parameter} is a CompoundKernel, several kernels at once. Use a sum or a product of kernels."
        )
    for part in _parts(kernel):
        if isinstance(part, WhiteKernel):
            cure = " For what an item has beside its features use own_effect=True (PreferenceGP)."
            raise ValueError(
                f"{owner}: {parameter} has a WhiteKernel, noise that every observation has anew; outcomes have noise "
                f"of their own.{cure if parameter == 'kernel' else ' Leave it out.'}"
            )
        if getattr(part, "metric", None) == "precomputed":
            raise ValueError(
                f"{owner}: {parameter} is precomputed, and a kernel between features is wanted. Give the features "
                "themselves, or make a table whose inner products are the kernel's values and use DotProduct()."
            )
    _check_values(owner, kernel, parameter)


def _check_values(owner: str, kernel: Any, parameter: str) -> None:
    given = kernel.get_params()
    for name, value in given.items():
        if name.endswith("_bounds") and not (isinstance(value, str) and value == "fixed"):
            bounds = _numbers(value)
            known = bounds is not None and bounds.size > 0 and bounds.shape[-1:] == (2,)
            low, high = bounds.reshape(-1, 2).T if bounds is not None and known else (np.zeros(1), np.zeros(1))
            if not (np.isfinite([low, high]).all() and (low > 0).all() and (low <= high).all()):
                shown = value.tolist() if isinstance(value, np.ndarray) else value
                raise ValueError(
                    f"{owner}: bounds of {name.removesuffix('_bounds')} of {parameter} are {shown!r}; they must be "
                    'pairs (low, high) of positive finite numbers, or "fixed".'
                )
        elif name.rpartition("__")[2] in ("nu", "exponent"):
            number = _numbers(value)
            if number is None or number.ndim or not number > 0:
                raise ValueError(f"{owner}: {name} of {parameter} is {value!r}; it must be a positive number.")
    for free in kernel.hyperparameters:
        value = given[free.name]
        values = _numbers(value)
        if (
            values is None
            or not np.isfinite(values).all()
            or (values < 0).any()
            or (not free.fixed and not values.all())
        ):
            shown = value if values is None else values.tolist()
            raise ValueError(f"{owner}: {free.name} of {parameter} is {shown!r}; it must be positive and finite.")


def _numbers(value: Any) -> FloatArray | None:
    """Return a value as real numbers, or None where it is something else; NaN stays."""
    try:
        return np.asarray(value, dtype=np.float64) if value is not None and not isinstance(value, str) else None
    except (TypeError, ValueError):
        return None


def _sizes(owner: str, items: Any) -> tuple[float, float, FloatArray, FloatArray]:
    """Return typical and largest distance of two items, and the deviation and range of every feature.

    Of bags these are distances of points, every bag counting the same.
    """
    given, n_items = as_items(items), items.shape[0]
    share = None if given.one_row_each else given.point_weights(np.full(n_items, 1 / n_items))
    items = given.points
    size = float(abs(items).max()) if items.shape[1] else 0.0
    if size > 1e100:
        raise DataError(
            f"{owner}: features reach {size:.0e}, whose squares overflow. Scale them, for example by "
            "OnItems(StandardScaler()), or take logarithms."
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
    found = [part for part in _parts(kernel) if hasattr(part, "length_scale")]
    if len(found) != 1:
        return None
    return np.asarray(np.broadcast_to(np.asarray(found[0].length_scale, dtype=np.float64), (n_features,)))


def _parts(kernel: Any) -> list[Any]:
    inner = [value for value in kernel.get_params(deep=False).values() if isinstance(value, Kernel)]
    return [part for one in inner for part in _parts(one)] if inner else [kernel]
