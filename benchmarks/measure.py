"""Timing and memory: minimum of several alternating runs; peak memory of arrays by tracemalloc."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import dataclass


@dataclass
class Row:
    """One line of the table: a job, its yardstick in the same run, their ratio, and the aim."""

    job: str
    ours: str
    yardstick: str
    ratio: str
    aim: str
    met: bool


def alternate(*jobs, repeats=3):
    """Return the least time of each job; the jobs take turns, so that a noisy minute hits them alike."""
    best = [float("inf")] * len(jobs)
    for _ in range(repeats):
        for i, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def peak_bytes(job):
    """Return the most memory that arrays made during the job took at one time; what was there before does not count."""
    tracemalloc.start()
    try:
        job()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def ratio_row(job, ours, yardstick, name, aim):
    ratio = ours / yardstick
    return Row(job, f"{ours:.2f} s", f"{name} {yardstick:.2f} s", f"{ratio:.2f}", f"≤ {aim:g}", ratio <= aim)


def print_table(rows):
    print("| job | ours | yardstick | ratio | aim | met |\n|---|---|---|---|---|---|")
    for r in rows:
        print(f"| {r.job} | {r.ours} | {r.yardstick} | {r.ratio} | {r.aim} | {'yes' if r.met else 'NO'} |", flush=True)
