"""Whether more comparisons are worth it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from preflearn.active._candidates import check_criterion, check_k, check_utilities, consider
from preflearn.active._criteria import Criterion, Draws, TopK, Utilities, draw_utilities, members
from preflearn.active._pool import Pool
from preflearn.active.outcome_information import link_of
from preflearn.data.fields import check_count
from preflearn.linalg import generator
from preflearn.operators import FloatArray, IntArray

# Orders of so many pairs of items are compared between truths and posterior; fewer futures do for many items.
_COMPARED = 1 << 28
# Elements of t x t matrices in one block of futures.
_BLOCK = 1 << 20


@dataclass(frozen=True)
class RemainingValue:
    """What the next comparisons can still change.

    Items are ordered by their mean utility, now and after the next comparisons (then). An order is *right* as far as it
    agrees with the true utilities.

    Parameters
    ----------
    n : int
        Number of further comparisons.
    n_items : int
        Number of items that are ranked.
    k : int or None
        Number of best items that matter, or None for the whole order.
    information : float
        What the n most informative comparisons, chosen now, are expected to tell about the utilities, in nats.
    information_bound : float
        An upper bound: n times the information of the best comparison.
    pairs_right_now, pairs_right : float
        Expected share of the pairs of items in their right order, now and then.
    best_right_now, best_right : float
        Probability that the first item is truly the best, now and then.
    top_k_right_now, top_k_right : float or None
        Probability that the first k items are truly the k best, now and then.
    reordered : float
        Expected share of the pairs of items whose order changes.
    best_changes : float
        Probability that another item comes first.
    top_k_changes : float or None
        Probability that the set of the first k items changes.
    value, value_limit : float
        Expected rise of the utility of the first item (of the first k together), and its limit: the rise if all
        utilities were known.
    threshold : float
        The smallest ``rise`` that is worth more comparisons.

    Examples
    --------
    >>> from preflearn.active import RemainingValue
    >>> left = RemainingValue(5, 8, None, 0.1, 0.2, 0.91, 0.915, 0.8, 0.8, None, None, 0.02, 0.1, None, 0.0, 0.1, 0.01)
    >>> left.worth_it
    False
    >>> print(left)
    5 more comparisons would raise the share of pairs of 8 items in the right order from 91.0 % to 91.5 %, changing
    2.0 % of them: not worth it at a threshold of 1.0 %.
    """

    n: int
    n_items: int
    k: int | None
    information: float
    information_bound: float
    pairs_right_now: float
    pairs_right: float
    best_right_now: float
    best_right: float
    top_k_right_now: float | None
    top_k_right: float | None
    reordered: float
    best_changes: float
    top_k_changes: float | None
    value: float
    value_limit: float
    threshold: float

    @property
    def rise(self) -> float:
        """How much more is right then than now: the top k or, without k, the order."""
        if self.top_k_right is None or self.top_k_right_now is None:
            return self.pairs_right - self.pairs_right_now
        return self.top_k_right - self.top_k_right_now

    @property
    def worth_it(self) -> bool:
        """Whether the rise reaches the threshold."""
        return self.rise >= self.threshold

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if self.k is None:
            what = f"the share of pairs of {self.n_items} items in the right order"
            now, then, changed = self.pairs_right_now, self.pairs_right, f"changing {self.reordered:.1%} of them"
        else:
            best = "best item" if self.k == 1 else f"{self.k} best"
            what = f"the probability that the {best} of {self.n_items} items {'is' if self.k == 1 else 'are'} known"
            now, then = self.top_k_right_now or 0.0, self.top_k_right or 0.0
            changed = f"changing the answer with probability {self.top_k_changes or 0.0:.1%}"
        text = (
            f"{self.n} more comparison{'s' if self.n > 1 else ''} would raise {what} from {now:.1%} to {then:.1%}, "
            f"{changed}: {'' if self.worth_it else 'not '}worth it at a threshold of {self.threshold:.1%}."
        )
        return text.replace("%", " %")

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, with ``rise`` and ``worth_it``."""
        return asdict(self) | {"rise": self.rise, "worth_it": self.worth_it}


