"""How large data may be: time and memory of each way to learn against its size, for docs/how-big.md.

    python -m benchmarks.how_big [--small] [--only NAME ...] [--write]

Each size is a process of its own on one thread. Times are those of the processor and peaks of memory are above imports,
so that other work on the machine does not matter; workers of Dask are timed by the clock. Exponents are slopes of log
time on log size over the larger half of the sizes, where fixed costs no longer count. ``--write`` keeps what was found
in benchmarks/how_big.json and writes the tables of docs/how-big.md.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
KEPT, PAGE = HERE / "how_big.json", HERE.parent / "docs" / "how-big.md"
PIECE = 50_000

# what is measured: the name of its size, sizes, and what stays the same
WAYS: dict[str, tuple[str, list[int], dict[str, int]]] = {
    "RankRLS, rows in pieces": ("n", [30_000, 100_000, 300_000, 1_000_000, 3_000_000], {"d": 20}),
    "RankRLS, features": ("d", [25, 50, 100, 200, 400], {"n": 100_000}),
    "RankRLS, random features": ("r", [50, 100, 200, 400], {"n": 100_000, "d": 20}),
    "KPCRank, rows in pieces": ("n", [30_000, 100_000, 300_000], {"d": 20, "r": 50}),
    "BradleyTerry, votes of 200 items": ("m", [100_000, 300_000, 1_000_000, 3_000_000], {"n": 200}),
    "PreferenceGP, comparisons": ("m", [10_000, 30_000, 100_000, 300_000], {"n": 2_000, "d": 5, "r": 50}),
    "PreferenceGP, items": ("n", [1_000, 3_000, 10_000, 30_000], {"m": 50_000, "d": 5, "r": 50}),
    "PreferenceGP, landmarks": ("r", [25, 50, 100, 200], {"n": 5_000, "d": 5, "m": 50_000}),
    "DaskRankRLS, rows": ("n", [100_000, 300_000, 1_000_000], {"d": 20, "workers": 2}),
    "DaskRankRLS, workers": ("workers", [1, 2], {"n": 1_000_000, "d": 20}),
}


def pieces(n: int, d: int) -> Iterator[tuple[Any, Any, Any]]:
    """Yield rows in groups of 20."""
    for start in range(0, n, PIECE):
        yield piece(start, min(PIECE, n - start), d)


def piece(start: int, n: int, d: int) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(start)
    X = rng.normal(size=(n, d))
    return X, X @ np.linspace(-1, 1, d) + rng.normal(size=n), (start + np.arange(n)) // 20


def comparisons(n: int, m: int, d: int = 0) -> Any:
    from preflearn import Comparisons

    rng = np.random.default_rng(0)
    items = rng.normal(size=(n, max(d, 1)))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    truth = np.sin(items[:, 0])
    outcome = np.where(truth[first] - truth[second] + rng.logistic(size=m) > 0, 1.0, -1.0)
    return Comparisons(items if d else n, first, second, outcome)


def prepared(name: str, sizes: dict[str, int]) -> Any:
    """Return what is to be timed, its data made."""
    from preflearn import BradleyTerry, KPCRank, Nystroem, PreferenceGP, RandomFourier, RankRLS
    from preflearn.data import Chunks

    n, d, r = sizes.get("n", 0), sizes.get("d", 0), sizes.get("r", 0)
    if name.startswith("Dask"):
        return on_workers(n, d, sizes["workers"])
    if "n" in sizes and "m" not in sizes:
        rows = Chunks(lambda: pieces(n, d))
        if name.startswith("KPCRank"):
            return lambda: KPCRank(10, "rbf", approximation=Nystroem(r, random_state=0)).fit(rows)
        few = {"kernel": "rbf", "approximation": RandomFourier(r, random_state=0)} if r else {}
        return lambda: RankRLS(**few).fit(rows)
    data = comparisons(n, sizes["m"], d)
    if name.startswith("Bradley"):
        return lambda: BradleyTerry().fit(data)
    model = PreferenceGP(approximation=Nystroem(r, random_state=0), n_restarts=0, random_state=0)
    return lambda: model.fit(data)


def on_workers(n: int, d: int, workers: int) -> Any:
    import dask.array as da
    from dask.delayed import delayed
    from distributed import Client, LocalCluster

    from preflearn.scale import DaskRankRLS

    cluster = LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    )
    client = Client(cluster)

    def collections(n: int) -> list[Any]:
        tasks = [(delayed(piece, pure=True)(s, min(PIECE, n - s), d), min(PIECE, n - s)) for s in range(0, n, PIECE)]
        shapes = [lambda k: (k, d), lambda k: (k,), lambda k: (k,)]
        return [
            da.concatenate([da.from_delayed(task[i], shape(k), float if i < 2 else int) for task, k in tasks])
            for i, shape in enumerate(shapes)
        ]

    def fit(n: int = n) -> None:
        X, y, qid = collections(n)
        DaskRankRLS(client=client).fit(X, y, qid=qid)

    fit(2 * PIECE)  # workers have imported everything
    return fit


def peak_memory() -> float:
    """Return the largest resident memory so far, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def job(name: str, sizes: dict[str, int]) -> None:
    """Time one size and print what it took."""
    work = prepared(name, sizes)
    before, clock, processor = peak_memory(), time.perf_counter(), time.process_time()
    work()
    took = {"seconds": time.process_time() - processor, "clock": time.perf_counter() - clock}
    print(json.dumps({**took, "mib": peak_memory() - before}))


