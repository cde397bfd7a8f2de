"""How many comparisons choosing them saves: suggested pairs beside random ones, on simulated judges."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from preflearn.active import suggest
from preflearn.data import Comparisons
from preflearn.metrics import comparison_log_loss, expected_calibration_error, kendall_tau_b, pairwise_accuracy
from preflearn.models import PreferenceGP
from preflearn.reproduce.drawing import COLOURS
from preflearn.reproduce.experiment import Case, Column, Experiment, Record, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEVELS = (0.8, 0.9)
STRATEGIES = ("suggested", "random")
START, BATCH, LEARN = 10, 5, 25  # comparisons: at first, at a time, and between two searches for hyperparameters
_HELD_OUT = 2000
_DEVIATION = 3.0  # of utilities


def choose(case: Case) -> list[Record]:
    """Learn by suggested and by random pairs; both have the same items and start from the same comparisons."""
    seed, settings = case.random_state, case.settings
    X, truth = _items(settings["items"], settings["features"], np.random.default_rng([seed, 0]))
    records: list[Record] = []
    for strategy in STRATEGIES:
        taus, model = _learned(strategy, X, truth, settings["budget"], np.random.default_rng([seed, 1]))
        test = _asked(X, truth, _random_pairs(len(truth), _HELD_OUT, rng := np.random.default_rng([seed, 2])), rng)
        p = model.predict_proba(test)[:, 1]
        records.append(
            {
                "row": f"{settings['row']}, {strategy} pairs",
                **{f"tau {level}": until(taus, level, settings["budget"]) for level in LEVELS},
                "tau": taus[-1],
                "accuracy": pairwise_accuracy(test.outcome, p - 0.5),
                "loss": comparison_log_loss(test.outcome, p),
                "calibration": expected_calibration_error(test.outcome, p),
            }
        )
        records.append({"items": settings["row"], "strategy": strategy, "taus": taus})
    return records


def until(taus: Sequence[float], level: float, budget: int) -> int:
    """Return after how many comparisons tau reaches a level; a batch more than the budget where it does not.

    Examples
    --------
    >>> until([0.1, 0.7, 0.9], 0.8, 20), until([0.1, 0.7], 0.8, 15)
    (20, 20)
    """
    reached = np.flatnonzero(np.asarray(taus) >= level)
    return START + BATCH * int(reached[0]) if reached.size else budget + BATCH


def _learned(
    strategy: str, X: Any, truth: Any, budget: int, rng: np.random.Generator
) -> tuple[list[float], PreferenceGP]:
    """Return tau after every batch, and the last model."""
    data = _asked(X, truth, _random_pairs(len(truth), START, rng), rng)
    model = PreferenceGP(n_restarts=0).fit(data)
    taus: list[float] = []
    while True:
        taus.append(float(kendall_tau_b(truth, model.predict_utility())))
        if len(data) >= budget:
            return taus, model
        if strategy == "suggested":
            found = suggest(model, n=BATCH)
            pairs = np.column_stack([found.first, found.second])
        else:
            pairs = _random_pairs(len(truth), BATCH, rng)
        new = _asked(X, truth, pairs, rng)
        sides = ([*data.first, *new.first], [*data.second, *new.second], [*data.outcome, *new.outcome])
        data = Comparisons(len(truth) if X is None else X, *sides)
        if len(data) % LEARN:
            model.update(new)
        else:
            model = PreferenceGP(n_restarts=0).fit(data)


def _items(n_items: int, n_features: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return features (None without) and true utilities; those with features are drawn from a Gaussian process."""
    if not n_features:
        return None, _DEVIATION * rng.standard_normal(n_items)
    X = rng.uniform(-2, 2, size=(n_items, n_features))
    root = np.linalg.cholesky(RBF(1.2)(X) + 1e-9 * np.eye(n_items))
    return X, _DEVIATION * root @ rng.standard_normal(n_items)


def _random_pairs(n_items: int, n: int, rng: np.random.Generator) -> Any:
    first = rng.integers(0, n_items, n)
    return np.column_stack([first, (first + rng.integers(1, n_items, n)) % n_items])


def _asked(X: Any, truth: Any, pairs: Any, rng: np.random.Generator) -> Comparisons:
    """Return the answers of a judge with normal noise on each utility."""
    first, second = pairs.T
    outcome = np.sign(truth[first] - truth[second] + np.sqrt(2) * rng.standard_normal(len(pairs)))
    return Comparisons(len(truth) if X is None else X, first, second, outcome)


def _draw(page: Figure, records: Sequence[Record]) -> None:
    curves = [one for one in records if "taus" in one]
    sets = list(dict.fromkeys(one["items"] for one in curves))
    for panel, name in zip(page.subplots(1, len(sets), sharey=True, squeeze=False)[0], sets, strict=True):
        for strategy, colour in zip(STRATEGIES, COLOURS, strict=False):
            some = [one["taus"] for one in curves if (one["items"], one["strategy"]) == (name, strategy)]
            low, middle, high = np.quantile(some, [0.25, 0.5, 0.75], axis=0)
            asked = START + BATCH * np.arange(len(middle))
            panel.plot(asked, middle, color=colour, label=f"{strategy} pairs")
            panel.fill_between(asked, low, high, color=colour, alpha=0.2, linewidth=0)
        for level in LEVELS:
            panel.axhline(level, color="0.6", linewidth=0.8, linestyle=":")
        panel.set(title=name, xlabel="comparisons", xlim=(0, None), ylim=(0.3, 1))
    page.axes[0].set_ylabel("Kendall's tau with the true order")
    page.axes[0].legend(loc="lower right", frameon=False, title="median and quartiles")


def _quartiles(level: float) -> list[Column]:
    """Return the columns of how many comparisons are needed: median, and quartiles."""
    key = f"tau {level}"
    words = {0.5: f"until tau {level}", 0.25: "first quartile", 0.75: "third quartile"}
    return [
        Column(f"{key}, {q:g}", title, partial(np.quantile, q=q, method="inverted_cdf"), of=key, digits=0)
        for q, title in words.items()
    ]


def _run(row: str, seconds: float, **settings: int) -> Run:
    quick = {"budget": 40, "items": 20}
    return Run(f"which-next-{settings['items']}", choose, 20, seconds, {"row": row, **settings}, quick, 1)


RUNS = [
    _run("60 items with features", 2.0, items=60, features=2, budget=450),
    _run("30 items without", 2.0, items=30, features=0, budget=600),
]

EXPERIMENTS = (
    Experiment(
        name="which-next",
        title="How many comparisons choosing them saves",
        source="a study",
        runs=RUNS,
        head="pairs",
        columns=[
            *(column for level in LEVELS for column in _quartiles(level)),
            Column("tau", "tau in the end"),
            Column("accuracy"),
            Column("loss", "log loss"),
            Column("calibration", "calibration error"),
        ],
        draw=_draw,
        size=(10.0, 4.0),
        notes=[
            "Comparisons until Kendall's tau between learned and true utilities reaches a level, median and quartiles; "
            "455 and 605 stand for more than there were. Suggested pairs are those with the highest expected "
            "information about the utilities, five at a time; hyperparameters are learned again at every 25 "
            "comparisons. The last columns are about 2,000 new comparisons when all are spent.",
        ],
    ),
)
