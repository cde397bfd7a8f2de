"""Scorers for model selection: metrics with a sign, bound to their options, which know about groups."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRequest

from preflearn.data.comparisons import Comparisons
from preflearn.data.ratings import Ratings
from preflearn.exceptions import DataError, DataWarning, GroupsLostWarning, nearest_names, quiet
from preflearn.metrics.pairwise import (
    concordance_index,
    disagreement_error,
    kendall_tau_b,
    pairwise_accuracy,
    spearman,
    squared_difference_error,
    squared_margin_error,
)
from preflearn.metrics.probabilities import comparison_log_loss, expected_calibration_error
from preflearn.metrics.rankings import mean_average_precision, ndcg, precision_at_k

Metric = Callable[..., Any]


def _comparison_error(
    outcome: ArrayLike,
    margin: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    group: ArrayLike | None = None,
    average: str = "groups",
) -> float:
    """Share of the listed comparisons which are predicted wrongly."""
    return 1 - float(pairwise_accuracy(outcome, margin, sample_weight=sample_weight, group=group, average=average))


class _Known(NamedTuple):
    """What a scorer asks about a metric."""

    metric: Metric
    error: bool = False  # smaller is better
    listed: Metric | None = None  # the metric of listed comparisons that answers the same question
    of_rows: bool = True  # judges rows with scores
    of_probabilities: bool = False  # judges probabilities, so that a model needs predict_proba


_NAMED = {
    "disagreement": _Known(disagreement_error, error=True, listed=_comparison_error),
    "squared_error": _Known(squared_difference_error, error=True, listed=squared_margin_error),
    "concordance": _Known(concordance_index, listed=pairwise_accuracy),
    "kendall_tau_b": _Known(kendall_tau_b),
    "spearman": _Known(spearman),
    "map": _Known(mean_average_precision),
    "ndcg": _Known(ndcg),
    "pairwise_accuracy": _Known(pairwise_accuracy, listed=pairwise_accuracy, of_rows=False),
    "log_loss": _Known(comparison_log_loss, True, comparison_log_loss, of_rows=False, of_probabilities=True),
    "calibration_error": _Known(
        expected_calibration_error, True, expected_calibration_error, of_rows=False, of_probabilities=True
    ),
}
_NAMED_AT_K: dict[str, Metric] = {"ndcg": ndcg, "precision": precision_at_k}
_KNOWN = (*_NAMED.values(), _Known(squared_margin_error, error=True, listed=squared_margin_error, of_rows=False))
METRICS: tuple[Metric, ...] = (*(known.metric for known in _KNOWN), precision_at_k)  # those of this package


class RankingScorer:
    """A metric as scikit-learn wants it: ``scorer(estimator, X, y, qid=...)``, and greater is better.

    Which of these models ranks better? Use it as ``scoring`` in GridSearchCV, cross_validate and the like.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_score, **kwargs)``. It is given groups if it has a parameter ``qid`` (or ``group``), and
        weights if it has a parameter ``sample_weight``.
    greater_is_better : bool, default=True
        False for errors, which are then negated.
    kwargs : mapping, default=None
        Further arguments of the metric.

    Notes
    -----
    With ``sklearn.set_config(enable_metadata_routing=True)`` the scorer asks for ``qid`` by default, so groups
    given to ``GridSearchCV.fit`` reach it; `set_score_request` changes that. Without routing scikit-learn hands a
    scorer no groups: all rows are then one group, and a `GroupsLostWarning` is given if the estimator (by its
    ``n_groups_``) was fitted with several. `Ratings` and `Comparisons` bring their groups along in either case.
    Scorers of scikit-learn do not look into them: ``scoring="neg_log_loss"`` is NaN without ``y``, where there are
    ties, and where every winner stands first. ``scoring=get_scorer("neg_log_loss")`` is right in all of these cases.

    On `Comparisons` predictions are margins, and only the metrics of pairs apply: the error is the share of wrongly
    predicted comparisons, ties left out. Log loss and calibration error judge probabilities instead, and only of
    `Comparisons`. Costs one ``predict`` and the metric.

    Examples
    --------
    >>> from sklearn.linear_model import LinearRegression
    >>> from preflearn.metrics import get_scorer
    >>> scorer = get_scorer("disagreement")
    >>> scorer
    RankingScorer(disagreement_error, greater_is_better=False)
    >>> model = LinearRegression().fit([[0], [1], [2], [3]], [1, 2, 3, 4])
    >>> scorer(model, [[5], [6], [7], [8]], [2, 1, 1, 2], qid=["a", "a", "b", "b"])
    -0.5
    """

    def __init__(
        self, metric: Metric, *, greater_is_better: bool = True, kwargs: Mapping[str, Any] | None = None
    ) -> None:
        self.metric = metric
        self.greater_is_better = greater_is_better
        self.kwargs = dict(kwargs or {})
        self._requests: dict[str, bool | str | None] = {}
        self._check()

    def __call__(
        self,
        estimator: Any,
        X: Any,
        y: ArrayLike | None = None,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Predict and judge; greater is better.

        The estimator is fitted and has ``predict``, for metrics of probabilities ``predict_proba``. ``y`` are true
        scores (outcomes for Comparisons), ``qid`` groups and ``sample_weight`` weights of the rows; a data object
        supplies those which are not given.
        """
        judge = self.for_comparisons() if isinstance(X, Comparisons) else self.for_rows()
        if isinstance(X, Comparisons | Ratings):
            y = (X.outcome if isinstance(X, Comparisons) else X.score) if y is None else y
            qid = X.group if qid is None else qid
            sample_weight = X.weight if sample_weight is None else sample_weight
            predicted = judge._predict(estimator, X)
            with quiet(DataWarning):  # of outcomes 0 and 1, which Comparisons has given
                return judge.evaluate(y, predicted, qid, sample_weight)
        if y is None:
            raise TypeError(
                f"{self!r} needs the true scores, but y is None and X is a {type(X).__name__}.\n"
                "  Pass y, or a Ratings or Comparisons as X."
            )
        self._warn_if_groups_are_lost(estimator, qid)
        return self.evaluate(y, estimator.predict(X), qid, sample_weight)

    def _predict(self, estimator: Any, X: Comparisons | Ratings) -> Any:
        """Return scores of rows, margins of comparisons or probabilities that the first item is preferred."""
        if isinstance(X, Ratings):
            # estimators of preflearn match columns by name; others want the table alone
            first = estimator[0] if hasattr(estimator, "steps") else estimator
            ours = type(first).__module__.split(".")[0] == "preflearn"
            return estimator.predict(X if ours else X.items)
        if not self.probabilistic:
            return estimator.predict(X)
        if not hasattr(estimator, "predict_proba"):
            final = estimator[-1] if hasattr(estimator, "steps") else estimator
            raise TypeError(
                f"{self!r} judges probabilities, and {type(final).__name__} has no predict_proba.\n"
                "  Use PreferenceGP, or a scorer of margins, such as 'disagreement'."
            )
        return estimator.predict_proba(X)[:, 1]

    def evaluate(
        self,
        y_true: ArrayLike,
        y_score: ArrayLike,
        qid: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Judge predictions; greater is better.

        ``y_true`` and ``y_score`` are true and predicted scores; of comparisons outcomes, and margins or probabilities
        of ``first``. Groups and weights go to metrics which accept them.

        Examples
        --------
        >>> from preflearn.metrics import get_scorer
        >>> get_scorer("disagreement").evaluate([1, 2, 3], [0.1, 0.3, 0.2])
        -0.3333333333333333
        """
        arguments = dict(self.kwargs)
        word = self._group_word()
        if qid is not None and word is not None:
            arguments[word] = qid
        if sample_weight is not None and self._accept_sample_weight():
            arguments["sample_weight"] = sample_weight
        value = float(self.metric(y_true, y_score, **arguments))
        return value if self.greater_is_better else -value

    @property
    def _known(self) -> _Known:
        return next((known for known in _KNOWN if known.metric is self.metric), _Known(self.metric))

    @property
    def probabilistic(self) -> bool:
        """Whether probabilities are judged, so that a model needs ``predict_proba``."""
        return self._known.of_probabilities

    def for_rows(self) -> RankingScorer:
        """Return this scorer if it judges rows with scores; metrics of listed comparisons raise."""
        if not self._known.of_rows:
            raise TypeError(
                f"{self!r} judges listed comparisons, not rows with scores.\n"
                "  Pass a Comparisons as X, or use the scorer 'concordance' or 'squared_error' for rows."
            )
        return self

    def for_comparisons(self) -> RankingScorer:
        """Return the scorer of listed comparisons which asks the same question."""
        listed = self._known.listed
        if listed is self.metric:
            return self
        if listed is None:
            raise TypeError(
                f"{self!r} ranks whole groups and cannot judge a Comparisons, which only lists pairs.\n"
                "  Use the scorer 'disagreement', 'squared_error', 'concordance', 'pairwise_accuracy' or 'log_loss'."
            )
        kwargs = dict(self.kwargs)
        if kwargs.pop("ties", "exclude") != "exclude":
            raise ValueError(
                f"{self!r} counts ties, but comparisons with outcome 0 are left out.\n"
                "  Use ties='exclude' (the default) for Comparisons."
            )
        return RankingScorer(listed, greater_is_better=self.greater_is_better, kwargs=kwargs)

    def _warn_if_groups_are_lost(self, estimator: Any, qid: ArrayLike | None) -> None:
        final = estimator[-1] if hasattr(estimator, "steps") else estimator
        n_groups = getattr(final, "n_groups_", 1)
        if qid is None and n_groups > 1 and self._group_word() is not None:
            GroupsLostWarning(code="scorer-without-qid", owner=repr(self)).warn(
                f"{type(final).__name__} was fitted with {n_groups} groups, but no qid reached the scorer, so "
                "all rows are judged as one group",
                "Turn on sklearn.set_config(enable_metadata_routing=True) and pass qid to the search, or pass a "
                "Ratings as X; if the rows are one group, pass a constant qid",
            )

    def _check(self) -> None:
        """Refuse options which would only fail, or be misread, inside a search."""
        if not callable(self.metric):
            raise TypeError(
                f"RankingScorer: metric is {self.metric!r}, not a function.\n  For a name use get_scorer(name)."
            )
        if self._known.error and self.greater_is_better:
            raise ValueError(
                f"RankingScorer: {self.metric.__name__} is an error, and a search would look for the largest.\n"
                "  Pass greater_is_better=False, or use get_scorer, as in get_scorer('disagreement')."
            )
        if "average" in self.kwargs and self.kwargs["average"] is None:
            raise ValueError(
                "RankingScorer: average=None gives one value per group.\n  A scorer needs a single number."
            )
        parameters = inspect.signature(self.metric).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return
        options = [name for name in list(parameters)[2:] if name not in ("qid", "group", "sample_weight")]
        for name in self.kwargs.keys() - set(options):
            hint = nearest_names(name, options)
            raise TypeError(
                f"{self!r}: the metric has no option {name!r}{' (' + hint + ')' if hint else ''}.\n"
                f"  Options: {', '.join(options) or 'none'}; groups and weights are given when scoring."
            )

    def _group_word(self) -> str | None:
        known = inspect.signature(self.metric).parameters
        return next((word for word in ("qid", "group") if word in known), None)

    def _accept_sample_weight(self) -> bool:
        # scikit-learn asks its scorers this question under this name when routing is off
        return "sample_weight" in inspect.signature(self.metric).parameters

    def set_score_request(self, **requests: bool | str | None) -> Self:
        """Set which metadata scikit-learn's routing hands to this scorer, and return the scorer.

        For ``qid`` (default True) and ``sample_weight`` (default None): True asks for it, False declines it, None makes
        passing it an error, a string asks for it under that name.
        """
        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                f"{self!r}: set_score_request has no effect while metadata routing is off.\n"
                "  Turn it on by sklearn.set_config(enable_metadata_routing=True)."
            )
        known = self._default_requests()
        for name in requests.keys() - known.keys():
            raise TypeError(
                f"{self!r}: set_score_request got {name!r}, which the metric does not take.\n"
                f"  Request any of: {', '.join(known) or 'nothing'}."
            )
        self._requests |= requests
        return self

    def get_metadata_routing(self) -> Any:
        """Return the metadata this scorer asks for, as scikit-learn's ``MetadataRequest``."""
        request = MetadataRequest(owner=repr(self))
        for name, alias in (self._default_requests() | self._requests).items():
            request.score.add_request(param=name, alias=alias)
        return request

    def _default_requests(self) -> dict[str, bool | str | None]:
        requests: dict[str, bool | str | None] = {} if self._group_word() is None else {"qid": True}
        return requests | ({"sample_weight": None} if self._accept_sample_weight() else {})

    def __sklearn_clone__(self) -> RankingScorer:
        copy = RankingScorer(self.metric, greater_is_better=self.greater_is_better, kwargs=self.kwargs)
        copy._requests = dict(self._requests)
        return copy

    def __repr__(self) -> str:
        parts = [getattr(self.metric, "__name__", repr(self.metric))]
        parts += [] if self.greater_is_better else ["greater_is_better=False"]
        parts += [f"{name}={value!r}" for name, value in self.kwargs.items()]
        return f"RankingScorer({', '.join(parts)})"


def get_scorer_names() -> list[str]:
    """Return the names `get_scorer` knows; ``@k`` stands for any number of ranks.

    Examples
    --------
    >>> from preflearn.metrics import get_scorer_names
    >>> get_scorer_names()[-2:]
    ['ndcg@k', 'precision@k']
    """
    return [*_NAMED, *(f"{name}@k" for name in _NAMED_AT_K)]


def get_scorer(name: str | RankingScorer) -> RankingScorer:
    """Return the scorer of a name; a scorer is returned as it is.

    Parameters
    ----------
    name : str or RankingScorer
        "disagreement", "squared_error" (of differences), "concordance", "kendall_tau_b", "spearman", "map", "ndcg",
        "pairwise_accuracy", or with any number of ranks "ndcg@10" and "precision@5"; for models with
        ``predict_proba``, on Comparisons, "log_loss" and "calibration_error". Each is its metric with the default
        options; `make_ranking_scorer` takes others. Names of errors may start with "neg_", as in scikit-learn.

    Returns
    -------
    RankingScorer
        Greater is better: "disagreement", "squared_error", "log_loss" and "calibration_error" are negated.

    Examples
    --------
    >>> from preflearn.metrics import get_scorer
    >>> get_scorer("ndcg@10")
    RankingScorer(ndcg, k=10)
    >>> get_scorer("ndgc")
    Traceback (most recent call last):
        ...
    preflearn.exceptions.DataError: get_scorer: there is no scorer "ndgc" (nearest names: "ndcg", "ndcg@k"). Names: ...
    """
    if isinstance(name, RankingScorer):
        return name
    if not isinstance(name, str):
        raise TypeError(
            f"get_scorer: give a name or a RankingScorer, not a {type(name).__name__}.\n"
            "  For a metric of your own use make_ranking_scorer(metric)."
        )
    error = name.removeprefix("neg_")  # as scikit-learn calls errors that are negated
    if error in _NAMED and _NAMED[error].error:
        name = error
    if name in _NAMED:
        return RankingScorer(_NAMED[name].metric, greater_is_better=not _NAMED[name].error)
    at_k = re.fullmatch(r"(\w+)@([1-9][0-9]*)", name)
    if at_k and at_k[1] in _NAMED_AT_K:
        return RankingScorer(_NAMED_AT_K[at_k[1]], kwargs={"k": int(at_k[2])})
    if name.partition("@")[0] in _NAMED_AT_K and "@" in name:
        raise DataError(code="scorer-without-k", owner="get_scorer").says(
            f'"{name}" needs a number for k, the ranks that count: a whole number of at least 1, as in '
            f'"{name.partition("@")[0]}@5".'
        )
    hint = nearest_names(name, get_scorer_names())
    raise DataError(code="unknown-scorer", owner="get_scorer").says(
        f'there is no scorer "{name}"{" (" + hint + ")" if hint else ""}',
        f"Names: {', '.join(get_scorer_names())}, where k is a number",
    )


def make_ranking_scorer(metric: Callable[..., Any], *, greater_is_better: bool = True, **kwargs: Any) -> RankingScorer:
    """Make a scorer from a metric and its options; see `RankingScorer`.

    Examples
    --------
    >>> from preflearn.metrics import make_ranking_scorer, mean_average_precision
    >>> make_ranking_scorer(mean_average_precision, relevant=2)
    RankingScorer(mean_average_precision, relevant=2)
    """
    return RankingScorer(metric, greater_is_better=greater_is_better, kwargs=kwargs)
