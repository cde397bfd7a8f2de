"""What a file keeps of a model of matches between items, and how the model is made from that again."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, DataWarning
from preflearn.inference.average import HyperPosterior
from preflearn.models._evidence import few_threads, numbers
from preflearn.models._gp_likelihood import check_theta, likelihood_of
from preflearn.models._gp_state import check_points
from preflearn.models._pair_evidence import PairEvidence, PairSolution

__all__ = ["restore", "state_of"]


def state_of(model: Any) -> dict[str, Any]:
    """Return the comparisons, where the search ended, and the points that are averaged over."""
    points = getattr(model, "hyperposterior_", None)
    solutions = [] if points is None else [solution for _, solution in model._mixture]
    return {
        "comparisons": model.comparisons_,
        "theta": model.theta_,
        "utility": model._mode.f,
        "steps": model.n_iter_,
        "hyperposterior": points,
        "solutions": [(solution.mode.f, int(solution.mode.info.steps)) for solution in solutions],
    }


def restore(model: Any, state: dict[str, Any]) -> None:
    """Make a model with parameters a fitted one; DataError or another error if the parts do not belong together."""
    model._validate_params()
    X, f = state["comparisons"], numbers(state["utility"], "utilities")
    if not isinstance(X, Comparisons) or f.shape != (X.n_items,):
        raise DataError("the utilities are not those of the items")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of the data: said when it was fitted
        warnings.simplefilter("ignore", ConvergenceWarning)
        matches = model._read(X)
        likelihood, _ = likelihood_of("BradleyTerry", model.link, "laplace", X.outcome, X.weight, ties=model.ties)
        evidence = PairEvidence.start(matches, likelihood, model.prior, model._dense)
        theta = check_theta("theta", state["theta"], evidence.names)
        points = check_points(state["hyperposterior"], evidence.names)
        if points is not None and (model.hyperparameters != "average" or X.n_items > model._dense):
            raise DataError("there are points of the hyperparameters, which the parameters do not speak of")
        with few_threads(X.n_items):
            found = evidence.again(theta, f, int(state["steps"]))
            averaged = None if points is None else (points, _solutions(evidence, points, state["solutions"]))
            model._evidence = evidence
            model._keep(X, found, averaged)


def _solutions(evidence: PairEvidence, points: HyperPosterior, kept: Any) -> list[PairSolution]:
    n = evidence.matches.graph.n_items
    found = []
    for theta, (f, steps) in zip(points.theta, kept, strict=True):
        if numbers(f, "utilities").shape != (n,):
            raise DataError("the utilities of a point are not those of the items")
        found.append(evidence.again(theta, f, int(steps)))
    return found
