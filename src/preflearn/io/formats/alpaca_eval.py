"""AlpacaEval's annotations.json: 1 prefers the first generator, 2 the second; weighted ones are between."""

import numpy as np

from preflearn.io.formats.format import Format
from preflearn.io.read_options import Scale
from preflearn.io.table import Table


def _from_1_to_2(table: Table) -> bool:
    column = table.find("preference")
    values = table.as_numbers(column, table.cells(column))
    present = np.zeros(0) if values is None else values[np.isfinite(values)]
    return bool(len(present)) and present.min() >= 1 and present.max() <= 2


ALPACA_EVAL = Format(
    "AlpacaEval",
    columns=("generator_1", "generator_2", "preference"),
    roles={"first": "generator_1", "second": "generator_2", "outcome": "preference"},
    scale=Scale(1.0, 2.0, ends=True),
    fits=_from_1_to_2,
    sample="""
{"instruction": "Name a river.", "generator_1": "gpt4", "generator_2": "alpaca", "preference": 1.0, "annotator": "w1"}
{"instruction": "Name a river.", "generator_1": "gpt4", "generator_2": "vicuna", "preference": 2.0, "annotator": "w1"}
{"instruction": "Add 2 and 2.", "generator_1": "gpt4", "generator_2": "alpaca", "preference": 1.0, "annotator": "w1"}
{"instruction": "Add 2 and 2.", "generator_1": "gpt4", "generator_2": "vicuna", "preference": 1.5, "annotator": "w1"}
{"instruction": "Write a haiku.", "generator_1": "gpt4", "generator_2": "alpaca", "preference": 2.0, "annotator": "w2"}
{"instruction": "Write a haiku.", "generator_1": "gpt4", "generator_2": "vicuna", "preference": 1.0, "annotator": "w2"}
{"instruction": "What is tea?", "generator_1": "alpaca", "generator_2": "vicuna", "preference": 2.0, "annotator": "w2"}
{"instruction": "Who was Ada?", "generator_1": "alpaca", "generator_2": "vicuna", "preference": 1.5, "annotator": "w2"}
""",
    says=(
        *("gpt4 > alpaca", "vicuna > gpt4", "gpt4 > alpaca", "gpt4 = vicuna"),
        *("alpaca > gpt4", "gpt4 > vicuna", "vicuna > alpaca", "alpaca = vicuna"),
    ),
)
