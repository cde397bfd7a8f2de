"""From comparisons to a ranking in one call: the model chosen by evidence, the verdict, the warnings."""

from preflearn.ranking.advice import Advice
from preflearn.ranking.candidates import MODELS
from preflearn.ranking.choice import Candidate, Choice, choose_model
from preflearn.ranking.ranker import rank
from preflearn.ranking.record import Record
from preflearn.ranking.result import RankResult

__all__ = ["MODELS", "Advice", "Candidate", "Choice", "RankResult", "Record", "choose_model", "rank"]
