"""What sums of functions change: an approximated model beside the exact one, where both run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from preflearn.data import Comparisons
from preflearn.data.fields import check_count
from preflearn.exceptions import DataError, quiet
from preflearn.linalg import FloatArray, IntArray, generator
from preflearn.metrics import comparison_log_loss
from preflearn.metrics.pairwise import score_of_margins
from preflearn.models import PreferenceGP

FEW_DRAWS = 100  # of rankings, whose places are not looked at
LEAST = 10  # comparisons among the items, of which some are held out


@dataclass(frozen=True)
class BesideExact:
    """An approximated model and the exact one on the same items; see `compare_with_exact`.

    Attributes
    ----------
    n_items, n_learned, n_held_out : int
        Items of the subset, and comparisons between them that both learned from, and that neither did.
    lost : float
        Share of the kernel's variance that the functions do not hold.
    accuracy, accuracy_exact : float
        Share of held-out comparisons whose winner is predicted; ties are left out.
    log_loss, log_loss_exact : float
        Mean of -log P(outcome) of held-out comparisons.
    correlation : float
        Of the utilities of both.
    coverage : float
        Share of items whose utility, by the exact model, is inside the approximated model's interval; both relative to
        the mean of the items.
    level : float
        Probability of that interval.

    Examples
    --------
    >>> from preflearn.scale import BesideExact
    >>> found = BesideExact(2000, 9000, 1000, 0.004, 0.87, 0.874, 0.301, 0.298, 0.998, 0.97, 0.9)
    >>> print(found)
    2,000 items, 9,000 comparisons to learn from, 1,000 held out
    accuracy     0.870, exact 0.874
    log loss     0.301, exact 0.298
    correlation  0.9980 of the utilities
    coverage     97% of the exact utilities inside 90% intervals
    lost         0.4% of the kernel's variance
    """

    n_items: int
    n_learned: int
    n_held_out: int
    lost: float
    accuracy: float
    accuracy_exact: float
    log_loss: float
    log_loss_exact: float
    correlation: float
    coverage: float
    level: float

    def __str__(self) -> str:
        return "\n".join(
            [
                f"{self.n_items:,} items, {self.n_learned:,} comparisons to learn from, {self.n_held_out:,} held out",
                f"accuracy     {self.accuracy:.3f}, exact {self.accuracy_exact:.3f}",
                f"log loss     {self.log_loss:.3f}, exact {self.log_loss_exact:.3f}",
                f"correlation  {self.correlation:.4f} of the utilities",
                f"coverage     {self.coverage:.0%} of the exact utilities inside {self.level:.0%} intervals",
                f"lost         {self.lost:.1%} of the kernel's variance",
            ]
        )


def compare_with_exact(
    model: PreferenceGP,
    comparisons: Comparisons,
    n_items: int = 2_000,
    *,
    held_out: float = 0.2,
    level: float = 0.9,
    random_state: Any = 0,
) -> BesideExact:
    """Compare an approximated model with the exact one on some of the items.

    Answers: what do landmarks cost me?

    Parameters
    ----------
    model : PreferenceGP
        One with an ``approximation``, fitted or not; it stays as it is.
    comparisons : Comparisons
        What it is to learn from.
    n_items : int, default=2000
        Items of the subset: a time of minutes and a few matrices of that size squared.
    held_out : float, default=0.2
        Share of the comparisons between them that is predicted instead of learned from.
    level : float, default=0.9
        Probability of the intervals that should hold the exact utilities.
    random_state : int, Generator, RandomState or None, default=0
        Source of the first item and of what is held out.

    Returns
    -------
    BesideExact
        Scores of both; ``print`` shows them.

    Notes
    -----
    Two random items of many were hardly ever compared, so that the subset grows from one item: next comes always the
    one that was compared most with those which are there. Both models learn their hyperparameters from the same part,
    with as many landmarks as the model has. The share of landmarks is larger there than among all items, so that the
    difference is a lower bound of what all items would lose by as many.

    Landmarks are the *subset method* that the slides of KPCRank name for larger data: what the kernel says about a few
    items decides the rest.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn import Comparisons, Nystroem, PreferenceGP
    >>> from preflearn.scale import compare_with_exact
    >>> rng = np.random.default_rng(0)
    >>> X, first, second = rng.normal(size=(60, 1)), rng.integers(0, 60, 300), rng.integers(0, 60, 300)
    >>> apart = first != second
    >>> outcome = np.where(X[first, 0] > X[second, 0], 1.0, -1.0)[apart]
    >>> matches = Comparisons(X, first[apart], second[apart], outcome)
    >>> model = PreferenceGP(approximation=Nystroem(10, random_state=0), n_restarts=0)
    >>> found = compare_with_exact(model, matches, n_items=40)
    >>> found.n_items, round(found.correlation, 2)
    (40, 1.0)
    """
    owner = "compare_with_exact"
    if not isinstance(model, PreferenceGP) or model.approximation is None:
        raise ValueError(f"{owner}: the model must be a PreferenceGP with an approximation, such as Nystroem(500).")
    if not isinstance(comparisons, Comparisons):
        raise TypeError(f"{owner}: comparisons are a {type(comparisons).__name__}; build Comparisons(items, ...).")
    check_count(n_items, "n_items", owner, low=2)
    for name, value in (("held_out", held_out), ("level", level)):
        if not 0 < value < 1:
            raise ValueError(f"{owner}: {name}={value!r} must be between 0 and 1.")
    rng = generator(random_state, owner)
    used = _grown(comparisons, int(n_items), rng)
    inside = np.zeros(comparisons.n_items, dtype=bool)
    inside[used] = True
    rows = np.flatnonzero(inside[comparisons.first] & inside[comparisons.second])
    if len(rows) < LEAST:
        raise DataError(code="too-few-to-compare", owner=owner).says(
            f"only {len(rows)} comparisons are between the {len(used)} items of the subset", "Give more n_items"
        )
    rng.shuffle(rows)
    count = min(max(1, round(held_out * len(rows))), len(rows) - 1)
    test, train = comparisons[np.sort(rows[:count])], comparisons[np.sort(rows[count:])]
    with quiet():
        some, exact = (clone(model).set_params(**more).fit(train) for more in ({}, {"approximation": None}))
    known = train.used_items()
    asked = known if train.names is None else train.names[known]
    rankings = [one.rank(asked, level=level, n_samples=FEW_DRAWS) for one in (some, exact)]
    mean, wanted = (_by_row(ranking.row, ranking.utility) for ranking in rankings)
    low, high = (_by_row(rankings[0].row, end) for end in (rankings[0].low, rankings[0].high))
    weight = test.weight
    scores = [score_of_margins(test, one.predict_difference(test)) for one in (some, exact)]
    losses = [
        comparison_log_loss(np.sign(test.outcome), one.predict_proba(test)[:, 1], sample_weight=weight)
        for one in (some, exact)
    ]
    alike = 1.0 if min(np.ptp(mean), np.ptp(wanted)) == 0 else float(np.corrcoef(mean, wanted)[0, 1])
    within = float(np.mean((low <= wanted) & (wanted <= high)))
    return BesideExact(
        n_items=len(known),
        n_learned=len(train),
        n_held_out=len(test),
        lost=some.info_.lost,
        accuracy=scores[0],
        accuracy_exact=scores[1],
        log_loss=losses[0],
        log_loss_exact=losses[1],
        correlation=alike,
        coverage=within,
        level=float(level),
    )


def _by_row(row: IntArray, value: FloatArray) -> FloatArray:
    found = np.empty_like(value)
    found[row] = value
    return found


def _grown(X: Comparisons, n_items: int, rng: np.random.Generator) -> IntArray:
    """Return items that are compared with each other often, from one at random."""
    used = X.used_items()
    if len(used) <= n_items:
        return used
    n, ends = X.n_items, (np.concatenate([X.first, X.second]), np.concatenate([X.second, X.first]))
    graph = sp.csr_array((np.ones(len(ends[0])), ends), shape=(n, n))
    graph.sum_duplicates()
    links = np.full(n, -1.0)
    links[used] = 1e-9 * rng.random(len(used))  # among equals, and where nothing is left to grow into, at random
    chosen = np.empty(n_items, dtype=np.intp)
    for count in range(n_items):
        chosen[count] = item = int(np.argmax(links))
        part = slice(graph.indptr[item], graph.indptr[item + 1])
        links[graph.indices[part]] += graph.data[part]
        links[chosen[: count + 1]] = -1.0
    return np.sort(chosen)
