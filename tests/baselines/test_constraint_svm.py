"""Constraint-classification SVM: the programme by another route, exact antisymmetry, cross-validation by hand."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from preflearn import Comparisons
from preflearn.baselines import ConstraintSVM, ConstraintSVMCV
from preflearn.baselines.constraint_svm import Wins
from preflearn.exceptions import DataError
from preflearn.kernels.pair_kernels import difference_gram

pytestmark = pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")


def make_matches(seed=0, n=15, m=60, flip=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    f = np.sin(X[:, 0]) + X[:, 1]
    outcome = np.sign(f[first] - f[second]) * np.where(rng.random(m) < flip, -1, 1)
    return Comparisons(X, first, second, outcome)


@pytest.fixture
def matches():
    return make_matches()


def oracle_margins(K, data, C):
    """Margins of the machine without intercept: maximise sum(b) - b'Db/2 over 0 <= b <= 2 C weight, pair by pair."""
    sign = np.sign(data.outcome)
    m = len(data)
    D = np.empty((m, m))
    for s in range(m):
        for t in range(m):
            i, j, k, l = data.first[s], data.second[s], data.first[t], data.second[t]
            D[s, t] = sign[s] * sign[t] * (K[i, k] - K[i, l] - K[j, k] + K[j, l])
    top = 2 * C * (np.ones(m) if data.weight is None else data.weight)
    done = minimize(
        lambda b: (b @ D @ b / 2 - b.sum(), D @ b - 1),
        top / 2,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, u) for u in top],
        options={"maxiter": 20000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return sign * (D @ done.x)


@pytest.mark.parametrize("C", [0.02, 0.5, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_margins_are_those_of_the_machine_without_intercept(C, weighted):
    for seed in range(3):
        data = make_matches(seed, m=40)
        if weighted:
            weight = np.random.default_rng(seed).uniform(0.2, 3, len(data))
            data = Comparisons(data.items, data.first, data.second, data.outcome, weight=weight)
        kernel = RBF(1.3)
        margin = ConstraintSVM(kernel, C, tol=1e-5).fit(data).decision_function(data)
        np.testing.assert_allclose(margin, oracle_margins(kernel(data.items), data, C), atol=2e-4)


def test_inner_products_are_those_of_differences(matches):
    wins = Wins.read(matches, "test")
    Z = matches.items[wins.winner] - matches.items[wins.loser]
    np.testing.assert_allclose(
        difference_gram(matches.items @ matches.items.T, wins.pairs, wins.pairs), Z @ Z.T, atol=1e-12
    )
    model = ConstraintSVM("linear", 0.3).fit(matches)
    w = model.X_fit_.T @ model.dual_coef_
    np.testing.assert_allclose(
        model.decision_function(matches), (matches.items[matches.first] - matches.items[matches.second]) @ w, atol=1e-10
    )


def test_swapping_sides_flips_every_sign_exactly(matches):
    model = ConstraintSVM(C=3.0).fit(matches)
    margin = model.decision_function(matches)
    np.testing.assert_array_equal(model.decision_function(matches.swapped()), -margin)
    np.testing.assert_array_equal(model.predict(matches.swapped()), -model.predict(matches))
    # and it does not matter how the training data were written down
    order = np.random.default_rng(1).permutation(len(matches))
    for same in (matches.swapped(), matches.swapped(np.arange(len(matches)) % 3 == 0), matches[order]):
        np.testing.assert_array_equal(clone(model).fit(same).decision_function(matches), margin)


def test_the_order_of_items_does_not_matter(matches):
    order = np.random.default_rng(2).permutation(matches.n_items)
    place = np.argsort(order)
    moved = Comparisons(matches.items[order], place[matches.first], place[matches.second], matches.outcome)
    one, two = (ConstraintSVM(RBF(1.0), tol=1e-8).fit(data).decision_function(data) for data in (matches, moved))
    np.testing.assert_allclose(one, two, atol=1e-5)


def test_weight_two_is_listed_twice_and_zero_is_left_out(matches):
    count = np.random.default_rng(3).integers(0, 3, len(matches))
    weighted = Comparisons(matches.items, matches.first, matches.second, matches.outcome, weight=count.astype(float))
    listed = matches[np.repeat(np.arange(len(matches)), count)]
    one, two = (ConstraintSVM(RBF(1.0)).fit(data) for data in (weighted, listed))
    np.testing.assert_array_equal(one.decision_function(matches), two.decision_function(matches))


def test_consistent_preferences_are_learned_and_generalise():
    train, test = make_matches(4, n=60, m=400, flip=0.0), make_matches(5, n=60, m=400, flip=0.0)
    model = ConstraintSVM(RBF(2.0), C=1e4).fit(train)
    assert model.score(train) == 1.0
    assert model.score(test) > 0.93
    assert model.decision_function(train)[train.outcome > 0].min() > 0.99  # hard margin
    f = model.predict_utility(test.items)
    np.testing.assert_allclose(f[test.first] - f[test.second], model.decision_function(test), atol=1e-9)


def test_cross_validation_is_the_one_done_by_hand(matches):
    model = ConstraintSVMCV(log10_C=(-1, 1), log10_kappa=(-1, 0), refine=1, random_state=0).fit(matches)
    coarse = [(C, kappa) for C in (-1.0, 0.0, 1.0) for kappa in (-1.0, 0.0)]
    wins = Wins.read(matches, "test")
    pairs = Comparisons(matches.items, wins.winner, wins.loser, weight=wins.weight)
    for C, kappa in coarse:
        wrong = 0.0
        for train, test in KFold(5, shuffle=True, random_state=0).split(np.arange(len(pairs))):
            fitted = ConstraintSVM(RBF(10 ** (-kappa / 2)), 10.0**C).fit(pairs[train])
            wrong += pairs.weight[test] @ (fitted.decision_function(pairs[test]) < 0)
        assert model.cv_errors_[C, kappa] == pytest.approx(wrong / pairs.weight.sum(), abs=1e-12)
    C0, kappa0 = min(coarse, key=lambda point: (model.cv_errors_[point], point))
    tried = {(round(C0 + 0.2 * i, 6), round(kappa0 + 0.2 * j, 6)) for i in (-1, 0, 1) for j in (-1, 0, 1)}
    assert set(model.cv_errors_) == tried | set(coarse)
    assert model.cv_error_ == min(model.cv_errors_.values())
    best = ConstraintSVM(RBF(model.kappa_**-0.5), model.C_).fit(matches)
    np.testing.assert_allclose(model.decision_function(matches), best.decision_function(matches), atol=1e-12)


@pytest.mark.slow
def test_the_papers_grid():
    model = ConstraintSVMCV(cv=2, tol=1.0, random_state=0).fit(make_matches(6, n=6, m=10))
    coarse = {(float(a), float(b)) for a in range(-2, 5) for b in range(-3, 4)}
    assert coarse < set(model.cv_errors_)
    fine = np.array(sorted(set(model.cv_errors_) - coarse))
    assert len(fine) == 80  # 9 x 9, its middle is on the coarse grid
    np.testing.assert_allclose(np.ptp(fine, axis=0), 1.6, atol=1e-6)


def test_running_out_of_steps_is_said(matches):
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=3 steps"):
        ConstraintSVM(C=100.0, max_iter=3).fit(matches)
    model = ConstraintSVMCV(log10_C=(0, 1), log10_kappa=(-1, 0), refine=0, max_iter=3, random_state=0)
    with pytest.warns(ConvergenceWarning, match="ConstraintSVMCV: the solver stopped"):
        model.fit(matches)
    assert model.n_unfinished_ == 20  # five folds of four


def test_scikit_learn_can_use_it(matches):
    model = ConstraintSVM(C=0.5).fit(matches)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(matches), model.decision_function(matches))
    assert cross_val_score(ConstraintSVM(), matches, cv=3).mean() > 0.6
    search = GridSearchCV(ConstraintSVM(), {"C": [0.1, 1.0]}, cv=3).fit(matches)
    assert search.best_estimator_.score(matches) > 0.7


def test_columns_are_matched_by_name():
    pd = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(6, 2)), columns=["size", "price"])
    first, second = [0, 1, 2, 3], [1, 2, 3, 4]
    model = ConstraintSVM(RBF(1.0)).fit(Comparisons(table, first, second))
    turned = Comparisons(table[["price", "size"]], first, second)
    np.testing.assert_array_equal(
        model.decision_function(turned), model.decision_function(Comparisons(table, first, second))
    )


