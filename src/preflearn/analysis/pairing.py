"""Whether items met others of about their own strength, and what that does to a prior that is learned.

In leagues, by matchmaking or on a ladder all differences that were seen are small. A variance of utilities that is
learned from these is too small for the sums of many of them along a chain, although the comparisons leave no doubt of
these: the evidence takes pairs for chosen at random, and does not know that the far ones were left out.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from preflearn.analysis.limits import LIMITS, Limits
from preflearn.data import Comparisons
from preflearn.models import BradleyTerry

WIDE = 100.0  # variance of a prior that decides nothing but that there is a maximum
SIMULATIONS = 19  # of what a prior holds back


def for_matched_pairs(data: Comparisons, model: BradleyTerry, limits: Limits = LIMITS) -> BradleyTerry:
    """Return the model, or one with a wider prior if pairs were chosen by strength and the learned one is too narrow.

    Pairs were chosen by strength if items that met differ by less than 40 %, in squares, of what all items do, by
    utilities almost without a prior. The learned prior is too narrow if these explain comparisons better than it allows
    for, by simulation; its variance is then multiplied by four until it holds back no more than it does in simulations,
    and is a number in the model that is returned. Where pairs were not chosen by strength the evidence is right, and
    nothing is simulated.
    """
    if not isinstance(model.prior, str) or not 2 < data.n_items <= limits.matched_items:
        return model
    free = BradleyTerry(model.link, WIDE, ties=model.ties).fit(data)
    part = data.parts()
    f = free.utility_ - (np.bincount(part, free.utility_) / np.bincount(part))[part]
    weight = np.ones(len(data)) if data.weight is None else data.weight
    met = np.bincount(data.first, weight, data.n_items) + np.bincount(data.second, weight, data.n_items)
    spread = 2 * float(met @ f**2) / float(met.sum())  # mean square of differences, had pairs been drawn at random
    seen = float(weight @ np.square(f[data.first] - f[data.second])) / float(weight.sum())
    if seen >= limits.matched_share * spread:
        return model
    variance, too_much = cast(float, model.prior_variance_), limits.matched_deviations
    while variance < WIDE / 4 and _excess(data, model, variance, free.log_likelihood_) > too_much:
        variance, too_much = 4 * variance, 0.0
        model = BradleyTerry(model.link, variance, ties=model.ties).fit(data)
    return model


def is_widened(model: Any) -> bool:
    """Return whether a model has a prior that `for_matched_pairs` widened."""
    return isinstance(model, BradleyTerry) and isinstance(model.prior, float)


def _excess(data: Comparisons, model: BradleyTerry, variance: float, highest: float) -> float:
    """Return by how many deviations a model holds back more of the highest log likelihood than simulations do.

    Utilities are drawn from its prior, and outcomes of the same comparisons from these.
    """
    rng = np.random.default_rng(0)
    first, second = data.pairs.low, data.pairs.high
    times = np.maximum(np.round(data.pairs.count), 1).astype(np.int64)
    sides = np.tile(first, 3), np.tile(second, 3), np.repeat([1.0, 0.0, -1.0], len(first))
    held = []
    for _ in range(SIMULATIONS):
        f = np.sqrt(variance) * rng.standard_normal(data.n_items)
        share = model.likelihood_.probability(f[first] - f[second], np.zeros(len(first)))  # first, tie, second
        counts = rng.multinomial(times, share / share.sum(axis=1, keepdims=True)).T.ravel()
        drawn = Comparisons(data.n_items, *(side[counts > 0] for side in sides), weight=counts[counts > 0])
        narrow, free = (BradleyTerry(model.link, v, ties=model.ties).fit(drawn) for v in (variance, WIDE))
        held.append(free.log_likelihood_ - narrow.log_likelihood_)
    return float((highest - model.log_likelihood_ - np.mean(held)) / max(float(np.std(held)), 1e-9))
