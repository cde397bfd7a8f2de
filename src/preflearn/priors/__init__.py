"""Priors: from data to algebra. A prior knows items and kernels; it does not know which inference will be used."""

from preflearn.priors.items import ItemPrior, Items
from preflearn.priors.judges import POPULATION, UNKNOWN, Asked, JudgeKernelPrior, JudgePrior
from preflearn.priors.labels import LabelPrior
from preflearn.priors.pair_effects import PairEffectPrior
from preflearn.priors.pairs import PairKernels, PairParts, PairPrior
from preflearn.priors.skew_basis import SkewBasis, SkewBasisPrior, SkewRestPrior

__all__ = [
    "POPULATION",
    "UNKNOWN",
    "Asked",
    "ItemPrior",
    "Items",
    "JudgeKernelPrior",
    "JudgePrior",
    "LabelPrior",
    "PairEffectPrior",
    "PairKernels",
    "PairParts",
    "PairPrior",
    "SkewBasis",
    "SkewBasisPrior",
    "SkewRestPrior",
]
