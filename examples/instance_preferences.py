"""How well are preferences between items learned from a few hundred pairs? Table 1 of the preference GP paper.

    python examples/instance_preferences.py DIRECTORY [--trials 20] [--sets ...] [--methods ...]
                                            [--features evidence] [--small]

DIRECTORY holds the five regression sets as CSV, target last. A pair prefers the item with the larger target; pairs with
equal targets are left out. Each trial draws distinct pairs at random: 100 to 1,000 train, 20,000 others test (all
others where a set has fewer). Features are standardised by the items of the training pairs. Nothing is chosen on test
pairs: the Gaussian processes maximise the evidence, CC-SVM cross-validates on its training pairs.

Beside the paper's models (Laplace's method, Gaussian kernel with one width or one for each feature: ARD) stand the same
with EP, whose evidence is climbed from Laplace's optimum. The log evidence is that of the training pairs alone and may
be used to choose: with --features evidence every trial takes the features as they are or as logarithms, whichever has
the higher evidence under the GP with one width. CC-SVM always has them as they are.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from scipy.stats import ranksums
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from preflearn import Comparisons, OnItems, PreferenceGP
from preflearn.baselines import ConstraintSVMCV
from preflearn.metrics import comparison_log_loss, expected_calibration_error, pairwise_accuracy

# training pairs, then the paper's error rates with their standard deviations, in percent
PAPER = {
    "pyrimidines": (100, {"CC-SVM": (16.01, 2.29), "GP": (14.43, 2.02), "GP-ARD": (16.56, 1.76)}),
    "triazines": (300, {"CC-SVM": (20.37, 1.32), "GP": (17.78, 0.97), "GP-ARD": (18.26, 1.45)}),
    "machine_cpu": (500, {"CC-SVM": (15.31, 1.26), "GP": (12.12, 1.49), "GP-ARD": (12.86, 0.71)}),
    "boston_housing": (700, {"CC-SVM": (13.30, 1.08), "GP": (12.85, 0.46), "GP-ARD": (10.44, 0.64)}),
    "abalone": (1000, {"CC-SVM": (18.76, 0.35), "GP": (17.29, 0.38), "GP-ARD": (17.35, 0.38)}),
}
METHODS = ("GP", "GP-ARD", "GP, EP", "GP-ARD, EP", "CC-SVM")


def load(path):
    """Return features and target; a first column of words (the sex of an abalone) becomes one column per word."""
    rows = [line.split(",") for line in path.read_text().splitlines()[1:] if line.strip()]
    words = sorted({row[0] for row in rows})
    if any(word.isalpha() for word in words):
        rows = [[*(float(row[0] == word) for word in words), *row[1:]] for row in rows]
    table = np.array(rows, dtype=np.float64)
    return table[:, :-1], table[:, -1]


def draw_pairs(X, y, n_train, n_test, rng):
    """Return training and test comparisons over the same items: distinct random pairs with different targets."""
    n = len(y)
    before = np.arange(n) * n - np.arange(n) * (np.arange(n) + 1) // 2  # number of pairs (i, j), i < j, before row i
    n_pairs = n * (n - 1) // 2
    code = rng.choice(n_pairs, min(n_pairs, 2 * (n_train + n_test)), replace=False)  # twice as many: some are tied
    low = np.searchsorted(before, code, side="right") - 1
    high = code - before[low] + low + 1
    outcome = np.sign(y[low] - y[high])
    low, high, outcome = (column[outcome != 0] for column in (low, high, outcome))
    train, test = slice(n_train), slice(n_train, n_train + n_test)
    return tuple(Comparisons(X, low[part], high[part], outcome[part]) for part in (train, test))


def fit(method, train, fitted, seed, small):
    """Return a fitted model; EP starts where Laplace's method ended."""
    if method == "CC-SVM":
        grid = {"log10_C": (0, 2), "log10_kappa": (-2, 0), "refine": 0} if small else {}
        return ConstraintSVMCV(random_state=seed, **grid).fit(train)
    if method.endswith("EP"):
        kernel = fitted[method.removesuffix(", EP")].kernel_
        return PreferenceGP(kernel, inference="ep", n_restarts=0).fit(train)
    kernel = "ard" if method == "GP-ARD" else "rbf"
    return PreferenceGP(kernel, n_restarts=0 if small else 1, random_state=seed).fit(train)


def judge(model, test):
    """Return error rate in percent, log loss, calibration error, by how much it is too sure, log evidence."""
    if not hasattr(model, "predict_proba"):
        return 100 * (1 - model.score(test)), np.nan, np.nan, np.nan, np.nan
    p = model.predict_proba(test)[:, 1]
    accuracy = pairwise_accuracy(test.outcome, p - 0.5)
    return (
        100 * (1 - accuracy),
        comparison_log_loss(test.outcome, p),
        expected_calibration_error(test.outcome, p),
        float(np.maximum(p, 1 - p).mean()) - accuracy,
        model.log_evidence_,
    )


def logarithm(X):
    return np.sign(X) * np.log1p(np.abs(X))


