"""The list of inference methods, by the names that estimators take."""

from __future__ import annotations

from preflearn.inference.ep import EP
from preflearn.inference.laplace import Laplace
from preflearn.inference.method import Method

__all__ = ["METHODS", "get_method"]

METHODS: dict[str, type[Method]] = {Laplace.name: Laplace, EP.name: EP}


def get_method(name: str) -> Method:
    """Return the inference method of a name."""
    return METHODS[name]()
