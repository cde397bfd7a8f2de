"""Whatever a fitted model answers, the one that was saved and loaded answers equally."""

import copy
import json
import zipfile

import fitted_models
import numpy as np
import pytest
from fitted_models import CLUSTERS, GP, LABELS, MATCHES, OTHERS, PIPELINES, fitted, quietly_fitted
from sklearn.base import clone

import preflearn
from fast_share import mostly_slow, slow_except
from preflearn import Comparisons, PreferenceGP
from preflearn.exceptions import DataError
from preflearn.files.known_classes import ESTIMATORS, TRANSFORMERS


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.preflearn"


def again(model, path):
    preflearn.save(model, path)
    return preflearn.load(path)


def same(found, wanted):
    """Assert that two answers are equal, number by number."""
    if isinstance(wanted, tuple):
        assert type(found) is type(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, np.ndarray) and wanted.dtype.kind in "OUb":
        np.testing.assert_array_equal(found, wanted)
    else:
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


def answers(model, data):
    """Return all that a Gaussian process over items has to say, by name."""
    who = {} if model.judge_kernel is None else {"judge": "ann"}
    found = {
        "predict": model.predict(data),
        "predict_outcome_proba": model.predict_outcome_proba(data),
        "predict_difference": model.predict_difference(data, return_std=True),
        "preference_matrix": tuple(vars(model.preference_matrix(**who)).values()),
        "sample_preferences": model.sample_preferences([0, 2] if data.names is None else data.names[:2], 3, 0, **who),
        "leave_one_out": model.leave_one_out(),
        "leave_one_out item": tuple(model.leave_one_out("item")),
        "score": model.score(data),
        "sigma": model.sigma_,
        "log_evidence": model.log_evidence(),
        "elsewhere": model.log_evidence(model.theta_ + 0.1),
    }
    if model.judge_kernel is not None:
        found["leave_one_out judge"] = model.leave_one_out("judge")
    if model.kernel_ is not None:
        found["predict_utility"] = model.predict_utility(return_cov=True, **who)
        found["sample_utilities"] = model.sample_utilities(n_samples=3, random_state=0)
        found["rank"] = tuple(value for value in vars(model.rank(n_samples=50)).values() if not np.isscalar(value))
    if isinstance(data.items, np.ndarray):
        new = data.items[:3] + 0.25
        if model.kernel == "precomputed":
            new = np.hstack([data.items[:3], data.items[:3, :3] + np.eye(3)])
        found["new items"] = model.preference_matrix(new).probability
    return found


@pytest.mark.parametrize("name", mostly_slow(GP, 3))
def test_all_answers_of_a_gaussian_process_over_items(name, path):
    model, data = fitted(name)
    loaded, model = again(model, path), copy.deepcopy(model)
    wanted, found = answers(model, data), answers(loaded, data)
    for question, answer in wanted.items():
        try:
            same(found[question], answer)
        except AssertionError as error:
            raise AssertionError(f"{question}: {error}") from None


@pytest.mark.parametrize("name", mostly_slow(GP, 3))
def test_everything_that_fit_left_comes_back(name, path):
    model, data = fitted(name)
    loaded = again(model, path)
    assert sorted(vars(loaded)) == sorted(vars(model))
    assert str(loaded) == str(model)
    assert str(loaded.kernel_) == str(model.kernel_)
    assert loaded.likelihood_ == model.likelihood_
    assert loaded.theta_names_ == model.theta_names_
    assert loaded.info_ == model.info_
    same(loaded.bounds_, model.bounds_)
    assert [one.message for one in loaded.optima_] == [one.message for one in model.optima_]
    if data.names is not None:
        assert [(type(name), name) for name in loaded.item_names_] == [(type(name), name) for name in data.names]
    for field in ("first", "second", "outcome", "weight", "group", "judge"):
        np.testing.assert_array_equal(getattr(loaded.comparisons_, field), getattr(data, field))


@pytest.mark.parametrize("name", mostly_slow(GP, 3))
def test_updates_go_on_from_a_loaded_model(name, path):
    model, data = fitted(name)
    loaded, model = again(model, path), copy.deepcopy(model)
    more = data[:3].swapped()
    wanted, found = quietly_updated(model, more), quietly_updated(loaded, more)
    same(found.predict_proba(data), wanted.predict_proba(data))
    same(again(found, path).predict_proba(data), wanted.predict_proba(data))


