"""Models are asked about items of training by name, and say what to do where they cannot be."""

import numpy as np
import pandas as pd
import pytest
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import preflearn
from preflearn import BradleyTerry, Comparisons, OnItems, PreferenceGP
from preflearn.active import remaining_value, suggest
from preflearn.exceptions import DataError
from preflearn.likelihoods import Logit
from preflearn.models.ranking import Part, rank_draws

NAMES = ["Assam", "Darjeeling", "Oolong", "Ceylon", "Earl"]
rng = np.random.default_rng(3)
X = rng.normal(size=(5, 2))
FIRST = rng.integers(0, 5, 30)
SECOND = (FIRST + rng.integers(1, 5, 30)) % 5
OUTCOME = np.where(X[FIRST, 0] - X[SECOND, 0] + rng.normal(size=30) > 0, 1, -1)
JUDGE = [f"j{i % 3}" for i in range(30)]
FEATURED = Comparisons(X, FIRST, SECOND, OUTCOME, names=NAMES, judge=JUDGE, covariates=rng.normal(size=30))
NAMED = Comparisons(5, FIRST, SECOND, OUTCOME, names=NAMES)
MODELS = {
    "features": (lambda: PreferenceGP(hyperparameters="fixed"), FEATURED),
    "own effect": (lambda: PreferenceGP(own_effect=True, hyperparameters="fixed"), FEATURED),
    "judges": (lambda: PreferenceGP(judge_kernel="identity", hyperparameters="fixed"), FEATURED),
    "no features": (lambda: PreferenceGP(hyperparameters="fixed"), NAMED),
    "bradley-terry": (BradleyTerry, NAMED),
}


@pytest.mark.parametrize("name", MODELS)
def test_all_ways_to_name_a_pair_say_the_same(name):
    build, data = MODELS[name]
    model = build().fit(data)
    whole = Comparisons(data.items if data.items is not None else 5, [1, 3], [2, 0], names=NAMES)
    p = model.predict_proba(whole)
    by_name = Comparisons(None, ["Darjeeling", "Ceylon"], ["Oolong", "Assam"])
    np.testing.assert_allclose(model.predict_proba(by_name), p, rtol=1e-9)
    pairs = [("Darjeeling", "Oolong"), ("Ceylon", "Assam")]
    for asked in (pairs, np.array(pairs), pd.DataFrame(pairs, columns=["a", "b"]), [(1, 2), (3, 0)]):
        np.testing.assert_array_equal(model.predict_proba(asked), p)
    assert np.abs(p - 0.5).min() > 1e-3


@pytest.mark.parametrize("name", MODELS)
def test_unknown_names_and_other_things_are_refused_with_the_cure(name):
    build, data = MODELS[name]
    model = build().fit(data)
    for asked in (Comparisons(None, ["Darjeling"], ["Oolong"]), [("Darjeling", "Oolong")]):
        with pytest.raises(DataError, match=r'nearest names?: "Darjeeling"'):
            model.predict_proba(asked)
    for asked in (["Darjeeling"], 3, pd.DataFrame({"a": [1.0], "b": [2.0], "c": [3.0]}), np.ones((3, 2)), []):
        with pytest.raises(TypeError, match=r"expected Comparisons.*pairs of names"):
            model.predict_proba(asked)


def test_judges_count_where_names_are_given():
    build, data = MODELS["judges"]
    model = build().fit(data)
    asked = {"first": ["Darjeeling"], "second": ["Oolong"], "judge": ["j1"], "covariates": [0.3]}
    by_name, whole = Comparisons(None, **asked), Comparisons(X, names=NAMES, **asked)
    np.testing.assert_allclose(model.predict_proba(by_name), model.predict_proba(whole), rtol=1e-9)
    assert model.predict_proba(by_name)[0, 0] != model.predict_proba([("Darjeeling", "Oolong")])[0, 0]


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score", "roc_auc", "accuracy"])
def test_scores_of_scikit_learn_work_on_outcomes(scoring):
    model = PreferenceGP(hyperparameters="fixed")
    assert np.isfinite(cross_validate(model, NAMED, NAMED.outcome, scoring=scoring, cv=2)["test_score"]).all()


def test_a_transformer_of_features_is_told_to_be_wrapped():
    with pytest.raises(TypeError, match=r"OnItems\(StandardScaler\(\)\)"):
        make_pipeline(StandardScaler(), PreferenceGP()).fit(FEATURED)
    make_pipeline(OnItems(StandardScaler()), PreferenceGP(hyperparameters="fixed")).fit(FEATURED)


def test_linear_is_a_variance_times_the_inner_product_in_any_unit():
    found = PreferenceGP("linear").fit(FEATURED)
    wanted = PreferenceGP(ConstantKernel(1.0, (1e-6, 1e6)) * DotProduct(0.0, "fixed")).fit(FEATURED)
    assert abs(found.log_evidence_ - wanted.log_evidence_) < 1e-5
    large = Comparisons(1e4 * X, FIRST, SECOND, OUTCOME, names=NAMES, judge=JUDGE, covariates=FEATURED.covariates)
    again = PreferenceGP("linear").fit(large)
    assert abs(again.log_evidence_ - found.log_evidence_) < 1e-5


@pytest.mark.parametrize("kernel", ["laplacian", "matern", "matern32", "matern52", "rational_quadratic"])
def test_kernels_by_name_learn(kernel):
    model = PreferenceGP(kernel, hyperparameters="fixed").fit(FEATURED)
    assert model.score(FEATURED) > 0.6
    with pytest.raises(ValueError, match="matern52"):
        PreferenceGP("matern53").fit(FEATURED)


def test_bradley_terry_updates_and_suggest_takes_a_result():
    half = BradleyTerry(prior=1.0).fit(NAMED[:15]).update(NAMED[15:])
    whole = BradleyTerry(prior=1.0).fit(NAMED)
    np.testing.assert_allclose(half.predict_utility(), whole.predict_utility(), atol=1e-6)
    result = preflearn.rank(NAMED)
    assert suggest(result).to_dict() == suggest(result.model).to_dict()
    assert remaining_value(result, 3, random_state=0) == remaining_value(result.model, 3, random_state=0)


@pytest.mark.filterwarnings("ignore:.*have the same features")
def test_equal_items_share_places():
    data = Comparisons(np.ones((5, 2)), FIRST, SECOND, OUTCOME)
    found = PreferenceGP(hyperparameters="fixed").fit(data).rank()
    assert np.abs(found.p_best - 0.2).max() < 0.03
    assert np.abs(found.p_top - 0.6).max() < 0.03
    assert (found.rank_low == 1).all()
    assert (found.rank_high == 5).all()


def test_the_place_shown_lies_in_its_interval():
    n = 3000
    utility = np.linspace(0.1, -0.1, n)
    draws = utility + np.random.default_rng(0).standard_normal((400, n))
    found = rank_draws(np.arange(n), [Part(1.0, utility, np.ones(n), Logit())], draws, 3, 0.9)
    assert found.rank_low[0] == 1
    assert (found.rank_low <= found.rank).all()
    assert (found.rank <= found.rank_high).all()
    assert found.rank_high[0] > 100  # that the first is surely the first is not claimed
