"""Choosing models and features: splitters that know groups, clusters, pairs and items; held-out predictions."""

from preflearn.selection.bahsic import BAHSIC
from preflearn.selection.held_out import HeldOut, Paired, held_out, outcome_probability, paired_difference
from preflearn.selection.splitters import ClusterFolds, GroupFolds, ItemFolds, PairFolds

__all__ = [
    "BAHSIC",
    "ClusterFolds",
    "GroupFolds",
    "HeldOut",
    "ItemFolds",
    "PairFolds",
    "Paired",
    "held_out",
    "outcome_probability",
    "paired_difference",
]
