"""PreferenceGP: laws that tie it to RankRLS, to its parts, and to what a person expects of probabilities."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preflearn import Comparisons, OnItems, PreferenceGP, RankRLS
from preflearn.exceptions import DataWarning
from preflearn.likelihoods import Gaussian, Probit

pytestmark = pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")


@pytest.fixture
def matches():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(25, 2))
    first = rng.integers(0, 25, 150)
    second = (first + rng.integers(1, 25, 150)) % 25
    f = np.sin(2 * X[:, 0])
    z = 3 * (f[first] - f[second]) + rng.normal(size=150)
    return Comparisons(X, first, second, np.sign(z))


@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("likelihood", ["probit", "logit"])
def test_probabilities_are_antisymmetric_and_sides_do_not_matter(matches, inference, likelihood):
    model = PreferenceGP(ConstantKernel(2.0) * RBF(0.8), likelihood, inference, hyperparameters="fixed").fit(matches)
    p = model.predict_proba(matches)
    np.testing.assert_array_equal(model.predict_proba(matches.swapped())[:, 0], p[:, 1])
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-15)
    np.testing.assert_array_equal(model.decision_function(matches.swapped()), -model.decision_function(matches))
    half = matches.swapped(np.arange(150) % 2 == 0)
    again = clone(model).fit(half)
    np.testing.assert_allclose(again.predict_proba(matches), p, atol=1e-9)
    assert again.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-9)


def test_gaussian_margins_are_rank_rls(matches):
    kernel = ConstantKernel(1.0) * RBF(0.8)
    data = Comparisons(matches.items, matches.first, matches.second, matches.outcome * 1.5)
    gp = PreferenceGP(kernel, Gaussian(2.0), hyperparameters="fixed").fit(data)
    np.testing.assert_allclose(gp.decision_function(data), RankRLS(0.5, kernel).fit(data).predict(data), atol=1e-8)


def test_the_search_climbs_and_learns(matches):
    start = PreferenceGP(hyperparameters="fixed").fit(matches)
    model = PreferenceGP(n_restarts=1, random_state=0).fit(matches)
    assert model.log_evidence_ > start.log_evidence_ + 1
    assert len(model.optima_) == 2
    value, gradient = model.log_evidence()
    assert value == pytest.approx(model.log_evidence_, abs=1e-7)
    free = ~model.optima_[0].at_bounds(model.bounds_)
    assert np.abs(gradient[free]).max() < 1e-2
    truth = np.sin(2 * matches.items[:, 0])
    mean, std = model.predict_utility(matches.items, return_std=True)
    assert np.corrcoef(mean, truth)[0, 1] > 0.9
    assert (std > 0).all()
    again = PreferenceGP(n_restarts=1, random_state=0).fit(matches)
    np.testing.assert_array_equal(again.predict_proba(matches), model.predict_proba(matches))


def test_draws_have_the_posterior_moments(matches):
    model = PreferenceGP(ConstantKernel(2.0) * RBF(0.8), hyperparameters="fixed").fit(matches)
    items = np.random.default_rng(1).uniform(-2, 2, size=(4, 2))
    mean, covariance = model.predict_utility(items, return_cov=True)
    draws = model.sample_utilities(items, 40_000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.03)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.05)


def test_items_without_features_have_names_and_unseen_ones_the_prior():
    names = ["ann", "bob", "cy", "dee"]
    data = Comparisons(None, ["ann", "ann", "bob", "ann"], ["bob", "cy", "cy", "bob"], names=names)
    model = PreferenceGP(hyperparameters="fixed").fit(data)
    mean, std = model.predict_utility(names, return_std=True)
    assert mean[0] > mean[1] > mean[2]
    assert mean[3] == 0
    assert std[3] == pytest.approx(1.0)
    assert (std[:3] < 1).all()
    swapped = Comparisons(None, ["cy"], ["ann"])
    assert model.predict_proba(swapped)[0, 1] < 0.5
    with pytest.raises(ValueError, match="not among the 4 items of training"):
        model.predict_utility(["eve"])


def test_integers_are_row_numbers_unless_the_names_are_integers():
    first, second = np.array([0, 0, 1]), np.array([1, 2, 2])
    by_text = PreferenceGP(hyperparameters="fixed").fit(Comparisons(None, first, second, names=["ann", "bob", "cy"]))
    np.testing.assert_array_equal(by_text.predict_utility([2, np.int64(0)]), by_text.predict_utility(["cy", "ann"]))
    assert by_text.rank([2, 1]).names.tolist() == ["bob", "cy"]
    with pytest.raises(ValueError, match="3 is not a row number of the 3 training items"):
        by_text.predict_utility([0, 3])
    by_number = PreferenceGP(hyperparameters="fixed").fit(Comparisons(None, first, second, names=[2, 1, 0]))
    names = by_number.comparisons_.names[:2].tolist()
    np.testing.assert_array_equal(by_number.predict_utility(names), by_number.predict_utility()[:2])


def test_ties_need_a_threshold_and_it_is_learned():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 8, 200)
    second = (first + rng.integers(1, 8, 200)) % 8
    z = (first - second) / 2 + np.sqrt(2) * rng.normal(size=200)
    outcome = np.where(np.abs(z) < 0.7, 0.0, np.sign(z))
    data = Comparisons(8, first, second, outcome)
    with pytest.raises(ValueError, match="ties"):
        PreferenceGP().fit(data)
    model = PreferenceGP(likelihood=Probit(tie=0.1), n_restarts=0).fit(data)
    assert 0.4 < model.likelihood_.tie < 1.1
    assert PreferenceGP(likelihood=Probit(tie=0.1), n_restarts=0).fit(data).predict_proba(data).shape == (200, 2)


def test_model_selection_takes_it(matches):
    scores = cross_val_score(
        PreferenceGP(ConstantKernel(2.0) * RBF(0.8), hyperparameters="fixed"),
        matches,
        cv=3,
        scoring=lambda m, X, y=None: float(np.mean(m.predict(X) == np.sign(X.outcome))),
    )
    assert scores.mean() > 0.7


def test_mistakes_are_explained(matches):
    with pytest.raises(TypeError, match="learns from Comparisons"):
        PreferenceGP().fit(matches.items, np.zeros(25))
    with pytest.raises(ValueError, match="no features"):
        PreferenceGP(RBF()).fit(Comparisons(3, [0, 1], [1, 2]))
    with pytest.raises(ValueError, match="same columns"):
        PreferenceGP(hyperparameters="fixed").fit(matches).predict_utility(np.zeros((2, 5)))


def test_the_paper_s_units_and_relevances_by_name(matches):
    model = PreferenceGP(ConstantKernel(4.0) * RBF([0.5, 2.0]), hyperparameters="fixed").fit(matches)
    assert model.sigma_ == pytest.approx(0.5)  # unit noise on each item, deviation 2 of the utilities
    assert model.relevances_ == {"feature 0": pytest.approx(4.0), "feature 1": pytest.approx(0.25)}
    logit = PreferenceGP(ConstantKernel(4.0) * RBF(0.5), "logit", hyperparameters="fixed").fit(matches)
    assert logit.sigma_ == pytest.approx(np.pi / np.sqrt(6) / 2)
    ard = PreferenceGP("ard", n_restarts=0).fit(matches)
    assert ard.relevances_["feature 0"] > 5 * ard.relevances_["feature 1"]
    with pytest.raises(AttributeError, match="length scales"):
        _ = PreferenceGP(hyperparameters="fixed").fit(Comparisons(3, [0, 1], [1, 2])).relevances_


def test_bounds_follow_the_units_of_the_features(matches):
    model = PreferenceGP("ard", n_restarts=1, random_state=0).fit(matches)
    metres = PreferenceGP("ard", n_restarts=1, random_state=0).fit(matches.with_items(matches.items * [1e6, 1e-6]))
    assert metres.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-4)
    np.testing.assert_allclose(
        metres.predict_proba(matches.with_items(matches.items * [1e6, 1e-6])), model.predict_proba(matches), atol=1e-3
    )
    given = PreferenceGP(ConstantKernel(1.0, (0.5, 2.0)) * RBF(1.0, (0.3, 0.4)), n_restarts=0).fit(matches)
    np.testing.assert_allclose(np.exp(given.bounds_), [[0.5, 2.0], [0.3, 0.4]])


def test_rank_counts_places_over_joint_draws(matches):
    model = PreferenceGP(ConstantKernel(4.0) * RBF(0.8), hyperparameters="fixed").fit(matches)
    ranking = model.rank(k=5, n_samples=3000)
    draws = model.sample_utilities(None, 3000, random_state=0)
    place = (draws[:, :, None] <= draws[:, None, :]).sum(axis=2)
    np.testing.assert_allclose(ranking.p_best, (place == 1).mean(axis=0)[ranking.row])
    np.testing.assert_allclose(ranking.p_top, (place <= 5).mean(axis=0)[ranking.row])
    assert ranking.p_best.sum() == pytest.approx(1)
    assert ranking.p_top.sum() == pytest.approx(5)
    assert (np.diff(ranking.utility) <= 0).all()
    assert ranking.utility.mean() == pytest.approx(0, abs=1e-12)
    assert ((ranking.rank_low <= ranking.rank_high) & (ranking.low < ranking.high)).all()
    centred = draws - draws.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(ranking.std, centred.std(axis=0)[ranking.row], rtol=0.08)
    part = model.rank([3, 1, 2], k=1)
    assert sorted(part.names) == [1, 2, 3]
    assert len(str(part).splitlines()) == 4
    assert set(part.to_dict()) >= {"item", "rank", "p_best"}


@pytest.mark.parametrize("by", ["comparison", "item"])
def test_leave_outs_are_exact_for_gaussian_margins(matches, by):
    data = Comparisons(matches.items, matches.first, matches.second, matches.outcome * 1.5 + 0.1 * np.arange(150) % 3)
    model = PreferenceGP(ConstantKernel(1.0) * RBF(0.8), Gaussian(2.0), hyperparameters="fixed").fit(data)
    left = model.leave_one_out(by)
    for row in range(0, 150, 10):
        if by == "comparison":
            keep = np.arange(150) != row
            refit = clone(model).fit(data[keep]).predict_proba(data[[row]])
            np.testing.assert_allclose(left[row], refit[0], atol=1e-9)
            continue
        for side, item in (("first", data.first[row]), ("second", data.second[row])):
            keep = (data.first != item) & (data.second != item)
            refit = clone(model).fit(data[keep]).predict_proba(data[[row]])
            np.testing.assert_allclose(getattr(left, side)[row], refit[0], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_leave_outs_are_near_refits(matches, inference):
    model = PreferenceGP(ConstantKernel(2.0) * RBF(0.8), inference=inference, hyperparameters="fixed").fit(matches)
    left, by_item = model.leave_one_out(), model.leave_one_out("item")
    seen = model.predict_proba(matches)
    gap, gap_item, moved = [], [], []
    for row in range(0, 150, 5):
        refit = clone(model).fit(matches[np.arange(150) != row]).predict_proba(matches[[row]])[0]
        gap.append(abs(left[row] - refit).max())
        moved.append(abs(seen[row] - refit).max())
        item = matches.first[row]
        keep = (matches.first != item) & (matches.second != item)
        gap_item.append(
            abs(by_item.first[row] - clone(model).fit(matches[keep]).predict_proba(matches[[row]])[0]).max()
        )
    assert max(gap) < (0.002 if inference == "ep" else 0.02)
    assert np.mean(gap) < 0.1 * np.mean(moved)
    assert np.mean(gap_item) < 0.02
    assert max(gap_item) < 0.08


def test_weighted_and_repeated_comparisons_are_left_out_one_at_a_time():
    data = Comparisons(4, [0, 0, 1, 1, 2, 3], [1, 1, 2, 0, 3, 0], [2.5, 2.5, -1.0, 1.0, 1.0, -2.0])
    # a kernel of its own: the default variance is tied to the margins
    model = PreferenceGP(ConstantKernel(1.0), Gaussian(1.0), hyperparameters="fixed").fit(data)
    refit = clone(model).fit(data[1:]).predict_proba(data[[0]])
    np.testing.assert_allclose(model.leave_one_out()[0], refit[0], atol=1e-10)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_an_updated_model_is_a_fitted_one(matches, inference):
    kernel = ConstantKernel(2.0) * RBF(0.8)
    whole = PreferenceGP(kernel, inference=inference, hyperparameters="fixed").fit(matches)
    grown = PreferenceGP(kernel, inference=inference, hyperparameters="fixed").fit(matches[:90]).update(matches[90:])
    np.testing.assert_allclose(grown.predict_proba(matches), whole.predict_proba(matches), atol=1e-7)
    assert grown.log_evidence_ == pytest.approx(whole.log_evidence_, abs=1e-7)
    assert len(grown.leave_one_out()) == 150
    learned = PreferenceGP(n_restarts=0).fit(matches[:90])
    kept = learned.theta_.copy()
    np.testing.assert_allclose(learned.update(matches[90:]).theta_, kept, rtol=1e-14)
    before = learned.log_evidence_
    assert learned.update(matches[:5], hyperparameters="improve").theta_ != pytest.approx(kept, abs=1e-6)
    learned = PreferenceGP(n_restarts=0).fit(matches[:90]).update(matches[90:], hyperparameters="improve")
    assert learned.log_evidence_ > before
    best = PreferenceGP(n_restarts=0).fit(matches)
    assert learned.log_evidence_ == pytest.approx(best.log_evidence_, abs=1e-2)


def test_new_names_join_by_update():
    model = PreferenceGP(hyperparameters="fixed").fit(Comparisons(None, ["ann", "bob"], ["bob", "cy"]))
    model.update(Comparisons(None, ["dee", "cy"], ["ann", "dee"], [1, -1]))
    whole = Comparisons(None, ["ann", "bob", "dee", "cy"], ["bob", "cy", "ann", "dee"], [1, 1, 1, -1])
    again = PreferenceGP(hyperparameters="fixed").fit(whole)
    assert list(model.item_names_) == ["ann", "bob", "cy", "dee"]
    np.testing.assert_allclose(model.predict_proba(whole), again.predict_proba(whole), atol=1e-8)


def test_own_effects_explain_what_features_do_not():
    rng = np.random.default_rng(5)
    X = rng.uniform(-2, 2, size=(15, 1))
    f = np.sin(X[:, 0]) + rng.normal(0, 1.5, 15)
    first = rng.integers(0, 15, 600)
    second = (first + rng.integers(1, 15, 600)) % 15
    y = np.sign(f[first] - f[second] + np.sqrt(2) * rng.normal(size=600))
    names = [f"i{k}" for k in range(15)]
    data = Comparisons(X, first, second, y, names=names)
    plain = PreferenceGP(n_restarts=0).fit(data)
    own = PreferenceGP(own_effect=True, n_restarts=0).fit(data)
    assert own.log_evidence_ > plain.log_evidence_ + 5
    assert own.own_variance_ > 0.5
    assert np.corrcoef(own.predict_utility(), f)[0, 1] > 0.97
    # the same item is recognised by name or by its features; one of the same features but another name is not
    mean = own.predict_utility(data.items[:3])
    np.testing.assert_allclose(mean, own.predict_utility(names[:3]))
    stranger = Comparisons(np.vstack([X[:1], X[1:2]]), [0], [1], names=["new", "i1"])
    _, sure = own.predict_difference(data[[0]], return_std=True)
    _, unsure = own.predict_difference(stranger, return_std=True)
    assert unsure[0] > 2 * sure[0]
    np.testing.assert_allclose(
        own.predict_proba(Comparisons(X[[0, 1]], [0], [1])), own.predict_proba(Comparisons(X, [0], [1], names=names))
    )


@pytest.mark.slow
@pytest.mark.parametrize("kernel", [ConstantKernel(2.0, "fixed") * RBF(0.8), None])
def test_averaging_over_hyperparameters_is_the_integral(matches, kernel):
    data = matches[:40]
    model = PreferenceGP(kernel, hyperparameters="average", n_points=64, n_restarts=1, random_state=0).fit(data)
    points = model.hyperposterior_
    assert points.effective_size > 5
    assert points.weight.sum() == pytest.approx(1)
    # brute force: a dense grid over the bounds
    axes = [np.linspace(low, high, 60 if len(model.bounds_) == 1 else 24) for low, high in model.bounds_]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    value = np.array([model.log_evidence(theta)[0] for theta in grid])
    weight = np.exp(value - value.max())
    weight[weight < 1e-3 * weight.max()] = 0
    weight /= weight.sum()
    expected = sum(
        w
        * PreferenceGP(model.kernel_.clone_with_theta(theta), hyperparameters="fixed").fit(data).predict_proba(matches)
        for w, theta in zip(weight, grid, strict=True)
        if w > 0
    )
    np.testing.assert_allclose(model.predict_proba(matches), expected, atol=0.03)
    integral = np.log(np.mean(np.exp(value - value.max()))) + value.max()
    assert points.log_evidence == pytest.approx(integral, abs=0.3)
    mean, std = model.predict_utility(return_std=True)
    draws = model.sample_utilities(None, 20_000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.05)
    np.testing.assert_allclose(draws.std(axis=0), std, rtol=0.05)


def test_ties_have_probabilities_of_their_own():
    rng = np.random.default_rng(3)
    first = rng.integers(0, 8, 200)
    second = (first + rng.integers(1, 8, 200)) % 8
    z = (first - second) / 2 + np.sqrt(2) * rng.normal(size=200)
    data = Comparisons(8, first, second, np.where(np.abs(z) < 0.7, 0.0, np.sign(z)))
    model = PreferenceGP(ties=True, n_restarts=0).fit(data)
    assert 0.4 < model.likelihood_.tie < 1.1
    p = model.predict_outcome_proba(data)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p[:, ::-1], model.predict_outcome_proba(data.swapped()))
    assert p[:, 1].mean() == pytest.approx((data.outcome == 0).mean(), abs=0.03)


def test_scikit_learn_takes_it(matches):
    search = GridSearchCV(PreferenceGP(hyperparameters="fixed"), {"kernel": [1.0 * RBF(0.01), 1.0 * RBF(0.8)]}, cv=3)
    assert search.fit(matches).best_params_["kernel"].k2.length_scale == 0.8
    model = PreferenceGP(n_restarts=1, random_state=0).fit(matches)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(matches), model.predict_proba(matches))
    np.testing.assert_allclose(again.update(matches[:5]).theta_, model.theta_, rtol=1e-14)
    pipe = make_pipeline(OnItems(StandardScaler()), PreferenceGP(n_restarts=0)).fit(matches)
    assert pipe.score(matches) > 0.7
    assert pipe.predict_proba(matches).shape == (150, 2)


@pytest.mark.slow
def test_two_processes_agree_to_the_last_bit(matches, tmp_path):
    code = (
        "import numpy as np, sys; from preflearn import Comparisons, PreferenceGP\n"
        "rng = np.random.default_rng(0); X = rng.normal(size=(40, 3)); i = np.arange(39)\n"
        "data = Comparisons(X, i, i + 1, np.where(X[i, 0] > X[i + 1, 0], 1, -1))\n"
        "m = PreferenceGP('ard', n_restarts=1, random_state=1).fit(data)\n"
        "print(m.theta_.tobytes().hex(), m.rank().p_best.tobytes().hex())\n"
    )
    runs = {
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        for _ in range(2)
    }
    assert len(runs) == 1
    assert len(runs.pop()) > 100


def test_more_mistakes_are_explained(matches):
    model = PreferenceGP(hyperparameters="fixed").fit(matches)
    for call, match in [
        (lambda: model.rank(k=0), "k must be a whole number of at least 1; got 0"),
        (lambda: model.rank(level=1.5), "between 0 and 1"),
        (lambda: model.rank(random_state="x"), "rank: random_state='x' must be a whole number"),
        (lambda: model.rank(random_state=-1), "rank: random_state=-1 must be"),
        (lambda: model.sample_utilities(random_state=0.5), "sample_utilities: random_state=0.5 must be"),
        (lambda: model.sample_utilities(None, 0), "n_samples must be .*got 0"),
        (lambda: model.leave_one_out("pair"), "is not one of"),
        (lambda: model.update(matches, hyperparameters="yes"), "is not one of"),
        (lambda: model.log_evidence([1.0]), "constant value, length scale"),
        (lambda: model.predict_utility([99]), "not a row number"),
        (lambda: model.predict_utility(["ann"]), "not a row number"),
        (lambda: model.predict_utility(matches.items, return_std=True, return_cov=True), "not both"),
        (lambda: model.update(Comparisons(np.ones((2, 3)), [0], [1])), "3 columns"),
        (lambda: model.update(Comparisons(None, ["a"], ["b"])), "features"),
        (lambda: model.predict_proba(Comparisons(3, [0], [1])), "no features"),
        (lambda: PreferenceGP(hyperparameters="no").fit(matches), "hyperparameters"),
        (lambda: PreferenceGP("rbff").fit(matches), "kernel"),
    ]:
        with pytest.raises(ValueError, match=match):
            call()
    with pytest.raises(TypeError, match="expected Comparisons"):
        model.predict_proba(matches.items)


def test_nothing_but_noise_is_said():
    coin = Comparisons(4, [0, 1, 2, 3, 0, 1, 2, 3], [1, 0, 3, 2, 2, 3, 0, 1])
    with pytest.warns(DataWarning, match="no differences beyond noise"):
        model = PreferenceGP(n_restarts=0).fit(coin)
    np.testing.assert_allclose(model.predict_proba(coin), 0.5, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*repeat an earlier one")
def test_a_search_starts_where_it_is_told_to():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 2))
    first = rng.integers(20, size=120)
    second = (first + rng.integers(1, 20, size=120)) % 20
    data = Comparisons(X, first, second, np.sign(X[first, 0] - X[second, 0] + rng.normal(size=120)))
    far = PreferenceGP("rbf", hyperprior=1.5, n_restarts=0).fit(data)
    learned = dict(zip(far.theta_names_, np.exp(far.theta_), strict=True))
    near = PreferenceGP("rbf", hyperprior=1.5, n_restarts=0).fit(data, start=learned)
    assert near.optima_[0].evaluations < far.optima_[0].evaluations
    np.testing.assert_allclose(near.theta_, far.theta_, atol=1e-3)
    np.testing.assert_array_equal(near.hyperprior_.centre, far.hyperprior_.centre)
    PreferenceGP("rbf", n_restarts=0).fit(data, start={"length scale": 1e9})  # moved to its bound
    held = PreferenceGP("rbf", n_restarts=1, random_state=0).fit(data, start={"length scale": 2.0}, hold=True)
    fixed = PreferenceGP(ConstantKernel() * RBF(2.0, "fixed"), n_restarts=0).fit(data)
    np.testing.assert_allclose(held.theta_, [fixed.theta_[0], np.log(2.0)], atol=1e-4)
    np.testing.assert_array_equal(held.bounds_, far.bounds_)
    with pytest.raises(ValueError, match=r'1e\+12 for "length scale", which is outside its bounds \(.* to .*\)'):
        PreferenceGP("rbf").fit(data, start={"length scale": 1e12}, hold=True)
    for nothing in (None, {}):
        with pytest.raises(ValueError, match="give start as well"):
            PreferenceGP("rbf").fit(data, start=nothing, hold=True)
    with pytest.raises(ValueError, match='hyperparameters="fixed" does not search'):
        PreferenceGP("rbf", hyperparameters="fixed").fit(data, start={"length scale": 2.0})
    with pytest.raises(ValueError, match=r"True for .length scale.; it must be a positive number"):
        PreferenceGP("rbf").fit(data, start={"length scale": True})
    with pytest.raises(TypeError, match="hold is 1; it must be True or False"):
        PreferenceGP("rbf").fit(data, start={"length scale": 2.0}, hold=1)
    mixed = PreferenceGP("rbf", hyperparameters="average", n_restarts=0, n_points=16, random_state=0)
    points = mixed.fit(data, start={"length scale": 2.0}, hold=True).hyperposterior_.theta
    assert np.ptp(points[:, 0]) > 0.5
    np.testing.assert_array_equal(points[:, 1], np.log(2.0))
    with pytest.raises(
        ValueError, match=r'"lenght scale", which is not one of the free parameters \(constant value, len'
    ):
        PreferenceGP("rbf").fit(data, start={"lenght scale": 1.0})
    for wrong in (far, far.theta_, 1.0):
        with pytest.raises(TypeError, match="give names and values"):
            PreferenceGP("rbf").fit(data, start=wrong)
    for wrong in (0.0, -1.0, np.inf, np.nan, "1", None, [1.0]):
        with pytest.raises(ValueError, match="must be a positive number"):
            PreferenceGP("rbf").fit(data, start={"length scale": wrong})
