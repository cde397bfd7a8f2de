"""Which items and which pairs are looked at, where a pool has more than can be.

All pairs of a pool are candidates while there are at most as many as the limit. Beyond that:

- of more than 2,000 items 2,000 are considered: half those with the most uncertain utility and half at random; or,
  about the top k, those nearest to its border (distance of the mean from the border, in standard deviations);
- of their pairs, half of the limit are the most informative ones by a formula in closed form, and half are every
  item's best partners, so that a batch does not run out of items. Pairs are screened in blocks of rows: memory grows
  with the limit, not with the number of pairs.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtr, xlogy

from preflearn.active._outcome_information import information
from preflearn.active._pool import Pool, pair_codes
from preflearn.exceptions import DataError
from preflearn.operators import FloatArray, IntArray

__all__ = ["Considered", "consider"]

MOST_ITEMS = 2_000
_BLOCK = 1 << 20


class Considered(NamedTuple):
    """Items that are considered (numbers in the pool), their joint posterior, and candidate pairs of them."""

    numbers: IntArray
    mean: FloatArray
    covariance: FloatArray
    first: IntArray  # places in ``numbers``
    second: IntArray
    k: int | None


def consider(
    pool: Pool,
    candidates: tuple[IntArray, IntArray] | None,
    forbidden: tuple[IntArray, IntArray] | None,
    k: int | None,
    limit: int,
    rng: np.random.Generator,
) -> Considered:
    """Return items and candidate pairs; forbidden pairs and repetitions are left out."""
    n = len(pool)
    banned = np.zeros(0, dtype=np.int64) if forbidden is None else np.unique(pair_codes(*forbidden, n))
    pairs = None if candidates is None else _distinct(candidates, banned, n)
    if n <= MOST_ITEMS:
        numbers = np.arange(n)
    elif k is not None:
        numbers, k = _border(pool, k)
    elif pairs is not None:
        numbers = _of_best_pairs(pool, *pairs)
    else:
        numbers = _uncertain(pool, rng)
    mean, covariance = pool.joint(numbers)
    place = np.full(n, -1, dtype=np.intp)
    place[numbers] = np.arange(numbers.shape[0])
    if pairs is not None:
        kept = (place[pairs[0]] >= 0) & (place[pairs[1]] >= 0)
        first, second = place[pairs[0][kept]], place[pairs[1][kept]]
    else:
        p = numbers.shape[0]
        low, high = place[banned // n], place[banned % n]
        kept = (low >= 0) & (high >= 0)
        first, second = _choose(
            pool.model.likelihood_, mean, covariance, np.sort(pair_codes(low[kept], high[kept], p)), limit
        )
    if not first.size:
        raise DataError(
            f"no pair is left to compare among {n} items",
            "Forbid fewer pairs, or give more items or candidates",
            code="no-pair-left",
            owner=pool.owner,
        )
    return Considered(numbers, mean, covariance, first, second, k)


def _distinct(pairs: tuple[IntArray, IntArray], banned: IntArray, n: int) -> tuple[IntArray, IntArray]:
    codes, where = np.unique(pair_codes(*pairs, n), return_index=True)
    where = np.sort(where[~np.isin(codes, banned)])
    return pairs[0][where], pairs[1][where]


def _uncertain(pool: Pool, rng: np.random.Generator) -> IntArray:
    _, std = pool.marginals()
    order = np.argsort(-std, kind="stable")
    half = MOST_ITEMS // 2
    return np.sort(np.concatenate([order[:half], rng.choice(order[half:], MOST_ITEMS - half, replace=False)]))


def _border(pool: Pool, k: int) -> tuple[IntArray, int]:
    mean, std = pool.marginals()
    sorted_means = np.sort(mean)[::-1]
    border = 0.5 * (sorted_means[k - 1] + sorted_means[k])
    distance = np.abs(mean - border) / np.maximum(std, np.finfo(np.float64).tiny)
    numbers = np.sort(np.argsort(distance, kind="stable")[:MOST_ITEMS])
    left_out = np.ones(len(pool), dtype=bool)
    left_out[numbers] = False
    # Items left out above the border belong to the top k, as nearly as anything is certain here.
    inner = k - int((mean[left_out] > border).sum())
    return numbers, min(max(inner, 1), MOST_ITEMS - 1)


def _of_best_pairs(pool: Pool, first: IntArray, second: IntArray) -> IntArray:
    gain = information(pool.model.likelihood_, *pool.pair_moments(first, second))
    order = np.argsort(-gain, kind="stable")
    sides = np.stack([first[order], second[order]], axis=1).ravel()
    _, where = np.unique(sides, return_index=True)
    # items in the order in which the best pairs bring them
    return np.sort(sides[np.sort(where)[:MOST_ITEMS]])


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
