"""Whether uncertainty is honest: coverage and calibration on problems drawn from the prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtri
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn.data import Comparisons
from preflearn.kernels import gram
from preflearn.linalg import cholesky_psd
from preflearn.models import PreferenceGP
from preflearn.reproduce.experiment import Case, Column, Experiment, Record, Run

LEVELS = (0.5, 0.8, 0.95)
N_ITEMS, N_NEW, N_ASKED, N_BEST = 20, 20, 100, 10
_NOISE = np.sqrt(2.0)
_KERNEL, _STRONG = ConstantKernel(4.0) * RBF(0.7), ConstantKernel(36.0) * RBF(0.7)
# What is known about the kernel: itself, or its form only, with parameters of the highest evidence or averaged. Strong:
# utilities that differ by much more than the noise.
KNOWN: dict[str, tuple[Any, Any]] = {
    "known": (_KERNEL, "fixed"),
    "known, strong": (_STRONG, "fixed"),
    "learned": (_KERNEL, "maximise"),
    "averaged": (_KERNEL, "average"),
}
_METHODS = {"EP": "ep", "Laplace": "laplace"}
_BINS = {"best": (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0), "outcomes": (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)}


def problem(case: Case) -> list[Record]:
    """Draw a problem for each amount of data, and ask every model about it."""
    records = []
    for known in case.settings["known"]:
        kernel, how = KNOWN[known]
        start = kernel if how == "fixed" else ConstantKernel(1.0) * RBF(1.0)  # what is not known starts elsewhere
        for name, inference in _METHODS.items():
            for m in case.settings["comparisons"]:
                data, items, utility, rng = drawn(case.random_state, m, kernel)
                model = PreferenceGP(
                    start,
                    inference=inference,
                    hyperparameters=how,
                    n_restarts=1,
                    n_points=16,
                    random_state=case.random_state,
                )
                found = _answers(model.fit(data), items, utility, rng)
                records.append({"row": f"{known}, {name}, {m} comparisons", **found})
    return records


def drawn(seed: int, m: int, kernel: Any) -> tuple[Comparisons, Any, Any, np.random.Generator]:
    """Return comparisons, all items, their utilities, and a generator for what is asked."""
    rng = np.random.default_rng([seed, m])
    items = rng.uniform(-1, 1, size=(N_ITEMS + N_NEW, 2))
    utility = cholesky_psd(gram(kernel, items))[0] @ rng.standard_normal(len(items))
    first, second = _pairs(rng, 0, N_ITEMS, m)
    outcome = np.sign(utility[first] - utility[second] + _NOISE * rng.standard_normal(m))
    return Comparisons(items[:N_ITEMS], first, second, outcome), items, utility, rng


def _pairs(rng: np.random.Generator, start: int, n: int, m: int) -> tuple[Any, Any]:
    first = rng.integers(0, n, m)
    return start + first, start + (first + rng.integers(1, n, m)) % n


def _answers(model: PreferenceGP, items: Any, utility: Any, rng: np.random.Generator) -> Record:
    """Return what a model says of differences, of the best of some items and of outcomes, beside what is so."""
    old, new = _pairs(rng, 0, N_ITEMS, N_ASKED // 2), _pairs(rng, N_ITEMS, N_NEW, N_ASKED // 2)
    first, second = (np.concatenate(part) for part in zip(old, new, strict=True))
    truth = utility[first] - utility[second]
    mean, C = model.predict_utility(items, return_cov=True)
    deviation = np.sqrt(C[first, first] + C[second, second] - 2 * C[first, second])
    distance = np.abs(truth - (mean[first] - mean[second])) / deviation
    some = rng.choice(len(items), N_BEST, replace=False)
    ranking = model.rank(items[some], random_state=0)
    outcome = np.sign(truth + _NOISE * rng.standard_normal(N_ASKED))
    p = model.predict_proba(Comparisons(items, first, second, outcome))[:, 1]
    return {
        **{f"{level:g}": float(np.mean(distance <= ndtri(0.5 + level / 2))) for level in LEVELS},
        "best": counted(ranking.p_best, ranking.row == np.argmax(utility[some]), "best"),
        "outcomes": counted(np.maximum(p, 1 - p), np.where(p == 0.5, 0.5, (p > 0.5) == (outcome > 0)), "outcomes"),
    }


def counted(said: Any, happened: Any, what: str) -> list[list[float]]:
    """Return for each bin of probabilities their sum, and how often it happened; of many problems these are added."""
    edges = np.array(_BINS[what])
    place = np.clip(np.searchsorted(edges, said, side="right") - 1, 0, len(edges) - 2)
    return [np.bincount(place, weights, len(edges) - 1).round(6).tolist() for weights in (said, happened)]


def calibration_error(counts: Sequence[list[list[float]]], n: int) -> float:
    """Return the mean distance of what was said from how often it happened, over bins, with n answers a problem."""
    said, happened = np.sum(counts, axis=0)
    return float(np.abs(said - happened).sum() / (n * len(counts)))


def _of_best(counts: Sequence[list[list[float]]]) -> float:
    return calibration_error(counts, N_BEST)


def _of_outcomes(counts: Sequence[list[list[float]]]) -> float:
    return calibration_error(counts, N_ASKED)


EXPERIMENTS = (
    Experiment(
        name="uncertainty",
        title="Whether uncertainty is honest: problems drawn from the prior",
        source="a study",
        runs=[
            Run(
                name="uncertainty",
                trial=problem,
                repeats=200,
                seconds=1.5,
                settings={"known": list(KNOWN), "comparisons": [10, 60, 400]},
                quick={"known": ["known", "learned"], "comparisons": [60]},
                quick_repeats=1,
            )
        ],
        head="kernel, inference, data",
        columns=[
            *(Column(f"{level:g}", f"{100 * level:g} % intervals", spread="error") for level in LEVELS),
            Column("best", "calibration error of P(best)", _of_best),
            Column("outcomes", "of outcomes", _of_outcomes),
        ],
        notes=[
            "Share of central intervals of utility differences that hold the truth, of old and of new items. 20 items "
            "with two features, utilities from a Gaussian process, of deviation 2 in units of an item's noise (strong: "
            "6), probit outcomes of random pairs. Calibration errors of the probability to be the best of ten items, "
            "and of held-out outcomes, over all problems.",
            "The kernel is known, or learned by the highest evidence, or averaged over.",
        ],
    ),
)
