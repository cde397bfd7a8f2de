"""Likelihoods by name."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.exceptions import DataError, DataWarning, first_few, nearest_names
from preflearn.likelihoods._contract import Likelihood
from preflearn.likelihoods.davidson import Davidson
from preflearn.likelihoods.flips import Flipped
from preflearn.likelihoods.gaussian import Gaussian
from preflearn.likelihoods.logit import Logit
from preflearn.likelihoods.threshold import Probit

START_TIE = 0.3  # threshold that a search for it starts from, in units of the noise

# The one list of likelihoods: estimators take these names, and model files hold objects of these classes.
_NAMED: dict[str, type[Likelihood]] = {
    "probit": Probit,
    "logit": Logit,
    "gaussian": Gaussian,
    "davidson": Davidson,
}

_NAMELESS: tuple[type[Likelihood], ...] = (Flipped,)  # not an estimator's option: EP alone can use it

LIKELIHOOD_NAMES: tuple[str, ...] = tuple(_NAMED)
LIKELIHOOD_CLASSES: tuple[type[Likelihood], ...] = (*_NAMED.values(), *_NAMELESS)

_QUESTIONS = {name for name in (*vars(Likelihood), *Likelihood.__annotations__) if not name.startswith("_")}


def get_likelihood(spec: str | Likelihood) -> Likelihood:
    """Return the likelihood of a name in ``LIKELIHOOD_NAMES``, with default parameters; a likelihood as it is.

    Examples
    --------
    >>> get_likelihood("logit")
    Logit(scale=1.0, tie=None, tie_fixed=False)
    >>> get_likelihood("probbit")
    Traceback (most recent call last):
        ...
    preflearn.exceptions.DataError: likelihood "probbit" is unknown (nearest names: "probit", "logit").
      Use a likelihood object or one of "probit", "logit", "gaussian", "davidson".
    """
    if isinstance(spec, str):
        if spec not in _NAMED:
            hint = nearest_names(spec, LIKELIHOOD_NAMES)
            names = ", ".join(f'"{name}"' for name in LIKELIHOOD_NAMES)
            raise DataError(code="unknown-likelihood").says(
                f'likelihood "{spec}" is unknown{f" ({hint})" if hint else ""}',
                f"Use a likelihood object or one of {names}",
            )
        return _NAMED[spec]()
    if isinstance(spec, type):
        raise TypeError(f"likelihood is the class {spec.__name__}; pass an object, {spec.__name__}().")
    missing = sorted(name for name in _QUESTIONS if not hasattr(spec, name))
    if not missing:
        return spec
    if hasattr(spec, "log_density"):
        raise TypeError(
            f"likelihood is a {type(spec).__name__}, which does not answer {', '.join(missing)}.\n"
            "  Answer all questions of preflearn.likelihoods.Likelihood."
        )
    raise TypeError(f"likelihood is a {type(spec).__name__}; pass a name or a likelihood object.")


def likelihood_of(
    owner: str, spec: Any, outcome: NDArray[np.float64], weight: NDArray[np.float64] | None, *, ties: bool = False
) -> tuple[Any, float]:
    """Return the checked likelihood of a parameter, and the square of utilities' unit: 1, or of the margins."""
    likelihood: Any = get_likelihood(spec)
    if ties:
        likelihood = likelihood.with_ties(START_TIE)
    likelihood.check_outcomes(outcome if likelihood.margins else np.sign(outcome))
    if not likelihood.margins:
        shares = np.flatnonzero((np.abs(outcome) > 0) & (np.abs(outcome) < 1))
        if shares.size:
            DataWarning(code="outcomes-between-zero-and-one", owner=owner).warn(
                f"{shares.size} of {outcome.size} outcomes lie between 0 and 1 in size (rows "
                f"{first_few(shares)}), and {type(likelihood).__name__} uses only the sign: an average of 2 "
                "wins and 1 loss counts as 3 wins",
                'List wins and losses one by one, or with weights, or regress margins by likelihood="gaussian"',
            )
        return likelihood, 1.0
    square = float(np.average(np.square(outcome), weights=weight)) if np.sum(np.abs(outcome)) > 0 else 1.0
    return likelihood.in_unit(square, start=isinstance(spec, str)), square
