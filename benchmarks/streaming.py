"""Least squares on rows in pieces, beside merely reading them and computing their weighted Gram matrix.

    python -m benchmarks.streaming [--rows 1000000] [--features 50] [--folder DIR] [--small]

Rows are in Parquet files, in groups of 20; each job is a process of its own on one thread, and times are those of its
processor. Memory is the peak above imports. The exponent is the slope of log time on log rows over two decades.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

GROUP, PART = 20, 1_000_000  # rows of a group, and of a file
FEW = 100  # functions of an approximation
JOBS = (
    "read and Gram",
    "RankRLS",
    "RankRLS, no ties",
    "RLS",
    "RankRLS, groups apart",
    "RankRLSCV",
    "Nystroem",
    "random features",
    "KPCRank",
    "predict",
)


def write(folder, rows, features):
    """Write the files of one size; groups are numbered in order, or spread over all files ("apart")."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    w = rng.normal(size=features)
    for part, start in enumerate(range(0, rows, PART)):
        n = min(PART, rows - start)
        X = rng.normal(size=(n, features))
        row = np.arange(start, start + n)
        y = np.digitize(X @ w / np.sqrt(features) + rng.normal(size=n), [-1.0, 0.5, 1.5]).astype(float)
        columns = {f"x{j}": X[:, j] for j in range(features)}
        columns |= {"y": y, "query": row // GROUP, "apart": row % max(1, rows // GROUP)}
        parquet.write_table(pa.table(columns), folder / f"{part}.parquet", compression="none", use_dictionary=False)


def peak_memory():
    """Return the largest resident memory so far, in KiB; getrusage would tell that of the parent too."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def job(name, folder, features):
    """Run one job and print what it took."""
    from preflearn import RLS, KPCRank, Nystroem, RandomFourier, RankRLS, RankRLSCV
    from preflearn.scale import Chunks, predict_to, read_chunks

    names = [f"x{j}" for j in range(features)]
    group = "apart" if name.endswith("apart") else "query"
    chunks = read_chunks(folder, target="y", group=group, features=names)
    model = RankRLS().fit(Chunks([next(iter(chunks))]))
    before = peak_memory()
    start = time.process_time()
    if name == "read and Gram":
        M = np.zeros((features, features))
        for chunk in chunks:
            T = chunk.X * np.sqrt(chunk.y + 1)[:, None]
            M += T.T @ T
    elif name == "predict":
        predict_to(model, chunks, Path(tempfile.gettempdir(), "predicted.parquet"))
    else:
        models = {
            "RankRLS": RankRLS(),
            "RankRLS, no ties": RankRLS(ties="exclude"),
            "RLS": RLS(),
            "RankRLS, groups apart": RankRLS(),
            "RankRLSCV": RankRLSCV(),
            "Nystroem": RankRLS(kernel="rbf", approximation=Nystroem(FEW, random_state=0)),
            "random features": RankRLS(kernel="rbf", approximation=RandomFourier(FEW, random_state=0)),
            "KPCRank": KPCRank(20, "rbf", approximation=Nystroem(FEW, random_state=0)),
        }
        models[name].fit(chunks)
    took = time.process_time() - start
    peak = peak_memory()
    print(json.dumps({"seconds": took, "mib": (peak - before) / 1024, "peak": peak / 1024}))


def run(name, folder, features, repeats=2):
    command = [sys.executable, "-m", "benchmarks.streaming", "--job", name, "--folder", str(folder)]
    found = [
        json.loads(
            subprocess.run(
                [*command, "--features", str(features)],
                check=True,
                capture_output=True,
                text=True,
                env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            ).stdout
        )
        for _ in range(repeats)
    ]
    return min(found, key=lambda one: one["seconds"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--jobs", nargs="*", default=JOBS, choices=JOBS)
    parser.add_argument("--job", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job(options.job, options.folder, options.features)
        return
    rows = 20_000 if options.small else options.rows
    sizes = [rows // 100, rows // 10, rows]
    jobs = ("read and Gram", *(name for name in options.jobs if name != "read and Gram"))
    times = {name: [] for name in jobs}
    memory = {}
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        for size in sizes:
            inside = Path(folder, str(size))
            inside.mkdir()
            write(inside, size, options.features)
            for name in jobs:
                found = run(name, inside, options.features)
                times[name].append(found["seconds"])
                memory[name] = found
    print(f"{rows:,} rows x {options.features} features, groups of {GROUP}, one thread\n")
    print("| job | time | ratio to reading and Gram | exponent in rows | memory above imports | in all |")
    print("|---|---|---|---|---|---|")
    for name in jobs:
        slope = np.polyfit(np.log(sizes), np.log(times[name]), 1)[0]
        ratio = times[name][-1] / times["read and Gram"][-1]
        found = memory[name]
        print(
            f"| {name} | {times[name][-1]:.2f} s | {ratio:.2f} | {slope:.2f} | {found['mib']:.0f} MiB "
            f"| {found['peak']:.0f} MiB |"
        )


if __name__ == "__main__":
    main()
