"""How much each judge's answers depend on the items: z = s_judge x.

A reliability of 1 is that of the judges whom the scale of utilities is made for; near 0 somebody answers by chance, and
below 0 the contrary of what others see. It multiplies the sum of all other terms. Judges are careful, careless or
contrary: a mixture of normal distributions around 1, 0 and -1, whose shares and whose deviation are learned.

Utilities twice as large with reliabilities half as large say the same about every outcome: the size of both rests on
the prior of reliabilities alone, and the most probable ones give too large or too small a size. So each judge has a
distribution, and not a point: s has the mean and the deviation that follow from the judge's outcomes given what all
others say about the items (`Reliability.judge_evidence`, `Reliability.learned`), and items are learned from outcomes
averaged over it (`Reliability.observed`), in turns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.interpolate import CubicSpline, PPoly
from scipy.special import betaln, logsumexp, softmax, xlogy

from preflearn.exceptions import DataError
from preflearn.terms import Asked, FloatArray, Given, IntArray, Own, Rows, Seen, Term

CENTRES = np.array([1.0, 0.0, -1.0])  # reliability of careful, careless and contrary judges
# How many judges have been seen at first: careless ones and others; of these, careful and contrary ones.
CARELESS, LOOKING = (1.0, 1.5), (16.0, 2.0)
SURE = 1.0  # judges who have shown the usual deviation before: one says next to nothing
HOPELESS = -12.0  # log odds of the reverse, judges taken for what they most probably are, that need no closer look
START = 0.5  # deviation at which a search starts: anybody may still be anything
DEVIATIONS = np.geomspace(0.04, 0.6, 8)  # of the judges of a kind: with larger ones there would be no kinds
NODES = np.linspace(-3.0, 3.0, 25)  # of s, between which what outcomes say of it is a cubic
FINE = np.linspace(NODES[0], NODES[-1], 241)  # of s, where it is summed over
COMMON = 64  # directions of x, the least known ones, that are integrated over for each judge
WIDE, GRID, ZOOMS = 1.0, 9, 4  # of the logarithm of a factor of all reliabilities: first half width, points, and grids
LEARNING, LEARNED = 300, 1e-6  # steps to the most probable shares, and the change of one that ends them
ROUNDS, STEEPEST, TINY = 30, 1.5, 1e-300  # of the power method; size of a reliability to start from; not zero
ALIKE = 0.7  # cosine from which reliabilities, or these and the reverse of others, are about the same
UNKNOWN = 1e-3  # share of what is known of a reliability that is then taken to be known before
STEPS, LONGEST, SMALL = 30, 0.5, 1e-7  # Newton's steps to the most probable reliability of each kind, and their length
HALVINGS, PROMISED = 12, 0.01  # of a step that leads down; nats by which the last step may still gain, which are added
FIRST_SHARES = (0.8, 0.1, 0.1)  # of the kinds, where a search starts
NODES_OF_A_KIND = 15  # of an integral over the reliabilities of a kind
LARGEST = 10.0  # deviation that a file may speak of


class Kinds(NamedTuple):
    """log p(outcomes | s) of every judge around its most probable s of each kind: A + B s - I s²/2, all (judges, 3)."""

    s: FloatArray
    A: FloatArray
    B: FloatArray
    I: FloatArray

    def evidence(self, deviation: Any) -> FloatArray:
        """Return the log evidence of every kind, with judges of a kind so far apart."""
        b, room = self.B - self.I * CENTRES, 1.0 + self.I * deviation**2
        start = self.A + self.B * CENTRES - 0.5 * self.I * CENTRES**2
        return np.asarray(start + 0.5 * (deviation * b) ** 2 / room - 0.5 * np.log(room))


class JudgeEvidence(NamedTuple):
    """log p(outcomes of each judge | s, those of all others), but for a constant, at `NODES`: (judges, nodes).

    ``given`` is the information about s that they would have if x was known.
    """

    height: FloatArray
    given: FloatArray


@dataclass(frozen=True)
class Reliability:
    """s of every judge; outcomes of nobody in particular (judge -1) have 1."""

    family: ClassVar[str] = "judge"  # of groups, as terms of judges call it
    judge: IntArray  # (m,): of each outcome
    value: FloatArray  # (n_judges,): means
    usual: float  # deviation of the judges of a kind that is expected at first
    spread: FloatArray | None = None  # (n_judges,): deviations if x was known; None: value is taken for known
    before: FloatArray | None = None  # (n_judges,): those of a normal prior that leads to these; None: `deviation`
    deviation: float = START  # of the judges of a kind
    shares: tuple[float, ...] = FIRST_SHARES  # of the kinds
    size: float = 0.0  # deviation of the logarithm of the factor that all reliabilities have in common
    reverse: float = -np.inf  # log odds of the reverse: how much more probable the prior makes it

    @property
    def scale(self) -> FloatArray:
        """The mean reliability behind every outcome."""
        return np.asarray(np.append(self.value, 1.0)[self.judge])

    def observed(self, seen: Any) -> Any:
        """Return outcomes with reliabilities: half of each at s + δ and half at s - δ, to second order the average."""
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

    def reversed(self) -> Reliability:
        """Return the same judges if utilities were the reverse: careful ones are then contrary."""
        return replace(self, value=-self.value, shares=self.shares[::-1], reverse=-self.reverse)

    def at(self, value: FloatArray) -> Reliability:
        """Return other reliabilities of the same judges, which are taken for known."""
        new = replace(self, value=value, spread=None, before=None, size=0.0)
        return replace(new, reverse=replace(new, value=-value).log_prior()[0] - new.log_prior()[0])

    @property
    def state(self) -> FloatArray:
        """All of it as numbers (k, n_judges)."""
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
            raise DataError("the distribution of reliabilities is not possible")
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

    def agreement(self, system: Any, seen: Any, likelihood: Any) -> FloatArray:
        """Return reliabilities, of mean square 1, that raise the evidence most where utilities hardly differ.

        Near x = 0 the evidence is 1/2 s'Qs, Q = (r'A K A'r of every two judges) with r the slopes of log p(y | z) at
        z = 0: the leading eigenvector, by the power method, each round at the price of a product with the prior
        covariance. Where half of the judges are contrary a search that starts with all alike sees nothing.
        """
        plain = seen.scaled(None)
        r = plain.weight * likelihood.log_density(plain.y, np.zeros(len(plain.y))).first
        s = np.random.default_rng(0).normal(size=len(self.value))
        for _ in range(ROUNDS):
            x = system.forward(system.back(plain.sums(np.append(s, 0.0)[self.judge] * r)))
            s = self.pull(r * plain.see(x))
            s /= max(float(np.sqrt(np.mean(s**2))), TINY)
        # of the two signs the one by which most judges are careful
        return np.asarray(np.clip(s if s.sum() >= 0 else -s, -STEEPEST, STEEPEST))

    def judge_evidence(self, seen: Any, solution: Any) -> JudgeEvidence:
        """Return what every judge's outcomes say of s, given those of all others.

        The judge's own parts are taken out of the posterior of x, which has learned from them, and x is integrated over
        by Laplace's method; parts of others stay. Exact for Gaussian outcomes. Costs an eigendecomposition for each
        judge, of the cells, or the latents, that it has seen.
        """
        posterior, m = solution.posterior, len(seen.y)
        mine = self.observed(seen)
        slope = mine.scale * mine.weight * (solution.nu - solution.tau * mine.see(posterior.x))
        tau = mine.weight * solution.tau
        slope, taken, tau = (part.reshape(-1, m).sum(axis=0) for part in (slope, mine.scale**2 * tau, tau))
        found = np.zeros((len(self.value), len(NODES)))
        order = np.argsort(self.judge, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(self.judge[order])) + 1):
            if not len(rows) or self.judge[rows[0]] < 0:
                continue
            cells, which = np.unique(seen.cell[rows], return_inverse=True)
            few = posterior.curve.touched(posterior.u, cells)
            x, F = np.asarray(few.A @ few.mean)[which], _root(few.A, few.covariance)[which]
            rest, turn = np.linalg.eigh(np.eye(F.shape[1]) - (F.T * taken[rows]) @ F)  # precision of x without them
            F = F @ (turn / np.sqrt(np.maximum(rest, UNKNOWN)))
            x = x - F @ (F.T @ slope[rows])
            found[self.judge[rows[0]]] = _integrated(seen.y[rows], seen.weight[rows], x, F, solution.likelihood)
        return JudgeEvidence(found, self.pull(tau * seen.see(posterior.x) ** 2))

    def learned(self, known: JudgeEvidence, *, free: bool) -> tuple[Reliability, float]:
        """Return the reliabilities with the posterior that follows, and by which factor x should be divided.

        Shares of kinds maximise the evidence of the judges' outcomes, the deviation of kinds is averaged over, both
        with their priors. A factor of all reliabilities is learned too where the size of x is ``free``.
        """
        curve = CubicSpline(NODES, known.height, axis=1, bc_type="natural").c
        free = free and bool((self.judge >= 0).all())
        s, log_factor, wide = self.value[:, None] + 0.0 * CENTRES, 0.0, min(3.0 * self.size, WIDE) or WIDE
        for _ in range(ZOOMS if free else 1):
            logs = log_factor + wide * np.linspace(-1.0, 1.0, GRID) if free else np.zeros(1)
            # expanded at the mode of a wide prior: around that of a narrow one outcomes may say next to nothing of s
            table = np.array([_evidence(_kinds(curve, f, f * s, START), self.usual) for f in np.exp(logs)])
            weight = softmax(table)
            log_factor = float(weight.sum(axis=1) @ logs)
            size = float(np.sqrt(weight.sum(axis=1) @ np.square(logs - log_factor)))
            step = 2.0 * wide / (GRID - 1)
            if step <= size:
                break
            wide = max(3.0 * size, 1.5 * step)
        factor, deviation = float(np.exp(log_factor)), float(np.exp(weight.sum(axis=0) @ np.log(DEVIATIONS)))
        kinds = _kinds(curve, factor, factor * s, deviation)
        shares, own = (part[0] for part in _shares(kinds.evidence(deviation)[None]))
        value = (own * kinds.s).sum(axis=1)
        variance = own * (1.0 / (kinds.I + deviation**-2) + np.square(kinds.s - value[:, None]))
        precision = 1.0 / variance.sum(axis=1)
        # of a normal prior; where it is not known which kind somebody is there is none that is wide enough
        before = np.maximum(precision - (own * kinds.I).sum(axis=1), UNKNOWN * precision)
        spread = (before + known.given / factor**2) ** -0.5
        new = replace(self, value=value, spread=spread, before=before**-0.5, deviation=deviation)
        # the posterior of (u, s) and that of (-u, -s) differ in the prior of s alone
        right, _, contrary = own.sum(axis=0)
        a, b = LOOKING
        reverse = float(betaln(contrary + a, right + b) - betaln(right + a, contrary + b))
        if reverse > HOPELESS:
            surest = int(np.argmax(known.given * np.square(value)))
            kinds_of = _of_kinds(curve, factor, surest, float(value[surest]))
            one, other = (logsumexp(_over_shares(part, self.usual)) for part in (kinds_of, kinds_of[:, :, ::-1]))
            reverse = float(other - one)
        return replace(new, shares=tuple(shares.tolist()), size=size, reverse=reverse), factor

    def log_evidence(self, seen: Any, x: FloatArray, variance: FloatArray, likelihood: Any) -> float:
        """Return what to add to the evidence given these distributions to get that of outcomes and judges together.

        Over judges, log ∫ p(s) exp(E log p(outcomes | s, x)) ds less the E log p(outcomes) that is in it already: a
        lower bound. 0 where reliabilities are taken for known.
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


