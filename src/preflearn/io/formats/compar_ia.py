"""ComparIA: the name of the chosen model, or a mark that both were equal."""

from preflearn.io.formats.format import Format
from preflearn.io.table import Table

_YES = frozenset(("true", "1", "yes"))


def _with_ties(table: Table) -> Table:
    chosen, equal = (table.cells(table.find(name)) for name in ("chosen_model_name", "both_equal"))
    cells = ["tie" if mark.casefold() in _YES else name for name, mark in zip(chosen, equal, strict=True)]
    return table.with_column(table.find("chosen_model_name"), cells)


COMPAR_IA = Format(
    "ComparIA",
    columns=("model_a_name", "model_b_name", "chosen_model_name", "both_equal"),
    roles={"first": "model_a_name", "second": "model_b_name", "winner": "chosen_model_name"},
    rewrite=_with_ties,
    sample="""
model_a_name,model_b_name,chosen_model_name,both_equal
mistral-nemo,llama-3.1-8b,mistral-nemo,False
gemma-2-9b,mistral-nemo,,True
llama-3.1-8b,gemma-2-9b,gemma-2-9b,False
qwen2.5-7b,mistral-nemo,mistral-nemo,False
qwen2.5-7b,gemma-2-9b,,True
llama-3.1-8b,qwen2.5-7b,qwen2.5-7b,False
gemma-2-9b,llama-3.1-8b,gemma-2-9b,False
mistral-nemo,qwen2.5-7b,qwen2.5-7b,False
""",
    says=(
        *("mistral-nemo > llama-3.1-8b", "gemma-2-9b = mistral-nemo", "gemma-2-9b > llama-3.1-8b"),
        *("mistral-nemo > qwen2.5-7b", "qwen2.5-7b = gemma-2-9b", "qwen2.5-7b > llama-3.1-8b"),
        *("gemma-2-9b > llama-3.1-8b", "qwen2.5-7b > mistral-nemo"),
    ),
)
