"""Millions of votes: whole commands against evalica's Bradley-Terry, and against a bare group-by of pyarrow.

    python -m benchmarks.arena --votes [--small]

2,000,000 votes of 200 models in CSV and 20,000,000 in Parquet. ``preflearn rank`` prints utilities with intervals,
places, P(best), the verdict and checks; evalica prints scores; the group-by counts rows and prints nothing. CPU time of
processes of one thread, which take turns; the least of several runs. Memory is the peak of a process; the last row runs
where the kernel grants no more than 1 GiB of data (RLIMIT_DATA). The order of the models is compared first.
"""

from __future__ import annotations

import csv
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import Row, print_table, ratio_row

MODELS = 200
FULL, SMALL = (2_000_000, 20_000_000), (20_000, 50_000)  # votes in CSV and in Parquet
PIECE = 1_000_000  # votes that are drawn at a time
GROUP_BY = (
    "import sys, pyarrow.parquet as parquet; votes = parquet.read_table(sys.argv[1], use_threads=False); "
    "votes.group_by(votes.column_names, use_threads=False).aggregate([([], 'count_all')])"
)
LIMIT = 1 << 30


def votes(n_votes):
    """Yield columns of votes about models whose utilities are normal, with logistic noise and a tenth of ties."""
    import numpy as np

    rng = np.random.default_rng(0)
    utility = rng.normal(size=MODELS)
    names, words = np.array([f"model-{k:03d}" for k in range(MODELS)]), np.array(["left", "right", "tie"])
    for start in range(0, n_votes, PIECE):
        m = min(PIECE, n_votes - start)
        first = rng.integers(0, MODELS, m)
        second = (first + rng.integers(1, MODELS, m)) % MODELS
        lead = utility[first] - utility[second] + rng.logistic(size=m)
        yield names[first], names[second], words[np.where(np.abs(lead) < 0.3, 2, lead < 0)]


def write_csv(path, n_votes):
    with path.open("w") as out:
        out.write("left,right,winner\n")
        for columns in votes(n_votes):
            out.writelines(f"{a},{b},{c}\n" for a, b, c in zip(*(one.tolist() for one in columns), strict=True))


def write_parquet(path, n_votes):
    import pyarrow as pa
    from pyarrow import parquet

    titles = ("left", "right", "winner")
    schema = pa.schema([(title, pa.string()) for title in titles])
    with parquet.ParquetWriter(path, schema) as out:
        for columns in votes(n_votes):
            out.write_table(pa.table(dict(zip(titles, columns, strict=True)), schema))


def measured(command, limit=None):
    """Return CPU seconds and peak GiB of a process."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_NUM_THREADS"), "1")
    pid = os.fork()
    if pid == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
        os.execvpe(command[0], command, os.environ | threads)
    _, status, used = os.wait4(pid, 0)
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def least(*commands, repeats):
    """Return the least time of each command, which take turns, and its memory."""
    found = [[measured(command) for command in commands] for _ in range(repeats)]
    return [tuple(map(min, zip(*runs, strict=True))) for runs in zip(*found, strict=True)]


def order_of(command, out):
    """Return the models as a command orders them, best first, by the first column that it writes."""
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with out.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    column = next(name for name in rows[0] if name in ("score", "scores", "utility"))
    item = next(name for name in rows[0] if name in ("item", "items", "name"))
    return [row[item] for row in sorted(rows, key=lambda row: -float(row[column]))]


def rows_of(folder, n_csv, n_parquet, repeats):
    table, packed = folder / "votes.csv", folder / "votes.parquet"
    write_csv(table, n_csv)
    write_parquet(packed, n_parquet)
    home = Path(sys.executable).parent
    ours, evalica = str(home / "preflearn"), shutil.which("evalica", path=str(home))
    rows, job = [], f"{n_csv:,} votes of {MODELS} models, CSV"
    if evalica is None:
        (time, memory), yardstick = measured([ours, "rank", str(table)]), None
        rows.append(Row(job, f"{time:.2f} s", "evalica is not installed", "", "≤ 1.5", met=True))
    else:
        places = [
            order_of([ours, "rank", str(table), "--out", str(folder / "ours.csv")], folder / "ours.csv"),
            order_of(
                [evalica, "-i", str(table), "-o", str(folder / "its.csv"), "pairwise", "bradley-terry"],
                folder / "its.csv",
            ),
        ]
        moved = [abs(place - places[1].index(name)) for place, name in enumerate(places[0])]
        print(f"Largest difference of places between the two: {max(moved)}; {moved.count(0)} of {MODELS} agree.")
        commands = [ours, "rank", str(table)], [evalica, "-i", str(table), "pairwise", "bradley-terry"]
        (time, memory), yardstick = least(*commands, repeats=repeats)
        rows.append(ratio_row(job, time, yardstick[0], "evalica", 1.5))
    if yardstick is not None:
        rows.append(memory_row(job, memory, f"evalica {yardstick[1]:.2f} GiB"))
    commands = [ours, "rank", str(packed)], [sys.executable, "-c", GROUP_BY, str(packed)]
    (time, memory), (bare, its) = least(*commands, repeats=repeats)
    job = f"{n_parquet:,} votes, Parquet"
    rows.append(ratio_row(job, time, bare, "group-by", 2.0))
    rows.append(memory_row(job, memory, f"group-by {its:.2f} GiB"))
    measured([ours, "rank", str(packed)], limit=LIMIT)
    rows.append(Row(f"{job}, under a limit of 1 GiB", "done", "", "", "done", met=True))
    return rows


def memory_row(job, memory, yardstick):
    return Row(f"{job}, memory", f"{memory:.2f} GiB", yardstick, "", "< 1 GiB", memory < 1)


def main(*, small):
    with TemporaryDirectory() as folder:
        print_table(rows_of(Path(folder), *(SMALL if small else FULL), repeats=1 if small else 5))
