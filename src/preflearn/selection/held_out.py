"""How well comparisons are predicted that a model has not seen, and whether one model does it better than another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, quiet
from preflearn.metrics import calibration_curve, comparison_log_loss, pairwise_accuracy
from preflearn.metrics.probabilities import Calibration, calibration_error
from preflearn.selection.splitters import GroupFolds, ItemFolds

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

FLIPS = 9_999  # random signs of the paired test
BLOCK = 2**22  # of these held at a time


@dataclass(frozen=True)
class HeldOut:
    """Predictions of comparisons by models that had not seen them.

    ``row``, ``probability``, ``outcome``, ``weight`` and ``unit`` have an entry for each prediction.

    Examples
    --------
    >>> from preflearn import BradleyTerry, Comparisons
    >>> from preflearn.selection import held_out
    >>> games = Comparisons(None, ["ann", "ann", "bob"] * 4, ["bob", "cy", "cy"] * 4)
    >>> held_out(BradleyTerry, games, n_folds=3).probability.shape
    (12,)
    """

    row: IntArray  # number of the comparison; by item, those with two held-out items occur twice
    probability: FloatArray  # predicted probability that the first item is preferred
    outcome: FloatArray
    weight: FloatArray  # 1 where there are none
    unit: IntArray  # number of the pair (item, judge) that was held out as a whole
    by: str  # what was held out
    n_folds: int

    @property
    def accuracy(self) -> float:
        """Share of the decided comparisons whose winner was predicted."""
        return float(pairwise_accuracy(self.outcome, self.probability - 0.5, sample_weight=self.weight))

    @property
    def tau(self) -> float:
        """Kendall's tau over the decided comparisons: 1 all as predicted, 0 chance, -1 all reversed."""
        return 2 * self.accuracy - 1

    @property
    def log_loss(self) -> float:
        """Mean surprise, in nats; ln 2 = 0.693 is that of a coin."""
        with quiet():
            return float(comparison_log_loss(self.outcome, self.probability, sample_weight=self.weight))

    @property
    def calibration(self) -> Calibration:
        """Predicted probabilities in bins, and how often the predicted side won in each bin."""
        with quiet():
            return calibration_curve(self.outcome, self.probability, sample_weight=self.weight)

    @property
    def calibration_error(self) -> float:
        """Mean distance between predicted probabilities and observed frequencies."""
        return calibration_error(self.calibration)

    @property
    def losses(self) -> FloatArray:
        """Surprise at each outcome, in nats."""
        won = (1 + np.sign(self.outcome)) / 2
        tiny = np.finfo(np.float64).tiny
        p, q = np.maximum(self.probability, tiny), np.maximum(1 - self.probability, tiny)
        return np.asarray(-(won * np.log(p) + (1 - won) * np.log(q)))


def held_out(
    build: Callable[[], Any],
    data: Comparisons,
    *,
    by: Literal["pair", "item", "judge", "cluster"] = "pair",
    n_folds: int = 5,
    random_state: int = 0,
    progress: Callable[[str, float], None] | None = None,
) -> HeldOut:
    """Predict comparisons by models that were fitted without them.

    Parameters
    ----------
    build : callable
        Returns an unfitted estimator with ``predict_proba``, or with margins as predictions, whose probability is then
        0, 1/2 or 1: right for accuracy, useless for log loss.
    data : Comparisons
        What to learn from and to predict.
    by : {"pair", "item", "judge", "cluster"}, default="pair"
        What is held out as a whole: both items of a comparison in every comparison of the two, single items in all of
        their comparisons (needs features), or judges or clusters in all of theirs.
    n_folds : int, default=5
        Number of folds; as many as there are pairs, items, judges or clusters if these are fewer.
    random_state : int, default=0
        Seed of the folds.
    progress : callable, default=None
        Called with what is done next and the share that is done.

    Returns
    -------
    HeldOut
        Predictions in the order of the comparisons, with accuracy, log loss and calibration.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn import Comparisons, PreferenceGP
    >>> from preflearn.selection import held_out
    >>> first, second = np.triu_indices(8, 1)
    >>> found = held_out(PreferenceGP, Comparisons(8, first, second))
    >>> found.accuracy > 0.7
    True
    """
    unit, splits = _folds(data, by, n_folds, random_state)
    probability = []
    rows = []
    for k, (train, test) in enumerate(splits):
        if progress is not None:
            progress(f"Fold {k + 1} of {len(splits)}", k / len(splits))
        with quiet():
            model = build().fit(data[train])
            probability.append(outcome_probability(model, data[test]))
        rows.append(test)
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    row = row[order]
    weight = np.ones(len(data)) if data.weight is None else np.asarray(data.weight, dtype=np.float64)
    return HeldOut(row, np.concatenate(probability)[order], data.outcome[row], weight[row], unit[row], by, len(splits))


