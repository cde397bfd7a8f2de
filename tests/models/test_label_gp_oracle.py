"""LabelPreferenceGP against one dense Gaussian process over all (label, item) pairs, slow and obviously right."""

from itertools import product

import numpy as np
import pytest
import scipy.linalg
from scipy.stats import norm
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

import preflearn.models.label_gp as label_posterior
from fast_share import mostly_slow
from inference_by_hand import ep, ep_gradient, laplace
from preflearn import Comparisons, PreferenceGP
from preflearn.data import (
    LabelPreferences,
    from_class_labels,
    from_label_hierarchy,
    from_label_rankings,
    from_label_ranks,
    from_ordinal_labels,
)
from preflearn.inference.contract import Observed, Query
from preflearn.inference.dense import DenseSystem
from preflearn.inference.label_blocks import BlockDesign, BlockFactor, vertex_cover
from preflearn.likelihoods import Gaussian, Probit
from preflearn.models.label_gp import LabelPreferenceGP
from preflearn.terms import pair_operator

pytestmark = pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")
NEW = np.random.default_rng(99).normal(size=(5, 2))
FULL = ConstantKernel(2.0) * RBF(0.9)
LOW_RANK = ConstantKernel(1.5) * DotProduct(0.7)


def table(n=14, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    X[-1] = X[0]  # the same features twice: K is singular
    return X


def ragged():
    """Few edges, weights, contradictions, an item without edges, and a label that no edge mentions."""
    rng = np.random.default_rng(3)
    item = rng.integers(0, 13, 40)
    first = rng.integers(0, 4, 40)
    second = (first + rng.integers(1, 4, 40)) % 4
    names = np.array(["a", "b", "c", "d"])
    return LabelPreferences(
        table(), item, names[first], names[second], weight=rng.uniform(0, 3, 40), labels=["a", "unseen", "b", "c", "d"]
    )


def apart():
    """Labels in two parts that were never compared with each other."""
    rng = np.random.default_rng(4)
    item = rng.integers(0, 14, 30)
    pair = np.array([["a", "b"], ["c", "d"], ["d", "e"]])[rng.integers(0, 3, 30)]
    turned = rng.integers(0, 2, 30)
    return LabelPreferences(table(), item, pair[np.arange(30), turned], pair[np.arange(30), 1 - turned])


def graphs():
    rng = np.random.default_rng(1)
    X = table()
    classes = rng.integers(0, 5, 14)
    ranks = np.array([rng.permutation(4).astype(float) for _ in range(14)])
    ranks[rng.random((14, 4)) < 0.2] = np.nan
    groups = {0: "x", 1: "x", 2: "y", 3: "y", 4: "y"}
    return {
        "classes": from_class_labels(X, classes),
        "weighted": from_class_labels(X, classes, weight=rng.uniform(0.2, 2.0, 14)),
        "two labels": from_class_labels(X, classes % 2),
        "ordinal": from_ordinal_labels(X, classes, labels=range(5)),
        "hierarchy": from_label_hierarchy(X, classes, groups),
        "all pairs": from_label_rankings(X, np.array([rng.permutation(4) for _ in range(14)])),
        "partial ranks": from_label_ranks(X, ranks),
        "ragged": ragged(),
        "apart": apart(),
    }


GRAPHS = graphs()


class Dense:
    """All latents f = (f_1, ..., f_L) at once, K (nL, nL) dense, Newton's method with plain solves."""

    def __init__(self, data, kernels):
        self.data, self.kernels = data, kernels
        n, self.n_labels = len(data), data.n_labels
        keep = np.arange(data.n_edges) if data.weight is None else np.flatnonzero(data.weight)
        self.A = np.zeros((len(keep), n * self.n_labels))
        rows = np.arange(len(keep))
        self.A[rows, data.first[keep] * n + data.item[keep]] = 1
        self.A[rows, data.second[keep] * n + data.item[keep]] = -1
        self.y = np.sign(data.outcome[keep])
        self.w = np.ones(len(keep)) if data.weight is None else data.weight[keep]
        self.K = scipy.linalg.block_diag(*[k(data.items) for k in kernels])

    def terms(self, f):
        t = self.y * (self.A @ f) / np.sqrt(2)
        ratio = np.exp(norm.logpdf(t) - norm.logcdf(t))
        value = self.w @ norm.logcdf(t)
        gradient = self.A.T @ (self.w * self.y * ratio / np.sqrt(2))
        Lam = self.A.T @ ((self.w * ratio * (t + ratio) / 2)[:, None] * self.A)
        return value, gradient, Lam

    def solve(self):
        f = np.zeros(self.K.shape[0])
        for _ in range(60):
            _, gradient, Lam = self.terms(f)
            f = self.K @ np.linalg.solve(np.eye(len(f)) + Lam @ self.K, Lam @ f + gradient)
        value, self.a, self.Lam = self.terms(f)
        assert np.abs(self.K @ self.a - f).max() < 1e-10
        self.f = f
        self.evidence = value - f @ self.a / 2 - np.linalg.slogdet(np.eye(len(f)) + self.Lam @ self.K)[1] / 2
        return self

    def moments(self, new):
        Q = scipy.linalg.block_diag(*[k(new, self.data.items) for k in self.kernels])
        prior = scipy.linalg.block_diag(*[k(new) for k in self.kernels])
        S = np.linalg.solve(np.eye(len(self.f)) + self.Lam @ self.K, self.Lam)
        p = len(new)
        mean = (Q @ self.a).reshape(self.n_labels, p).T
        C = (prior - Q @ S @ Q.T).reshape(self.n_labels, p, self.n_labels, p)
        return mean, np.einsum("aibi->iab", C)


def way(monkeypatch, form):
    monkeypatch.setattr(label_posterior, "cover_cost", lambda cover: {"arrow": 0.0, "dense": np.inf}[form])


@pytest.mark.parametrize("form", ["arrow", "dense"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kernel", [FULL, LOW_RANK], ids=["full", "low rank"])
@pytest.mark.parametrize("graph", mostly_slow(GRAPHS, 3))
def test_everything_is_as_with_all_latents_at_once(graph, kernel, shared, form, monkeypatch):
    way(monkeypatch, form)
    data = GRAPHS[graph]
    model = LabelPreferenceGP(kernel, shared=shared, hyperparameters="fixed").fit(data)
    assert model._solution.posterior.system.factor.cover.all() == (form == "dense")
    truth = Dense(data, [kernel] * data.n_labels).solve()
    assert model.log_evidence_ == pytest.approx(truth.evidence, abs=1e-8)
    mode = model.predict_utility(data.items)
    np.testing.assert_allclose(mode, truth.f.reshape(data.n_labels, len(data)).T, atol=1e-8)
    mean, covariance = truth.moments(NEW)
    found, C = model.predict_utility(NEW, return_cov=True)
    np.testing.assert_allclose(found, mean, atol=1e-8)
    np.testing.assert_allclose(C, covariance, atol=1e-8)
    np.testing.assert_allclose(
        model.predict_utility(NEW, return_std=True)[1], np.sqrt(np.einsum("iaa->ia", covariance)), atol=1e-8
    )
    P = model.preference_matrix(NEW)
    for i, (a, b) in product(range(len(NEW)), np.argwhere(~np.eye(data.n_labels, dtype=bool))):
        variance = covariance[i, a, a] + covariance[i, b, b] - 2 * covariance[i, a, b]
        assert P[i, a, b] == pytest.approx(norm.cdf((mean[i, a] - mean[i, b]) / np.sqrt(2 + variance)), abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["arrow", "dense"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("graph", ["classes", "all pairs", "ragged", "apart"])
def test_gradients_of_the_evidence(graph, shared, form, monkeypatch):
    way(monkeypatch, form)
    data = GRAPHS[graph]
    model = LabelPreferenceGP(FULL, shared=shared, hyperparameters="fixed").fit(data)
    theta = model.theta_ + np.random.default_rng(0).normal(0, 0.3, model.theta_.shape)
    value, gradient = model.log_evidence(theta)
    seen = np.unique(np.concatenate([data.first, data.second]))

    def evidence(theta):
        kernels = [FULL.clone_with_theta(theta[:2])] * data.n_labels
        if not shared:
            kernels = [FULL] * data.n_labels
            for place, label in enumerate(seen):
                kernels[label] = FULL.clone_with_theta(theta[2 * place : 2 * place + 2])
        return Dense(data, kernels).solve().evidence

    assert value == pytest.approx(evidence(theta), abs=1e-8)
    h = 1e-3
    for k, unit in enumerate(np.eye(len(theta))):
        slope = (
            8 * (evidence(theta + h * unit) - evidence(theta - h * unit))
            - (evidence(theta + 2 * h * unit) - evidence(theta - 2 * h * unit))
        ) / (12 * h)
        assert gradient[k] == pytest.approx(slope, abs=1e-8 * max(1, np.abs(gradient).max()))


@pytest.mark.parametrize("form", ["arrow", "dense"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("graph", ["classes", "two labels", "partial ranks", "apart", "weighted"])
def test_ep_is_as_with_all_latents_at_once(graph, shared, form, monkeypatch):
    way(monkeypatch, form)
    data, n = GRAPHS[graph], len(GRAPHS[graph])
    model = LabelPreferenceGP(FULL, inference="ep", shared=shared, hyperparameters="fixed").fit(data)
    A = pair_operator(data.first * n + data.item, data.second * n + data.item, n * data.n_labels)
    K = scipy.linalg.block_diag(*[FULL(data.items)] * data.n_labels)
    seen = Observed(data.outcome, np.ones(data.n_edges) if data.weight is None else data.weight)
    posterior, info, sites = ep(DenseSystem.of(A, K), seen, Probit(), tol=1e-12)
    assert info.converged
    assert model.log_evidence_ == pytest.approx(posterior.log_evidence, abs=1e-8)
    Q = scipy.linalg.block_diag(*[FULL(NEW, data.items)] * data.n_labels)
    mean, variance = posterior.moments(Query(Q, np.full(len(Q), 2.0)))
    found, std = model.predict_utility(NEW, return_std=True)
    np.testing.assert_allclose(found.T.ravel(), mean, atol=1e-7)
    np.testing.assert_allclose(std.T.ravel() ** 2, variance, atol=1e-7)
    M = ep_gradient(posterior, seen, Probit(), sites).prior
    slopes = FULL(data.items, eval_gradient=True)[1]
    blocks = [M[c * n : (c + 1) * n, c * n : (c + 1) * n] for c in range(data.n_labels)]
    by_label = np.array([np.einsum("ij,ijk->k", block, slopes) for block in blocks])
    wanted = by_label.sum(axis=0) if shared else by_label.ravel()
    np.testing.assert_allclose(model.log_evidence()[1], wanted, atol=1e-6)


@pytest.mark.parametrize("likelihood", [Probit(), Probit(tie=0.4), Gaussian(1.5)], ids=["probit", "ties", "margins"])
def test_two_labels_are_a_binary_process_with_twice_the_kernel(likelihood):
    """f_1 - f_2 is a Gaussian process with kernel 2k: half the latents."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(20, 2))
    outcome = rng.normal(size=20) if isinstance(likelihood, Gaussian) else rng.choice([-1.0, 1.0], 20)
    if isinstance(likelihood, Probit) and likelihood.tie:
        outcome[:4] = 0
    data = LabelPreferences(X, range(20), ["yes"] * 20, ["no"] * 20, outcome, labels=["yes", "no"])
    model = LabelPreferenceGP(FULL, likelihood, hyperparameters="fixed").fit(data)
    assert model._solution.posterior.system.factor.rank == 20
    posterior, _ = laplace(DenseSystem.of(np.eye(20), 2 * FULL(X)), Observed(outcome, np.ones(20)), likelihood)
    mean, variance = posterior.moments(Query(2 * FULL(NEW, X), np.full(5, 4.0)))
    assert model.log_evidence_ == pytest.approx(posterior.log_evidence, abs=1e-9)
    utility = model.predict_utility(NEW)
    np.testing.assert_allclose(utility[:, 0] - utility[:, 1], mean, atol=1e-9)
    p = likelihood.probability(mean, variance)
    found = model.predict_proba(NEW, [(i, "yes", "no") for i in range(5)])
    np.testing.assert_allclose(found[:, 1], p[:, 0] + p[:, 1] / 2, atol=1e-9)


@pytest.mark.parametrize("graph", ["classes", "all pairs", "apart"])
def test_labels_far_apart_are_items_of_a_preference_gp(graph):
    """An item (label, x) under a kernel that is zero between labels is what PreferenceGP knows already."""
    data = GRAPHS[graph]
    n, n_labels = len(data), data.n_labels
    items = np.column_stack([1e3 * np.repeat(np.arange(n_labels), n), np.tile(data.items, (n_labels, 1))])
    pairs = Comparisons(items, data.first * n + data.item, data.second * n + data.item, data.outcome)
    kernel = ConstantKernel(2.0) * RBF([1.0, 0.9, 0.9])
    known = PreferenceGP(kernel, hyperparameters="fixed").fit(pairs)
    model = LabelPreferenceGP(FULL, hyperparameters="fixed").fit(data)
    assert model.log_evidence_ == pytest.approx(known.log_evidence_, abs=1e-8)
    np.testing.assert_allclose(model.predict_proba(data), known.predict_proba(pairs), atol=1e-8)


def test_covers_touch_every_edge_and_stars_need_one_label():
    for data in GRAPHS.values():
        cover = vertex_cover(data.item, data.first, data.second, data.n_labels, len(data))
        assert (cover[data.first, data.item] | cover[data.second, data.item]).all()
    stars = GRAPHS["classes"]
    cover = vertex_cover(stars.item, stars.first, stars.second, stars.n_labels, len(stars))
    np.testing.assert_array_equal(cover[stars.first, stars.item], True)
    np.testing.assert_array_equal(cover.sum(axis=0), 1)


def test_the_cheaper_form_is_taken():
    X = np.random.default_rng(0).normal(size=(12, 2))
    for n_labels, dense in ((2, True), (4, True), (5, False), (6, False)):
        model = LabelPreferenceGP(FULL, hyperparameters="fixed").fit(X, np.arange(12) % n_labels)
        assert model._solution.posterior.system.factor.cover.all() == dense
    orders = np.array([np.random.default_rng(i).permutation(5) for i in range(12)])
    model = LabelPreferenceGP(FULL, hyperparameters="fixed").fit(from_label_rankings(X, orders))
    assert model._solution.posterior.system.factor.n_blocks == 4


@pytest.mark.parametrize("form", ["arrow", "dense"])
def test_factors_are_what_the_protocol_says(form):
    rng = np.random.default_rng(5)
    data = GRAPHS["classes"]
    grams = [FULL(data.items)]
    cover = vertex_cover(data.item, data.first, data.second, 5, len(data))
    factor = BlockFactor(grams, cover if form == "arrow" else np.ones_like(cover))
    R = scipy.linalg.block_diag(*[factor.root(c) for c in range(5)])
    np.testing.assert_allclose(R @ R.T, scipy.linalg.block_diag(*grams * 5), atol=1e-12)
    u, f = rng.normal(size=R.shape[1]), rng.normal(size=R.shape[0])
    np.testing.assert_allclose(factor.forward(u), R @ u, atol=1e-12)
    np.testing.assert_allclose(factor.back(f), R.T @ f, atol=1e-12)
    design = BlockDesign(data.item, data.first, data.second, np.eye(5), len(data))
    tau = rng.uniform(size=data.n_edges)
    A = design.A.toarray()
    Lam = A.T @ (tau[:, None] * A)
    B = np.eye(len(u)) + R.T @ Lam @ R
    blocks = Lam.reshape(5, len(data), 5, len(data))
    np.testing.assert_allclose(design.laplacian(tau), np.einsum("cidi->cdi", blocks), atol=1e-12)
    system = DenseSystem(design, factor)
    np.testing.assert_allclose(system.forward(u), A @ R @ u, atol=1e-12)
    np.testing.assert_allclose(system.back(tau), R.T @ A.T @ tau, atol=1e-12)
    curve = system.curve(tau)
    np.testing.assert_allclose(curve.solve(u), np.linalg.solve(B, u), atol=1e-11)
    assert curve.log_det == pytest.approx(np.linalg.slogdet(B)[1], abs=1e-11)
    Q = scipy.linalg.block_diag(*[FULL(NEW, data.items)] * 5)
    W = np.linalg.lstsq(R, Q.T)[0]
    prior = np.diag(FULL(NEW))
    wanted = np.diag(np.tile(prior, 5)) + W.T @ np.linalg.solve(B, W) - W.T @ W
    C = factor.variances(curve.inner, [FULL(NEW, data.items)], [prior])
    np.testing.assert_allclose(C, np.einsum("cidi->cdi", wanted.reshape(5, len(NEW), 5, len(NEW))), atol=1e-7)