def measured(name: str, sizes: dict[str, int]) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.how_big", "--job", name, "--sizes", json.dumps(sizes)]
    one_thread = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=one_thread, cwd=HERE.parent)
    return json.loads(done.stdout.splitlines()[-1])


def exponent(rows: list[dict[str, Any]]) -> float:
    """Return the slope of log time on log size, over the larger half of the sizes."""
    some = rows[len(rows) // 2 - (len(rows) < 4) :]
    which = "clock" if "workers" in some[0] or "Dask" in some[0]["way"] else "seconds"
    return float(np.polyfit(np.log([one["size"] for one in some]), np.log([one[which] for one in some]), 1)[0])


def table(name: str, rows: list[dict[str, Any]]) -> str:
    """Return the table of one way."""
    letter, _, fixed = WAYS[name]
    dask = name.startswith("Dask")
    beside = ", ".join(f"{key} = {value:,}" for key, value in fixed.items())
    lines = [f"| {letter} ({beside}) | seconds{' by the clock' if dask else ''} | MiB |", "|---|---|---|"]
    lines += [f"| {one['size']:,} | {one['clock' if dask else 'seconds']:.2f} | {one['mib']:.0f} |" for one in rows]
    return "\n".join([f"**{name}**: time grows as {letter}^{exponent(rows):.2f}.", "", *lines])


def write_page(found: dict[str, list[dict[str, Any]]]) -> None:
    text = PAGE.read_text()
    for name, rows in found.items():
        mark = re.escape(f"<!-- {name} -->")
        text = re.sub(
            f"{mark}.*?<!-- end -->",
            lambda _, n=name, r=rows: f"<!-- {n} -->\n{table(n, r)}\n<!-- end -->",
            text,
            flags=re.S,
        )
    PAGE.write_text(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--only", nargs="*", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--job", default=None, help=argparse.SUPPRESS)
    parser.add_argument("--sizes", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job(options.job, json.loads(options.sizes))
        return
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for name in options.only:
        letter, sizes, fixed = WAYS[name]
        sizes = sizes[:2] if options.small else sizes
        rows = [{"way": name, "size": size, **measured(name, {**fixed, letter: size})} for size in sizes]
        print(table(name, rows), end="\n\n", flush=True)
        kept[name] = rows
        if options.write:
            rounded = {
                key: [{k: round(v, 3) if isinstance(v, float) else v for k, v in row.items()} for row in rows]
                for key, rows in kept.items()
            }
            KEPT.write_text(json.dumps(rounded, indent=1) + "\n")
    if options.write:
        write_page(kept)


if __name__ == "__main__":
    main()