def _folds(data: Comparisons, by: str, n_folds: int, random_state: int) -> tuple[IntArray, list[Any]]:
    """Return the unit of each comparison and the splits."""
    unit, what = data.pairs.row, "the same two items"
    if by == "item":
        if data.items is None:
            raise DataError(code="held-out-items-need-features", owner="held_out").says(
                "by item needs features: a model that knows items by name alone cannot predict new ones",
                "Give a table of items, or hold out pairs",
            )
        what = "one item"
    elif by == "judge":
        if data.judge is None:
            raise DataError(code="held-out-judges-not-said", owner="held_out").says(
                "by judge needs to know who judged", "Build with judge=..."
            )
        unit, what = np.unique(data.judge.astype(str), return_inverse=True)[1].astype(np.intp), "one judge"
    elif by == "cluster":
        if data.cluster is None:
            raise DataError(code="held-out-clusters-not-said", owner="held_out").says(
                "by cluster needs to know the cluster of each comparison", "Build with cluster=..."
            )
        unit, what = data.clusters(), "one cluster"
    elif by != "pair":
        raise ValueError(f'held_out: by={by!r} is not one of "pair", "item", "judge", "cluster".')
    if n_folds < 2:
        raise DataError(code="too-few-folds", owner="held_out").says(f"{n_folds} folds; at least 2 are needed.")
    count = len(data.used_items()) if by == "item" else int(unit.max()) + 1
    if count < 2:
        raise DataError(code="nothing-left-to-learn-from", owner="held_out").says(
            f"all comparisons are of {what}; when these are held out, nothing is left to learn from",
            "Give comparisons of other items too",
        )
    n_folds = min(n_folds, count)
    if by == "item":
        return unit, list(ItemFolds(n_folds, random_state=random_state).split(data))
    folds = GroupFolds(n_folds, random_state=random_state)
    return unit, list(folds.split(data._take(slice(None), group=None), groups=unit))


def outcome_probability(model: Any, data: Comparisons) -> FloatArray:
    """Return P(first is preferred) of comparisons as they were made, (m,): with the advantage of the first side.

    A model that has learned such an advantage leaves it out of its answers unless asked, and outcomes do not.

    Examples
    --------
    >>> from preflearn import BradleyTerry, Comparisons
    >>> from preflearn.selection import outcome_probability
    >>> games = Comparisons(None, ["ann", "bob"], ["bob", "cy"])
    >>> outcome_probability(BradleyTerry(prior=1.0).fit(games), games).shape
    (2,)
    """
    if not hasattr(model, "predict_proba"):
        return np.asarray((1 + np.sign(model.predict(data))) / 2)
    stands: dict[str, Any] = {"side": True} if getattr(model, "side", False) else {}
    return np.asarray(model.predict_proba(data, **stands)[:, 1], dtype=np.float64)


@dataclass(frozen=True)
class Paired:
    """A difference of two means over the same comparisons.

    Examples
    --------
    >>> from preflearn import BradleyTerry, Comparisons
    >>> from preflearn.selection import held_out, paired_difference
    >>> games = Comparisons(None, ["ann", "ann", "bob"] * 4, ["bob", "cy", "cy"] * 4)
    >>> logit, probit = (held_out(lambda: BradleyTerry(link), games, n_folds=3) for link in ("logit", "probit"))
    >>> paired_difference(logit, probit).n_units
    3
    """

    mean: float  # first less second
    std_error: float
    p_value: float  # how often random signs of the differences give a mean as large
    n_units: int  # pairs (items, judges) whose differences were taken together


def paired_difference(one: HeldOut, other: HeldOut, *, random_state: int = 0) -> Paired:
    """Return by how much the log loss of two models differs on the same held-out comparisons, and how sure that is.

    Both are of the same data with the same folds; ``random_state`` is the seed of the signs. The difference is negative
    where ``one`` predicts better.

    Notes
    -----
    Differences of the same pair of items (item, judge) are added up and keep one sign, since repeats are not
    independent. The test flips these signs at random; it judges these models on these folds, and not how much they
    would differ if trained on other data.

    Examples
    --------
    >>> from preflearn import BradleyTerry, Comparisons
    >>> from preflearn.selection import held_out, paired_difference
    >>> games = Comparisons(None, ["ann", "ann", "bob"] * 4, ["bob", "cy", "cy"] * 4)
    >>> logit, probit = (held_out(lambda: BradleyTerry(link), games, n_folds=3) for link in ("logit", "probit"))
    >>> paired_difference(logit, probit).p_value > 0.01
    True
    """
    alike = (one.by, one.n_folds) == (other.by, other.n_folds)
    if not (alike and np.array_equal(one.row, other.row) and np.array_equal(one.unit, other.unit)):
        raise ValueError("paired_difference: the two were not held out alike. Use the same data, folds and seed.")
    difference = one.weight * (one.losses - other.losses)
    sums = np.bincount(np.unique(one.unit, return_inverse=True)[1], difference)
    total, n = float(one.weight.sum()), sums.shape[0]
    rng = np.random.default_rng(random_state)
    mean = float(sums.sum() / total)
    if not np.any(sums):
        return Paired(0.0, 0.0, 1.0, n)
    larger = 0
    at_once = max(1, BLOCK // n)
    for start in range(0, FLIPS, at_once):
        signs = 2.0 * rng.integers(0, 2, size=(min(at_once, FLIPS - start), n), dtype=np.int8) - 1.0
        larger += int(np.count_nonzero(np.abs(signs @ sums) >= abs(sums.sum()) * (1 - 1e-12)))
    return Paired(mean, float(np.sqrt(np.sum((sums - sums.mean()) ** 2)) / total), (larger + 1) / (FLIPS + 1), n)
