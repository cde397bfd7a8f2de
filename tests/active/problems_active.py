"""Small fitted models and slow answers for the tests of preflearn.active."""

import itertools

import numpy as np
from scipy import integrate
from scipy.special import expit, ndtr
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, PreferenceGP
from preflearn.likelihoods import Flipped, Gaussian, Logit, Probit

LIKELIHOODS = [
    Probit(),
    Probit(scale=0.3),
    Logit(),
    Probit(tie=0.6, tie_fixed=True),
    Logit(scale=2.0, tie=5.0, tie_fixed=True),
    Flipped(Probit(), 0.05, rate_fixed=True),
    Flipped(Logit(scale=2.0, tie=1.0, tie_fixed=True), 0.2, rate_fixed=True),
]


def with_features(n_items=12, n_comparisons=20, likelihood=None, seed=0, n_new=0):
    """A model of items with two features (fixed kernel), its data, and a table with new items below the old."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n_items + n_new, 2))
    pairs = np.array(list(itertools.combinations(range(n_items), 2)))
    first, second = rng.permutation(pairs)[:n_comparisons].T
    z = 2 * (np.sin(2 * X[first, 0]) - np.sin(2 * X[second, 0])) + rng.normal(size=n_comparisons)
    likelihood = Probit() if likelihood is None else likelihood
    outcome = z if isinstance(likelihood, Gaussian) else np.sign(z)
    data = Comparisons(X[:n_items], first, second, outcome)
    kernel = ConstantKernel(3.0, "fixed") * RBF(0.9, "fixed")
    inference = "ep" if isinstance(likelihood, Flipped) else "laplace"
    return PreferenceGP(kernel, likelihood, inference).fit(data), data, X


def by_name(outcomes=(("ann", "bob"), ("ann", "cy"), ("bob", "cy"), ("cy", "dee")), likelihood=None, variance=2.0):
    """A model of named items without features."""
    first, second = zip(*outcomes, strict=True)
    likelihood = Probit() if likelihood is None else likelihood
    return PreferenceGP(ConstantKernel(variance, "fixed"), likelihood).fit(Comparisons(None, first, second))


def probabilities(likelihood, z):
    """P(first), P(tie), P(second) given z, from the definition of the link."""
    if isinstance(likelihood, Flipped):
        p = probabilities(likelihood.base, z)
        return (1 - likelihood.rate) * p + likelihood.rate * p[..., ::-1] * [1, 0, 1] + likelihood.rate * p * [0, 1, 0]
    cdf = ndtr if isinstance(likelihood, Probit) else expit
    tie = 0.0 if likelihood.tie is None else likelihood.tie
    z = np.asarray(z, dtype=float)
    first, second = cdf((z - tie) / likelihood.scale), cdf((-z - tie) / likelihood.scale)
    between = np.zeros(z.shape) if likelihood.tie is None else np.maximum(1.0 - first - second, 0.0)
    return np.stack([first, between, second], axis=-1)


def entropy(p):
    p = np.asarray(p)
    return -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1.0)), 0.0), axis=-1)


def information_by_quad(likelihood, mean, variance):
    """H(E p) - E[H(p)], each expectation by adaptive quadrature over z = mean + root * x, split at every bend."""
    root = np.sqrt(variance)
    bends = [0.0, *([] if likelihood.tie is None else [likelihood.tie, -likelihood.tie])]
    bends = [b + c * likelihood.scale for b in bends for c in (-40, -15, -6, -2, 0, 2, 6, 15, 40)]
    corners = np.unique([-9, -5, -2, 0, 2, 5, 9, *np.clip((np.array(bends) - mean) / root, -9, 9)])

    def expectation(value):
        def weighed(x):
            return value(mean + root * x) * np.exp(-0.5 * x**2) / np.sqrt(2 * np.pi)

        pieces = itertools.pairwise(corners)
        return sum(integrate.quad(weighed, a, b, epsabs=1e-13, epsrel=1e-11, limit=200)[0] for a, b in pieces)

    average = [expectation(lambda z, c=c: probabilities(likelihood, z)[c]) for c in range(3)]
    return entropy(average) - expectation(lambda z: float(entropy(probabilities(likelihood, z))))
