"""How many comparisons does choosing them save? Suggested pairs against random pairs, on simulated judges.

    python examples/which_next.py [--seeds 10] [--plot which_next.png] [--small]

Items have true utilities; a judge compares two of them with normal noise. Both learners start from the same few
random comparisons and fit a PreferenceGP; one goes on with `preflearn.active.suggest`, five pairs at a time, the other
with random pairs. Hyperparameters are learned again at every 25 comparisons only. Printed are the comparisons until
Kendall's tau between mean and true utilities reaches a level (median and quartiles over seeds), and how well held-out
comparisons are predicted when the budget is spent.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from preflearn import Comparisons, PreferenceGP
from preflearn.active import suggest
from preflearn.exceptions import DataWarning
from preflearn.metrics import comparison_log_loss, expected_calibration_error, kendall_tau_b

# Random pairs repeat, and few comparisons leave separate parts: expected here.
warnings.simplefilter("ignore", DataWarning)

LEVELS = (0.8, 0.9)
SETTINGS = {  # number of items, features, budget of comparisons
    "items with features": (60, 2, 450),
    "items without features": (30, 0, 600),
}
START, BATCH, LEARN = 10, 5, 25


def make_items(n_items, n_features, rng):
    """Return features (None without) and true utilities, of standard deviation 3 as a Gaussian process gives them."""
    if not n_features:
        return None, 3 * rng.standard_normal(n_items)
    X = rng.uniform(-2, 2, size=(n_items, n_features))
    K = RBF(1.2)(X) + 1e-9 * np.eye(n_items)
    return X, 3 * np.linalg.cholesky(K) @ rng.standard_normal(n_items)


def random_pairs(n_items, n, rng):
    first = rng.integers(0, n_items, n)
    return np.column_stack([first, (first + rng.integers(1, n_items, n)) % n_items])


def ask(truth, pairs, rng):
    z = truth[pairs[:, 0]] - truth[pairs[:, 1]]
    return np.sign(z + np.sqrt(2) * rng.standard_normal(len(pairs)))


def data_of(X, n_items, pairs, outcome):
    return Comparisons(n_items if X is None else X, pairs[:, 0], pairs[:, 1], outcome)


def learn(strategy, X, truth, budget, seed):
    """Return tau after every batch, and the last model."""
    n_items = len(truth)
    rng = np.random.default_rng([seed, 1])  # the same first comparisons for both
    pairs = random_pairs(n_items, START, rng)
    outcome = ask(truth, pairs, rng)
    model = PreferenceGP(n_restarts=0).fit(data_of(X, n_items, pairs, outcome))
    taus = []
    while True:
        taus.append(kendall_tau_b(truth, model.predict_utility()))
        if len(pairs) >= budget:
            return np.array(taus), model
        if strategy == "suggested":
            found = suggest(model, n=BATCH)
            new = np.column_stack([found.first, found.second])
        else:
            new = random_pairs(n_items, BATCH, rng)
        answers = ask(truth, new, rng)
        pairs, outcome = np.concatenate([pairs, new]), np.concatenate([outcome, answers])
        if len(pairs) % LEARN:
            model.update(data_of(X, n_items, new, answers))
        else:
            model = PreferenceGP(n_restarts=0).fit(data_of(X, n_items, pairs, outcome))


def judge(model, X, truth, seed):
    """Return accuracy, log loss and expected calibration error on 2,000 new comparisons."""
    rng = np.random.default_rng([seed, 2])
    pairs = random_pairs(len(truth), 2000, rng)
    outcome = ask(truth, pairs, rng)
    p = model.predict_proba(data_of(X, len(truth), pairs, outcome))[:, 1]
    right = np.mean((p > 0.5) == (outcome > 0))
    return right, comparison_log_loss(outcome, p), expected_calibration_error(outcome, p)


def until(taus, level):
    reached = np.flatnonzero(taus >= level)
    return START + BATCH * reached[0] if reached.size else np.inf


def quartiles(taus, level):
    needed = [until(curve, level) for curve in taus]
    return np.quantile(needed, [0.25, 0.5, 0.75], method="inverted_cdf")


def draw(path, curves):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, len(curves), figsize=(10, 4), sharey=True, layout="constrained")
    for axes, (setting, taus) in zip(panels, curves.items(), strict=True):
        for (strategy, values), colour in zip(taus.items(), ("#0072B2", "#D55E00"), strict=True):
            asked = START + BATCH * np.arange(values.shape[1])
            low, middle, high = np.quantile(values, [0.25, 0.5, 0.75], axis=0)
            axes.plot(asked, middle, color=colour, linewidth=2, label=f"{strategy} pairs")
            axes.fill_between(asked, low, high, color=colour, alpha=0.2, linewidth=0)
        for level in LEVELS:
            axes.axhline(level, color="0.6", linewidth=0.8, linestyle=":")
            few, many = (quartiles(taus[s], level)[1] for s in ("suggested", "random"))
            if np.isfinite(many):
                axes.annotate("", (few, level), (many, level), arrowprops={"arrowstyle": "->", "linewidth": 1.5})
                axes.text(many, level - 0.03, f"{many:.0f} \u2192 {few:.0f}", ha="left", va="top")
        n_items = SETTINGS[setting][0]
        axes.set(title=f"{n_items} {setting}", xlabel="comparisons", xlim=(0, None), ylim=(0.3, 1))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("Kendall's tau with the true order")
    panels[0].legend(loc="lower right", frameon=False, title="median and quartiles over seeds", alignment="left")
    figure.savefig(path, dpi=150)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--plot", metavar="FILE")
    parser.add_argument("--small", action="store_true", help="two seeds and a third of the budget")
    options = parser.parse_args()
    seeds = 2 if options.small else options.seeds
    curves = {}
    for setting, (n_items, n_features, budget) in SETTINGS.items():
        budget = budget // 3 if options.small else budget
        print(f"{n_items} {setting}, {budget} comparisons, {seeds} seeds")
        heads = [f"until tau {level}" for level in LEVELS] + ["tau", "accuracy", "log loss", "calibration error"]
        print(f"{'':12}" + "".join(f"{head:>20}" for head in heads))
        curves[setting], needed = {}, {}
        for strategy in ("suggested", "random"):
            taus, judged = [], []
            for seed in range(seeds):
                X, truth = make_items(n_items, n_features, np.random.default_rng([seed, 0]))
                curve, model = learn(strategy, X, truth, budget, seed)
                taus.append(curve)
                judged.append(judge(model, X, truth, seed))
            curves[setting][strategy] = np.array(taus)
            counts = [quartiles(taus, level) for level in LEVELS]
            needed[strategy] = [middle for _, middle, _ in counts]
            cells = [f"{m:.0f} ({low:.0f}-{high:.0f})".replace("inf", f">{budget}") for low, m, high in counts]
            cells += [f"{np.mean([curve[-1] for curve in taus]):.3f}"]
            cells += [f"{value:.3f}" for value in np.mean(judged, axis=0)]
            print(f"{strategy:12}" + "".join(f"{cell:>20}" for cell in cells))
        for level, active, chance in zip(LEVELS, needed["suggested"], needed["random"], strict=True):
            if np.isfinite(chance):
                print(f"  tau {level}: {1 - active / chance:.0%} fewer comparisons than at random (medians)")
        assert needed["suggested"][0] <= needed["random"][0], "suggested pairs reach the first level no later"
    if options.plot:
        draw(options.plot, curves)


if __name__ == "__main__":
    main()
