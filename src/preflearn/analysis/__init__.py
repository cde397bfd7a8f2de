"""From comparisons to a ranking in one call: the model chosen by evidence, the verdict, the warnings."""

from preflearn.analysis.advice import Advice
from preflearn.analysis.analyse import Analysis, Check, analyse
from preflearn.analysis.forecasting import Forecast, forecast
from preflearn.analysis.ladder import Ladder, Step
from preflearn.analysis.limits import Limits
from preflearn.analysis.model_names import Terms
from preflearn.analysis.prepared import Record
from preflearn.analysis.ranker import RankingsBy, rank, rank_by
from preflearn.analysis.result import RankResult

__all__ = [
    "Advice",
    "Analysis",
    "Check",
    "Forecast",
    "Ladder",
    "Limits",
    "RankResult",
    "RankingsBy",
    "Record",
    "Step",
    "Terms",
    "analyse",
    "forecast",
    "rank",
    "rank_by",
]
