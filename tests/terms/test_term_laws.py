"""Every term against the Gaussian model with its covariance written out, alone and together with all others."""

import pickle
import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

import preflearn
from fast_share import slow_except
from inference_by_hand import ep, laplace
from preflearn import Comparisons, PreferenceGP
from preflearn.exceptions import DataWarning
from preflearn.inference.contract import Observed, Query
from preflearn.inference.dense import DenseSystem
from preflearn.likelihoods import Gaussian, Logit, Probit
from preflearn.models import _sum_of_terms
from preflearn.structure import judge_report
from preflearn.terms.reliability import NODES, Reliability

pytestmark = pytest.mark.filterwarnings("ignore:.*repeat an earlier one exactly:preflearn.exceptions.DataWarning")

RHO, CLUSTER, SIDE, JUDGE_SIDE, COVARIATE = 0.7, 0.6, 4.0, 0.3, 0.8
KERNEL = ConstantKernel(2.0, "fixed") * RBF(1.0, "fixed")


@pytest.fixture
def held(monkeypatch):
    """Hold all variances of the terms at values that the written-out covariance knows."""
    beside = _sum_of_terms.beside

    def fixed(model, X, data):
        found = beside(model, X, data)
        values = {"side": SIDE, "judge_side": JUDGE_SIDE, "covariates": COVARIATE, "clusters": CLUSTER}
        for name in set(values) & set(found["kernels"]):
            found["kernels"][name] = ConstantKernel(values[name], "fixed")
        return found

    monkeypatch.setattr(_sum_of_terms, "beside", fixed)


