"""Do preferences run in circles, and does it help to say so? Figs. 2 and 3 and Table 1 of the GPGP paper.

    python examples/inconsistent_preferences.py [DIRECTORY] [--repeats 20] [--parts cycles clusters real] [--small]
                                                [--states 1 2 5] [--shares 0.2 0.4 0.6 0.8 1.0] [--sets NFL citations]

cycles: 30 items with a hidden state each; a different utility for every pair of states decides between them (section
4.1; one state is a ranking). clusters: items of one state are ranked, others are compared by a coin (section 4.2); the
share of items in the right cluster. real: contests of chameleons and flat lizards, football seasons, and citations
(Cora in place of the paper's graph), for which DIRECTORY holds the data. 70 % of the comparisons train, 30 % test.

Models: a utility (PGP), a preference function that may be cyclic (GPGP), both at once, and classifiers of pairs in both
orders (PAIR-GP, PAIR-LOGREG). "chosen" is the one of the first three with the highest evidence on the training part:
nothing is chosen on test comparisons. A star: significantly worse than GPGP (Wilcoxon rank sum, 5 %). For the cycles,
"both - better part" is the mean difference between both at once and the better of its two parts, with standard error.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from itertools import permutations
from pathlib import Path

import numpy as np
from scipy.stats import ranksums
from sklearn.datasets import load_svmlight_file
from sklearn.decomposition import TruncatedSVD
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from preflearn import Comparisons, OnItems, PreferenceGP
from preflearn.baselines import PairAugmented
from preflearn.metrics import comparison_log_loss, expected_calibration_error
from preflearn.structure import ComparableClusters

MODELS = {
    "PGP": lambda: PreferenceGP("rbf", "logit", n_restarts=1, random_state=0),
    "GPGP": lambda: PreferenceGP(None, "logit", cyclic_kernel="rbf", n_restarts=1, random_state=0),
    "both": lambda: PreferenceGP("rbf", "logit", cyclic_kernel="rbf", n_restarts=1, random_state=0),
    "PAIR-GP": lambda: PairAugmented(GaussianProcessClassifier(1.0 * RBF(2.0), random_state=0)),
    "PAIR-LOGREG": lambda: PairAugmented(LogisticRegression()),
}
CHOICE = ("PGP", "GPGP", "both")
NAMES = [*MODELS, "chosen"]
PAPER = {  # GPGP, PGP, PAIR-GP, PAIR-LOGREG
    "chameleons": (0.78, 0.51, 0.72, 0.71),
    "flat lizards": (0.83, 0.80, 0.78, 0.77),
    "NFL": (0.59, 0.51, 0.58, 0.65),
    "citations": (0.74, 0.66, 0.70, 0.62),
}


def judge(train, test, names=tuple(MODELS)):
    """Return accuracy, log loss and calibration error of the models on the test comparisons, (models + 1, 3)."""
    scaler = OnItems(StandardScaler()).fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    rows, evidence = {}, {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nothing but noise, odd folds: here they are part of the experiment
        for name in names:
            model = MODELS[name]().fit(train)
            p = model.predict_proba(test)[:, 1]
            scores = comparison_log_loss(test.outcome, p), expected_calibration_error(test.outcome, p)
            rows[name] = model.score(test), *scores
            if name in CHOICE:
                evidence[name] = model.log_evidence_
    rows["chosen"] = rows[max(evidence, key=evidence.get)]
    return np.array([rows.get(name, (np.nan,) * 3) for name in NAMES])


def split(X, first, second, outcome, rng):
    """Return 70 % of the comparisons and the others."""
    order = rng.permutation(len(first))
    cut = round(0.7 * len(first))
    return (Comparisons(X, first[part], second[part], outcome[part]) for part in (order[:cut], order[cut:]))


def states(n_states, rng, n=30, p=5):
    """Return items whose features tell something of their hidden state, and the states."""
    state = rng.integers(n_states, size=n)
    return rng.normal(size=(n, p)) + state[:, None] + 1, state


def utilities(X, count, rng):
    """Return draws of utility functions at the items, (count, n): sums of kernels with normal coefficients."""
    return rng.normal(size=(count, len(X))) @ RBF(np.sqrt(X.shape[1]))(X)


def cyclic_problem(n_states, share, seed):
    """Return comparisons decided by a utility that depends on the states of both items."""
    rng = np.random.default_rng([seed, n_states, round(100 * share)])
    X, state = states(n_states, rng)
    r = utilities(X, n_states**2, rng).reshape(n_states, n_states, -1)
    first, second = np.triu_indices(len(X), 1)
    kept = np.flatnonzero(rng.random(len(first)) < share)
    first, second = first[kept], second[kept]
    low, high = np.minimum(state[first], state[second]), np.maximum(state[first], state[second])
    return split(X, first, second, np.sign(r[low, high, first] - r[low, high, second]), rng)


def clustered_problem(n_states, share, seed):
    """Return comparisons that are ranked within states and tossed for across, and the states."""
    rng = np.random.default_rng([seed, n_states, round(100 * share), 1])
    X, state = states(n_states, rng)
    r = utilities(X, n_states, rng)
    first, second = np.triu_indices(len(X), 1)
    kept = np.flatnonzero(rng.random(len(first)) < share)
    first, second = first[kept], second[kept]
    ranked = np.sign(r[state[first], first] - r[state[first], second])
    coin = rng.choice([-1.0, 1.0], len(kept))
    return Comparisons(X, first, second, np.where(state[first] == state[second], ranked, coin)), state


def matched(labels, state):
    """Return the share of items in the right cluster, under the best naming of the clusters."""
    k = int(max(labels.max(), state.max())) + 1
    return max(np.mean(np.array(names)[labels] == state) for names in permutations(range(k)))


def table_head(first):
    print(f"| {first} | {' | '.join(NAMES)} | log loss (chosen) | calibration error (chosen) |")
    print("|" + "---|" * (len(NAMES) + 3), flush=True)


def table_row(label, found):
    """Print mean and deviation of accuracies (repeats, models + 1, 3), with stars."""
    gpgp, cells = NAMES.index("GPGP"), []
    for k in range(len(NAMES)):
        accuracy = found[:, k, 0]
        if np.isnan(accuracy).all():
            cells.append("")
            continue
        worse = accuracy.mean() < found[:, gpgp, 0].mean()
        star = worse and len(found) > 1 and ranksums(accuracy, found[:, gpgp, 0]).pvalue < 0.05
        cells.append(f"{accuracy.mean():.3f} ± {accuracy.std():.3f}{'*' if star else ''}")
    print(
        f"| {label} | {' | '.join(cells)} | {found[:, -1, 1].mean():.3f} | {found[:, -1, 2].mean():.3f} |", flush=True
    )


def cycles(repeats, states, shares):
    print("\nSection 4.1: held-out accuracy, states and share of pairs compared\n")
    table_head("states, share")
    rest = []
    for n_states in states:
        for share in shares:
            found = np.array([judge(*cyclic_problem(n_states, share, seed)) for seed in range(repeats)])
            table_row(f"{n_states}, {share:.1f}", found)
            parts = found[:, :2, 0]
            less = found[:, NAMES.index("both"), 0] - parts[:, parts.mean(axis=0).argmax()]
            rest.append(f"{n_states}, {share:.1f}: {less.mean():+.4f} ± {less.std() / np.sqrt(repeats):.4f}")
    print("\nboth - better part: " + "; ".join(rest), flush=True)


def clusters(repeats, small):
    print("\nSection 4.2: share of items in the right cluster\n")
    print("By affinity, then in brackets by k-means on singular vectors, as in the paper\n")
    print("| clusters, share | GPGP-CLUS | SVD-CLUS | PR-CLUS |\n|---|---|---|---|", flush=True)
    for n_states in (2, 3):
        for share in (0.5,) if small else (0.2, 0.4, 0.6, 0.8, 1.0):
            rows = []
            for seed in range(repeats):
                data, state = clustered_problem(n_states, share, seed)
                data = OnItems(StandardScaler()).fit(data).transform(data)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    methods = [
                        ComparableClusters(n_states, method, assign=assign, random_state=0)
                        for assign in ("affinity", "kmeans")
                        for method in ("gpgp", "svd", "partial")
                    ]
                    rows.append([matched(method.fit(data).labels_, state) for method in methods])
            mean, spread = np.mean(rows, axis=0).reshape(2, 3), np.std(rows, axis=0).reshape(2, 3)
            both = zip(mean.T, spread.T, strict=True)
            cells = " | ".join(f"{a[0]:.3f} ± {b[0]:.3f} ({a[1]:.3f} ± {b[1]:.3f})" for a, b in both)
            print(f"| {n_states}, {share:.1f} | {cells} |", flush=True)


def read(path):
    """Return the header and the rows of a CSV."""
    rows = [line.split(",") for line in path.read_text().splitlines() if line.strip()]
    return [cell.strip('"') for cell in rows[0]], [[cell.strip('"') for cell in row] for row in rows[1:]]


def numbered(names, table):
    place = {name: row for row, name in enumerate(names)}
    return np.array([place[name] for name in table])


def chameleons(directory):
    _, matches = read(directory / "chameleons" / "matches.csv")
    _, rows = read(directory / "chameleons" / "predictors.csv")
    names, X = [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=float)
    first, second = numbered(names, [m[-2] for m in matches]), numbered(names, [m[-1] for m in matches])
    # as in the paper: the one pair that met twice with opposite results is left out
    pair = [frozenset(p) for p in zip(first.tolist(), second.tolist(), strict=True)]
    kept = np.array([pair.count(p) == 1 for p in pair])
    return X, first[kept], second[kept]


def lizards(directory, tactic=True):
    header, rows = read(directory / "flatlizards" / "predictors.csv")
    _, matches = read(directory / "flatlizards" / "contest.csv")
    columns = [k for k, name in enumerate(header) if name not in ("id", "repro.tactic", "")]
    shift = len(rows[0]) - len(header)  # an index without a name in the header
    columns = [k + shift for k in columns if k + shift > 0]
    table = np.array([[np.nan if row[k] in ("", "NA") else float(row[k]) for k in columns] for row in rows])
    table = np.where(np.isnan(table), np.nanmean(table, axis=0), table)
    if tactic:  # whether a male holds a territory
        place = header.index("repro.tactic") + shift
        table = np.column_stack([table, [{"resident": 1.0, "floater": -1.0}.get(row[place], 0.0) for row in rows]])
    names = [row[0] for row in rows]
    return table, numbered(names, [m[-2] for m in matches]), numbered(names, [m[-1] for m in matches])


def season(directory, year):
    header, rows = read(directory / "nfl_2000_2018" / f"stats_{year}.csv")
    rows = [row for row in rows if len(row) == len(header) and row[header.index("G")]]
    columns = [k for k, name in enumerate(header) if name not in ("Rk", "Team", "G", "ToP/G")]
    names = [row[header.index("Team")] for row in rows]
    X = np.array([[float(row[k]) for k in columns] for row in rows])
    _, games = read(directory / "nfl_2000_2018" / "authors_comparisons.csv")
    games = [g for g in games if g[0] == str(year) and g[1] in names and g[2] in names]
    first, second = numbered(names, [g[1] for g in games]), numbered(names, [g[2] for g in games])
    won = np.array([float(g[3]) > 0 for g in games])
    return X, np.where(won, first, second), np.where(won, second, first)


def citations(directory, rng, n_edges=1000):
    """Return words of papers in 128 dimensions and citing and cited papers of an induced part of the graph."""
    import gzip

    folder = directory / "citation_graphs"
    with gzip.open(folder / "cora_edges.csv.gz", "rt") as file:
        edges = np.array([line.split(",") for line in file.read().splitlines()[1:]], dtype=int)
    words, _ = load_svmlight_file(str(folder / "cora_features.svmlight.gz"))
    order = rng.permutation(words.shape[0])
    n = 200
    while n < len(order):  # as many papers as have about so many citations among them
        inside = np.isin(edges, order[:n]).all(axis=1)
        if inside.sum() >= n_edges:
            break
        n += 10
    kept = np.sort(order[:n])
    X = TruncatedSVD(128, random_state=0).fit_transform(words)[kept]
    first, second = np.searchsorted(kept, edges[inside]).T
    _, once = np.unique(np.sort(np.column_stack([first, second]), axis=1), axis=0, return_index=True)
    return X, first[once], second[once]


def hsic_features(X, first, second, count):
    """Return the features that backward elimination keeps: dropped is what least lowers the dependence (BAHSIC).

    Dependence of outcome and feature differences by the Hilbert-Schmidt criterion, Gaussian kernel on the differences.
    """
    D = (X - X.mean(axis=0)) / X.std(axis=0)
    D = D[first] - D[second]
    D, y = np.vstack([D, -D]), np.repeat([1.0, -1.0], len(first))
    left = list(range(X.shape[1]))

    def dependence(columns):
        S = np.square(D[:, None, columns] - D[None, :, columns]).sum(axis=-1)
        K = np.exp(-S / (2 * np.median(S[S > 0])))
        return y @ K @ y

    while len(left) > count:
        left.remove(max(left, key=lambda k: dependence([c for c in left if c != k])))
    return left


def won_by_first(X, first, second, rng):
    """Return a split with the winner on a random side."""
    turned = rng.random(len(first)) < 0.5
    a, b = np.where(turned, second, first), np.where(turned, first, second)
    return split(X, a, b, np.where(turned, -1.0, 1.0), rng)


def real(directory, repeats, small, sets):
    print("\nSection 4.3: held-out accuracy on real comparisons\n")
    table_head("set")
    for name in sets:
        {"chameleons": contests, "lizards": lizard_contests, "NFL": football, "citations": papers}[name](
            directory, repeats, small
        )
    print("\nprinted in the paper:\n\n| set | GPGP | PGP | PAIR-GP | PAIR-LOGREG |\n|---|---|---|---|---|")
    for name, figures in PAPER.items():
        print(f"| {name} | {' | '.join(f'{figure:.2f}' for figure in figures)} |")


def contests(directory, repeats, small, name="chameleons", load=chameleons):
    X, first, second = load(directory)
    found = [judge(*won_by_first(X, first, second, np.random.default_rng(seed))) for seed in range(repeats)]
    table_row(name, np.array(found))


def lizard_contests(directory, repeats, small):
    contests(directory, repeats, small, "flat lizards", lizards)
    contests(directory, repeats, small, "flat lizards, measurements alone", lambda path: lizards(path, tactic=False))


def football(directory, repeats, small):
    years = range(2000, 2002) if small else range(2000, 2019)
    found = []
    for seed in range(repeats):
        of_years = []
        for year in years:
            X, first, second = season(directory, year)
            rng = np.random.default_rng([seed, year])
            train, test = won_by_first(X, first, second, rng)
            winner = np.where(train.outcome > 0, train.first, train.second)
            loser = np.where(train.outcome > 0, train.second, train.first)
            kept = hsic_features(X, winner, loser, 5)
            parts = (Comparisons(X[:, kept], part.first, part.second, part.outcome) for part in (train, test))
            of_years.append(judge(*parts))
        found.append(np.mean(of_years, axis=0))
        print(f"NFL, repeat {seed + 1} of {repeats}", file=sys.stderr, flush=True)
    table_row(f"NFL, {len(years)} seasons", np.array(found))


def papers(directory, repeats, small):
    quick = ("PGP", "GPGP", "both", "PAIR-LOGREG")
    found = []
    for seed in range(min(repeats, 2) if small else repeats):
        rng = np.random.default_rng(seed)
        X, first, second = citations(directory, rng, 150 if small else 1000)
        found.append(judge(*won_by_first(X, first, second, rng), quick))
        print(f"citations, repeat {seed + 1} of {repeats}", file=sys.stderr, flush=True)
    table_row("citations (Cora)", np.array(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, nargs="?")
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--parts", nargs="+", choices=("cycles", "clusters", "real"), default=None)
    parser.add_argument("--states", nargs="+", type=int, default=(1, 2, 5), help="for the cycles")
    parser.add_argument("--shares", nargs="+", type=float, default=(0.2, 0.4, 0.6, 0.8, 1.0), help="for the cycles")
    sets = ("chameleons", "lizards", "NFL", "citations")
    parser.add_argument("--sets", nargs="+", choices=sets, default=sets, help="for the real data")
    parser.add_argument("--small", action="store_true", help="few settings: only to see that everything runs")
    options = parser.parse_args()
    parts = options.parts or ["cycles", "clusters", *(["real"] if options.directory else [])]
    if "real" in parts and options.directory is None:
        parser.error("real data need DIRECTORY")
    if "cycles" in parts:
        cycles(options.repeats, options.states, (0.5,) if options.small else options.shares)
    if "clusters" in parts:
        clusters(options.repeats, options.small)
    if "real" in parts:
        real(options.directory, options.repeats, options.small, options.sets)


if __name__ == "__main__":
    main()
