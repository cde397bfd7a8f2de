"""Data sets with known truth, simulators of the papers' tasks, and a loader for files that users have."""

from preflearn.datasets.expected_utility import ExpectedUtility, make_label_rankings
from preflearn.datasets.hidden_states import HiddenStates, make_comparable_clusters, make_cyclic_preferences
from preflearn.datasets.letor import LetorFold, load_letor
from preflearn.datasets.ltr import GradedRanking, make_ltr
from preflearn.datasets.parses import ParseRanking, make_noisy_parse_ranking
from preflearn.datasets.scaling import scale_per_group
from preflearn.datasets.sinc import SincPreferences, make_sinc_preferences

__all__ = [
    "ExpectedUtility",
    "GradedRanking",
    "HiddenStates",
    "LetorFold",
    "ParseRanking",
    "SincPreferences",
    "load_letor",
    "make_comparable_clusters",
    "make_cyclic_preferences",
    "make_label_rankings",
    "make_ltr",
    "make_noisy_parse_ranking",
    "make_sinc_preferences",
    "scale_per_group",
]
