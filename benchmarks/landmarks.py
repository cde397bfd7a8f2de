"""Preference GPs on functions of features: many items, and the exact model where both run.

    python -m benchmarks.landmarks [--items 100000] [--comparisons 1000000] [--landmarks 500] [--exact 2000] [--small]

Utilities are a smooth function of three of 20 features; votes have probit noise. Every run is a process of its own.
Accuracy is over pairs of new items whose better one is known. "exact": the exact model of some of the items, and of the
comparisons between these.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
import warnings

import numpy as np


def world(n, m, n_features, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    first = rng.integers(0, n, m)
    return X, first, (first + rng.integers(1, n, m)) % n, rng


def utility(X):
    return 1.5 * np.sin(1.5 * X[:, 0]) + X[:, 1] - 0.5 * X[:, 2] ** 2


def run(options):
    from preflearn import Comparisons, Nystroem, PreferenceGP

    warnings.simplefilter("ignore")
    n, m = options["items"], options["comparisons"]
    X, first, second, rng = world(n, m, options["features"])
    f = utility(X)
    outcome = np.where(f[first] - f[second] + np.sqrt(2) * rng.normal(size=m) > 0, 1.0, -1.0)
    data = Comparisons(X, first, second, outcome)
    approximation = None
    if options["landmarks"]:
        approximation = Nystroem(options["landmarks"], method=options["method"], random_state=0)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, cpu = time.perf_counter(), time.process_time()
    model = PreferenceGP(options["kernel"], approximation=approximation, n_restarts=0).fit(data)
    took, cpu = time.perf_counter() - start, time.process_time() - cpu
    new, one, other, _ = world(4_000, 50_000, options["features"], seed=1)
    truth = np.sign(utility(new)[one] - utility(new)[other])
    right = np.mean(np.sign(model.predict_difference(Comparisons(new, one, other))) == truth)
    print(
        json.dumps(
            {
                "seconds": took,
                "cpu": cpu,
                "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
                "more": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 2**20,
                "accuracy": right,
                "evidence": model.log_evidence_,
                "evaluations": model.optima_[0].evaluations,
                "lost": model.info_.lost,
            }
        )
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("items", 100_000), ("comparisons", 1_000_000), ("landmarks", 500), ("exact", 2_000)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--kernel", default="ard")
    parser.add_argument("--method", default="kmeans")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job:
        run(json.loads(given.job))
        return
    if given.small:
        given.items, given.comparisons, given.landmarks, given.exact, given.features = 2_000, 10_000, 40, 200, 5
    common = {"features": given.features, "kernel": given.kernel, "method": given.method}
    per = given.comparisons // given.items
    jobs = {
        "functions, all items": {"items": given.items, "comparisons": given.comparisons, "landmarks": given.landmarks},
        "functions, some items": {
            "items": given.exact,
            "comparisons": per * given.exact,
            "landmarks": given.landmarks,
        },
        "exact, the same items": {"items": given.exact, "comparisons": per * given.exact, "landmarks": 0},
    }
    print("| job | items | comparisons | time | CPU | memory, all | evaluations | accuracy | log evidence | lost |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, job in jobs.items():
        command = [sys.executable, "-m", "benchmarks.landmarks", "--job", json.dumps({**common, **job})]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        print(
            f"| {name} | {job['items']:,} | {job['comparisons']:,} | {found['seconds']:.1f} s | {found['cpu']:.1f} s "
            f"| {found['peak']:.2f} GiB | {found['evaluations']} | {found['accuracy']:.4f} "
            f"| {found['evidence']:.1f} | {found['lost']:.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
