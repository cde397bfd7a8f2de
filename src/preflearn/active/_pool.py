"""A pool of items as seen by a fitted model: the only module here that asks the model anything.

Items have *numbers* 0, 1, ... inside the pool, *rows* of the item table (that of training unless another was given) and
perhaps *names*. Pairs come in by name or by row and are turned into numbers once.

All pairs of a pool are candidates while there are at most as many as the limit. Beyond that:

- of more than 2,000 items 2,000 are considered: half those with the most uncertain utility and half at random; or,
  about the top k, those nearest to its border (distance of the mean from the border, in standard deviations);
- of their pairs, half of the limit are the most informative ones by a formula in closed form, and half are every
  item's best partners, so that a batch does not run out of items. Pairs are screened in blocks of rows: memory grows
  with the limit, not with the number of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtr, xlogy
from sklearn.utils.validation import check_is_fitted

from preflearn.active._criteria import JointPosterior
from preflearn.active._outcome_information import check_likelihood, information, mixture_information
from preflearn.data import Comparisons, ItemTable
from preflearn.data.fields import as_list, check_count, check_names, label_array, rows_text
from preflearn.data.sides import check_rows
from preflearn.data.tables import check_items
from preflearn.exceptions import DataError, first_few, nearest_names
from preflearn.models.ranking import DifferencePosterior
from preflearn.operators import FloatArray, IntArray

# Pairs or items asked of the model at once, so that memory does not grow with their number.
_CHUNK = 1 << 13
MOST_ITEMS = 2_000
# Pairs screened at once.
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Pool:
    """Items of a fitted model, and the posterior of their utilities."""

    model: Any
    owner: str
    table: ItemTable
    rows: IntArray  # of the table, one per item of the pool
    training: bool  # whether the table is that of training

    @classmethod
    def build(cls, model: Any, items: Any, owner: str) -> Pool:
        """Return the pool of ``items``, or of the items that the model was fitted on."""
        if not hasattr(model, "predict_utility"):  # what `rank` returns has the model of its answers
            model = getattr(model, "model", model)
        for part, what in (("judge_kernel", "distinguish judges"), ("cyclic_kernel", "have a cyclic part")):
            if getattr(model, part, None) is not None:
                raise TypeError(f"{owner} does not support models that {what}. Fit PreferenceGP with {part}=None.")
        if not (hasattr(model, "predict_utility") and hasattr(model, "predict_difference")):
            raise TypeError(f"{owner}: the model is a {type(model).__name__}; pass a fitted PreferenceGP.")
        check_is_fitted(model)
        check_likelihood(model.likelihood_, owner)
        train = model.comparisons_
        known = ItemTable(train.items, train.names, train.feature_names, train.n_items)
        if items is None:
            return cls(model, owner, known, np.arange(known.n_items), True)
        if isinstance(items, Comparisons):
            items = ItemTable(items.items, items.names, items.feature_names, items.n_items)
        if isinstance(items, ItemTable) and items.values is None:
            items = np.arange(items.n_items) if items.names is None else items.names
        if _is_labels(items):
            return cls(model, owner, known, _training_rows(items, known, owner), True)
        table = check_items(items, owner)
        if table.values is None or known.values is None:
            kind = "names or row numbers" if known.values is None else "a table of features, names or row numbers"
            raise TypeError(
                f"{owner}: items must be {kind}, because the model was fitted on items "
                f"{'without' if known.values is None else 'with'} features; got {type(items).__name__}."
            )
        return cls(model, owner, table, np.arange(table.n_items), False)

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    @property
    def names(self) -> NDArray[Any] | None:
        """Names of the items, where they have any."""
        return None if self.table.names is None else self.table.names[self.rows]

    def labels(self, numbers: IntArray) -> NDArray[Any]:
        """Return the names of items, or their rows where there are no names."""
        rows = self.rows[numbers]
        return rows if self.table.names is None else label_array(self.table.names[rows].tolist())

    def _items(self, numbers: IntArray | slice) -> Any:
        """Return some items in a form that the model takes."""
        rows = self.rows[numbers]
        names = None if self.table.names is None else self.table.names[rows]
        if self.training:
            return rows if names is None else names
        return ItemTable(self.table.values[rows], names, self.table.feature_names, rows.shape[0])  # type: ignore[index]

    def comparisons(self, first: IntArray, second: IntArray) -> Comparisons:
        """Return pairs of the pool as comparisons, unchecked."""
        return Comparisons._from_fields(
            items=self.table.values,
            first=self.rows[first],
            second=self.rows[second],
            outcome=np.ones(first.shape[0]),
            weight=None,
            group=None,
            judge=None,
            judges=None,
            names=self.table.names,
            feature_names=self.table.feature_names,
            n_items=self.table.n_items,
        )

    def pair_moments(self, first: IntArray, second: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return mean and variance (m,) of the utility differences of pairs, over all points of the hyperparameters."""
        parts = [
            self.model.predict_difference(
                self.comparisons(first[i : i + _CHUNK], second[i : i + _CHUNK]), return_std=True
            )
            for i in range(0, first.shape[0], _CHUNK)
        ]
        if not parts:
            return np.zeros(0), np.zeros(0)
        return np.concatenate([mean for mean, _ in parts]), np.square(np.concatenate([std for _, std in parts]))

    @property
    def averaged(self) -> bool:
        """Whether the posterior is an average over several points of the hyperparameters."""
        points = getattr(self.model, "hyperposterior_", None)
        return points is not None and points.weight.shape[0] > 1

    def difference_posteriors(self, first: IntArray, second: IntArray) -> Iterator[list[DifferencePosterior]]:
        """Yield the utility differences of some pairs at a time, at every point of the hyperparameters."""
        for i in range(0, first.shape[0], _CHUNK):
            yield self.model.difference_posteriors(self.comparisons(first[i : i + _CHUNK], second[i : i + _CHUNK]))

    def information(self, first: IntArray, second: IntArray) -> FloatArray:
        """Return what outcomes of pairs would tell, in nats, (m,)."""
        parts = [mixture_information(points) for points in self.difference_posteriors(first, second)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def marginals(self) -> tuple[FloatArray, FloatArray]:
        """Return mean and standard deviation of every item's utility."""
        parts = [
            self.model.predict_utility(self._items(slice(i, i + _CHUNK)), return_std=True)
            for i in range(0, len(self), _CHUNK)
        ]
        return np.concatenate([mean for mean, _ in parts]), np.concatenate([std for _, std in parts])

    def joint(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return mean (p,) and covariance (p, p) of the utilities of some items."""
        mean, covariance = self.model.predict_utility(self._items(numbers), return_cov=True)
        return np.asarray(mean), np.asarray(covariance)

    def pairs(self, pairs: Any, what: str) -> tuple[IntArray, IntArray]:
        """Return the numbers of the two items of each pair, given as tuples, rows of two, or comparisons."""
        if isinstance(pairs, Comparisons):
            if pairs.names is not None and self.names is not None:
                sides = [pairs.names[pairs.first], pairs.names[pairs.second]]
            elif pairs.n_items == self.table.n_items:
                sides = [pairs.first, pairs.second]
            else:
                raise DataError(code="pool-without-names", owner=self.owner).says(
                    f"{what} has {pairs.n_items} items and the pool has {self.table.n_items}, and without names "
                    "they cannot be matched",
                    "Name the items",
                )
        else:
            listed = _two_columns(pairs, what, self.owner)
            sides = [np.empty(len(listed), dtype=object) for _ in range(2)]
            for row, (one, other) in enumerate(listed):
                sides[0][row], sides[1][row] = one, other
        first, second = (self._numbers(side, what) for side in sides)
        same = np.flatnonzero(first == second)
        if same.size:
            raise DataError(code="pool-self-pair", owner=self.owner).says(
                f"{same.size} of {first.size} pairs in {what} set an item against itself ({rows_text(same)}; "
                f"items {first_few(self.labels(first[same[:4]]))})",
                "Drop them",
            )
        return first, second

    def _numbers(self, given: NDArray[Any], what: str) -> IntArray:
        values = given.tolist()
        integers = all(isinstance(value, int) and not isinstance(value, bool) for value in values)
        names = self.names
        by_row = names is None or (integers and not any(isinstance(name, int) for name in names))
        known = self.rows.tolist() if names is None or by_row else names.tolist()
        place = {label: number for number, label in enumerate(known)}
        numbers = np.array([place.get(value, -1) for value in values], dtype=np.intp)
        bad = np.flatnonzero(numbers < 0)
        if bad.size:
            unknown = list(dict.fromkeys(values[row] for row in bad))
            nearest = "" if by_row else nearest_names(str(unknown[0]), map(str, known))
            kind = "row numbers" if by_row else "names"
            raise DataError(code="not-in-pool", owner=self.owner).says(
                f"{bad.size} items in {what} are not in the pool of {len(self)} ({rows_text(bad)}; {kind} "
                f"{first_few(unknown)}{'; ' + nearest if nearest else ''})",
                "Correct them or add the items",
            )
        return numbers


def _is_labels(items: Any) -> bool:
    if isinstance(items, ItemTable | str) or sparse.issparse(items) or np.ndim(items) != 1:
        return False
    return not isinstance(nw.from_native(items, pass_through=True), nw.DataFrame)


def _training_rows(labels: Any, known: ItemTable, owner: str) -> IntArray:
    listed = as_list(labels, "items", owner)
    check_names(listed, len(listed), owner)
    lookup = None if known.names is None else {name: row for row, name in enumerate(known.names)}
    return check_rows(listed, known.n_items, lookup, "items", owner)


def pair_codes(first: IntArray, second: IntArray, n_items: int) -> IntArray:
    """Return one number per unordered pair."""
    return np.minimum(first, second).astype(np.int64) * n_items + np.maximum(first, second)


def _two_columns(pairs: Any, what: str, owner: str) -> list[Any]:
    if isinstance(pairs, np.ndarray):
        pairs = pairs.tolist()
    if isinstance(pairs, str | bytes) or not isinstance(pairs, Iterable):
        raise TypeError(f"{owner}: {what} must be pairs of items or Comparisons; got {type(pairs).__name__}.")
    listed = list(pairs)
    for row, pair in enumerate(listed):
        if isinstance(pair, str | bytes) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise TypeError(f"{owner}: {what} must be pairs of items; row {row} is {first_few([pair])}.")
    return [[v.item() if isinstance(v, np.generic) else v for v in pair] for pair in listed]


class Considered(NamedTuple):
    """Items that are considered (numbers in the pool), their posterior with candidate pairs, and k among them."""

    numbers: IntArray
    posterior: JointPosterior  # pairs are places in ``numbers``
    k: int | None


def consider(
    pool: Pool, candidates: Any, forbidden: Any, k: int | None, n_max_candidates: int, rng: np.random.Generator
) -> Considered:
    """Return items and candidate pairs; forbidden pairs and repetitions are left out."""
    n, limit = len(pool), check_count(n_max_candidates, "n_max_candidates", pool.owner)
    pairs = None if candidates is None else pool.pairs(candidates, "candidates")
    banned = np.zeros(0, dtype=np.int64)
    if forbidden is not None:
        banned = np.unique(pair_codes(*pool.pairs(forbidden, "forbidden"), n))
    if pairs is not None:
        codes, where = np.unique(pair_codes(*pairs, n), return_index=True)
        where = np.sort(where[~np.isin(codes, banned)])
        pairs = pairs[0][where], pairs[1][where]
    if n <= MOST_ITEMS:
        numbers = np.arange(n)
    elif k is not None:
        numbers, k = _border(pool, k)
    elif pairs is not None:
        numbers = _of_best_pairs(pool, *pairs)
    else:
        numbers = _uncertain(pool, rng)
    mean, covariance = pool.joint(numbers)
    place = np.full(n, -1, dtype=np.intp)
    place[numbers] = np.arange(numbers.shape[0])
    if pairs is not None:
        kept = (place[pairs[0]] >= 0) & (place[pairs[1]] >= 0)
        first, second = place[pairs[0][kept]], place[pairs[1][kept]]
    else:
        p = numbers.shape[0]
        low, high = place[banned // n], place[banned % n]
        kept = (low >= 0) & (high >= 0)
        first, second = _choose(
            pool.model.likelihood_, mean, covariance, np.sort(pair_codes(low[kept], high[kept], p)), limit
        )
    if not first.size:
        raise DataError(code="no-pair-left", owner=pool.owner).says(
            f"no pair is left to compare among {n} items", "Forbid fewer pairs, or give more items or candidates"
        )
    return Considered(numbers, JointPosterior(pool.model.likelihood_, mean, covariance, first, second), k)


def _uncertain(pool: Pool, rng: np.random.Generator) -> IntArray:
    _, std = pool.marginals()
    order = np.argsort(-std, kind="stable")
    half = MOST_ITEMS // 2
    return np.sort(np.concatenate([order[:half], rng.choice(order[half:], MOST_ITEMS - half, replace=False)]))


def _border(pool: Pool, k: int) -> tuple[IntArray, int]:
    mean, std = pool.marginals()
    sorted_means = np.sort(mean)[::-1]
    border = 0.5 * (sorted_means[k - 1] + sorted_means[k])
    distance = np.abs(mean - border) / np.maximum(std, np.finfo(np.float64).tiny)
    numbers = np.sort(np.argsort(distance, kind="stable")[:MOST_ITEMS])
    left_out = np.ones(len(pool), dtype=bool)
    left_out[numbers] = False
    # Items that are left out above the border are nearly certain to be in the top k.
    inner = k - int((mean[left_out] > border).sum())
    return numbers, min(max(inner, 1), MOST_ITEMS - 1)


def _of_best_pairs(pool: Pool, first: IntArray, second: IntArray) -> IntArray:
    gain = information(pool.model.likelihood_, *pool.pair_moments(first, second))
    order = np.argsort(-gain, kind="stable")
    sides = np.stack([first[order], second[order]], axis=1).ravel()
    _, where = np.unique(sides, return_index=True)
    # items in the order in which the best pairs bring them
    return np.sort(sides[np.sort(where)[:MOST_ITEMS]])


def _choose(
    likelihood: Any, mean: FloatArray, covariance: FloatArray, banned: IntArray, limit: int
) -> tuple[IntArray, IntArray]:
    p = mean.shape[0]
    if p * (p - 1) // 2 <= limit:
        first, second = np.triu_indices(p, 1)
        kept = ~np.isin(first.astype(np.int64) * p + second, banned)
        return first[kept], second[kept]
    wanted = max(1, limit // 2)
    partners = max(1, (limit - wanted) // p)
    best_codes, best_scores = np.zeros(0, dtype=np.int64), np.zeros(0)
    partner_codes = []
    diagonal = covariance.diagonal()
    everyone = np.arange(p)
    rows_at_once = max(1, _BLOCK // p)
    for start in range(0, p, rows_at_once):
        rows = everyone[start : start + rows_at_once]
        variance = np.maximum(diagonal[rows, None] + diagonal - 2.0 * covariance[rows], 0.0)
        score = _screen(likelihood, mean[rows, None] - mean, variance)
        codes = pair_codes(rows[:, None], everyone[None, :], p)
        score[np.isin(codes, banned) | (rows[:, None] == everyone)] = -np.inf
        own = np.argpartition(-score, min(partners, p - 1), axis=1)[:, :partners]
        kept = np.isfinite(np.take_along_axis(score, own, axis=1))
        partner_codes.append(np.take_along_axis(codes, own, axis=1)[kept])
        upper = (rows[:, None] < everyone) & np.isfinite(score)
        best_codes = np.concatenate([best_codes, codes[upper]])
        best_scores = np.concatenate([best_scores, score[upper]])
        if best_scores.size > wanted:
            top = np.argpartition(-best_scores, wanted)[:wanted]
            best_codes, best_scores = best_codes[top], best_scores[top]
    chosen = np.unique(np.concatenate([best_codes, *partner_codes]))
    return (chosen // p).astype(np.intp), (chosen % p).astype(np.intp)


def _screen(likelihood: Any, mean: FloatArray, variance: FloatArray) -> FloatArray:
    """Return about the information of an outcome: normal noise, entropy given z as a bell curve."""
    if likelihood.normal:
        return variance
    # the normal noise under which P(first) rises as steeply between equals: φ(0) / noise = dP(first) / dz
    between_equals = likelihood.log_density(np.ones(1), np.zeros(1))
    noise = float(1.0 / (math.sqrt(2.0 * math.pi) * np.exp(between_equals.value) * between_equals.first)[0])
    m2, v = np.square(mean) / noise**2, variance / noise**2
    upset = ndtr(-np.sqrt(m2 / (1.0 + v)))
    entropy = -xlogy(upset, upset) - xlogy(1.0 - upset, 1.0 - upset)
    # the entropy given t is log 2 exp(-t² / (2 w)), w = π log(2) / 2, to second order at zero, and near it elsewhere
    w = 0.5 * math.pi * math.log(2.0)
    return np.asarray(entropy - math.log(2.0) * np.sqrt(w / (w + v)) * np.exp(-0.5 * m2 / (w + v)))


def check_k(k: Any, n_items: int, owner: str) -> int:
    """Return k, of which at least one item of the pool must be outside."""
    k = check_count(k, "k", owner)
    if k >= n_items:
        raise ValueError(
            f"{owner}: k={k}, but the pool has {n_items} items: all of them are the top {k}. Choose k below {n_items}."
        )
    return int(k)


def check_criterion(criterion: Any, k: Any, n_items: int, owner: str) -> int | None:
    """Return k for the criterion "top_k", None for "utilities"."""
    if criterion not in ("utilities", "top_k"):
        raise ValueError(f'{owner}: criterion must be "utilities" or "top_k"; got {criterion!r}.')
    if criterion == "utilities":
        return None
    if k is None:
        raise ValueError(f'{owner}: criterion="top_k" needs k, the number of best items that matter.')
    return check_k(k, n_items, owner)