def quietly_updated(model, data):
    class Updated:
        def fit(self, more):
            return model.update(more)

    return quietly_fitted(Updated(), data)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["features", "names", "average EP", "judges"])
def test_a_loaded_model_can_be_cloned_and_fitted_again(name, path):
    model, data = fitted(name)
    loaded = again(model, path)
    assert str(loaded.get_params()) == str(model.get_params())
    same(quietly_fitted(clone(loaded), data).predict_proba(data), model.predict_proba(data))
    same(quietly_fitted(loaded, data).predict_proba(data), model.predict_proba(data))


def test_new_items_and_new_judges_are_told_from_known_ones(path):
    model, data = fitted("judges with features")
    loaded = again(model, path)
    for judge in ("bob", "di", None):
        same(
            loaded.predict_utility(data.items[:2] + 1.0, judge=judge),
            model.predict_utility(data.items[:2] + 1.0, judge=judge),
        )
    model, data = fitted("own effects")
    loaded = again(model, path)
    new = Comparisons(np.vstack([data.items[:2], data.items[:1]]), ["ä", 7], [7, "new"], names=["ä", 7, "new"])
    same(loaded.predict_proba(new), model.predict_proba(new))


@pytest.mark.parametrize("name", slow_except(MATCHES, "evidence", "no prior", "thresholds"))
def test_all_answers_of_a_model_of_matches(name, path):
    model, data = MATCHES[name]
    quietly_fitted(model, data)
    loaded = again(model, path)
    assert sorted(vars(loaded)) == sorted(vars(model))
    for left in ("utility_", "std_", "theta_", "bounds_", "log_likelihood_"):
        same(getattr(loaded, left), getattr(model, left))
    same(loaded.predict_outcome_proba(data), model.predict_outcome_proba(data))
    same(loaded.predict_utility(return_cov=True), model.predict_utility(return_cov=True))
    same(loaded.sample_utilities(n_samples=3, random_state=0), model.sample_utilities(n_samples=3, random_state=0))
    same(loaded.preference_matrix().probability, model.preference_matrix().probability)
    assert loaded.rank(n_samples=50).names.tolist() == model.rank(n_samples=50).names.tolist()
    if model.prior is not None:
        same(loaded.log_evidence(), model.log_evidence())
    same(quietly_fitted(clone(loaded), data).predict_proba(data), model.predict_proba(data))


@pytest.mark.parametrize("name", LABELS)
def test_all_answers_of_a_gaussian_process_over_labels(name, path):
    model, data, new = LABELS[name]
    quietly_fitted(model, *data)
    loaded = again(model, path)
    assert sorted(vars(loaded)) == sorted(vars(model))
    assert (loaded.labels_.dtype, loaded.labels_.tolist()) == (model.labels_.dtype, model.labels_.tolist())
    for method in ("predict", "predict_label", "preference_matrix"):
        same(getattr(loaded, method)(new), getattr(model, method)(new))
    same(loaded.predict_utility(new, return_std=True), model.predict_utility(new, return_std=True))
    same(loaded.log_evidence(), model.log_evidence())
    same(loaded.log_evidence(model.theta_ - 0.2), model.log_evidence(model.theta_ - 0.2))
    same(loaded.score(*data), model.score(*data))
    same(quietly_fitted(clone(loaded), *data).preference_matrix(new), model.preference_matrix(new))


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines(name, path):
    model, data, new = PIPELINES[name]
    quietly_fitted(model, *data)
    loaded = again(model, path)
    method = "predict_utility" if name == "labels scaled" else "predict_proba"
    if hasattr(model, method) and not isinstance(new, np.ndarray):
        same(getattr(loaded, method)(new), getattr(model, method)(new))
    same(loaded.predict(new), model.predict(new))
    assert str(loaded.get_params()) == str(model.get_params())
    same(quietly_fitted(clone(loaded), *data).predict(new), model.predict(new))


@pytest.mark.parametrize("name", OTHERS)
def test_baselines(name, path):
    model, data = OTHERS[name]
    quietly_fitted(model, data)
    loaded = again(model, path)
    assert sorted(vars(loaded)) == sorted(vars(model))
    for method, asked in (("decision_function", data), ("predict_utility", data.items)):
        if hasattr(model, method):
            same(getattr(loaded, method)(asked), getattr(model, method)(asked))