def test_mistakes_are_named(matches):
    with pytest.raises(TypeError, match="learns from Comparisons; got ndarray"):
        ConstraintSVM().fit(matches.items)
    with pytest.raises(DataError, match="have no features"):
        ConstraintSVM().fit(Comparisons(None, ["a"], ["b"]))
    tied = Comparisons(matches.items, [0, 1], [1, 2], [1, 0])
    with pytest.raises(DataError, match="1 of 2 comparisons are ties"):
        ConstraintSVM().fit(tied)
    nothing = Comparisons(matches.items, [0, 1], [1, 2], weight=[1, 0])[[1]]
    with pytest.raises(DataError, match="all 1 comparisons have weight 0"):
        ConstraintSVM().fit(nothing)
    with pytest.raises(DataError, match="no comparisons to learn from"):
        ConstraintSVM().fit(matches[:0])
    with pytest.raises(TypeError, match="predicts Comparisons; got list"):
        ConstraintSVM().fit(matches).predict([(0, 1)])
    with pytest.raises(DataError, match="fitted on 3"):
        ConstraintSVM().fit(matches).decision_function(Comparisons(matches.items[:, :2], [0], [1]))
    with pytest.raises(DataError, match="fitted on 3"):
        ConstraintSVM().fit(matches).predict_utility(matches.items[:, :2])
    with pytest.raises(DataError, match="one row per item"):
        ConstraintSVM().fit(matches).predict_utility(matches.items[0])
    with pytest.raises(DataError, match="3 distinct comparisons cannot be cut into 5 folds"):
        ConstraintSVMCV().fit(Comparisons(matches.items, [0, 1, 2], [1, 2, 3]))
    with pytest.raises(ValueError, match="C"):
        ConstraintSVM(C=0).fit(matches)


def test_items_that_are_all_alike_have_equal_utilities():
    alike = Comparisons(np.zeros((3, 2)), [0, 1], [1, 2])
    assert ConstraintSVM().fit(alike).predict(alike).tolist() == [0.0, 0.0]


def test_equal_utilities_count_half_and_of_equal_candidates_the_smallest_is_taken():
    alike = Comparisons(np.ones((6, 2)), [0, 1, 2, 3, 4], [1, 2, 3, 4, 5])
    model = ConstraintSVMCV(log10_C=(-1, 1), log10_kappa=(-1, 1), refine=0, random_state=0).fit(alike)
    assert set(model.cv_errors_.values()) == {0.5}
    assert (model.C_, model.kappa_) == (0.1, 0.1)
