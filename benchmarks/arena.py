"""Judges and prompts of an arena: 50 models, 5,000 prompts, 500 judges, 50,000 votes, hyperparameters learned.

    python -m benchmarks.arena [--small]
    python -m benchmarks.arena --votes [--small]

The second counts millions of votes without judges (`benchmarks.votes`); what follows is about the first.

Utilities, tastes of judges and effects of prompts are normal with deviations 1, 0.6 and 1.5 (logistic noise). Every run
is a process of its own on one thread; memory is its peak above imports and data. "exact" joins the judges to the shared
latents, where that is possible, and is what the conjugate gradients of the other rows approximate: their evidence and
its gradient are estimated from draws, means and intervals of utilities are not. Deviations are learned ones in units of
the noise of a logistic link.
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

from benchmarks import votes

ROOT = Path(__file__).resolve().parents[1]
FULL, SMALLER, TINY = (50, 5_000, 500, 50_000), (15, 300, 30, 3_000), (6, 30, 8, 240)  # models, prompts, judges, votes
MODELS = {
    "prompts": {"cluster": True},
    "judges": {"judge_kernel": "identity"},
    "both": {"cluster": True, "judge_kernel": "identity"},
}
LOGISTIC = 3.2899 / 2.0  # variance of logistic noise over that of the probit's


def problem(n, n_prompts, n_judges, votes):
    import numpy as np

    from preflearn import Comparisons

    rng = np.random.default_rng(0)
    f, h, t = rng.normal(size=n), rng.normal(0, 1.5, (n_prompts, n)), rng.normal(0, 0.6, (n_judges, n))
    first = rng.integers(0, n, votes)
    second = (first + rng.integers(1, n, votes)) % n
    prompt, judge = np.repeat(np.arange(n_prompts), votes // n_prompts), rng.integers(0, n_judges, votes)
    z = f[first] - f[second] + h[prompt, first] - h[prompt, second] + t[judge, first] - t[judge, second]
    outcome = np.where(rng.logistic(size=votes) < z, 1.0, -1.0)
    return Comparisons(n, first, second, outcome, cluster=prompt, judge=judge), f


def job(order):
    import numpy as np

    from preflearn import PreferenceGP
    from preflearn.inference import problem as chosen

    warnings.simplefilter("ignore")
    if not order["exact"]:
        chosen.MOST_SHARED = 0
    data, truth = problem(*order["size"])
    link = {"laplace": "logit", "ep": "probit"}[order["inference"]]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    model = PreferenceGP(likelihood=link, inference=order["inference"], n_restarts=0, **MODELS[order["model"]])
    model.fit(data)
    seconds = time.perf_counter() - start
    ranking = model.rank(n_samples=1_000)
    unit = 1.0 if link == "logit" else LOGISTIC
    utility = float(np.exp(model.theta_[0]))
    variances = [utility, utility * getattr(model, "judge_share_", 0.0), model.cluster_variance_ or 0.0]
    order_of = np.argsort(np.argsort(-truth)) + 1
    held = (ranking.rank_low <= order_of[ranking.row]) & (order_of[ranking.row] <= ranking.rank_high)
    return {
        "seconds": seconds,
        "memory": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024,
        "evaluations": model.optima_[0].evaluations,
        "latents": model.info_.n_latents,
        "deviations": np.sqrt(unit * np.array(variances)).round(2).tolist(),
        "held": float(held.mean()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="a tiny size: only to see that everything runs")
    parser.add_argument("--votes", action="store_true", help="count millions of votes, against evalica and pyarrow")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.votes:
        votes.main(small=options.small)
        return
    if options.job:
        print(json.dumps(job(json.loads(options.job))))
        return
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    print(
        "| models, prompts, judges, votes | terms | inference | how | time | memory | evaluations | latents | ", end=""
    )
    print("deviations (1, 0.6, 1.5) | places held |")
    print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
    runs = [(TINY, "both", "laplace", exact) for exact in (True, False)]
    if not options.small:
        runs = [(FULL, name, how, False) for name in MODELS for how in ("laplace", "ep")]
        runs += [(SMALLER, "both", how, exact) for how in ("laplace", "ep") for exact in (True, False)]
    for size, name, how, exact in runs:
        order = json.dumps({"size": size, "model": name, "inference": how, "exact": exact})
        command = [sys.executable, "-m", "benchmarks.arena", "--job", order]
        done = subprocess.run(command, cwd=ROOT, env=os.environ | threads, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        exactly = exact or name != "both"
        print(
            f"| {', '.join(f'{x:,}' for x in size)} | {name} | {how} | {'exact' if exactly else 'estimated'} | "
            f"{found['seconds']:.1f} s | {found['memory']:.0f} MB | {found['evaluations']} | {found['latents']:,} | "
            f"{', '.join(map(str, found['deviations']))} | {found['held']:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
