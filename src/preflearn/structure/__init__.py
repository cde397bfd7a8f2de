"""What kind of preferences these are: whether they can be ranked or run in circles, and which items are comparable."""

from preflearn.structure.comparable_clusters import ComparableClusters
from preflearn.structure.graph import Hodge, average_clustering
from preflearn.structure.judges import JudgeReport, judge_report
from preflearn.structure.rankability import Rankability, rankability

__all__ = [
    "ComparableClusters",
    "Hodge",
    "JudgeReport",
    "Rankability",
    "average_clustering",
    "judge_report",
    "rankability",
]
