"""Is the uncertainty honest? Coverage and calibration on problems drawn from the prior.

    python -m benchmarks.uncertainty            200 problems for every amount of data
    python -m benchmarks.uncertainty --small    a minute, to see that everything runs

A problem: 20 items with two features, utilities drawn from a Gaussian process, outcomes of random pairs from the probit
model; little, moderate and much data are 10, 60 and 400 comparisons. Asked for are utility differences of pairs of
trained items and of new items, the best of ten items, and outcomes of held-out pairs. Every figure is a mean over
problems; its standard error takes the answers of one problem as one draw, because they depend on each other.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, field

import numpy as np
from scipy.special import ndtri
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, PreferenceGP
from preflearn.exceptions import PreflearnWarning
from preflearn.kernels import gram
from preflearn.linalg import cholesky_psd
from preflearn.metrics import expected_calibration_error

LEVELS = (0.5, 0.8, 0.95)
AMOUNTS = {"little": 10, "moderate": 60, "much": 400}
N_ITEMS, N_NEW, N_ASKED, N_BEST = 20, 20, 100, 10
KERNEL, STRONG = ConstantKernel(4.0) * RBF(0.7), ConstantKernel(36.0) * RBF(0.7)
NOISE = np.sqrt(2.0)
# What is known about the kernel: itself, or its form only, with parameters of the highest evidence or averaged. Strong:
# utilities that differ by much more than the noise.
KNOWN = {
    "known": (KERNEL, "fixed"),
    "known, strong": (STRONG, "fixed"),
    "learned": (KERNEL, "maximise"),
    "averaged": (KERNEL, "average"),
}
P_BEST_BINS = np.array([0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0])


@dataclass
class Answers:
    """What a model said about many problems, and what was true."""

    covered: list = field(default_factory=list)  # per problem: share of intervals that hold the truth, per level
    p_best: list = field(default_factory=list)
    best: list = field(default_factory=list)
    probability: list = field(default_factory=list)
    outcome: list = field(default_factory=list)


def draw(seed, m, kernel=KERNEL):
    """Return comparisons, all items, their utilities, and a generator for what is asked."""
    rng = np.random.default_rng([seed, m])
    items = rng.uniform(-1, 1, size=(N_ITEMS + N_NEW, 2))
    utility = cholesky_psd(gram(kernel, items))[0] @ rng.standard_normal(len(items))
    first, second = pairs(rng, 0, N_ITEMS, m)
    outcome = np.sign(utility[first] - utility[second] + NOISE * rng.standard_normal(m))
    return Comparisons(items[:N_ITEMS], first, second, outcome), items, utility, rng


def pairs(rng, start, n, m):
    first = rng.integers(0, n, m)
    return start + first, start + (first + rng.integers(1, n, m)) % n


def ask(model, items, utility, rng, answers):
    """Add what the model says about new questions."""
    old, new = pairs(rng, 0, N_ITEMS, N_ASKED // 2), pairs(rng, N_ITEMS, N_NEW, N_ASKED // 2)
    first, second = (np.concatenate(part) for part in zip(old, new, strict=True))
    truth = utility[first] - utility[second]
    mean, C = model.predict_utility(items, return_cov=True)
    deviation = np.sqrt(C[first, first] + C[second, second] - 2 * C[first, second])
    distance = np.abs(truth - (mean[first] - mean[second])) / deviation
    answers.covered.append([np.mean(distance <= ndtri(0.5 + level / 2)) for level in LEVELS])
    some = rng.choice(len(items), N_BEST, replace=False)
    ranking = model.rank(items[some], random_state=0)
    answers.p_best.append(ranking.p_best)
    answers.best.append(ranking.row == np.argmax(utility[some]))
    outcome = np.sign(truth + NOISE * rng.standard_normal(N_ASKED))
    answers.outcome.append(outcome)
    answers.probability.append(model.predict_proba(Comparisons(items, first, second, outcome))[:, 1])


def run(known, inference, m, problems):
    answers = Answers()
    kernel, how = KNOWN[known]
    start = kernel if how == "fixed" else ConstantKernel(1.0) * RBF(1.0)  # what is not known starts elsewhere
    for seed in range(problems):
        data, items, utility, rng = draw(seed, m, kernel)
        model = PreferenceGP(
            start, inference=inference, hyperparameters=how, n_restarts=1, n_points=16, random_state=seed
        )
        ask(model.fit(data), items, utility, rng, answers)
    return answers


def ece_of_best(answers):
    """Expected calibration error of P(best), over bins of its own, with the table."""
    p, best = np.concatenate(answers.p_best), np.concatenate(answers.best)
    place = np.clip(np.searchsorted(P_BEST_BINS, p, side="right") - 1, 0, len(P_BEST_BINS) - 2)
    rows = [
        (P_BEST_BINS[b], P_BEST_BINS[b + 1], p[place == b].mean(), best[place == b].mean(), int((place == b).sum()))
        for b in np.unique(place)
    ]
    return sum(abs(said - was) * n for _, _, said, was, n in rows) / len(p), rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--small", action="store_true", help="few problems, moderate data, two ways of knowing")
    parser.add_argument("--problems", type=int, default=200)
    options = parser.parse_args()
    problems = min(options.problems, 40) if options.small else options.problems
    warnings.simplefilter("ignore", PreflearnWarning)  # repeated pairs, and data that show nothing but noise
    start = time.perf_counter()
    levels = " | ".join(f"{level:.0%}" for level in LEVELS)
    print(f"{problems} problems each. Coverage of central intervals for utility differences, and calibration errors.\n")
    print(f"| kernel | inference | data | {levels} | within 3 points | ECE of P(best) | ECE of outcomes |")
    print("|---|---|---|" + "---|" * (len(LEVELS) + 3))
    tables = []
    for known in ("known", "learned") if options.small else KNOWN:
        for inference in ("ep", "laplace"):
            for amount, m in AMOUNTS.items():
                if options.small and amount != "moderate":
                    continue
                answers = run(known, inference, m, problems)
                covered = np.array(answers.covered)
                mean, error = covered.mean(axis=0), covered.std(axis=0, ddof=1) / np.sqrt(problems)
                best, rows = ece_of_best(answers)
                ece = expected_calibration_error(np.concatenate(answers.outcome), np.concatenate(answers.probability))
                cells = " | ".join(f"{100 * c:.1f} ± {100 * e:.1f}" for c, e in zip(mean, error, strict=True))
                held = "yes" if np.abs(mean - LEVELS).max() <= 0.03 else "no"
                head = f"{known} | {inference} | {amount} ({m})"
                print(f"| {head} | {cells} | {held} | {best:.3f} | {ece:.3f} |", flush=True)
                if amount == "moderate":
                    tables.append((head, rows))
    print(
        "\nP(best) at moderate data: how often the items that were said to be best with some probability were best.\n"
    )
    print("| kernel | inference | data | said | mean of said | were best | answers |\n|---|---|---|---|---|---|---|")
    for head, rows in tables:
        for low, high, said, was, n in rows:
            print(f"| {head} | {low:.2f} - {high:.2f} | {said:.3f} | {was:.3f} | {n} |")
    print(f"\n{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
