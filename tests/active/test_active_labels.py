"""Which two labels of which instance should be compared next."""

import numpy as np
import pandas as pd
import pytest
from problems_active import information_by_quad
from sklearn.gaussian_process.kernels import RBF

from preflearn import LabelPreferenceGP
from preflearn.active import information_gain, suggest
from preflearn.active.outcome_information import curvature, information
from preflearn.data import LabelPreferences, from_label_rankings
from preflearn.exceptions import DataError, DataWarning
from preflearn.likelihoods import Gaussian, Logit, Probit

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(6, 2)), RNG.normal(size=(4, 2))
DATA = from_label_rankings(X, [list(order) for order in ("abc", "acb", "bac", "cb", "cab", "ba")])
EVERY = [(i, a, b) for i in range(4) for a, b in ("ab", "ac", "bc")]


def fitted(likelihood=None, **options):
    likelihood = Probit() if likelihood is None else likelihood
    return LabelPreferenceGP(2.0 * RBF(0.8), likelihood, hyperparameters="fixed", **options).fit(DATA)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("orders", [["abc", "acb", "bac", "cb", "cab", "dba"], ["ab", "ab", "cd", "cd", "ab", "ab"]])
def test_the_joint_posterior_of_labels_is_that_of_a_dense_model(shared, orders):
    data = from_label_rankings(X, [list(order) for order in orders])
    noise = Gaussian(1.0, fixed=True)
    model = LabelPreferenceGP(2.0 * RBF(0.8), noise, hyperparameters="fixed", shared=shared).fit(data)
    K = 2.0 * RBF(0.8)(np.vstack([X, NEW]))
    prior = np.kron(K, np.eye(4))
    A = np.zeros((data.n_edges, 40))
    rows = np.arange(data.n_edges)
    A[rows, 4 * data.item + data.first], A[rows, 4 * data.item + data.second] = 1, -1
    S = A @ prior @ A.T + noise.noise_deviation**2 * np.eye(len(rows))
    C = prior - prior @ A.T @ np.linalg.solve(S, A @ prior)
    mean, found = model.joint_utilities(NEW)
    np.testing.assert_allclose(found, C[24:, 24:], atol=1e-10)
    np.testing.assert_allclose(mean.ravel(), (prior @ A.T @ np.linalg.solve(S, data.outcome))[24:], atol=1e-10)
    alone = model.predict_utility(NEW, return_cov=True)[1]
    np.testing.assert_allclose(alone, [found[4 * i : 4 * i + 4, 4 * i : 4 * i + 4] for i in range(4)], atol=1e-12)


@pytest.mark.parametrize("likelihood", [Probit(), Logit()], ids=repr)
def test_gains_are_integrals_and_do_not_know_sides(likelihood):
    model = fitted(likelihood)
    gain = information_gain(model, EVERY, NEW)
    mean, C = model.predict_utility(NEW, return_cov=True)
    for (i, a, b), found in zip(EVERY, gain, strict=True):
        a, b = "abc".index(a), "abc".index(b)
        variance = C[i, a, a] + C[i, b, b] - 2 * C[i, a, b]
        expected = information_by_quad(model.likelihood_, mean[i, a] - mean[i, b], variance)
        assert found == pytest.approx(expected, abs=1e-9)
    np.testing.assert_array_equal(information_gain(model, [(i, b, a) for i, a, b in EVERY], NEW), gain)
    i, a, b = zip(*EVERY, strict=True)
    np.testing.assert_allclose(information_gain(model, LabelPreferences(NEW, i, a, b)), gain, rtol=1e-12)
    found = suggest(model, NEW)
    best = EVERY[int(gain.argmax())]
    assert next(iter(found)) == {"item": best[0], "first": best[1], "second": best[2], "gain": found.gain[0]}
    assert found.gain[0] == pytest.approx(gain.max(), rel=1e-9)


