"""Where a search for hyperparameters starts."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from preflearn.inference.evidence import Evidence
from preflearn.inference.learn import Starts
from preflearn.inference.search import starts

__all__ = ["started"]


def started(model: Any, evidence: Evidence, start: Mapping[str, Any] | None, rng: Any, *, hold: bool) -> Starts:
    """Return the log parameters of an evidence, with those that ``start`` names replaced by its values, and others.

    With ``hold`` what ``start`` names stays there.
    """
    if not isinstance(hold, (bool, np.bool_)):
        raise TypeError(f"fit: hold is {hold!r}; it must be True or False.")
    if start is not None and not isinstance(start, Mapping):
        raise TypeError(
            f"fit: start is a {type(start).__name__}; give names and values, such as "
            "dict(zip(model.theta_names_, np.exp(model.theta_)))."
        )
    if start is not None and model.hyperparameters == "fixed":
        raise ValueError(
            'fit: start is where a search starts, and hyperparameters="fixed" is none. Give the kernel these values.'
        )
    if hold and not start:
        raise ValueError("fit: hold=True holds the parameters that start names; give start as well.")
    theta, bounds, names = evidence.theta, evidence.bounds, evidence.names
    for name, value in (start or {}).items():
        if name not in names:
            raise ValueError(f'fit: start has "{name}", which is not one of the free parameters ({", ".join(names)}).')
        if isinstance(value, (bool, np.bool_)) or not (isinstance(value, Real) and 0 < float(value) < np.inf):
            raise ValueError(
                f'fit: start has {value!r} for "{name}"; it must be a positive number (not its logarithm).'
            )
        place = names.index(name)
        low, high = bounds[place]
        theta[place] = np.clip(np.log(float(value)), low, high)
        if hold:
            if abs(theta[place] - np.log(float(value))) > 1e-9:
                raise ValueError(
                    f'fit: hold=True with {float(value):g} for "{name}", which is outside its bounds '
                    f"({np.exp(low):g} to {np.exp(high):g}). Give a value within them, or a kernel with wider bounds."
                )
            bounds[place] = theta[place]
    return Starts(starts(theta, bounds, model.n_restarts, rng), bounds)