def remaining_value(
    model: Any,
    n: int,
    items: Any = None,
    *,
    k: int | None = None,
    criterion: str = "utilities",
    candidates: Any = None,
    forbidden: Any = None,
    threshold: float = 0.01,
    n_fantasies: int = 2000,
    n_max_candidates: int = 100_000,
    n_samples: int = 4096,
    random_state: Any = None,
) -> RemainingValue:
    """Return what the next n comparisons can still change.

    Should we stop?

    Parameters
    ----------
    model : PreferenceGP, BradleyTerry or RankResult
        Fitted, or what `preflearn.rank` returned.
    n : int
        How many more comparisons could be made.
    items : None, table, names or Comparisons, default=None
        The pool, as for `suggest`.
    k : int, default=None
        Number of best items that matter; None if the whole order does.
    criterion : {"utilities", "top_k"}, default="utilities"
        What the comparisons are chosen for.
    candidates, forbidden : sequence of pairs or Comparisons, default=None
        Pairs to choose from, and pairs that must not be asked, as for `suggest`. A pair may be asked again.
    threshold : float, default=0.01
        Smallest rise that is worth it: of the probability that the top k are right or, without ``k``, of the share of
        pairs in the right order.
    n_fantasies : int, default=2000
        Simulated futures. The standard error of a probability is at most 0.5 / sqrt(n_fantasies), that of a rise at
        most sqrt(share of futures with a change / n_fantasies).
    n_max_candidates, n_samples : int
        As for `suggest`.
    random_state : int, Generator, RandomState or None, default=None
        Source of the futures. With the same int, fewer comparisons are the beginning of the same futures.

    Returns
    -------
    RemainingValue
        Figures, ``worth_it`` and a sentence.

    Notes
    -----
    The n comparisons are the greedy batch of `suggest`, with repetitions. In every future, true utilities are drawn
    from the posterior and answer the comparisons; every answer updates mean and covariance by moment matching (assumed
    density filtering, exact for Gaussian margins); and the order of the new means is compared with the truth.
    Where judges leave it open which of two rankings is right, one about the reverse of the other, all is given the more
    probable one: judges of unknown reliability cannot decide between them.

    Hyperparameters stay; if they are averaged over, utilities are taken as normal, with the mean and covariance of the
    average.

    What is right, ``value`` and the information rise with n, up to the noise of simulation. Probabilities of a change
    need not: a single noisy outcome may swap two items that more outcomes swap back. ``information_bound`` holds for
    every set of n comparisons fixed in advance; ``information`` is the sum of the greedy gains.

    Cost O(n_fantasies n (n² + p)) for p items, besides that of `suggest`, and for the items that it considers.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ConstantKernel
    >>> from preflearn import Comparisons, PreferenceGP
    >>> from preflearn.active import remaining_value
    >>> matches = Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "dee"])
    >>> model = PreferenceGP(ConstantKernel(2.0, "fixed")).fit(matches)
    >>> left = remaining_value(model, 10, k=1, random_state=0)
    >>> left.worth_it, bool(left.best_right > left.best_right_now)
    (True, True)
    """
    owner = "remaining_value"
    pool = Pool.build(model, items, owner)
    check_utilities(pool)
    n = check_count(n, "n", owner)
    if not 0 <= threshold <= 1:
        raise ValueError(f"{owner}: threshold={threshold!r}: it must be between 0 and 1.")
    n_fantasies = check_count(n_fantasies, "n_fantasies", owner, low=2)
    n_samples = check_count(n_samples, "n_samples", owner, low=64)
    top = None if k is None else check_k(k, len(pool), owner)
    _, goal = check_criterion(criterion, k, pool)
    rng = generator(random_state, owner)
    seen = consider(pool, candidates, forbidden, top, n_max_candidates, rng)
    posterior = seen.posterior
    mean, likelihood = posterior.mean, posterior.likelihood
    bound = n * float(posterior.information(slice(None)).max())
    inner = 1 if seen.k is None else seen.k
    truth = draw_utilities(mean, posterior.covariance, n_fantasies, rng)
    rule: Criterion = Utilities(posterior) if goal is None else TopK(Draws(posterior, inner, n_samples, rng))
    chosen, gained = [], 0.0
    alive = np.ones(len(posterior.first), dtype=bool)
    for _ in range(n):
        found = rule.best(alive)
        if found is None:
            break
        chosen.append(found[0])
        gained += float(posterior.information(slice(found[0], found[0] + 1))[0])
        rule.condition(found[0])
    pairs, own = (posterior.first[chosen], posterior.second[chosen]), posterior.own[chosen]
    outcomes = draw_outcomes(likelihood, truth, *pairs, rng, own)
    future = future_means(likelihood, mean, posterior.covariance, *pairs, outcomes, own)
    now = np.broadcast_to(mean, future.shape)
    best_now, best, best_changes = _sets(now, future, truth, 1)
    top_now, then, changes = (None, None, None) if top is None else _sets(now, future, truth, inner)
    return RemainingValue(
        n=n,
        n_items=len(mean),
        k=top,
        information=min(gained, bound),
        information_bound=bound,
        pairs_right_now=_agreement(now, truth),
        pairs_right=_agreement(future, truth),
        best_right_now=best_now,
        best_right=best,
        top_k_right_now=top_now,
        top_k_right=then,
        reordered=_reordered(now, future),
        best_changes=best_changes,
        top_k_changes=changes,
        value=_rise(mean, future, inner),
        value_limit=_rise(mean, truth, inner),
        threshold=float(threshold),
    )


def _sets(now: FloatArray, future: FloatArray, truth: FloatArray, k: int) -> tuple[float, float, float]:
    """Return how often the k best are right now, are right in the future, and change."""
    before, after, right = (members(f, k) for f in (now, future, truth))
    return (
        float((before == right).all(axis=1).mean()),
        float((after == right).all(axis=1).mean()),
        float((before != after).any(axis=1).mean()),
    )