SCALES = {
    "standard": StandardScaler(),
    "log": make_pipeline(FunctionTransformer(logarithm), StandardScaler()),
}


def scaled(train, features, seed, small):
    """Return the transformer of the features, chosen by the evidence of the training pairs where asked."""
    fitted = {name: OnItems(scale).fit(train) for name, scale in SCALES.items()}
    if features != "evidence":
        return fitted[features]
    evidence = {
        name: fit("GP", scaler.transform(train), {}, seed, small).log_evidence_ for name, scaler in fitted.items()
    }
    return fitted[max(evidence, key=evidence.get)]


def run(path, n_train, n_test, methods, trials, *, features, small):
    """Return for each method the figures of all trials, (trials, 5)."""
    X, y = load(path)
    figures = {method: [] for method in methods}
    for trial in range(trials):
        train, test = draw_pairs(X, y, n_train, n_test, np.random.default_rng([trial, len(y)]))
        chosen, plain = (scaled(train, name, trial, small) for name in (features, "standard"))
        fitted = {}
        for method in methods:
            begin = time.perf_counter()
            scaler = plain if method == "CC-SVM" else chosen
            fitted[method] = fit(method, scaler.transform(train), fitted, trial, small)
            figures[method].append(judge(fitted[method], scaler.transform(test)))
            error, loss, calibration, *_ = figures[method][-1]
            print(
                f"{path.stem}, trial {trial + 1}, {method}: error {error:.2f} %, log loss {loss:.3f}, "
                f"calibration error {calibration:.3f}; {time.perf_counter() - begin:.1f} s",
                file=sys.stderr,
                flush=True,
            )
    return {method: np.array(rows) for method, rows in figures.items()}


def report(name, n_train, figures):
    paper = PAPER[name][1]
    for method, rows in figures.items():
        mean = rows.mean(axis=0)
        spread = rows[:, 0].std(ddof=1) if len(rows) > 1 else 0.0
        printed = "{:.2f} ± {:.2f}".format(*paper[method]) if method in paper else ""
        rest = f"{mean[1]:.3f} | {mean[2]:.3f} | {mean[3]:+.3f} | {mean[4]:.1f}"
        rest = " | | | " if np.isnan(mean[1]) else rest
        print(f"| {name} ({n_train}) | {method} | {mean[0]:.2f} ± {spread:.2f} | {printed} | {rest} |", flush=True)


def compare(results):
    """Say how our figures stand to the paper's."""
    best = {name: min(error for error, _ in PAPER[name][1].values()) for name in results}
    for columns in (("GP", "GP-ARD"), ("GP, EP", "GP-ARD, EP")):
        ours = {n: min((f[c][:, 0].mean() for c in columns if c in f), default=np.nan) for n, f in results.items()}
        below = [name for name in results if ours[name] <= best[name]]
        print(f"better of {' and '.join(columns)} at or below the paper's best column: {len(below)} of {len(results)}")
    for name, figures in results.items():
        for method, (error, deviation) in PAPER[name][1].items():
            margin = 1.5 if method == "CC-SVM" else deviation
            if method in figures and figures[method][:, 0].mean() > error + margin:
                print(f"{name}: {method} is more than {margin:.2f} above the paper's {error:.2f}")
        if "CC-SVM" in figures and "GP" in figures and len(figures["GP"]) > 1:
            test = ranksums(figures["CC-SVM"][:, 0], figures["GP"][:, 0])
            print(f"{name}: CC-SVM against GP, Wilcoxon rank sum, p = {test.pvalue:.1e}")
        for method, rows in figures.items():
            if rows[:, 2].mean() > 0.04:
                print(f"{name}: calibration error of {method} is {rows[:, 2].mean():.3f}, more than 0.04")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--sets", nargs="+", choices=list(PAPER), default=list(PAPER))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument(
        "--features",
        choices=[*SCALES, "evidence"],
        default="standard",
        help="standardised as they are, as sign(x) log(1 + |x|), or whichever has the higher evidence",
    )
    parser.add_argument("--small", action="store_true", help="50 training pairs, 2,000 test pairs, a small grid")
    options = parser.parse_args()
    for method in options.methods:
        if method.endswith("EP") and method.removesuffix(", EP") not in options.methods:
            parser.error(f'"{method}" starts from "{method.removesuffix(", EP")}": name that, too')
    methods = [method for method in METHODS if method in options.methods]
    columns = ("error rate, %", "paper", "log loss", "calibration error", "too sure by", "log evidence")
    print(f"| set (training pairs) | method | {' | '.join(columns)} |\n|{8 * '---|'}", flush=True)
    results = {}
    for name in options.sets:
        n_train, n_test = (50, 2000) if options.small else (PAPER[name][0], 20_000)
        path = options.directory / f"{name}.csv"
        results[name] = run(
            path, n_train, n_test, methods, options.trials, features=options.features, small=options.small
        )
        report(name, n_train, results[name])
    if not options.small:  # fewer pairs than in the paper
        print()
        compare(results)


if __name__ == "__main__":
    main()
