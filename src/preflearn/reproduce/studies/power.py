"""How often a ranking is called cyclic, and from how many comparisons on circles are found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from preflearn.data import Comparisons
from preflearn.models import PreferenceGP
from preflearn.reproduce.drawing import COLOURS
from preflearn.reproduce.experiment import Case, Column, Experiment, Record, Run
from preflearn.reproduce.studies.coverage import random_pairs
from preflearn.structure import rankability
from preflearn.structure.circle_search import HINT, SCALES, cyclic_residuals, similarities

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHARES = [0.1, 0.2, 0.4, 0.7, 1.0]
TRUTHS = ("ranking", "circles", "both")
MIXTURES = [[1, 0, 0], [0.5, 0.5, 0], [0, 1, 0], [0.9, 0, 0.1], [0.8, 0, 0.2], [0.5, 0, 0.5]]
VOTES = 3
_DEVIATION = 2.0  # of true preferences, in units of the noise of one utility
_KNOWN = {True: "features", False: "no features"}


def preferences(truth: str, X: Any, n: int, rng: np.random.Generator) -> Any:
    """Return true preferences between all items, (n, n), of deviation 2 over pairs; X None: without features."""
    if X is None:
        f, C = rng.normal(size=n), rng.normal(size=(n, n))
    else:
        root = np.linalg.cholesky(RBF(1.5)(X) + 1e-10 * np.eye(n))
        f, C = root @ rng.normal(size=n), root @ rng.normal(size=(n, n)) @ root.T
    parts = {"ranking": f[:, None] - f[None, :], "circles": C - C.T}
    upper = np.triu_indices(n, 1)
    scaled = {name: G / G[upper].std() for name, G in parts.items()}
    return _DEVIATION * (sum(scaled.values()) / np.sqrt(2) if truth == "both" else scaled[truth])


def some_pairs(truth: str, features: bool, share: float, n: int, seed: int) -> Comparisons:
    """Return three votes with probit noise about each of a share of the pairs."""
    rng = np.random.default_rng([seed, TRUTHS.index(truth), int(features), round(100 * share)])
    X = rng.normal(size=(n, 2)) if features else None
    G = preferences(truth, X, n, rng)
    low, high = np.triu_indices(n, 1)
    kept = np.sort(rng.choice(len(low), max(3, round(share * len(low))), replace=False))
    first, second = np.repeat(low[kept], VOTES), np.repeat(high[kept], VOTES)
    outcome = np.sign(G[first, second] + np.sqrt(2) * rng.normal(size=len(first)))
    return Comparisons(n if X is None else X, first, second, outcome)


def verdicts(case: Case) -> list[Record]:
    """Ask for all truths and shares of pairs whether preferences run in circles."""
    settings, records = case.settings, []
    for truth in TRUTHS:
        for features in settings["features"]:
            record: Record = {"row": f"{truth}, {_KNOWN[features]}", "truth": truth, "features": features}
            for share in settings["shares"]:
                data = some_pairs(truth, features, share, settings["items"], case.random_state)
                found = rankability(data, n_samples=10, screen=settings["screen"]).found
                record[f"{share:.0%}"] = float(found)
            records.append(record)
    return records


def mixture(parts: Sequence[float], n: int, m: int, seed: int) -> Comparisons:
    """Return votes about random pairs; ``parts`` are the shares of features, own effects and circles."""
    rng = np.random.default_rng([seed, n, m, *(round(100 * part) for part in parts)])
    X = rng.normal(size=(n, 2))
    u = rng.normal(size=n)
    wholes = preferences("ranking", X, n, rng), u[:, None] - u[None, :], preferences("circles", X, n, rng)
    upper = np.triu_indices(n, 1)
    G = _DEVIATION * sum(np.sqrt(part) * G / G[upper].std() for part, G in zip(parts, wholes, strict=True))
    first, second = random_pairs(rng, n, m)
    return Comparisons(X, first, second, np.sign(G[first, second] + np.sqrt(2) * rng.normal(size=m)))


def hints(case: Case) -> list[Record]:
    """Ask whether the residuals of a ranking hint at circles, where pairs are many and met about once."""
    settings, records = case.settings, []
    for parts in settings["mixtures"]:
        data = mixture(parts, settings["items"], settings["comparisons"], case.random_state)
        ranking = PreferenceGP("rbf", n_restarts=0).fit(data)
        p = cyclic_residuals(ranking, similarities(ranking, SCALES), 0).p_value
        words = "features {:.0%}, own effects {:.0%}, circles {:.0%}".format(*parts)
        records.append({"row": words, "hint": float(p < HINT)})
    return records


def _draw(page: Figure, records: Sequence[Record]) -> None:
    known = list(dict.fromkeys(one["features"] for one in records))
    for panel, features in zip(page.subplots(1, len(known), sharey=True, squeeze=False)[0], known, strict=True):
        for truth, colour, mark in zip(TRUTHS, COLOURS, "os^", strict=False):
            some = [one for one in records if (one["truth"], one["features"]) == (truth, features)]
            shares = [share for share in SHARES if f"{share:.0%}" in some[0]]
            p = np.array([np.mean([one[f"{share:.0%}"] for one in some]) for share in shares])
            bars = np.sqrt(p * (1 - p) / len(some))
            panel.errorbar(shares, p, bars, fmt=mark + "-", color=colour, capsize=2, label=f"truth: {truth}")
        panel.axhline(0.05, color="grey", linewidth=0.8, linestyle=":")
        panel.set(title=f"items with {_KNOWN[features]}", xlabel="share of pairs compared", ylim=(-0.03, 1.03))
    page.axes[0].set_ylabel("share called cyclic or partly cyclic")
    page.axes[0].legend(frameon=False)


def _run(name: str, features: list[bool], screen: bool, seconds: float) -> Run:
    settings = {"features": features, "shares": SHARES, "items": 16, "screen": screen}
    return Run(name, verdicts, 40, seconds, settings, {"shares": [1.0], "items": 8}, 1)


_COLUMNS = [Column(f"{share:.0%}", f"{share:.0%} of pairs", spread="error", digits=2) for share in SHARES]
_DATA = (
    "16 items, three votes with probit noise for each compared pair. Preferences have twice the deviation of the noise "
    "of one utility; both is half ranking, half circles; features (two) explain all of it."
)

EXPERIMENTS = (
    Experiment(
        name="power",
        title="How often preferences are called cyclic or partly cyclic",
        source="a study",
        runs=[_run("power", [True, False], False, 10.0)],
        head="truth",
        columns=_COLUMNS,
        draw=_draw,
        size=(9.0, 3.6),
        notes=[f"{_DATA} For a ranking these are false alarms, which should be below 5 %."],
    ),
    Experiment(
        name="power-screened",
        title="The same where circles are learned only after a hint",
        source="a study",
        runs=[_run("power-screened", [True], True, 2.0)],
        head="truth",
        columns=_COLUMNS,
        notes=[f"{_DATA} Residuals of the ranking must hint at circles first, as in `preflearn rank`."],
    ),
    Experiment(
        name="power-hints",
        title="How often the residuals of a ranking hint at circles, among many pairs",
        source="a study",
        runs=[
            Run(
                "power-hints",
                hints,
                40,
                15.0,
                {"mixtures": MIXTURES, "items": 200, "comparisons": 2000},
                {"items": 40, "comparisons": 200},
                1,
            )
        ],
        head="shares of the variance",
        columns=[Column("hint", f"a hint (p < {HINT:g})", spread="error", digits=2)],
        notes=[
            "2,000 votes about random pairs of 200 items with two features. True preferences are a utility of the "
            "features, own effects of items, and circles. Circles are found only after a hint, so that hints at "
            "rankings bound false alarms.",
        ],
    ),
)
