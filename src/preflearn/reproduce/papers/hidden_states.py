"""The GPGP paper (Chau, González and Sejdinovic 2022): simulated items with hidden states, Figs. 2 and 3."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from preflearn.baselines import PairAugmented
from preflearn.data import Comparisons
from preflearn.datasets import make_comparable_clusters, make_cyclic_preferences
from preflearn.metrics import comparison_log_loss, expected_calibration_error
from preflearn.models import OnItems, PreferenceGP
from preflearn.reproduce.drawing import draw_lines
from preflearn.reproduce.experiment import Case, Column, Experiment, Paired, Record, Run
from preflearn.structure import ComparableClusters

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "gpgp 2022"
BOTH = "utility + circles"
RIVALS = ("PGP", "PAIR-GP", "PAIR-LOGREG")
MODELS: dict[str, Any] = {
    "GPGP": PreferenceGP(None, "logit", cyclic_kernel="rbf", n_restarts=1, random_state=0),
    "PGP": PreferenceGP("rbf", "logit", n_restarts=1, random_state=0),
    "PAIR-GP": PairAugmented(GaussianProcessClassifier(1.0 * RBF(2.0), random_state=0)),
    "PAIR-LOGREG": PairAugmented(LogisticRegression()),
    BOTH: PreferenceGP("rbf", "logit", cyclic_kernel="rbf", n_restarts=1, random_state=0),
}
_CHOICE = ("GPGP", "PGP", BOTH)
COLUMNS = (
    *(Column(name) for name in MODELS),
    Column("chosen", "chosen by evidence"),
    Column("log loss", "log loss of the chosen"),
    Column("calibration", "its calibration error"),
)
TESTS = tuple(Paired("GPGP", name, "rank sum") for name in RIVALS)
CHOSEN = (
    "GPGP is a preference function that may be cyclic, PGP a utility, the PAIR models classify pairs in both orders. "
    f"Ours beside them: both at once ({BOTH}), and of these three the one with the highest evidence on the training "
    "part. Nothing is chosen on test comparisons. Logistic noise, Laplace's method."
)


def judged(train: Comparisons, test: Comparisons) -> Record:
    """Return the accuracy of each model on test comparisons, and that of the chosen one with its probabilities."""
    scaler = OnItems(StandardScaler()).fit(train)
    train, test = scaler.transform(train), scaler.transform(test)
    found: Record = {}
    best = -np.inf
    for name, unfitted in MODELS.items():
        model = clone(unfitted).fit(train)
        found[name] = model.score(test)
        if name in _CHOICE and model.log_evidence_ > best:
            best = model.log_evidence_
            probability = model.predict_proba(test)[:, 1]
            found["chosen"] = found[name]
    found["log loss"] = comparison_log_loss(test.outcome, probability)
    found["calibration"] = expected_calibration_error(test.outcome, probability)
    return found


def in_two(X: Any, first: Any, second: Any, outcome: Any, rng: np.random.Generator) -> tuple[Comparisons, Comparisons]:
    """Return 70 % of the comparisons and the others."""
    order = rng.permutation(len(first))
    cut = round(0.7 * len(first))
    train, test = (Comparisons(X, first[part], second[part], outcome[part]) for part in (order[:cut], order[cut:]))
    return train, test


def cycles(case: Case) -> list[Record]:
    """Learn comparisons that are decided by a utility of its own for each pair of states."""
    states, records = case.settings["states"], []
    for share in case.settings["shares"]:
        rng = np.random.default_rng([case.random_state, states, round(100 * share)])
        made = make_cyclic_preferences(states, share, random_state=rng).comparisons
        found = judged(*in_two(made.items, made.first, made.second, made.outcome, rng))
        records.append({"row": f"L = {states}, {share:.0%} of pairs", "states": states, "share": share, **found})
    return records


def _draw_cycles(page: Figure, records: Sequence[Record]) -> None:
    counts = sorted({one["states"] for one in records})
    shown = {name: name for name in (*MODELS, "chosen") if name != BOTH}
    for panel, states in zip(page.subplots(1, len(counts), sharey=True, squeeze=False)[0], counts, strict=True):
        draw_lines(panel, records, "share", {**shown, "chosen": "chosen"}, {"states": states}, apart=0.015)
        panel.set(title=f"L = {states}", xlabel="share of pairs compared")
    page.axes[0].set_ylabel("accuracy on held-out comparisons")
    page.axes[0].legend(frameon=False, loc="lower right", fontsize=8)


def clusters(case: Case) -> list[Record]:
    """Find clusters of items that are ranked within each cluster and tossed for across."""
    states, records = case.settings["states"], []
    for share in case.settings["shares"]:
        rng = np.random.default_rng([case.random_state, states, round(100 * share), 1])
        made = make_comparable_clusters(states, share, random_state=rng)
        data = OnItems(StandardScaler()).fit(made.comparisons).transform(made.comparisons)
        record: Record = {"row": f"{states} clusters, {share:.0%} of pairs", "states": states, "share": share}
        for assign, words in (("kmeans", ""), ("affinity", ", affinity")):
            for method, name in _CLUSTERINGS.items():
                options: Any = {"method": method, "assign": assign, "abstention": case.settings["abstention"]}
                model = ComparableClusters(states, random_state=0, **options).fit(data)
                record[name + words] = matched(model.labels_, made.state)
        records.append(record)
    return records


_CLUSTERINGS = {"gpgp": "GPGP-CLUS", "svd": "SVD-CLUS", "partial": "PR-CLUS"}


def matched(labels: Any, state: Any) -> float:
    """Return the share of items in the right cluster, under the best naming of the clusters.

    Examples
    --------
    >>> import numpy as np
    >>> matched(np.array([1, 1, 0, 0]), np.array([0, 0, 1, 0]))
    0.75
    """
    k = int(max(labels.max(), state.max())) + 1
    return float(max(np.mean(np.array(names)[labels] == state) for names in permutations(range(k))))


def _draw_clusters(page: Figure, records: Sequence[Record]) -> None:
    counts = sorted({one["states"] for one in records})
    grid = page.subplots(2, len(counts), sharey=True, sharex=True, squeeze=False)
    for line, words, how in zip(grid, ("", ", affinity"), ("k-means, as in the paper", "by affinity"), strict=True):
        for panel, states in zip(line, counts, strict=True):
            shown = {name + words: name for name in _CLUSTERINGS.values()}
            draw_lines(panel, records, "share", shown, {"states": states}, apart=0.01)
            panel.set(title=f"{states} clusters, {how}")
        line[0].set_ylabel("share in the right cluster")
    for panel in grid[-1]:
        panel.set_xlabel("share of pairs compared")
    page.axes[0].legend(frameon=False, loc="upper left")


_SHARES = [0.2, 0.4, 0.6, 0.8, 1.0]
CYCLES = [
    Run(f"gpgp-fig2-{states}", cycles, 20, seconds, {"states": states, "shares": _SHARES}, {"shares": [0.4]}, 1)
    for states, seconds in ((1, 5.0), (2, 4.0), (5, 4.0))
]
CLUSTERS = [
    Run(
        name=f"gpgp-fig3-{states}",
        trial=clusters,
        repeats=20,
        seconds=6.0,
        settings={"states": states, "shares": _SHARES, "abstention": 0.6},
        quick={"shares": [0.5]},
        quick_repeats=1,
    )
    for states in (2, 3)
]

EXPERIMENTS = (
    Experiment(
        name="gpgp-fig2",
        title="Preferences that run in circles: held-out accuracy",
        source=f"{PAPER}, Fig. 2",
        runs=CYCLES,
        head="states, compared",
        columns=COLUMNS,
        tests=TESTS,
        draw=_draw_cycles,
        size=(11.0, 3.8),
        notes=[
            "30 items with 5 features and a hidden state of L; a utility of its own for each pair of states decides: "
            "L = 1 is a ranking. 70 % of the comparisons train, 30 % test.",
            CHOSEN,
            "The paper's figure has no numbers. As in it, GPGP is above PGP for 2 and 5 states, here from 40 % of the "
            "pairs on, and below it for one.",
        ],
    ),
    Experiment(
        name="gpgp-fig3",
        title="Clusters of comparable items: share of items in the right cluster",
        source=f"{PAPER}, Fig. 3 (a, b)",
        runs=CLUSTERS,
        head="clusters, compared",
        columns=[Column(name + words) for words in ("", ", affinity") for name in _CLUSTERINGS.values()],
        tests=[Paired("GPGP-CLUS", name, "rank sum") for name in ("SVD-CLUS", "PR-CLUS")],
        draw=_draw_clusters,
        size=(8.0, 6.0),
        notes=[
            "30 items with 5 features; items of one state are ranked, others are compared by a coin. The paper assigns "
            "by k-means on singular vectors; by affinity (the size of preferences between items) more are right.",
            "The paper's figure has no numbers. As in it, GPGP-CLUS finds most on sparse graphs, and SVD-CLUS comes "
            "close on dense ones, here for two clusters with assignment by affinity.",
        ],
    ),
)
