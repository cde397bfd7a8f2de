"""Bradley-Terry with a side, covariates and clusters, updates, and the same beyond dense sizes."""

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import ConstantKernel

from fast_share import slow_except
from preflearn import BradleyTerry, Comparisons, PreferenceGP
from preflearn.exceptions import DataError
from preflearn.models._preference import Effect

pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one")


class Large(BradleyTerry):
    """As if there were more items than a dense factor is made for."""

    _dense = 5


def games(seed=0, n=12, m=300, *, side=0.5, ties=False, covariates=False, clusters=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    u = rng.normal(size=n)
    columns = rng.normal(size=(m, 2)).round(1) if covariates else None
    cluster = rng.integers(0, clusters, m) if clusters else None
    z = u[first] - u[second] + side + rng.logistic(size=m)
    if covariates:
        z += columns @ [0.7, -0.3]
    if clusters:
        h = rng.normal(size=(clusters, n))
        z += h[cluster, first] - h[cluster, second]
    outcome = np.where(np.abs(z) < 0.5, 0.0, np.sign(z)) if ties else np.sign(z)
    return Comparisons(n, first, second, outcome, covariates=columns, cluster=cluster)


def answers(model, data):
    mean, std = model.predict_difference(data, return_std=True, side=bool(model.side))
    return [*model.predict_utility(return_std=True), mean, std, model.rank().std, model.predict_proba(data)]


@pytest.mark.parametrize(
    ("what", "options"),
    [
        ({}, {"side": True}),
        ({"covariates": True}, {}),
        ({"covariates": True}, {"side": True}),
        ({"clusters": 25}, {"cluster": True}),
    ],
)
@pytest.mark.parametrize("inference", slow_except(["laplace", "ep"], "laplace"))
def test_it_is_the_gaussian_process_without_features(what, options, inference):
    data = games(**what)
    model = BradleyTerry(prior=1.5, inference=inference, **options).fit(data)
    gp = PreferenceGP(ConstantKernel(1.5, "fixed"), "logit", inference, n_restarts=0, **options).fit(data)
    exact = 1e-8 if model.theta_.shape[0] == 0 else 2e-5  # what is learned is learned to 1e-6
    np.testing.assert_allclose(model.theta_, gp.theta_, atol=1e-4)
    for ours, theirs in zip(answers(model, data), answers(gp, data), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=exact)
    assert model.log_evidence_ == pytest.approx(gp.log_evidence_, abs=1e-8)
    if "side" in options:
        np.testing.assert_allclose(model.side_effect_[1:], gp.side_effect_[1:], atol=exact)
    if "covariates" in what:
        for ours, theirs in zip(model.covariate_effects_, gp.covariate_effects_, strict=True):
            np.testing.assert_allclose(ours[1:], theirs[1:], atol=exact)
    if "cluster" in options:
        assert model.cluster_variance_ == pytest.approx(gp.cluster_variance_, rel=1e-4)


@pytest.mark.parametrize("prior", [1.5, None])
@pytest.mark.parametrize("covariates", [False, True])
@pytest.mark.filterwarnings("ignore:.*separate parts")
def test_columns_border_the_sparse_matrix_as_they_do_the_dense_one(prior, covariates):
    data = games(1, n=60, m=900, covariates=covariates)
    held = {"prior": prior, "side": True, "covariates": covariates and prior is None}
    exact, large = BradleyTerry(**held).fit(data), Large(**held).fit(data)
    np.testing.assert_allclose(large.utility_, exact.utility_, atol=1e-7)
    np.testing.assert_allclose(large.side_effect_[1:], exact.side_effect_[1:], atol=1e-7)
    if held["covariates"]:
        for ours, wanted in zip(large.covariate_effects_, exact.covariate_effects_, strict=True):
            np.testing.assert_allclose(ours[1:], wanted[1:], atol=1e-7)
    np.testing.assert_allclose(large.std_, exact.std_, rtol=0.1)
    few = [3, 7, 50]
    np.testing.assert_allclose(
        large.predict_utility(few, return_cov=True)[1], exact.predict_utility(few, return_cov=True)[1], atol=1e-6
    )
    np.testing.assert_allclose(large.rank(few).std, exact.rank(few).std, rtol=1e-4)
    if prior is not None:
        assert large.log_evidence_ == pytest.approx(exact.log_evidence_, abs=0.2)


@pytest.mark.parametrize(
    "options", [{}, {"side": True}, {"ties": True}, {"prior": 2.0}, {"inference": "ep"}, {"prior": None}]
)
def test_an_update_is_a_fit_on_old_and_new(options):
    options = {"prior": 1.0} | options
    data = games(2, ties=options.get("ties", False))
    half = data[:200]
    model = BradleyTerry(**options).fit(half)
    theta = model.theta_.copy()
    model.update(data[200:])
    np.testing.assert_array_equal(model.theta_, theta)
    if not len(theta):
        fitted = BradleyTerry(**options).fit(data)
        for ours, wanted in zip(answers(model, data), answers(fitted, data), strict=True):
            np.testing.assert_allclose(ours, wanted, atol=1e-7)
    model.update(data[:1], hyperparameters="improve")
    assert len(model.comparisons_) == 301


def test_an_update_goes_on_from_the_variance_that_was_learned():
    data = games(3)
    model = BradleyTerry().fit(data[:150]).update(data[150:], hyperparameters="improve")
    fitted = BradleyTerry().fit(data)
    np.testing.assert_allclose(model.theta_, fitted.theta_, atol=1e-4)
    np.testing.assert_allclose(model.utility_, fitted.utility_, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"side": True}, {"ties": True}, {"covariates": True}, {"cluster": True}])
def test_gradients_are_those_of_differences(options):
    data = games(
        4, ties=options.get("ties", False), covariates="covariates" in options, clusters=20 * ("cluster" in options)
    )
    model = BradleyTerry(**options).fit(data)
    theta = model.theta_ + 0.2
    slope = model.log_evidence(theta)[1]
    h = 1e-3
    for k, step in enumerate(h * np.eye(len(theta))):
        near, far = ([model.log_evidence(theta + s * c * step, gradient=False) for s in (1, -1)] for c in (1.0, 2.0))
        fourth = (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * h)
        assert slope[k] == pytest.approx(fourth, abs=1e-8 * max(1.0, abs(model.log_evidence_)))


def test_what_cannot_be_had_is_said():
    data = games(5, clusters=10)
    with pytest.raises(ValueError, match="cluster=True needs a prior"):
        BradleyTerry(prior=None, cluster=True).fit(data)
    with pytest.raises(DataError, match="12 items are more than 5"):
        Large(prior=1.0, cluster=True).fit(data)
    with pytest.raises(AttributeError, match="BradleyTerry: there is no side_effect_"):
        _ = BradleyTerry(prior=1.0).fit(data).side_effect_
    with pytest.raises(DataError, match="BradleyTerry: cluster=True needs the prompt"):
        BradleyTerry(prior=1.0, cluster=True).fit(games())
    with pytest.raises(DataError, match="are ties"):
        BradleyTerry(prior=1.0).fit(games()).update(Comparisons(12, [0], [1], [0]))


def test_effects_are_written_with_two_digits_of_their_deviation():
    assert str(Effect("length", 0.9914, 0.1812, 0.69, 1.29)) == "length 0.99 ± 0.18 (90 %: 0.69 ... 1.29)"
    small = str(Effect("tokens", 9.9e-13, 1.8e-13, 6.9e-13, 1.3e-12))
    assert small == "tokens 9.9e-13 ± 1.8e-13 (90 %: 6.9e-13 ... 1.3e-12)"
