"""How often is a ranking called cyclic, and from how many comparisons on are circles found?

    python examples/rankability_power.py [--repeats 40] [--items 16] [--shares 0.1 1] [--screen] [--features yes]
                                         [--plot FILE] [--small]

Truths: a ranking, circles, and both (half of the variance each). Items have two features that explain all of it, or
none, and every compared pair has three votes with probit noise. The share of pairs that are compared varies. Counted
are the verdicts of `preflearn.structure.rankability`: for a ranking how often it is called cyclic or partly cyclic
(false alarms, which should be below 5 %), for circles and both how often circles are found. With --screen circles are
learned only where the residuals of the ranking hint at them, as `preflearn.rank` does it.

    python examples/rankability_power.py --large [--learn] [--repeats 40] [--items 200] [--comparisons 2000]

is about the screening alone, on many pairs of items with features, each compared about once: how often the residuals of
a ranking hint at circles. Truths are a ranking by features, by features and own effects of items (half each), by own
effects alone, and preferences of which circles are 10, 20 and 50 % of the variance, the rest a ranking by features.

    python examples/rankability_power.py --along [--repeats 20] [--items 60] [--comparisons 1000]

is about circles along few of many features: preferences by the first of them, beside circles in the plane of the second
and third, circles along the second alone (rougher), or none. Counted is how often `preflearn.rank` finds circles, how
often it names the right features, and how often circles are found by a kernel of all features with one length scale.
"""

from __future__ import annotations

import argparse
import sys
import warnings

import numpy as np
import pandas as pd
from sklearn.gaussian_process.kernels import RBF

from preflearn import Comparisons, PreferenceGP, rank
from preflearn.structure import rankability
from preflearn.structure.circle_search import HINT, SCALES, cyclic_residuals, similarities

SHARES = (0.1, 0.2, 0.4, 0.7, 1.0)
TRUTHS = ("ranking", "circles", "both")
LARGE = ((1, 0, 0), (0.5, 0.5, 0), (0, 1, 0), (0.9, 0, 0.1), (0.8, 0, 0.2), (0.5, 0, 0.5))  # shares of the variance
FEATURES = (3, 6, 12, 24)
ALONG = {"none": (), "a plane": ("b", "c"), "a line": ("b",)}
VOTES = 3
DEVIATION = 2.0  # of true preferences, in units of the noise of one utility


def preferences(truth, X, n, rng):
    """Return true preferences between all items, (n, n), with a deviation of `DEVIATION` over pairs."""
    if X is None:
        f, C = rng.normal(size=n), rng.normal(size=(n, n))
    else:
        root = np.linalg.cholesky(RBF(1.5)(X) + 1e-10 * np.eye(n))
        f, C = root @ rng.normal(size=n), root @ rng.normal(size=(n, n)) @ root.T
    parts = {"ranking": f[:, None] - f[None, :], "circles": C - C.T}
    upper = np.triu_indices(n, 1)
    scaled = {name: G / G[upper].std() for name, G in parts.items()}
    G = sum(scaled.values()) / np.sqrt(2) if truth == "both" else scaled[truth]
    return DEVIATION * G


def problem(truth, features, share, n, seed):
    rng = np.random.default_rng([seed, TRUTHS.index(truth), int(features), round(100 * share)])
    X = rng.normal(size=(n, 2)) if features else None
    G = preferences(truth, X, n, rng)
    low, high = np.triu_indices(n, 1)
    kept = np.sort(rng.choice(len(low), max(3, round(share * len(low))), replace=False))
    first, second = np.repeat(low[kept], VOTES), np.repeat(high[kept], VOTES)
    outcome = np.sign(G[first, second] + np.sqrt(2) * rng.normal(size=len(first)))
    return Comparisons(n if X is None else X, first, second, outcome)


def large_problem(parts, n, m, seed):
    """Return comparisons of random pairs; ``parts`` are the shares of features, own effects and circles."""
    rng = np.random.default_rng([seed, n, m, *(round(100 * part) for part in parts)])
    X = rng.normal(size=(n, 2))
    u = rng.normal(size=n)
    wholes = preferences("ranking", X, n, rng), u[:, None] - u[None, :], preferences("circles", X, n, rng)
    upper = np.triu_indices(n, 1)
    G = DEVIATION * sum(np.sqrt(part) * G / G[upper].std() for part, G in zip(parts, wholes, strict=True))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    return Comparisons(X, first, second, np.sign(G[first, second] + np.sqrt(2) * rng.normal(size=m)))


