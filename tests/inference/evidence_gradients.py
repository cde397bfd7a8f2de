"""Random problems on which gradients of the evidence are compared with fourth-order differences.

    PYTHONPATH=tests python tests/inference/evidence_gradients.py --problems 500 [--likelihoods logit ...]

prints the largest relative error for every likelihood, kernel and inference. An error is relative to the gradient, but
to no less than 1: the evidence is a sum that is rounded to about 1e-15 of its terms, so that differences over 4e-4
do not resolve less than about 1e-10.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, Matern, RationalQuadratic

from likelihood_table import TYPICAL
from preflearn import Comparisons, PreferenceGP
from preflearn.exceptions import DataWarning

STEP = 1e-4
INFERENCES = ("laplace", "ep")
COMBINATIONS = [(l, i) for l in TYPICAL for i in INFERENCES if TYPICAL[l].log_concave or i == "ep"]
KERNELS = {
    "RBF": lambda draw: ConstantKernel(draw(1.0)) * RBF(draw(0.8)),
    "RBF, ARD": lambda draw: ConstantKernel(draw(1.0)) * RBF([draw(0.8), draw(0.8)]),
    "Matern 3/2": lambda draw: ConstantKernel(draw(1.0)) * Matern(draw(0.8), nu=1.5),
    "Matern 5/2": lambda draw: ConstantKernel(draw(1.0)) * Matern(draw(0.8), nu=2.5),
    "RationalQuadratic": lambda draw: ConstantKernel(draw(1.0)) * RationalQuadratic(draw(0.8), draw(1.5)),
    "linear": lambda draw: ConstantKernel(draw(1.0)) * DotProduct(draw(0.7)) + ConstantKernel(draw(0.5)),
    "sums and products": lambda draw: (
        ConstantKernel(draw(0.7)) * RBF(draw(0.8)) * Matern(draw(1.5), nu=2.5)
        + ConstantKernel(draw(0.4)) * DotProduct(draw(0.7))
    ),
    "no features": lambda draw: ConstantKernel(draw(1.0)),
}


def problem(seed, likelihood, kernel):
    """Return Comparisons, a kernel and a likelihood; every other problem has weights, some of them below 1."""
    rng = np.random.default_rng([seed, *map(ord, likelihood + kernel)])

    def draw(typical):
        return float(typical * np.exp(rng.normal(scale=0.7)))

    n, m = int(rng.integers(3, 9)), int(rng.integers(3, 16))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    X = n if kernel == "no features" else rng.uniform(-1, 1, size=(n, 2))
    start = TYPICAL[likelihood]
    y = rng.choice([-1.0, 1.0], m) if start.outcomes else rng.normal(size=m)
    if 0.0 in start.outcomes:
        y[rng.random(m) < 0.3] = 0.0
    weight = rng.uniform(0.05, 3.0, m) if seed % 2 else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ties and ones only
        data = Comparisons(X, first, second, y, weight=weight)
    k = KERNELS[kernel](draw)
    theta = start.theta + rng.normal(scale=0.7, size=start.theta.shape)
    return data, k, start.with_theta(np.clip(theta, *start.bounds.T))


def error(seed, likelihood, kernel, inference):
    """Return the largest relative error of the gradient's components."""
    data, k, l = problem(seed, likelihood, kernel)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # repeated comparisons, separate parts
        model = PreferenceGP(k, l, inference, hyperparameters="fixed").fit(data)
    theta = model.theta_
    _, gradient = model.log_evidence(theta)
    worst = 0.0
    for i in range(theta.shape[0]):
        step = STEP * np.eye(theta.shape[0])[i]
        far, near, back, farther = (model.log_evidence(theta + j * step)[0] for j in (2, 1, -1, -2))
        difference = (8 * (near - back) - (far - farther)) / (12 * STEP)
        worst = max(worst, abs(difference - gradient[i]) / max(1.0, abs(gradient[i])))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=20, help="problems per combination (default 20)")
    parser.add_argument("--likelihoods", nargs="+", choices=list(TYPICAL), default=list(TYPICAL))
    options = parser.parse_args()
    write = sys.stdout.write
    write("| likelihood | kernel | " + " | ".join(INFERENCES) + " |\n|---|---|" + "---|" * len(INFERENCES) + "\n")
    for likelihood in options.likelihoods:
        for kernel in KERNELS:
            cells = [
                f"{max(error(seed, likelihood, kernel, inference) for seed in range(options.problems)):.1e}"
                if (likelihood, inference) in COMBINATIONS
                else ""
                for inference in INFERENCES
            ]
            write(f"| {likelihood} | {kernel} | " + " | ".join(cells) + " |\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
