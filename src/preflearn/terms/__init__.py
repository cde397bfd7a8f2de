"""Terms: what a model is a sum of. A term knows rows, items and kernels; it does not know which inference is used."""

from preflearn.terms._contract import (
    POPULATION,
    UNKNOWN,
    Asked,
    Combined,
    Direct,
    Given,
    Items,
    Multiple,
    Own,
    Parameters,
    Rows,
    Seen,
    Term,
    Who,
    pair_operator,
)
from preflearn.terms.circles import PairEffects, PairPreferences, SkewBasis, SkewFunctions
from preflearn.terms.clusters import Clusters
from preflearn.terms.covariates import Covariates
from preflearn.terms.reliability import Reliability, ReliabilityError
from preflearn.terms.side import Side
from preflearn.terms.tastes import Tastes, TastesByFeatures
from preflearn.terms.utility import ItemKernel, Utility

__all__ = [
    "POPULATION",
    "UNKNOWN",
    "Asked",
    "Clusters",
    "Combined",
    "Covariates",
    "Direct",
    "Given",
    "ItemKernel",
    "Items",
    "Multiple",
    "Own",
    "PairEffects",
    "PairPreferences",
    "Parameters",
    "Reliability",
    "ReliabilityError",
    "Rows",
    "Seen",
    "Side",
    "SkewBasis",
    "SkewFunctions",
    "Tastes",
    "TastesByFeatures",
    "Term",
    "Utility",
    "Who",
    "pair_operator",
]
