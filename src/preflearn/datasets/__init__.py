"""Data sets with known truth, simulators of the papers' tasks, and a loader for files that users have."""

from preflearn.datasets.letor import LetorFold, load_letor
from preflearn.datasets.ltr import GradedRanking, make_ltr
from preflearn.datasets.parses import ParseRanking, make_noisy_parse_ranking
from preflearn.datasets.scaling import scale_per_group
from preflearn.datasets.sinc import SincPreferences, make_sinc_preferences

__all__ = [
    "GradedRanking",
    "LetorFold",
    "ParseRanking",
    "SincPreferences",
    "load_letor",
    "make_ltr",
    "make_noisy_parse_ranking",
    "make_sinc_preferences",
    "scale_per_group",
]
