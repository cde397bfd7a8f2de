"""Small fitted models and slow answers for the tests of preflearn.active."""

import itertools

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from likelihood_table import TYPICAL
from preflearn import Comparisons, PreferenceGP
from preflearn.likelihoods import Davidson, Flipped, Logit, Probit

NODES, WEIGHTS = np.polynomial.legendre.leggauss(100)
LIKELIHOODS = [
    *(likelihood for likelihood in TYPICAL.values() if likelihood.outcomes),
    Probit(scale=0.3),
    Logit(scale=2.0, tie=5.0),
    Davidson(scale=0.5, tie=300.0),
    Flipped(Logit(scale=2.0, tie=1.0), 0.2),
    Flipped(Davidson(tie=20.0), 0.1),
]


def with_features(n_items=12, n_comparisons=20, likelihood=None, seed=0, n_new=0):
    """A model of items with two features (fixed kernel), its data, and a table with new items below the old."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_items + n_new, 2))
    pairs = np.array(list(itertools.combinations(range(n_items), 2)))
    first, second = rng.permutation(pairs)[:n_comparisons].T
    z = 2 * (np.sin(2 * X[first, 0]) - np.sin(2 * X[second, 0])) + rng.normal(size=n_comparisons)
    likelihood = Probit() if likelihood is None else likelihood
    outcome = np.sign(z) if likelihood.outcomes else z
    data = Comparisons(X[:n_items], first, second, outcome)
    kernel = ConstantKernel(3.0, "fixed") * RBF(0.9, "fixed")
    inference = "laplace" if likelihood.log_concave else "ep"
    return PreferenceGP(kernel, likelihood, inference).fit(data), data, X


def by_name(outcomes=(("ann", "bob"), ("ann", "cy"), ("bob", "cy"), ("cy", "dee")), likelihood=None, variance=2.0):
    """A model of named items without features."""
    first, second = zip(*outcomes, strict=True)
    likelihood = Probit() if likelihood is None else likelihood
    return PreferenceGP(ConstantKernel(variance, "fixed"), likelihood).fit(Comparisons(None, first, second))


def probabilities(likelihood, z):
    """P(first), P(tie), P(second) given z, by the density, which tests/likelihoods checks in 420 digits."""
    z = np.asarray(z, dtype=float)
    found = [
        np.exp(likelihood.log_density(np.full(z.shape, y), z).value) if y in likelihood.outcomes else np.zeros(z.shape)
        for y in (1.0, 0.0, -1.0)
    ]
    return np.stack(found, axis=-1)


def entropy(p):
    p = np.asarray(p)
    return -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0), axis=-1)


def information_by_quad(likelihood, mean, variance):
    """H(E p) - E[H(p)], both expectations over z = mean + root * x by panels of 100 nodes, split at every bend."""
    root = np.sqrt(variance)
    place, length, _ = likelihood.bend
    bends = [b + c * length for b in (-place, 0.0, place) for c in (-80, -40, -15, -6, -2, 0, 2, 6, 15, 40, 80)]
    corners = np.unique([-9, -5, -2, 0, 2, 5, 9, *np.clip((np.array(bends) - mean) / root, -9, 9)])
    half = np.diff(corners)[:, None] / 2
    x = (corners[:-1, None] + half * (1 + NODES)).ravel()
    weight = (half * WEIGHTS).ravel() * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)
    p = probabilities(likelihood, mean + root * x)
    return entropy(weight @ p) - weight @ entropy(p)
