"""Judge predictions: pairs ordered rightly, rankings good at the top, and scorers for model selection."""

from preflearn.metrics.pairwise import (
    concordance_index,
    disagreement_error,
    kendall_tau_b,
    pairwise_accuracy,
    spearman,
    squared_difference_error,
    squared_margin_error,
)
from preflearn.metrics.probabilities import (
    Calibration,
    calibration_curve,
    comparison_log_loss,
    expected_calibration_error,
)
from preflearn.metrics.rankings import mean_average_precision, ndcg, precision_at_k
from preflearn.metrics.scorers import RankingScorer, get_scorer, get_scorer_names, make_ranking_scorer

__all__ = [
    "Calibration",
    "RankingScorer",
    "calibration_curve",
    "comparison_log_loss",
    "concordance_index",
    "disagreement_error",
    "expected_calibration_error",
    "get_scorer",
    "get_scorer_names",
    "kendall_tau_b",
    "make_ranking_scorer",
    "mean_average_precision",
    "ndcg",
    "pairwise_accuracy",
    "precision_at_k",
    "spearman",
    "squared_difference_error",
    "squared_margin_error",
]