def _rise(mean: FloatArray, f: FloatArray, k: int) -> float:
    best = np.sort(f, axis=1)[:, -k:].sum(axis=1).mean()
    return max(float(best - np.sort(mean)[-k:].sum()), 0.0)


def _over_pairs(one: FloatArray, other: FloatArray, measure: Callable[[Any, Any], Any]) -> float:
    """Return the mean of a measure of two orders (1, 0 or -1) of a pair, over pairs of items and over futures."""
    p = one.shape[1]
    rows = slice(max(50, _COMPARED // p**2))
    one, other = one[rows], other[rows]
    total = 0.0
    for i in range(p - 1):
        orders = (np.sign(f[:, i, None] - f[:, i + 1 :]) for f in (one, other))
        total += float(measure(*orders).sum())
    return float(total / (one.shape[0] * 0.5 * p * (p - 1)))


def _agreement(one: FloatArray, other: FloatArray) -> float:
    """Return the mean share of pairs of items in the same order; pairs that are equal on one side count half."""
    return 0.5 + 0.5 * _over_pairs(one, other, np.multiply)


def _reordered(now: FloatArray, future: FloatArray) -> float:
    """Return the mean share of pairs whose order changes; pairs that are equal once count half."""
    return 0.5 * _over_pairs(now, future, lambda before, after: np.abs(before - after))


def draw_outcomes(
    likelihood: Any,
    truth: FloatArray,
    first: IntArray,
    second: IntArray,
    rng: np.random.Generator,
    own: FloatArray | None = None,
) -> FloatArray:
    """Return outcomes (n_futures, t) of pairs for utilities (n_futures, p).

    ``own`` (t,) are variances of what each outcome depends on beside. Drawn pair after pair, so that those of the first
    pairs do not depend on how many follow.
    """
    z = truth[:, first] - truth[:, second]
    uniform = rng.random(z.shape[::-1]).T
    if own is not None and own.any():
        z = z + np.sqrt(own) * rng.standard_normal(z.shape[::-1]).T
    if likelihood.normal:
        return np.asarray(z + ndtri(uniform) * likelihood.noise_deviation)
    wins, *ties = link_of(likelihood).probabilities(z)
    loses = -1.0 if not ties else np.where(uniform < wins + ties[0], 0.0, -1.0)
    return np.where(uniform < wins, 1.0, loses)


def future_means(
    likelihood: Any,
    mean: FloatArray,
    covariance: FloatArray,
    first: IntArray,
    second: IntArray,
    y: FloatArray,
    own: FloatArray | None = None,
) -> FloatArray:
    """Return posterior means (n_futures, p) after outcomes y (n_futures, t) of t pairs; O(n_futures t (t² + p)).

    Differences d = A f of the pairs have covariance S = A C A', plus what is each one's ``own``, and E = C A' with the
    utilities. The j-th outcome, with g and h the first two derivatives of its log predictive probability in the mean,
    updates by moment matching

        mean of f += E M e_j g,   M += h (M e_j)(S e_j)',   mean of d += S e_j g,   S += h (S e_j)(S e_j)',

    where E M is the current covariance of f and d. Column j of both is computed from the earlier ones when needed, so
    only t x t matrices differ between futures.
    """
    E = covariance[:, first] - covariance[:, second]
    S = E[first] - E[second] + (0.0 if own is None else np.diag(own))
    d = mean[first] - mean[second]
    step = max(1, _BLOCK // max(1, first.shape[0] ** 2))
    w = [_coefficients(likelihood, d, S, y[i : i + step]) for i in range(0, y.shape[0], step)]
    return np.asarray(mean + np.concatenate(w) @ E.T)


def _coefficients(likelihood: Any, d: FloatArray, S: FloatArray, y: FloatArray) -> FloatArray:
    # w (n_futures, t) with mean of f = m + E w. Futures are the last axis, so that all work runs along them.
    n, t = y.shape
    means, w = np.tile(d[:, None], (1, n)), np.zeros((t, n))
    columns, weights, h = np.zeros((t, t, n)), np.zeros((t, t, n)), np.zeros((t, n))  # S e_j and M e_j at step j
    for j in range(t):
        earlier = h[:j] * columns[:j, j]
        columns[j, j:] = S[j:, j, None] + np.einsum("ir,ikr->kr", earlier, columns[:j, j:])
        weights[j, :j] = np.einsum("ir,ikr->kr", earlier, weights[:j, :j])
        weights[j, j] = 1.0
        smoothed = likelihood.smoothed(y[:, j], means[j], np.maximum(columns[j, j], 0.0))
        g, h[j] = smoothed.first, smoothed.second
        w[: j + 1] += g * weights[j, : j + 1]
        means[j:] += g * columns[j, j:]
    return w.T