@pytest.mark.parametrize("name", CLUSTERS)
def test_clusters(name, path):
    model = quietly_fitted(CLUSTERS[name], fitted_models.PLAIN)
    loaded = again(model, path)
    assert sorted(vars(loaded)) == sorted(vars(model))
    for left in ("labels_", "preferences_", "singular_values_", "utilities_", "ranks_", "explained_"):
        same(getattr(loaded, left), getattr(model, left))
    if name == "gpgp":  # the model inside is fitted, too
        same(loaded.model.preference_matrix().mean, model.model.preference_matrix().mean)


def test_the_tables_of_models_cover_all_that_files_hold():
    from test_least_squares_files import CASES

    models = [model for table in (GP, MATCHES, LABELS, PIPELINES, OTHERS) for model, *_ in table.values()]
    models += [*CLUSTERS.values(), *(make()[0] for make in CASES.values())]
    assert {type(model) for model in models} == set(ESTIMATORS)
    steps = [step for model, *_ in PIPELINES.values() for _, step in model.steps]
    inner = [getattr(step, "transformer", step) for step in steps]
    assert set(TRANSFORMERS) <= {type(step) for step in inner}


def test_a_file_of_a_gaussian_process_holds_no_matrix(path):
    model = fitted("judges cyclic")[0]
    preflearn.save(model, path)
    with zipfile.ZipFile(path) as archive:
        header = json.loads(archive.read("header.json"))
    largest = max(np.prod(shape) for shape in shapes(header))
    assert largest <= model._solution.problem.n_latents < model._solution.posterior.system.size**2 / 10


def shapes(value):
    """Yield the shapes of all arrays that a header speaks of."""
    if isinstance(value, dict):
        if value.get("$") == "array":
            yield value["shape"]
        for item in value.values():
            yield from shapes(item)
    elif isinstance(value, list):
        for item in value:
            yield from shapes(item)


def test_coordinates_of_another_root_are_worked_out_again(path):
    # as after a move to a machine whose library pivots a singular kernel matrix in another order
    model = fitted("linear")[0]
    state = model._file_state()
    state["solutions"][0]["u"] = -state["solutions"][0]["u"]
    moved = clone(model)
    moved._from_file_state(state)
    same(moved._solution.posterior.u, model._solution.posterior.u)


def test_transformers_that_files_do_not_hold_are_named(path):
    from sklearn.manifold import Isomap
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    from preflearn import OnItems

    for transformer, name in ((Isomap(n_neighbors=3), "Isomap"), (FunctionTransformer(np.exp), "FunctionTransformer")):
        model = make_pipeline(OnItems(transformer), PreferenceGP(hyperparameters="fixed")).fit(fitted_models.PLAIN)
        with pytest.raises(DataError, match=f"OnItems: transformer holds a {name}.*StandardScaler.*joblib"):
            preflearn.save(model, path)
    with pytest.raises(TypeError, match="Pipeline of StandardScaler"):
        preflearn.save(make_pipeline(fitted_models.StandardScaler()).fit(fitted_models.X), path)
    assert not path.exists()


@pytest.mark.parametrize("model", [PreferenceGP(hyperparameters="fixed"), preflearn.BradleyTerry(prior=1.0)])
def test_how_often_comparisons_were_listed_comes_back(model, path):
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 60)
    counted = Comparisons(4, first, (first + 1) % 4, rng.choice([-1.0, 1.0], 60)).counted()
    fitted = model.fit(counted)
    loaded = again(fitted, path)
    assert loaded.comparisons_.n_listed == 60
    np.testing.assert_array_equal(loaded.comparisons_.times, counted.times)
    if hasattr(model, "leave_one_out"):  # of those that were listed
        same(loaded.leave_one_out(), fitted.leave_one_out())


@pytest.mark.parametrize("times", [np.array([0, 2]), np.array([1.0, 2.0]), np.array([1])])
def test_impossible_numbers_of_comparisons_are_refused(times, path):
    counted = Comparisons(2, [0, 0, 1], [1, 1, 0]).counted()
    model = preflearn.BradleyTerry(prior=1.0).fit(counted)
    model.comparisons_ = counted._take(slice(None), times=times)
    with pytest.raises(DataError, match="how many comparisons were listed"):
        again(model, path)
