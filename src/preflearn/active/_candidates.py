"""Which pairs of a pool are candidates.

All pairs of a pool are while there are at most as many as the limit. Beyond that:

- of more than 2,000 items 2,000 are considered: half those with the most uncertain utility and half at random; or,
  about the top k, those nearest to its border (distance of the mean from the border, in standard deviations). They are
  fewer where each judge who may be asked has utilities of its own;
- of their pairs, half of the limit are the most informative ones by a formula in closed form, and half are every
  item's best partners, so that a batch does not run out of items. Pairs are screened in blocks of rows: memory grows
  with the limit, not with the number of pairs.

Where preferences may run in circles, a pair is a value by itself: pairs of random items, as many as the limit holds,
and of these the 1,500 that tell most by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, xlogy

from preflearn.active._criteria import JointPosterior
from preflearn.active._pool import Panel, Pool, pair_codes
from preflearn.active.outcome_information import information
from preflearn.data.fields import check_count
from preflearn.exceptions import DataError
from preflearn.operators import FloatArray, IntArray

MOST_ITEMS = 2_000
MOST_PAIRS = 1_500
# Pairs screened at once.
_BLOCK = 1 << 20

Pairs = tuple[IntArray, IntArray]


class Considered(NamedTuple):
    """What is considered: pairs (numbers in the pool), a candidate for each, or for each judge and pair; the top k.

    Candidates of one judge follow those of another; k is among the ``n_items`` items whose utilities are the first
    values.
    """

    first: IntArray
    second: IntArray
    posterior: JointPosterior
    k: int | None
    n_items: int


def consider(
    pool: Pool,
    candidates: Any,
    forbidden: Any,
    k: int | None,
    n_max_candidates: int,
    rng: np.random.Generator,
    criterion: str = "utilities",
    judges: Sequence[Any] = (),
) -> Considered:
    """Return candidates; forbidden pairs and repetitions are left out.

    ``judges`` are those who may be asked, if it matters who is.
    """
    n, copies = len(pool), max(1, len(judges))
    limit = max(1, check_count(n_max_candidates, "n_max_candidates", pool.owner) // copies)
    pairs = None if candidates is None else pool.pairs(candidates, "candidates")
    banned = np.zeros(0, dtype=np.int64)
    if forbidden is not None:
        banned = np.unique(pair_codes(*pool.pairs(forbidden, "forbidden"), n))
    if pairs is not None:
        codes, where = np.unique(pair_codes(*pairs, n), return_index=True)
        where = np.sort(where[~np.isin(codes, banned)])
        pairs = pairs[0][where], pairs[1][where]
    if pool.circles:
        first, second = _some(pool, n, *_of_circles(pool, pairs, banned, limit, max(1, MOST_PAIRS // copies), rng))
        asked = np.tile(first, copies), np.tile(second, copies), Panel.of_each(judges, first.shape[0])
        return Considered(first, second, pool.preferences(*asked), None, n)
    most = max(2, MOST_ITEMS // (1 + len(judges) * pool.tastes))
    if n <= most:
        numbers = np.arange(n)
    elif k is not None:
        numbers, k = _border(pool, k, most)
    elif pairs is not None:
        numbers = _of_best_pairs(pool, *pairs, most)
    else:
        numbers = _uncertain(pool, most, rng)
    known = pool.joint(numbers)
    place = np.full(n, -1, dtype=np.intp)
    place[numbers] = np.arange(numbers.shape[0])
    if pairs is not None:
        kept = (place[pairs[0]] >= 0) & (place[pairs[1]] >= 0)
        first, second = place[pairs[0][kept]], place[pairs[1][kept]]
    else:
        p = numbers.shape[0]
        low, high = place[banned // n], place[banned % n]
        kept = (low >= 0) & (high >= 0)
        without = np.sort(pair_codes(low[kept], high[kept], p))
        first, second = _choose(pool.model.likelihood_, *known, without, limit)
    first, second = _some(pool, n, first, second)
    asked = np.tile(first, copies), np.tile(second, copies), Panel.of_each(judges, first.shape[0])
    posterior = pool.questions(numbers, *asked, criterion, known)
    return Considered(numbers[first], numbers[second], posterior, k, numbers.shape[0])


def _some(pool: Pool, n: int, first: IntArray, second: IntArray) -> Pairs:
    if not first.size:
        raise DataError(code="no-pair-left", owner=pool.owner).says(
            f"no pair is left to compare among {n} items", "Forbid fewer pairs, or give more items or candidates"
        )
    return first, second


def _of_circles(
    pool: Pool, pairs: Pairs | None, banned: IntArray, limit: int, most: int, rng: np.random.Generator
) -> Pairs:
    """Return pairs where each is a value by itself: of many those that tell most alone."""
    n = len(pool)
    if pairs is None:
        few = int((1.0 + math.sqrt(1.0 + 8.0 * limit)) // 2)  # items with so many pairs
        items = np.arange(n) if n <= few else np.sort(rng.choice(n, max(few, 2), replace=False))
        low, high = np.triu_indices(items.shape[0], 1)
        pairs = items[low], items[high]
        kept = ~np.isin(pair_codes(*pairs, n), banned)
        pairs = pairs[0][kept], pairs[1][kept]
    if pairs[0].shape[0] <= most:
        return pairs
    gain = information(pool.model.likelihood_, *pool.pair_moments(*pairs))
    best = np.sort(np.argsort(-gain, kind="stable")[:most])
    return pairs[0][best], pairs[1][best]


def _uncertain(pool: Pool, most: int, rng: np.random.Generator) -> IntArray:
    _, std = pool.marginals()
    order = np.argsort(-std, kind="stable")
    half = most // 2
    return np.sort(np.concatenate([order[:half], rng.choice(order[half:], most - half, replace=False)]))


def _border(pool: Pool, k: int, most: int) -> tuple[IntArray, int]:
    mean, std = pool.marginals()
    sorted_means = np.sort(mean)[::-1]
    border = 0.5 * (sorted_means[k - 1] + sorted_means[k])
    distance = np.abs(mean - border) / np.maximum(std, np.finfo(np.float64).tiny)
    numbers = np.sort(np.argsort(distance, kind="stable")[:most])
    left_out = np.ones(len(pool), dtype=bool)
    left_out[numbers] = False
    # Items that are left out above the border are nearly certain to be in the top k.
    inner = k - int((mean[left_out] > border).sum())
    return numbers, min(max(inner, 1), most - 1)


def _of_best_pairs(pool: Pool, first: IntArray, second: IntArray, most: int) -> IntArray:
    gain = information(pool.model.likelihood_, *pool.pair_moments(first, second))
    order = np.argsort(-gain, kind="stable")
    sides = np.stack([first[order], second[order]], axis=1).ravel()
    _, where = np.unique(sides, return_index=True)
    # items in the order in which the best pairs bring them
    return np.sort(sides[np.sort(where)[:most]])


def _choose(
    likelihood: Any, mean: FloatArray, covariance: FloatArray, banned: IntArray, limit: int
) -> tuple[IntArray, IntArray]:
    p = mean.shape[0]
    if p * (p - 1) // 2 <= limit:
        first, second = np.triu_indices(p, 1)
        kept = ~np.isin(first.astype(np.int64) * p + second, banned)
        return first[kept], second[kept]
    wanted = max(1, limit // 2)
    partners = max(1, (limit - wanted) // p)
    best_codes, best_scores = np.zeros(0, dtype=np.int64), np.zeros(0)
    partner_codes = []
    diagonal = covariance.diagonal()
    everyone = np.arange(p)
    rows_at_once = max(1, _BLOCK // p)
    for start in range(0, p, rows_at_once):
        rows = everyone[start : start + rows_at_once]
        variance = np.maximum(diagonal[rows, None] + diagonal - 2.0 * covariance[rows], 0.0)
        score = _screen(likelihood, mean[rows, None] - mean, variance)
        codes = pair_codes(rows[:, None], everyone[None, :], p)
        score[np.isin(codes, banned) | (rows[:, None] == everyone)] = -np.inf
        own = np.argpartition(-score, min(partners, p - 1), axis=1)[:, :partners]
        kept = np.isfinite(np.take_along_axis(score, own, axis=1))
        partner_codes.append(np.take_along_axis(codes, own, axis=1)[kept])
        upper = (rows[:, None] < everyone) & np.isfinite(score)
        best_codes = np.concatenate([best_codes, codes[upper]])
        best_scores = np.concatenate([best_scores, score[upper]])
        if best_scores.size > wanted:
            top = np.argpartition(-best_scores, wanted)[:wanted]
            best_codes, best_scores = best_codes[top], best_scores[top]
    chosen = np.unique(np.concatenate([best_codes, *partner_codes]))
    return (chosen // p).astype(np.intp), (chosen % p).astype(np.intp)


def _screen(likelihood: Any, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return about the information of an outcome: normal noise, entropy given z as a bell curve."""
    if likelihood.normal:
        return variance
    # the normal noise under which P(first) rises as steeply between equals: φ(0) / noise = dP(first) / dz
    between_equals = likelihood.log_density(np.ones(1), np.zeros(1))
    noise = float(1.0 / (math.sqrt(2.0 * math.pi) * np.exp(between_equals.value) * between_equals.first)[0])
    m2, v = np.square(mean) / noise**2, variance / noise**2
    upset = ndtr(-np.sqrt(m2 / (1.0 + v)))
    entropy = -xlogy(upset, upset) - xlogy(1.0 - upset, 1.0 - upset)
    # the entropy given t is log 2 exp(-t² / (2 w)), w = π log(2) / 2, to second order at zero, and near it elsewhere
    w = 0.5 * math.pi * math.log(2.0)
    return np.asarray(entropy - math.log(2.0) * np.sqrt(w / (w + v)) * np.exp(-0.5 * m2 / (w + v)))


