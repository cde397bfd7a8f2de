"""What a fitted Gaussian process has to say about itself."""

from __future__ import annotations

from typing import Any

from sklearn.exceptions import ConvergenceWarning

from preflearn.exceptions import DataWarning, warn_user
from preflearn.inference.methods import get_method
from preflearn.items import as_items

__all__ = ["warn_few_points", "warn_if_equal", "warn_only_noise", "warn_unfinished"]

NOTHING_BUT_NOISE = 30.0  # times the deviation of utilities


def warn_if_equal(owner: str, items: Any) -> None:
    """Warn if all items have the same features."""
    if items.shape[0] > 1 and as_items(items).all_equal():
        warn_user(
            f"{owner}: all {items.shape[0]} items that occur have the same features, so no difference between them can "
            "be learned.\n  Give features that differ, or leave the item table out: items are then known by name.",
            DataWarning,
        )


def warn_unfinished(owner: str, inference: str, infos: list[Any], likelihood: Any) -> None:
    """Warn if an inference did not reach its tolerance."""
    unfinished = [info for info in infos if not info.converged]
    if unfinished:
        worst = max(unfinished, key=lambda info: info.residual)
        other = ', or use inference="laplace"' if inference == "ep" and likelihood.log_concave else ""
        warn_user(
            f"{owner}: {inference} stopped after {worst.steps} steps with residual {worst.residual:.1e} (wanted "
            f"{worst.wanted:.0e}); probabilities are approximate. Check for extreme weights or bounds of the "
            f"kernel{other}.",
            ConvergenceWarning,
        )


def warn_only_noise(owner: str, inference: str, sigma: float, count: str, average: str = "") -> None:
    """Warn if the noise that was learned is much larger than all differences of utilities."""
    if sigma > NOTHING_BUT_NOISE:
        better = 'inference="ep" (more accurate where there are few), ' if inference == "laplace" else ""
        warn_user(
            f"{owner}: by {get_method(inference).words} the evidence of these {count} is highest where all utilities "
            "are equal: they show no differences that noise would not.\n  Probabilities are close to 1/2. Collect "
            f"more, or use {better}{average}a kernel with a fixed variance.",
            DataWarning,
        )


def warn_few_points(owner: str, n_points: int, effective_size: float) -> None:
    """Warn if an average over hyperparameters rests on a few points."""
    if effective_size < 5:
        warn_user(
            f"{owner}: the average over {n_points} points of the hyperparameters is worth only {effective_size:.1f} "
            "draws. Raise n_points, or use fewer free parameters.",
            ConvergenceWarning,
        )
