"""The prior of a Gaussian process from comparisons: over items, or over pairs where preferences may run in circles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import ConstantKernel

from preflearn.data import Comparisons
from preflearn.exceptions import DataError
from preflearn.inference.design import Design, pair_operator
from preflearn.models._gp_kernel import VARIANCE, start_kernel
from preflearn.models._gp_warnings import warn_if_equal
from preflearn.operators import IntArray
from preflearn.priors import ItemPrior, PairPrior

__all__ = ["latents_of", "prior_of", "with_items"]

Pairs = tuple[IntArray, IntArray]

FEW_PAIRS = 0.8  # distinct pairs for each item below which pairs are the fewer latents, with room for their overhead


def latents_of(model: Any, ends: Pairs, n_items: int) -> tuple[Design, Pairs | None]:
    """Return what comparisons of these items see of the latents, and the pairs that are latents, if pairs are.

    Without a cyclic part the utilities of the items are latents, or their differences where there are fewer of these.
    """
    first, second = ends
    m = first.shape[0]
    distinct, place = np.unique(first * n_items + second, return_inverse=True)
    if model.cyclic_kernel is None and distinct.shape[0] > FEW_PAIRS * n_items:
        return Design(pair_operator(first, second, n_items)), None
    A = sp.csr_array((np.ones(m), place.ravel(), np.arange(m + 1)), shape=(m, distinct.shape[0]))
    return Design(A), (distinct // n_items, distinct % n_items)


def prior_of(model: Any, X: Comparisons, used: IntArray, pairs: Pairs | None) -> ItemPrior | PairPrior:
    """Return the prior that the model's parameters describe, over the items with these rows."""
    if pairs is None:
        return _item_prior(model, X, used, model.kernel, own_effect=model.own_effect)
    utility = cyclic = None
    if model.kernel is not None or model.cyclic_kernel is None:
        utility = _item_prior(model, X, used, model.kernel, own_effect=model.own_effect)
    elif model.own_effect:
        raise ValueError(
            "PreferenceGP: own_effect is a part of the utility, and with cyclic_kernel and kernel=None there is none. "
            'Give kernel="rbf" as well.'
        )
    if model.cyclic_kernel is not None:
        cyclic = _item_prior(model, X, used, model.cyclic_kernel, own_effect=False, cyclic=True)
    return PairPrior(utility, cyclic, pairs, used.shape[0])


def with_items(
    prior: ItemPrior | PairPrior, X: Comparisons, used: IntArray, pairs: Pairs | None
) -> ItemPrior | PairPrior:
    """Return the prior with its parameters, over other items."""

    def moved(part: ItemPrior | None) -> ItemPrior | None:
        rows = None if X.items is None else X.items[used]
        return None if part is None else replace(part, X=rows, n_items=used.shape[0])

    utility, cyclic = (prior, None) if isinstance(prior, ItemPrior) else (prior.utility, prior.cyclic)
    if pairs is not None:
        return PairPrior(moved(utility), moved(cyclic), pairs, used.shape[0])
    items = moved(utility)
    assert items is not None, "pairs are latents unless there are utilities"
    return items


def _item_prior(
    model: Any, X: Comparisons, used: IntArray, kernel: Any, *, own_effect: bool, cyclic: bool = False
) -> ItemPrior:
    # a cyclic part is made of products of two covariances
    unit = float(np.sqrt(model._unit)) if cyclic else model._unit
    start = unit * (1.0 if X.items is None else 0.1)
    bounds = VARIANCE[0] * unit, VARIANCE[1] * unit
    own = ConstantKernel(start, bounds) if own_effect or X.items is None else None
    if X.items is None:
        if isinstance(kernel, ConstantKernel):
            own = start_kernel("PreferenceGP", kernel, np.zeros((2, 1)), unit)
        elif kernel is not None:
            raise DataError(
                "PreferenceGP: the items have no features, so a kernel over features cannot be used. "
                "Give Comparisons an item table, or use kernel=None, or ConstantKernel() beside a cyclic_kernel."
            )
        return ItemPrior(None, None, own, used.shape[0])
    items = X.items[used]
    if not cyclic and not own_effect:
        warn_if_equal("PreferenceGP", items)
    return ItemPrior(items, start_kernel("PreferenceGP", kernel, items, unit), own, used.shape[0])
