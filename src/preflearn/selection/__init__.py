"""Choosing models: splitters that know groups, pairs and items; predictions of what was held out."""

from preflearn.selection.held_out import HeldOut, Paired, held_out, paired_difference
from preflearn.selection.splitters import GroupFolds, ItemFolds, PairFolds

__all__ = ["GroupFolds", "HeldOut", "ItemFolds", "PairFolds", "Paired", "held_out", "paired_difference"]
