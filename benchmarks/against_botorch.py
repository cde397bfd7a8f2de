"""PreferenceGP against BoTorch's PairwiseGP: seconds, memory, held-out accuracy and evidence, in one run.

    pip install torch                  # first and alone: its index decides between CPU and CUDA builds
    pip install -e ".[bench]"          # then BoTorch and the rest
    python -m benchmarks.against_botorch [--small] [--rows 1 2 3 4] [--threads N] [--truth NAME]

Rows: 1, 2 fit with hyperparameters, n = 300 and 1,000; 3 one evidence with gradient at n = 2,000, and our whole fit;
4 predict 10,000 pairs at n = 1,000, ours with probabilities, BoTorch means only and in the best of three sizes of
chunks: once every pair with two new items of its own (20,000 items), once pairs among 1,000 new items (BoTorch is given
every item once).

Protocol. Items uniform in the unit cube (d = 10), utilities a random smooth function, m = 10 n random pairs with probit
noise; accuracy is over held-out pairs of new items whose true order is known. The function is a draw from an ARD RBF
process whose length-scales are --truth: even (0.4 to 1.6), wide (0.25 to 8), or sparse (five features without effect).
Both fit an ARD RBF kernel by Laplace's method and L-BFGS-B from one start, the same for both. Every run is a process of
its own, which warms up on a tiny problem; the contestants take turns and the least time counts. Memory is the peak of
the process above its peak after imports and data. BLAS and torch have a fixed number of threads. Row 1 has six draws of
the data for accuracy and evidence (means are shown), the first of which is timed.

Before anything is timed, evidence, gradient, means and probabilities of both are compared at the same parameters on a
small problem and must be equal; there BoTorch's clamp of the link at |z| = 3 is lifted. It is in force in the rows.

The two searches differ in one thing: BoTorch adds hyperpriors (Gamma(2.4, 2.7) on length-scales, a box on the
variance), ours maximises the evidence alone. So evidences are compared without hyperpriors, by both codes at both
solutions: "same or better" is our evidence at our solution against our evidence at BoTorch's. The truth "even" is what
BoTorch's hyperprior expects and helps its accuracy; in "sparse" it is wrong. Row 3 has both at the same parameters,
row 4 at those that drew the data.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from operator import itemgetter
from pathlib import Path
from statistics import mean

# The parent stays small: a child's peak memory starts from what the parent had when it was started.

ROOT = Path(__file__).resolve().parents[1]
SIZES = {  # row: n, m, held-out pairs
    False: {1: (300, 3000, 10_000), 2: (1000, 10_000, 10_000), 3: (2000, 20_000, 10_000), 4: (1000, 10_000, 10_000)},
    True: {1: (40, 400, 100), 2: (50, 500, 100), 3: (60, 600, 100), 4: (50, 500, 100)},
}
TURNS = {1: 3, 2: 2, 3: 2, 4: 2}
DRAWS = {1: 6, 2: 1}  # of the data, for accuracy and evidence; the first is timed
AGREEMENT = 1e-6
SAME_ACCURACY = 0.003  # one standard error of an accuracy over 10,000 pairs
SAME_EVIDENCE = 0.1  # nats


class JobError(Exception):
    """A job's process ended with an error."""


