"""New items for a fitted estimator, matched with those of training by name."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, first_few, nearest_names
from preflearn.items import as_items
from preflearn.models._input import identity

__all__ = ["check_kind", "item_table", "match_columns"]


def item_table(estimator: Any, comparisons: Comparisons) -> Any:
    """Return the features of the items of comparisons that are to be predicted, matched by name."""
    check_is_fitted(estimator)
    owner = type(estimator).__name__
    X, wanted = comparisons.items, estimator.n_features_in_
    known = getattr(estimator, "item_names_", None)
    if X is not None:
        if getattr(estimator, "featureless_", False):
            raise DataError(
                "the model was fitted on items without features; give the same kind of items.",
                code="trained-without-features",
                owner=owner,
            )
        return match_columns(estimator, X, comparisons.feature_names)
    if not getattr(estimator, "featureless_", False):
        raise DataError(
            f"the items have no features, but the model was fitted on {wanted}",
            "Give Comparisons an item table",
            code="trained-with-features",
            owner=owner,
        )
    if known is None and comparisons.names is not None:
        raise DataError(
            "the model was fitted on numbered items and these have names, so which is which is not known",
            "Give names in training, or row numbers here",
            code="trained-on-numbered-items",
            owner=owner,
        )
    if known is not None and comparisons.names is not None:
        place = {name: row for row, name in enumerate(known)}
        unknown = [name for name in comparisons.names if name not in place]
        if unknown:
            hint = nearest_names(str(unknown[0]), map(str, known))
            raise DataError(
                f"{len(unknown)} of {comparisons.n_items} items were not seen in training (names "
                f"{first_few(unknown)}{'; ' + hint if hint else ''})",
                "Without features only items seen in training can be compared",
                code="items-not-in-training",
                owner=owner,
            )
        return identity(wanted)[[place[name] for name in comparisons.names]]
    if comparisons.n_items != wanted:
        raise DataError(
            f"the comparisons have {comparisons.n_items} items without features, but the model was fitted on {wanted}",
            "Without features only the items seen in training can be compared",
            code="item-count-of-training",
            owner=owner,
        )
    return identity(wanted)


def check_kind(estimator: Any, X: Any) -> None:
    """Raise unless new items are bags where those of training were, and rows where they were rows."""
    owner, bags = type(estimator).__name__, getattr(estimator, "on_bags_", False)
    rows = as_items(X).one_row_each
    if bags and rows:
        raise DataError(
            "the model was fitted on Bags and got a table with one row per item",
            "Give Bags; a row alone is a bag of one point: Bags(table[:, None, :])",
            code="trained-on-bags",
            owner=owner,
        )
    if not bags and not rows:
        raise DataError(
            "the model was fitted on a table with one row per item and got Bags",
            "Fit it on Bags, or give bags.means() if the rows of training were means",
            code="trained-on-rows",
            owner=owner,
        )


def match_columns(estimator: Any, X: Any, names: Any) -> Any:
    """Return X with its columns in the order of training, by name where both have names."""
    owner, wanted = type(estimator).__name__, estimator.n_features_in_
    check_kind(estimator, X)
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and names is not None and list(names) != list(known):
        missing = [name for name in known if name not in set(names)]
        if missing:
            raise DataError(
                f"{len(missing)} of the {wanted} features of training are missing (columns {first_few(missing)})",
                "Give the same columns as in training",
                code="features-of-training-missing",
                owner=owner,
            )
        place = {name: column for column, name in enumerate(names)}
        return X[:, [place[name] for name in known]]
    if X.shape[1] != wanted:
        raise DataError(
            f"the items have {X.shape[1]} features, but the model was fitted on {wanted}",
            "Give the same columns in the same order as in training",
            code="feature-count-of-training",
            owner=owner,
        )
    return X
