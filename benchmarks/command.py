"""How much work the command line is: help, and a ranking from a CSV file, each in a new process, in seconds of CPU.

    python -m benchmarks.command [--small] [--repeats 3]

CPU time is what a person waits for on an idle machine, if libraries use one thread (``OMP_NUM_THREADS=1``); other
work on the machine changes it little. The yardstick is the import of the scientific libraries by the same Python.
Comparisons are of random pairs, with standard normal utilities and logistic noise; features are two numbers, one of
them the utility with noise, and a word. Judges are ten, who call small differences a tie; with tastes each has a
utility of its own beside the common one. Circles are those of two smooth functions of the features, as strong as the
utility; rough ones are drawn from the skew kernel of six other features, with a length scale of two of their
deviations, 100 judges and ties; the same with few pairs that are asked about again and again, by 30 judges of
different tastes.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, print_table

IMPORTS = "import numpy, scipy.linalg, scipy.sparse, scipy.optimize, sklearn.gaussian_process"

JUDGES, TIED = 10, 0.4
ROUGH, MOST_ROUGH = 2.0, 200  # length scale, and items


def save(path, first, second, z, tied=0.0, judge=None):
    """Write who won: the first side where z is above, the second where it is below, nobody where it is near zero."""
    word = np.where(np.abs(z) < tied, "tie", np.where(z > 0, "left", "right"))
    columns = {"left": [f"item {a}" for a in first], "right": [f"item {b}" for b in second], "winner": word}
    if judge is not None:
        columns["judge"] = [f"judge {j}" for j in judge]
    rows = [",".join(row) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join([",".join(columns), *rows, ""]))


def write(folder, n, m):
    rng = np.random.default_rng(0)
    u = rng.normal(size=n)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    z = u[first] - u[second] + rng.logistic(size=m)
    save(folder / "matches.csv", first, second, z)
    near, weight = u + 0.3 * rng.normal(size=n), rng.normal(size=n)
    table = [f"item {i},{near[i]:.4f},{weight[i]:.4f},{'ab'[i % 2]}" for i in range(n)]
    (folder / "items.csv").write_text("\n".join(["item,size,weight,kind", *table, ""]))
    judge, taste = rng.integers(0, JUDGES, m), rng.normal(size=(JUDGES, n))
    save(folder / "judged.csv", first, second, z, TIED, judge)
    save(folder / "tastes.csv", first, second, z + taste[judge, first] - taste[judge, second], TIED, judge)
    p, q = np.sin(near + weight), np.cos(near - weight)
    around = z + 2 * (p[first] * q[second] - q[first] * p[second])
    save(folder / "circles.csv", first, second, around)
    save(folder / "judged_circles.csv", first, second, around, TIED, judge)
    if n <= MOST_ROUGH:
        write_rough(folder, first, second, rng)


def write_rough(folder, first, second, rng):
    n, m = int(max(first.max(), second.max())) + 1, len(first)
    X = rng.normal(size=(n, 6))
    squares = np.square(X).sum(axis=1)
    K = np.exp(-(squares[:, None] + squares - 2 * X @ X.T) / (2 * ROUGH**2))
    root = np.linalg.cholesky(K + 1e-9 * np.eye(n))
    S = np.triu(rng.normal(size=(n, n)), 1)
    C = 1.5 * root @ (S - S.T) @ root.T
    z = X[first, 0] - X[second, 0] + C[first, second] + rng.logistic(size=m)
    save(folder / "rough.csv", first, second, z, TIED, rng.integers(0, 10 * JUDGES, m))
    again, judge = rng.integers(0, 3 * n, m), rng.integers(0, 3 * JUDGES, m)
    first, second, taste = first[again], second[again], 0.7 * rng.normal(size=(3 * JUDGES, n))
    z = X[first, 0] - X[second, 0] + C[first, second] + taste[judge, first] - taste[judge, second]
    save(folder / "again.csv", first, second, z + rng.logistic(size=m), TIED, judge)
    table = [",".join([f"item {i}", *(f"{x:.4f}" for x in row)]) for i, row in enumerate(X)]
    (folder / "six.csv").write_text("\n".join([",".join(["item", *"abcdef"]), *table, ""]))


def seconds(command, folder, repeats):
    best = np.inf
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes: only to see that everything runs")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    repeats = 1 if options.small else options.repeats
    preflearn = [sys.executable, "-m", "preflearn"]
    jobs = [("preflearn --help", (30, 100), ["--help"], 0.3)]
    sizes = [(20, 100)] if options.small else [(200, 2000), (1000, 100_000)]
    for n, m in sizes:
        what = f"{m:,} comparisons of {n:,} items"
        aim = 5.0 if (n, m) == (200, 2000) else None
        jobs.append((f"rank {what}", (n, m), ["rank", "matches.csv"], aim))
        jobs.append((f"rank {what}, report", (n, m), ["rank", "matches.csv", "--report", "r.html", "--force"], None))
    if not options.small:
        for n, m in ((5000, 5000), (5000, 20_000)):
            jobs.append((f"rank {m:,} comparisons of {n:,} items", (n, m), ["rank", "matches.csv"], 30.0))
    n, m = sizes[0]
    aim = 5.0 if (n, m) == (200, 2000) else None
    for name, words in (
        ("matches.csv", "features"),
        ("judged.csv", "features, judges, ties"),
        ("tastes.csv", "features, judges of different tastes, ties"),
        ("circles.csv", "features, circles"),
        ("judged_circles.csv", "features, circles, judges, ties"),
        ("rough.csv", "six features, rough circles, 100 judges, ties"),
        ("again.csv", "the same about three pairs for each item, 30 judges of different tastes"),
    ):
        items = "six.csv" if name in ("rough.csv", "again.csv") else "items.csv"
        jobs.append((f"rank {m:,} comparisons of {n:,} items, {words}", (n, m), ["rank", name, "--items", items], aim))
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yardstick = seconds([sys.executable, "-c", IMPORTS], folder, repeats)
        for job, size, command, aim in jobs:
            write(folder, *size)
            ours = seconds([*preflearn, *command], folder, repeats)
            met = aim is None or ours <= aim
            words = "" if aim is None else f"{aim:g} s"
            rows.append(Row(job, f"{ours:.2f} s", f"imports {yardstick:.2f} s", f"{ours / yardstick:.2f}", words, met))
            print(f"{job}: {ours:.2f} s", flush=True)
    print_table(rows)


if __name__ == "__main__":
    main()
