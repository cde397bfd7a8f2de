"""Choosing among candidates by cross-validation, for models that bring no search of their own: RLS and KPCR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from preflearn.data import Ratings
from preflearn.exceptions import DataError, Setting
from preflearn.kernels import gram_diag, resolve_kernel
from preflearn.metrics import RankingScorer


def search(
    build: Callable[[Any], Any], candidates: Sequence[float], data: Ratings, scorer: RankingScorer, seed: int
) -> tuple[Any, float, float, int]:
    """Return the best model, the candidate it is of, its score, and the number of folds: of groups, or of rows of one.

    Held-out rows are judged with the others of their group, or of their fold where there is one group.
    """
    fold = _folds(data, seed)
    n_folds = int(fold.max()) + 1
    held = np.empty((len(data), len(candidates)))
    for k in range(n_folds):
        train, test = data[np.flatnonzero(fold != k)], fold == k
        for column, candidate in enumerate(candidates):
            held[test, column] = build(candidate).fit(train).predict(data[np.flatnonzero(test)])
    group = fold if data.n_groups == 1 else data.group
    scores = [scorer.evaluate(data.score, column, group, data.weight) for column in held.T]
    best = int(np.argmax(scores))
    return build(candidates[best]).fit(data), candidates[best], float(scores[best]), n_folds


def _folds(data: Ratings, seed: int) -> Any:
    if data.group is not None and data.n_groups > 1:
        code = np.unique(data.group, return_inverse=True)[1]
        order = np.random.default_rng(seed).permutation(data.n_groups)
        return order[code] % min(5, data.n_groups)
    n_folds = min(5, len(data) // 2)
    if n_folds < 2:
        raise DataError(code="too-few-rows-to-search").says(
            f"{len(data)} rows are too few for cross-validation",
            "Give " + Setting("alpha") + " or " + Setting("components") + " a number",
        )
    return np.random.default_rng(seed).permutation(len(data)) % n_folds


def alpha_candidates(kernel: str, data: Ratings) -> list[float]:
    """Return nine alphas from 1e-8 to 1 times the trace of the kernel matrix, which bounds its eigenvalues."""
    trace = float(gram_diag(resolve_kernel(kernel, data.items), data.items).sum())
    return [float(alpha) for alpha in max(trace, 1e-300) * np.logspace(0, -8, 9)]


def component_candidates(data: Ratings) -> list[int]:
    """Return numbers of components up to 100, or to what the smallest training part can have."""
    most = max(1, len(data) // 2)
    return [p for p in (1, 2, 3, 5, 8, 12, 18, 27, 40, 60, 100) if p <= most]
