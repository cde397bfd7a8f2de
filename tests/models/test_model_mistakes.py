"""User mistakes with estimators: one message each, naming the cause and the cure."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_approximation import Nystroem as SkNystroem
from sklearn.model_selection import ShuffleSplit

from preflearn import (
    KPCR,
    RLS,
    Bags,
    Comparisons,
    KPCRank,
    KPCRankCV,
    Nystroem,
    OnItems,
    RandomFourier,
    RankRLS,
    RankRLSCV,
    Ratings,
)
from preflearn.baselines import ConstraintSVM, PairAugmented
from preflearn.exceptions import DataWarning

X = np.random.default_rng(0).normal(size=(12, 3))
y = np.arange(12.0)
qid = np.repeat([0, 1, 2, 3], 3)
matches = Comparisons(X, [0, 1, 2], [3, 4, 5])
bare = Comparisons(4, [0, 1, 2], [1, 2, 3])
bags = Bags([X[row : row + 2] for row in range(11)] + [X[:1]])
W = sp.csr_array(np.ones((12, 12)))

# what was done, the kind of error, fragments of the message: cause and cure
MISTAKES = {
    "no scores": (lambda: RankRLS().fit(X), ValueError, ["requires y", "fit(X, y)", "Comparisons"]),
    "negative alpha": (lambda: RankRLS(-1.0).fit(X, y), ValueError, ["'alpha'", "Got -1.0"]),
    "alpha zero": (lambda: RankRLS(0.0).fit(X, y), ValueError, ["'alpha'", "(0.0, inf)"]),
    "alpha as text": (lambda: RankRLS("1").fit(X, y), ValueError, ["'alpha'", "float"]),
    "misspelt kernel": (lambda: RankRLS(kernel="rbff").fit(X, y), ValueError, ["rbff", "rbf"]),
    "kernel is a function": (lambda: RankRLS(kernel=len).fit(X, y), TypeError, ["plain function", "PairwiseKernel"]),
    "misspelt ties": (lambda: RankRLS(ties="drop").fit(X, y), ValueError, ["'ties'", "'exclude'"]),
    "misspelt weighting": (lambda: RankRLS(weighting="query").fit(X, y), ValueError, ["'weighting'", "'groups'"]),
    "misspelt solver": (lambda: RankRLS(solver="svd").fit(X, y), ValueError, ["'solver'", "'dual'"]),
    "primal without features": (
        lambda: RankRLS(kernel="rbf", solver="primal").fit(X, y),
        ValueError,
        ['solver="primal"', "infinitely many", "Nystroem"],
    ),
    "dual with approximation": (
        lambda: RankRLS(kernel="rbf", solver="dual", approximation=Nystroem(3)).fit(X, y),
        ValueError,
        ["approximation", 'solver="auto"'],
    ),
    "precomputed and primal": (
        lambda: RankRLS(kernel="precomputed", solver="primal").fit(X @ X.T, y),
        ValueError,
        ["precomputed", 'solver="dual"'],
    ),
    "precomputed, not square": (
        lambda: RankRLS(kernel="precomputed").fit(X, y),
        ValueError,
        ["square", "(12, 3)", "K(train, train)"],
    ),
    "precomputed, not symmetric": (
        lambda: RankRLS(kernel="precomputed").fit(np.triu(np.ones((12, 12))), y),
        ValueError,
        ["not symmetric", "(K + K.T) / 2"],
    ),
    "random features of a polynomial": (
        lambda: RankRLS(kernel="poly2", approximation=RandomFourier(4)).fit(X, y),
        ValueError,
        ["RandomFourier", "Nystroem"],
    ),
    "qid too short": (lambda: RankRLS().fit(X, y, qid=qid[:5]), ValueError, ["qid", "5", "12"]),
    "qid missing a value": (
        lambda: RankRLS().fit(X, y, qid=["a"] * 11 + [None]),
        ValueError,
        ["qid is missing", "row 11", "drop"],
    ),
    "qid is the row number": (
        lambda: RankRLS().fit(X, y, qid=np.arange(12)),
        ValueError,
        ["none of the 12 groups has two rows", "row's own id"],
    ),
    "weights too short": (lambda: RankRLS().fit(X, y, sample_weight=[1, 2]), ValueError, ["weight", "2", "12"]),
    "weights negative": (lambda: RankRLS().fit(X, y, sample_weight=-y - 1), ValueError, ["negative", ">= 0"]),
    "weights all zero": (lambda: RankRLS().fit(X, y, sample_weight=0 * y), ValueError, ["all 12 weights are zero"]),
    "NaN in features": (lambda: RankRLS().fit(np.where(X > 1, np.nan, X), y), ValueError, ["NaN"]),
    "NaN in scores": (lambda: RankRLS().fit(X, np.where(y > 3, np.nan, y)), ValueError, ["y", "NaN"]),
    "scores as text": (lambda: RankRLS().fit(X, ["good"] * 12), ValueError, ["good"]),
    "one row": (lambda: RankRLS().fit(X[:1], y[:1]), ValueError, ["1 sample"]),
    "scores for fewer rows": (lambda: RankRLS().fit(X, y[:5]), ValueError, ["[12, 5]"]),
    "graph of the wrong size": (lambda: RankRLS().fit(X, y, graph=W[:3, :3]), ValueError, ["(3, 3)", "12 rows"]),
    "graph not symmetric": (lambda: RankRLS().fit(X, y, graph=sp.triu(W)), ValueError, ["symmetric", "(W + W.T) / 2"]),
    "graph negative": (lambda: RankRLS().fit(X, y, graph=-W), ValueError, ["negative", ">= 0"]),
    "graph empty": (lambda: RankRLS().fit(X, y, graph=0 * W), ValueError, ["no positive weight", "> 0"]),
    "graph and groups": (lambda: RankRLS().fit(X, y, qid=qid, graph=W), TypeError, ["qid or by graph"]),
    "comparisons with scores": (
        lambda: RankRLS().fit(matches, y[:3]),
        TypeError,
        ["Comparisons carry their own", '"y"', "alone"],
    ),
    "ratings with groups": (
        lambda: RankRLS().fit(Ratings(X, y), qid=qid),
        TypeError,
        ["Ratings carry their own", '"qid"'],
    ),
    "regression of comparisons": (lambda: RLS().fit(matches), TypeError, ["RLS regresses scores", "RankRLS"]),
    "components of comparisons": (lambda: KPCR().fit(matches), TypeError, ["KPCR regresses scores", "KPCRank"]),
    "only ties, excluded": (
        lambda: RankRLS(ties="exclude").fit(Comparisons(X, [0, 1], [2, 3], 0.0)),
        ValueError,
        ["all comparisons are ties", 'ties="include"'],
    ),
    "predict before fit": (lambda: RankRLS().predict(X), NotFittedError, ["not fitted", "fit"]),
    "fewer features at prediction": (lambda: RankRLS().fit(X, y).predict(X[:, :2]), ValueError, ["2 features", "3"]),
    "items with other features": (
        lambda: RankRLS().fit(matches).predict(Comparisons(X[:, :2], [0], [1])),
        ValueError,
        ["2 features", "fitted on 3", "same columns"],
    ),
    "other items without features": (
        lambda: RankRLS().fit(bare).predict(Comparisons(5, [0, 1, 2, 3], [1, 2, 3, 4])),
        ValueError,
        ["4 is not a row number of the 4 training items"],
    ),
    "score without truth": (lambda: RankRLS().fit(X, y).score(X), ValueError, ["true scores", "score(X, y)"]),
    "alphas negative": (lambda: RankRLSCV([-1.0, 1.0]).fit(X, y), ValueError, ["alphas", "positive"]),
    "alphas empty": (lambda: RankRLSCV([]).fit(X, y), ValueError, ["alphas", "positive"]),
    "ties unknown to the choice": (lambda: RankRLSCV(ties=["all"]).fit(X, y), ValueError, ["ties", '"exclude"']),
    "unknown scoring": (lambda: RankRLSCV(scoring="ndgc").fit(X, y), ValueError, ["ndgc", "ndcg"]),
    "scoring of groups on pairs": (
        lambda: RankRLSCV(scoring="map").fit(matches),
        TypeError,
        ["cannot judge a Comparisons", "disagreement"],
    ),
    "scoring of pairs on groups": (
        lambda: RankRLSCV(scoring="pairwise_accuracy").fit(X, y, qid=qid),
        TypeError,
        ["judges listed comparisons", "concordance"],
    ),
    "more folds than groups": (lambda: RankRLSCV(cv=9).fit(X, y, qid=qid), ValueError, ["cv=9", "4"]),
    "more folds than pairs": (lambda: RankRLSCV(cv=9).fit(matches), ValueError, ["cv=9", "3"]),
    "too few rows to choose": (lambda: RankRLSCV().fit(X[:3], y[:3]), ValueError, ["3 distinct rows", "qid"]),
    "folds that overlap, to be stored": (
        lambda: RankRLSCV(cv=ShuffleSplit(3, random_state=0), store_cv_results=True).fit(X, y),
        ValueError,
        ["more than once", "disjoint"],
    ),
    "components zero": (lambda: KPCRank(0).fit(X, y), ValueError, ["'n_components'", "[1, inf)"]),
    "components fractional": (lambda: KPCRankCV([1.5]).fit(X, y), ValueError, ["n_components", "whole numbers"]),
    "no kernel to choose from": (lambda: KPCRankCV(3, []).fit(X, y), ValueError, ["at least one kernel"]),
    "precomputed among others": (
        lambda: KPCRankCV(3, ["precomputed", "rbf"]).fit(X @ X.T, y),
        ValueError,
        ["precomputed", "only by itself"],
    ),
    "transformer that is none": (lambda: OnItems(3).fit(matches), ValueError, ["'transformer'", "'transform'"]),
    "transformer without features": (lambda: OnItems(KPCR()).fit(bare), ValueError, ["no features", "items=..."]),
    "wrong features of a kernel": (
        lambda: RankRLS(kernel=RBF([1.0, 1.0])).fit(X, y),
        ValueError,
        ["length", "2", "3"],
    ),
    "approximation of scikit-learn": (
        lambda: RankRLS(kernel="rbf", approximation=SkNystroem()).fit(X, y),
        TypeError,
        ["preflearn.Nystroem", "pipeline"],
    ),
    "approximation is a class": (
        lambda: RankRLS(kernel="rbf", approximation=Nystroem).fit(X, y),
        TypeError,
        ["preflearn.Nystroem(...)"],
    ),
    "no kernel at all": (
        lambda: RankRLS(kernel="precomputed").fit(-np.eye(12), y),
        ValueError,
        ["negative eigenvalues", "smallest -1"],
    ),
    "weights of groups that do not exist": (
        lambda: RankRLS(weighting="groups").fit(matches),
        ValueError,
        ['weighting="groups"', "group=..."],
    ),
    "weights of groups in a graph": (
        lambda: RankRLS(weighting="groups").fit(X, y, graph=W),
        ValueError,
        ['weighting="groups"', 'weighting="pairs"'],
    ),
    "features that overflow": (lambda: RankRLS().fit(X * 1e160, y), ValueError, ["overflow", "StandardScaler"]),
    "tied scores, to choose by": (lambda: RankRLSCV().fit(X, 0 * y, qid=qid), ValueError, ["tied", "right column"]),
    "one comparison, to choose by": (
        lambda: KPCRankCV(2).fit(Comparisons(X, [0], [1])),
        ValueError,
        ["at least 2 distinct pairs", "there is 1"],
    ),
    "unknown item without features": (
        lambda: RankRLS().fit(Comparisons(None, ["ann"], ["bob"])).predict(Comparisons(None, ["anne"], ["bob"])),
        ValueError,
        ["not among the 2 items of training", '"anne"', '"ann"'],
    ),
    "no splits": (lambda: RankRLSCV(cv=[]).fit(X, y, qid=qid), ValueError, ["nothing to test on"]),
    "nothing to train on": (
        lambda: RankRLSCV(cv=[(np.arange(0), np.arange(12))]).fit(X, y, qid=qid),
        ValueError,
        ["nothing to train on"],
    ),
    "features forgotten at prediction": (
        lambda: RankRLS().fit(matches).predict(Comparisons(3, [0, 1], [1, 2])),
        ValueError,
        ["no features", "items=..."],
    ),
    "names after numbers": (
        lambda: RankRLS().fit(bare).predict(Comparisons(None, ["a", "b", "c"], ["b", "c", "d"])),
        ValueError,
        ["numbered items", "names"],
    ),
    "masked features": (lambda: RankRLS().fit(np.ma.masked_less(X, 0), y), ValueError, ["NaN"]),
    "masked outcomes": (
        lambda: Comparisons(X, [0, 1], [1, 2], np.ma.masked_array([1.0, 2.0], [0, 1])),
        ValueError,
        ["outcome is missing", "row 1"],
    ),
    "rows for a model of bags": (
        lambda: RankRLS(kernel="rbf").fit(bags, y).predict(X),
        ValueError,
        ["fitted on Bags", "Bags(table[:, None, :])"],
    ),
    "a frame for a model of bags": (
        lambda: RankRLS().fit(Ratings(bags, y)).predict(Ratings(X, y)),
        ValueError,
        ["fitted on Bags", "Bags(table[:, None, :])"],
    ),
    "bags for a model of rows": (
        lambda: KPCRank().fit(X, y).predict(bags),
        ValueError,
        ["got Bags", "Fit it on Bags", "bags.means()"],
    ),
    "bags as a kernel matrix": (
        lambda: RankRLS(kernel="precomputed").fit(bags, y),
        ValueError,
        ["precomputed", "got Bags", "preflearn.kernels.gram"],
    ),
    "bags compared as a kernel matrix": (
        lambda: KPCRank(kernel="precomputed").fit(Comparisons(bags, [0], [1])),
        ValueError,
        ["precomputed", "got Bags"],
    ),
    "bags of other features": (
        lambda: RankRLS(kernel="rbf").fit(bags, y).predict(bags[:, [0]]),
        ValueError,
        ["1 feature,", "fitted on 3"],
    ),
    "too few scores of bags": (
        lambda: RankRLS(kernel="rbf").fit(bags, y[:3]),
        ValueError,
        ["3 values for 12 items"],
    ),
    "one bag": (lambda: RankRLS(kernel="rbf").fit(bags[:1], y[:1]), ValueError, ["one bag", "at least two"]),
    "missing scores of bags": (
        lambda: RankRLS().fit(bags, np.where(y == 2, np.nan, y)),
        ValueError,
        ["y is missing", "(row 2)", "Leave these rows out"],
    ),
    "bags for an SVM of rows": (
        lambda: ConstraintSVM().fit(Comparisons(bags, [0], [1])),
        ValueError,
        ["takes rows", "PreferenceGP", "bags.means()"],
    ),
    "bags for rows of pairs": (
        lambda: PairAugmented().fit(Comparisons(bags, [0], [1])),
        ValueError,
        ["takes rows", "PreferenceGP", "bags.means()"],
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_gets_one_message_with_cause_and_cure(name):
    action, kind, fragments = MISTAKES[name]
    with pytest.raises(kind) as caught:
        action()
    message = str(caught.value)
    for fragment in fragments:
        assert fragment in message, message


def test_the_table_is_long_enough():
    assert len(MISTAKES) >= 50


def test_tied_scores_are_not_passed_over_in_silence():
    with pytest.warns(DataWarning, match="all pairs are tied"):
        RankRLS().fit(X, np.ones(12))


def test_a_matrix_larger_than_the_machine_is_refused_before_it_is_made(monkeypatch):
    from preflearn.models import of_rows

    monkeypatch.setattr(of_rows, "_memory", lambda: 2000)
    with pytest.raises(ValueError, match=r"12 rows need a matrix .* Use approximation=Nystroem"):
        RankRLS(kernel="rbf").fit(X, y)
    wide = np.random.default_rng(0).normal(size=(12, 20))
    assert RankRLS().fit(wide, y).solver_ == "cg"
    with pytest.raises(ValueError, match="too many for one decomposition"):
        RankRLSCV().fit(wide, y)
