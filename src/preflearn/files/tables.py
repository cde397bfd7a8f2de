"""Everything that a model file can hold, by name. What is not listed here is neither saved nor read.

A new estimator is one line of `ESTIMATORS`: its class, and the check of its parts after reading. It is saved by its
parameters and by what ``fit`` leaves; one with more than data in it says what a file needs (``_file_state``) and makes
itself from that (``_from_file_state``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.gaussian_process import kernels as gp
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    KernelCenterer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from preflearn.baselines import ConstraintSVM, ConstraintSVMCV, PairAugmented
from preflearn.files import consistency
from preflearn.inference.average import HyperPosterior
from preflearn.inference.contract import Info
from preflearn.inference.search import HyperPrior, Optimum
from preflearn.kernels.approximate import BasisMap, FourierMap, Nystroem, RandomFourier
from preflearn.kernels.factor import LinearMap
from preflearn.likelihoods import LIKELIHOOD_CLASSES
from preflearn.metrics.scorers import METRICS, RankingScorer
from preflearn.models import (
    KPCR,
    RLS,
    BradleyTerry,
    KPCRank,
    KPCRankCV,
    LabelPreferenceGP,
    OnItems,
    PreferenceGP,
    RankRLS,
    RankRLSCV,
)
from preflearn.models.kpc import Components
from preflearn.structure import ComparableClusters

Check = Callable[[Any], None]

ESTIMATORS: dict[type[Any], Check] = {
    RLS: consistency.least_squares,
    RankRLS: consistency.least_squares,
    RankRLSCV: consistency.least_squares,
    KPCR: consistency.least_squares,
    KPCRank: consistency.least_squares,
    KPCRankCV: consistency.least_squares,
    PreferenceGP: consistency.of_comparisons,
    BradleyTerry: consistency.of_comparisons,
    LabelPreferenceGP: consistency.of_labels,
    ConstraintSVM: consistency.least_squares,
    ConstraintSVMCV: consistency.least_squares,
    PairAugmented: consistency.pair_classifier,
    ComparableClusters: consistency.clusters,
    Pipeline: consistency.pipeline,
}
TRANSFORMERS: dict[type[Any], Check] = dict.fromkeys(
    (
        StandardScaler,
        MinMaxScaler,
        RobustScaler,
        MaxAbsScaler,
        Normalizer,
        PCA,
        KernelPCA,
        TruncatedSVD,
        SimpleImputer,
        OneHotEncoder,
    ),
    consistency.transformer,
)
# What the others hold, and no model of comparisons by itself.
PARTS: dict[type[Any], Check] = {
    OnItems: consistency.on_items,
    KernelCenterer: consistency.finite_parts,
    MissingIndicator: consistency.finite_parts,
    LogisticRegression: consistency.finite_parts,
}


def checked(kind: type[Any]) -> Check | None:
    """Return the check of an estimator's class; None for one that files do not hold."""
    return ESTIMATORS.get(kind) or TRANSFORMERS.get(kind) or PARTS.get(kind)


def _table(*classes: Any) -> dict[str, Any]:
    return {kind.__name__: kind for kind in classes}


KERNELS = _table(
    gp.ConstantKernel,
    gp.WhiteKernel,
    gp.DotProduct,
    gp.RBF,
    gp.Matern,
    gp.RationalQuadratic,
    gp.ExpSineSquared,
    gp.PairwiseKernel,
    gp.Sum,
    gp.Product,
    gp.Exponentiation,
)
# By the arguments of their constructor, which are their attributes.
OBJECTS = KERNELS | _table(
    LinearMap,
    BasisMap,
    FourierMap,
    Components,
    *LIKELIHOOD_CLASSES,
    Optimum,
    Info,
    HyperPosterior,
    HyperPrior,
    Nystroem,
    RandomFourier,
    RankingScorer,
    KFold,
    GroupKFold,
    LeaveOneGroupOut,
)
FUNCTIONS = _table(*METRICS, np.float32, np.float64)
SPARSE = _table(sp.csr_array, sp.csr_matrix)
