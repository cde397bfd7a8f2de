"""Hostile problems, drawn by seed: whatever a person might feed to a preference GP by mistake or in despair."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic

from preflearn import Comparisons
from preflearn.likelihoods import Gaussian, Logit, Probit

LAYOUTS = ("random", "contradictory", "one pair", "one comparison", "parts", "chain", "star")
ITEMS = ("random", "identical", "duplicates", "zero column", "collinear", "far away")
WEIGHTS = ("none", "wild", "tiny", "huge", "mixed")


def scale_of(rng, decades=8):
    return 10.0 ** rng.uniform(-decades, decades)


def items_of(rng, n, kind):
    d = int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) * scale_of(rng)
    if kind == "identical":
        X[:] = X[0]
    elif kind == "duplicates":
        X[n // 2 :] = X[: n - n // 2]
    elif kind == "zero column":
        X[:, 0] = 0.0
    elif kind == "collinear":
        X = np.outer(rng.normal(size=n), X[0])
    elif kind == "far away":
        X += scale_of(rng)
    return X


def kernel_of(rng, d, pick, free):
    """A kernel over d features at hostile parameters; ``free`` ones have bounds, the others are fixed."""

    def bounds(low, high):
        return (low, high) if free else "fixed"

    def at(decades):
        return float(np.clip(scale_of(rng, decades), 1e-8, 1e8))

    def variance():
        return ConstantKernel(at(8), bounds(1e-9, 1e9))

    length = bounds(1e-9, 1e9)
    if pick == 0:
        return variance() * RBF(at(8), length)
    if pick == 1:
        return variance() * RBF([at(8) for _ in range(d)], length)
    if pick == 2:
        return variance() * Matern(at(8), length, nu=1.5)
    if pick == 3:
        return variance() * Matern(at(8), length, nu=2.5)
    if pick == 4:
        return variance() * RationalQuadratic(at(8), at(3), length, bounds(1e-4, 1e4))
    if pick == 5:
        return variance() * DotProduct(at(8), bounds(1e-9, 1e9))
    if pick == 6:
        return variance() * RBF(at(4), length) + variance() * DotProduct(at(2), bounds(1e-9, 1e9))
    if pick == 7:
        return variance() * Matern(at(4), length, nu=0.5) * RBF(at(4), length) + variance()
    return None if free else ConstantKernel(1.0, "fixed") * RBF(1.0, "fixed")


def pairs_of(rng, n, kind):
    m = 1 if kind == "one comparison" else int(rng.integers(2, 40))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    if kind == "contradictory":
        first, second = np.tile([0, 1], m), np.tile([1, 0], m)
    elif kind == "one pair":
        first, second = np.zeros(m, dtype=int), np.ones(m, dtype=int)
    elif kind == "parts" and n >= 4:
        half = n // 2
        first = np.where(first < half, first % half, half + first % (n - half))
        second = np.where(first < half, (first + 1) % half, half + (first - half + 1) % (n - half))
        keep = first != second
        first, second = np.r_[first[keep], 0], np.r_[second[keep], n - 1]
    elif kind == "chain":
        first, second = np.arange(n - 1), np.arange(1, n)
    elif kind == "star":
        first, second = np.zeros(n - 1, dtype=int), np.arange(1, n)
    return first, second


def weights_of(rng, m, kind):
    if kind == "none":
        return None
    if kind == "wild":
        return 10.0 ** rng.uniform(-8, 8, m)
    if kind == "tiny":
        return np.full(m, 10.0 ** rng.uniform(-12, -2))
    if kind == "huge":
        return np.full(m, 10.0 ** rng.uniform(2, 8))
    return rng.choice([1e-6, 0.5, 1.0, 1e6], m)


def problem(seed, free=False):
    """Return Comparisons, a kernel, a likelihood and what they are called; ``free``: with parameters to learn."""
    rng = np.random.default_rng([seed, int(free)])
    layout, kind, weighting = (options[rng.integers(len(options))] for options in (LAYOUTS, ITEMS, WEIGHTS))
    n = int(rng.integers(2, 13))
    first, second = pairs_of(rng, n, layout)
    m = first.shape[0]
    featureless = rng.random() < 0.15
    X = None if featureless else items_of(rng, n, kind)
    if featureless:
        kernel = ConstantKernel(scale_of(rng), (1e-9, 1e9) if free else "fixed")
    else:
        kernel = kernel_of(rng, X.shape[1], int(rng.integers(9)), free)
    likelihood, outcome = likelihood_of(rng, m, free, layout)
    weight = weights_of(rng, m, weighting)
    if layout == "one pair" and rng.random() < 0.3:
        weight = np.r_[1e6, np.ones(m - 1)]  # a million votes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # outcomes may be ties and ones only
        data = Comparisons(n if featureless else X, first, second, outcome, weight=weight)
    return data, kernel, likelihood, f"{layout}, {kind}, weights {weighting}, {kernel}, {likelihood}"


def likelihood_of(rng, m, free, layout):
    side = np.ones(m) if rng.random() < 0.3 or layout == "contradictory" else rng.choice([-1.0, 1.0], m)
    pick = rng.integers(5)
    if pick == 4:
        return Gaussian(scale_of(rng, 6), fixed=not free), rng.normal(size=m) * scale_of(rng)
    kind = Probit if pick < 2 else Logit
    scale = scale_of(rng, 3) if rng.random() < 0.5 else 1.0
    if pick % 2:
        ties = rng.random() < 0.3
        outcome = np.zeros(m) if ties else np.where(rng.random(m) < 0.3, 0.0, side)
        return kind(scale, tie=scale * scale_of(rng, 3), tie_fixed=not free), outcome
    return kind(scale), side
