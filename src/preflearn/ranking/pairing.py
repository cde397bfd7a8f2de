"""Whether items met others of about their own strength, and what that does to a prior that is learned.

In leagues, by matchmaking or on a ladder all differences that were seen are small. A variance of utilities that is
learned from these is too small for the sums of many of them along a chain, although the comparisons leave no doubt of
these: the evidence takes pairs for chosen at random, and does not know that the far ones were left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import chi2

from preflearn.data import Comparisons
from preflearn.models import BradleyTerry

__all__ = ["for_matched_pairs", "is_widened"]

MOST_ITEMS = 3_000  # beyond, no matrix of all items is held
WIDE = 100.0  # variance of a prior that decides nothing but that there is a maximum
ALIKE = 0.5  # squared differences of items that met, by those of all, below which pairs were chosen by strength
HARDLY = 0.05  # p-value below which the prior holds back what the comparisons say
ROUNDING = 1e-10


def for_matched_pairs(data: Comparisons, model: BradleyTerry) -> BradleyTerry:
    """Return the model, or one with a wider prior if pairs were chosen by strength and the learned one is too narrow.

    Parameters
    ----------
    data : Comparisons
        Of items without features.
    model : BradleyTerry
        Fitted to them, with a variance that was learned.

    Returns
    -------
    BradleyTerry
        Fitted; its ``prior`` is a number if it was widened: the sum of squares of utilities almost without a prior, at
        most 100, since all of it may lie in one direction, that of the chain.

    Notes
    -----
    Pairs were chosen by strength if items that met differ by less than half, in squares, of what all items do, by
    utilities almost without a prior. The learned prior is too narrow if these explain comparisons better than it allows
    for: twice the gain of log likelihood is about a sum of squares with variances 1 / (1 + λv), λ the eigenvalues of
    the information, if the prior N(0, vI) is right.

    Examples
    --------
    On a ladder of 15, on which only neighbours met, the upper one won three times of four: all steps are small, and the
    way from the first to the last is long.

    >>> import numpy as np
    >>> from preflearn import BradleyTerry, Comparisons
    >>> steps = np.arange(14)
    >>> first, second = np.concatenate([steps, steps + 1]), np.concatenate([steps + 1, steps])
    >>> ladder = Comparisons(15, first, second, weight=np.repeat([30, 10], 14))
    >>> narrow = BradleyTerry().fit(ladder)
    >>> wide = for_matched_pairs(ladder, narrow)
    >>> np.ptp(narrow.utility_) < 6 < np.ptp(wide.utility_)  # fourteen steps of log 3 are 15.4
    True
    """
    if not isinstance(model.prior, str) or not 2 < data.n_items <= MOST_ITEMS:
        return model
    free = BradleyTerry(model.link, WIDE, ties=model.ties).fit(data)
    part, used = data.parts(), data.used_items()
    f = free.utility_ - (np.bincount(part, free.utility_) / np.bincount(part))[part]
    weight = np.ones(len(data)) if data.weight is None else data.weight
    met = np.bincount(data.first, weight, data.n_items) + np.bincount(data.second, weight, data.n_items)
    spread = 2 * float(met @ f**2) / float(met.sum())  # mean square of differences, had pairs been drawn at random
    seen = float(weight @ np.square(f[data.first] - f[data.second])) / float(weight.sum())
    if seen >= ALIKE * spread or _allowed(data, weight, model, 2 * (free.log_likelihood_ - model.log_likelihood_)):
        return model
    variance = float(np.clip(np.sum(f[used] ** 2), model.prior_variance_, WIDE))
    wider: BradleyTerry = BradleyTerry(model.link, variance, ties=model.ties).fit(data)
    return wider


def is_widened(model: Any) -> bool:
    """Return whether a model has a prior that `for_matched_pairs` widened."""
    return isinstance(model, BradleyTerry) and isinstance(model.prior, float)


def _allowed(data: Comparisons, weight: Any, model: BradleyTerry, gain: float) -> bool:
    """Return whether the prior of a model lets so much of the likelihood be held back."""
    n, z = data.n_items, model.utility_[data.first] - model.utility_[data.second]
    information = -weight * model.likelihood_.log_density(np.sign(data.outcome), z).second
    L = np.zeros((n, n))
    np.add.at(L, (data.first, data.second), -information)
    L = L + L.T
    L.flat[:: n + 1] -= L.sum(axis=1)
    values = np.linalg.eigvalsh(L)
    share = 1.0 / (1.0 + values[values > ROUNDING * values[-1]] * model.prior_variance_)
    square = float(np.square(share).sum())
    return bool(chi2.sf(gain * share.sum() / square, share.sum() ** 2 / square) > HARDLY)
