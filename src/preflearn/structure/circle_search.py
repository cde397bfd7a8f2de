"""Cyclic preferences: whether residuals run in circles, and a model with and without a cyclic part, all else kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn.data import Comparisons
from preflearn.exceptions import quiet
from preflearn.models import BradleyTerry, PreferenceGP
from preflearn.models.bradley_terry import SPREAD, utilities_by_least_squares
from preflearn.structure.graph import FloatArray, IntArray, pairs_in_circles, wins_in_order
from preflearn.terms import pair_operator
from preflearn.terms.utility import start_kernel

# Nats that a free parameter costs. A needless parameter gains more than this in fewer than one case of twenty; see the
# simulation in tests/structure/test_structure_rankability.py.
PRICE = 1.5
MILLION = 1e6  # odds above which numbers do not matter
CLEAR, NO_SIGN = 0.01, 0.2  # highest p-value at which odds stand as they are; lowest one that is no sign of circles
CHEAP = 120  # distinct pairs for which several starts are cheap
# With few pairs, circles are learned unless there is no sign of them; with more, only below the p-value HINT.
FEW_PAIRS = 600
HINT = 0.04
OWN, CYCLIC = "own effect constant value", "cyclic own effect constant value"  # variances of items without features
VARIANCES = (0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)  # starts of a search without features
FAR = 1e4  # length scale, in ranges of a feature, with which the feature has no effect
SCALES = (0.0, 0.25, 0.5, 1.0)  # length scales of circles in the test, in typical distances of two items
ROUGHEST = 0.1  # start of a search where the test finds a length scale of 0
# The simulations of residuals.
SIMULATIONS, FEWER = 999, 199
ENOUGH = 50  # simulations as cyclic as the data, after which no more are drawn (Besag and Clifford, 1991)
LARGE = 2e6  # multiplications of one simulation above which there are fewer
TOGETHER, BLOCK = 111, 2_500_000  # most simulations, and outcomes, drawn at a time
FEW_ROWS = 20_000  # of which each is drawn by itself; of more, rows about one pair are drawn as counts
AS_NORMAL = 0.05  # change of a variance up to which sums of outcomes are drawn from a normal distribution
DENSE = 1_000  # most compared items for which a dense matrix is the quickest
WRITTEN_OUT = 700  # most pairs of which their covariance is written out
NEARLY = 0.8  # share of the strongest sign of circles that counts as strong
LOST = 1e-3  # share of a kernel's variance that its leading functions may lose
ROUNDING, SMALLEST = 1e-10, float(np.finfo(float).tiny)
WEIGHTS = (1.0, 0.6, 0.4)  # of the functions of a single feature
LEAST_FEATURES, MOST_FEATURES = 3, 60  # numbers of features with a search along one or two of them


class Screen(NamedTuple):
    """Learn circles only after a hint, and from at most so many pairs with features, or items without."""

    max_pairs: float
    max_items: float

    def allows(self, X: Comparisons) -> bool:
        """Return whether the data are small enough."""
        return len(X.used_items()) <= self.max_items if X.items is None else len(X.pairs) <= self.max_pairs


class Circles(NamedTuple):
    """A model without circles, the same with them (None: not learned), and the test of its residuals.

    ``p_value`` is how often chance would leave residuals as cyclic, ``along`` the only features that circles follow.
    """

    ranking: Any
    both: PreferenceGP | None
    p_value: float
    along: tuple[int, ...] = ()

    @property
    def log_odds(self) -> float:
        """Log odds of circles by the two evidences, at most what the p-value of the residuals allows."""
        # the highest log odds that a p-value can mean (Sellke, Bayarri and Berger, 2001)
        p = self.p_value
        most = -PRICE if p >= NO_SIGN else -math.log(-math.e * p * math.log(p))
        if self.both is None:
            return most
        found = penalised_evidence(self.both) - penalised_evidence(self.ranking)
        return found if self.p_value <= CLEAR else min(found, most)

    @property
    def hint(self) -> bool:
        """Whether residuals hint at circles that were not learned."""
        return self.both is None and self.p_value < HINT


def look_for_circles(ranking: Any, screen: Screen | None, random_state: Any) -> Circles:
    """Learn circles beside a fitted model, all else kept; with ``screen`` only if its residuals hint at them."""
    both = None
    if getattr(ranking, "cyclic_kernel", None) is not None:
        both = ranking if ranking.kernel is not None else None
        kernel = _plain_kernel(ranking.comparisons_) if both is None else ranking.kernel
        ranking = _refitted(ranking, kernel=kernel, cyclic_kernel=None)
    X = ranking.comparisons_
    many = X.items is not None and len(X.pairs) > CHEAP
    sign = cyclic_residuals(
        ranking, similarities(ranking, SCALES), random_state, functions_of_features(ranking) if many else None
    )
    if both is not None:
        return Circles(ranking, both, sign.p_value)
    if screen:
        hint = sign.p_value < (NO_SIGN if len(X.pairs) <= FEW_PAIRS else HINT)
        if not hint or not screen.allows(X):
            return Circles(ranking, None, sign.p_value)
    model = clone(as_gp(ranking)).set_params(
        hyperparameters="maximise", n_restarts=0 if X.items is None or screen or many else 2, random_state=random_state
    )
    if X.items is None:
        with quiet():
            return Circles(ranking, _without_features(model, ranking), sign.p_value)
    # what a ranking leaves is rougher than what it explains
    scale = max(SCALES[sign.strongest], ROUGHEST) * typical_distance(ranking)
    start = learned(ranking) | {"cyclic constant value": 1.0, "cyclic length scale": scale}
    with quiet():
        few = clone(model).set_params(cyclic_kernel=_along(ranking, sign.along)) if sign.along else None
        if few is not None:
            few.fit(X, start=learned(ranking))
            if penalised_evidence(few) - penalised_evidence(ranking) > math.log(MILLION):
                return Circles(ranking, few, sign.p_value, sign.along)
        both = model.set_params(cyclic_kernel="rbf").fit(X, start=start)
    if few is None or penalised_evidence(both) > penalised_evidence(few):
        return Circles(ranking, both, sign.p_value)
    return Circles(ranking, few, sign.p_value, sign.along)


def _refitted(model: Any, start: dict[str, float] | None = None, **parts: Any) -> PreferenceGP:
    """Return the same model with other parts, fitted to the same comparisons."""
    with quiet():
        changed = clone(as_gp(model)).set_params(hyperparameters="maximise", **parts)
        return cast(PreferenceGP, changed.fit(model.comparisons_, start=start))


def without_utility(model: Any) -> PreferenceGP:
    """Return the model of circles alone, in which clusters of comparable items are found."""
    kernel = getattr(model, "cyclic_kernel", None)
    return _refitted(
        model,
        {name: value for name, value in learned(model).items() if name.startswith("cyclic ")},
        kernel=None,
        cyclic_kernel=_plain_kernel(model.comparisons_) if kernel is None else kernel,
        own_effect=False,
        n_restarts=0,
    )


def _plain_kernel(X: Comparisons) -> Any:
    return ConstantKernel() if X.items is None else "rbf"


def as_gp(model: Any) -> PreferenceGP:
    """Return a PreferenceGP that is the same model, for a Bradley-Terry model an unfitted one."""
    if isinstance(model, PreferenceGP):
        return model
    assert isinstance(model, BradleyTerry)
    given = not isinstance(model.prior, str)
    return PreferenceGP(
        ConstantKernel(model.prior_variance_, "fixed") if given else ConstantKernel(),
        model.link,
        model.inference,
        hyperprior=SPREAD if model.prior == "auto" else None,
        ties=model.ties,
        side=model.side,
        cluster=model.cluster,
        covariates=model.covariates,
        n_restarts=0,
    )


def _without_features(model: PreferenceGP, ranking: Any) -> PreferenceGP:
    """Fit circles that are independent from pair to pair beside a ranking, starting from half of its variance.

    Both kernels stay those of a first guess, as the weak prior of variances is centred there: it may not move to where
    this search starts, which is far away if no outcome contradicts the circles.
    """
    X = ranking.comparisons_
    model.set_params(cyclic_kernel=ConstantKernel())
    start = learned(ranking)
    if OWN in start:
        start[OWN] = max(0.5 * start[OWN], 0.1)
    start[CYCLIC] = best_variance(model, X, CYCLIC, start)
    return model.fit(X, start=start)


def best_variance(model: PreferenceGP, X: Comparisons, name: str, start: dict[str, float] | None = None) -> float:
    """Return the best of a few values of a variance, to start a search from; ``start`` has those of others.

    The evidence may have two maxima, one of them without any preferences. A few values find the higher one with fewer
    evaluations than random starts.
    """
    tried = clone(model).set_params(hyperparameters="fixed").fit(X)
    known = dict(zip(tried.theta_names_, tried.theta_.tolist(), strict=True))
    known |= {other: math.log(value) for other, value in (start or {}).items()}
    found = [
        tried.log_evidence(list((known | {name: math.log(variance)}).values()), gradient=False)
        for variance in VARIANCES
    ]
    return VARIANCES[int(np.argmax(found))]


def _along(ranking: Any, features: tuple[int, ...]) -> Any:
    """Return a kernel of a few features, each with its own length scale; those of others are fixed, and very long."""
    X = ranking._solution.problem.parts["utility"].X
    spread, extent = X.std(axis=0), np.ptp(X, axis=0)
    scale = FAR * np.where(extent > 0, extent, 1.0)
    bounds = np.column_stack([scale, scale])
    for k in features:
        scale[k] = spread[k] * math.sqrt(2 * len(features))
        bounds[k] = 0.05 * spread[k], 20 * extent[k]
    return ConstantKernel() * RBF(scale, bounds)


def penalised_evidence(model: Any) -> float:
    """Return the log evidence less the price of the learned parameters."""
    return float(model.log_evidence_ - price(model))


def price(model: Any) -> float:
    """Return the nats that learned parameters cost, and the choice of the features that circles follow.

    The length scale of circles, or the first one, is free: it means nothing where there are no circles, and the test of
    the residuals bounds how often such a model is taken by chance.
    """
    n = n_learned(model)
    chosen = getattr(model, "n_features_in_", 1) if n < len(model.theta_) else 1
    free = any(name.startswith("cyclic length scale") for name in getattr(model, "theta_names_", ()))
    return PRICE * (n - free) + math.log(chosen * (chosen + 1) / 2)


def n_learned(model: Any) -> int:
    """Return how many parameters were learned: all but those with equal bounds."""
    if not isinstance(model, PreferenceGP):
        return len(model.theta_)
    low, high = model.bounds_.T
    return int(np.count_nonzero(low < high))


def learned(model: Any) -> dict[str, float]:
    """Return the hyperparameters by name, as ``fit(start=)`` of `PreferenceGP` takes them."""
    found = dict(zip(model.theta_names_, np.exp(model.theta_).tolist(), strict=True))
    return {OWN if name == "variance" else name: value for name, value in found.items()}


def chance(X: Comparisons, *, normal: bool) -> float:
    """Return the log evidence of no preferences, given how frequent ties or, if ``normal``, how large margins are."""
    weight = np.ones(len(X)) if X.weight is None else X.weight
    total = float(weight.sum())
    if normal:
        square = float(weight @ np.square(X.outcome)) / total
        return -0.5 * total * (math.log(2 * math.pi * square) + 1.0) if square > 0 else math.inf
    tied = float(weight[X.outcome == 0].sum())
    return float(xlogy(tied, tied / total) + xlogy(total - tied, (total - tied) / (2 * total)))


def similarities(ranking: Any, scales: Sequence[float]) -> list[FloatArray | None]:
    """Return Gaussian kernels between items, for multiples of their typical distance.

    None, for a multiple of 0 and for items without features, is a kernel of independent pairs.
    """
    prior = _utility(ranking)
    if prior.X is None:
        return [None]
    typical = typical_distance(ranking)
    return [replace(prior, kernel=RBF(scale * typical), own=None).gram()[0] if scale else None for scale in scales]


def typical_distance(ranking: Any) -> float:
    """Return the typical distance of two items of a ranking with features."""
    return float(start_kernel("rankability", "rbf", _utility(ranking).X).k2.length_scale)


def functions_of_features(ranking: Any) -> FloatArray | None:
    """Return functions of every single feature at the items, (n_items, n_features, 3).

    They are cosines of the rank of an item, which no outlier moves, centred; smoother ones weigh more. None if there
    are too few or too many features, or no table of numbers.
    """
    X = _utility(ranking).X
    if not isinstance(X, np.ndarray) or not LEAST_FEATURES <= X.shape[1] <= MOST_FEATURES:
        return None
    place = (rankdata(X, axis=0) - 0.5) / len(X)
    Phi = np.cos(np.pi * place[:, :, None] * np.arange(1, len(WEIGHTS) + 1)) * WEIGHTS
    Phi -= Phi.mean(axis=0)
    Phi[:, np.ptp(X, axis=0) == 0] = 0.0  # of constants rounding would be left
    return np.asarray(Phi)


def _utility(ranking: Any) -> Any:
    return ranking._solution.problem.parts["utility"]


def row_reliabilities(model: Any) -> FloatArray:
    """Return the reliability of the judge of every comparison of a model; 1 where none were learned."""
    of_judge = model.reliabilities
    if of_judge is None:
        return np.ones(len(model.comparisons_))
    return np.array([of_judge.get(name, 1.0) for name in model.comparisons_.judge.tolist()])


class Sign(NamedTuple):
    """How often chance leaves residuals as cyclic as these, and the kernel with which they are most cyclic.

    ``along`` are one or two features along which they are still more cyclic, if there are.
    """

    p_value: float
    strongest: int
    along: tuple[int, ...] = ()


def cyclic_residuals(
    ranking: Any,
    kernels: Sequence[FloatArray | None],
    random_state: Any,
    functions: FloatArray | None = None,
) -> Sign:
    """Return the p-value of the score test for a cyclic part beside a fitted ranking, by simulation.

    The statistic is r'Gr, r the derivatives of log p(y | z) at the ranking's differences z, and G the covariance of a
    cyclic part: with kernel ΦΦ' half the squared norm of Φ'RΦ, R the skew matrix of residuals, Φ centred; without a
    kernel (None) pairs are independent. Outcomes of simulations come from the same z. From all residuals that part is
    removed that a utility of each item would explain without a prior (one Newton step): r - WA (A'WA)⁻ A'r, W the
    information of the pairs. If the compared pairs close no circle, nothing is left: the p-value is 1 without any
    simulation. It is also 1 if one order of items without features agrees with all outcomes. Of several kernels the
    smallest p-value counts, in the simulations as well. Once 50 of them are as cyclic as the data, the rest are not
    drawn: a p-value of 0.5 is then known to 0.05, one of 0.2 to 0.03, and those up to 0.05 come from all of them.

    With ``functions`` of single features, circles along one or two of them count as one more kernel: the statistic is
    the largest squared norm of Φ_a'RΦ_b over features a and b, in units of its deviation. It finds circles that follow
    few of many features.
    """
    X, likelihood = ranking.comparisons_, ranking.likelihood_
    weight = np.ones(len(X)) if X.weight is None else X.weight
    rng = np.random.default_rng(random_state if isinstance(random_state, int) else 0)
    pairs = X.pairs
    place, sign = pairs.row, pairs.sign
    used, numbers = np.unique(np.concatenate([pairs.low, pairs.high]), return_inverse=True)
    m, n = len(pairs), len(used)
    ends = numbers[:m], numbers[m:]
    inside = pairs_in_circles(*ends, n)
    by_name = functions is None and all(kernel is None for kernel in kernels)
    if not inside.any() or (by_name and not likelihood.normal and wins_in_order(X)):
        return Sign(1.0, 0)
    scale = row_reliabilities(ranking)
    cell = ranking._statements.cell
    kinds = cell if (scale == 1.0).all() else np.unique([cell, scale], axis=1, return_inverse=True)[1].ravel()
    trials = _trials(kinds, weight, 1 if X.times is None else X.times, exact=likelihood.normal)
    turn = sign[trials.row]  # the sides of a trial are those of its first row
    z = ranking.predict_difference(X[trials.row], side=bool(ranking.side))
    slopes = likelihood.log_density(_signs(X, likelihood), z[trials.of] * (sign * turn[trials.of])).first
    observed = pairs.sums(sign * scale * (weight * slopes))
    of_pairs = sp.csr_array((turn * scale[trials.row], (place[trials.row], np.arange(len(z)))), shape=(m, len(z)))
    draw, information = _simulator(likelihood, z, trials, rng)
    W = of_pairs.power(2) @ information
    cyclic = _without_utilities(ends, n, W, inside)
    parts = [_statistic(n, ends, kernel) for kernel in kernels]
    if functions is not None:
        parts.append(_along_features(n, ends, functions))
    count = SIMULATIONS if sum(cost for _, cost in parts) + n**2 < LARGE else FEWER
    smallest = 1e-12 * float(np.square(pairs.count).sum())  # rounding
    seen = [_stacked(parts, cyclic(observed[:, None])) * (1 - 1e-9) - smallest]
    at_once = int(np.clip(BLOCK // len(z), 1, TOGETHER))
    for start in range(0, count, TOGETHER):
        stop = min(start + TOGETHER, count)
        for first in range(start, stop, at_once):
            seen.append(_stacked(parts, cyclic(of_pairs @ draw(min(at_once, stop - first)))))
        alone, each = np.split(np.concatenate(seen), [len(kernels)], axis=1)
        found = _smallest_p(alone if functions is None else np.column_stack([alone, _units(each).max(axis=1)]))
        if found * len(alone) >= ENOUGH:
            break
    if functions is None:
        return Sign(found, _strongest(alone))
    whole, some = _gain(alone), _gain(each)
    a, b = (side[int(np.argmax(some))] for side in np.triu_indices(functions.shape[1]))
    along = tuple(sorted({int(a), int(b)})) if some.max() - math.log(len(some)) > whole.max() else ()
    return Sign(found, _strongest(alone), along)


def _without_utilities(ends: tuple[Any, Any], n: int, W: FloatArray, inside: Any) -> Any:
    """Return r -> r - WA (A'WA)⁻ A'r for columns of residuals; it is zero except for pairs ``inside`` circles.

    Up to a thousand items A'WA is dense; for more, systems with it are solved by conjugate gradients.
    """
    if n <= DENSE:
        A = pair_operator(*ends, n)
        values, V = np.linalg.eigh((A.T @ sp.diags_array(W) @ A).toarray())
        known = values > ROUNDING * max(float(values[-1]), SMALLEST)
        root = V[:, known] / np.sqrt(values[known])
        return lambda r: np.asarray(r - W[:, None] * (A @ (root @ (root.T @ (A.T @ r)))))
    used, numbers = np.unique(np.stack([side[inside] for side in ends]), return_inverse=True)
    low, high = numbers.reshape(2, -1)
    A = pair_operator(low, high, len(used))
    explained = utilities_by_least_squares(A, W[inside])

    def cyclic(r: FloatArray) -> FloatArray:
        out = np.zeros(r.shape)
        out[inside] = r[inside] - W[inside, None] * (A @ explained(r[inside]))
        return out

    return cyclic


def _stacked(parts: Any, r: FloatArray) -> FloatArray:
    return np.column_stack([statistic(r) for statistic, _ in parts])


def _gain(seen: FloatArray) -> FloatArray:
    """Return about how many nats a variance of its own gains for the first row, in each column.

    The squared norm of k independent normal variables that is ρ times its mean gains k/2 (ρ - 1 - log ρ), where
    k = 2 (mean / deviation)².
    """
    mean, variance = seen[1:].mean(axis=0), seen[1:].var(axis=0)
    known = (mean > 0) & (variance > 0)
    ratio = np.maximum(np.divide(seen[0], mean, out=np.ones_like(mean), where=known), 1.0)
    half = np.divide(mean**2, variance, out=np.zeros_like(mean), where=known)
    return np.asarray(half * (ratio - 1.0 - np.log(ratio)))


def _units(seen: FloatArray) -> FloatArray:
    """Return standardised cube roots of columns of squared norms, which are nearly normal."""
    root = np.cbrt(np.maximum(seen, 0.0))
    spread = root.std(axis=0)
    excess = root - root.mean(axis=0)
    return np.asarray(np.divide(excess, spread, out=np.zeros_like(excess), where=spread > 0))


def _strongest(seen: FloatArray) -> int:
    """Return the first column whose first row is nearly the most deviations above the mean of the others.

    The first, as a search finds smoother circles from rougher ones more easily than the other way round.
    """
    spread = seen[1:].std(axis=0)
    excess = seen[0] - seen[1:].mean(axis=0)
    strength = np.divide(excess, spread, out=np.zeros_like(excess), where=spread > 0)
    return int(np.argmax(strength >= NEARLY * strength.max()))


def _smallest_p(seen: FloatArray) -> float:
    """Return the p-value of the first row's smallest p-value over columns, among those of all rows."""
    order = np.sort(seen, axis=0)
    above = [len(seen) - np.searchsorted(column, own) for column, own in zip(order.T, seen.T, strict=True)]
    least = np.min(above, axis=0)
    return float(np.mean(least <= least[0]))


def _signs(X: Comparisons, likelihood: Any) -> FloatArray:
    return X.outcome if likelihood.margins else np.sign(X.outcome)


class Trials(NamedTuple):
    """What is drawn at once: first row, number and weight of the outcomes of each trial, and the trial of each row."""

    row: IntArray
    times: IntArray
    weight: FloatArray
    of: IntArray


def _trials(cell: IntArray, weight: FloatArray, listed: IntArray | int = 1, *, exact: bool) -> Trials:
    """Return rows of the same cell and weight as one trial, which has the same distribution.

    A weight of 3 is three outcomes, and 2.5 are two that count 1.25 each, so that outcomes of a pair are one count if
    weights are whole numbers; ``listed`` is how many comparisons of equal weight a row stands for. Margins (``exact``)
    of a pair sum to a normal variable, whatever their weights.
    """
    of_one = np.maximum(np.round(weight / listed), 1)
    times = (listed * of_one).astype(np.int64)
    if len(weight) <= FEW_ROWS:
        every = np.arange(len(weight))
        return Trials(every, times, weight, every)
    kinds, kind = np.unique(np.zeros(len(weight)) if exact else np.float32(weight / times), return_inverse=True)
    row, of = np.unique(cell * len(kinds) + kind.ravel(), return_index=True, return_inverse=True)[1:]
    of = of.ravel()
    total = np.zeros(len(row), np.int64)
    np.add.at(total, of, times)
    return Trials(row, total, np.bincount(of, weight).astype(np.float64), of)


def _simulator(likelihood: Any, z: FloatArray, trials: Trials, rng: np.random.Generator) -> tuple[Any, FloatArray]:
    """Return a function that draws residuals of outcomes several times, and their variances."""
    times, weight = trials.times, trials.weight
    if likelihood.normal:
        information = weight / likelihood.noise_deviation**2
        return lambda size: np.sqrt(information)[:, None] * rng.standard_normal((len(z), size)), information
    p = likelihood.probability(z, np.zeros(z.shape))  # first, tie, second
    slopes = np.column_stack([likelihood.log_density(np.full(z.shape, y), z).first for y in likelihood.outcomes])
    p = p[:, [0, 2]] if slopes.shape[1] == 2 else p[:, [0, 2, 1]]
    scale, share = weight / times, p / p.sum(axis=1, keepdims=True)
    square = np.einsum("ij,ij->i", share, slopes**2)
    information = weight * square
    # Sums of many outcomes are as good as normal where their fourth cumulants change the variance of the sum of
    # squares, 2 Σ v² + Σ κ, by little
    variance = scale**2 * times * square
    fourth = scale**4 * times * (np.einsum("ij,ij->i", share, slopes**4) - 3 * square**2)
    if float(np.abs(fourth).sum()) <= AS_NORMAL * float(variance @ variance):
        deviation = np.sqrt(variance)[:, None]
        return lambda size: deviation * rng.standard_normal((len(z), size)), information

    def draw(size: int) -> FloatArray:
        if slopes.shape[1] == 2:
            won = rng.binomial(times, share[:, 0], (size, len(z)))
            return np.asarray((scale * (won * slopes[:, 0] + (times - won) * slopes[:, 1])).T)
        outcomes = rng.multinomial(times, share, (size, len(z)))
        return np.asarray(scale[:, None] * np.einsum("sij,ij->is", outcomes, slopes))

    return draw, information


def _statistic(n: int, ends: tuple[Any, Any], K: FloatArray | None) -> tuple[Any, float]:
    """Return r -> r'Gr for columns of residuals of pairs, and its cost; without a kernel G is the identity."""
    m = ends[0].shape[0]
    if K is None:
        return lambda r: np.square(r).sum(axis=0), float(m)
    # centred: without the constant function, skew functions sum to zero over opponents, as no utility does
    K = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    if not np.trace(K) > 0:
        return lambda r: np.zeros(r.shape[1]), 0.0
    K = K / np.trace(K)
    i, j = ends
    if m <= WRITTEN_OUT:
        G = 2 * (K[np.ix_(i, i)] * K[np.ix_(j, j)] - K[np.ix_(i, j)] * K[np.ix_(j, i)])
        return lambda r: np.einsum("ij,ij->j", r, G @ r), float(m)
    values, V = np.linalg.eigh(K)
    kept = np.cumsum(np.maximum(values, 0.0)) > LOST
    Phi = V[:, kept] * np.sqrt(np.maximum(values[kept], 0.0))
    products = _products(n, ends, Phi)
    return lambda r: np.array([np.square(S).sum() for S in products(r)]), _cost(m, Phi)


def _along_features(n: int, ends: tuple[Any, Any], functions: FloatArray) -> tuple[Any, float]:
    """Return r -> squared norms of Φ_a'RΦ_b for features a <= b, a row for each column of residuals; and its cost."""
    _, d, q = functions.shape
    Phi = np.ascontiguousarray(functions.reshape(n, d * q))
    products, kept = _products(n, ends, Phi), np.triu_indices(d)

    def norms(r: FloatArray) -> FloatArray:
        return np.stack([np.square(S).reshape(d, q, d, q).sum(axis=(1, 3))[kept] for S in products(r)])

    return norms, _cost(ends[0].shape[0], Phi)


def _products(n: int, ends: tuple[Any, Any], Phi: FloatArray) -> Any:
    """Return r -> Φ'RΦ for each column of residuals, R its skew matrix."""
    i, j = ends
    m = i.shape[0]
    place = sp.csr_array((np.arange(1.0, 2 * m + 1), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n))
    order = place.data.astype(np.intp) - 1  # which residual each entry of the skew matrix is

    def products(r: FloatArray) -> Any:
        signed = np.concatenate([r, -r])[order]
        matrices = (sp.csr_array((column, place.indices, place.indptr), shape=(n, n)) for column in signed.T)
        return (Phi.T @ (R @ Phi) for R in matrices)

    return products


def _cost(m: int, Phi: FloatArray) -> float:
    n, r = Phi.shape
    return float(m * r + n * r**2)
