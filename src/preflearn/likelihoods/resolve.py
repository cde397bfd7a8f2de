"""Likelihoods by name."""

from __future__ import annotations

from collections.abc import Callable

from preflearn.exceptions import DataError, nearest_names
from preflearn.likelihoods._contract import Likelihood
from preflearn.likelihoods.davidson import Davidson
from preflearn.likelihoods.gaussian import Gaussian
from preflearn.likelihoods.logit import Logit
from preflearn.likelihoods.probit import Probit

__all__ = ["LIKELIHOOD_NAMES", "get_likelihood"]

_BUILDERS: dict[str, Callable[[], Likelihood]] = {
    "probit": Probit,
    "logit": Logit,
    "gaussian": Gaussian,
    "davidson": Davidson,
}

LIKELIHOOD_NAMES: tuple[str, ...] = tuple(_BUILDERS)


def get_likelihood(spec: str | Likelihood) -> Likelihood:
    """Return a likelihood for a name or a likelihood.

    Parameters
    ----------
    spec : str or Likelihood
        A name in ``LIKELIHOOD_NAMES``, for that likelihood with its default parameters, or a likelihood, which is
        returned as it is.

    Returns
    -------
    likelihood : Likelihood

    Raises
    ------
    DataError
        For an unknown name; the message lists the names.
    TypeError
        For anything that is neither a name nor a likelihood.

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
        if spec not in _BUILDERS:
            hint = nearest_names(spec, LIKELIHOOD_NAMES)
            names = ", ".join(f'"{name}"' for name in LIKELIHOOD_NAMES)
            raise DataError(
                f'likelihood "{spec}" is unknown{f" ({hint})" if hint else ""}.\n'
                f"  Use a likelihood object or one of {names}."
            )
        return _BUILDERS[spec]()
    if isinstance(spec, type):
        raise TypeError(f"likelihood is the class {spec.__name__}; pass an object, {spec.__name__}().")
    if isinstance(spec, Likelihood):
        return spec
    raise TypeError(f"likelihood is a {type(spec).__name__}; pass a name or a likelihood object.")
