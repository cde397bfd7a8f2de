"""The table of likelihoods that every contract test walks. A likelihood without a row here fails a test."""

from __future__ import annotations

import numpy as np

from preflearn.likelihoods import Davidson, Gaussian, Logit, Probit

LIKELIHOODS = [
    Probit(),
    Probit(scale=1.0),
    Probit(tie=0.3),
    Probit(scale=1.0, tie=0.01),
    Probit(scale=0.5, tie=3.0),
    Probit(tie=0.7, tie_fixed=True),
    Logit(),
    Logit(scale=3.0),
    Logit(tie=0.3),
    Logit(scale=2.0, tie=0.01),
    Logit(scale=0.5, tie=4.0),
    Logit(tie=0.7, tie_fixed=True),
    Gaussian(),
    Gaussian(precision=25.0),
    Gaussian(precision=0.04, fixed=True),
    Davidson(),
    Davidson(scale=2.0, tie=0.01),
    Davidson(scale=0.5, tie=50.0),
    Davidson(tie=0.7, tie_fixed=True),
]


def outcomes(likelihood):
    """Outcomes of every kind that the likelihood knows."""
    if isinstance(likelihood, Gaussian):
        return np.array([-2.5, 0.0, 1.0])
    return np.array([1.0, -1.0] if likelihood.tie is None else [1.0, 0.0, -1.0])


def crossed(*axes):
    """All combinations, as flat arrays."""
    return tuple(x.ravel() for x in np.meshgrid(*axes, indexing="ij"))


def slope(function, x, step):
    """Central difference of eighth order of an array-valued function."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    return sum(w * (function(x + k * step) - function(x - k * step)) for k, w in enumerate(weights, 1)) / step


def theta_step(likelihood):
    """Step in log space that moves a threshold by at most a fiftieth of the scale."""
    tie = getattr(likelihood, "tie", None)
    return 0.02 if tie is None else 0.02 * min(1.0, likelihood.scale / tie)
