"""What a likelihood answers: how an outcome depends on a latent difference.

An outcome y says who was preferred (positive: first, negative: second, 0: tie; any real margin for `Gaussian`), and
z is the latent difference f_first - f_second that it depends on. Inference asks three questions, all elementwise:

    log_density   log p(y | z) and its derivatives in z                     Newton's steps, the Laplace evidence
    smoothed      Z = ∫ p(y | z)ᵃ N(z; mean, variance) dz and its moments   expectation propagation
    probability   P(first), P(tie), P(second) for z ~ N(mean, variance)     prediction

The power a is 1 but for comparisons that weigh less than one. Likelihoods see arrays only. They check their own
parameters and not the data, except in ``check_outcomes``.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]


class Derivatives(NamedTuple):
    """log p(y | z) and its first three derivatives in z, each (m,).

    Examples
    --------
    >>> from preflearn.likelihoods import Logit
    >>> Logit().log_density([1.0], [0.0]).first.tolist()
    [0.5]
    """

    value: FloatArray
    first: FloatArray
    second: FloatArray
    third: FloatArray


class Smoothed(NamedTuple):
    """log Z, its first two derivatives in the mean of z, and the tilted variance over the variance, each (m,).

    The tilted distribution p(y | z)ᵃ N(z; mean, variance) / Z has the mean ``mean + variance * first`` and the variance
    ``variance * rest``, where ``rest`` is ``1 + variance * second`` without its cancellation. The site precision of
    expectation propagation is ``-second / rest``.

    Examples
    --------
    >>> from preflearn.likelihoods import Probit
    >>> Probit().smoothed([1.0], [0.0], [1.0]).log_z.round(4).tolist()
    [-0.6931]
    """

    log_z: FloatArray
    first: FloatArray
    second: FloatArray
    rest: FloatArray


class Bend(NamedTuple):
    """Where log p(y | z) is neither straight nor settled, in units of z: what rules of integration and tables need.

    It bends about 0 and ``±place``, over lengths of about ``length`` (analytic at least as far off the real axis), and
    beyond ``±settled`` no probability changes by more than 1e-20.

    Examples
    --------
    >>> from preflearn.likelihoods import Logit
    >>> Logit(tie=0.5).bend.place
    0.5
    """

    place: float
    length: float
    settled: float


@runtime_checkable
class Likelihood(Protocol):
    """p(y | z) of an outcome y given a latent difference z.

    Log-concave in z where ``log_concave`` says so: Laplace's method asks for that, expectation propagation does not.
    Implementations are frozen dataclasses. Swapping the two sides, (y, z) to (-y, -z), changes no density.

    Examples
    --------
    >>> from preflearn.likelihoods import Likelihood, Logit
    >>> isinstance(Logit(), Likelihood)
    True
    """

    log_concave: ClassVar[bool]
    margins: ClassVar[bool]  # whether more of an outcome counts than its sign
    normal: ClassVar[bool]  # whether p(y | z) = N(y; z, noise_deviation²), which has closed forms

    @property
    def theta(self) -> FloatArray:
        """Free hyperparameters in log space, (n_theta,); empty where there are none."""

    @property
    def bounds(self) -> FloatArray:
        """Lower and upper bounds of ``theta``, (n_theta, 2)."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters whose logarithms are ``theta``."""

    @property
    def outcomes(self) -> tuple[float, ...]:
        """All outcomes of positive probability: 1 and -1, and 0 where there are ties; empty where y is continuous."""

    @property
    def noise_deviation(self) -> float:
        """Standard deviation of the noise on the difference."""

    @property
    def bend(self) -> Bend:
        """Where the curves bend, and beyond which z they are constant."""

    def with_theta(self, theta: ArrayLike) -> Likelihood:
        """Return the same likelihood with other hyperparameters."""

    def with_ties(self, tie: float) -> Likelihood:
        """Return the same likelihood with a free threshold ``tie`` for ties; itself if it has ties or knows none."""

    def in_unit(self, square: float, *, start: bool) -> Likelihood:
        """Return the same likelihood for margins of this mean square: bounds and, if ``start``, parameters.

        Itself where outcomes have no unit.
        """

    def check_outcomes(self, y: ArrayLike) -> None:
        """Raise DataError where an outcome has probability zero whatever z is."""

    def log_density(self, y: ArrayLike, z: ArrayLike) -> Derivatives:
        """Return log p(y | z) and three derivatives in z; never clamped, ``second`` <= 0 if log-concave."""

    def log_density_theta(self, y: ArrayLike, z: ArrayLike) -> list[tuple[FloatArray, FloatArray, FloatArray]]:
        """Return, for every theta, its derivative of log p, of its first and of its second derivative in z."""

    def smoothed(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None) -> Smoothed:
        """Return log Z, its first two derivatives in ``mean``, and the share of the variance that remains.

        ``rest`` is positive, and at most 1 if the likelihood is log-concave. ``power`` is a, 0 < a <= 1, (m,) or None
        for 1; here and below.
        """

    def tilted_theta(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None
    ) -> FloatArray:
        """Return the derivatives of log Z in theta, (m, n_theta)."""

    def probability(self, mean: ArrayLike, variance: ArrayLike) -> FloatArray:
        """Return P(first), P(tie), P(second) for z ~ N(mean, variance), (m, 3).

        Rows sum to 1, and changing the sign of ``mean`` swaps the outer columns bit for bit.
        """