class Runner:
    """Starts jobs in processes of their own and reads what they found."""

    def __init__(self, contestants, threads, truth, small):
        names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self.environment = {**os.environ, **dict.fromkeys(names, str(threads))}
        self.contestants, self.truth, self.small = contestants, truth, small

    def run(self, who, job, size, seed=0, **more):
        n, m, n_held = size
        order = {"who": who, "job": job, "n": n, "m": m, "n_held": n_held, "seed": seed, "truth": self.truth, **more}
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.preference_gp_job", json.dumps(order)]
        done = subprocess.run(command, cwd=ROOT, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise JobError(f"the job {order} failed.\n{done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])

    def turns(self, row, job, **more):
        """Let the contestants take turns; return size, BoTorch's or None, and ours: least time, most memory."""
        size, best = SIZES[self.small][row], {}
        for _ in range(1 if self.small else TURNS[row]):
            for who in self.contestants:
                found = self.run(who, job, size, **more)
                print(f"  row {row}, {who}: {job} {found['seconds']:.3g} s", flush=True)
                earlier = best.get(who, found)
                best[who] = {**min(earlier, found, key=itemgetter("seconds"))}
                best[who]["bytes"] = max(earlier["bytes"], found["bytes"])
        return size, best.get("BoTorch"), best["ours"]


def check_agreement(runner):
    """Stop unless both are one model at equal parameters."""
    try:
        apart = runner.run("both", "agree", (100, 1000, 100))
    except JobError as failure:
        raise SystemExit(f"against_botorch: {failure}") from None
    listed = ", ".join(f"{value:.1e} ({name})" for name, value in apart.items())
    print(f"At equal parameters, n = 100, m = 1,000, the two differ at most by {listed}.", flush=True)
    wrong = [name for name, value in apart.items() if not value <= AGREEMENT]
    if wrong:
        raise SystemExit(f"against_botorch: {', '.join(wrong)} should agree to {AGREEMENT:g}; nothing was timed.")


def fit_row(runner, row, aim, memory_aim=float("inf")):
    """Fit with hyperparameters; each code's evidence at each solution, on several draws."""
    size, peer, ours = runner.turns(row, "fit")
    met, aims = [ours["bytes"] < memory_aim], f"≥ {aim}x" + (f", < {memory_aim / 1e6:.0f} MB" if row == 2 else "")
    if peer:
        mine, theirs = [], []  # accuracy and evidence by our code at our solution, and at BoTorch's
        for seed in range(1 if runner.small else DRAWS[row]):
            a, b = (ours, peer) if seed == 0 else (runner.run(who, "fit", size, seed) for who in ("ours", "BoTorch"))
            b_by_ours = runner.run("ours", "at", size, seed, solution=b["solution"])["evidence"]
            a_by_peer = runner.run("BoTorch", "at", size, seed, solution=a["solution"])["evidence"]
            mine.append((a["accuracy"], a["evidence"]))
            theirs.append((b["accuracy"], b_by_ours))
            print(
                f"  row {row}, draw {seed}: evidence by our code and by BoTorch's at our solution {a['evidence']:.2f}, "
                f"{a_by_peer:.2f}, at BoTorch's {b_by_ours:.2f}, {b['evidence']:.2f}; "
                f"evaluations (ours, BoTorch) {a['evaluations']}, {b['evaluations']}; "
                f"accuracy {a['accuracy']:.4f}, {b['accuracy']:.4f}",
                flush=True,
            )
            met.append(a["evidence"] >= b_by_ours - SAME_EVIDENCE)
        for contestant, pairs in ((ours, mine), (peer, theirs)):
            contestant["accuracy"], contestant["evidence"] = map(mean, zip(*pairs, strict=True))
        met.append(ours["accuracy"] >= peer["accuracy"] - SAME_ACCURACY)
    yield f"{row}: fit, n = {size[0]:,}, m = {size[1]:,}", peer, ours, aim, aims, all(met)


def evaluate_row(runner, row, aim):
    """One evidence with gradient, and our whole fit."""
    size, peer, ours = runner.turns(row, "evaluate")
    same = peer is None or abs(ours["evidence"] - peer["evidence"]) <= 1e-3 * abs(peer["evidence"])
    name = f"n = {size[0]:,}, m = {size[1]:,}"
    yield f"{row}: one evidence + gradient, {name}", peer, ours, aim, f"≥ {aim}x", same
    whole = runner.run("ours", "fit", size)
    print(f"  row {row}, ours: fit {whole['seconds']:.3g} s", flush=True)
    yield f"{row}: our whole fit, {name}", None, whole, None, "< 60 s", whole["seconds"] < 60


def predict_row(runner, row, aim):
    """Pairs of items that occur once, and pairs among as many new items as there were in training."""
    for pool in (None, SIZES[runner.small][row][0]):
        size, peer, ours = runner.turns(row, "predict", pool=pool)
        same = peer is None or abs(ours["accuracy"] - peer["accuracy"]) <= SAME_ACCURACY
        name = f"{row}: predict {size[2]:,} pairs among {pool or 2 * size[2]:,} new items, n = {size[0]:,}"
        yield name, peer, ours, aim, f"≥ {aim}x", same


def line(job, peer, ours, aim, aims, met):
    """Return one line of the table; what a job does not measure stays empty."""

    def both(key, show):
        return " | ".join(show(c[key]) if c and key in c else "" for c in (peer, ours))

    ratio = peer["seconds"] / ours["seconds"] if peer else None
    if aim is not None:
        met = "not measured" if ratio is None else "yes" if met and ratio >= aim else "NO"
    else:
        met = "yes" if met else "NO"
    cells = [
        job,
        both("seconds", "{:.3g} s".format),
        "" if ratio is None else f"{ratio:.1f}x",
        aims,
        met,
        both("bytes", lambda b: f"{b / 1e6:.0f} MB"),
        both("accuracy", "{:.4f}".format),
        both("evidence", "{:.2f}".format),
    ]
    return "| " + " | ".join(cells) + " |"


def facts(threads):
    versions = []
    for name in ("numpy", "scipy", "scikit-learn", "torch", "gpytorch", "botorch"):
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return f"Python {platform.python_version()}, {', '.join(versions)}, {platform.machine()}; threads: {threads}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="tiny sizes: only to see that everything runs")
    parser.add_argument("--rows", type=int, nargs="+", choices=(1, 2, 3, 4), default=[1, 2, 3, 4], help="default: all")
    parser.add_argument("--threads", type=int, default=1, help="threads of BLAS and torch (default 1)")
    parser.add_argument("--truth", choices=("even", "wide", "sparse"), default="even", help="see above")
    options = parser.parse_args()
    print(facts(options.threads))
    installed = find_spec("botorch") is not None
    runner = Runner(["BoTorch", "ours"] if installed else ["ours"], options.threads, options.truth, options.small)
    if installed:
        check_agreement(runner)
    else:
        print("BoTorch is not installed, so only our side is measured; this file's first lines say how to install it.")
    rows = {
        1: lambda: fit_row(runner, 1, 8),
        2: lambda: fit_row(runner, 2, 20, 600e6),
        3: lambda: evaluate_row(runner, 3, 10),
        4: lambda: predict_row(runner, 4, 20),
    }
    lines, failed = [], False
    for number in sorted(set(options.rows)):
        try:
            lines += [line(*cells) for cells in rows[number]()]
        except JobError as failure:
            print(f"against_botorch: row {number} is left out: {failure}", file=sys.stderr, flush=True)
            failed = True
    columns = (
        "BoTorch | ours | ratio | aim | met | memory BoTorch | ours | accuracy BoTorch | ours | evidence BoTorch | ours"
    )
    print(f"\n| job | {columns} |\n|{'---|' * 12}")
    print("\n".join(lines))
    print("\nEvidence: by our code, without hyperpriors, at each contestant's solution (rows of one evidence and of")
    print("predictions: by each contestant's code at equal parameters). Memory: peak above imports and data.")
    if options.small:
        print("Small sizes: the aims are for the full ones.")
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
