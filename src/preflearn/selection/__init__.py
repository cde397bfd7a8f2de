"""Choosing models: splitters that know groups, pairs and items."""

from preflearn.selection.splitters import GroupFolds, ItemFolds, PairFolds

__all__ = ["GroupFolds", "ItemFolds", "PairFolds"]
