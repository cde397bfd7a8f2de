"""The KPCRank paper (Tsivtsivadze, Cseke and Heskes 2008): the sinc data, section 6.2 and Fig. 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn.data import Comparisons
from preflearn.datasets import SincPreferences, make_sinc_preferences
from preflearn.likelihoods import Flipped
from preflearn.metrics import comparison_log_loss, disagreement_error, expected_calibration_error
from preflearn.models import KPCRankCV, PreferenceGP
from preflearn.reproduce.experiment import Case, Column, Experiment, Record, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PAPER = "kpcrank 2008"

_FREE = ConstantKernel(10.0, (1e-2, 1e6)) * RBF(0.5, (0.05, 20.0))
_COMMON: dict[str, Any] = {"inference": "ep", "n_restarts": 0}
# The logarithms of width and variance have a uniform prior and are integrated out.
AVERAGED = PreferenceGP(_FREE, hyperparameters="average", random_state=0, **_COMMON)
ON_MARGINS = PreferenceGP(1.0 * RBF(1.0, (0.05, 20.0)), likelihood="gaussian", n_restarts=0)
# row, whether it sees margins or directions, whether a share of directions is reversed, model
_PROCESSES = (
    ("GP, EP", False, False, PreferenceGP(_FREE, **_COMMON)),
    ("GP, EP, with a flip rate", False, False, PreferenceGP(_FREE, Flipped(), **_COMMON)),
    ("GP, EP, 5 % reversed", False, True, PreferenceGP(_FREE, **_COMMON)),
    ("GP, EP, averaged, 5 % reversed", False, True, AVERAGED),
    ("GP, Laplace, 5 % reversed", False, True, PreferenceGP(_FREE, inference="laplace", n_restarts=0)),
    ("GP, EP, with a flip rate, 5 % reversed", False, True, PreferenceGP(_FREE, Flipped(), **_COMMON)),
    ("GP on the margins", True, False, ON_MARGINS),
)


def sinc(case: Case) -> list[Record]:
    """Learn the sinc curve from 379 comparisons by KPCRank and by Gaussian processes."""
    seed = case.random_state
    data = make_sinc_preferences(random_state=seed)
    widths = [RBF(width) for width in (0.3, 0.5, 0.8, 1.2)]
    # With exact margins nearly every model gets every direction right: the squared error must choose.
    model = KPCRankCV(case.settings["components"], widths, scoring="squared_error").fit(data.train)
    curve = model.predict(data.grid.reshape(-1, 1))
    grid = disagreement_error(data.sinc, curve)
    records: list[Record] = [{"row": "KPCRank", "test": 1 - model.score(data.test), "grid": grid}]
    for row, margins, reversed_, process in _PROCESSES:
        if row in case.settings["processes"]:
            flip = case.settings["flip"] if reversed_ else 0.0
            data = make_sinc_preferences(flip=flip, margins=margins, random_state=seed)
            records.append({"row": row, **_judged(clone(process).fit(data.train), data, flip, seed)})
    return records


def _judged(model: PreferenceGP, data: SincPreferences, flip: float, seed: int) -> Record:
    pairs = held_out(data, flip, seed)
    probability = model.predict_proba(pairs)[:, 1]
    return {
        "test": float(np.mean(model.predict(data.test) != np.sign(data.test.outcome))),
        "grid": disagreement_error(data.sinc, model.predict_utility(data.grid.reshape(-1, 1))),
        "loss": comparison_log_loss(pairs.outcome, probability),
        "calibration": expected_calibration_error(pairs.outcome, probability),
    }


def held_out(data: SincPreferences, flip: float, seed: int, n_pairs: int = 10_000) -> Comparisons:
    """Return pairs of test points, a share of their outcomes reversed."""
    rng = np.random.default_rng(1000 + seed)
    points: Any = data.test.items
    first, second = np.triu_indices(len(points), 1)
    value = np.sinc(points[:, 0])
    chosen = rng.choice(np.flatnonzero(np.abs(value[first] - value[second]) > 1e-9), n_pairs, replace=False)
    first, second = first[chosen], second[chosen]
    outcome = np.sign(value[first] - value[second])
    outcome[rng.choice(n_pairs, round(flip * n_pairs), replace=False)] *= -1
    return Comparisons(points, first, second, outcome)


SINC = Run(
    name="kpcrank-sinc",
    trial=sinc,
    repeats=20,
    seconds=9,
    settings={"components": 60, "processes": [row for row, *_ in _PROCESSES], "flip": 0.05},
    quick={"components": 20, "processes": ["GP on the margins"]},
)


def figure(case: Case) -> list[Record]:
    """Return the curves of the figure, from one draw of each kind of data."""
    seed = case.random_state
    directions = make_sinc_preferences(flip=case.settings["flip"], margins=False, random_state=seed)
    margins = make_sinc_preferences(random_state=seed)
    points = margins.grid.reshape(-1, 1)
    shown = margins.grid[:: case.settings["step"]]
    averaged = clone(AVERAGED).set_params(n_points=case.settings["points"]).fit(directions.train)
    few = KPCRankCV(60, [RBF(width) for width in (0.3, 0.5, 0.8, 1.2)], scoring="squared_error").fit(margins.train)
    curves = {
        "averaged": averaged.predict_utility(points),
        "GP on the margins": clone(ON_MARGINS).fit(margins.train).predict_utility(points),
        "KPCRank": few.predict(points),
    }
    log_width, density = width_posterior(averaged, *case.settings["grid"])
    return [
        {"x": shown, "sinc": np.sinc(shown), **{name: y[:: case.settings["step"]] for name, y in curves.items()}},
        {"width": np.exp(log_width), "density": density},
        *({"row": name, "grid": disagreement_error(margins.sinc, curve)} for name, curve in curves.items()),
    ]


def width_posterior(model: PreferenceGP, n_widths: int = 25, n_variances: int = 11) -> tuple[np.ndarray, np.ndarray]:
    """Return log widths and the density of the posterior over them, the variance integrated out on a grid."""
    log_variance, log_width = model.theta_
    widths = np.linspace(log_width - 1.5, log_width + 1.2, n_widths)
    variances = np.linspace(log_variance - 2, log_variance + 4, n_variances)
    evidence = np.array([[model.log_evidence([v, w])[0] for v in variances] for w in widths])
    density = np.exp(evidence - evidence.max()).sum(axis=1)
    return widths, density / (density.sum() * (widths[1] - widths[0]))


def _draw_figure(page: Figure, records: Sequence[Record]) -> None:
    left, right, width = page.subplots(1, 3)
    curves = next(one for one in records if "x" in one)
    x, truth = np.array(curves["x"]), np.array(curves["sinc"])
    mean = np.array(curves["averaged"])
    shape = truth - truth.mean()
    # only the order is learned from directions: sinc is laid over the utility in its scale
    left.plot(x, shape * (shape @ mean) / (shape @ shape), color="black", linewidth=1, label="sinc, scaled")
    left.plot(x, mean - mean.mean(), color="#0072B2", label="posterior mean")
    left.set(title="From directions, 5 % reversed (EP, averaged)", xlabel="x", ylabel="utility")
    right.plot(x, truth, color="black", linewidth=1, label="sinc")
    for name, colour, line in (("GP on the margins", "#0072B2", ":"), ("KPCRank", "#D55E00", "--")):
        curve = np.array(curves[name])  # only differences are learned
        right.plot(x, curve - curve.mean() + truth.mean(), line, color=colour, label=name)
    right.set(title="From margins", xlabel="x")
    found = next(one for one in records if "width" in one)
    width.plot(found["width"], found["density"], "o-", color="#0072B2", markersize=3)
    width.set(xscale="log", title="Posterior of the kernel's width", xlabel="width", ylabel="density of its logarithm")
    for panel in (left, right):
        panel.legend(frameon=False)


FIGURE = Run(
    name="kpcrank-fig1",
    trial=figure,
    repeats=1,
    seconds=9,
    settings={"flip": 0.05, "step": 5, "grid": [25, 11], "points": 64},
    quick={"step": 20, "grid": [2, 2], "points": 8},
    quick_repeats=1,
)

EXPERIMENTS = (
    Experiment(
        name="kpcrank-sinc",
        title="Sinc curve from comparisons: disagreement error",
        source=f"{PAPER}, section 6.2",
        runs=[SINC],
        head="method",
        columns=[
            Column("test", "48 test pairs", digits=4),
            Column("test worst", "worst draw", summary="max", of="test", digits=4),
            Column("grid", "all pairs of the grid", digits=4),
            Column("grid worst", "worst draw", summary="max", of="grid", digits=4),
            Column("loss", "log loss"),
            Column("calibration", "calibration error"),
        ],
        paper={"KPCRank": {"test": 0.025}, "GP, EP": {"test": 0.035}},
        notes=[
            "379 training pairs of 1000 points, 48 test pairs of 338 others, 20 draws; the paper has one draw. "
            "KPCRank and the last row see margins, the others directions only. Kernel width and components of "
            "KPCRank are chosen by 5-fold cross-validation over pairs.",
            "The paper does not say whether directions were reversed where it prints 0.035 for EP. Without reversed "
            "ones the probit model is below that. With 5 % reversed it is not: it can explain a reversed outcome of a "
            "large difference only by taking all differences for small compared with the noise. A share of reversed "
            "outcomes in the likelihood (`Flipped`, learned with the kernel) repairs this, and costs nothing where "
            "none are.",
            "Log loss and calibration error: 10,000 pairs of test points, as many reversed as in training. Who "
            "knows the curve has a log loss of 0.199 at 5 %. KPCRank predicts margins, not probabilities.",
        ],
    ),
    Experiment(
        name="kpcrank-fig1",
        title="Sinc curve from comparisons: what was learned",
        source=f"{PAPER}, Fig. 1",
        runs=[FIGURE],
        head="curve",
        columns=[Column("grid", "error, all pairs of the grid", digits=4)],
        draw=_draw_figure,
        size=(12.0, 3.6),
        notes=[
            "Left: posterior mean from 379 directions of which 5 % are reversed, by expectation propagation, averaged "
            "over kernel width and variance with uniform priors on their logarithms. Middle: from 379 margins. The "
            "paper has these two panels; the third is ours.",
        ],
    ),
)
