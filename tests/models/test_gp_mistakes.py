"""Gaussian processes and what people do with them: units, kernels that cannot be, warnings that say where and why."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import (
    RBF,
    CompoundKernel,
    ConstantKernel,
    DotProduct,
    Matern,
    PairwiseKernel,
    WhiteKernel,
)

from fast_share import mostly_slow
from preflearn import Bags, Comparisons, LabelPreferenceGP, PreferenceGP
from preflearn.data import from_class_labels
from preflearn.exceptions import DataError, DataWarning
from preflearn.inference.contract import Info
from preflearn.likelihoods import Flipped, Gaussian, Logit, Probit
from preflearn.models._preference import warn_unfinished

pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one")


@pytest.fixture(scope="module")
def margins():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(15, 2))
    first = rng.integers(15, size=60)
    second = (first + rng.integers(1, 15, size=60)) % 15
    u = X @ [1.0, -2.0]
    return X, first, second, u[first] - u[second] + 0.5 * rng.normal(size=60)


@pytest.fixture(scope="module")
def data(margins):
    X, first, second, y = margins
    return Comparisons(X, first, second, np.sign(y))


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    mostly_slow([{}, {"own_effect": True}, {"kernel": "ard"}, {"likelihood": Gaussian()}, {"kernel": 1.0 * RBF()}], 3),
)
def test_answers_do_not_depend_on_the_unit_of_margins(margins, more):
    X, first, second, y = margins

    def answer(unit):
        data = Comparisons(X, first, second, unit * y)
        model = PreferenceGP(**{"likelihood": "gaussian", "random_state": 0, **more}).fit(data)
        return model.predict_proba(data), model.predict_difference(data) / unit, model.sigma_

    def untouched(unit):
        data = Comparisons(X, first, second, unit * y)
        model = PreferenceGP(likelihood="gaussian", hyperparameters="fixed").fit(data)
        return model.predict_proba(data)

    np.testing.assert_allclose(untouched(1.0), untouched(1e3), atol=1e-9)
    for unit in (1e-6, 1e3, 1e6):
        for one, other in zip(answer(1.0), answer(unit), strict=True):
            np.testing.assert_allclose(one, other, rtol=0.02, atol=0.01)


@pytest.mark.slow
def test_answers_about_labels_do_not_depend_on_the_unit_either():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    plain = from_class_labels(X, np.where(X[:, 0] > 0, "up", "down"))
    first, second = (np.asarray(plain.labels)[side] for side in (plain.first, plain.second))
    scaled = type(plain)(plain.items, plain.item, first, second, 1000.0 * plain.outcome, labels=plain.labels)
    model = LabelPreferenceGP(likelihood="gaussian", random_state=0)
    p, q = (model.fit(data).preference_matrix(X) for data in (plain, scaled))
    np.testing.assert_allclose(p, q, atol=0.01)


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (RBF, "the class RBF"),
        (RBF(1.0, (10, 0.1)), r"bounds of length_scale .* pairs \(low, high\)"),
        (RBF(1.0, (-1, 1)), "bounds of length_scale"),
        (RBF(1.0, (np.nan, 1)), "bounds of length_scale"),
        (RBF(1.0, (1, 2, 3)), r"bounds of length_scale of (cyclic_)?kernel are \(1, 2, 3\)"),
        (RBF(1.0, "fix"), "bounds of length_scale of (cyclic_)?kernel are 'fix'"),
        (RBF(-1.0), "length_scale of (cyclic_)?kernel is -1"),
        (RBF("a"), "length_scale of (cyclic_)?kernel is 'a'; it must be positive and finite"),
        (1.0 * RBF([1, "b"]), r"k2__length_scale of (cyclic_)?kernel is \[1, 'b'\]"),
        (0.0 * RBF(1.0), "constant_value of (cyclic_)?kernel is 0"),
        (Matern(nu=-1), "nu of (cyclic_)?kernel is -1; it must be a positive number"),
        (RBF() ** "a", "exponent of (cyclic_)?kernel is 'a'"),
        (PairwiseKernel(metric="precomputed"), "kernel is PairwiseKernel.* Use .precomputed., or Precomputed"),
        (CompoundKernel([RBF(), RBF()]), "sum or a product"),
        (1.0 * RBF() + WhiteKernel(), "WhiteKernel, which adds noise to every observation"),
    ],
)
def test_kernels_that_cannot_be(data, kernel, message):
    for model in (PreferenceGP(kernel), PreferenceGP("rbf", cyclic_kernel=kernel)):
        with pytest.raises((TypeError, ValueError), match=message):
            model.fit(data)
    with pytest.raises((TypeError, ValueError), match=message):
        LabelPreferenceGP(kernel).fit(np.eye(4), list("abab"))


def test_messages_about_kernels_name_the_parameter(data):
    with pytest.raises(ValueError, match=r": length_scale of cyclic_kernel is -1\.0"):
        PreferenceGP("rbf", cyclic_kernel=RBF(-1.0)).fit(data)
    with pytest.raises(ValueError, match=r": length_scale of kernel is -1\.0"):
        PreferenceGP(RBF(-1.0), cyclic_kernel="rbf").fit(data)
    with pytest.raises(ValueError, match=r": kernel has a WhiteKernel.* own_effect=True"):
        PreferenceGP(RBF() + WhiteKernel()).fit(data)
    with pytest.raises(ValueError, match=r": cyclic_kernel has a WhiteKernel.* Leave it out\.$"):
        PreferenceGP("rbf", cyclic_kernel=RBF() + WhiteKernel()).fit(data)
    with pytest.raises(ValueError, match="constant_value of cyclic_kernel is -2"):
        PreferenceGP(cyclic_kernel=ConstantKernel(-2.0)).fit(Comparisons(3, [0, 1], [1, 2]))


def test_a_fixed_parameter_may_be_zero(data):
    kernel = 1.0 * DotProduct(0.0, "fixed")
    assert PreferenceGP(kernel, n_restarts=0).fit(data).score(data) > 0.7


@pytest.mark.parametrize("model", [PreferenceGP(), PreferenceGP(cyclic_kernel="rbf")])
def test_features_whose_squares_overflow(model):
    with pytest.raises(DataError, match=r"features reach 1e\+300"):
        model.fit(Comparisons([[1e300], [0.0]], [0], [1]))


def test_likelihoods_that_cannot_be(data):
    for kind in (Flipped, Probit, Logit, Gaussian):
        with pytest.raises(TypeError, match=f"the class {kind.__name__}; pass an object"):
            PreferenceGP(likelihood=kind, inference="ep").fit(data)
    for wrong in ({"scale": "a"}, {"scale": True}, {"scale": np.inf}, {"tie": -1}, {"tie_fixed": "x"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            Probit(**wrong)
    with pytest.raises(ValueError, match="rate_fixed"):
        Flipped(rate_fixed=3)
    with pytest.raises(ValueError, match="rate is 'x'"):
        Flipped(rate="x")
    with pytest.raises(ValueError, match=r"precision_bounds\[0\]"):
        Gaussian(precision_bounds=(0, 1))


def test_the_evidence_is_asked_at_finite_parameters_with_or_without_gradient(data):
    labels = LabelPreferenceGP(n_restarts=0).fit(data.items, np.where(data.items[:, 0] > 0, "up", "down"))
    for model in (PreferenceGP(n_restarts=0).fit(data), labels):
        value, gradient = model.log_evidence()
        assert gradient.shape == model.theta_.shape
        assert model.log_evidence(gradient=False) == pytest.approx(value, abs=1e-9)
        for wrong in ("x", [np.nan, 1.0], [1e3, 0.0], [0.0]):
            with pytest.raises(ValueError, match="finite numbers below 300"):
                model.log_evidence(wrong)


@pytest.mark.filterwarnings("ignore:Comparisons. outcome has only the values 0")
def test_ties_are_named_by_their_own_rows():
    data = Comparisons(None, list("aaabbbc"), list("bbbccca"), [1, 1, 1, 1, 1, 1, 0])
    with pytest.raises(DataError, match=r"1 of 7 comparisons are ties \(rows 6\)"):
        PreferenceGP().fit(data)
    with pytest.raises(DataError, match=r"1 of 2 comparisons are ties \(rows 1\)"):
        PreferenceGP(hyperparameters="fixed").fit(data[:6]).update(data[5:])


def test_averages_of_outcomes_are_not_taken_for_outcomes_without_a_word():
    data = Comparisons(None, list("ab"), list("ba"), [1 / 3, 1.0], weight=[6.0, 1.0])
    with pytest.warns(DataWarning, match=r"1 of 2 outcomes lie between 0 and 1 in size \(rows 0\)") as caught:
        PreferenceGP(hyperparameters="fixed").fit(data)
    assert caught[0].filename == __file__
    PreferenceGP(likelihood="gaussian", hyperparameters="fixed").fit(data)


def test_nothing_but_noise_is_said_with_the_method_that_found_it():
    data = Comparisons(None, list("abc"), list("bca"), weight=[5.0, 5.0, 5.0])
    with pytest.warns(DataWarning, match=r"by Laplace's method .* 3 comparisons[\s\S]*inference=\"ep\"") as caught:
        PreferenceGP(n_restarts=0).fit(data)
    assert caught[0].filename == __file__
    with pytest.warns(DataWarning, match=r"by EP .* 3 comparisons"):
        PreferenceGP(n_restarts=0, inference="ep").fit(data)
    X = np.array([[0.0], [0.1], [0.2]] * 10)
    with pytest.warns(DataWarning, match="LabelPreferenceGP: by Laplace's method") as caught:
        LabelPreferenceGP(n_restarts=0).fit(X, ["a", "b"] * 15)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("table", [np.asarray, sparse.csr_array])
def test_items_with_equal_features_are_named_as_the_reason(table):
    data = Comparisons(table([[1.0, 2.0]] * 3), [0, 1], [1, 2])
    model = PreferenceGP(hyperparameters="fixed")
    with pytest.warns(DataWarning, match="all 3 items that occur have the same features") as caught:
        model.fit(data)
    assert caught[0].filename == __file__
    PreferenceGP(hyperparameters="fixed", own_effect=True).fit(data)


def test_flips_that_do_not_converge_do_not_recommend_what_is_refused():
    unfinished = [Info(10, 0.1, 1e-9, False)]
    with pytest.warns(ConvergenceWarning, match='ep stopped after 10 steps .* use inference="laplace"'):
        warn_unfinished("PreferenceGP", "ep", unfinished, Probit())
    with pytest.warns(ConvergenceWarning, match="ep stopped") as caught:
        warn_unfinished("PreferenceGP", "ep", unfinished, Flipped())
    assert "laplace" not in str(caught[0].message)


def test_utilities_that_are_equal_but_for_rounding_keep_the_order_of_the_items():
    games = "ann-bob ann-cy ann-dee ann-eve bob-cy bob-dee bob-eve cy-dee cy-eve dee-eve bob-ann dee-cy"
    winners, losers = zip(*(game.split("-") for game in games.split()), strict=True)
    data = Comparisons(None, winners, losers)
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(len(data))
        ranking = PreferenceGP(random_state=0).fit(data[order]).rank()
        assert list(ranking.names) == ["ann", "bob", "cy", "dee", "eve"]


def test_the_table_of_training_means_the_items_of_training_also_where_some_are_alike():
    Z = np.array([[0.0], [0.0], [1.0]])
    data = Comparisons(Z, [0, 0, 1], [1, 2, 2], weight=[9, 1, 1])
    model = PreferenceGP(1.0 * RBF(), own_effect=True, hyperparameters="fixed").fit(data)
    np.testing.assert_array_equal(model.predict_utility(Z.copy()), model.predict_utility())
    assert model.predict_utility(Z)[0] > model.predict_utility(Z)[1]


@pytest.mark.parametrize("model", [PreferenceGP(hyperparameters="fixed"), PreferenceGP(cyclic_kernel="rbf")])
def test_rows_and_bags_are_not_mixed_up(margins, model):
    X, first, second, y = margins
    bags = Bags(X[:, None])
    rows = Comparisons(X, first, second, np.sign(y))
    of_bags = rows.with_items(bags)
    model.fit(of_bags)
    for ask in (lambda: model.predict_proba(rows), lambda: model.preference_matrix(X), lambda: model.predict(rows)):
        with pytest.raises(DataError, match=r"fitted on Bags and got a table.*Bags\(table\[:, None, :\]\)"):
            ask()
    with pytest.raises(DataError, match="Give Bags to both or to neither"):
        model.update(rows)
    model.fit(rows)
    for ask in (lambda: model.predict_proba(of_bags), lambda: model.preference_matrix(bags)):
        with pytest.raises(DataError, match=r"got Bags. Fit it on Bags, or give bags.means\(\)"):
            ask()


def test_bags_of_equal_distributions_are_named_as_the_reason():
    bags = Bags([[[0.0], [1.0]], [[1.0], [0.0]], [[1.0], [1.0], [0.0], [0.0]]])
    with pytest.warns(DataWarning) as caught:
        PreferenceGP(hyperparameters="fixed").fit(Comparisons(bags, [0, 1], [1, 2]))
    assert "all 3 items that occur have the same features" in str(caught[0].message)


def test_bags_whose_squares_overflow():
    with pytest.raises(DataError, match="whose squares overflow"):
        PreferenceGP().fit(Comparisons(Bags([[[1e200]], [[0.0], [1.0]]]), [0], [1]))


def test_a_feature_that_is_constant_but_for_rounding_has_bounds_of_ordinary_size():
    X = np.column_stack([np.arange(3.0), np.full(3, 0.1)])
    assert X[:, 1].var() > 0  # by rounding
    for items in (X, Bags(X[:, None])):
        model = PreferenceGP("ard", hyperparameters="fixed").fit(Comparisons(items, [0, 1], [1, 2]))
        np.testing.assert_allclose(np.exp(model.bounds_[2]), [0.05, 20 * np.sqrt(2)])


@pytest.mark.parametrize(
    "more", [{}, {"cyclic_kernel": "rbf"}, {"judge_kernel": "identity"}, {"kernel": "rbf", "cyclic_kernel": "rbf"}]
)
def test_one_item_is_a_matrix_of_one_and_none_are_refused(margins, more):
    X, first, second, y = margins
    data = Comparisons(X, first, second, np.sign(y), judge=np.arange(60) % 3)
    model = PreferenceGP(hyperparameters="fixed", **more).fit(data)
    alone = model.preference_matrix([0])
    assert alone.mean.tolist() == alone.std.tolist() == [[0.0]]
    assert alone.probability.tolist() == [[0.5]]
    asked = [model.preference_matrix]
    if "kernel" in more or "cyclic_kernel" not in more:
        asked += [model.rank, model.predict_utility]
    for ask in asked:
        for nothing in ([], np.array([])):
            with pytest.raises(DataError, match=r"there are no items\. Give at least one"):
                ask(nothing)


@pytest.mark.parametrize(
    ("items", "got"),
    [
        ([np.zeros((2, 2)), np.zeros((3, 2))], "rows of different lengths"),
        ([np.zeros((2, 2)), np.zeros((2, 2))], "3 dimensions"),
        ([[1.0, 2.0], [3.0]], "rows of different lengths"),
    ],
)
def test_items_that_are_no_table_are_named(data, items, got):
    model = PreferenceGP(hyperparameters="fixed").fit(data)
    with pytest.raises(DataError, match=rf"all of the same length; got {got}.*pass Bags\(items\)"):
        model.predict_utility(items)


def test_models_without_utilities_say_why_they_have_none(data):
    model = PreferenceGP(None, cyclic_kernel="rbf", hyperparameters="fixed").fit(data)
    for name in ("predict_utility", "sample_utilities"):
        assert not hasattr(model, name)
        assert hasattr(PreferenceGP(), name)
        assert getattr(PreferenceGP, name).__doc__
        with pytest.raises(
            AttributeError, match=rf"items have no utilities, so there is no {name}: .*preference_matrix"
        ):
            getattr(model, name)()
    assert PreferenceGP.predict_utility(PreferenceGP(hyperparameters="fixed").fit(data), [0, 1]).shape == (2,)
