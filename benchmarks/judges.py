"""Judges with preferences of their own at scale: eliminated one by one, against one covariance of all of them.

    python -m benchmarks.judges [--small]

Items have four features and every judge its own linear taste around a common one, with probit noise. A fit learns
length scale, variance and the share that is each judge's own. "all together" holds the covariance of what all judges
were asked about (the same model, as it is for judges with features), where that is possible. Accuracy is over 20 other
pairs for each judge whose true order is known. Every run is a process of its own; memory is its peak above imports and
data. One thread.
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
SIZES = {False: ((50, 20, 30), (500, 40, 50), (5000, 20, 200)), True: ((5, 10, 8),)}  # judges, comparisons each, items
TOGETHER = 2_000  # latents up to which all together is tried


def problem(n_judges, each, n):
    import numpy as np

    from preflearn import Comparisons

    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    taste = 0.7 * rng.normal(size=(n_judges, 4)) + np.arange(1, 5) / 4

    def pairs(count):
        judge = np.repeat(np.arange(n_judges), count)
        first = rng.integers(0, n, len(judge))
        second = (first + rng.integers(1, n, len(judge))) % n
        return judge, first, second, ((X[first] - X[second]) * taste[judge]).sum(axis=1)

    judge, first, second, z = pairs(each)
    features = np.zeros((n_judges, 1))
    data = Comparisons(
        X, first, second, np.sign(z + np.sqrt(2) * rng.normal(size=len(z))), judge=judge, judges=features
    )
    judge, first, second, z = pairs(20)
    return data, Comparisons(X, first, second, np.sign(z), judge=judge, judges=features)


def job(order):
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel

    from preflearn import PreferenceGP

    warnings.simplefilter("ignore")  # repeated comparisons
    data, held = problem(*order["size"])
    nothing = ConstantKernel(1e-12, "fixed") * RBF(1.0, "fixed")  # judges have a feature, and it says nothing
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model = PreferenceGP("rbf", judge_kernel=nothing if order["together"] else "identity", n_restarts=0).fit(data)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "memory": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        "evaluations": model.optima_[0].evaluations,
        "evidence": model.log_evidence_,
        "accuracy": model.score(held),
        "latents": model.info_.n_latents,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="one small size: only to see that everything runs")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(job(json.loads(options.job))))
        return
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    print("| judges x comparisons, items | how | time | evaluations | memory | evidence | accuracy | latents |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for size in SIZES[options.small]:
        for together in (False, True):
            if together and size[0] * min(size[2], 2 * size[1]) > TOGETHER:
                continue
            order = json.dumps({"size": size, "together": together})
            command = [sys.executable, "-m", "benchmarks.judges", "--job", order]
            done = subprocess.run(
                command, cwd=ROOT, env=os.environ | threads, capture_output=True, text=True, check=True
            )
            found = json.loads(done.stdout.splitlines()[-1])
            print(
                f"| {size[0]} x {size[1]}, {size[2]} | {'all together' if together else 'one by one'} | "
                f"{found['seconds']:.1f} s | {found['evaluations']} | {found['memory']:.0f} MB | "
                f"{found['evidence']:.1f} | {found['accuracy']:.3f} | {found['latents']:,} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
