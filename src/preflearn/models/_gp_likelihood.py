"""The likelihood of a Gaussian process from outcomes, and the parameters that its evidence is asked at."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from preflearn.exceptions import DataWarning, first_few, warn_user
from preflearn.inference.methods import get_method
from preflearn.likelihoods import get_likelihood
from preflearn.operators import FloatArray

__all__ = ["likelihood_of"]

START_TIE = 0.3  # threshold that a search for it starts from, in units of the noise


def likelihood_of(
    owner: str, spec: Any, inference: str, outcome: FloatArray, weight: FloatArray | None, *, ties: bool = False
) -> tuple[Any, float]:
    """Return the likelihood that a parameter asks for, checked against the outcomes, and the square of utilities' unit.

    Margins come in some unit: bounds and starts of variances are in multiples of their mean square. Other outcomes have
    no unit; utilities are then in units of the noise.
    """
    likelihood: Any = get_likelihood(spec)
    if ties and hasattr(likelihood, "with_ties"):
        likelihood = likelihood.with_ties(START_TIE)
    if get_method(inference).log_concave_only and not likelihood.log_concave:
        raise ValueError(
            f"{owner}: {type(likelihood).__name__} is not log-concave, which Laplace's method needs. "
            'Use inference="ep".'
        )
    likelihood.check_outcomes(outcome if likelihood.margins else np.sign(outcome))
    if not likelihood.margins:
        shares = np.flatnonzero((np.abs(outcome) > 0) & (np.abs(outcome) < 1))
        if shares.size:
            warn_user(
                f"{owner}: {shares.size} of {outcome.size} outcomes lie between 0 and 1 in size (rows "
                f"{first_few(shares)}), of which {type(likelihood).__name__} sees the sign only: an average of 2 wins "
                "and 1 loss counts as 3 wins.\n  List wins and losses one by one, or with weights, or regress margins "
                'by likelihood="gaussian".',
                DataWarning,
            )
        return likelihood, 1.0
    square = float(np.average(np.square(outcome), weights=weight)) if np.sum(np.abs(outcome)) > 0 else 1.0
    if isinstance(spec, str):
        likelihood = replace(likelihood, precision=1.0 / square)
    return likelihood.in_unit(square), square
