"""What a file keeps of a model of matches between items, and how the model is made from that again."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, DataWarning
from preflearn.inference.learn import check_points, check_theta
from preflearn.inference.threads import few_threads

__all__ = ["restore", "state_of"]


def state_of(model: Any) -> dict[str, Any]:
    """Return the comparisons, where the search ended, and the points that are averaged over."""
    points = getattr(model, "hyperposterior_", None)
    solutions = [model._mode] if points is None else [model._mode, *(solution.mode for _, solution in model._mixture)]
    return {
        "comparisons": model.comparisons_,
        "theta": model.theta_,
        "hyperposterior": points,
        "solutions": [mode.kept() for mode in solutions],
    }


def restore(model: Any, state: dict[str, Any]) -> None:
    """Make a model with parameters a fitted one; DataError or another error if the parts do not belong together."""
    model._validate_params()
    X = state["comparisons"]
    if not isinstance(X, Comparisons):
        raise DataError("there are no comparisons")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of the data: said when it was fitted
        warnings.simplefilter("ignore", ConvergenceWarning)
        evidence = model._evidence_of(X)
        theta = check_theta("theta", state["theta"], evidence.names)
        points = check_points(state["hyperposterior"], evidence.names)
        if points is not None and (model.hyperparameters != "average" or X.n_items > model._dense):
            raise DataError("there are points of the hyperparameters, which the parameters do not speak of")
        every = [theta] if points is None else [theta, *points.theta]
        with few_threads(X.n_items):
            found = [evidence.again(one, kept) for one, kept in zip(every, state["solutions"], strict=True)]
            model._keep(X, evidence, found[0], None if points is None else (points, found[1:]))
