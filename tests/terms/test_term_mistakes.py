"""Data that cannot tell a term from others: a clear message, or the model without the term, said in words."""

import warnings

import numpy as np
import pandas as pd
import pytest

from preflearn import Comparisons, PreferenceGP
from preflearn.exceptions import DataError, DataWarning

pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one exactly:preflearn.exceptions.DataWarning")


def rows(seed=0, n=6, m=80, **more):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    outcome = np.where(rng.normal(size=m) + 0.4 * (second - first) > 0, 1.0, -1.0)
    return Comparisons(n, first, second, outcome, **more)


def fit(data, **parts):
    return PreferenceGP(likelihood="logit", hyperparameters="fixed", **parts).fit(data)


def same(one, other):
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(one.predict_utility(), other.predict_utility(), atol=1e-9)


def test_a_covariate_that_is_zero_everywhere_is_left_out():
    data = rows(covariates=np.zeros((80, 1)))
    with pytest.warns(DataWarning, match="are 0 in every row.*learned without them"):
        model = fit(data)
    same(model, fit(rows()))
    with pytest.raises(AttributeError, match="no covariates"):
        _ = model.covariate_effects_


def test_a_constant_covariate_is_an_advantage_of_the_first_side():
    with pytest.warns(DataWarning, match='covariate "length" is 2 in every row.*Use side=True'):
        model = fit(rows(covariates=pd.DataFrame({"length": np.full(80, 2.0)})))
    (effect,) = model.covariate_effects_
    assert effect.name == "length"


def test_a_covariate_that_is_a_number_of_the_items_is_told():
    data = rows()
    age = np.array([3.0, 1.0, 4.0, 1.0, 5.0, 9.0])
    table = pd.DataFrame({"age": age[data.first] - age[data.second], "luck": np.random.default_rng(1).normal(size=80)})
    with pytest.warns(DataWarning, match='"age" is a difference of one number of each item') as caught:
        fit(Comparisons(6, data.first, data.second, data.outcome, covariates=table))
    assert not any("luck" in str(one.message) for one in caught)


def test_one_column_of_several_that_says_nothing_is_named():
    table = pd.DataFrame({"nothing": np.zeros(80), "luck": np.random.default_rng(1).normal(size=80)})
    with pytest.warns(DataWarning, match='covariate "nothing" is 0 in every row'):
        model = fit(rows(covariates=table))
    assert [one.name for one in model.covariate_effects_] == ["nothing", "luck"]


def test_clusters_of_one_row_each_are_noise():
    with pytest.warns(DataWarning, match="cluster of its own.*learned without cluster=True"):
        model = fit(rows(cluster=np.arange(80)), cluster=True)
    same(model, fit(rows()))
    assert model.cluster_variance_ is None


def test_clusters_must_be_given():
    with pytest.raises(DataError, match=r"cluster=True needs the prompt, task or session.*Comparisons cluster="):
        fit(rows(), cluster=True)


def test_one_judge_has_no_reliability_of_its_own():
    with pytest.warns(DataWarning, match="all comparisons are by one judge.*without judge_reliability"):
        model = fit(rows(judge=["ann"] * 80), judge_reliability=True)
    same(model, fit(rows()))
    assert not hasattr(model, "reliability_")


@pytest.mark.parametrize(
    ("parts", "name"), [({"judge_reliability": True}, "judge_reliability"), ({"side": "judge"}, "side")]
)
def test_judges_must_be_given(parts, name):
    with pytest.raises(DataError, match=f"{name}.* asks how judges differ"):
        fit(rows(), **parts)


def test_sides_that_are_sorted_by_the_result_are_refused():
    data = rows()
    winners = data.swapped(data.outcome < 0)
    with pytest.raises(DataError, match=r"first item won all 80 decided comparisons.*leave side=False"):
        fit(winners, side=True)
    with pytest.raises(DataError, match="second item won all 80"):
        fit(winners.swapped(), side=True)


def test_sides_that_follow_from_the_items_are_left_out():
    data = rows()
    ordered = data.swapped(data.first > data.second)
    strangers = Comparisons(6, [0, 0, 1, 2, 1] * 4, [3, 4, 5, 3, 4] * 4, [1, -1] * 10)  # nobody stands on both sides
    with pytest.warns(DataWarning, match="follows from which items were compared.*without side=True"):
        model = fit(strangers, side=True)
    same(model, fit(strangers))
    with pytest.raises(AttributeError, match="Fit with side=True"):
        _ = model.side_effect_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*repeat an earlier one exactly")
        assert np.isfinite(fit(ordered, side=True).side_effect_.estimate)


def test_a_side_that_was_not_learned_cannot_be_asked_for():
    data = rows()
    with pytest.raises(ValueError, match=r"side=True asks for the advantage.*PreferenceGP\(side=True\)"):
        fit(data).predict_proba(data, side=True)


def test_questions_with_other_covariates_than_training_are_refused():
    rng = np.random.default_rng(0)
    model = fit(rows(covariates=pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"])))
    asked = Comparisons(6, [0], [1], covariates=pd.DataFrame([[1.0]], columns=["a"]))
    with pytest.raises(DataError, match=r'covariates of training.*"a", "b"'):
        model.predict_proba(asked)
    turned = Comparisons(6, [0], [1], covariates=pd.DataFrame([[2.0, 1.0]], columns=["b", "a"]))
    straight = Comparisons(6, [0], [1], covariates=pd.DataFrame([[1.0, 2.0]], columns=["a", "b"]))
    np.testing.assert_array_equal(model.predict_proba(turned), model.predict_proba(straight))
    none = Comparisons(6, [0], [1])
    equal = Comparisons(6, [0], [1], covariates=np.zeros((1, 2)))
    np.testing.assert_allclose(model.predict_proba(none), model.predict_proba(equal), atol=1e-12)


def test_one_cluster_is_left_out():
    data = rows(cluster=np.zeros(80, dtype=int))
    with pytest.warns(DataWarning, match="all comparisons are in one cluster"):
        model = fit(data, cluster=True)
    assert model.cluster_variance_ is None
    same(model, fit(data))
