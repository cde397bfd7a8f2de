"""Outcomes that were written down the wrong way round, now and then."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp

from preflearn.likelihoods._contract import Bend, Derivatives, FloatArray, Likelihood, Smoothed
from preflearn.likelihoods.threshold import Probit, check_flag, is_number, to_sides
from preflearn.likelihoods.tilting import normal_nodes

IntArray = NDArray[np.intp]

_RATES = 1e-4, 0.45


@dataclass(frozen=True)
class Flipped:
    """Outcomes of another likelihood, a share of them reversed: p(y | z) = (1 - ε) p₀(y | z) + ε p₀(-y | z).

    Parameters
    ----------
    base : likelihood, default=Probit()
        Likelihood of correctly recorded outcomes: log-concave, of wins, losses and ties.
    rate : float in (0, 1/2), default=0.05
        Probability ε that an outcome is reversed, however large the difference.
    rate_fixed : bool, default=False
        Keep the rate as given instead of learning it.

    Notes
    -----
    Normal noise explains the loss of a far better item only by making all differences small; a rate of flips says that
    such a thing happens, and leaves the others alone. Probabilities stay between ε and 1 - ε, also in prediction.

    The density has a floor and is not log-concave: sites of expectation propagation may have negative precision, the
    evidence may have more than one maximum in the utilities, and Laplace's method cannot use it (``inference="ep"``).
    Cost twice the base's. Powers of it (weights below 1) are integrated numerically.

    Differences from the paper: kpcrank (2008) reverses 5 % of its outcomes and fits them by the plain probit.

    Examples
    --------
    >>> from preflearn.likelihoods import Flipped
    >>> Flipped(rate=0.125).probability([0.0, 60.0], [1.0, 1.0]).tolist()
    [[0.5, 0.0, 0.5], [0.875, 0.0, 0.125]]
    """

    log_concave: ClassVar[bool] = False
    margins: ClassVar[bool] = False
    normal: ClassVar[bool] = False

    base: Likelihood = field(default_factory=Probit)
    rate: float = 0.05
    rate_fixed: bool = False

    def __post_init__(self) -> None:
        base = self.base
        if isinstance(base, type) or not isinstance(base, Likelihood) or not (base.log_concave and base.outcomes):
            raise TypeError(f"Flipped: base is {base!r}; pass Probit(...), Logit(...) or Davidson(...).")
        check_flag("Flipped", "rate_fixed", self.rate_fixed)
        if not is_number(self.rate) or not 0 < self.rate < 0.5:
            raise ValueError(f"Flipped: rate is {self.rate!r}; it must lie between 0 and 1/2.")

    @property
    def theta(self) -> FloatArray:
        """The base's, then the logarithm of the rate where it is free."""
        return np.append(self.base.theta, [] if self.rate_fixed else [math.log(self.rate)])

    @property
    def bounds(self) -> FloatArray:
        """Bounds of ``theta``: a free rate lies between 1e-4 and 0.45."""
        own = np.empty((0, 2)) if self.rate_fixed else np.log([_RATES])
        return np.concatenate([self.base.bounds, own])

    @property
    def names(self) -> tuple[str, ...]:
        """The base's, then ``"flip rate"`` where it is free."""
        return (*self.base.names, *(() if self.rate_fixed else ("flip rate",)))

    @property
    def outcomes(self) -> tuple[float, ...]:
        """Those of the base."""
        return self.base.outcomes

    @property
    def bend(self) -> Bend:
        """That of the base; where it is settled, probabilities are 1 - ε and ε."""
        return self.base.bend

    @property
    def noise_deviation(self) -> float:
        """That of the base: flips are not noise on the difference."""
        return self.base.noise_deviation

    def with_theta(self, theta: ArrayLike) -> Self:
        """Return the same likelihood with other hyperparameters."""
        given = np.asarray(theta, dtype=np.float64)
        if given.shape != self.theta.shape:
            raise ValueError(f"Flipped: theta has shape {given.shape}; expected {self.theta.shape} for {self!r}.")
        n = self.base.theta.shape[0]
        rate = self.rate if self.rate_fixed else float(np.exp(given[n]))
        return replace(self, base=self.base.with_theta(given[:n]), rate=rate)

    def with_ties(self, tie: float) -> Self:
        """Return the same likelihood with this threshold for ties, if it has none."""
        return replace(self, base=self.base.with_ties(tie))

    def in_unit(self, square: float, *, start: bool) -> Self:
        """Return itself: outcomes that can be reversed have no unit."""
        return self

    def check_outcomes(self, y: ArrayLike) -> None:
        """Raise DataError where the base does."""
        self.base.check_outcomes(y)

    def log_density(self, y: ArrayLike, z: ArrayLike) -> Derivatives:
        """Return log p(y | z) and its first three derivatives in z; the second may be positive."""
        right, wrong = (self.base.log_density(side, z) for side in _sides(y))
        share, value = self._share(right.value, wrong.value)
        # of each part p: p'/p, p''/p, p'''/p; then of their mixture, and back to logarithms
        one, two, three = (share * a + (1 - share) * b for a, b in zip(_relative(right), _relative(wrong), strict=True))
        return Derivatives(value, one, two - one**2, three - 3 * two * one + 2 * one**3)

    def log_density_theta(self, y: ArrayLike, z: ArrayLike) -> NoReturn:
        """Refuse: only Laplace's method asks, and it needs a log-concave density."""
        raise TypeError('Flipped is not log-concave, which Laplace\'s method needs. Use inference="ep".')

    def smoothed(self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None) -> Smoothed:
        """Return log Z and its first two derivatives in ``mean``; the second may be positive."""
        plain = _of_ties(y, power)
        right, wrong = (self.base.smoothed(side, mean, variance, plain) for side in _sides(y))
        share, log_z = self._share(right.log_z, wrong.log_z)
        # moments of a mixture of two: the spread of the first derivatives adds to the mean of the second
        first = share * right.first + (1 - share) * wrong.first
        spread = share * (1 - share) * np.square(right.first - wrong.first)
        second = share * right.second + (1 - share) * wrong.second + spread
        rest = share * right.rest + (1 - share) * wrong.rest + np.asarray(variance) * spread
        found = np.stack([log_z, first, second, rest])
        broken, t, weight, log_z = self._powers(y, mean, variance, power)
        if broken.size:
            a, v = np.asarray(power)[broken], np.asarray(variance)[broken]
            d = self.log_density(np.asarray(y)[broken, None], t)
            score = a[:, None] * d.first
            first = (weight * score).sum(axis=1)
            second = (weight * (a[:, None] * d.second + np.square(score - first[:, None]))).sum(axis=1)
            found[:, broken] = log_z, first, second, 1.0 + v * second
        return Smoothed(*found)

    def tilted_theta(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None = None
    ) -> FloatArray:
        """Return the derivatives of log Z in theta, (m, n_theta)."""
        plain = _of_ties(y, power)
        right, wrong = (self.base.smoothed(side, mean, variance, plain).log_z for side in _sides(y))
        by_base = [self.base.tilted_theta(side, mean, variance, plain).T for side in _sides(y)]
        found = self._by_theta(self._share(right, wrong)[0], *by_base)
        broken, t, weight, _ = self._powers(y, mean, variance, power)
        if broken.size:
            sides = _sides(np.asarray(y)[broken, None])
            share, _ = self._share(*(self.base.log_density(side, t).value for side in sides))
            by_base = [
                np.reshape([d[0] for d in self.base.log_density_theta(side, t)], (-1, *t.shape)) for side in sides
            ]
            mean_of = (weight * self._by_theta(share, *by_base)).sum(axis=-1)
            found[:, broken] = np.asarray(power)[broken] * mean_of
        return found.T

    def probability(self, mean: ArrayLike, variance: ArrayLike) -> FloatArray:
        """Return P(first), P(tie), P(second) as written down, flips included, for z ~ N(mean, variance), (m, 3)."""
        p = self.base.probability(mean, variance)
        low, high = np.minimum(p[..., 0], p[..., 2]), np.maximum(p[..., 0], p[..., 2])
        weaker = np.where(low == high, low, (1 - self.rate) * low + self.rate * high)
        stronger = np.where(low == high, low, 1.0 - p[..., 1] - weaker)
        return to_sides(p[..., 0] > p[..., 2], stronger, p[..., 1], weaker)

    def _share(self, right: FloatArray, wrong: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return P(written down rightly), and the logarithm of the mixture."""
        kept, turned = right + math.log1p(-self.rate), wrong + math.log(self.rate)
        total = np.logaddexp(kept, turned)
        return np.exp(kept - total), total

    def _by_theta(self, share: FloatArray, of_right: FloatArray, of_wrong: FloatArray) -> FloatArray:
        """Return the derivatives of the mixture's logarithm, (n_theta, ...), from those of its parts."""
        of_base = share * of_right + (1 - share) * of_wrong
        if self.rate_fixed:
            return of_base
        return np.concatenate([of_base, ((1 - share) - share * self.rate / (1 - self.rate))[None]])

    def _powers(
        self, y: ArrayLike, mean: ArrayLike, variance: ArrayLike, power: ArrayLike | None
    ) -> tuple[IntArray, FloatArray, FloatArray, FloatArray]:
        """Return which powers are below 1 (but of ties: the base's), nodes for these, their shares, and log Z."""
        rows = np.flatnonzero((np.asarray(1.0 if power is None else power) != 1.0) & (np.asarray(y) != 0))
        place, s, _ = self.bend
        m, v = (np.asarray(x, dtype=np.float64)[rows] / unit for x, unit in ((mean, s), (variance, s * s)))
        t, log_weight = normal_nodes(m, v, place / s)
        if not rows.size:
            return rows, t, t, m
        value = self.log_density(np.asarray(y)[rows, None], s * t).value
        log_weight += np.asarray(power, dtype=np.float64)[rows, None] * value
        log_z = logsumexp(log_weight, axis=1)
        return rows, s * t, np.exp(log_weight - log_z[:, None]), log_z


def _sides(y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    outcome = np.asarray(y, dtype=np.float64)
    return outcome, -outcome


def _of_ties(y: ArrayLike, power: ArrayLike | None) -> FloatArray | None:
    # the powers that the base is asked for: those of ties, which are the same either way round
    return None if power is None else np.where(np.asarray(y) == 0, power, 1.0)


def _relative(d: Derivatives) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return p'/p, p''/p and p'''/p of p = exp(value)."""
    return d.first, d.second + d.first**2, d.third + 3 * d.first * d.second + d.first**3
