"""Public layouts of tables whose columns have no usual names, or whose description says what their numbers mean."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from preflearn.data.sides import normal
from preflearn.io.read_options import Scale
from preflearn.io.roles import BESIDE, LISTS
from preflearn.io.table import Table


@dataclass(frozen=True)
class Format:
    """A public layout. Names of columns are compared without case, blanks and punctuation.

    Parameters
    ----------
    name : str
        Whose files these are, for the sentence "as in files of ...".
    columns : tuple of str
        Columns by which a table is recognised: all of them must be there.
    roles : mapping
        Column of each role, as in ``read_preferences(columns=...)``.
    scale : Scale, default=None
        What the numbers of the outcome column mean.
    words : mapping, default={}
        Further words of the winner or outcome column, without case and punctuation: 1 first, -1 second, 0 tie.
    fits : function of a Table, default=None
        What else to look at, such as the range of numbers; None is nothing.
    rewrite : function of a Table to a Table, default=None
        Rows in another form, such as those that do not count left out; None leaves them as they are.
    """

    name: str
    columns: tuple[str, ...]
    roles: Mapping[str, str]
    scale: Scale | None = None
    words: Mapping[str, float] = field(default_factory=dict)
    fits: Callable[[Table], bool] | None = None
    rewrite: Callable[[Table], Table] | None = None


def _from_1_to_2(table: Table) -> bool:
    column = table.find("preference")
    values = table.as_numbers(column, table.cells(column))
    present = np.zeros(0) if values is None else values[np.isfinite(values)]
    return bool(len(present)) and present.min() >= 1 and present.max() <= 2


def _has_signs_or_criteria(table: Table) -> bool:
    """Tell a slider from a count of points: it goes below 0, or stands beside other columns of Tournesol."""
    column = table.find("score")
    values = table.as_numbers(column, table.cells(column))
    if values is None or not np.isfinite(values).any():
        return False
    others = {normal(other) for other in table.columns}
    return bool(np.nanmin(values) < 0) or bool({"criteria", "publicusername"} & others)


def _with_ties(table: Table) -> Table:
    chosen, equal = (table.cells(table.find(name)) for name in ("chosen_model_name", "both_equal"))
    yes = ("true", "1", "yes")
    cells = ["tie" if mark.casefold() in yes else name for name, mark in zip(chosen, equal, strict=True)]
    return table.with_column(table.find("chosen_model_name"), cells)


# The first that matches is used. Samples of their files are in `tests/io/layout_samples.py`.
FORMATS = (
    Format(  # annotations.json: weighted preferences are between 1 and 2
        "AlpacaEval",
        columns=("generator_1", "generator_2", "preference"),
        roles={"first": "generator_1", "second": "generator_2", "outcome": "preference"},
        scale=Scale(1.0, 2.0, ends=True),
        fits=_from_1_to_2,
    ),
    Format(  # of R: the loser stands before the winner
        "BayesMallows",
        columns=("assessor", "bottom_item", "top_item"),
        roles={"winner": "top_item", "loser": "bottom_item", "judge": "assessor"},
    ),
    Format(  # the name of the chosen model, or a mark that both were equal
        "ComparIA",
        columns=("model_a_name", "model_b_name", "chosen_model_name", "both_equal"),
        roles={"first": "model_a_name", "second": "model_b_name", "winner": "chosen_model_name"},
        rewrite=_with_ties,
    ),
    Format(
        "GenAI-Bench",
        columns=("left_model", "right_model", "vote_type"),
        roles={"first": "left_model", "second": "right_model", "outcome": "vote_type"},
        words={"leftvote": 1.0, "rightvote": -1.0, "tievote": 0.0, "bothbadvote": 0.0},
    ),
    Format(  # of R: the id of the better one
        "pairwiseLLM",
        columns=("ID1", "ID2", "better_id"),
        roles={"first": "ID1", "second": "ID2", "winner": "better_id"},
    ),
    Format(  # comparisons.csv: scores from -10 to 10, where a positive one prefers the second video
        "Tournesol",
        columns=("video_a", "video_b", "score"),
        roles={"first": "video_a", "second": "video_b", "outcome": "score"},
        scale=Scale(-1.0, 1.0, ends=False),
        fits=_has_signs_or_criteria,
    ),
)


def fitting_formats(table: Table, given: Mapping[str, Any]) -> Iterator[Format]:
    """Yield the public layouts that a table has; the columns that the person named (``given``) must agree."""
    known = {normal(column) for column in table.columns}
    open_roles = ("name", *BESIDE, *LISTS)  # they leave open who won
    named = {role: normal(str(column)) for role, column in given.items() if role not in open_roles}
    for one in FORMATS:
        agrees = all(column == normal(one.roles.get(role, "")) for role, column in named.items())
        if agrees and known >= {normal(column) for column in one.columns} and (one.fits is None or one.fits(table)):
            yield one
