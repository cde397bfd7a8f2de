"""LabelPreferenceGP: what a person expects of probabilities, orders and labels, and of a scikit-learn estimator."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, train_test_split

from preflearn.data import LabelPreferences, from_class_labels, from_label_rankings, from_label_ranks
from preflearn.exceptions import DataError
from preflearn.likelihoods import Gaussian, Probit
from preflearn.models.label_gp import LabelPreferenceGP

KERNEL = ConstantKernel(3.0) * RBF(0.8)
FIXED = {"hyperparameters": "fixed"}
COLOURS = np.array(["red", "green", "blue", "grey"])


def utilities(X):
    return np.column_stack([np.sin(2 * X[:, 0]), X[:, 1], -X[:, 0], 0 * X[:, 0] - 0.3])


@pytest.fixture(scope="module")
def orders():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(30, 2))
    noisy = 3 * utilities(X) + rng.normal(size=(30, 4))
    return from_label_rankings(X, COLOURS[np.argsort(-noisy, axis=1)])


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, size=(40, 2))
    return X, COLOURS[np.argmax(3 * utilities(X) + rng.normal(size=(40, 4)), axis=1)]


NEW = np.random.default_rng(2).uniform(-1, 1, size=(25, 2))


@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("likelihood", ["probit", "logit"])
@pytest.mark.parametrize("shared", [True, False])
def test_probabilities_are_antisymmetric_and_sides_do_not_matter(orders, inference, likelihood, shared):
    model = LabelPreferenceGP(KERNEL, likelihood, inference, shared=shared, **FIXED).fit(orders)
    p = model.predict_proba(orders)
    np.testing.assert_array_equal(model.predict_proba(orders.swapped())[:, ::-1], p)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-15)
    P = model.preference_matrix(orders)
    np.testing.assert_allclose(P + P.transpose(0, 2, 1), 1, atol=1e-15)
    np.testing.assert_array_equal(P[orders.item, orders.first, orders.second], p[:, 1])
    half = orders.swapped(np.arange(orders.n_edges) % 2 == 0)
    again = clone(model).fit(half)
    np.testing.assert_array_equal(again.predict_proba(orders), p)
    assert again.log_evidence_ == model.log_evidence_


@pytest.mark.parametrize("shared", [True, False])
def test_the_order_of_items_and_labels_does_not_matter(orders, classes, shared):
    rng = np.random.default_rng(3)
    for data in (orders, from_class_labels(*classes)):
        model = LabelPreferenceGP(KERNEL, shared=shared, **FIXED).fit(data)
        other_labels = rng.permutation(data.n_labels)
        place = np.argsort(other_labels)
        items = rng.permutation(len(data))
        edges = rng.permutation(data.n_edges)
        turned = LabelPreferences(
            data.items[items],
            np.argsort(items)[data.item[edges]],
            data.labels[data.first[edges]],
            data.labels[data.second[edges]],
            data.outcome[edges],
            labels=data.labels[other_labels],
        )
        again = clone(model).fit(turned)
        assert again.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-9)
        np.testing.assert_array_equal(again.labels_[place], model.labels_)
        np.testing.assert_allclose(again.predict_utility(NEW)[:, place], model.predict_utility(NEW), atol=1e-9)
        np.testing.assert_array_equal(again.predict(NEW), model.predict(NEW))
        np.testing.assert_allclose(
            again.preference_matrix(NEW)[:, place][:, :, place], model.preference_matrix(NEW), atol=1e-9
        )


def test_predictions_agree_with_each_other(orders):
    model = LabelPreferenceGP(KERNEL, **FIXED).fit(orders)
    utility = model.predict_utility(NEW)
    order = model.predict(NEW)
    assert order.shape == (25, 4)
    assert all(set(row) == set(COLOURS) for row in order)
    np.testing.assert_array_equal(order[:, 0], model.predict_label(NEW))
    np.testing.assert_array_equal(order[:, 0], model.labels_[utility.argmax(axis=1)])
    np.testing.assert_array_equal(order[:, -1], model.labels_[utility.argmin(axis=1)])
    np.testing.assert_allclose(utility.sum(axis=1), 0, atol=1e-12)  # a shared level is not seen
    p = model.predict_proba(NEW, [(3, "red", "blue"), (3, "blue", "red"), (0, "grey", "green")])
    np.testing.assert_array_equal(p[0], p[1][::-1])
    red, blue = list(model.labels_).index("red"), list(model.labels_).index("blue")
    assert (p[0, 1] > 0.5) == (utility[3, red] > utility[3, blue])
    mean, cov = model.predict_utility(NEW, return_cov=True)
    np.testing.assert_array_equal(mean, utility)
    np.testing.assert_allclose(
        model.predict_utility(NEW, return_std=True)[1] ** 2, np.einsum("iaa->ia", cov), atol=1e-12
    )


@pytest.mark.slow
def test_the_truth_is_learned(orders, classes):
    model = LabelPreferenceGP(random_state=0).fit(orders)
    truth = from_label_rankings(NEW, COLOURS[np.argsort(-utilities(NEW), axis=1)])
    assert model.score(truth) > 0.85
    X, y = classes
    model = LabelPreferenceGP(random_state=0, n_restarts=1).fit(X, y)
    right = COLOURS[np.argmax(utilities(NEW), axis=1)]
    assert model.score(NEW, right) > 0.7
    assert model.score(NEW, right) == np.mean(model.predict_label(NEW) == right)
    assert model.score(X, y) > 0.75


@pytest.mark.slow
@pytest.mark.parametrize("shared", [True, False])
def test_the_search_climbs_and_is_deterministic(orders, shared):
    start = LabelPreferenceGP(shared=shared, **FIXED).fit(orders)
    model = LabelPreferenceGP(shared=shared, n_restarts=1, random_state=0).fit(orders)
    assert model.log_evidence_ > start.log_evidence_ + 0.1
    assert len(model.optima_) == 2
    assert model.theta_.shape == (2 if shared else 8,)
    assert len(model.theta_names_) == len(model.theta_) == len(model.bounds_)
    value, gradient = model.log_evidence()
    assert value == pytest.approx(model.log_evidence_, abs=1e-7)
    inside = ~model.optima_[0].at_bounds(model.bounds_)
    assert np.abs(gradient[inside]).max() < 0.02
    again = clone(model).fit(orders)
    np.testing.assert_array_equal(again.predict_proba(orders), model.predict_proba(orders))
    if shared:
        assert model.kernels_ == [model.kernel_] * 4
    else:
        assert not hasattr(model, "kernel_")
        assert model.theta_names_[0] == "blue: constant value"
        np.testing.assert_allclose(np.concatenate([kernel.theta for kernel in model.kernels_]), model.theta_, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [4, 5, 6])
def test_own_kernels_help_where_labels_differ(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(60, 1))
    f = np.column_stack([4 * np.sin(4 * X[:, 0]), 1.5 * X[:, 0], 0 * X[:, 0], -1.5 * X[:, 0]])
    data = from_label_rankings(X, np.argsort(-(f + rng.normal(size=f.shape)), axis=1))
    one = LabelPreferenceGP(n_restarts=0).fit(data)
    own = LabelPreferenceGP(n_restarts=0, shared=False).fit(data)
    assert own.log_evidence_ > one.log_evidence_ + 3
    scales = [kernel.k2.length_scale for kernel in own.kernels_]
    assert scales[0] < 0.7 * min(scales[1], scales[3])  # that of a constant has no meaning


@pytest.mark.filterwarnings("ignore:LabelPreferenceGP. by Laplace:preflearn.exceptions.DataWarning")
def test_labels_that_no_edge_mentions_stay_as_they_were():
    side = np.arange(25) % 2
    data = LabelPreferences(NEW, range(25), side, 1 - side, labels=[0, 1, 7])
    for shared in (True, False):
        model = LabelPreferenceGP(KERNEL, shared=shared, n_restarts=0).fit(data)
        mean, std = model.predict_utility(NEW, return_std=True)
        np.testing.assert_array_equal(mean[:, 2], 0)
        kernel = model.kernels_[2]
        np.testing.assert_allclose(std[:, 2], np.sqrt(kernel.diag(NEW)), atol=1e-12)
        if not shared:
            assert kernel.theta == pytest.approx(KERNEL.theta)
            assert model.theta_.shape == (4,)


def test_fit_on_rows_is_the_classification_graph(classes):
    X, y = classes
    rows = LabelPreferenceGP(KERNEL, **FIXED).fit(X, y)
    graph = LabelPreferenceGP(KERNEL, **FIXED).fit(from_class_labels(X, y))
    np.testing.assert_array_equal(rows.predict_utility(NEW), graph.predict_utility(NEW))


def test_whole_weights_are_repeats_and_margins_are_regressed(orders):
    count = np.random.default_rng(5).integers(0, 3, orders.n_edges)
    labels = orders.labels
    weighted = LabelPreferences(
        orders.items, orders.item, labels[orders.first], labels[orders.second], weight=count, labels=labels
    )
    rows = np.repeat(np.arange(orders.n_edges), count)
    repeated = LabelPreferences(
        orders.items, orders.item[rows], labels[orders.first[rows]], labels[orders.second[rows]], labels=labels
    )
    for inference in ("laplace", "ep"):
        one, two = (LabelPreferenceGP(KERNEL, inference=inference, **FIXED).fit(data) for data in (weighted, repeated))
        assert one.log_evidence_ == pytest.approx(two.log_evidence_, abs=1e-9)
        np.testing.assert_allclose(one.predict_utility(NEW), two.predict_utility(NEW), atol=1e-9)
    truth = utilities(orders.items)
    margin = truth[orders.item, orders.first] - truth[orders.item, orders.second]
    data = LabelPreferences(orders.items, orders.item, labels[orders.first], labels[orders.second], margin)
    model = LabelPreferenceGP(KERNEL, Gaussian(1e4), **FIXED).fit(data)
    f = model.predict_utility(orders.items)
    np.testing.assert_allclose(f[orders.item, orders.first] - f[orders.item, orders.second], margin, atol=0.02)


def test_ties_are_used_by_a_likelihood_that_has_them():
    ranks = [[1, 1, 2], [2, 1, 1], [1, 2, 3]] * 5
    X = np.random.default_rng(6).normal(size=(15, 1))
    data = from_label_ranks(X, ranks, ties="include")
    assert (data.outcome == 0).sum() == 10
    model = LabelPreferenceGP(KERNEL, Probit(tie=0.3), n_restarts=0).fit(data)
    assert model.likelihood_.tie != 0.3
    p = model.predict_proba(data)
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-15)
    with pytest.raises(DataError, match="tie"):
        LabelPreferenceGP(KERNEL).fit(data)


def test_scikit_learn_selects_items_and_parameters(orders, classes):
    cv = KFold(3, shuffle=True, random_state=0)
    model = LabelPreferenceGP(KERNEL, **FIXED)
    scores = cross_val_score(model, orders, cv=cv)
    by_hand = [clone(model).fit(orders[a]).score(orders[b]) for a, b in cv.split(np.arange(30))]
    np.testing.assert_array_equal(scores, by_hand)
    search = GridSearchCV(model, {"kernel": [KERNEL, ConstantKernel(1e-3) * RBF(1e-3)]}, cv=cv).fit(orders)
    assert search.best_params_["kernel"] == KERNEL
    train, test = train_test_split(orders, random_state=0)
    assert (len(train), len(test)) == (22, 8)
    assert train.n_edges + test.n_edges == orders.n_edges
    assert cross_val_score(model, *classes, cv=cv).mean() > 0.5


@pytest.mark.slow
def test_clone_params_pickle_and_refit(orders, classes):
    model = LabelPreferenceGP(KERNEL, "logit", shared=False, n_restarts=0, random_state=1)
    assert clone(model).get_params() == model.get_params()
    assert model.set_params(shared=True).shared
    with pytest.raises(NotFittedError):
        model.predict(NEW)
    model.fit(orders)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.preference_matrix(NEW), model.preference_matrix(NEW))
    assert copy.log_evidence()[0] == model.log_evidence()[0]
    X, y = classes
    model.fit(from_class_labels(pd.DataFrame(X, columns=["u", "v"]), y))
    np.testing.assert_array_equal(model.feature_names_in_, ["u", "v"])
    model.set_params(shared=False).fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert not hasattr(model, "kernel_")


def test_columns_are_matched_by_name_and_sparse_items_are_items(classes):
    X, y = classes
    frame = pd.DataFrame(X, columns=["u", "v"])
    model = LabelPreferenceGP(KERNEL, **FIXED).fit(frame, y)
    np.testing.assert_array_equal(model.predict(frame[["v", "u"]]), model.predict(frame))
    other = LabelPreferenceGP(KERNEL, **FIXED).fit(from_class_labels(sparse.csr_array(X), y))
    np.testing.assert_allclose(other.predict_utility(sparse.csr_array(NEW)), model.predict_utility(NEW), atol=1e-8)


@pytest.mark.slow
def test_hostile_problems_end_in_finite_answers():
    rng = np.random.default_rng(8)
    for trial in range(100):
        n, n_labels = int(rng.integers(1, 12)), int(rng.integers(2, 6))
        X = rng.normal(size=(n, 2)) * 10.0 ** rng.integers(-8, 8)
        X[rng.random(n) < 0.4] = X[0]
        m = int(rng.integers(1, 40))
        first = rng.integers(0, n_labels, m)
        second = (first + rng.integers(1, n_labels, m)) % n_labels
        weight = 10.0 ** rng.integers(0, 5, m)
        data = LabelPreferences(X, rng.integers(0, n, m), first, second, weight=weight, labels=range(n_labels))
        kernel = ConstantKernel(10.0 ** rng.integers(-8, 8)) * RBF(10.0 ** rng.integers(-8, 8))
        model = LabelPreferenceGP(kernel, shared=bool(trial % 2), **FIXED).fit(data)  # warnings are errors here
        value, gradient = model.log_evidence()
        P = model.preference_matrix(X)
        mean, std = model.predict_utility(X, return_std=True)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
        assert np.isfinite(mean).all()
        assert (std >= 0).all()
        assert ((P >= 0) & (P <= 1)).all()


X4 = np.arange(8.0).reshape(4, 2)
FITTED = LabelPreferenceGP(KERNEL, **FIXED).fit(X4, ["a", "b", "c", "a"])
MISTAKES = [
    ("no y", lambda: LabelPreferenceGP().fit(X4), TypeError, ["class labels y", "LabelPreferences"]),
    (
        "y with edges",
        lambda: LabelPreferenceGP().fit(from_class_labels(X4, "aabb"), "aabb"),
        TypeError,
        ["y must be a sequence"],
    ),
    (
        "y as well",
        lambda: LabelPreferenceGP().fit(from_class_labels(X4, list("aabb")), list("aabb")),
        TypeError,
        ["carry their own outcomes"],
    ),
    ("one label", lambda: LabelPreferenceGP().fit(X4, ["a"] * 4), DataError, ["only one label", '"a"', "needs two"]),
    ("missing label", lambda: LabelPreferenceGP().fit(X4, ["a", None, "b", "a"]), DataError, ["missing", "row 1"]),
    ("too few labels", lambda: LabelPreferenceGP().fit(X4, ["a", "b"]), DataError, ["2 values for 4 items"]),
    ("nan", lambda: LabelPreferenceGP().fit(X4 * np.nan, list("abca")), DataError, ["8 missing", "Impute"]),
    ("flat X", lambda: LabelPreferenceGP().fit(X4[:, 0], list("abca")), TypeError, ["reshape(-1, 1)"]),
    ("kernel", lambda: LabelPreferenceGP("rbff").fit(X4, list("abca")), ValueError, ["'kernel'", "'rbf'"]),
    ("shared", lambda: LabelPreferenceGP(shared="no").fit(X4, list("abca")), ValueError, ["'shared'"]),
    ("likelihood", lambda: LabelPreferenceGP(likelihood="prob").fit(X4, list("abca")), ValueError, ["'likelihood'"]),
    ("columns", lambda: FITTED.predict(np.zeros((2, 3))), DataError, ["3 features", "fitted on 2"]),
    ("new nan", lambda: FITTED.predict([[np.nan, 0.0]]), DataError, ["row 0", "column 0"]),
    ("number", lambda: FITTED.predict(3), TypeError, ["table of features"]),
    ("no edges", lambda: FITTED.predict_proba(X4), TypeError, ["edges=[(row, first label", "preference_matrix"]),
    ("unknown label", lambda: FITTED.predict_proba(X4, [(0, "a", "d")]), DataError, ['"d"', "which are"]),
    ("self edge", lambda: FITTED.predict_proba(X4, [(0, "a", "a")]), DataError, ["a label with itself", '"a"']),
    ("row", lambda: FITTED.predict_proba(X4, [(4, "a", "b")]), DataError, ["outside 0..3", "4"]),
    ("pairs only", lambda: FITTED.predict_proba(X4, [("a", "b")]), DataError, ["(row of X, first label"]),
    (
        "unknown label in data",
        lambda: FITTED.predict_proba(from_class_labels(X4, list("abcz"))),
        DataError,
        ['"z"', "not among the 3 labels"],
    ),
    ("unknown label in y", lambda: FITTED.score(X4, list("abcz")), DataError, ['"z"', "values of y"]),
    ("edges twice", lambda: FITTED.predict_proba(from_class_labels(X4, list("abca")), []), TypeError, ["own edges"]),
    ("score of rows", lambda: FITTED.score(X4), TypeError, ["class labels y"]),
    ("both", lambda: FITTED.predict_utility(X4, return_std=True, return_cov=True), ValueError, ["not both"]),
    (
        "no weight left",
        lambda: LabelPreferenceGP().fit(from_class_labels(X4, list("abca"), weight=[1, 1, 1, 0])[3]),
        DataError,
        ["no edges to learn from"],
    ),
]


@pytest.mark.parametrize(("call", "kind", "words"), [case[1:] for case in MISTAKES], ids=[case[0] for case in MISTAKES])
def test_mistakes_are_explained(call, kind, words):
    with pytest.raises(kind) as caught:
        call()
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    "y",
    [
        np.array([2.0, 1.0, 1.0, 2.0]),
        [2, 1.0, 1.0, 2],
        np.array([True, False, False, True]),
        np.array([7, -1, -1, 7]),
        np.array([7, 1, 1, 7], dtype=np.uint8),
        np.array(["b", "a", "a", "b"]),
    ],
)
def test_predicted_labels_are_of_the_kind_of_the_given_ones(y):
    X = np.array([[0.0], [3.0], [3.1], [0.1]])
    model = LabelPreferenceGP(hyperparameters="fixed").fit(X, y)
    found = model.predict_label(X)
    assert found.dtype.kind == np.asarray(y).dtype.kind.replace("u", "i")
    assert accuracy_score(y, found) == 1.0 == model.score(X, y)
    assert model.predict(X).dtype == found.dtype
    np.testing.assert_array_equal(model.labels_, np.unique(y))


def test_two_labels_are_first_as_often_as_they_are_preferred(classes):
    X, y = classes
    model = LabelPreferenceGP(KERNEL, **FIXED).fit(X, np.where(np.isin(y, COLOURS[:2]), "warm", "cold"))
    P = model.predict_label_proba(NEW)
    np.testing.assert_allclose(P[:, 0], model.preference_matrix(NEW)[:, 0, 1], atol=1e-3)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-12)


def test_probabilities_to_be_first_are_those_of_many_draws(orders):
    model = LabelPreferenceGP(KERNEL, **FIXED).fit(orders)
    mean, C = model.predict_utility(NEW[:6], return_cov=True)
    noise = model.likelihood_.noise_deviation**2 / 2 * np.eye(4)
    rng = np.random.default_rng(0)
    for row, P in enumerate(model.predict_label_proba(NEW[:6])):
        best = rng.multivariate_normal(mean[row], C[row] + noise, 100_000).argmax(axis=1)
        np.testing.assert_allclose(P, np.bincount(best, minlength=4) / 100_000, atol=8e-3)


def test_probabilities_to_be_first_follow_the_labels_and_the_rows(orders):
    model = LabelPreferenceGP(KERNEL, **FIXED).fit(orders)
    P = model.predict_label_proba(NEW)
    turned = LabelPreferences(
        orders.items,
        orders.item,
        orders.labels[orders.first],
        orders.labels[orders.second],
        labels=orders.labels[::-1],
    )
    np.testing.assert_allclose(
        LabelPreferenceGP(KERNEL, **FIXED).fit(turned).predict_label_proba(NEW)[:, ::-1], P, atol=8e-3
    )
    np.testing.assert_allclose(model.predict_label_proba(NEW[[3, 1]]), P[[3, 1]], atol=1e-12)
