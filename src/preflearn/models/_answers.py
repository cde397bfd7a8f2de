"""Moments of new utilities and preferences under one solution, whatever prior it has."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.inference import judges
from preflearn.inference.design import pair_operator
from preflearn.inference.pair_effects import EffectPosterior
from preflearn.models._evidence import Solution
from preflearn.operators import FloatArray, IntArray
from preflearn.priors import UNKNOWN, Asked, Items, JudgeKernelPrior, JudgePrior, PairParts

__all__ = ["base_prior", "item_joint", "item_moments", "mean_joint", "pair_joint", "pair_moments"]

BLOCK = 2**22  # covariances between new and training latents that are held at a time

Moments = tuple[FloatArray, FloatArray]


def base_prior(prior: Any) -> Any:
    """Return the prior of what is compared, without the judges who compare."""
    return prior.base if isinstance(prior, JudgePrior | JudgeKernelPrior) else prior


def item_moments(s: Solution, new: Items, asked: Asked | None) -> Moments:
    """Return means and variances (p,) of utilities of items."""
    prior = base_prior(s.prior)
    return _moments(s, prior.cross(new), prior.variance(new), asked)


def item_joint(s: Solution, new: Items, asked: Asked | None) -> Moments:
    """Return means (p,) and covariance (p, p) of utilities of items, all asked of one judge."""
    prior = base_prior(s.prior)
    return _joint(s, prior.cross(new), prior.covariance(new), asked)


def pair_joint(s: Solution, new: Items, pairs: tuple[IntArray, IntArray], asked: Asked | None) -> Moments:
    """Return means (p,) and covariance (p, p) of preferences between pairs of items, all asked of one judge."""
    prior = base_prior(s.prior)
    return _joint(s, prior.cross_pairs(new, pairs), prior.pair_covariance(new, pairs), asked)


def mean_joint(s: Solution, new: Items, asked: Asked | None) -> Moments:
    """Return means (p,) and covariance (p, p) of how much items are preferred to all of them, asked of one judge."""
    prior = base_prior(s.prior)
    if isinstance(s.posterior, EffectPosterior):
        return s.posterior.means(prior.cross_means(new))
    return _joint(s, prior.cross_means(new), prior.mean_covariance(new), asked)


def pair_moments(s: Solution, new: Items, pairs: tuple[IntArray, IntArray], asked: Asked | None, total: int) -> Moments:
    """Return means and variances (p,) of preferences between pairs of items, some of ``total``."""
    prior = base_prior(s.prior)
    low, high = pairs
    if not low.shape[0]:
        return np.zeros(0), np.zeros(0)
    if isinstance(s.posterior, EffectPosterior):
        return s.posterior.pairs(prior.cross_pairs(new, pairs), total)
    variance = prior.difference_variance(new, low, high)
    if isinstance(prior, PairParts):

        def cross(rows: slice) -> FloatArray:
            return np.asarray(prior.cross_pairs(new, (low[rows], high[rows])))
    else:
        operator, Q = pair_operator(low, high, len(new.number)), prior.cross(new)
        if asked is None:  # the few items are quicker than the many pairs
            return s.posterior.moments(Q, variance, operator, total=total)

        def cross(rows: slice) -> FloatArray:
            return np.asarray(operator[rows] @ Q)

    parts = []
    step = max(1, BLOCK // s.posterior.a.shape[0])
    for start in range(0, low.shape[0], step):
        rows = slice(start, start + step)
        who = None if asked is None else Asked(asked.number[rows], asked.X)
        parts.append(_moments(s, cross(rows), variance[rows], who, total))
    return np.concatenate([m for m, _ in parts]), np.concatenate([v for _, v in parts])


def _moments(s: Solution, Q: FloatArray, variance: FloatArray, asked: Asked | None, total: int = 0) -> Moments:
    if isinstance(s.prior, JudgeKernelPrior) and asked is not None:
        return s.posterior.moments(s.prior.cross(Q, asked), variance * s.prior.self_similarity(asked), total=total)
    if isinstance(s.prior, JudgePrior) and asked is not None:
        mean, spread = judges.moments(s.posterior, Q, variance, asked.number)
        own = np.where(asked.number == UNKNOWN, float(s.prior.share.constant_value), 0.0)
        return mean, spread + own * variance
    return s.posterior.moments(Q, variance, total=total)


def _joint(s: Solution, Q: FloatArray, covariance: FloatArray, asked: Asked | None) -> Moments:
    if asked is None or not asked.number.shape[0]:
        return s.posterior.joint(Q, covariance)
    one = Asked(asked.number[:1], asked.X)
    if isinstance(s.prior, JudgeKernelPrior):
        return s.posterior.joint(s.prior.cross(Q, one), covariance * s.prior.self_similarity(one))
    return judges.joint(s.posterior, Q, covariance, int(one.number[0]))
