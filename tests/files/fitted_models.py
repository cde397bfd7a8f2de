"""Fitted models of every kind that a file can hold, small enough to be fitted in a moment."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, OneHotEncoder, RobustScaler, StandardScaler

from likelihood_table import TYPICAL
from preflearn import (
    RLS,
    Bags,
    BradleyTerry,
    Comparisons,
    KPCRank,
    LabelPreferenceGP,
    LabelPreferences,
    Nystroem,
    OnItems,
    PreferenceGP,
    RandomFourier,
    RankRLS,
)
from preflearn.baselines import (
    ConstraintSVM,
    ConstraintSVMCV,
    LabelConstraintSVM,
    LabelFrequencies,
    PageRank,
    PairAugmented,
    RankCentrality,
    SerialRank,
    SVDRank,
)
from preflearn.data import from_label_rankings
from preflearn.likelihoods import Logit, Probit
from preflearn.structure import ComparableClusters

RNG = np.random.RandomState(3)
N = 12
X = RNG.standard_normal((N, 2))
FIRST, SECOND = (side[:40] for side in np.triu_indices(N, 1))
MARGIN = X[FIRST, 0] - X[SECOND, 0] + 0.4 * RNG.standard_normal(FIRST.shape[0])
WON = np.sign(MARGIN)
TIED = np.where(np.abs(MARGIN) < 0.4, 0.0, WON)
WHO = np.array(["ann", "bob", "cy", ""])[RNG.randint(0, 4, FIRST.shape[0])]
NAMES = ["ä", 7, 2.5, True, *"efghijkl"]  # names of any kind
JUDGES = pd.DataFrame({"judge": ["ann", "bob", "cy", "di"], "age": [0.1, 0.5, 0.2, 0.9]})
BAGS = Bags([X[[i, (i + 1) % N, (i + 2) % N]][: 1 + i % 3] for i in range(N)], names=[f"bag {i}" for i in range(N)])

CALLED = [NAMES[i] for i in FIRST], [NAMES[i] for i in SECOND]
WITH_FEATURES = Comparisons(X, *CALLED, WON, names=NAMES, weight=1.0 + np.arange(40.0) % 3)
PLAIN = Comparisons(X, FIRST, SECOND, WON)
FRAME = Comparisons(pd.DataFrame(X, columns=["length", "width"]), FIRST, SECOND, WON, group=np.arange(40) // 5)
FEATURELESS = Comparisons(N, *CALLED, WON, names=NAMES)
NUMBERED = Comparisons(N + 3, FIRST, SECOND, WON)
SPARSE = Comparisons(sp.csr_array(np.where(np.abs(X) > 0.5, X, 0.0)), FIRST, SECOND, WON)
MARGINS = Comparisons(X, FIRST, SECOND, 50 * MARGIN)
TIES = Comparisons(X, FIRST, SECOND, TIED)
JUDGED = Comparisons(X, FIRST, SECOND, WON, judge=WHO)
JUDGED_FRAME = Comparisons(X, FIRST, SECOND, WON, judge=WHO, judges=JUDGES)
BAGGED = Comparisons(BAGS, FIRST, SECOND, WON)
FEW = Comparisons(X, [0, 2, 4], [1, 3, 5], [1, -1, 1])  # fewer pairs than items
GIVEN_VALUES = Comparisons(X @ X.T + np.eye(N), *CALLED, WON, names=NAMES)
ON_A_LINE = np.linspace(-1, 1, 34)[:, None]
MANY = Comparisons(ON_A_LINE, *np.triu_indices(34, 1), np.sign(np.cos(np.arange(561.0))))  # skew functions

BESIDE = Comparisons(
    N,
    np.r_[FIRST[::2], SECOND[1::2]],
    np.r_[SECOND[::2], FIRST[1::2]],
    np.r_[WON[::2], -WON[1::2]],
    covariates=np.column_stack([MARGIN.round(1), np.cos(np.arange(40.0))]),
    cluster=np.arange(40) // 4,
)

GIVEN = {"hyperparameters": "fixed"}
CYCLIC = {"cyclic_kernel": 0.7 * RBF(1.0)}
OF_LIKELIHOODS = {
    f"likelihood {name}": (
        PreferenceGP(likelihood=one, inference="laplace" if one.log_concave else "ep", n_restarts=0),
        MARGINS if one.margins else TIES if 0.0 in one.outcomes else PLAIN,
    )
    for name, one in TYPICAL.items()
}
GP = {
    **OF_LIKELIHOODS,
    "features": (PreferenceGP(n_restarts=0), WITH_FEATURES),
    "frame": (PreferenceGP("ard", n_restarts=0, random_state=1), FRAME),
    "numbered rows": (PreferenceGP(2.0 * Matern(1.5, nu=2.5) + DotProduct(0.3), **GIVEN), PLAIN),
    "sparse": (PreferenceGP(**GIVEN), SPARSE),
    "names": (PreferenceGP(n_restarts=0), FEATURELESS),
    "numbers": (PreferenceGP(**GIVEN), NUMBERED),
    "own effects": (PreferenceGP(own_effect=True, n_restarts=0), WITH_FEATURES),
    "few pairs": (PreferenceGP(**GIVEN), FEW),
    "bags": (PreferenceGP(n_restarts=0), BAGGED),
    "linear": (PreferenceGP(DotProduct(1.0), **GIVEN), PLAIN),  # a singular kernel matrix
    "precomputed": (PreferenceGP("precomputed", cyclic_kernel="precomputed", n_restarts=0), GIVEN_VALUES),
    "landmarks": (PreferenceGP("ard", approximation=Nystroem(4, random_state=0), n_restarts=0), WITH_FEATURES),
    "waves": (PreferenceGP(approximation=RandomFourier(6, random_state=0), inference="ep", **GIVEN), PLAIN),
    "gaussian": (PreferenceGP(likelihood="gaussian", n_restarts=0), MARGINS),
    "ties": (PreferenceGP(ties=True, n_restarts=0), TIES),
    "fixed tie": (PreferenceGP(likelihood=Logit(tie=0.3, tie_fixed=True), **GIVEN), TIES),
    "EP": (PreferenceGP(inference="ep", n_restarts=0), WITH_FEATURES),
    "EP ties": (PreferenceGP(likelihood=Probit(), inference="ep", ties=True, n_restarts=0), TIES),
    "average": (PreferenceGP(hyperparameters="average", n_points=8, n_restarts=0, random_state=0), PLAIN),
    "weak prior": (PreferenceGP(own_effect=True, hyperprior=1.5, n_restarts=0), WITH_FEATURES),
    "average EP": (PreferenceGP(inference="ep", hyperparameters="average", n_points=8, random_state=0), FEATURELESS),
    "cyclic": (PreferenceGP("rbf", n_restarts=0, **CYCLIC), WITH_FEATURES),
    "cyclic EP": (PreferenceGP("rbf", inference="ep", **GIVEN, **CYCLIC), PLAIN),
    "only cyclic": (PreferenceGP(n_restarts=0, **CYCLIC), PLAIN),
    "pair effects": (PreferenceGP(ConstantKernel(), cyclic_kernel=ConstantKernel(), n_restarts=0), FEATURELESS),
    "only pair effects": (PreferenceGP(cyclic_kernel=ConstantKernel(0.5), inference="ep", **GIVEN), NUMBERED),
    "skew functions": (PreferenceGP("rbf", cyclic_kernel=0.7 * RBF(0.8), n_restarts=0), MANY),
    "only skew functions": (PreferenceGP(cyclic_kernel=0.7 * RBF(0.8), **GIVEN), MANY),
    "judges": (PreferenceGP(judge_kernel="identity", n_restarts=0), JUDGED),
    "judges EP": (PreferenceGP(judge_kernel=ConstantKernel(0.5), inference="ep", **GIVEN), JUDGED),
    "judges cyclic": (PreferenceGP("rbf", judge_kernel="identity", **GIVEN, **CYCLIC), JUDGED),
    "judges with features": (PreferenceGP(judge_kernel=WhiteKernel(0.5) + RBF(0.4), n_restarts=0), JUDGED_FRAME),
}

MATCHES = {
    "evidence": (BradleyTerry(), FEATURELESS),
    "variance": (BradleyTerry("probit", prior=1.5), NUMBERED),
    "no prior": (BradleyTerry(prior=None), Comparisons(4, [0, 1, 2, 3, 0], [1, 2, 3, 0, 2], weight=[3, 1, 2, 1, 1])),
    "average of variances": (BradleyTerry(hyperparameters="average"), FEATURELESS),
    "average of thresholds": (
        BradleyTerry(hyperparameters="average", ties=True),
        Comparisons(N, FIRST, SECOND, TIED),
    ),
    "by moments": (BradleyTerry("probit", inference="ep"), FEATURELESS),
    "average by moments": (BradleyTerry(inference="ep", hyperparameters="average"), NUMBERED),
    "thresholds": (BradleyTerry(ties=True), Comparisons(N, FIRST, SECOND, TIED)),
    "side and covariates": (BradleyTerry(side=True), BESIDE),
    "clusters": (BradleyTerry(cluster=True, covariates=False), BESIDE),
}

ORDERS = [["tea", "milk"], ["tea", "milk", "juice"], ["juice", "tea"], ["juice", "milk"], ["milk", "tea"]]
DRINKS = from_label_rankings(pd.DataFrame({"age": [0.0, 0.2, 0.8, 1.0, 0.4]}), ORDERS)
EDGES_OF = ([0, 1, 2, 3, 4, 4], [1, 2, 1, 3, 2, 1], [2, 3, 3, 1, 1, 3], [1, -1, 1, 1, 1, -1])
EDGES = LabelPreferences(X[:5], *EDGES_OF)
CLASSES = (X, np.array([0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 5]))
LABELS = {
    "labels": (LabelPreferenceGP(n_restarts=0), (DRINKS,), [[0.1], [0.7]]),
    "labels EP": (LabelPreferenceGP(inference="ep", **GIVEN), (EDGES,), X[5:]),
    "labels averaged": (
        LabelPreferenceGP(hyperparameters="average", n_points=16, n_restarts=0, random_state=0),
        (DRINKS,),
        [[0.1], [0.7]],
    ),
    "labels own kernels": (LabelPreferenceGP(shared=False, n_restarts=0), (DRINKS,), [[0.1], [0.7]]),
    "labels precomputed": (
        LabelPreferenceGP("precomputed", n_restarts=0),
        (LabelPreferences(X @ X.T, *EDGES_OF),),
        np.hstack([X[:2] @ X.T, X[:2] @ X[:2].T]),
    ),
    "classes": (LabelPreferenceGP("ard", "logit", **GIVEN), CLASSES, X[:4] + 0.1),
    "labels of bags": (
        LabelPreferenceGP(**GIVEN),
        (LabelPreferences(BAGS, EDGES.item, ["a"] * 6, ["b", "c"] * 3),),
        BAGS[:3],
    ),
}

WIDE = np.hstack([X, X**2, X[:, :1] * X[:, 1:]])
WIDE_COMPARISONS = Comparisons(WIDE, FIRST, SECOND, WON)
SCORES = X[:, 0]
TABLE = pd.DataFrame(X, columns=["a", "b"])
HOLES = np.where(np.arange(N)[:, None] == np.arange(2), np.nan, X)
ROUND = np.round(X)
TRANSFORMERS = {
    "StandardScaler": StandardScaler(),
    "MinMaxScaler": MinMaxScaler(),
    "RobustScaler": RobustScaler(),
    "MaxAbsScaler": MaxAbsScaler(),
    "Normalizer": Normalizer(),
    "PCA": PCA(3, random_state=0),
    "KernelPCA": KernelPCA(3, kernel="rbf", random_state=0),
    "TruncatedSVD": TruncatedSVD(3, random_state=0),
    "two steps": make_pipeline(StandardScaler(), PCA(0.9)),
}
# name -> pipeline, what it is fitted on, and what to predict
PIPELINES = {
    "names of columns": (make_pipeline(OnItems(StandardScaler()), PreferenceGP(**GIVEN)), (FRAME,), FRAME),
    "bags scaled": (make_pipeline(OnItems(StandardScaler()), PreferenceGP(**GIVEN)), (BAGGED,), BAGGED),
    "labels scaled": (make_pipeline(OnItems(StandardScaler()), LabelPreferenceGP(**GIVEN)), (EDGES,), X[3:6]),
    "rows": (make_pipeline(SimpleImputer(add_indicator=True), RobustScaler(), RankRLS()), (HOLES, SCORES), HOLES),
    "frame": (make_pipeline(StandardScaler(), RLS()), (TABLE, SCORES), TABLE),
    "one hot": (make_pipeline(OneHotEncoder(handle_unknown="ignore"), RankRLS()), (ROUND, SCORES), ROUND),
    "one hot dropped": (make_pipeline(OneHotEncoder(drop="first"), RLS()), (ROUND, SCORES), ROUND),
    "passed on": (make_pipeline("passthrough", KPCRank(2)), (X, SCORES), X),
    **{
        name: (make_pipeline(OnItems(one), PreferenceGP(**GIVEN)), (WIDE_COMPARISONS,), WIDE_COMPARISONS)
        for name, one in TRANSFORMERS.items()
    },
}
OTHERS = {
    "ConstraintSVM": (ConstraintSVM(C=3.0), PLAIN),
    "ConstraintSVMCV": (ConstraintSVMCV(cv=2, log10_C=(0, 1), log10_kappa=(-1, 0), refine=0, random_state=0), FRAME),
    "LabelConstraintSVM": (LabelConstraintSVM(C=3.0), DRINKS),
    "LabelFrequencies": (LabelFrequencies(), DRINKS),
    "PairAugmented": (PairAugmented(), PLAIN),
    "SerialRank": (SerialRank(), FEATURELESS),
    "SVDRank": (SVDRank(normalised=False), NUMBERED),
    "RankCentrality": (RankCentrality(0.5), FEATURELESS),
    "PageRank": (PageRank(), FEATURELESS),
}
CLUSTERS = {
    "svd": ComparableClusters(2, "svd", random_state=0),
    "gpgp": ComparableClusters(2, model=PreferenceGP(**GIVEN, **CYCLIC), random_state=0),
}


def quietly_fitted(model, *data):
    """Return a model fitted on data, whatever it has to say about it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(*data)


@cache
def fitted(name):
    """Return a fitted Gaussian process of the table and its comparisons."""
    model, data = GP[name]
    return quietly_fitted(model, data), data
