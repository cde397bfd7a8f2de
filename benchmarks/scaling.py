"""What does a fit cost as comparisons and items grow? Fig. 2 (right) of the preference GP paper, on simulated items.

    python -m benchmarks.scaling [--figure cost.png] [--small] [--repeats 5] [--threads 1]

One fit at fixed hyperparameters: the preference GP finds the mode and the evidence, the constraint-classification SVM
(CC-SVM) solves its quadratic programme. Once over the number of comparisons of 500 items, once over the number of items
in 2,000 comparisons; every item occurs. CPU time, as in the paper: the least of several runs in which all jobs take
turns. Exponents are slopes in the log-log plot: over the sizes that both methods were given, over all sizes, and over
the last doubling.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from threadpoolctl import threadpool_limits

from preflearn import Comparisons, PreferenceGP
from preflearn.baselines import ConstraintSVM

N_FEATURES = 10
WIDTH = np.sqrt(N_FEATURES)


def simulate(n, m, seed=0):
    """Return m distinct noisy comparisons of n items, every item among them (a ring, then random pairs)."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES))
    f = 2 * np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    ring = rng.permutation(n)
    first, second = ring, np.roll(ring, 1)
    extra = rng.integers(0, n, size=(4 * m, 2))
    pairs = np.concatenate([np.column_stack([first, second]), extra[extra[:, 0] != extra[:, 1]]])
    _, place = np.unique(np.sort(pairs, axis=1), axis=0, return_index=True)
    pairs = pairs[np.sort(place)[:m]]
    assert len(pairs) == m, "there are not so many distinct pairs"
    z = f[pairs[:, 0]] - f[pairs[:, 1]] + rng.normal(size=m)
    return Comparisons(X, pairs[:, 0], pairs[:, 1], np.where(z > 0, 1, -1))


def jobs(data, largest_svm):
    kernel = ConstantKernel(4.0, "fixed") * RBF(WIDTH, "fixed")
    gp = PreferenceGP(kernel)
    svm = ConstraintSVM(RBF(WIDTH), C=1.0)
    return [lambda: gp.fit(data), *([lambda: svm.fit(data)] if len(data) <= largest_svm else [])]


def measure(sizes, largest_svm, repeats):
    """Return times (sizes, 2) of GP and CC-SVM for pairs (n, m), NaN where CC-SVM was left out."""
    planned = [jobs(simulate(n, m), largest_svm) for n, m in sizes]
    flat = alternate(*(job for some in planned for job in some), repeats=repeats)
    times, at = np.full((len(sizes), 2), np.nan), 0
    for row, some in enumerate(planned):
        times[row, : len(some)] = flat[at : at + len(some)]
        at += len(some)
    return times


def alternate(*tasks, repeats):
    """Return the least CPU time of each task; other programs on the machine do not count."""
    best = np.full(len(tasks), np.inf)
    for _ in range(repeats):
        for i, task in enumerate(tasks):
            start = time.process_time()
            task()
            best[i] = min(best[i], time.process_time() - start)
    return best


def slope(sizes, seconds):
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def exponents(sizes, times):
    """Return slopes of GP and CC-SVM (rows) over common sizes, over all sizes of the method, over its last doubling."""
    common = ~np.isnan(times).any(axis=1)
    rows = []
    for seconds in times.T:
        own = ~np.isnan(seconds)
        x, t = sizes[own], seconds[own]
        rows.append((slope(sizes[common], seconds[common]), slope(x, t), slope(x[-2:], t[-2:])))
    return np.array(rows)


def show(title, what, sizes, times):
    found = exponents(sizes, times)
    print(f"{title}\n\n| {what} | GP, s | CC-SVM, s |\n|---|---|---|")
    for size, (a, b) in zip(sizes, times, strict=True):
        print(f"| {size:,} | {a:.4f} | {'' if np.isnan(b) else f'{b:.4f}'} |")
    print("\n| exponent | sizes of both | all sizes | last doubling |\n|---|---|---|---|")
    for name, row in zip(("GP", "CC-SVM"), found, strict=True):
        print(f"| {name} | " + " | ".join(f"{value:.2f}" for value in row) + " |")
    print(flush=True)
    return found


def draw(path, panels):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True)
    for ax, (title, what, sizes, times, found) in zip(axes, panels, strict=True):
        for name, style, seconds, slopes in zip(("preference GP", "CC-SVM"), ("o-", "x-"), times.T, found, strict=True):
            ax.loglog(sizes, seconds, style, label=f"{name}: exponent {slopes[0]:.1f}, last doubling {slopes[2]:.1f}")
        ax.set(xlabel=what, title=title)
        ax.set_xticks(sizes, [f"{size:,}" for size in sizes], fontsize=8)
        ax.minorticks_off()
        ax.grid(True, which="major", alpha=0.3)
        ax.legend(fontsize=9, loc="lower right" if ax is axes[0] else "upper left")
    axes[0].set_ylabel("CPU seconds for one fit")
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figure", metavar="FILE")
    parser.add_argument("--small", action="store_true", help="small sizes: only to see that everything runs")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="BLAS threads (default 1)")
    options = parser.parse_args()
    if options.small:
        n, many, m, items, largest = 60, [60, 120, 240, 480, 960], 200, [25, 50, 100, 200], 480
    else:
        n, many, m, largest = 500, [500 * 2**i for i in range(8)], 2000, 4000
        items = [125, 250, 500, 1000, 2000]
    many, items = np.array(many), np.array(items)
    with threadpool_limits(options.threads):
        over_m = measure([(n, k) for k in many], largest, options.repeats)
        over_n = measure([(k, m) for k in items], largest, options.repeats)
    panels = []
    for title, what, sizes, times in (
        (f"{n} items", "comparisons", many, over_m),
        (f"{m:,} comparisons", "items", items, over_n),
    ):
        panels.append((title, what, sizes, times, show(title, what, sizes, times)))
    if options.figure:
        draw(options.figure, panels)


if __name__ == "__main__":
    main()
