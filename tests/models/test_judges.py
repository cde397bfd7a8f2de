"""Judges: what all share and what is each one's own, against a covariance written out in full."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.model_selection import GroupKFold, cross_val_score

from fast_share import slow_except
from inference.hostile_problems import problem as problem_of
from inference_by_hand import ep, laplace
from preflearn import Comparisons, PreferenceGP
from preflearn.exceptions import DataError, DataWarning
from preflearn.inference.contract import Observed, Query
from preflearn.inference.dense import DenseSystem
from preflearn.likelihoods import Flipped, Gaussian, Probit
from preflearn.models import UnfinishedWarning

pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one exactly:preflearn.exceptions.DataWarning")
SHARE = 0.7


def fixed(value, kernel):
    return ConstantKernel(value, "fixed") * kernel


def rbf(scale):
    return RBF(scale, "fixed")


def problem(rng, n=7, m=60, n_judges=6, features=False):
    """Judges with very different numbers of comparisons, one with a single one, and some by nobody in particular."""
    X = rng.normal(size=(n, 2))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    who = rng.choice(n_judges, m, p=np.arange(1, n_judges + 1) / (n_judges * (n_judges + 1) / 2))
    who[0] = n_judges
    judge = np.array([f"j{number}" for number in who], dtype=object)
    if not features:
        judge[3:6] = ""
    table = None
    if features:
        table = pd.DataFrame(rng.normal(size=(n_judges + 1, 2)), columns=["age", "taste"])
        table.insert(0, "judge", [f"j{number}" for number in range(n_judges + 1)])
    outcome = np.where(X[first, 0] - X[second, 0] + 0.5 * rng.normal(size=m) > 0, 1.0, -1.0)
    return Comparisons(X, first, second, outcome, judge=judge, judges=table)


def skew(K, pairs, others):
    (i, j), (k, m) = pairs, others
    return K[np.ix_(i, k)] * K[np.ix_(j, m)] - K[np.ix_(i, m)] * K[np.ix_(j, k)]


def difference(K, pairs, others):
    (i, j), (k, m) = pairs, others
    return K[np.ix_(i, k)] - K[np.ix_(i, m)] - K[np.ix_(j, k)] + K[np.ix_(j, m)]


class Oracle:
    """All comparisons and all questions as latents, with the covariance of each with each written out."""

    def __init__(self, data, questions, kernel, cyclic, similar, inference, likelihood):
        X = np.concatenate([data.items, questions.items])
        pairs = (
            np.concatenate([data.first, data.n_items + questions.first]),
            np.concatenate([data.second, data.n_items + questions.second]),
        )
        K = np.zeros((len(pairs[0]), len(pairs[0])))
        if kernel is not None:
            K += difference(kernel(X), pairs, pairs)
        if cyclic is not None:
            K += skew(cyclic(X), pairs, pairs)
        K = K * similar
        m = len(data)
        solve = laplace if inference == "laplace" else ep
        system = DenseSystem.of(np.eye(m), K[:m, :m])
        self.posterior = solve(system, Observed(data.outcome, np.ones(m)), likelihood)[0]
        self.mean, covariance = self.posterior.joint(Query(K[m:, :m], K[m:, m:]))
        self.std = np.sqrt(covariance.diagonal())


def similarity(labels):
    """J between all who are heard or asked: 1 for all, more for the same judge; nobody is like nobody else."""
    population = np.array([label is None for label in labels])
    unknown = np.array([label == "" or str(label).startswith("new") for label in labels])
    same = np.array([[a == b and a is not None for b in labels] for a in labels])
    same[unknown] = same[:, unknown] = False
    same[unknown, unknown] = True
    return 1.0 + SHARE * (same & ~population[:, None])


MODELS = {
    "utility": (fixed(2.0, rbf(1.0)), None),
    "linear": (fixed(2.0, DotProduct(0.0, "fixed")), None),  # of less rank than there are items
    "cyclic": (None, fixed(1.3, rbf(1.2))),
    "both": (fixed(2.0, rbf(1.0)), fixed(1.3, rbf(1.2))),
}


@pytest.mark.parametrize("likelihood", [Probit(), Gaussian(precision=2.0, fixed=True)])
@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("parts", list(MODELS))
def test_judges_are_a_gaussian_process_over_judge_and_pair(parts, inference, likelihood):
    rng = np.random.default_rng(3)
    data = problem(rng)
    kernel, cyclic = MODELS[parts]
    model = PreferenceGP(
        kernel, likelihood, inference, cyclic_kernel=cyclic, judge_kernel=ConstantKernel(SHARE, "fixed")
    ).fit(data)
    asked = ["j0", "j5", "j6", "new one", "", "j3"]
    Z = rng.normal(size=(5, 2))
    questions = Comparisons(Z, [0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2], judge=asked)
    labels = [*data.judge, *asked]
    oracle = Oracle(data, questions, kernel, cyclic, similarity(labels), inference, likelihood)
    assert model.log_evidence_ == pytest.approx(oracle.posterior.log_evidence, abs=1e-8)
    mean, std = model.predict_difference(questions, return_std=True)
    np.testing.assert_allclose(mean, oracle.mean, atol=1e-8)
    np.testing.assert_allclose(std, oracle.std, atol=1e-8)
    # the same questions to the population
    labels = [*data.judge, *[None] * 6]
    oracle = Oracle(data, questions, kernel, cyclic, similarity(labels), inference, likelihood)
    matrix = model.preference_matrix(Z)
    np.testing.assert_allclose(matrix.mean[[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]], oracle.mean, atol=1e-8)
    np.testing.assert_allclose(matrix.std[[0, 1, 2, 3, 4, 0], [1, 2, 3, 4, 0, 2]], oracle.std, atol=1e-8)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("judges", slow_except(["identity", "rbf", "ard"], "identity"))
@pytest.mark.parametrize("parts", list(MODELS))
def test_gradient_of_the_evidence(parts, judges, inference):
    rng = np.random.default_rng(5)
    data = problem(rng, m=40, features=True)
    free = 1.5 * (DotProduct(0.0, "fixed") if parts == "linear" else RBF(1.0))
    kernel, cyclic = (None if part is None else free for part in MODELS[parts])
    model = PreferenceGP(
        kernel, inference=inference, cyclic_kernel=cyclic, judge_kernel=judges, hyperparameters="fixed"
    ).fit(data)
    theta = model.theta_ + rng.normal(0, 0.3, len(model.theta_))
    _, slope = model.log_evidence(theta)
    assert len(model.theta_names_) == len(theta) == len(slope)
    for k in range(len(theta)):
        value = [
            model.log_evidence(theta + step * 1e-3 * np.eye(len(theta))[k], gradient=False) for step in (-2, -1, 1, 2)
        ]
        wanted = (value[0] - 8 * value[1] + 8 * value[2] - value[3]) / 12e-3
        assert slope[k] == pytest.approx(wanted, rel=1e-7, abs=1e-7), model.theta_names_[k]


@pytest.mark.parametrize("parts", list(MODELS))
def test_features_that_say_nothing_are_independent_judges(parts):
    rng = np.random.default_rng(7)
    data = problem(rng, features=True)
    kernel, cyclic = MODELS[parts]
    identity = PreferenceGP(kernel, cyclic_kernel=cyclic, judge_kernel=ConstantKernel(1.0), hyperparameters="fixed")
    nothing = clone(identity).set_params(judge_kernel=ConstantKernel(1e-14, "fixed") * RBF(1.0, "fixed"))
    identity.fit(data)
    nothing.fit(data)
    assert identity.log_evidence_ == pytest.approx(nothing.log_evidence_, abs=1e-8)
    Z = rng.normal(size=(4, 2))
    asked = Comparisons(Z, [0, 1, 2, 3], [1, 2, 3, 0], judge=["j1", "j4", "stranger", ""])
    for question in (asked, Comparisons(Z, [0, 1], [1, 2])):
        np.testing.assert_allclose(identity.predict_proba(question), nothing.predict_proba(question), atol=1e-9)
    for judge in (None, "j2"):
        one, other = (model.preference_matrix(Z, judge=judge) for model in (identity, nothing))
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-8)
        np.testing.assert_allclose(one.std, other.std, atol=1e-8)
        drawn = [model.sample_preferences(Z, 5, random_state=0, judge=judge) for model in (identity, nothing)]
        assert drawn[0].shape == drawn[1].shape == (5, 4, 4)
        if kernel is not None:
            one, other = (model.predict_utility(Z, return_cov=True, judge=judge) for model in (identity, nothing))
            np.testing.assert_allclose(one[0], other[0], atol=1e-8)
            np.testing.assert_allclose(one[1], other[1], atol=1e-8)
    for by in ("comparison", "judge"):
        np.testing.assert_allclose(identity.leave_one_out(by), nothing.leave_one_out(by), atol=1e-7)
    first, other = identity.leave_one_out("item"), nothing.leave_one_out("item")
    np.testing.assert_allclose(first.first, other.first, atol=1e-7)
    np.testing.assert_allclose(first.second, other.second, atol=1e-7)


def test_no_own_preferences_is_no_judges():
    rng = np.random.default_rng(1)
    data = problem(rng)
    kernel = fixed(2.0, rbf(1.0))
    pooled = PreferenceGP(kernel).fit(data)
    apart = PreferenceGP(kernel, inference="laplace", judge_kernel=ConstantKernel(1e-12, "fixed")).fit(data)
    assert apart.log_evidence_ == pytest.approx(pooled.log_evidence_, abs=1e-7)
    np.testing.assert_allclose(apart.predict_proba(data), pooled.predict_proba(data), atol=1e-8)


def test_leaving_a_judge_out_is_learning_without_it():
    rng = np.random.default_rng(2)
    data = problem(rng)
    model = PreferenceGP(
        fixed(2.0, rbf(1.0)), Gaussian(precision=2.0, fixed=True), judge_kernel=ConstantKernel(SHARE, "fixed")
    ).fit(data)
    left_out = model.leave_one_out("judge")
    for name in ("j1", "j6"):
        here = data.judge == name
        again = clone(model).fit(data[~here]).predict_proba(data[here])
        np.testing.assert_allclose(left_out[here], again, atol=1e-9)


def test_leaving_out_a_judge_of_many_answers_costs_by_items_and_not_by_answers(monkeypatch):
    rng = np.random.default_rng(6)
    n, m = 6, 240
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    judge = [f"j{k}" for k in rng.integers(0, 3, m)]
    data = Comparisons(n, first, second, rng.normal(size=m), judge=judge)
    model = PreferenceGP(
        ConstantKernel(2.0, "fixed"), Gaussian(precision=2.0, fixed=True), judge_kernel=ConstantKernel(SHARE, "fixed")
    ).fit(data)
    sizes = []
    solve = np.linalg.solve
    monkeypatch.setattr(np.linalg, "solve", lambda a, b: sizes.append(len(a)) or solve(a, b))
    left_out = model.leave_one_out("judge")
    assert sizes == [2 * n] * 3  # what all share and what is its own
    here = data.judge == "j1"
    again = clone(model).fit(data[~here]).predict_proba(data[here])
    np.testing.assert_allclose(left_out[here], again, atol=1e-9)


def test_update_is_learning_from_both():
    rng = np.random.default_rng(4)
    for judge_kernel in ("identity", "rbf"):
        data = problem(rng, features=True)
        model = PreferenceGP(1.0 * RBF(1.0), judge_kernel=judge_kernel, hyperparameters="fixed")
        together = clone(model).fit(data)
        model.fit(data[:35])
        bounds = model.judge_share_
        model.update(data[35:])
        assert model.judge_share_ == bounds
        assert list(model.judges_) == list(together.judges_)
        np.testing.assert_allclose(
            model.log_evidence(together.theta_, gradient=False), together.log_evidence_, rtol=1e-9
        )


def camps(rng, n_judges=20, each=25, n=12):
    """Two kinds of judges with opposite tastes, known by their one feature."""
    X = rng.normal(size=(n, 2))
    kind = np.arange(n_judges) % 2
    judge = np.repeat(np.arange(n_judges), each)
    first = rng.integers(0, n, len(judge))
    second = (first + rng.integers(1, n, len(judge))) % n
    taste = np.where(kind[judge] == 0, 1.0, -1.0)
    outcome = np.where(3 * taste * (X[first, 0] - X[second, 0]) + rng.normal(size=len(judge)) > 0, 1, -1)
    table = np.column_stack([2.0 * kind + rng.normal(0, 0.1, n_judges)])
    return Comparisons(X, first, second, outcome, judge=judge, judges=table)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*show no differences beyond noise:preflearn.exceptions.DataWarning")
def test_opposite_camps_are_told_apart():
    rng = np.random.default_rng(0)
    data = camps(rng)
    train = rng.random(len(data)) < 0.7
    pooled = PreferenceGP("rbf", n_restarts=0).fit(data[train])
    apart = PreferenceGP("rbf", judge_kernel="identity", n_restarts=0).fit(data[train])
    assert apart.log_evidence_ > pooled.log_evidence_ + 20
    assert pooled.score(data[~train]) < 0.65
    assert apart.score(data[~train]) > 0.8
    assert apart.judge_share_ > 1
    # a judge never heard before: unsure, and less sure than about the population
    nobody = Comparisons(data.items, data.first[:20], data.second[:20])
    p = apart.predict_proba(nobody)[:, 1]
    assert np.abs(p - 0.5).max() < 0.25
    known = apart.predict_utility(judge=0)
    assert np.corrcoef(known, data.items[:, 0])[0, 1] > 0.8
    assert np.corrcoef(apart.predict_utility(judge=1), data.items[:, 0])[0, 1] < -0.8


@pytest.mark.slow
def test_features_tell_what_a_new_judge_likes():
    rng = np.random.default_rng(0)
    data = camps(rng, n_judges=14)
    train = data.judge < 12
    apart = PreferenceGP("rbf", judge_kernel="rbf", n_restarts=0).fit(data[train])
    assert apart.score(data[~train]) > 0.8
    alone = PreferenceGP("rbf", judge_kernel="identity", n_restarts=0).fit(data[train])
    assert alone.score(data[~train]) < 0.65
    assert apart.log_evidence_ > alone.log_evidence_


@pytest.mark.slow
def test_contract():
    rng = np.random.default_rng(8)
    data = problem(rng)
    model = PreferenceGP("rbf", judge_kernel="identity", n_restarts=0)
    assert clone(model).get_params()["judge_kernel"] == "identity"
    scores = cross_val_score(model, data, cv=GroupKFold(3), groups=[str(name) for name in data.judge])
    assert scores.shape == (3,)
    model.fit(data)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.predict_proba(data), again.predict_proba(data))
    np.testing.assert_array_equal(model.predict_proba(data), model.predict_proba(data.swapped())[:, ::-1])
    order = rng.permutation(len(data))
    other = clone(model).fit(data[order])
    np.testing.assert_allclose(model.predict_proba(data), other.predict_proba(data), atol=1e-6)
    assert model.rank(judge="j5").names.shape == (7,)
    assert "judge share" in model.theta_names_


def test_repeats_of_one_judge_are_merged_and_those_of_two_are_not():
    once = Comparisons(None, ["a", "a", "b"], ["b", "b", "c"], judge=["x", "y", "x"])
    twice = Comparisons(None, ["a", "a", "a", "b"], ["b", "b", "b", "c"], judge=["x", "x", "y", "x"])
    weighted = Comparisons(None, ["a", "a", "b"], ["b", "b", "c"], judge=["x", "y", "x"], weight=[2, 1, 1])
    fits = [
        PreferenceGP(judge_kernel="identity", hyperparameters="fixed").fit(data) for data in (once, twice, weighted)
    ]
    assert fits[1].log_evidence_ == pytest.approx(fits[2].log_evidence_, abs=1e-10)
    assert fits[0].log_evidence_ != pytest.approx(fits[1].log_evidence_, abs=1e-3)
    other = Comparisons(None, ["a", "a", "b"], ["b", "b", "c"], judge=["x", "x", ""])
    pooled = PreferenceGP(judge_kernel="identity", hyperparameters="fixed").fit(other)
    assert pooled.log_evidence_ != pytest.approx(fits[0].log_evidence_, abs=1e-3)


def table(**columns):
    return pd.DataFrame(columns)


MISTAKES = {
    "no judge": (lambda: PreferenceGP(judge_kernel="identity").fit(Comparisons(None, ["a"], ["b"])), "have no judges"),
    "no features": (
        lambda: PreferenceGP(judge_kernel="rbf").fit(Comparisons(None, ["a", "b"], ["b", "c"], judge=["x", "y"])),
        "judges=table",
    ),
    "table without labels": (
        lambda: Comparisons(None, ["a"], ["b"], judges=table(judge=["x"], age=[3.0])),
        "judge=...",
    ),
    "missing judge": (
        lambda: Comparisons(None, ["a"], ["b"], judge=["anna"], judges=table(judge=["ann"], age=[3.0])),
        "nearest names",
    ),
    "row numbers": (lambda: Comparisons(None, ["a"], ["b"], judge=[3], judges=np.ones((2, 1))), "from 0 to 1"),
    "twice": (
        lambda: Comparisons(None, ["a"], ["b"], judge=["x"], judges=table(judge=["x", "x"], age=[3.0, 4.0])),
        "more than once",
    ),
    "missing value": (
        lambda: Comparisons(None, ["a"], ["b"], judge=["x"], judges=table(judge=["x"], age=[np.nan])),
        "judges has 1 missing",
    ),
    "no table": (lambda: Comparisons(None, ["a"], ["b"], judge=["x"], judges=3), "no features"),
}


@pytest.mark.parametrize("mistake", list(MISTAKES))
def test_mistakes(mistake):
    action, words = MISTAKES[mistake]
    with pytest.raises((DataError, TypeError), match=words):
        action()


def test_numbers_that_became_floats_are_still_names():
    frame = pd.DataFrame({"judge": [1.0, 0.0], "age": [20.0, 60.0]})
    data = Comparisons(np.eye(3), [0, 1, 2, 0], [1, 2, 0, 2], judge=[0.0, 1.0, 0.0, 1.0], judges=frame)
    assert list(data.judges.names) == [1, 0]
    assert data.judges.feature_names == ("age",)
    model = PreferenceGP(fixed(1.0, rbf(1.0)), judge_kernel="rbf", hyperparameters="fixed").fit(data)
    np.testing.assert_array_equal(model._solution.problem.parts["tastes"].X.ravel(), [60.0, 20.0])
    items = Comparisons(pd.DataFrame({"id": [7.0, 8.0], "x": [1.0, 2.0]}), [7], [8])
    assert list(items.names) == [7, 8]
    with pytest.raises(DataError, match="words or whole numbers"):
        Comparisons(3, [0], [1], judge=[1], judges=pd.DataFrame({"judge": [1.5], "age": [20.0]}))


def test_one_judge_is_warned_about_and_two_ways_of_writing_are_not_mixed():
    with pytest.warns(DataWarning, match="by one judge"):
        PreferenceGP(judge_kernel="identity", hyperparameters="fixed").fit(
            Comparisons(None, ["a", "b"], ["b", "c"], judge=["x", "x"])
        )
    data = Comparisons(None, ["a", "b"], ["b", "c"], judge=[1, 2])
    model = PreferenceGP(judge_kernel="identity", hyperparameters="fixed").fit(data)
    with pytest.raises(DataError, match="the same way as in training"):
        model.predict_proba(Comparisons(None, ["a"], ["b"], judge=["1"]))


def test_nobody_in_particular_needs_no_row_of_features_and_is_an_average_judge():
    frame = table(judge=["x", "y"], age=[20.0, 60.0])
    data = Comparisons(None, ["a", "b", "a"], ["b", "c", "c"], judge=["x", "y", ""], judges=frame)
    model = PreferenceGP(judge_kernel="rbf", hyperparameters="fixed").fit(data)
    np.testing.assert_array_equal(model._solution.problem.parts["tastes"].X.ravel(), [20.0, 60.0, 40.0])


@pytest.mark.slow
def test_a_judge_known_by_features_alone():
    rng = np.random.default_rng(0)
    data = camps(rng, n_judges=14)
    model = PreferenceGP("rbf", judge_kernel="rbf", n_restarts=0).fit(data[data.judge < 12])
    for judge, sign in ((12, 1), (13, -1)):
        assert sign * np.corrcoef(model.predict_utility(judge=judge), data.items[:, 0])[0, 1] > 0.7
        asked = Comparisons(data.items, [0, 1], [2, 3], judge=[judge] * 2, judges=data.judges)
        p = model.predict_difference(asked)
        np.testing.assert_allclose(model.preference_matrix(judge=judge).mean[[0, 1], [2, 3]], p, atol=1e-9)


def test_mistakes_of_prediction():
    rng = np.random.default_rng(0)
    data = problem(rng)
    model = PreferenceGP(fixed(1.0, rbf(1.0)), judge_kernel="identity", hyperparameters="fixed").fit(data)
    with pytest.raises(DataError, match="not among the 7 of training"):
        model.rank(judge="j77")
    pooled = PreferenceGP(fixed(1.0, rbf(1.0))).fit(data)
    with pytest.raises(ValueError, match="does not distinguish judges"):
        pooled.predict_utility(judge="j1")
    with pytest.raises(ValueError, match="does not distinguish judges"):
        pooled.leave_one_out("judge")


@pytest.mark.slow
@pytest.mark.parametrize(("inference", "n_problems"), [("laplace", 40), ("ep", 12)])
def test_hostile_problems(inference, n_problems):
    converged = []
    for seed in range(n_problems):
        data, kernel, likelihood, name = problem_of(seed, False)
        rng = np.random.default_rng(seed)
        data = data._take(slice(None), judge=rng.integers(0, 4, len(data)).astype(str))
        model = PreferenceGP(kernel, likelihood, inference, judge_kernel=ConstantKernel(10.0 ** rng.uniform(-6, 3)))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.set_params(hyperparameters="fixed").fit(data)
        assert (UnfinishedWarning in [one.category for one in caught]) == (not model.info_.converged), name
        mean, std = model.predict_difference(data, return_std=True)
        p = model.predict_proba(data)
        assert np.isfinite(model.log_evidence_), name
        assert np.isfinite(mean).all(), name
        assert np.isfinite(std).all(), name
        np.testing.assert_array_equal(p, model.predict_proba(data.swapped())[:, ::-1], err_msg=name)
        assert np.isfinite(model.predict_utility(return_std=True)).all(), name
        converged.append(model.info_.converged)
    # judges are eliminated by differences, which loses more digits than no judges do: 36 of 40, and it is said
    assert np.mean(converged) >= 0.9


@pytest.mark.parametrize("parts", list(MODELS))
def test_answers_that_may_be_reversed(parts):
    rng = np.random.default_rng(11)
    data = problem(rng)
    kernel, cyclic = MODELS[parts]
    likelihood = Flipped(Probit(), 0.1, rate_fixed=True)
    model = PreferenceGP(
        kernel, likelihood, "ep", cyclic_kernel=cyclic, judge_kernel=ConstantKernel(SHARE, "fixed")
    ).fit(data)
    questions = Comparisons(rng.normal(size=(2, 2)), [0, 1], [1, 0], judge=["j5", "nobody"])
    similar = similarity([*data.judge, "j5", "new"])
    oracle = Oracle(data, questions, kernel, cyclic, similar, "ep", likelihood)
    assert model.log_evidence_ == pytest.approx(oracle.posterior.log_evidence, abs=1e-7)
    np.testing.assert_allclose(model.predict_difference(questions), oracle.mean, atol=1e-6)


def test_own_share_beside_a_kernel_between_features():
    data = problem(np.random.default_rng(7), features=True)
    between = ConstantKernel(0.7, "fixed") * RBF(1.5, "fixed")
    model = PreferenceGP(fixed(2.0, rbf(1.0)), judge_kernel=between, hyperparameters="fixed").fit(data)
    assert model.judge_share_ == 1.0
    given = clone(model).set_params(judge_kernel=WhiteKernel(0.3, "fixed") + between).fit(data)
    turned = clone(model).set_params(judge_kernel=between + WhiteKernel(0.3, "fixed")).fit(data)
    assert given.judge_share_ == turned.judge_share_ == 0.3
    assert given.judge_kernel_ == turned.judge_kernel_ == between
    assert given.log_evidence_ == turned.log_evidence_ != model.log_evidence_
    assert "judge share" not in given.theta_names_
    learned = PreferenceGP(fixed(2.0, rbf(1.0)), judge_kernel=WhiteKernel(0.3) + between, n_restarts=0).fit(data)
    assert learned.log_evidence_ > given.log_evidence_
    assert learned.theta_names_ == ("judge share",)


def test_a_white_kernel_alone_is_a_share():
    data = problem(np.random.default_rng(8))
    evidence = [
        PreferenceGP(fixed(2.0, rbf(1.0)), judge_kernel=kernel, hyperparameters="fixed").fit(data).log_evidence_
        for kernel in (WhiteKernel(0.3), ConstantKernel(0.3))
    ]
    assert evidence[0] == evidence[1]
    with pytest.raises(ValueError, match="judge_kernel has a WhiteKernel"):
        PreferenceGP(judge_kernel=WhiteKernel(0.3) * RBF()).fit(problem(np.random.default_rng(8), features=True))
