"""Free parameters of terms: names, kinds, values in log space and bounds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Kind", "Parameters", "constant_parameters", "kernel_parameters"]

FloatArray = NDArray[np.float64]

# What a parameter is: priors of parameters and searches go by this, and never by a name.
Kind = Literal["variance", "length scale", "shape", "share"]


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