def test_batches_are_greedy_batches():
    model = fitted()
    mean, C = model.joint_utilities(NEW)
    A = np.zeros((12, 12))
    for row, (i, a, b) in enumerate(EVERY):
        A[row, [3 * i + "abc".index(a), 3 * i + "abc".index(b)]] = 1, -1
    left, expected = set(range(12)), []
    for _ in range(5):
        v = np.einsum("ri,ij,rj->r", A, C, A)
        gain = information(model.likelihood_, A @ mean.ravel(), v)
        best = max(left, key=lambda row: (round(gain[row], 9), -row))
        expected.append((*EVERY[best], gain[best]))
        left.remove(best)
        c = C @ A[best]
        C = C - curvature(model.likelihood_, (A @ mean.ravel())[[best]], v[[best]])[0] * np.outer(c, c)
    found = suggest(model, NEW, 5)
    assert [(i, a, b) for i, a, b, _ in expected] == list(
        zip(found.item.tolist(), found.first_name.tolist(), found.second_name.tolist(), strict=True)
    )
    np.testing.assert_allclose(found.gain, [gain for *_, gain in expected], rtol=1e-8)


def test_names_candidates_and_forbidden_pairs():
    model = fitted()
    table = pd.DataFrame(NEW, index=list("wxyz"))
    found = suggest(model, table, 12)
    assert len({(row["item"], *sorted((row["first"], row["second"]))) for row in found}) == 12
    assert set(found.item_name) == set("wxyz")
    assert str(found).splitlines()[0].split() == ["item", "first", "second", "gain"]
    best = (found.item_name[0], found.second_name[0], found.first_name[0])
    other = suggest(model, table, forbidden=[best])
    assert (other.item_name[0], other.second_name[0], other.first_name[0]) != best
    few = suggest(model, table, candidates=[("x", "c", "a"), ("w", "b", "a")])
    assert (few.item_name[0], few.first_name[0], few.second_name[0]) in {("x", "c", "a"), ("w", "b", "a")}
    with pytest.warns(DataWarning, match="only 2 of 3"):
        suggest(model, table, 3, candidates=[("x", "c", "a"), ("w", "b", "a"), ("x", "a", "c")])


def test_of_many_instances_the_uncertain_are_considered(monkeypatch):
    model = fitted()
    many = RNG.normal(size=(60, 2))
    everything = suggest(model, many, 3)
    monkeypatch.setattr("preflearn.active._label_pool.MOST_UTILITIES", 60)
    assert suggest(model, many, 3).gain[0] == pytest.approx(everything.gain[0])
    few = suggest(model, many, 3, n_max_candidates=60)
    assert len(set(few.item)) <= 20
    assert few.gain[0] > 0.9 * everything.gain[0]


@pytest.mark.parametrize(
    ("ask", "kind", "message"),
    [
        (lambda m: suggest(m), TypeError, "for which instances"),
        (lambda m: suggest(m, 3), TypeError, "a table of features"),
        (lambda m: suggest(m, NEW, judges=["ann"]), ValueError, "judges does not go with a model of labels"),
        (lambda m: suggest(m, NEW, k=2), ValueError, "k does not go with"),
        (lambda m: suggest(m, NEW, criterion="top_k"), ValueError, "Leave criterion out"),
        (lambda m: suggest(m, NEW, candidates=[(0, "a")]), DataError, r"must be \(instance, first label"),
        (lambda m: suggest(m, NEW, candidates=[(9, "a", "b")]), DataError, "9"),
        (lambda m: suggest(m, NEW, candidates=[(0, "a", "d")]), DataError, '"d"'),
        (
            lambda m: suggest(m, NEW[:1], forbidden=[(0, *ab) for ab in ("ab", "ca", "bc")]),
            DataError,
            "no pair of labels",
        ),
        (lambda m: suggest(m, NEW[:, :1]), DataError, "1 feature"),
        (lambda m: information_gain(m, DATA, NEW), DataError, "about 6 instances and the pool has 4"),
    ],
)
def test_mistakes_are_explained(ask, kind, message):
    with pytest.raises(kind, match=message):
        ask(fitted())
