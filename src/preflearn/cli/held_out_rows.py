"""Rows with scores in groups that are held out, for ``preflearn evaluate DATA``: groups are kept whole."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.analysis.limits import LIMITS
from preflearn.cli.fit_least_squares import MODELS, MOST_COMPONENTS
from preflearn.cli.metric_lines import Line, judge_rows
from preflearn.cli.options import ReadOptions
from preflearn.cli.sources import is_svmlight, read_any
from preflearn.data import Ratings
from preflearn.exceptions import DataError
from preflearn.io import Reading
from preflearn.io.reading import check_feature_numbers
from preflearn.selection import GroupFolds


def read_rows(source: str, options: ReadOptions, model: str) -> tuple[Reading, Ratings] | None:
    """Return rows of which whole groups can be held out; None where they are judged as comparisons.

    That is where a model of comparisons is asked for, or where evidence can choose one as there are few enough rows.
    """
    if not is_svmlight(source, options) or model not in ("auto", *MODELS):
        return None
    read = read_any(source, options)
    data = read.data
    if not isinstance(data, Ratings) or (model == "auto" and len(data) <= LIMITS.items_on_features):
        return None
    check_feature_numbers(data.n_features, read.source)
    if data.n_groups < 2:
        raise DataError(
            f"{read.source}: all rows are one group, and whole groups are held out. Give two groups (qid) or more."
        )
    return read, data


def hold_out_rows(
    data: Ratings, model: str, folds: int, relevant: float | None, seed: int
) -> tuple[list[Line], list[str], int]:
    """Return the metrics of rows that models have not seen, notes about them, and the number of folds."""
    n_folds = min(folds, data.n_groups)
    choosing: Any = MODELS[model][1]
    candidates = None if model == "rankrls" else MOST_COMPONENTS
    prediction = np.empty(len(data))
    for train, test in GroupFolds(n_folds, random_state=seed).split(data):
        prediction[test] = choosing(candidates).fit(data[train]).predict(data[test])
    lines, notes = judge_rows(data, prediction, relevant)
    if n_folds < folds:
        notes.append(f"{n_folds} folds instead of {folds}: there are only {n_folds} groups to hold out.")
    return lines, notes, n_folds
