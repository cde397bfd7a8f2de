"""Everything that a model file can hold, by name. What is not listed here is neither saved nor read."""

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

from preflearn.baselines import (
    ConstraintSVM,
    ConstraintSVMCV,
    LabelConstraintSVM,
    LabelFrequencies,
    PageRank,
    PairAugmented,
    RankBoost,
    RankCentrality,
    RankSVM,
    SerialRank,
    SVDRank,
)
from preflearn.files import consistency
from preflearn.inference.average import HyperPosterior
from preflearn.inference.contract import Info
from preflearn.inference.search import HyperPrior, Optimum
from preflearn.kernels.approximate import BasisMap, FourierMap, Nystroem, RandomFourier
from preflearn.kernels.factor import LinearMap
from preflearn.kernels.precomputed import Precomputed
from preflearn.likelihoods import LIKELIHOOD_CLASSES
from preflearn.metrics.scorers import METRICS, RankingScorer
from preflearn.models import (
    KPCR,
    KPCRCV,
    RLS,
    RLSCV,
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
    **dict.fromkeys((RLS, RLSCV, RankRLS, RankRLSCV, KPCR, KPCRCV, KPCRank, KPCRankCV), consistency.least_squares),
    **dict.fromkeys((ConstraintSVM, ConstraintSVMCV, LabelConstraintSVM), consistency.machine),
    **dict.fromkeys((PreferenceGP, BradleyTerry), consistency.of_comparisons),
    LabelPreferenceGP: consistency.of_labels,
    LabelFrequencies: consistency.frequencies,
    PairAugmented: consistency.pair_classifier,
    RankSVM: consistency.least_squares,
    RankBoost: consistency.stumps,
    **dict.fromkeys((SerialRank, SVDRank, RankCentrality, PageRank), consistency.item_scores),
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
    Precomputed,
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
