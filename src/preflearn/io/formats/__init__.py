"""Public layouts of tables, one module each; the first that matches is used, and what it assumes is said."""

from collections.abc import Mapping
from typing import Any

from preflearn.io.formats.alpaca_eval import ALPACA_EVAL
from preflearn.io.formats.bayes_mallows import BAYES_MALLOWS
from preflearn.io.formats.compar_ia import COMPAR_IA
from preflearn.io.formats.format import Format
from preflearn.io.formats.genai_bench import GENAI_BENCH
from preflearn.io.formats.pairwise_llm import PAIRWISE_LLM
from preflearn.io.formats.tournesol import TOURNESOL
from preflearn.io.table import Table

__all__ = ["FORMATS", "Format", "find_format"]

FORMATS = (ALPACA_EVAL, BAYES_MALLOWS, COMPAR_IA, GENAI_BENCH, PAIRWISE_LLM, TOURNESOL)


def find_format(table: Table, given: Mapping[str, Any]) -> Format | None:
    """Return the public layout of a table, if it has one; ``given`` are columns that the person named."""
    return next((one for one in FORMATS if one.matches(table, given)), None)
