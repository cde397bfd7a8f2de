"""Public layouts of tables, one module each; the first that matches is used."""

from collections.abc import Iterator, Mapping
from typing import Any

from preflearn.data.sides import normal
from preflearn.io.formats.alpaca_eval import ALPACA_EVAL
from preflearn.io.formats.bayes_mallows import BAYES_MALLOWS
from preflearn.io.formats.compar_ia import COMPAR_IA
from preflearn.io.formats.format import Format
from preflearn.io.formats.genai_bench import GENAI_BENCH
from preflearn.io.formats.pairwise_llm import PAIRWISE_LLM
from preflearn.io.formats.tournesol import TOURNESOL
from preflearn.io.roles import BESIDE, LISTS
from preflearn.io.table import Table

__all__ = ["FORMATS", "Format", "find_format", "fitting_formats"]

FORMATS = (ALPACA_EVAL, BAYES_MALLOWS, COMPAR_IA, GENAI_BENCH, PAIRWISE_LLM, TOURNESOL)


def fitting_formats(table: Table, given: Mapping[str, Any]) -> Iterator[Format]:
    """Yield the public layouts that a table has; the columns that the person named (``given``) must agree."""
    known = {normal(column) for column in table.columns}
    open_roles = ("name", *BESIDE, *LISTS)  # they leave open who won
    named = {role: normal(str(column)) for role, column in given.items() if role not in open_roles}
    for one in FORMATS:
        agrees = all(column == normal(one.roles.get(role, "")) for role, column in named.items())
        if agrees and known >= {normal(column) for column in one.columns} and (one.fits is None or one.fits(table)):
            yield one


def find_format(table: Table, given: Mapping[str, Any]) -> Format | None:
    """Return the first public layout that a table has, or None."""
    return next(fitting_formats(table, given), None)