def problem(seed=0, n=7, m=60, margins=False, features=True):
    """Rows with everything: judges, clusters, covariates; some of nobody in particular."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    judge = np.array([f"j{k}" for k in rng.integers(0, 5, m)], dtype=object)
    cluster = np.array([f"c{k}" for k in rng.integers(0, 12, m)], dtype=object)
    judge[3:5] = cluster[7:9] = ""
    covariates = rng.normal(size=(m, 2)) * [1.0, 5.0]
    z = X[first, 0] - X[second, 0] + 0.4 + 0.5 * covariates[:, 0]
    outcome = z + rng.normal(size=m) if margins else np.where(z + rng.logistic(size=m) > 0, 1.0, -1.0)
    return Comparisons(
        X if features else n, first, second, outcome, judge=judge, cluster=cluster, covariates=covariates
    )


MODELS = {
    "side": {"side": True, "covariates": False},
    "side of judges": {"side": "judge", "covariates": False},
    "covariates": {},
    "clusters": {"cluster": True, "covariates": False},
    "clusters and circles": {
        "cluster": True,
        "covariates": False,
        "cyclic_kernel": ConstantKernel(1.3, "fixed") * RBF(1.2, "fixed"),
    },
    "judges and clusters": {"cluster": True, "covariates": False, "judge_kernel": ConstantKernel(RHO, "fixed")},
    "all": {"side": "judge", "cluster": True, "judge_kernel": ConstantKernel(RHO, "fixed")},
}


def covariance(parts, data, scale, asked=None):
    """Return the covariance of all rows, of training and asked, with each other, written out."""
    rows = [data] if asked is None else [data, asked]
    X = np.concatenate([one.items for one in rows])
    offset = np.cumsum([0, *(one.n_items for one in rows)])
    i = np.concatenate([one.first + o for one, o in zip(rows, offset[:-1], strict=True)])
    j = np.concatenate([one.second + o for one, o in zip(rows, offset[:-1], strict=True)])

    def difference(K):
        return K[np.ix_(i, i)] - K[np.ix_(i, j)] - K[np.ix_(j, i)] + K[np.ix_(j, j)]

    def same(labels):
        return np.array([[a == b and (a != "" or r == s) for s, b in enumerate(labels)] for r, a in enumerate(labels)])

    K = difference(KERNEL(X))
    if parts.get("cyclic_kernel") is not None:
        C = parts["cyclic_kernel"](X)
        K = K + C[np.ix_(i, i)] * C[np.ix_(j, j)] - C[np.ix_(i, j)] * C[np.ix_(j, i)]
    judges = same(np.concatenate([one.judge for one in rows]))
    if parts.get("judge_kernel") is not None:
        K = K * (1 + RHO * judges)
    if parts.get("side"):
        K = K + SIDE + (JUDGE_SIDE * judges if parts["side"] == "judge" else 0.0)
    if parts.get("covariates", True):
        Z = np.concatenate([one.covariates for one in rows]) / scale
        K = K + COVARIATE * Z @ Z.T
    if parts.get("cluster"):
        # items are the same where their numbers are: questions are about the items of training
        number = np.concatenate([np.column_stack([one.first, one.second]) for one in rows])
        E = np.eye(max(one.n_items for one in rows))
        D = E[number[:, 0]] - E[number[:, 1]]
        K = K + CLUSTER * (D @ D.T) * same(np.concatenate([one.cluster for one in rows]))
    return K


def scale_of(data):
    # columns are in units of their size over the distinct rows that the terms see
    return np.sqrt(np.mean(np.square(data.covariates), axis=0))


@pytest.mark.parametrize("likelihood", [Logit(), Gaussian(precision=2.0, fixed=True)], ids=["logit", "margins"])
@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("name", MODELS)
def test_a_sum_of_terms_is_the_gaussian_model_with_its_covariance(name, inference, likelihood, held):
    parts = MODELS[name]
    data = problem(margins=isinstance(likelihood, Gaussian))
    model = PreferenceGP(KERNEL, likelihood, inference, **parts).fit(data)
    rng = np.random.default_rng(1)
    k = 8
    first = rng.integers(0, 7, k)
    asked = Comparisons(
        data.items,
        first,
        (first + rng.integers(1, 7, k)) % 7,
        judge=["j0", "j1", "j2", "new", "j4", "", "j1", "j1"],
        cluster=["c0", "c1", "new", "", "c4", "c5", "c0", "c1"],
        covariates=rng.normal(size=(k, 2)),
    )
    K = covariance(parts, data, scale_of(data), asked)
    m = len(data)
    solve = laplace if inference == "laplace" else ep
    system = DenseSystem.of(np.eye(m), K[:m, :m])
    posterior = solve(system, Observed(data.outcome, np.ones(m)), likelihood)[0]
    assert model.log_evidence_ == pytest.approx(posterior.log_evidence, abs=1e-8)
    mean, wanted = posterior.joint(Query(K[m:, :m], K[m:, m:]))
    found, std = model.predict_difference(asked, return_std=True, side=bool(parts.get("side")))
    np.testing.assert_allclose(found, mean, atol=1e-8)
    np.testing.assert_allclose(std, np.sqrt(wanted.diagonal()), atol=1e-8)


@pytest.mark.parametrize("inference", ["laplace", "ep"])
@pytest.mark.parametrize("features", [True, False])
@pytest.mark.parametrize("name", slow_except(MODELS, "side of judges", "covariates", "judges and clusters"))
def test_gradient_of_the_evidence(name, features, inference):
    parts = {key: "identity" if key == "judge_kernel" else value for key, value in MODELS[name].items()}
    if parts.get("cyclic_kernel") is not None:
        parts["cyclic_kernel"] = 1.3 * RBF(1.2) if features else ConstantKernel(1.3)
    kernel = 1.5 * RBF(1.0) if features else ConstantKernel(1.5)
    model = PreferenceGP(kernel, "logit", inference, hyperparameters="fixed", **parts).fit(problem(features=features))
    rng = np.random.default_rng(0)
    theta = model.theta_ + rng.normal(0, 0.2, len(model.theta_))
    _, slope = model.log_evidence(theta)
    h = 1e-3
    for k in range(len(theta)):
        value = [model.log_evidence(theta + j * h * np.eye(len(theta))[k], gradient=False) for j in (-2, -1, 1, 2)]
        wanted = (value[0] - 8 * value[1] + 8 * value[2] - value[3]) / (12 * h)
        assert slope[k] == pytest.approx(wanted, rel=1e-8, abs=1e-8), model.theta_names_[k]


@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_gradient_by_the_reliabilities(inference):
    model = PreferenceGP(
        KERNEL, "logit", inference, side=True, cluster=True, judge_reliability=True, hyperparameters="fixed"
    ).fit(problem())
    evidence, rng = model._learned.evidence, np.random.default_rng(0)
    both = np.concatenate([model.theta_, rng.normal(0.6, 0.7, len(model.judges_))])
    _, slope = evidence.penalised_jointly(both)
    h = 1e-3
    for k in range(len(both)):
        value = [evidence.penalised_jointly(both + j * h * np.eye(len(both))[k])[0] for j in (-2, -1, 1, 2)]
        wanted = (value[0] - 8 * value[1] + 8 * value[2] - value[3]) / (12 * h)
        assert slope[k] == pytest.approx(wanted, rel=1e-8, abs=1e-8), k


@pytest.mark.parametrize(
    ("name", "constant"),
    [("side", "SIDE_VARIANCE"), ("cluster", None), ("covariates", None), ("judge side", None)],
)
def test_without_variance_a_term_is_not_there(name, constant, monkeypatch):
    data = problem()
    beside = _sum_of_terms.beside

    def none(model, X, data):
        found = beside(model, X, data)
        for name in {"side", "clusters", "covariates", "judge_side"} & set(found["kernels"]):
            found["kernels"][name] = ConstantKernel(1e-12, "fixed")
        return found

    asked = {"side": {"side": True}, "cluster": {"cluster": True}, "covariates": {"covariates": True}}
    asked["judge side"] = {"side": "judge"}
    without = PreferenceGP(KERNEL, "logit", covariates=False).fit(data)
    monkeypatch.setattr(_sum_of_terms, "beside", none)
    parts = {"covariates": False, **asked[name]}
    there = PreferenceGP(KERNEL, "logit", inference="laplace", **parts).fit(data)
    assert there.log_evidence_ == pytest.approx(without.log_evidence_, abs=1e-7)
    np.testing.assert_allclose(there.predict_proba(data), without.predict_proba(data), atol=1e-7)
    np.testing.assert_allclose(there.rank().utility, without.rank().utility, atol=1e-7)


def test_a_side_flips_with_the_sides(held):
    data = problem()
    model = PreferenceGP(KERNEL, "logit", side="judge").fit(data)
    turned = PreferenceGP(KERNEL, "logit", side="judge").fit(data.swapped())
    assert turned.side_effect_.estimate == pytest.approx(-model.side_effect_.estimate, abs=1e-9)
    assert turned.side_effect_.std == pytest.approx(model.side_effect_.std, abs=1e-9)
    assert turned.log_evidence_ == pytest.approx(model.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(turned.predict_utility(), model.predict_utility(), atol=1e-9)
    # neither side has an advantage in answers that do not ask for one: they are antisymmetric to the last bit
    p, q = model.predict_proba(data), model.predict_proba(data.swapped())
    np.testing.assert_array_equal(p, q[:, ::-1])
    ahead = model.predict_proba(data, side=True)[:, 1] - p[:, 1]
    assert (ahead > 0).all() == (model.side_effect_.estimate > 0)
    # covariates flip with the sides as well
    for one, other in zip(model.covariate_effects_, turned.covariate_effects_, strict=True):
        assert one.estimate == pytest.approx(other.estimate, abs=1e-9)


def test_a_cluster_of_one_row_is_a_row_of_nobody(held):
    data = problem()
    alone = data.cluster.copy()
    alone[data.cluster == ""] = ["x1", "x2"]
    named = Comparisons(data.items, data.first, data.second, data.outcome, cluster=alone)
    unnamed = Comparisons(data.items, data.first, data.second, data.outcome, cluster=data.cluster)
    one, other = (PreferenceGP(KERNEL, "logit", cluster=True).fit(part) for part in (named, unnamed))
    assert one.log_evidence_ == pytest.approx(other.log_evidence_, abs=1e-10)
    np.testing.assert_allclose(one.predict_utility(), other.predict_utility(), atol=1e-10)


def test_one_row_clusters_are_noise_of_their_own(held):
    # probit: h_a - h_b of a cluster with one row is normal noise with variance 2 v beside that of the link
    data = problem()
    rows = Comparisons(data.items, data.first, data.second, data.outcome, cluster=[f"c{k // 2}" for k in range(60)])
    singles = rows[np.arange(0, 60, 2)]
    with pytest.warns(DataWarning, match="cannot be separated from noise"):
        without = PreferenceGP(KERNEL, "probit", cluster=True).fit(singles)
    wide = PreferenceGP(KERNEL, Probit(np.sqrt(2.0 + 2 * CLUSTER)), "ep").fit(singles)
    together = Comparisons(
        rows.items,
        np.append(singles.first, [0, 0]),
        np.append(singles.second, [1, 1]),
        np.append(singles.outcome, [1, -1]),
        cluster=[*singles.cluster, "z", "z"],
        weight=[*np.ones(len(singles)), 1e-9, 1e-9],  # a cluster of two that says nothing
    )
    noisy = PreferenceGP(KERNEL, "probit", "ep", cluster=True).fit(together)
    np.testing.assert_allclose(noisy.predict_utility(), wide.predict_utility(), atol=1e-6)
    assert without.cluster_variance_ is None


def test_reliabilities_of_one_change_nothing(monkeypatch):
    data = problem()
    known = partial(Reliability, deviation=1e-9)  # nothing is unknown about them
    monkeypatch.setattr("preflearn.models.gp.Reliability", known)
    plain = PreferenceGP(KERNEL, "logit", "laplace", side=True, cluster=True, hyperparameters="fixed").fit(data)
    sure = clone(plain).set_params(judge_reliability=True).fit(data)
    np.testing.assert_array_equal(sure.reliability_, 1.0)
    assert sure.log_evidence_ == pytest.approx(plain.log_evidence_, abs=1e-9)
    np.testing.assert_allclose(sure.predict_utility(), plain.predict_utility(), atol=1e-9)
    np.testing.assert_allclose(sure.leave_one_out(), plain.leave_one_out(), atol=1e-9)
    np.testing.assert_allclose(sure.predict_utility(return_std=True)[1], plain.predict_utility(return_std=True)[1])
    monkeypatch.undo()
    unsure = clone(plain).set_params(judge_reliability=True).fit(data)
    np.testing.assert_allclose(unsure.predict_utility(), plain.predict_utility(), atol=1e-9)
    assert (unsure.predict_utility(return_std=True)[1] > plain.predict_utility(return_std=True)[1]).all()


@pytest.mark.slow
@pytest.mark.parametrize("inference", ["laplace", "ep"])
def test_what_is_not_known_of_reliabilities_is_a_term(inference):
    # to first order: the covariance of outcomes has one more part for each judge, with the rows' own values as design
    data = problem()
    model = PreferenceGP(KERNEL, "logit", inference, covariates=False, judge_reliability=True).fit(data)
    model = model.in_likely_direction()
    s = np.append(model.reliability_, 1.0)[[int(name[1:]) if name else -1 for name in data.judge]]
    K = covariance({"covariates": False}, data, 1.0)
    solution, wide, believed = model._solution, model._mixture[0][1], model._learned.evidence.reliability
    error = wide.problem.parts["reliability"]
    before = np.where(data.judge[:, None] == model.judges_, error.deviation, 0.0)  # of the row's own judge
    x = solution.posterior.x[model._statements.cell] * np.where(data.first > data.second, -1.0, 1.0)
    z = np.outer(s, s) * K + np.outer(x, x) * (before @ before.T)
    tau = wide.tau[model._statements.row]
    # var f = prior less what rows explain, with the precisions of the fit; questions are the items' utilities
    F = KERNEL(data.items)
    Q = s[:, None] * (F[data.first] - F[data.second])
    wanted = F - Q.T @ np.linalg.solve(z + np.diag(1 / tau), Q)
    mean, found = model.predict_utility(return_cov=True)
    np.testing.assert_allclose(found, wanted + error.size**2 * np.outer(mean, mean), atol=1e-8)
    D = x[:, None] * before**2
    left = error.deviation**2 - np.einsum("ij,ij->j", D, np.linalg.solve(z + np.diag(1 / tau), D))
    left = np.maximum(left + (error.size * model.reliability_) ** 2, believed.spread**2)
    np.testing.assert_allclose(model.reliability_std_**2, left, atol=1e-8)
    np.testing.assert_allclose(wide.posterior.x, believed.scale * solution.posterior.x[model._statements.seen.cell])


@pytest.mark.slow
def test_the_size_of_reliabilities_is_not_shifted():
    # where all judges are alike their reliabilities are 1 on average, and utilities of the size they are without s
    rng = np.random.default_rng(3)
    first = rng.integers(0, 12, 3_000)
    second = (first + rng.integers(1, 12, 3_000)) % 12
    judge, u = np.repeat(np.arange(15), 200), rng.normal(size=12)
    for deviation in (0.0, 0.4):
        s = 1 + deviation * np.resize([1.0, -1.0, 0.5, -0.5, 0.0], 15)
        z = s[judge] * (u[first] - u[second])
        outcome = np.where(rng.logistic(size=3_000) < z, 1.0, -1.0)
        model = PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0).fit(
            Comparisons(12, first, second, outcome, judge=judge)
        )
        assert np.mean(model.reliability_) == pytest.approx(1, abs=0.05)
        slope = np.polyfit(model.predict_utility(), u, 1)[0]
        assert slope == pytest.approx(1, abs=0.1)
        assert np.abs(model.reliability_ - s).max() < 3 * model.reliability_std_.max()
        if deviation:  # the size is as uncertain as the mean of the judges
            error = model._mixture[0][1].problem.parts["reliability"]
            assert 0.02 < model._learned.evidence.reliability.size < 0.4
            assert error.size > 0


@pytest.mark.slow
def test_reliabilities_that_are_known_are_seen_once():
    data = problem()
    model = PreferenceGP(KERNEL, "logit", judge_reliability=True, n_restarts=0).fit(data)
    evidence = model._learned.evidence
    once = evidence.reliability.at(evidence.reliability.value)
    again = replace(once, spread=np.zeros(len(once.value)), before=np.ones(len(once.value)))
    values = []
    for evidence.reliability in (once, again):  # half at s + 0 and half at s - 0
        evidence.warm = evidence.solved = None
        values.append(evidence.solve(model.theta_).posterior.log_evidence)
    assert values[0] == pytest.approx(values[1], abs=1e-9)


@pytest.mark.parametrize("name", MODELS)
def test_update_is_learning_from_both(name):
    data = problem()
    parts = {key: "identity" if key == "judge_kernel" else value for key, value in MODELS[name].items()}
    model = PreferenceGP(1.5 * RBF(1.0), "logit", hyperparameters="fixed", **parts)
    together = clone(model).fit(data)
    model.fit(data[:35]).update(data[35:])
    if "covariates" not in parts:  # columns are in units of their size in what was learned from first
        return
    assert model.log_evidence_ == pytest.approx(together.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(model.predict_proba(data), together.predict_proba(data), atol=1e-8)


@pytest.mark.parametrize("name", MODELS)
def test_leave_outs_are_learning_without(name, held):
    data = problem(margins=True)
    likelihood = Gaussian(precision=2.0, fixed=True)
    parts = MODELS[name] | {"covariates": False}
    model = PreferenceGP(KERNEL, likelihood, **parts).fit(data)
    side = bool(parts.get("side"))
    alone = model.leave_one_out()
    for row in (0, 5, 8, 40):
        keep = np.arange(len(data)) != row
        again = clone(model).fit(data[keep]).predict_proba(data[[row]], side=side)
        np.testing.assert_allclose(alone[[row]], again, atol=1e-8)
    by_item = model.leave_one_out("item")
    item = int(data.first[10])
    keep = (data.first != item) & (data.second != item)
    if parts.get("cluster") is None and parts.get("judge_kernel") is None and parts.get("side") != "judge":
        again = clone(model).fit(data[keep]).predict_proba(data[[10]], side=side)
        np.testing.assert_allclose(by_item.first[[10]], again, atol=1e-8)
    if "judge_kernel" in parts:
        here = data.judge == "j2"
        again = clone(model).fit(data[~here]).predict_proba(data[here], side=side)
        np.testing.assert_allclose(model.leave_one_out("judge")[here], again, atol=1e-8)


@pytest.mark.parametrize("name", slow_except([*MODELS, "reliability"], "covariates", "reliability"))
def test_files_and_pickles_answer_the_same(name, tmp_path):
    data = problem()
    parts = MODELS.get(name, {"judge_reliability": True, "side": True})
    parts = {key: "identity" if key == "judge_kernel" else value for key, value in parts.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = PreferenceGP(1.5 * RBF(1.0), "logit", n_restarts=0, **parts).fit(data)
    preflearn.save(model, tmp_path / "model.preflearn")
    for again in (preflearn.load(tmp_path / "model.preflearn"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_allclose(again.predict_proba(data), model.predict_proba(data), atol=1e-10)
        np.testing.assert_allclose(again.leave_one_out(), model.leave_one_out(), atol=1e-10)
        np.testing.assert_allclose(again.rank().utility, model.rank().utility, atol=1e-10)
        assert again.log_evidence_ == model.log_evidence_
        if parts.get("side"):
            assert again.side_effect_.estimate == pytest.approx(model.side_effect_.estimate, abs=1e-10)


def test_a_judge_is_left_out_with_its_reliability(held):
    data = problem(margins=True)
    likelihood = Gaussian(precision=2.0, fixed=True)
    model = PreferenceGP(KERNEL, likelihood, covariates=False, judge_reliability=True, hyperparameters="fixed").fit(
        data
    )
    here = data.judge == "j2"
    asked = Comparisons(data.items, data.first[here], data.second[here])  # of a judge like most
    plain = PreferenceGP(KERNEL, likelihood, covariates=False).fit(data[~here])
    np.testing.assert_allclose(model.leave_one_out("judge")[here], plain.predict_proba(asked), atol=1e-8)


@pytest.mark.slow
def test_a_report_on_judges_takes_a_model_with_reliabilities():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 8, 600)
    second = (first + rng.integers(1, 8, 600)) % 8
    judge = np.repeat(np.arange(12), 50)
    s = np.where(judge == 3, -1.0, np.where(judge == 7, 0.0, 1.0))
    outcome = np.where(rng.logistic(size=600) < s * 0.8 * (second - first), 1.0, -1.0)
    data = Comparisons(8, first, second, outcome, judge=judge)
    model = PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0).fit(data)
    report = judge_report(model)
    assert report.judge[0] == 3
    assert report.verdict[0] == "contrary"
    assert report.judge[1] == 7
    assert (report.reliability[2:] > 0.4).all()
    assert model.reliability_[3] < -0.5
    assert abs(model.reliability_[7]) < 0.4


def judged(n=8, m=400, s=(1, 1, 1, 1, 1, 1, 1, 0, 0, -1), *, X=None, seed=0):
    """Return comparisons by judges of these reliabilities, and the true utilities."""
    rng = np.random.default_rng(seed)
    u = np.linspace(-1.5, 1.5, n)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    judge = np.arange(m) % len(s)
    won = rng.random(m) < 1 / (1 + np.exp(-2 * np.array(s)[judge] * (u[first] - u[second])))
    return Comparisons(n if X is None else X, first, second, np.where(won, 1.0, -1.0), judge=judge), u


@pytest.mark.parametrize(
    "kernel", [ConstantKernel(2.0, "fixed"), pytest.param(ConstantKernel(0.3, (1e-4, 0.5)), marks=pytest.mark.slow)]
)
def test_most_judges_are_careful_where_no_parameter_can_move(kernel):
    # the search for modes ends with that of the mirrored solution, at the same parameters
    data, u = judged()
    model = PreferenceGP(kernel, "logit", judge_reliability=True).fit(data)
    assert (model.reliability_[:7] > 0.5).all()
    assert model.reliability_[9] < -0.5
    assert np.corrcoef(model.predict_utility(), u)[0, 1] > 0.9


def test_answers_are_those_of_ep_at_what_laplace_has_learned():
    data = problem()
    fixed = PreferenceGP(KERNEL, "logit", judge_reliability=True, hyperparameters="fixed")
    auto, laplace_, ep_ = (clone(fixed).set_params(inference=name).fit(data) for name in ("auto", "laplace", "ep"))
    assert auto.log_evidence_ == laplace_.log_evidence_  # as that of models without reliabilities
    for one, other in zip(*(m.predict_utility(return_cov=True) for m in (auto, ep_)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)
    assert np.abs(auto.predict_utility() - laplace_.predict_utility()).max() > 1e-4


@pytest.mark.slow
def test_reliabilities_of_judges_of_equal_items():
    X = np.linspace(-1, 1, 8)[:, None].repeat(2, axis=1)
    X[7] = X[6]
    model = PreferenceGP("rbf", "logit", judge_reliability=True, n_restarts=0).fit(judged(X=X)[0])
    assert np.isfinite(model.predict_utility(return_std=True)[1]).all()


def test_rows_without_a_difference_still_say_something_of_items():
    # balanced outcomes: x is 0, so that nothing is unknown about a judge, and all that rows say is of items
    first, second = np.tile([0, 1, 2], 8), np.tile([1, 2, 0], 8)
    data = Comparisons(3, first, second, np.repeat([1.0, -1.0], 12), judge=np.tile(np.repeat(["a", "b"], 3), 4))
    plain = PreferenceGP(ConstantKernel(1.0, "fixed"), "logit", "laplace", hyperparameters="fixed").fit(data)
    judges = clone(plain).set_params(judge_reliability=True).fit(data)
    deviations = (one.predict_utility(return_std=True)[1] for one in (plain, judges))
    np.testing.assert_allclose(*deviations, rtol=1e-6)


def test_a_judge_alone_has_no_reliability_even_beside_a_side():
    data, _ = judged(s=(1,))
    with pytest.warns(preflearn.exceptions.DataWarning, match="without judge_reliability"):
        model = PreferenceGP(likelihood="logit", side="judge", judge_reliability=True).fit(data)
    assert not hasattr(model, "reliability_")


@pytest.mark.slow
def test_what_is_believed_of_judges_survives_a_file(tmp_path):
    data, _ = judged()
    model = PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0).fit(data)
    preflearn.save(model, tmp_path / "m.preflearn")
    again = preflearn.load(tmp_path / "m.preflearn")
    kept, known = (one._learned.evidence.reliability for one in (model, again))
    assert (kept.deviation, kept.shares, kept.size) == (known.deviation, known.shares, known.size)
    hostile = kept.state.copy()
    hostile[2] = 0.0
    with pytest.raises(preflearn.exceptions.DataError):
        kept.again(hostile)


def test_an_update_brings_terms_that_the_first_comparisons_could_not_tell():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 6, 300)
    second = (first + rng.integers(1, 6, 300)) % 6
    longer = np.where(np.arange(300) < 100, 0.0, rng.normal(size=300))
    answer = np.sign(0.5 * (second - first) + longer + rng.logistic(size=300))
    data = Comparisons(6, first, second, answer, covariates=longer)
    with pytest.warns(preflearn.exceptions.DataWarning, match="they have no effect"):
        model = PreferenceGP(likelihood="logit", n_restarts=0).fit(data[:100])
    effect = model.update(data[100:]).covariate_effects_[0]
    assert effect.low > 0.2
    assert effect.std > 0.05


@pytest.mark.slow
def test_a_new_judge_of_an_update_may_be_of_any_kind():
    data, _ = judged()
    model = PreferenceGP(likelihood="logit", judge_reliability=True, n_restarts=0).fit(data)
    new = Comparisons(8, data.first[:30], data.second[:30], data.outcome[:30], judge=np.full(30, 99))
    model.update(new)
    assert model.reliability_std_[-1] > 2 * np.median(model.reliability_std_[:-1])


@pytest.mark.parametrize("likelihood", [Gaussian(precision=2.0, fixed=True), "logit"])
def test_what_is_told_of_a_judge_is_the_evidence_without_the_items(likelihood, held):
    # slow and obviously right: the evidence of all outcomes at other reliabilities of one judge
    data = problem(margins=likelihood != "logit")
    options = {"side": True, "cluster": True, "covariates": False, "judge_reliability": True}
    model = PreferenceGP(KERNEL, likelihood, hyperparameters="fixed", **options).fit(data)
    evidence = model._learned.evidence
    plain = evidence.seen.scaled(None)
    s = np.array([0.9, -0.3, 0.4, 1.2, 0.7, 1.1])[: len(model.judges_)]
    evidence.take(evidence.reliability.at(s))
    by_judge = evidence.reliability.judge_evidence(plain, evidence.solve(model.theta_))
    for j in (0, len(s) - 1):
        wanted = []
        for node in NODES[4:-4:4]:
            evidence.take(evidence.reliability.at(np.where(np.arange(len(s)) == j, node, s)))
            wanted.append(evidence.solve(model.theta_).posterior.log_evidence)
        found, wanted = by_judge.height[j, 4:-4:4] - by_judge.height[j, 12], np.array(wanted) - wanted[2]
        if likelihood == "logit":  # Gaussian parts of the others' outcomes stay as they are
            np.testing.assert_allclose(found, wanted, rtol=0.2, atol=0.3)
        else:
            np.testing.assert_allclose(found, wanted, atol=1e-8)
        bend = -np.diff(by_judge.height[j], 2) / (NODES[1] - NODES[0]) ** 2
        assert bend[np.abs(NODES[1:-1] - s[j]).argmin()] < by_judge.given[j]  # x could explain some of it


@pytest.mark.filterwarnings("ignore:.*separate parts:preflearn.exceptions.DataWarning")
def test_answers_of_one_judge_do_not_speak_for_themselves():
    # of a pair that nobody else has seen: any answers are as likely from a careful judge as from a contrary one
    data, _ = judged(s=(1, 1, 1, 1))
    own = Comparisons(10, np.full(30, 8), np.full(30, 9), judge=np.full(30, 4))
    both = Comparisons(
        10,
        np.append(data.first, own.first),
        np.append(data.second, own.second),
        np.append(data.outcome, np.ones(30)),
        judge=np.append(data.judge, own.judge),
    )
    model = PreferenceGP(ConstantKernel(2.0, "fixed"), "logit", judge_reliability=True, n_restarts=0).fit(both)
    evidence = model._learned.evidence
    height = evidence.reliability.judge_evidence(evidence.seen.scaled(None), model._solution).height[4]
    np.testing.assert_allclose(height, height[::-1], atol=1e-6)
    np.testing.assert_array_less(height[12] + 1.0, height[[8, 16]])  # but not from a careless one
