"""The prior of a Gaussian process from comparisons: over items, or over pairs where preferences may run in circles."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import ConstantKernel

from preflearn.data import Comparisons
from preflearn.exceptions import DataError
from preflearn.inference.design import Design, pair_operator
from preflearn.inference.features import FeatureDesign
from preflearn.inference.pair_effects import EffectDesign, EffectFactor
from preflearn.models._answers import base_prior
from preflearn.models._evidence import few_threads
from preflearn.models._gp_judges import with_judges
from preflearn.models._gp_kernel import VARIANCE, start_kernel
from preflearn.models._gp_warnings import warn_if_equal
from preflearn.operators import FloatArray, IntArray
from preflearn.priors import ItemPrior, PairEffectPrior, PairParts, PairPrior, SkewBasis, SkewBasisPrior, SkewRestPrior

__all__ = ["Kind", "by_functions", "kind_of", "problem_as", "problem_of", "warm_start", "with_rest"]

Pairs = tuple[IntArray, IntArray]

Kind = Literal["items", "pairs", "effects", "functions"]  # what the latents are
Parts = tuple[ItemPrior | None, ItemPrior | None]
Prior = ItemPrior | PairParts

# Distinct pairs from which on skew functions are tried, and beyond which the covariance of pairs is not held at all.
BASIS_FROM, MANY_PAIRS = 500, 5_000
# As many functions as lose at most this share of the variance, between these numbers; or the pairs themselves, where
# as many as there may be lose too much. What is lost costs evidence for each statement: of more than these, less.
LEAST_FUNCTIONS, MOST_FUNCTIONS, LOST, TOO_MUCH = 200, 1_000, 0.01, 0.02
FEW_STATEMENTS = 2_000
FEW_FUNCTIONS = 200  # most of a search that ends with all pairs, or may do so
DENSE_COST = 3.0  # of one evaluation over pairs, in cubes of their number
FEW_PAIRS = 0.8  # distinct pairs for each item below which pairs are the fewer latents, with room for their overhead


def problem_of(
    model: Any, X: Comparisons, used: IntArray, ends: Pairs, judge: IntArray | None, known: Any
) -> tuple[Any, Any]:
    """Return the prior over latents, and the design that says what comparisons of these items see of them.

    Latents are the utilities of the items, or without a cyclic part the differences of compared pairs where there are
    fewer of these; with one, the distinct pairs, or, where these are many, utilities and weights of skew functions, or
    for items without features effects of pairs. With ``judge``, the number of each comparison's judge, there are those
    of the judges besides. ``known`` is a prior whose parameters are taken over, or None.
    """
    utility, cyclic = _parts(model, X, used) if known is None else _moved(base_prior(known), X, used)
    first, second = ends
    n, m = used.shape[0], first.shape[0]
    n_pairs = np.unique(first * n + second).shape[0]
    kind: Kind = "pairs"
    if judge is not None:
        if cyclic is None and utility is not None:
            kind = "items"
        elif n_pairs > MANY_PAIRS:
            raise DataError(
                f"PreferenceGP: {n_pairs} distinct pairs were compared; with judge_kernel and cyclic_kernel "
                f"together at most {MANY_PAIRS} can be learned. Leave one of the two out, or use fewer items."
            )
    elif utility is not None and cyclic is None and n_pairs > FEW_PAIRS * n:
        kind = "items"
    elif cyclic is not None and cyclic.X is None and (utility is None or n_pairs > FEW_PAIRS * n):
        kind = "effects"
    elif cyclic is not None and cyclic.X is not None and n_pairs > BASIS_FROM:
        basis = _basis(cyclic, ends, LOST, MOST_FUNCTIONS)
        size = (0 if utility is None else n) + basis.kept[0].shape[0]
        cheaper = size**2 * (m + size) < DENSE_COST * float(n_pairs) ** 3
        if n_pairs > MANY_PAIRS or (basis.lost <= TOO_MUCH and cheaper):
            return problem_as("functions", (utility, cyclic), n, ends, basis)
    prior, design = problem_as(kind, (utility, cyclic), n, ends)
    return (prior, design) if judge is None else with_judges(model, X, prior, design.A, judge, known)


def problem_as(kind: Kind, parts: Parts, n: int, ends: Pairs, basis: SkewBasis | None = None) -> tuple[Any, Any]:
    """Return the prior of these parts over latents of a kind, and the design; ``basis`` is that of the functions."""
    utility, cyclic = parts
    first, second = ends
    m = first.shape[0]
    if kind == "items":
        return utility, Design(pair_operator(first, second, n))
    if kind == "functions":
        assert basis is not None
        A = pair_operator(first, second, n) if utility is not None else sp.csr_array((m, 0))
        return SkewBasisPrior(utility, cyclic, n, basis), FeatureDesign(A, basis.features(basis.V, ends))
    pairs, place = _distinct(ends, n)
    k = pairs[0].shape[0]
    if kind == "effects":
        A = pair_operator(*pairs, n) if utility is not None else sp.csr_array((k, 0))
        return PairEffectPrior(utility, cyclic, n, pairs, EffectFactor.build), EffectDesign(A, place)
    A = sp.csr_array((np.ones(m), place, np.arange(m + 1)), shape=(m, k))
    return PairPrior(utility, cyclic, n, pairs), Design(A)


def _distinct(ends: Pairs, n: int) -> tuple[Pairs, IntArray]:
    """Return the distinct pairs of n items, and which of them each of the listed ones is."""
    code, place = np.unique(ends[0] * n + ends[1], return_inverse=True)
    return (code // n, code % n), place.ravel()


def kind_of(prior: Any) -> Kind:
    """Return which latents a prior (without judges) is over."""
    if isinstance(prior, ItemPrior):
        return "items"
    if isinstance(prior, PairEffectPrior):
        return "effects"
    return "functions" if isinstance(prior, SkewBasisPrior) else "pairs"


def by_functions(prior: Any) -> bool:
    """Return whether parameters of a prior are searched for with skew functions (`with_rest`)."""
    if isinstance(prior, SkewBasisPrior):
        return True
    many = isinstance(prior, PairPrior) and prior.pairs[0].shape[0] > BASIS_FROM
    return many and prior.cyclic is not None and prior.cyclic.X is not None


def with_rest(prior: PairParts, ends: Pairs, lost: float) -> tuple[SkewRestPrior, EffectDesign]:
    """Return functions that suit a prior and what they leave of each pair as an effect of its own, and the design."""
    utility, cyclic, n = prior.utility, prior.cyclic, prior.n_items
    assert cyclic is not None
    pairs, place = _distinct(ends, n)
    basis = _basis(cyclic, ends, lost, FEW_FUNCTIONS if pairs[0].shape[0] <= MANY_PAIRS else MOST_FUNCTIONS)
    operator = problem_as("functions", (utility, cyclic), n, pairs, basis)[1]
    rest = SkewRestPrior(utility, cyclic, n, basis, pairs, operator.A.Psi, EffectFactor.build)
    return rest, EffectDesign(operator, place)


def _basis(cyclic: ItemPrior, ends: Pairs, lost: float, most: int) -> SkewBasis:
    """Return functions that lose this share of the variance, or less of it the more statements there are."""
    fineness = min(1.0, FEW_STATEMENTS / max(1, len(ends[0])))
    with few_threads(cyclic.n_items):
        return SkewBasis.build(cyclic.gram()[0], min(LEAST_FUNCTIONS, most), most, lost * fineness)


def warm_start(old: Prior, old_used: IntArray, a: FloatArray, new: Prior, used: IntArray) -> FloatArray | None:
    """Return the ``a`` of an old posterior in the latents of a prior that has all of the old ones, None if it has not.

    ``used`` are the rows of the items of each.
    """
    place = np.searchsorted(used, old_used)
    items = np.zeros(used.shape[0])
    if isinstance(old, ItemPrior) and isinstance(new, ItemPrior):
        items[place] = a
        return items
    if not (isinstance(old, PairEffectPrior) and isinstance(new, PairEffectPrior)):
        return None
    first, second = (place[side] for side in old.pairs)
    n, effects = used.shape[0], np.zeros(new.pairs[0].shape[0])
    effects[np.searchsorted(new.pairs[0] * n + new.pairs[1], first * n + second)] = a[-first.shape[0] :]
    if new.utility is None:
        return effects
    items[place] = a[: -first.shape[0]]
    return np.concatenate([items, effects])


def _parts(model: Any, X: Comparisons, used: IntArray) -> Parts:
    """Return the parts that the model's parameters describe, over the items with these rows."""
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
    return utility, cyclic


