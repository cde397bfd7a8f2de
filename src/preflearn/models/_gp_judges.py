"""Judges, clusters and covariates that a fitted model is asked about."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.data import Comparisons
from preflearn.data.join import join_judges
from preflearn.exceptions import DataError, first_few, nearest_names
from preflearn.models._gp_terms import judge_parts
from preflearn.operators import FloatArray, IntArray
from preflearn.terms import POPULATION, UNKNOWN, Who

__all__ = ["asked_by", "asked_of", "clusters_of", "covariates_of"]


def clusters_of(model: Any, X: Comparisons) -> IntArray | None:
    """Return the cluster of each of some comparisons; None where the model does not tell clusters apart."""
    if not model.cluster:
        return None
    if X.cluster is None:
        return np.full(len(X), UNKNOWN)
    place = {name: number for number, name in enumerate(model.clusters_)}
    return np.array([place.get(name, UNKNOWN) for name in X.cluster.tolist()], dtype=np.intp)


def covariates_of(model: Any, X: Comparisons) -> FloatArray | None:
    """Return the covariates of some comparisons, columns as in training; None where they are equal, or do not count."""
    known = model.comparisons_.covariates
    if X.covariates is None or known is None or not getattr(model, "covariates", False):
        return None
    names, wanted = X.covariate_names, model.comparisons_.covariate_names
    if names is not None and wanted is not None and set(names) == set(wanted):
        return np.asarray(X.covariates[:, [names.index(name) for name in wanted]])
    if X.covariates.shape[1] != known.shape[1] or (names is not None and wanted is not None):
        what = f"{known.shape[1]} columns" if wanted is None else ", ".join(f'"{name}"' for name in wanted)
        raise DataError(
            f"give the covariates of training ({what}); these comparisons have "
            f"{X.covariates.shape[1] if names is None else first_few(list(names))}",
            "Or give none, for equal ones",
            code="covariates-of-training-lacking",
            owner=type(model).__name__,
        )
    return X.covariates


def asked_of(model: Any, X: Comparisons) -> Who | None:
    """Return who is asked in each of some comparisons; None where the model does not tell judges apart."""
    if not model._knows_judges:
        return None
    if X.judge is None:
        return Who(np.full(len(X), UNKNOWN))
    place: dict[Any, int] = {name: number for number, name in enumerate(model.judges_)}
    labels = list(dict.fromkeys(X.judge.tolist()))
    written = {str(name): name for name in model.judges_}
    alike = [label for label in labels if label not in place and str(label) in written]
    if alike:
        raise DataError(
            f"judge {alike[0]!r} is not among those of training, but {written[str(alike[0])]!r} is",
            "Write judges as words or as numbers, the same way as in training",
            code="judge-written-differently",
            owner=type(model).__name__,
        )
    features = None
    if _by_features(model) and X.judges is not None:
        table: Any = join_judges(model.comparisons_.judges, X.judges, type(model).__name__)
        features, first = table.values, model._choice.n_judges
        for row, name in enumerate(table.names):
            place.setdefault(name, first + row)
    return Who(np.array([place.get(name, UNKNOWN) for name in X.judge.tolist()], dtype=np.intp), features)


def asked_by(model: Any, judge: Any, count: int, owner: str) -> Who | None:
    """Return one judge, or without a name the population, as the one who is asked about everything."""
    knows = model._knows_judges
    if judge is None:
        return Who(np.full(count, POPULATION)) if knows else None
    if not knows:
        raise ValueError(
            f"{owner}: judge={judge!r}: the model does not tell judges apart. Fit it with "
            'PreferenceGP(judge_kernel="identity").'
        )
    names = list(model.judges_)
    if judge in names:
        return Who(np.full(count, names.index(judge)))
    table = model.comparisons_.judges
    if _by_features(model) and table is not None and judge in list(table.names):
        number = model._choice.n_judges + list(table.names).index(judge)  # known by its features alone
        return Who(np.full(count, number), table.values)
    hint = nearest_names(str(judge), [repr(name) for name in names])
    raise DataError(
        f"judge {judge!r} is not among the {len(names)} of training{'; ' + hint if hint else ''}",
        "Leave judge=None for the population that judges come from",
        code="judge-unknown",
        owner=owner,
    )


def _by_features(model: Any) -> bool:
    return model.judge_kernel is not None and judge_parts(model.judge_kernel)[1] is not None
