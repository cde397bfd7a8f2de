"""Run every speed and memory benchmark: make bench, or python -m benchmarks [--small] [--threads N]."""

from __future__ import annotations

import argparse
import platform

import numpy
import scipy
import sklearn
from threadpoolctl import threadpool_limits

from benchmarks.bradley_terry import against_choix, at_scale
from benchmarks.measure import print_table
from benchmarks.rank_svm import rank_svm
from benchmarks.speed import components, dual, nystroem, primal


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="small sizes: only to see that everything runs")
    parser.add_argument("--threads", type=int, default=None, help="BLAS threads (default: as many as there are)")
    options = parser.parse_args()
    if options.small:
        jobs = [dual(300, 1), primal(20_000, 1), nystroem(4_000, 50), components(400, 20, 1)]
        jobs += [rank_svm(4_000, 1_000, 1), against_choix(100, 1000, 1), at_scale(4000, 20_000)]
    else:
        jobs = [dual(3000, 3), dual(6000, 2), primal(1_000_000, 5), nystroem(100_000, 1000), components(2000, 100, 3)]
        jobs += [rank_svm(1_000_000, 100_000, 2)]
        jobs += [against_choix(1000, 100_000, 3), at_scale(100_000, 1_000_000)]
    print(
        f"Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}, {platform.machine()}; BLAS threads: {options.threads or 'default'}\n"
    )
    rows = []
    with threadpool_limits(options.threads):
        for job in jobs:
            for row in job:
                rows.append(row)
                print(f"{row.job}: {row.ours}; {row.yardstick}; ratio {row.ratio}; aim {row.aim}", flush=True)
    print()
    print_table(rows)


if __name__ == "__main__":
    main()
