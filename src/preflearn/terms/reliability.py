"""How much each judge's answers depend on the items: z = s_judge x.

A reliability of 1 is that of the judges whom the scale of utilities is made for; near 0 somebody answers by chance, and
below 0 the contrary of what others see. It multiplies the sum of all other terms. Judges are careful, careless or
contrary: a mixture of normal distributions around 1, 0 and -1, whose shares and whose deviation are learned.

Utilities twice as large with reliabilities half as large say the same about every outcome, so that the size of both
rests on what is believed of reliabilities alone. The most probable reliabilities are no answer to this: there is more
room for large ones, and a deviation that is too large, or too small, shifts the size of everything. So what is kept of
each judge is a distribution, and not a point: s has the mean and the deviation that follow from the judge's outcomes
given what all lead to expect of the items (`Reliability.believed`), and items are learned from outcomes averaged over
it (`Reliability.observed`), in turns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax

from preflearn.exceptions import DataError
from preflearn.terms._contract import Asked, FloatArray, Given, IntArray, Items, Own, Parameters, Rows, Seen

__all__ = ["Reliability", "ReliabilityError"]

# Careful, careless and contrary judges: their reliability, and how many judges of each have been seen at first.
CENTRES, BEFORE = np.array([1.0, 0.0, -1.0]), np.array([1.0, 1.0, 0.5])
SURE = 4.0  # judges who have shown the usual deviation before
START = 0.5  # deviation at which a search starts: anybody may still be anything
DEVIATIONS = np.geomspace(0.04, 0.6, 8)  # of the judges of a kind: with larger ones there would be no kinds
FACTORS = (0.8, 1.25)  # bounds of a change of all reliabilities at once: what is expanded around s holds near it
UNKNOWN = 1e-3  # share of what is known of a reliability that is then taken to be known before
STEPS, LONGEST, SMALL = 30, 0.5, 1e-7  # Newton's steps to the most probable reliability of each kind, and their length
HALVINGS = 12
FIRST_SHARES = (0.8, 0.1, 0.1)  # of the kinds, where a search starts
NODES_OF_A_KIND = 15  # of an integral over the reliabilities of a kind
LARGEST = 10.0  # deviation that a file may speak of


class Kinds(NamedTuple):
    """log p(outcomes | s) of every judge around its most probable s of each kind: A + B s - I s²/2, all (judges, 3)."""

    s: FloatArray
    A: FloatArray
    B: FloatArray
    I: FloatArray

    def evidence(self, deviation: float, factor: float = 1.0) -> FloatArray:
        """Return the log evidence of every kind, if all of x were divided by ``factor``."""
        B, information = self.B / factor, self.I / factor**2
        b, room = B - information * CENTRES, 1.0 + information * deviation**2
        start = self.A + B * CENTRES - 0.5 * information * CENTRES**2
        return np.asarray(start + 0.5 * (deviation * b) ** 2 / room - 0.5 * np.log(room))


@dataclass(frozen=True)
class Reliability:
    """s of every judge; outcomes of nobody in particular (judge -1) have 1."""

    family: ClassVar[str] = "judge"  # of groups, as terms of judges call it
    judge: IntArray  # (m,): of each outcome
    value: FloatArray  # (n_judges,): means
    usual: float  # deviation of the judges of a kind that is expected at first
    spread: FloatArray | None = None  # (n_judges,): deviations given all other latents; None: value is taken for known
    before: FloatArray | None = None  # (n_judges,): those of a normal prior that leads to these; None: `deviation`
    deviation: float = START  # of the judges of a kind
    shares: tuple[float, ...] = FIRST_SHARES  # of the kinds
    size: float = 0.0  # deviation of the logarithm of the factor that all reliabilities have in common

    @property
    def scale(self) -> FloatArray:
        """The mean reliability behind every outcome."""
        return np.asarray(np.append(self.value, 1.0)[self.judge])

    def observed(self, seen: Any) -> Any:
        """Return outcomes with reliabilities: where these have deviations, half of each at s + δ and half at s - δ.

        To second order in δ this is the average over s.
        """
        if self.spread is None:
            return seen.scaled(self.scale)
        away = np.append(self.spread, 0.0)[self.judge]
        return replace(
            seen,
            y=np.tile(seen.y, 2),
            weight=np.tile(0.5 * seen.weight, 2),
            cell=np.tile(seen.cell, 2),
            scale=np.concatenate([self.scale + away, self.scale - away]),
        )

    def anew(self) -> Reliability:
        """Return the same judges as a search starts from them: anybody may still be anything."""
        return replace(self.at(self.value), deviation=START, shares=FIRST_SHARES)

    def at(self, value: FloatArray) -> Reliability:
        """Return other reliabilities of the same judges, which are taken for known."""
        return replace(self, value=value, spread=None, before=None, size=0.0)

    @property
    def state(self) -> FloatArray:
        """What is believed of the judges, as numbers (k, n_judges)."""
        if self.spread is None or self.before is None:
            return self.value[None]
        of_all = np.tile([[self.size], [self.deviation], *([share] for share in self.shares)], len(self.value))
        return np.vstack([self.value, self.spread, self.before, of_all])

    def again(self, state: FloatArray) -> Reliability:
        """Return the same judges with a `state`; DataError where it is none of theirs."""
        n = len(self.value)
        if state.shape not in ((1, n), (5 + len(CENTRES), n)):
            raise DataError("the reliabilities are not those of the judges")
        if len(state) == 1:
            return self.at(state[0])
        (size, deviation, *shares), spread, before = state[3:, 0].tolist(), state[1], state[2]
        proper = spread.min() >= 0 and before.min() > 0 and 0 <= size <= LARGEST and 0 < deviation <= LARGEST
        if not (proper and np.ptp(state[3:], axis=1).max() == 0 and min(shares) >= 0 and abs(sum(shares) - 1) < 1e-6):
            raise DataError("what is believed of the reliabilities is not possible")
        new = replace(self.at(state[0]), spread=spread, before=before, size=size)
        return replace(new, deviation=deviation, shares=tuple(shares))

    def taken_over(self, judge: IntArray, place: IntArray) -> Reliability:
        """Return the same for outcomes of other judges; ``place`` is where each is among these, -1 of new ones."""
        if self.spread is None or self.before is None:
            return replace(self.at(np.append(self.value, 1.0)[place]), judge=judge)
        mean = float(self.shares @ CENTRES)  # of new ones: anybody may be of any kind
        wide = float(np.sqrt(self.deviation**2 + self.shares @ CENTRES**2 - mean**2))
        new = replace(self.at(np.append(self.value, mean)[place]), judge=judge)
        spread, before = (np.append(part, wide)[place] for part in (self.spread, self.before))
        return replace(new, spread=spread, before=before, size=self.size)

    def error(self, x: FloatArray, centre: Any) -> ReliabilityError:
        """Return what is not known of reliabilities as a term, at what rows see in a solution, ``centre``."""
        before = np.full(len(self.value), self.deviation) if self.before is None else self.before
        # what the priors of s and x leave of a common factor, if the variance of x were known
        within = 1.0 / (float(centre.posterior.u @ centre.posterior.u) + float(np.sum((self.value / before) ** 2)))
        return ReliabilityError(x, self.judge, before, float(np.sqrt(max(self.size**2 - within, 0.0))), centre)

    def log_prior(self) -> tuple[float, FloatArray]:
        """Return the logarithm of the prior's density, but for a constant, and its gradient."""
        away = (self.value[:, None] - CENTRES) / self.deviation
        parts = np.log(self.shares) - 0.5 * away**2
        total = logsumexp(parts, axis=1)
        share = np.exp(parts - total[:, None])
        return float(total.sum()), -np.asarray((share * away).sum(axis=1)) / self.deviation

    def pull(self, by_scale: FloatArray) -> FloatArray:
        """Return derivatives by the reliabilities from those by the s of every outcome."""
        n = self.value.shape[0]
        return np.asarray(np.bincount(np.where(self.judge < 0, n, self.judge), by_scale, minlength=n + 1)[:n])

    def believed(
        self, seen: Any, x: FloatArray, variance: FloatArray, likelihood: Any, *, free: bool
    ) -> tuple[Reliability, float]:
        """Return what is believed of reliabilities where every outcome sees N(x, variance), independently of s.

        Shares and the deviation of kinds maximise the evidence of the judges' outcomes, with their priors. Where the
        size of x is ``free`` so does a factor of all reliabilities, which x is to be divided by, and which is returned
        beside: this gets in one step where turns of small ones would lead.
        """
        half = np.sqrt(np.maximum(variance, 0.0))
        ends = np.concatenate([x + half, x - half])
        # expanded where a wide prior has its mode: around that of a narrow one outcomes may say next to nothing of s
        kinds = self._kinds(seen, ends, likelihood, self.value[:, None] + 0.0 * CENTRES, START)
        free = free and bool((self.judge >= 0).all())
        deviation, shares, factor, size = _averaged(kinds, self.usual, self.shares, free=free)
        kinds = self._kinds(seen, ends / factor, likelihood, factor * kinds.s, deviation)
        away = kinds.s - CENTRES
        # density at the most probable s of a kind times its width
        log_share = np.log(shares) + kinds.A + kinds.B * kinds.s - 0.5 * kinds.I * kinds.s**2
        share = softmax(log_share - 0.5 * (away / deviation) ** 2 - 0.5 * np.log1p(kinds.I * deviation**2), axis=1)
        value = (share * kinds.s).sum(axis=1)
        spread = share * (1.0 / (kinds.I + deviation**-2) + np.square(kinds.s - value[:, None]))
        precision = 1.0 / spread.sum(axis=1)
        # of a normal prior; where it is not known which kind somebody is there is none that is wide enough
        before = np.maximum(precision - (share * kinds.I).sum(axis=1), UNKNOWN * precision)
        new = replace(self, value=value, spread=precision**-0.5, before=before**-0.5, deviation=deviation)
        return replace(new, shares=tuple(shares.tolist()), size=size), factor

    def log_evidence(self, seen: Any, x: FloatArray, variance: FloatArray, likelihood: Any) -> float:
        """Return what to add to the evidence given these distributions to get that of outcomes and judges together.

        Over judges, log ∫ p(s) exp(E log p(outcomes | s, x)) ds less the E log p(outcomes) that is in it already; the
        sum is a lower bound of the log evidence. 0 where reliabilities are taken for known.
        """
        if self.spread is None:
            return 0.0
        half = np.sqrt(np.maximum(variance, 0.0))
        ends, y, weight = np.concatenate([x + half, x - half]), np.tile(seen.y, 2), np.tile(0.5 * seen.weight, 2)
        judge = np.tile(self.judge, 2)

        def expected(s: FloatArray) -> FloatArray:
            density = likelihood.log_density(y, np.append(s, 1.0)[judge] * ends).value
            return np.asarray(np.bincount(judge[judge >= 0], (weight * density)[judge >= 0], len(s)))

        points, mass = np.polynomial.hermite_e.hermegauss(NODES_OF_A_KIND)
        parts = [
            np.log(share * w / mass.sum()) + expected(np.full(len(self.value), centre + self.deviation * t))
            for share, centre in zip(self.shares, CENTRES, strict=True)
            for t, w in zip(points, mass, strict=True)
        ]
        counted = 0.5 * (expected(self.value + self.spread) + expected(self.value - self.spread))
        return float((logsumexp(parts, axis=0) - counted).sum())

    def _kinds(self, seen: Any, ends: FloatArray, likelihood: Any, s: FloatArray, deviation: float) -> Kinds:
        """Return the most probable s of every kind by Newton's method; half of each outcome sees each of its ends."""
        y, weight, judge = np.tile(seen.y, 2), np.tile(0.5 * seen.weight, 2), np.tile(self.judge, 2)
        n, found = self.value.shape[0], []
        place = np.where(judge < 0, n, judge)

        def sums(t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
            d = likelihood.log_density(y, np.append(t, 1.0)[place] * ends)
            value, first, second = (
                np.asarray(np.bincount(place, weight * part, minlength=n + 1)[:n], dtype=np.float64)
                for part in (d.value, d.first * ends, -d.second * ends**2)
            )
            return value, first, np.maximum(second, 0.0)

        for k, centre in enumerate(CENTRES):
            t = s[:, k].copy()
            value, first, information = sums(t)
            for _ in range(STEPS):
                step = (first - (t - centre) / deviation**2) / (information + deviation**-2)
                if np.abs(step).max(initial=0.0) <= SMALL:
                    break
                step = np.clip(step, -LONGEST, LONGEST)
                height = value - 0.5 * ((t - centre) / deviation) ** 2
                for _ in range(HALVINGS):  # of the steps of those judges for whom it leads down
                    value, first, information = sums(t + step)
                    lower = value - 0.5 * ((t + step - centre) / deviation) ** 2 < height - 1e-9 * (1 + np.abs(height))
                    if not lower.any():
                        break
                    step = np.where(lower, 0.5 * step, step)
                t = t + step
            slope = first + information * t
            found.append((t, value - first * t - 0.5 * information * t**2, slope, information))
        return Kinds(*(np.stack(part, axis=1) for part in zip(*found, strict=True)))


def _averaged(
    kinds: Kinds, usual: float, shares: tuple[float, ...], *, free: bool
) -> tuple[float, FloatArray, float, float]:
    """Return the deviation, the shares, the factor of x and the deviation of its logarithm, from all judges' evidence.

    With some judges the deviation is hardly known, and the factor depends on it: both are means over a grid of the
    first, with the others at their most probable and integrated by Laplace's method. A factor that is not free is 1.
    """
    first = 0 if free else 1

    def lost(at: FloatArray, d: float) -> float:
        at = np.append(np.zeros(first), at)
        log_shares = log_softmax(np.append(at[1:], 0.0))
        total = logsumexp(log_shares + kinds.evidence(d, float(np.exp(at[0]))), axis=1).sum()
        return -float(total + BEFORE @ log_shares - SURE * (np.log(d) + 0.5 * (usual / d) ** 2))

    bounds = np.array([np.log(FACTORS), (-9.0, 9.0), (-9.0, 9.0)])[first:]
    start = np.append(0.0, np.log(shares[:-1]) - np.log(shares[-1]))[first:]
    rows = []
    for d in DEVIATIONS:
        here: Any = partial(lost, d=float(d))
        at = minimize(here, np.clip(start, *bounds.T), method="L-BFGS-B", bounds=bounds.tolist()).x
        values, vectors = np.linalg.eigh(_curvature(here, at))
        values = np.maximum(values, 1.0)  # a flat direction has deviation 1
        variance = float(np.sum(vectors[0] ** 2 / values)) if free else 0.0
        log_weight = -here(at) - 0.5 * float(np.log(values).sum())
        rows.append([log_weight, np.log(d), *np.append(np.zeros(first), at), variance])
    table = np.array(rows)
    weight = softmax(table[:, 0])
    mean = weight @ table
    size = np.sqrt(mean[-1] + weight @ np.square(table[:, 2] - mean[2]))
    return float(np.exp(mean[1])), softmax(np.append(mean[3:-1], 0.0)), float(np.exp(mean[2])), float(size)


def _curvature(lost: Any, at: FloatArray, h: float = 0.01) -> FloatArray:
    """Return second derivatives by differences."""
    n = len(at)
    step = h * np.eye(n)
    H = np.empty((n, n))
    for i in range(n):
        for k in range(i + 1):
            a, b = step[i], step[k]
            corners = lost(at + a + b) - lost(at + a - b) - lost(at - a + b) + lost(at - a - b)
            H[i, k] = H[k, i] = corners / (4 * h**2)
    return H


@dataclass(frozen=True)
class ReliabilityError:
    """What is not known of reliabilities, to first order: z = s x + (x at s) δ_judge, δ_j ~ N(0, deviation_j²).

    Beside it, x (1 - γ) with s (1 + γ), γ ~ N(0, size²), of which rows of training see nothing.

    A term like others, for the posterior at learned reliabilities: what is believed of items is then as uncertain as
    their judges are.
    """

    x: FloatArray  # (m,): what each row sees at the learned reliabilities
    judge: IntArray  # (m,): -1 for nobody in particular
    deviation: FloatArray  # (n_judges,): of each before its outcomes
    size: float  # deviation of the logarithm of the common size of x, of which outcomes say nothing
    centre: Any  # the solution at the learned reliabilities

    @property
    def parameters(self) -> Parameters:
        """None is free."""
        return Parameters.none()

    @property
    def parts(self) -> dict[str, Any]:
        """What the term is made of."""
        return {"reliability": self}

    def with_theta(self, theta: FloatArray) -> ReliabilityError:
        """Return the same term."""
        return self

    def seen(self, rows: Rows) -> Seen:
        """Return x, in the row's judge."""
        known = np.append(self.deviation, 0.0)[self.judge] * self.x  # in units of the deviation all judges are alike
        # zeros are entries too: every row belongs to a judge
        m = len(known)
        column = sp.csr_array((known, np.zeros(m, dtype=np.intp), np.arange(m + 1)), shape=(m, 1))
        return Seen(None, column, np.maximum(self.judge, 0), Reliability.family)

    def prior(self) -> Given:
        """Return the variance of every judge, in units of its own."""
        return Given(None, lambda sets: np.ones((*sets.shape, 1)), lambda M, own: np.zeros(0))

    def ask(self, rows: Rows) -> Asked:
        """Return what is not known of the size: answers are about judges of known reliability."""
        return Asked(None, None, np.square(self._sized(rows)))

    def about(self) -> Own:
        """Return the question for δ of every judge."""
        judges = np.arange(len(self.deviation))
        return Own(judges, judges, self.deviation[:, None])

    def means(self, items: Items, a: FloatArray) -> float:
        """Return nothing: the term is not about items."""
        return 0.0

    def covariance(self, rows: Rows) -> FloatArray:
        """Return that of the size."""
        sized = self._sized(rows)
        return np.outer(sized, sized)

    def _sized(self, rows: Rows) -> FloatArray:
        if not self.size:
            return np.zeros(len(rows))
        mean: FloatArray = self.centre.posterior.moments(self.centre.problem.query(rows))[0]
        return self.size * mean