def hints(parts, n, m, repeats, learn):
    """Return how often residuals hint at circles, and, where these are then learned, how often they are found."""
    hinted, found = [], []
    for seed in range(repeats):
        X = large_problem(parts, n, m, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if learn:
                verdict = rankability(X, n_samples=10, screen=True)
                hinted.append("both" in verdict.models)
                found.append(verdict.verdict in ("cyclic", "partly cyclic"))
                continue
            ranking = PreferenceGP("rbf", n_restarts=0).fit(X)
        hinted.append(cyclic_residuals(ranking, similarities(ranking, SCALES), 0).p_value < HINT)
    return f"{np.mean(hinted):.2f} | {np.mean(found):.2f}" if learn else f"{np.mean(hinted):.2f}"


def along_problem(truth, d, n, m, seed):
    rng = np.random.default_rng([seed, d, n, m])
    X = rng.normal(size=(n, d))
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    plane = X[first, 1] * X[second, 2] - X[first, 2] * X[second, 1]
    turn = {"none": 0.0, "a plane": 0.7 * plane, "a line": np.sin(2 * (X[first, 1] - X[second, 1]))}[truth]
    z = X[first, 0] - X[second, 0] + turn + rng.logistic(size=m)
    table = pd.DataFrame(X, columns=["a", "b", "c", *(f"x{k}" for k in range(3, d))])
    return Comparisons(table, first, second, np.where(z > 0, 1, -1))


def along(truth, d, n, m, repeats):
    """Return how often circles are found, with the right features, and by a kernel of all features."""
    found, right, whole = [], [], []
    for seed in range(repeats):
        X = along_problem(truth, d, n, m, seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verdict = rank(X).rankability
            both = PreferenceGP("rbf", "logit", own_effect=True, hyperprior=1.5, cyclic_kernel="rbf", n_restarts=0)
            whole.append(rankability(both.fit(X), n_samples=10, screen=True).found)
        found.append(verdict.found)
        right.append(verdict.found and verdict.along == ALONG[truth])
    return " | ".join(f"{np.mean(one):.2f}" for one in (found, right, whole))


def found_circles(truth, features, share, n, repeats, screen):
    count = 0
    for seed in range(repeats):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # three votes for each pair repeat each other
            verdict = rankability(problem(truth, features, share, n, seed), n_samples=10, screen=screen).verdict
        count += verdict in ("cyclic", "partly cyclic")
    return count / repeats


def plot(table, path, repeats, n, shares):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for axis, features in zip(axes, (True, False), strict=True):
        for truth, style in zip(TRUTHS, ("o-", "s-", "^-"), strict=True):
            p = np.array([table[truth, features, share] for share in shares])
            axis.errorbar(shares, p, np.sqrt(p * (1 - p) / repeats), fmt=style, capsize=2, label=f"truth: {truth}")
        axis.axhline(0.05, color="grey", linewidth=0.8, linestyle=":")
        axis.set(title="items with features" if features else "items without features", ylim=(-0.03, 1.03))
        axis.set_xlabel(f"share of the {n * (n - 1) // 2} pairs compared, {VOTES} votes each")
    axes[0].set_ylabel("share called cyclic or partly cyclic")
    axes[1].legend(loc="center right")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--items", type=int)
    parser.add_argument("--comparisons", type=int, default=2000)
    parser.add_argument("--shares", type=float, nargs="+", default=SHARES, help="of pairs that are compared")
    parser.add_argument("--screen", action="store_true", help="learn circles only after a hint")
    parser.add_argument("--large", action="store_true", help="how often there is a hint with many pairs")
    parser.add_argument("--learn", action="store_true", help="with --large: learn circles after a hint, 20 s each")
    parser.add_argument("--along", action="store_true", help="circles along few of many features")
    parser.add_argument("--features", choices=("yes", "no", "both"), default="both")
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--small", action="store_true", help="two repeats at most: only to see that everything runs")
    options = parser.parse_args()
    repeats = min(options.repeats, 2) if options.small else options.repeats
    if options.large:
        n, m = (40, 200) if options.small else (options.items or 200, options.comparisons)
        more = " found |" if options.learn else ""
        print(f"| features | own effects | circles | hints |{more}\n|{'---|' * (4 + options.learn)}", flush=True)
        for parts in LARGE:
            shares = " | ".join(f"{part:.0%}" for part in parts)
            print(f"| {shares} | {hints(parts, n, m, repeats, options.learn)} |", flush=True)
        return
    if options.along:
        n, m = (20, 150) if options.small else (options.items or 60, min(options.comparisons, 1000))
        print(
            "| circles along | features | found | and named | found by all features |\n|---|---|---|---|---|",
            flush=True,
        )
        for truth in ALONG:
            for d in FEATURES[:2] if options.small else FEATURES:
                print(f"| {truth} | {d} | {along(truth, d, n, m, repeats)} |", flush=True)
        return
    n = options.items or 16
    table = {}
    print(f"| truth | features | {' | '.join(f'{share:.0%} of pairs' for share in options.shares)} |")
    print("|" + "---|" * (len(options.shares) + 2), flush=True)
    for truth in TRUTHS:
        for features in {"yes": (True,), "no": (False,), "both": (True, False)}[options.features]:
            for share in options.shares:
                table[truth, features, share] = found_circles(truth, features, share, n, repeats, options.screen)
                print(f"{truth}, features {features}, share {share}", file=sys.stderr, flush=True)
            cells = " | ".join(f"{table[truth, features, share]:.2f}" for share in options.shares)
            print(f"| {truth} | {'yes' if features else 'no'} | {cells} |", flush=True)
    if options.plot:
        plot(table, options.plot, repeats, n, options.shares)


if __name__ == "__main__":
    main()
