"""Make scorers: by name, for configuration files and the command line, or from a metric and its options."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from preflearn.exceptions import nearest_names
from preflearn.metrics.margins import squared_difference_error
from preflearn.metrics.pairs import concordance_index, disagreement_error, kendall_tau_b, pairwise_accuracy, spearman
from preflearn.metrics.probabilities import comparison_log_loss, expected_calibration_error
from preflearn.metrics.rankings import mean_average_precision, ndcg, precision_at_k
from preflearn.metrics.scorers import RankingScorer

__all__ = ["get_scorer", "get_scorer_names", "make_ranking_scorer"]

_METRICS: dict[str, Callable[..., Any]] = {
    "disagreement": disagreement_error,
    "squared_error": squared_difference_error,
    "concordance": concordance_index,
    "kendall_tau_b": kendall_tau_b,
    "spearman": spearman,
    "map": mean_average_precision,
    "ndcg": ndcg,
    "pairwise_accuracy": pairwise_accuracy,
    "log_loss": comparison_log_loss,
    "calibration_error": expected_calibration_error,
}
_ERRORS = ("disagreement", "squared_error", "log_loss", "calibration_error")
_METRICS_AT_K: dict[str, Callable[..., Any]] = {"ndcg": ndcg, "precision": precision_at_k}


def get_scorer_names() -> list[str]:
    """Return the names `get_scorer` knows; ``@k`` stands for any number of ranks.

    Examples
    --------
    >>> from preflearn.metrics import get_scorer_names
    >>> get_scorer_names()[-2:]
    ['ndcg@k', 'precision@k']
    """
    return [*_METRICS, *(f"{name}@k" for name in _METRICS_AT_K)]


def get_scorer(name: str | RankingScorer) -> RankingScorer:
    """Return the scorer of a name; a scorer is returned as it is.

    Parameters
    ----------
    name : str or RankingScorer
        "disagreement", "squared_error" (of differences), "concordance", "kendall_tau_b", "spearman", "map", "ndcg",
        "pairwise_accuracy", or with any number of ranks "ndcg@10" and "precision@5"; for models with
        ``predict_proba``, on Comparisons, "log_loss" and "calibration_error". Each is its metric with the default
        options; `make_ranking_scorer` takes others.

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
    ValueError: get_scorer: there is no scorer "ndgc" (nearest names: "ndcg", "ndcg@k").
      Names: disagreement, squared_error, concordance, kendall_tau_b, ...
    """
    if isinstance(name, RankingScorer):
        return name
    if not isinstance(name, str):
        raise TypeError(
            f"get_scorer: a name or a RankingScorer is wanted, not a {type(name).__name__}.\n"
            "  For a metric of your own use make_ranking_scorer(metric)."
        )
    if name in _METRICS:
        return RankingScorer(_METRICS[name], greater_is_better=name not in _ERRORS)
    at_k = re.fullmatch(r"(\w+)@([1-9][0-9]*)", name)
    if at_k and at_k[1] in _METRICS_AT_K:
        return RankingScorer(_METRICS_AT_K[at_k[1]], kwargs={"k": int(at_k[2])})
    if name.partition("@")[0] in _METRICS_AT_K and "@" in name:
        raise ValueError(
            f'get_scorer: "{name}" needs a number for k, the ranks that count: a whole number of at least 1, as in '
            f'"{name.partition("@")[0]}@5".'
        )
    hint = nearest_names(name, get_scorer_names())
    raise ValueError(
        f'get_scorer: there is no scorer "{name}"{" (" + hint + ")" if hint else ""}.\n'
        f"  Names: {', '.join(get_scorer_names())}, where k is a number."
    )


def make_ranking_scorer(metric: Callable[..., Any], *, greater_is_better: bool = True, **kwargs: Any) -> RankingScorer:
    """Make a scorer from a metric and its options.

    Parameters
    ----------
    metric : callable
        ``metric(y_true, y_score, **kwargs)``, of preflearn or your own; see `RankingScorer`.
    greater_is_better : bool, default=True
        False for errors, which are then negated.
    **kwargs : object
        Further arguments of the metric.

    Returns
    -------
    RankingScorer
        The scorer.

    Examples
    --------
    >>> from preflearn.metrics import make_ranking_scorer, mean_average_precision
    >>> make_ranking_scorer(mean_average_precision, relevant=2)
    RankingScorer(mean_average_precision, relevant=2)
    """
    return RankingScorer(metric, greater_is_better=greater_is_better, kwargs=kwargs)
