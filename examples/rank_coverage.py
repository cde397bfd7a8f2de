"""Do the intervals of a ranking hold the truth as often as they say?

    python examples/rank_coverage.py [--repeats 40] [--methods | --circles | --weights | --matched] [--small]

Utilities are drawn, comparisons simulated, and the 90 % intervals of the centred utilities counted that hold the truth;
beside it how probable the first item was said to be the best, and how often it was. "as the papers": hyperparameters of
the highest evidence, and all pairs of a ranking as single votes. "rank": what `preflearn.rank` does.

``--methods`` compares Laplace's method and expectation propagation for items without features instead, with the slope
of the true utilities on the estimated ones. ``--circles`` compares models with and without circles where preferences
run in circles beside a ranking: intervals of how much an item is preferred to all items on average, and their width.
``--weights`` counts verdicts where weights have nothing to do with outcomes. ``--matched`` is about pairs that are not
drawn at random: 20 items, 600 games between those within three places of each other, between neighbours on a ladder
with steps of 0.4, the same without differences, and Swiss tournaments of 12 rounds; the slope of the true utilities on
the estimated ones, how often the prior was widened, and verdicts on circles.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from preflearn import BradleyTerry, Comparisons, PreferenceGP
from preflearn.analysis import analyse, rank
from preflearn.analysis.ladder import refined
from preflearn.analysis.pairing import is_widened
from preflearn.data import from_rankings

SETTINGS = (
    ("no features, 15 items, 30 comparisons", "bare", 15, 30, 1.0),
    ("no features, 15 items, 150 comparisons", "bare", 15, 150, 1.0),
    ("no features, 60 items, 120 comparisons", "bare", 60, 120, 1.0),
    ("the same with utilities twice as far apart", "bare", 60, 120, 2.0),
    ("no features, 300 items, 900 comparisons", "bare", 300, 900, 1.0),
    ("a smooth utility of 2 features, 15 items, 30 comparisons", "features", 15, 30, 0.0),
    ("a smooth utility of 2 features, 15 items, 150 comparisons", "features", 15, 150, 0.0),
    ("the same with own effects of deviation 0.5", "features", 15, 150, 0.5),
    ("the same with 60 items, 120 comparisons", "features", 60, 120, 0.5),
    ("rankings of 8 items by 20 voters", "rankings", 8, 20, 0.0),
    ("rankings of 15 items by 42 voters", "rankings", 15, 42, 0.0),
)
METHODS = (
    (8, 12, 1.0),
    (15, 30, 1.0),
    (60, 120, 1.0),
    (60, 120, 2.0),
    (12, 150, 4.0),
    (150, 300, 1.0),
    (150, 600, 1.0),
    (150, 2000, 1.0),
    (150, 2000, 3.0),
    (500, 1000, 1.0),
)
MOST_AVERAGED = 150
CIRCLES = (
    ("8 items, all pairs 40 times", "bare", 8, 40),
    ("8 items, all pairs 10 times", "bare", 8, 10),
    ("20 items with 2 features, 400 comparisons", "features", 20, 400),
    ("the same with own effects of deviation 0.5", "own effects", 20, 400),
    ("8 items, all pairs 20 times, 8 judges of different tastes", "judges", 8, 20),
)
JUDGES = 8


def simulate(kind, n, m, own, seed):
    rng = np.random.default_rng(seed)
    names = [f"item {k:02d}" for k in range(n)]
    if kind == "rankings":
        u = rng.normal(size=n)
        orders = [[names[k] for k in np.argsort(-(u + rng.gumbel(size=n)))] for _ in range(m)]
        return from_rankings(orders), dict(zip(names, u - u.mean(), strict=True))
    X = rng.normal(size=(n, 2))
    u = 1.5 * np.sin(1.2 * X[:, 0]) + own * rng.normal(size=n) if kind == "features" else own * rng.normal(size=n)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    outcome = np.where(u[first] - u[second] + rng.logistic(size=m) > 0, 1.0, -1.0)
    data = Comparisons(X if kind == "features" else n, first, second, outcome, names=names)
    used = data.used_items()
    shown = used if kind == "bare" else np.arange(n)
    return data, {names[k]: u[k] - u[shown].mean() for k in shown}


def by_the_papers(data):
    if data.items is None:
        return BradleyTerry(prior="evidence").fit(data).rank(data.names[data.used_items()], k=1)
    return PreferenceGP("rbf", "logit", own_effect=True, n_restarts=1, random_state=0).fit(data).rank(k=1)


def methods(settings, repeats):
    print("| items, comparisons, deviation of utilities | Laplace, held | slope | EP, held | slope |")
    print("|---|---|---|---|---|")
    for n, m, deviation in settings:
        cells = []
        for inference in ("laplace", "ep"):
            held, slope = [], []
            how = "average" if n <= MOST_AVERAGED else "maximise"
            for seed in range(repeats):
                data, truth = simulate("bare", n, m, deviation, seed)
                model = BradleyTerry(inference=inference, hyperparameters=how).fit(data)
                found = model.rank(data.names[data.used_items()], k=1)
                u = np.array([truth[name] for name in found.names])
                held.append(np.mean((found.low <= u) & (u <= found.high)))
                slope.append((found.utility @ u) / (found.utility @ found.utility))
            cells.append(f"{np.mean(held):.1%} | {np.mean(slope):.2f}")
        print(f"| {n}, {m:,}, {deviation:g} | {' | '.join(cells)} |", flush=True)


def in_circles(kind, n, m, seed):
    rng = np.random.default_rng(seed)
    if kind not in ("bare", "judges"):
        X = rng.normal(size=(n, 2))
        u = 1.5 * X[:, 0] + (0.5 * rng.normal(size=n) if kind == "own effects" else 0.0)
        first = rng.integers(0, n, m)
        second = (first + rng.integers(1, n, m)) % n
        beside = 1.5 * (np.outer(X[:, 0], X[:, 1]) - np.outer(X[:, 1], X[:, 0]))
    else:
        X, u = n, rng.normal(size=n)
        first, second = (np.repeat(side, m) for side in np.triu_indices(n, 1))
        beside = np.zeros((n, n))
        beside[np.triu_indices(n, 1)] = 1.5 * rng.normal(size=n * (n - 1) // 2)
        beside -= beside.T
    g = u[:, None] - u + beside
    judge, z = None, g[first, second]
    if kind == "judges":
        taste, judge = rng.normal(size=(JUDGES, n)), np.tile(np.arange(JUDGES), len(first) // JUDGES + 1)[: len(first)]
        z = z + taste[judge, first] - taste[judge, second]
    won = rng.random(len(first)) < 1 / (1 + np.exp(-z))
    return Comparisons(X, first, second, np.where(won, 1.0, -1.0), judge=judge), g.mean(axis=1)


def circles(settings, repeats):
    print("| data | without circles | width | what rank shows | width |")
    print("|---|---|---|---|---|")
    for what, kind, n, m in settings:
        held, wide = [], []
        for seed in range(repeats):
            data, truth = in_circles(kind, n, m, seed)
            tried = analyse(data, circles=True)
            plain = next(one for one in tried.ladder.ordered if "circles" not in one.terms)
            rankings = [model.rank(k=1) for model in (refined(data, plain).model, tried.model)]
            held.append([np.mean((r.low <= truth[r.row]) & (truth[r.row] <= r.high)) for r in rankings])
            wide.append([np.mean(r.high - r.low) for r in rankings])
        cells = [f"{h:.0%} | {w:.2f}" for h, w in zip(np.mean(held, axis=0), np.mean(wide, axis=0), strict=True)]
        print(f"| {what} | {' | '.join(cells)} |", flush=True)


def weights(repeats):
    print("| weights | verdict cyclic or partly cyclic | data sets |")
    print("|---|---|---|")
    for what in ("none", "from 0.5 to 2", "whole, from 1 to 5"):
        found = 0
        for seed in range(repeats):
            data, _ = simulate("bare", 12, 60, 1.0, seed)
            rng = np.random.default_rng(seed)
            drawn = {"none": None, "from 0.5 to 2": rng.uniform(0.5, 2, 60)}.get(what, rng.integers(1, 6, 60))
            found += rank(data._take(slice(None), weight=drawn)).rankability.verdict in ("cyclic", "partly cyclic")
        print(f"| {what} | {found} | {repeats} |", flush=True)


def matched_pairs(kind, seed, n=20, m=600, rounds=12):
    """Return games and utilities."""
    rng = np.random.default_rng(seed)
    u = np.sort(1.5 * rng.normal(size=n))[::-1]
    if kind == "Swiss tournament":
        points, games = np.zeros(n), []
        for _ in range(rounds):
            pairs = np.lexsort((rng.random(n), -points)).reshape(-1, 2)
            won = u[pairs[:, 0]] - u[pairs[:, 1]] + rng.logistic(size=n // 2) > 0
            games.append(np.where(won[:, None], pairs, pairs[:, ::-1]))
            points[games[-1][:, 0]] += 1
        first, second = np.concatenate(games).T
        return Comparisons(n, first, second), u
    reach = 3 if kind == "within three places" else 1
    if reach == 1:
        u = -(0.4 if kind == "ladder" else 0.0) * np.arange(n)
    first = rng.integers(0, n, 4 * m)
    second = first + rng.integers(1, reach + 1, 4 * m) * rng.choice([-1, 1], 4 * m)
    kept = np.flatnonzero((second >= 0) & (second < n))[:m]
    first, second = first[kept], second[kept]
    return Comparisons(n, first, second, np.where(u[first] - u[second] + rng.logistic(size=m) > 0, 1, -1)), u


def matched(repeats):
    print("| pairs | evidence: held | slope | rank: held | slope | widened | called cyclic |")
    print("|---|---|---|---|---|---|---|")
    for kind in ("within three places", "ladder", "ladder of noise", "Swiss tournament"):
        held, slopes, widened, cyclic = [], [], 0, 0
        for seed in range(repeats):
            data, u = matched_pairs(kind, seed)
            result = rank(data)
            plain = BradleyTerry(inference="ep", hyperparameters="average").fit(data).rank()
            truth = [(u - u.mean())[r.row] for r in (plain, result.ranking)]
            both = list(zip((plain, result.ranking), truth, strict=True))
            held.append([np.mean((r.low <= t) & (t <= r.high)) for r, t in both])
            slopes.append([np.polyfit(r.utility, t, 1)[0] for r, t in both])
            widened += is_widened(result.model)
            cyclic += result.rankability.found
        cells = [f"{h:.0%} | {s:.2f}" for h, s in zip(np.mean(held, axis=0), np.median(slopes, axis=0), strict=True)]
        print(f"| {kind} | {' | '.join(cells)} | {widened} of {repeats} | {cyclic} of {repeats} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=40)
    parser.add_argument("--methods", action="store_true", help="Laplace's method beside expectation propagation")
    parser.add_argument("--circles", action="store_true", help="models with and without circles")
    parser.add_argument("--weights", action="store_true", help="weights that have nothing to do with outcomes")
    parser.add_argument("--matched", action="store_true", help="pairs that are chosen by strength")
    parser.add_argument("--small", action="store_true", help="three repeats at most: only to see that everything runs")
    options = parser.parse_args()
    repeats = min(options.repeats, 3) if options.small else options.repeats
    warnings.simplefilter("ignore")
    if options.methods:
        methods(METHODS[:3] if options.small else METHODS, repeats)
        return
    if options.circles:
        circles(CIRCLES, repeats)
        return
    if options.weights:
        weights(repeats)
        return
    if options.matched:
        matched(repeats)
        return
    print("| data | how | intervals that hold the truth | first said to be the best | is the best |")
    print("|---|---|---|---|---|")
    for what, kind, n, m, own in SETTINGS:
        for how, run in (("as the papers", by_the_papers), ("rank", lambda data: rank(data, circles=False).ranking)):
            held, said, was = [], [], []
            for seed in range(repeats):
                data, truth = simulate(kind, n, m, own, seed)
                found = run(data)
                u = np.array([truth[name] for name in found.names])
                held.append(np.mean((found.low <= u) & (u <= found.high)))
                said.append(found.p_best[0])
                was.append(u[0] == max(truth.values()))
            error = np.std(held) / np.sqrt(repeats)
            print(
                f"| {what} | {how} | {np.mean(held):.1%} ± {error:.1%} | {np.mean(said):.0%} | {np.mean(was):.0%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
