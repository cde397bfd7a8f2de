"""Can classes and label orders be learned as preferences between labels? Chu and Ghahramani (2005), Table 2 and Fig. 3.

    python examples/label_preferences.py DIR --table2 [--trials 20] [--sets usps ...] [--inference ep]
    python examples/label_preferences.py --figure3 labels.png [--trials 20]

Table 2: five classification sets in DIR, 300 items to train on and 500 to test, drawn afresh for every trial (the
paper's own partitions are not available). Features are as in Wu, Lin and Weng (2004), from whom the paper has its
sets: each scaled to [-1, 1] over the whole set, those of dna left at 0 and 1. The kernel is the paper's Gaussian with
one width, started where the paper starts and at one random place; the evidence chooses. Test items are only predicted.
Beside the paper's two error rates stand log loss and expected calibration error of the probabilities of test edges.

Fig. 3: items are probabilities p of ten states, label a has expected utility U_a p; all pairs of labels of 50 items are
given, a linear kernel learns U, and 500 new items (the paper does not say how many) are ranked.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct

from preflearn.data import from_class_labels, from_label_rankings
from preflearn.metrics import comparison_log_loss, expected_calibration_error
from preflearn.models.label_gp import LabelPreferenceGP

# name: files, column of the class, whether to scale, and the paper's GP: label error, preference error, its deviation
SETS = {
    "dna": (("dna.csv.gz",), "Class", False, (10.67, 6.08, 0.92)),
    "waveform": (("waveform21.csv",), "class", True, (15.22, 7.62, 0.79)),
    "satimage": (("satimage.csv.gz",), "classes", True, (15.21, 4.03, 0.45)),
    "segment": (("segment.csv",), "class", True, (6.21, 1.41, 0.38)),
    "usps": (("usps_train.csv.gz", "usps_test.csv.gz"), "digit", False, (12.13, 2.82, 0.39)),
}
N_TRAIN, N_TEST = 300, 500


def load(folder, name):
    import pandas as pd

    files, column, scale, _ = SETS[name]
    table = pd.concat([pd.read_csv(folder / "multiclass" / file) for file in files], ignore_index=True)
    X = table.drop(columns=column).to_numpy(dtype=np.float64)
    if scale:
        low, high = X.min(axis=0), X.max(axis=0)
        X = 2 * (X - low) / np.where(high > low, high - low, 1) - 1
    return X, table[column].to_numpy()


def classify(X, y, seed, n_train, n_test, inference):
    """Return label error, preference error, log loss and calibration error on one partition."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[:n_train], order[n_train : n_train + n_test]
    labels = np.unique(y)
    kernel = ConstantKernel(1.0) * RBF(np.sqrt(X.shape[1]))  # σ = 1, κ = 1/d
    model = LabelPreferenceGP(kernel, inference=inference, n_restarts=1, random_state=seed)
    model.fit(from_class_labels(X[train], y[train], labels=labels))
    edges = from_class_labels(X[test], y[test], labels=labels)
    p = model.predict_proba(edges)[:, 1]
    return (
        100 * (1 - model.score(X[test], y[test])),
        100 * (1 - model.score(edges)),
        comparison_log_loss(edges.outcome, p),
        expected_calibration_error(edges.outcome, p),
    )