def _moved(prior: Prior, X: Comparisons, used: IntArray) -> Parts:
    """Return the parts of a prior with their parameters, over other items."""

    def moved(part: ItemPrior | None) -> ItemPrior | None:
        rows = None if X.items is None else X.items[used]
        return None if part is None else replace(part, X=rows, n_items=used.shape[0])

    if isinstance(prior, ItemPrior):
        return moved(prior), None
    return moved(prior.utility), moved(prior.cyclic)


def _item_prior(
    model: Any, X: Comparisons, used: IntArray, kernel: Any, *, own_effect: bool, cyclic: bool = False
) -> ItemPrior:
    # a cyclic part is made of products of two covariances
    unit = float(np.sqrt(model._unit)) if cyclic else model._unit
    start = unit * (1.0 if X.items is None else 0.1)
    bounds = VARIANCE[0] * unit, VARIANCE[1] * unit
    parameter = "cyclic_kernel" if cyclic else "kernel"
    own = ConstantKernel(start, bounds) if own_effect or X.items is None else None
    if X.items is None:
        if isinstance(kernel, ConstantKernel):
            own = start_kernel("PreferenceGP", kernel, np.zeros((2, 1)), unit, parameter=parameter)
        elif kernel is not None:
            raise DataError(
                "PreferenceGP: the items have no features, so a kernel over features cannot be used. "
                "Give Comparisons an item table, or use kernel=None, or ConstantKernel() beside a cyclic_kernel."
            )
        return ItemPrior(None, None, own, used.shape[0])
    items = X.items[used]
    if not cyclic and not own_effect:
        warn_if_equal("PreferenceGP", items)
    learned = start_kernel("PreferenceGP", kernel, items, unit, parameter=parameter)
    return ItemPrior(items, learned, own, used.shape[0])
