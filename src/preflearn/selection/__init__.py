"""Choosing models: splitters that know groups, clusters, pairs and items; predictions of what was held out."""

from preflearn.selection.held_out import HeldOut, Paired, held_out, outcome_probability, paired_difference
from preflearn.selection.splitters import ClusterFolds, GroupFolds, ItemFolds, PairFolds

__all__ = [
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
