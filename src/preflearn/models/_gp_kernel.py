"""The kernel of a Gaussian process over items: defaults and bounds tied to the distances between the items."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Kernel

from preflearn.operators import FloatArray

__all__ = ["length_scales", "start_kernel"]

UNTOLD = (1e-5, 1e5)  # scikit-learn's default bounds: nobody has said anything about this parameter
VARIANCE = (1e-4, 1e4)  # of utilities, in units of the noise


def start_kernel(kernel: Any, items: Any) -> Any:
    """Return the kernel to start from: a default, or the given one with bounds where it has none of its own.

    A length scale is between a twentieth of the typical distance of two items and twenty times their largest (per
    feature: of its range): below, all items are unrelated; above, the kernel is linear.
    """
    typical, largest, spread, extent = _sizes(items)
    if kernel is None or kernel == "rbf":
        kernel = ConstantKernel() * RBF(typical)
    elif kernel == "ard":
        kernel = ConstantKernel() * RBF(spread * np.sqrt(2 * spread.shape[0]))
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
            changed[name] = VARIANCE
    return clone(kernel).set_params(**changed) if changed else kernel


def _sizes(items: Any) -> tuple[float, float, FloatArray, FloatArray]:
    """Return typical and largest distance of two items, and the deviation and range of every feature."""
    if hasattr(items, "tocsc"):
        mean = np.asarray(items.mean(axis=0)).ravel()
        square = np.asarray(items.multiply(items).mean(axis=0)).ravel()
        variance = np.maximum(square - mean**2, 0.0)
        extent = np.asarray((items.max(axis=0) - items.min(axis=0)).todense()).ravel()
    else:
        variance, extent = items.var(axis=0), np.ptp(items, axis=0)
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
