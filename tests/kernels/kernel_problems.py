"""Random kernels over the table of rules, and rows to try them on."""

from __future__ import annotations

import numpy as np
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Matern,
    RationalQuadratic,
    WhiteKernel,
)

from preflearn.kernels import gram_and_pullback

BOUNDS = (1e-5, 1e5)


def _bounds(rng):
    return "fixed" if rng.random() < 0.25 else BOUNDS


def _length(rng, d):
    return rng.uniform(0.5, 3.0, d) if d > 1 and rng.random() < 0.5 else rng.uniform(0.5, 3.0)


def constant(rng, d):
    return ConstantKernel(rng.uniform(0.2, 4.0), _bounds(rng))


def white(rng, d):
    return WhiteKernel(rng.uniform(0.1, 2.0), _bounds(rng))


def dot_product(rng, d):
    return DotProduct(rng.uniform(0.3, 2.0), _bounds(rng))


def rbf(rng, d):
    return RBF(_length(rng, d), _bounds(rng))


def matern(rng, d):
    return Matern(_length(rng, d), _bounds(rng), nu=rng.choice([0.5, 1.5, 2.5, np.inf]))


def bessel(rng, d):
    # scikit-learn moves equal rows eps apart, an error of eps^(2 nu): nu = 0.3 is tested on its own.
    return Matern(_length(rng, d), _bounds(rng), nu=rng.choice([0.6, 0.8, 1.0, 2.2, 3.5, 7.0]))


def rational_quadratic(rng, d):
    return RationalQuadratic(rng.uniform(0.5, 3.0), rng.uniform(0.3, 4.0), _bounds(rng), _bounds(rng))


LEAVES = {f.__name__: f for f in (constant, white, dot_product, rbf, matern, bessel, rational_quadratic)}


def leaf(rng, d, without=()):
    names = [name for name in LEAVES if name not in without]
    return LEAVES[rng.choice(names)](rng, d)


def composition(rng, d, depth=3, without=()):
    """A random expression of sums, products and powers."""
    kind = rng.choice(["leaf", "sum", "product", "power"], p=[0.1, 0.35, 0.35, 0.2]) if depth else "leaf"
    if kind == "leaf":
        return leaf(rng, d, without)
    if kind == "power":
        return Exponentiation(composition(rng, d, depth - 2 if depth > 1 else 0, without), int(rng.integers(1, 4)))
    first, second = (composition(rng, d, depth - 1, without) for _ in range(2))
    return first + second if kind == "sum" else first * second


def has_bessel(kernel) -> bool:
    if isinstance(kernel, Matern):
        return kernel.nu not in (0.5, 1.5, 2.5, np.inf)
    children = [getattr(kernel, name) for name in ("k1", "k2", "kernel") if hasattr(kernel, name)]
    return any(has_bessel(child) for child in children)


def rows(rng, n=None, d=None, duplicates=True):
    """Rows with a few duplicates, on either side of the number of features where the algorithm changes."""
    n = int(rng.integers(4, 14)) if n is None else n
    d = int(rng.choice([1, 2, 3, 5, 7])) if d is None else d
    X = rng.standard_normal((n, d))
    if duplicates and n > 3:
        X[-1] = X[0]
        X[-2] = X[1] + 1e-7 * rng.standard_normal(d)
    return X


def pullback(kernel, X, M):
    """<M, dK/dtheta>, of one evaluation."""
    return gram_and_pullback(kernel, X)[1](M)
