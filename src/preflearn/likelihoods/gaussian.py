"""Gaussian margins: the outcome is the difference itself, seen through normal noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from preflearn.likelihoods._contract import Bend, Derivatives, FloatArray, Smoothed
from preflearn.likelihoods.threshold import FreeParameters, check_positive, to_sides

_LOG_2PI = math.log(2.0 * math.pi)
_BOUNDS = 1e-8, 1e8  # of the precision, for margins of about 1


@dataclass(frozen=True)
class Gaussian(FreeParameters):
    """Margin of a comparison under normal noise: p(y | z) = N(y; z, 1 / precision).

    Parameters
    ----------
    precision : float, default=1.0
        Precision v of the noise on the margin.
    fixed : bool, default=False
        Keep the precision as given instead of learning it: ``theta`` is then empty.
    precision_bounds : (float, float), default=None
        Bounds of a learned precision. None is 1e-8 to 1e8, which estimators divide by the mean square of the margins.

    Notes
    -----
    The probabilistic counterpart of RankRLS: its posterior mean is RankRLS with λ = 1/v. Everything is in closed form,
    O(m). ``probability`` is that of a noisy margin above zero, Φ(mean / sqrt(variance + 1/v)); a margin of exactly zero
    is an ordinary observation and has probability zero, so the column of ties is zero.

    Differences from the paper: none.

    References
    ----------
    KPCRank (2008), section 5.

    Examples
    --------
    >>> from preflearn.likelihoods import Gaussian
    >>> likelihood = Gaussian(precision=4.0)
    >>> likelihood.log_density([1.5], [1.0]).first.tolist()
    [2.0]
    >>> likelihood.probability([1.0], [0.0]).round(4).tolist()
    [[0.9772, 0.0, 0.0228]]
    """

    log_concave: ClassVar[bool] = True
    margins: ClassVar[bool] = True
    normal: ClassVar[bool] = True

    precision: float = 1.0
    fixed: bool = False
    precision_bounds: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        check_positive("Gaussian", "precision", self.precision)
        if self.precision_bounds is not None:
            check_positive("Gaussian", "precision_bounds[0]", self.precision_bounds[0])
            check_positive("Gaussian", "precision_bounds[1]", self.precision_bounds[1])

    def in_unit(self, square: float, *, start: bool) -> Self:
        """Return the same likelihood with bounds for margins of this mean square, if it has none of its own.

        With ``start`` also with the precision 1 / square.
        """
        bounds = self.precision_bounds or (_BOUNDS[0] / square, _BOUNDS[1] / square)
        return replace(self, precision=1.0 / square if start else self.precision, precision_bounds=bounds)

    def with_ties(self, tie: float) -> Self:
        """Return itself: a margin of zero is one among others."""
        return self

    @property
    def outcomes(self) -> tuple[float, ...]:
        """None that can be listed."""
        return ()

    @property
    def bend(self) -> Bend:
        """Nowhere in particular: log p is a parabola, and never settled."""
        return Bend(0.0, self.noise_deviation, math.inf)

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of the noise on the difference."""
        return 1.0 / math.sqrt(self.precision)

    @property
    def _free(self) -> dict[str, tuple[float, float]]:
        return {} if self.fixed else {"precision": self.precision_bounds or _BOUNDS}

    def check_outcomes(self, y: ArrayLike) -> None:
        """Accept every margin."""

    def log_density(self, y: ArrayLike, z: ArrayLike) -> Derivatives:
        """Return log N(y; z, 1/v) and its first three derivatives in z."""
        v = self.precision
        error = _float(y) - _float(z)
        value = 0.5 * (math.log(v) - _LOG_2PI - v * error * error)
        return Derivatives(value, v * error, np.full_like(error, -v), np.zeros_like(error))

    def log_density_theta(self, y: ArrayLike, z: ArrayLike) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Return d/dlog v of log p and of its first two derivatives in z, as a list over theta."""
        if self.fixed:
            return []
        v = self.precision
        error = _float(y) - _float(z)
        return [(0.5 * (1.0 - v * error * error), v * error, np.full_like(error, -v))]

    def smoothed(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None) -> Smoothed:
        """Return log Z and its first two derivatives in ``mean``."""
        a = _float(1.0 if power is None else power)
        noise = 1.0 / (a * self.precision)
        error, total, noise = np.broadcast_arrays(_float(y) - _float(mean), _float(variance) + noise, noise)
        log_z = -0.5 * (_LOG_2PI + np.log(total) + error * error / total)
        # pᵃ is a normal density of precision av, but for its height.
        log_z = log_z + 0.5 * ((a - 1.0) * (math.log(self.precision) - _LOG_2PI) - np.log(a))
        return Smoothed(log_z, error / total, -1.0 / total, noise / total)

    def tilted_theta(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None
    ) -> FloatArray:
        """Return d log Z / dlog v, (m, 1), or (m, 0) where the precision is fixed."""
        if self.fixed:
            return np.empty((np.size(mean), 0))
        a = _float(1.0 if power is None else power)
        noise = 1.0 / (a * self.precision)
        total = _float(variance) + noise
        inner = (noise / total) * (1.0 - np.square(_float(y) - _float(mean)) / total)
        return np.asarray(0.5 * (inner + a - 1.0))[:, None]

    def probability(self, mean: ArrayLike, variance: ArrayLike) -> FloatArray:
        """Return P(noisy margin > 0), 0 and P(noisy margin < 0) for z ~ N(mean, variance), (m, 3).

        Computed from the size of ``mean`` and then put to its side, so that swapping the sides is exact.
        """
        centre = _float(mean)
        weaker = ndtr(-np.abs(centre) / np.sqrt(_float(variance) + 1.0 / self.precision))
        return to_sides(centre > 0, 1.0 - weaker, np.zeros_like(weaker), weaker)


def _float(x: ArrayLike) -> FloatArray:
    return np.asarray(x, dtype=np.float64)
