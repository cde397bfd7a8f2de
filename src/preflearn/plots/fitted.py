"""What pictures ask of a fitted model: its training items, and the names of features and hyperparameters."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from preflearn.exceptions import first_few, nearest_names
from preflearn.items import as_items

FloatArray = NDArray[np.float64]


def check_level(level: float, caller: str) -> None:
    """Refuse what is not a probability of an interval."""
    if not 0 < level < 1:
        raise ValueError(f"{caller}: level is {level!r}; it must lie between 0 and 1, such as 0.95.")


def require(model: Any, caller: str, *methods: str) -> None:
    """Refuse what is not a fitted model with these methods."""
    missing = [name for name in methods if not hasattr(model, name)]
    if missing or isinstance(model, type):
        raise TypeError(
            f"{caller}: give a fitted PreferenceGP; {type(model).__name__} has no {first_few(missing)}."
            if missing
            else f"{caller}: model is the class {model.__name__}; pass a fitted object."
        )
    check_is_fitted(model)


def training_items(model: Any, items: Any, caller: str) -> FloatArray:
    """Return the items to learn ranges and medians from, (n, d): those given (or of Comparisons), or of training."""
    table = model.comparisons_ if items is None else items
    if hasattr(table, "used_items"):
        table = None if table.items is None else table.items[table.used_items()]
    if table is None:
        raise ValueError(
            f"{caller}: the items have no features, so there is nothing to draw along. "
            "Use plot_ranking for the utilities of items by name."
        )
    if not as_items(table).one_row_each:
        raise ValueError(
            f"{caller}: the items are bags of points, which have no single value of a feature to draw along. Use "
            "plot_ranking for the utilities of items."
        )
    dense = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
    if dense.ndim != 2 or not dense.shape[0] or dense.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{caller}: items have shape {dense.shape}, but the model was fitted on {model.n_features_in_} features. "
            "Give one row per item with the columns of training."
        )
    return dense


def feature_names(model: Any, n_features: int) -> list[str]:
    """Return the names of the features, or "feature 0", "feature 1", ..."""
    known = getattr(model, "feature_names_in_", None)
    return [f"feature {k}" for k in range(n_features)] if known is None else [str(name) for name in known]


def column_of(which: Any, names: list[str], caller: str, argument: str) -> int:
    """Return the number of a column given as number or name."""
    if isinstance(which, str):
        if which in names:
            return names.index(which)
        hint = nearest_names(which, names) or f"names: {first_few(names, 6)}"
        raise ValueError(f'{caller}: {argument}="{which}" is not known ({hint}).')
    if isinstance(which, bool) or not isinstance(which, int | np.integer):
        raise TypeError(f"{caller}: {argument} must be a number or a name; got {which!r}.")
    if not -len(names) <= which < len(names):
        raise ValueError(f"{caller}: {argument}={which}, but there are {len(names)} (0 to {len(names) - 1}).")
    return int(which) % len(names)


def parameter_names(model: Any) -> list[str]:
    """Return a name for every entry of ``theta_``, all different: with the features' names, and "variance"."""
    features = feature_names(model, getattr(model, "n_features_in_", 0))
    names = []
    for known in model.theta_names_:
        what, _, number = known.rpartition(" ")
        if what == "length scale" and number.isdecimal() and int(number) < len(features):
            known = f"length scale of {features[int(number)]}"
        if getattr(model, "featureless_", False):
            known = known.removeprefix("own effect ")  # there is no other
        names.append(known.replace("constant value", "variance"))
    return [name if names.count(name) == 1 else f"{name} ({k})" for k, name in enumerate(names)]