def table2(folder, names, trials, inference, small):
    n_train, n_test = (60, 100) if small else (N_TRAIN, N_TEST)
    print(f"{inference}, {trials} partitions, {n_train} train, {n_test} test; mean ± standard deviation; paper's GP")
    print(
        "| set | labels | label error % | paper | preference error % | paper | log loss | calibration error | s / fit |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    inside = []
    for name in names:
        X, y = load(folder, name)
        start = time.perf_counter()
        found = np.array([classify(X, y, seed, n_train, n_test, inference) for seed in range(trials)])
        seconds = (time.perf_counter() - start) / trials
        (label, preference, loss, calibration), spread = found.mean(axis=0), found.std(axis=0)
        paper = SETS[name][3]
        inside.append(preference <= paper[1] + paper[2])
        print(
            f"| {name} | {len(np.unique(y))} | {label:.2f} ± {spread[0]:.2f} | {paper[0]:.2f} | {preference:.2f} ± "
            f"{spread[1]:.2f} | {paper[1]:.2f} ± {paper[2]:.2f} | {loss:.3f} ± {spread[2]:.3f} | "
            f"{calibration:.3f} ± {spread[3]:.3f} | {seconds:.1f} |",
            flush=True,
        )
    print(f"preference error at most the paper's plus its deviation: {sum(inside)} of {len(inside)} sets")
    assert small or all(inside)


def rank_labels(n_labels, seed, n_train=50, n_test=500, n_states=10):
    """Return preference error and mean rank correlation of the order of labels by expected utility."""
    rng = np.random.default_rng([n_labels, seed])
    U = rng.uniform(size=(n_labels, n_states))
    train, test = (rng.dirichlet(np.ones(n_states), size) for size in (n_train, n_test))
    kernel = ConstantKernel(100.0, (1e-2, 1e8)) * DotProduct(0.0, "fixed")
    orders = np.argsort(-train @ U.T, axis=1)
    model = LabelPreferenceGP(kernel, n_restarts=0).fit(from_label_rankings(train, orders, labels=range(n_labels)))
    truth = from_label_rankings(test, np.argsort(-test @ U.T, axis=1), labels=range(n_labels))
    ranks = [np.argsort(np.argsort(-values, axis=1), axis=1) for values in (test @ U.T, model.predict_utility(test))]
    distance = ((ranks[0] - ranks[1]) ** 2).sum(axis=1)
    return 1 - model.score(truth), float(np.mean(1 - 6 * distance / (n_labels * (n_labels**2 - 1))))


def figure3(path, trials):
    counts = list(range(2, 11))
    found = np.array([[rank_labels(n_labels, seed) for seed in range(trials)] for n_labels in counts])
    mean, spread = found.mean(axis=1), found.std(axis=1)
    print(f"{trials} draws of utilities and items; mean ± standard deviation")
    print("| labels | preference error | rank correlation |\n|---|---|---|")
    for n_labels, m, s in zip(counts, mean, spread, strict=True):
        print(f"| {n_labels} | {m[0]:.4f} ± {s[0]:.4f} | {m[1]:.4f} ± {s[1]:.4f} |")
    if path != "-":
        draw(path, counts, mean, spread)
    assert mean[-1, 0] <= 0.05
    assert mean[-1, 1] >= 0.9


def draw(path, counts, mean, spread):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6))
    for side, (name, limits) in enumerate((("preference error", (0, 0.1)), ("rank correlation", (0.65, 1.0)))):
        axes[side].errorbar(counts, mean[:, side], spread[:, side], fmt="x-", capsize=3)
        axes[side].set(xlabel="number of labels", ylabel=f"{name} on new items", ylim=limits, xticks=counts)
    figure.suptitle("Label order by expected utility, 50 training items (axes as in Fig. 3 of the paper)")
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, metavar="DIR", help="directory with multiclass/ in it")
    parser.add_argument("--table2", action="store_true")
    parser.add_argument("--figure3", metavar="FILE", help="a picture, or - for the numbers alone")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--inference", choices=["laplace", "ep"], default="laplace", help="for --table2; EP is slow")
    parser.add_argument("--small", action="store_true", help="smaller parts of the sets: only to see that it runs")
    options = parser.parse_args()
    if not (options.table2 or options.figure3) or (options.table2 and options.folder is None):
        parser.print_usage(sys.stderr)
        parser.exit(2, "Ask for --table2 (with DIR), --figure3 FILE, or both.\n")
    if options.figure3:
        figure3(options.figure3, options.trials)
    if options.table2:
        table2(options.folder, options.sets, options.trials, options.inference, options.small)


if __name__ == "__main__":
    main()
