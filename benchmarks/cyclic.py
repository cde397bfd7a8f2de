"""Preferences over pairs at scale: against a plain dense Laplace approximation, and 50,000 comparisons of 500 items.

    python -m benchmarks.cyclic [--small] [--rows 1 2 3 4 5] [--threads N]

Rows: 1, 2 GPGP with two hyperparameters on 2,000 and 5,000 distinct pairs, ours and the dense reference
(`benchmarks.dense_gpgp`), from the same start; 3 utility and cyclic part together on 50,000 comparisons of 500 items;
4 accuracy of our automatic choice and of the dense covariance of all pairs, on the same 2,900 pairs; 5 items without
features, 50,000 distinct pairs of 500 items, with a cyclic part that is independent from pair to pair and without it.

Items have five features; preferences are 2 (sin x₁ - sin x₁') + 2 (x₂ x₃' - x₃ x₂'), without the first part for rows 1
and 2, and logistic noise. Accuracy is over 20,000 other pairs whose true order is known. Every run is a process of its
own; memory is its peak above imports and data.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SIZES = {
    False: {1: (200, 2000), 2: (300, 5000), 3: (500, 50_000), 4: (500, 2900), 5: (500, 50_000)},
    True: dict.fromkeys((1, 2, 3, 4, 5), (30, 300)),
}


def problem(n, m, ranked, distinct):
    """Return items, training pairs with outcomes, and other pairs with their true order."""
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))

    def truth(i, j):
        cyclic = 2 * (X[i, 1] * X[j, 2] - X[i, 2] * X[j, 1])
        return cyclic + (2 * (np.sin(X[i, 0]) - np.sin(X[j, 0])) if ranked else 0.0)

    first, second = np.triu_indices(n, 1)
    code = rng.choice(len(first), m, replace=False) if distinct else rng.integers(len(first), size=m)
    held = rng.integers(len(first), size=20_000)
    z = truth(first[code], second[code]) + rng.logistic(size=m)
    order = np.sign(truth(first[held], second[held]))
    return X, (first[code], second[code], np.where(z > 0, 1.0, -1.0)), (first[held], second[held], order)


def job(order):
    """Run one job and return what it found."""
    import numpy as np
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    from benchmarks import dense_gpgp
    from preflearn import Comparisons, PreferenceGP

    warnings.simplefilter("ignore")
    X, (i, j, y), held = problem(order["n"], order["m"], order["ranked"], order["distinct"])
    start, bounds = np.log([1.0, 3.0]), np.log([(1e-2, 1e2), (0.1, 30.0)])
    kernel = ConstantKernel(1.0, (1e-2, 1e2)) * RBF(3.0, (0.1, 30.0))
    utility = "rbf" if order["ranked"] else None
    if order["featureless"]:
        X, kernel, utility = order["n"], ConstantKernel() if order["who"] == "ours" else None, ConstantKernel()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    if order["who"] == "dense":
        theta, evidence, evaluations = dense_gpgp.fit(X, i, j, y, start, bounds)
        found = {"seconds": time.perf_counter() - begin, "evidence": evidence, "evaluations": evaluations}
    else:
        every = order["who"] == "all pairs"
        model = PreferenceGP(utility, "logit", cyclic_kernel=kernel, exact=every, n_restarts=0)
        model.fit(Comparisons(X, i, j, y))
        found = {"seconds": time.perf_counter() - begin, "evidence": model.log_evidence_}
        found["evaluations"] = model.optima_[0].evaluations
        theta = model.theta_
        found["accuracy"] = model.score(Comparisons(X, *held))
        found["latents"] = f"{model.info_.latents}, {model.info_.n_latents:,}"
    found["bytes"] = 1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    return {**found, "theta": np.round(theta, 3).tolist()}


def run(threads, **order):
    """Run a job in a process of its own."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(threads))}
    command = [sys.executable, "-m", "benchmarks.cyclic", "--job", json.dumps(order)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"cyclic: the job {order} failed.\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def line(name, found):
    accuracy = f"{found['accuracy']:.4f}" if "accuracy" in found else ""
    print(
        f"| {name} | {found['seconds']:.2f} s | {found['evaluations']} | {found['bytes'] / 1e6:.0f} MB | "
        f"{found['evidence']:.1f} | {accuracy} | {found.get('latents', '')} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="tiny sizes: only to see that everything runs")
    parser.add_argument("--rows", type=int, nargs="+", choices=(1, 2, 3, 4, 5), default=[1, 2, 3, 4, 5])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(job(json.loads(options.job))))
        return
    print(f"threads: {options.threads}\n\n| job | fit | evaluations | memory | evidence | accuracy | latents |")
    print("|---|---|---|---|---|---|---|", flush=True)
    ratios = []
    for row in sorted(set(options.rows)):
        n, m = SIZES[options.small][row]
        order = {"n": n, "m": m, "ranked": row > 2, "distinct": row != 3, "featureless": row == 5}
        if row < 3:
            found = {who: run(options.threads, who=who, **order) for who in ("dense", "ours")}
            for who, one in found.items():
                line(f"{row}: GPGP, {m:,} pairs of {n} items, {who}", one)
            ratios.append(f"row {row}: {found['dense']['seconds'] / found['ours']['seconds']:.1f} times faster")
        elif row == 3:
            line(f"{row}: both parts, {m:,} comparisons of {n} items", run(options.threads, who="ours", **order))
        elif row == 5:
            for who in ("utility alone", "ours"):
                line(f"{row}: no features, {m:,} pairs of {n} items, {who}", run(options.threads, who=who, **order))
        else:
            for who in ("all pairs", "ours"):
                line(f"{row}: both parts, {m:,} pairs of {n} items, {who}", run(options.threads, who=who, **order))
    print("\n" + "\n".join(ratios))


if __name__ == "__main__":
    main()