def check_k(k: Any, n_items: int, owner: str) -> int:
    """Return k, of which at least one item of the pool must be outside."""
    k = check_count(k, "k", owner)
    if k >= n_items:
        raise ValueError(
            f"{owner}: k={k}, but the pool has {n_items} items: all of them are the top {k}. Choose k below {n_items}."
        )
    return int(k)


CRITERIA = ("utilities", "preferences", "top_k")


def check_criterion(criterion: Any, k: Any, pool: Pool) -> tuple[str, int | None]:
    """Return what is to be learned, and k for "top_k"."""
    owner = pool.owner
    if criterion is None:
        criterion = "preferences" if pool.circles else "utilities"
    if criterion not in CRITERIA:
        raise ValueError(f'{owner}: criterion must be "utilities", "preferences" or "top_k"; got {criterion!r}.')
    if pool.circles and criterion != "preferences":
        raise ValueError(
            f"{owner}: criterion={criterion!r}, but the model has a cyclic part (cyclic_kernel): an outcome is about "
            'the preference between the two items, which no utilities explain. Use criterion="preferences", or fit '
            "with cyclic_kernel=None."
        )
    if criterion != "top_k":
        return criterion, None
    if k is None:
        raise ValueError(f'{owner}: criterion="top_k" needs k, the number of best items that matter.')
    return criterion, check_k(k, len(pool), owner)


def check_utilities(pool: Pool) -> None:
    """Raise where preferences may run in circles: there are no best items."""
    if pool.circles:
        raise TypeError(
            f"{pool.owner}: the model has a cyclic part, so that preferences may run in circles and there are no best "
            "items. Fit PreferenceGP with cyclic_kernel=None."
        )
