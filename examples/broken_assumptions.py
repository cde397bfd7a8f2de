"""What happens to a ranking when votes are not what they seem, and does the term that says so help?

    python examples/broken_assumptions.py [--repeats 60] [--only side ...] [--seed 7000] [--small]

Six situations: the first side has an advantage, votes about one prompt have something in common, longer answers win
because they are longer, judges are careless, judges are contrary, and judges differ in everything at once. Each is
simulated with logistic noise and learned without the term, with it and, where that means something, by an oracle: the
same votes without the disturbance, or those of the good judges alone.

Printed are means and standard errors over data sets of Kendall's tau to the truth, the share of 90 % intervals that
hold the true places (in brackets: what the model itself says that they hold; places are whole numbers, so that
intervals hold a little more than 90 %), the true utilities and the true effect, the slope of the true utilities on the
estimated ones, and the correlation of learned with true reliabilities beside the share of their intervals that hold.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import kendalltau
from sklearn.gaussian_process.kernels import ConstantKernel

from preflearn import Comparisons, PreferenceGP

TWO_SIDED = 1.645  # deviations either way that hold 90 %
SIDE = np.log(2.8)
LENGTH = 0.7
CLUSTER = 1.5
# Tastes can take the place of reliabilities; a search that starts with little of them finds the higher evidence.
TASTES = ConstantKernel(0.01)


class Drawn(NamedTuple):
    """Votes, true utilities, what an oracle learns from, the true effect, and true reliabilities."""

    data: Comparisons
    u: Any
    oracle: Comparisons | None = None
    effect: float | None = None
    reliability: Any = None


def pairs(rng, n, m):
    first = rng.integers(0, n, m)
    return first, (first + rng.integers(1, n, m)) % n


def vote(z, noise):
    return np.where(z + noise > 0, 1.0, -1.0)


def side(rng, n=30, m=5_000):
    """The newer item stands first in 85 % of rows, and who stands first has odds of 2.8; age is not strength."""
    u, noise = 0.6 * rng.normal(size=n), rng.logistic(size=m)
    one, other = pairs(rng, n, m)
    newer_first = rng.random(m) < 0.85
    first = np.where(newer_first, np.maximum(one, other), np.minimum(one, other))
    second = one + other - first
    z = u[first] - u[second]
    same = (n, first, second)
    return Drawn(Comparisons(*same, vote(z + SIDE, noise)), u, Comparisons(*same, vote(z, noise)), SIDE)


def clusters(rng, n=20, prompts=200, seen=4):
    """Ten votes about each prompt; a prompt has an effect of deviation 1.5 on each of the items that it sees."""
    u, effect = rng.normal(size=n), CLUSTER * rng.normal(size=(prompts, n))
    shown = rng.permuted(np.tile(np.arange(n), (prompts, 1)), axis=1)[:, :seen]
    prompt = np.repeat(np.arange(prompts), 10)
    first, second = (shown[prompt, side] for side in pairs(rng, seen, len(prompt)))
    z = u[first] - u[second] + effect[prompt, first] - effect[prompt, second]
    return Drawn(Comparisons(n, first, second, vote(z, rng.logistic(size=len(z))), cluster=prompt), u)


def covariates(rng, n=30, m=3_000, tied=0.7):
    """Longer answers win, by 0.7 for each unit, and better items write longer ones: correlation ``tied`` of items."""
    u, noise = rng.normal(size=n), rng.logistic(size=m)
    length = tied * u + np.sqrt(1 - tied**2) * rng.normal(size=n)
    first, second = pairs(rng, n, m)
    x = length[first] - length[second] + np.sqrt(2) * rng.normal(size=m)
    z, same = u[first] - u[second], (n, first, second)
    data = Comparisons(*same, vote(z + LENGTH * x, noise), covariates=x)
    return Drawn(data, u, Comparisons(*same, vote(z, noise)), LENGTH)


def judges(rng, s, n=20, answers=40):
    """Judges of reliabilities ``s``; the oracle learns from those of reliability 1."""
    u, judge = rng.normal(size=n), np.repeat(np.arange(len(s)), answers)
    first, second = pairs(rng, n, len(judge))
    z = s[judge] * (u[first] - u[second])
    data = Comparisons(n, first, second, vote(z, rng.logistic(size=len(z))), judge=judge)
    good = s[judge] == 1.0
    return Drawn(data, u, data[good] if good.any() else None, reliability=s)


def prompts_and_careless(rng, n=15, prompts=150, n_judges=16, careless=4):
    """Ten votes about each prompt by judges of whom some do not look; a prompt has effects of deviation 1.2."""
    u, effect = rng.normal(size=n), 1.2 * rng.normal(size=(prompts, n))
    s = np.where(np.arange(n_judges) < careless, 0.0, 1.0)
    prompt, judge = np.repeat(np.arange(prompts), 10), rng.integers(0, n_judges, 10 * prompts)
    first, second = pairs(rng, n, len(prompt))
    z = s[judge] * (u[first] - u[second] + effect[prompt, first] - effect[prompt, second])
    votes = vote(z, rng.logistic(size=len(z)))
    return Drawn(Comparisons(n, first, second, votes, cluster=prompt, judge=judge), u, reliability=s)


def kinds(rng, n_judges=20, deviation=0.5):
    """Return reliabilities of careful, careless and contrary judges, of the distribution that the model has."""
    return rng.choice([1.0, 0.0, -1.0], p=[0.8, 0.1, 0.1], size=n_judges) + deviation * rng.normal(size=n_judges)


def together(rng, n=15, n_judges=20, answers=100):
    """Judges with tastes (half the variance of utilities), reliabilities and side biases 0.5 ± 0.5 of their own."""
    u, s, judge = rng.normal(size=n), kinds(rng, n_judges, 0.2), np.repeat(np.arange(n_judges), answers)
    own, bias = np.sqrt(0.5) * rng.normal(size=(n_judges, n)) + u, 0.5 + 0.5 * rng.normal(size=n_judges)
    first, second = pairs(rng, n, len(judge))
    z = s[judge] * (own[judge, first] - own[judge, second] + bias[judge])
    return Drawn(Comparisons(n, first, second, vote(z, rng.logistic(size=len(z))), judge=judge), u, None, 0.5, s)


OF_JUDGES: dict[str, dict[str, Any]] = {
    "without": {},
    "tastes alone": {"judge_kernel": "identity"},
    "with reliabilities": {"judge_reliability": True},
    "oracle": {},
}
OF_CLUSTERS: dict[str, dict[str, Any]] = {
    "without": {},
    "with clusters, Laplace": {"cluster": True, "inference": "laplace"},
    "with clusters": {"cluster": True},
}
SITUATIONS: dict[str, tuple[str, Any, dict[str, dict[str, Any]]]] = {
    "side": ("newer item first", side, {"without": {}, "with the side": {"side": True}, "oracle": {}}),
    "clusters": ("ten votes about 4 items a prompt", clusters, OF_CLUSTERS),
    "one-pair": ("ten votes about one pair a prompt", lambda rng: clusters(rng, seen=2), OF_CLUSTERS),
    "all-pairs": ("ten votes about any of 20 items a prompt", lambda rng: clusters(rng, seen=20), OF_CLUSTERS),
    "covariates": (
        "length goes with quality",
        covariates,
        {"without": {"covariates": False}, "with the covariate": {}, "oracle": {}},
    ),
    "covariates-apart": (
        "length has nothing to do with quality",
        lambda rng: covariates(rng, tied=0.0),
        {"without": {"covariates": False}, "with the covariate": {}, "oracle": {}},
    ),
    "careless": ("half of the judges careless", lambda rng: judges(rng, np.repeat([0.0, 1.0], 10)), OF_JUDGES),
    "contrary": ("30 % of the judges contrary", lambda rng: judges(rng, np.repeat([-1.0, 1.0], [6, 14])), OF_JUDGES),
    "kinds": (
        "reliabilities drawn from the prior, 200 answers",
        lambda rng: judges(rng, kinds(rng), answers=200),
        {name: options for name, options in OF_JUDGES.items() if name != "oracle"},
    ),
    "prompts-and-careless": (
        "ten votes a prompt, a quarter of the judges careless",
        prompts_and_careless,
        {"without": {}, "clusters alone": {"cluster": True}, "both": {"cluster": True, "judge_reliability": True}},
    ),
    "together": (
        "tastes, reliabilities and side biases",
        together,
        {
            "without": {},
            "tastes alone": {"judge_kernel": "identity"},
            "all three": {"judge_kernel": TASTES, "judge_reliability": True, "side": "judge"},
        },
    ),
}
COLUMNS = ("tau", "places", "said", "utilities", "slope", "effect", "correlation", "reliabilities")


def measure(model, drawn):
    """Return the figures of one fitted model, NaN where it has none."""
    u, found = drawn.u - drawn.u.mean(), model.rank()
    place = places(u[None, :])[0][found.row]
    draws = places(model.sample_utilities(n_samples=1_000, random_state=1))[:, found.row]
    truth = u[found.row]
    figures = dict.fromkeys(COLUMNS, np.nan)
    figures["tau"] = kendalltau(found.utility, truth)[0]
    figures["places"] = np.mean((found.rank_low <= place) & (place <= found.rank_high))
    figures["said"] = np.mean((found.rank_low <= draws) & (draws <= found.rank_high))
    figures["utilities"] = np.mean((found.low <= truth) & (truth <= found.high))
    figures["slope"] = np.polyfit(found.utility, truth, 1)[0]
    knows_length = model.covariates and model.comparisons_.covariates is not None
    if drawn.effect is not None and (model.side or knows_length):
        effect = model.side_effect_ if model.side else model.covariate_effects_[0]
        figures["effect"] = float(effect.low <= drawn.effect <= effect.high)
    if model.judge_reliability:
        away = np.abs(model.reliability_ - drawn.reliability)
        figures["correlation"] = np.corrcoef(model.reliability_, drawn.reliability)[0, 1]
        figures["reliabilities"] = np.mean(away <= TWO_SIDED * model.reliability_std_)
    return list(figures.values())


def places(utilities):
    return 1 + np.argsort(np.argsort(-utilities, axis=1), axis=1)


def study(name, repeats, seed):
    """Return figures (repeats, columns) of every model of a situation, over fresh data sets."""
    _, simulate, models = SITUATIONS[name]
    found: dict[str, list[list[float]]] = {which: [] for which in models}
    for number in range(repeats):
        drawn = simulate(np.random.default_rng(seed + number))
        for which, options in models.items():
            data = drawn.oracle if which == "oracle" else drawn.data
            model = PreferenceGP(likelihood="logit", n_restarts=0, random_state=0, **options).fit(data)
            found[which].append(measure(model, drawn))
    return {which: np.array(rows) for which, rows in found.items()}


def cell(values, percent):
    if np.isnan(values).all():
        return ""
    mean, error = np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{100 * mean:.1f} ± {100 * error:.1f}" if percent else f"{mean:.2f} ± {error:.2f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=60, help="data sets of each situation")
    parser.add_argument("--only", nargs="+", choices=SITUATIONS, default=list(SITUATIONS), help="which situations")
    parser.add_argument("--seed", type=int, default=7_000, help="of the first data set")
    parser.add_argument("--small", action="store_true", help="two data sets each: only to see that everything runs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| votes | model | tau | places, % (said) | utilities, % | slope | effect, % | reliabilities: corr. | % |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in options.only:
        began = time.perf_counter()
        found = study(name, 2 if options.small else options.repeats, options.seed)
        for which, values in found.items():
            tau, held, said, utilities, slope, effect, together, reliabilities = values.T
            cells = [
                cell(tau, False),
                f"{cell(held, True)} ({100 * said.mean():.0f})",
                cell(utilities, True),
                cell(slope, False),
                cell(effect, True),
                cell(together, False),
                cell(reliabilities, True),
            ]
            print(f"| {SITUATIONS[name][0]} | {which} | {' | '.join(cells)} |", flush=True)
        tau = {which: values[:, 0].mean() for which, values in found.items() if which != "oracle"}
        held = {which: values[:, 3].mean() for which, values in found.items() if which != "oracle"}
        last = list(tau)[-1]
        assert tau[last] >= tau["without"] - 0.02, f"{name}: the term makes the order worse"
        assert held[last] > held["without"], f"{name}: intervals with the term hold less often than without"
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
