"""BradleyTerry against choix's I-LSR, and at 100,000 items.

    pip install choix
    python -m benchmarks.bradley_terry [--small]

The same comparisons of items with standard normal utilities and logistic noise for both. I-LSR gives utilities only,
regularised by alpha = 0.01; ours include standard errors, with the prior's variance given or learned. Before anything
is timed, maximum likelihood of both is compared on the same comparisons. One thread.
"""

from __future__ import annotations

import argparse
from importlib.util import find_spec

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.measure import Row, alternate, peak_bytes, print_table, ratio_row
from preflearn import BradleyTerry, Comparisons

AGREEMENT = 1e-5


def matches(n, m, seed=0):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    f = rng.normal(size=n)
    up = f[first] - f[second] + rng.logistic(size=m) > 0
    return Comparisons(n, np.where(up, first, second), np.where(up, second, first))


def against_choix(n, m, repeats):
    """Fit with standard errors against utilities alone."""
    if find_spec("choix") is None:
        print("BradleyTerry against choix: skipped, choix is not installed (pip install choix)", flush=True)
        return
    import choix

    data = matches(n, m)
    pairs = list(zip(data.first.tolist(), data.second.tolist(), strict=True))
    small = matches(20, 1000)
    theirs = choix.ilsr_pairwise(20, list(zip(small.first.tolist(), small.second.tolist(), strict=True)))
    apart = np.abs(BradleyTerry(prior=None).fit(small).utility_ - theirs).max()
    if not apart <= AGREEMENT:
        raise SystemExit(f"bradley_terry: utilities of the two differ by {apart:.1e}; nothing was timed.")
    given, learned, peer = alternate(
        lambda: BradleyTerry(prior=1.0).fit(data),
        lambda: BradleyTerry().fit(data),
        lambda: choix.ilsr_pairwise(n, pairs, alpha=0.01),
        repeats=repeats,
    )
    for what, ours in (("variance given", given), ("variance learned", learned)):
        yield ratio_row(f"BradleyTerry, {what}, {n:,} items, {m:,} comparisons", ours, peer, "choix I-LSR", 0.2)


def at_scale(n, m):
    """Fit with a learned variance, without any n x n matrix."""
    data = matches(n, m)
    seconds = alternate(lambda: BradleyTerry().fit(data), repeats=1)[0]
    peak = peak_bytes(lambda: BradleyTerry(prior=1.0).fit(data))
    yield Row(
        f"BradleyTerry, {n:,} items, {m:,} comparisons",
        f"{seconds:.1f} s, {peak / 1e9:.2f} GB",
        "one minute, 4 GB",
        f"{seconds / 60:.2f}",
        "≤ 1",
        seconds <= 60 and peak <= 4e9,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="small sizes: only to see that everything runs")
    options = parser.parse_args()
    with threadpool_limits(1):
        jobs = (against_choix(100, 1000, 1), at_scale(4000, 20_000))
        if not options.small:
            jobs = (against_choix(1000, 100_000, 3), at_scale(100_000, 1_000_000))
        print_table([row for job in jobs for row in job])


if __name__ == "__main__":
    main()
