"""Kernels by values: a model of a kernel matrix is the model of the features that the matrix was made of."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import KFold, cross_val_score

from preflearn import Bags, Comparisons, LabelPreferenceGP, PreferenceGP, RankRLS, Ratings
from preflearn.data import ItemTable, LabelPreferences, from_class_labels
from preflearn.exceptions import DataError
from preflearn.kernels import Precomputed, gram, gram_and_pullback, gram_diag, gram_listed
from preflearn.kernels.precomputed import KernelRows

N, M = 12, 4
RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(N, 2)), RNG.normal(size=(M, 2))
GAUSS = RBF(1.3, "fixed")
K, CROSS, AMONG = gram(GAUSS, X), gram(GAUSS, NEW, X), gram(GAUSS, NEW)
BOTH = np.hstack([CROSS, AMONG])
FIRST, SECOND = RNG.permutation(np.column_stack(np.triu_indices(N, 1)))[:40].T
WON = np.sign(X[FIRST, 0] - X[SECOND, 0] + 0.3 * RNG.normal(size=40))
NAMES = [f"item {i}" for i in range(N)]
VARIANCE = ConstantKernel(1.5, (1e-3, 1e3))
SKEW = {"cyclic_kernel": 0.7 * GAUSS}
SKEW_GIVEN = {"cyclic_kernel": 0.7 * Precomputed()}
LABELS = np.where(X[:, 0] > 0, "up", np.where(X[:, 1] > 0, "left", "right"))


def over(items, names=None):
    return (
        Comparisons(items, FIRST, SECOND, WON)
        if names is None
        else Comparisons(items, [names[i] for i in FIRST], [names[i] for i in SECOND], WON, names=names)
    )


@pytest.mark.parametrize("options", [{}, {"own_effect": True}, {"inference": "ep"}], ids=str)
@pytest.mark.parametrize("circles", [False, True])
def test_a_kernel_matrix_is_as_good_as_its_features(options, circles):
    options = {**options, "hyperparameters": "fixed"}
    by_features = PreferenceGP(VARIANCE * GAUSS, **options, **(SKEW if circles else {})).fit(over(X))
    by_values = PreferenceGP(VARIANCE * Precomputed(), **options, **(SKEW_GIVEN if circles else {})).fit(over(K))
    assert by_values.log_evidence_ == pytest.approx(by_features.log_evidence_, rel=1e-12)
    slopes = by_values.log_evidence()[1], by_features.log_evidence()[1]
    np.testing.assert_allclose(*slopes, atol=1e-9)
    for given, features in [(None, None), (K, X), (BOTH, NEW), ([3, 1], [3, 1])]:
        one, other = by_values.preference_matrix(given), by_features.preference_matrix(features)
        np.testing.assert_allclose(one.probability, other.probability, atol=1e-10)
    for return_ in ("return_std", "return_cov"):
        one, other = (m.predict_utility(x, **{return_: True}) for m, x in ((by_values, BOTH), (by_features, NEW)))
        np.testing.assert_allclose(one[1], other[1], atol=1e-10)
    assert by_values.score(over(K)) == by_features.score(over(X))


def test_rows_alone_say_what_to_expect_and_not_how_surely():
    by_features = PreferenceGP(VARIANCE * GAUSS, hyperparameters="fixed").fit(over(X))
    model = PreferenceGP(VARIANCE * Precomputed(), hyperparameters="fixed").fit(over(K))
    np.testing.assert_allclose(model.predict_utility(CROSS), by_features.predict_utility(NEW), atol=1e-10)
    pairs = Comparisons(CROSS, [0, 1], [2, 3]), Comparisons(NEW, [0, 1], [2, 3])
    margins = model.decision_function(pairs[0]), by_features.decision_function(pairs[1])
    np.testing.assert_allclose(*margins, atol=1e-10)
    for question in (
        lambda: model.predict_proba(pairs[0]),
        lambda: model.predict_utility(CROSS, return_std=True),
        lambda: model.rank(CROSS),
        lambda: model.sample_utilities(CROSS, 2),
    ):
        with pytest.raises(DataError, match=r"4 new items .* not how surely\. Give K\(new, new\) .* \(4, 16\)"):
            question()
    # items of training among the rows are known again
    some = [5, 0, 5]
    np.testing.assert_array_equal(
        model.predict_utility(K[some], return_std=True)[1], model.predict_utility(some, return_std=True)[1]
    )
    mixed = np.vstack([K[[2]], CROSS])
    np.testing.assert_allclose(model.predict_utility(mixed)[1:], model.predict_utility(CROSS))


def test_columns_of_frames_are_matched_by_name():
    pd = pytest.importorskip("pandas")
    columns = [f"with {i}" for i in range(N)]
    model = PreferenceGP(VARIANCE * Precomputed(), hyperparameters="fixed").fit(over(pd.DataFrame(K, columns=columns)))
    both = pd.DataFrame(BOTH, columns=[*columns, *"abcd"])
    expected = model.predict_utility(BOTH, return_std=True)
    np.testing.assert_array_equal(model.predict_utility(both, return_std=True), expected)
    shuffled = both[[*reversed(columns), *"abcd"]]
    np.testing.assert_array_equal(model.predict_utility(shuffled, return_std=True), expected)


def test_updates_are_about_the_same_matrix():
    for names in (None, NAMES):
        whole, model = over(K, names), PreferenceGP(VARIANCE * Precomputed(), hyperparameters="fixed")
        updated = model.fit(whole[:25]).update(whole[25:]).predict_utility(return_std=True)
        np.testing.assert_allclose(updated, model.fit(whole).predict_utility(return_std=True), atol=1e-6)
    with pytest.raises(DataError, match="items that the kernel matrix of training does not have"):
        model.update(Comparisons(CROSS, [0], [1], names=list("abcd")))


def test_a_scale_does_not_matter():
    one, other = (PreferenceGP("precomputed", n_restarts=0).fit(over(c * K)) for c in (1.0, 1e6))
    np.testing.assert_allclose(one.predict_proba(over(K)), other.predict_proba(over(1e6 * K)), atol=1e-5)
    linear = PreferenceGP("linear", n_restarts=0).fit(over(X))
    given = PreferenceGP("precomputed", n_restarts=0).fit(over(X @ X.T))
    assert given.log_evidence_ == pytest.approx(linear.log_evidence_, abs=1e-6)
    np.testing.assert_array_equal(
        PreferenceGP("matern", n_restarts=0).fit(over(X)).predict_utility(),
        PreferenceGP("matern32", n_restarts=0).fit(over(X)).predict_utility(),
    )


@pytest.mark.parametrize("shared", [True, False])
def test_labels_of_a_kernel_matrix(shared):
    options = {"shared": shared, "hyperparameters": "fixed"}
    by_features = LabelPreferenceGP(VARIANCE * GAUSS, **options).fit(X, LABELS)
    by_values = LabelPreferenceGP(VARIANCE * Precomputed(), **options).fit(K, LABELS)
    assert by_values.log_evidence_ == pytest.approx(by_features.log_evidence_, rel=1e-12)
    np.testing.assert_allclose(by_values.preference_matrix(BOTH), by_features.preference_matrix(NEW), atol=1e-10)
    np.testing.assert_allclose(by_values.predict_utility(CROSS), by_features.predict_utility(NEW), atol=1e-10)
    np.testing.assert_array_equal(by_values.predict_label(CROSS), by_features.predict_label(NEW))
    with pytest.raises(DataError, match="not how surely"):
        by_values.predict_proba(CROSS, [(0, "up", "left")])
    # items without an edge take no part, and stay columns of the matrix
    few = LabelPreferences(K, [0, 3, 7], ["up"] * 3, ["left"] * 3)
    plain = LabelPreferences(X, [0, 3, 7], ["up"] * 3, ["left"] * 3)
    one, other = by_values.fit(few).predict_utility(CROSS), by_features.fit(plain).predict_utility(NEW)
    np.testing.assert_allclose(one, other, atol=1e-10)


def test_cross_validation_takes_rows_and_columns():
    cv = KFold(3)
    model, given = (LabelPreferenceGP(VARIANCE * k, hyperparameters="fixed") for k in (GAUSS, Precomputed()))
    expected = cross_val_score(model, X, LABELS, cv=cv)
    np.testing.assert_array_equal(cross_val_score(given, K, LABELS, cv=cv), expected)
    graph = from_class_labels(X, LABELS)
    expected = cross_val_score(model, graph, cv=cv)
    np.testing.assert_array_equal(cross_val_score(given, graph.with_items(K), cv=cv), expected)
    by_kernel = cross_val_score(RankRLS(kernel="precomputed"), Ratings(K, X[:, 0]), cv=cv)
    np.testing.assert_allclose(by_kernel, cross_val_score(RankRLS(kernel=GAUSS), Ratings(X, X[:, 0]), cv=cv))
    # comparisons keep the whole matrix: nothing is cut off it
    expected = cross_val_score(PreferenceGP(VARIANCE * GAUSS, hyperparameters="fixed"), over(X), cv=cv)
    scores = cross_val_score(PreferenceGP(VARIANCE * Precomputed(), hyperparameters="fixed"), over(K), cv=cv)
    np.testing.assert_array_equal(scores, expected)


def test_both_axes_are_chosen_with_the_names_of_columns():
    pd = pytest.importorskip("pandas")
    data = Ratings(pd.DataFrame(K[:3, :3], columns=list("abc")), [1, 2, 3])
    some = data[np.ix_([2, 0], [1, 2])]
    np.testing.assert_array_equal(some.items, K[[2, 0]][:, [1, 2]])
    assert some.feature_names == ("b", "c")
    assert some.score.tolist() == [3, 1]


def test_expressions_of_given_values():
    rows = KernelRows.of_training("test", sp.csr_array(K))
    kernel, same = (VARIANCE * k**2 + ConstantKernel(0.3) for k in (Precomputed(), GAUSS))
    np.testing.assert_allclose(gram(kernel, rows), gram(same, X))
    np.testing.assert_allclose(gram(kernel, rows[[3, 1]], rows), gram(same, X[[3, 1]], X))
    np.testing.assert_allclose(gram_diag(kernel, rows), gram_diag(same, X))
    np.testing.assert_allclose(gram_listed(kernel, rows, FIRST, SECOND), gram_listed(same, X, FIRST, SECOND))
    (one, pull), (other, back) = gram_and_pullback(kernel, rows), gram_and_pullback(same, X)
    np.testing.assert_allclose(one, other)
    np.testing.assert_allclose(pull(K), back(K))
    assert kernel(rows, eval_gradient=True)[1].shape == (N, N, 2)


def test_rounding_keeps_sides_equal():
    rows = KernelRows.of_training("test", K + 1e-12 * np.triu(np.ones((N, N)), 1))
    values = rows.values()
    np.testing.assert_array_equal(values, values.T)
    np.testing.assert_array_equal(gram_listed(Precomputed(), rows, FIRST, SECOND), values[FIRST, SECOND])


BAD = np.hstack([9 * CROSS, AMONG])
MISTAKES = {
    "not square": (lambda: PreferenceGP("precomputed").fit(over(X)), r"square kernel matrix .* \(12, 2\)"),
    "not symmetric": (lambda: PreferenceGP("precomputed").fit(over(np.triu(K))), "not symmetric"),
    "indefinite": (lambda: PreferenceGP("precomputed").fit(over(K - 2 * np.eye(N))), "negative eigenvalues"),
    "bags": (lambda: PreferenceGP("precomputed").fit(over(Bags([X] * N))), "got Bags"),
    "labels": (lambda: LabelPreferenceGP("precomputed").fit(X, LABELS), "square kernel matrix"),
    "no items": (lambda: PreferenceGP("precomputed").fit(Comparisons(None, ["a"], ["b"])), "have no features"),
    "circles of features": (
        lambda: PreferenceGP("precomputed", cyclic_kernel="rbf").fit(over(K)),
        'cyclic_kernel asks for features.* cyclic_kernel="precomputed"',
    ),
    "utility of features": (
        lambda: PreferenceGP("rbf", cyclic_kernel="precomputed").fit(over(K)),
        'kernel asks for features.* kernel="precomputed"',
    ),
    "joined": (lambda: PreferenceGP(1.0 * Precomputed() + RBF()).fit(over(K)), r"joins a kernel .* \(RBF"),
    "judges": (
        lambda: PreferenceGP("rbf", judge_kernel=Precomputed()).fit(
            Comparisons(X, [0, 1], [1, 2], judge=[0, 1], judges=np.eye(2))
        ),
        "judge_kernel is precomputed",
    ),
    "least squares": (lambda: RankRLS(kernel=Precomputed()).fit(K, X[:, 0]), 'use kernel="precomputed"'),
    "wrong width": (lambda: FITTED.predict_utility(X), r"have 2 kernel values each, .* \(12, 12\)"),
    "not symmetric, new": (
        lambda: FITTED.predict_utility(np.hstack([CROSS, np.triu(AMONG)]), return_std=True),
        "not symmetric",
    ),
    "wrong order": (lambda: FITTED.predict_utility(BAD, return_std=True), "row 0: .*too little for its other values"),
    "other features": (
        lambda: PreferenceGP("rbf").fit(FITTED.comparisons_),
        'kernel asks for features. Use kernel="precomputed"',
    ),
}
FITTED = PreferenceGP(VARIANCE * Precomputed(), hyperparameters="fixed").fit(over(K))


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    make, message = MISTAKES[name]
    with pytest.raises((DataError, ValueError, TypeError), match=message):
        make()


def test_items_can_be_asked_about_in_tables_of_names():
    model = PreferenceGP(VARIANCE * Precomputed(), hyperparameters="fixed").fit(over(K, NAMES))
    by_name = model.predict_utility(["item 3", "item 0"])
    np.testing.assert_array_equal(by_name, model.predict_utility()[[3, 0]])
    table = ItemTable(BOTH, np.array(list("abcd"), dtype=object), None, M)
    assert set(model.rank(table).names) == set("abcd")
    assert model.predict_proba([("item 1", "item 2")]).shape == (1, 2)