def alike(one: FloatArray, other: FloatArray) -> bool:
    """Return whether two sets of reliabilities, or one and the reverse of the other, are about the same."""
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return abs(float(one @ other)) >= ALIKE * size > 0.0


def _integrated(y: FloatArray, weight: FloatArray, x: FloatArray, F: FloatArray, likelihood: Any) -> FloatArray:
    """Return log E p(y | s (x + Fe)), e ~ N(0, I), by Laplace's method at every one of `NODES`."""
    k, s = len(NODES), NODES[:, None]

    def at(e: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        d = likelihood.log_density(np.tile(y, k), (s * (x + e @ F.T)).ravel())
        value, first, second = (np.reshape(part, (k, -1)) * weight for part in (d.value, d.first, d.second))
        return value.sum(axis=1) - 0.5 * (e**2).sum(axis=1), s * first @ F - e, s**2 * np.maximum(-second, 0.0)

    e = np.zeros((k, F.shape[1]))
    height, g, tau = at(e)
    for _ in range(STEPS):
        H = np.eye(F.shape[1]) + np.stack([(F.T * row) @ F for row in tau])
        step = np.linalg.solve(H, g[:, :, None])[:, :, 0]
        gain = 0.5 * (g * step).sum(axis=1)
        if gain.max() <= PROMISED:
            break
        before = height
        for _ in range(HALVINGS):
            height, g, tau = at(e + step)
            lower = height < before - 1e-9 * (1 + np.abs(before))
            if not lower.any():
                break
            step = np.where(lower[:, None], 0.5 * step, step)
        e += step
    return np.asarray(height + gain - 0.5 * np.linalg.slogdet(H)[1])


def _root(A: Any, covariance: FloatArray) -> FloatArray:
    """Return F with FF' = A covariance A', but for its smallest parts beyond `COMMON` columns."""
    small = covariance.shape[0] < A.shape[0]
    values, vectors = np.linalg.eigh(covariance if small else np.asarray(A @ np.asarray(A @ covariance).T))
    values, vectors = values[-COMMON:], vectors[:, -COMMON:]
    root = vectors[:, values > 0] * np.sqrt(values[values > 0])
    return np.asarray(A @ root if small else root)


def _kinds(curve: FloatArray, factor: float, s: FloatArray, deviation: float) -> Kinds:
    """Return the most probable s of every kind by Newton's method, if all of x were divided by ``factor``.

    ``curve`` are coefficients of cubics in s, from node to node, for every judge (`CubicSpline`).
    """

    def at(s: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        t = np.clip(s / factor, NODES[0], NODES[-1])
        place = np.clip(np.searchsorted(NODES, t) - 1, 0, len(NODES) - 2)
        a, b, c, d = curve[:, place, np.arange(len(s))[:, None]]
        h = t - NODES[place]
        first = (3.0 * a * h + 2.0 * b) * h + c
        value = ((a * h + b) * h + c) * h + d + first * (s / factor - t)
        return value, first / factor, np.maximum(-(6.0 * a * h + 2.0 * b), 0.0) / factor**2

    value, first, information = at(s)
    for _ in range(STEPS):
        step = (first - (s - CENTRES) / deviation**2) / (information + deviation**-2)
        if np.abs(step).max(initial=0.0) <= SMALL:
            break
        step = np.clip(step, -LONGEST, LONGEST)
        height = value - 0.5 * ((s - CENTRES) / deviation) ** 2
        for _ in range(HALVINGS):  # of the steps that lead down
            value, first, information = at(s + step)
            lower = value - 0.5 * ((s + step - CENTRES) / deviation) ** 2 < height - 1e-9 * (1 + np.abs(height))
            if not lower.any():
                break
            step = np.where(lower, 0.5 * step, step)
        s = s + step
    slope = first + information * s
    return Kinds(s, value - first * s - 0.5 * information * s**2, slope, information)


def _shares(evidence: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the most probable shares of kinds given log evidences (k, judges, kinds), and every judge's own."""
    shares = np.tile(np.array(FIRST_SHARES), (len(evidence), 1))
    for _ in range(LEARNING):
        own = softmax(np.log(shares)[:, None] + evidence, axis=2)
        right, careless, contrary = own.sum(axis=1).T
        none = (careless + CARELESS[0]) / (evidence.shape[1] + sum(CARELESS))
        careful = (right + LOOKING[0]) / (right + contrary + sum(LOOKING))
        last, shares = shares, np.column_stack([(1 - none) * careful, none, (1 - none) * (1 - careful)])
        if np.abs(shares - last).max() <= LEARNED:
            break
    return shares, own


def _evidence(kinds: Kinds, usual: float) -> FloatArray:
    """Return the log evidence of all judges for every deviation of a kind, with its prior; shares by Laplace's method.

    These are parameters as log odds: of careless judges, and of careful ones among the others.
    """
    evidence = kinds.evidence(DEVIATIONS[:, None, None])
    shares, own = _shares(evidence)
    none = shares[:, 1]
    careful = shares[:, 0] / (1 - none)
    right, careless, contrary = np.moveaxis(own, 2, 0)
    # minus the second derivatives: what is expected of a complete census less what is not known of each judge
    slope = right * (1 - careful)[:, None] - contrary * careful[:, None]
    looking = (right + contrary).sum(axis=1) + sum(LOOKING)
    ends = right * np.square(1 - careful)[:, None] + contrary * np.square(careful)[:, None]
    H = np.empty((len(shares), 2, 2))
    H[:, 0, 0] = none * (1 - none) * (evidence.shape[1] + sum(CARELESS)) - (careless * (1 - careless)).sum(axis=1)
    H[:, 1, 1] = careful * (1 - careful) * looking - (ends - slope**2).sum(axis=1)
    H[:, 0, 1] = H[:, 1, 0] = (careless * slope).sum(axis=1)
    total = logsumexp(np.log(shares)[:, None] + evidence, axis=2).sum(axis=1)
    total += np.log(np.column_stack([none, 1 - none])) @ CARELESS
    total += np.log(np.column_stack([careful, 1 - careful])) @ LOOKING
    # a flat direction has deviation 1
    total -= 0.5 * np.log(np.maximum(np.linalg.eigvalsh(H), 1.0)).sum(axis=1)
    return np.asarray(total - SURE * (np.log(DEVIATIONS) + 0.5 * (usual / DEVIATIONS) ** 2))


def _of_kinds(curve: FloatArray, factor: float, surest: int, value: float) -> FloatArray:
    """Return the log evidence of every judge being of each kind, (deviations, judges, kinds), by a sum over s.

    One direction is that in which s of the ``surest`` judge has the sign of its ``value``; where others say little
    about the items, what these say about that judge alone would not tell.
    """
    height = PPoly(curve, NODES)(FINE)  # (s, judges)
    height[value * FINE < 0, surest] = -np.inf
    top = height.max(axis=0)
    away = (factor * FINE - CENTRES[:, None]) / DEVIATIONS[:, None, None]
    density = softmax(-0.5 * away**2, axis=2)  # (deviations, kinds, s)
    found = np.einsum("dks,sj->djk", density, np.exp(height - top))
    return np.asarray(np.log(np.maximum(found, TINY)) + top[:, None])


def _over_shares(evidence: FloatArray, usual: float) -> FloatArray:
    """Return the log evidence of all judges for every deviation of a kind, with its prior, averaged over shares.

    Exact, but for a constant, where the kind of every judge is known.
    """
    shares, own = _shares(evidence)
    right, careless, contrary = own.sum(axis=1).T
    total = logsumexp(np.log(shares)[:, None] + evidence, axis=2).sum(axis=1)
    total -= xlogy(own.sum(axis=1), shares).sum(axis=1)
    total += betaln(careless + CARELESS[0], right + contrary + CARELESS[1])
    total += betaln(right + LOOKING[0], contrary + LOOKING[1])
    return np.asarray(total - SURE * (np.log(DEVIATIONS) + 0.5 * (usual / DEVIATIONS) ** 2))


@dataclass(frozen=True)
class ReliabilityError(Term):
    """What is not known of reliabilities, to first order: z = s x + (x at s) δ_judge, δ_j ~ N(0, deviation_j²).

    Beside it, x (1 - γ) with s (1 + γ), γ ~ N(0, size²), of which rows of training see nothing.

    A term like others, for the posterior at learned reliabilities: items are then as uncertain as their judges are.
    """

    name: ClassVar[str] = "reliability"
    x: FloatArray  # (m,): what each row sees at the learned reliabilities
    judge: IntArray  # (m,): -1 for nobody in particular
    deviation: FloatArray  # (n_judges,): of each before its outcomes
    size: float  # deviation of the logarithm of the common size of x, of which outcomes say nothing
    centre: Any  # the solution at the learned reliabilities

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

    def covariance(self, rows: Rows) -> FloatArray:
        """Return that of the size."""
        sized = self._sized(rows)
        return np.outer(sized, sized)

    def _sized(self, rows: Rows) -> FloatArray:
        if not self.size:
            return np.zeros(len(rows))
        mean: FloatArray = self.centre.posterior.moments(self.centre.problem.query(rows))[0]
        return self.size * mean
