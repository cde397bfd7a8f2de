"""RankBoost: a sum of threshold stumps that is boosted on pairs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from preflearn.baselines._boosted_pairs import Booleans, Weighed, weights_of
from preflearn.baselines._rival import check_features
from preflearn.data import Comparisons, Ratings
from preflearn.items import as_items
from preflearn.metrics import get_scorer
from preflearn.models.of_rows import OfRows
from preflearn.models.training_data import PairData, RowData, Weighting, warn_if_nothing_to_learn
from preflearn.operators import FloatArray, IntArray

SMOOTHING = 1e-6  # share of the weights that is added on either side, so that no step is infinite
NO_LEAD = 1e-12  # share of the weights that no stump need beat
CLOSE = 1e-9  # leads that are closer than this, relative to the largest, are equal: the first feature is taken


@dataclass(frozen=True)
class Stumps:
    """All threshold stumps of a table, 1 where a feature is above a threshold: sorted once."""

    order: IntArray  # (n_features, n_rows)
    middle: FloatArray  # threshold after each sorted row
    usable: Booleans  # whether the next value differs

    @classmethod
    def build(cls, X: FloatArray) -> Stumps:
        """Sort every column; O(d n log n)."""
        order = np.argsort(X.T, axis=1, kind="stable")
        value = np.take_along_axis(X.T, order, axis=1)
        low, high = value[:, :-1], value[:, 1:]
        middle = low + (high - low) / 2
        middle = np.where(middle < high, middle, low)  # rounded up
        return cls(order[:, :-1], middle, high > low)

    def best(self, pull: FloatArray) -> tuple[int, float, float] | None:
        """Return feature and threshold of the stump with the largest lead, and the lead; None if none has any; O(n d).

        The lead is Σ D_ij (h_i - h_j) = Σ_i pull_i h_i, which is minus the sum of pulls at or below the threshold.
        """
        lead = np.where(self.usable, -np.cumsum(pull[self.order], axis=1), 0.0)
        size = np.abs(lead)
        largest = size.max(initial=0.0)
        if largest == 0.0:
            return None
        feature, place = np.unravel_index(int(np.argmax(size >= (1 - CLOSE) * largest)), lead.shape)
        return int(feature), float(self.middle[feature, place]), float(lead[feature, place])


class RankBoost(OfRows):
    """Boosted threshold stumps on all pairs of rows inside groups, or on comparisons.

    Answers: how well does a weighted vote of simple rules, one feature against one threshold each, rank?

    Parameters
    ----------
    n_rounds : int, default=300
        Most rounds; each adds a stump.
    step : {"third", "second"}, default="third"
        How the weight of a stump is found: from a bound that is tight for h in [0, 1], or the best one for h in {0, 1}
        (third and second method of the paper).
    weighting : {"pairs", "groups"}, default="pairs"
        Every pair weighs the same, or every group, as in `RankSVM`.
    scoring : str or RankingScorer, default="disagreement"
        What chooses the number of rounds if there are validation data (`preflearn.metrics.get_scorer`).

    Attributes
    ----------
    features_ : ndarray (n_rounds_,)
        Feature of each stump.
    thresholds_, steps_ : ndarray (n_rounds_,)
        Its threshold, and what the utility rises by above it.
    normalisers_ : ndarray (n_rounds_,)
        By how much the weights fell in each round, Z. Their product is at least the share of the pairs of training
        that are not in order.
    validation_scores_ : ndarray
        Score after each round that was tried, if there are validation data.
    n_rounds_ : int
        Rounds that are kept.

    Warns
    -----
    DataWarning
        If all pairs are tied.

    See Also
    --------
    RankSVM, preflearn.RankRLS : one weight for each feature.

    Notes
    -----
    f(x) = Σ_t α_t h_t(x). A pair with i preferred to j weighs D_ij = v_ij exp(f_j - f_i). Each round takes the stump
    with the largest |r|, r = Σ D_ij (h_i - h_j) / Σ D_ij, and α = ½ log((1 + r) / (1 - r)), or with W the weights of
    the pairs that it sorts rightly and wrongly, α = ½ log(W_right / W_wrong).

    Pairs of rows are not listed: inside a group D_ij factorises into a number for the winner and one for the loser,
    and sums over levels of equal scores do. That is the paper's bipartite algorithm, where there are two levels, and
    holds for any number. A round costs O(n d) for n rows, and O(m) more for m comparisons. Features are sorted once;
    sparse ones are made dense.

    *Differences from the paper*: graded scores factorise, too; the steps are bounded by adding 1e-6 of the weights on
    either side. Missing values, for which the paper has default ranks, are not taken.

    References
    ----------
    Freund, Iyer, Schapire and Singer, "An efficient boosting algorithm for combining preferences", 2003.

    Examples
    --------
    >>> from preflearn.baselines import RankBoost
    >>> from preflearn.datasets import make_ltr
    >>> data = make_ltr(n_groups=60, random_state=0)
    >>> train, validation = data.ratings[:800], data.ratings[800:]
    >>> model = RankBoost(100, scoring="ndcg@10").fit(train, validation=validation)
    >>> bool(model.score(validation) > 0.7), model.n_rounds_ == model.validation_scores_.argmax() + 1
    (True, np.True_)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_rounds": [Interval(Integral, 1, None, closed="left")],
        "step": [StrOptions({"second", "third"})],
        "weighting": [StrOptions({"pairs", "groups"})],
        "scoring": [str, HasMethods("evaluate")],
    }

    def __init__(
        self,
        n_rounds: int = 300,
        *,
        step: Literal["second", "third"] = "third",
        weighting: Weighting = "pairs",
        scoring: Any = "disagreement",
    ) -> None:
        self.n_rounds = n_rounds
        self.step = step
        self.weighting = weighting
        self.scoring = scoring

    def fit(self, X: Any, y: Any = None, qid: Any = None, sample_weight: Any = None, *, validation: Any = None) -> Self:
        """Fit on scored rows in groups, or on comparisons.

        Parameters
        ----------
        X, y, qid, sample_weight
            As in `RankRLS.fit`.
        validation : Ratings or Comparisons, default=None
            What the number of rounds is chosen on; of equally good ones the smallest.
        """
        self._validate_params()
        if isinstance(X, Comparisons):
            check_features(X, type(self).__name__)
        data = replace(self._read(X, y, qid, sample_weight), weighting=self.weighting)
        self.n_groups_ = int(data.code.max()) + 1 if isinstance(data, RowData) else 1
        warn_if_nothing_to_learn(type(self).__name__, data, [data.operator()])
        self._boost(data)
        self.__dict__.pop("validation_scores_", None)  # of an earlier fit
        if validation is not None:
            self.validation_scores_ = self._judge(validation)
            self._keep(int(np.argmax(self.validation_scores_)) + 1 if len(self.validation_scores_) else 0)
        return self

    def _boost(self, data: RowData | PairData) -> None:
        X = _dense(data.X)
        stumps, pairs, f = Stumps.build(X), weights_of(data), np.zeros(X.shape[0])
        rounds = []
        for _ in range(self.n_rounds if data.decided.any() else 0):
            weights = pairs.at(f)
            found, total = stumps.best(weights.pull), weights.total
            if found is None or abs(found[2]) <= NO_LEAD * total:
                break
            feature, threshold, lead = found
            above = X[:, feature] > threshold
            alpha, normaliser = self._step(weights, above, lead / total, total)
            f += alpha * above
            rounds.append((feature, threshold, alpha, normaliser))
        features, *columns = np.array(rounds, dtype=np.float64).reshape(-1, 4).T
        self.features_ = features.astype(np.intp)
        self.thresholds_, self.steps_, self.normalisers_ = (np.ascontiguousarray(column) for column in columns)
        self.n_rounds_ = len(rounds)

    def _step(self, weights: Weighed, above: Booleans, r: float, total: float) -> tuple[float, float]:
        """Return the weight of a stump, and Z = Σ D_ij exp(α (h_j - h_i)) / Σ D_ij."""
        right, wrong = (part / total for part in weights.split(above))
        up, down = (1 + r, 1 - r) if self.step == "third" else (right, wrong)
        alpha = 0.5 * math.log((up + SMOOTHING) / (max(down, 0.0) + SMOOTHING))
        return alpha, max(1 - right - wrong, 0.0) + right * math.exp(-alpha) + wrong * math.exp(alpha)

    def _keep(self, n_rounds: int) -> None:
        for name in ("features_", "thresholds_", "steps_", "normalisers_"):
            setattr(self, name, getattr(self, name)[:n_rounds])
        self.n_rounds_ = n_rounds

    def _judge(self, validation: Any) -> FloatArray:
        """Return the score of validation data after each round."""
        scorer: Any = get_scorer(self.scoring) if isinstance(self.scoring, str) else self.scoring
        if isinstance(validation, Comparisons):
            truth, group, weight, judge = (
                validation.outcome,
                validation.group,
                validation.weight,
                scorer.for_comparisons(),
            )
        elif isinstance(validation, Ratings):
            truth, group, weight, judge = validation.score, validation.group, validation.weight, scorer.for_rows()
        else:
            raise TypeError(
                f"{type(self).__name__}: validation must be Ratings or Comparisons; got {type(validation).__name__}. "
                "Build Ratings(X, y, qid)."
            )
        found = [judge.evaluate(truth, f, group, weight) for f in self.staged_predict(validation)]
        return np.asarray(found, dtype=np.float64)

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Yield what `predict` would return after each round."""
        check_is_fitted(self)
        every = self.features_, self.thresholds_, self.steps_
        rows = _dense(self._features_of(X) if isinstance(X, Comparisons) else self._read_items(X))
        f = np.zeros(rows.shape[0])
        for feature, threshold, alpha in zip(*every, strict=True):
            f = f + alpha * (rows[:, feature] > threshold)
            yield f[X.first] - f[X.second] if isinstance(X, Comparisons) else f

    def _utilities(self, X: Any) -> FloatArray:
        """Return the utilities of checked rows: of each feature used, the sum of the steps below its value."""
        rows = _dense(X)
        f = np.zeros(rows.shape[0])
        for feature in np.unique(self.features_):
            mine = np.flatnonzero(self.features_ == feature)
            mine = mine[np.argsort(self.thresholds_[mine], kind="stable")]
            sums = np.concatenate([[0.0], np.cumsum(self.steps_[mine])])
            f += sums[np.searchsorted(self.thresholds_[mine], rows[:, feature], side="left")]
        return f


def _dense(X: Any) -> FloatArray:
    """Return rows of features; of bags their means."""
    rows = as_items(X).means()
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows, dtype=np.float64)
