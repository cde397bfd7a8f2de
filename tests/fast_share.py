"""Shares of tests: which parameters are part of the fast suite, and how many random cases are tried."""

import functools
import inspect
import os
from collections.abc import Callable, Iterable
from typing import Any

import pytest

THOROUGH = os.environ.get("PREFLEARN_THOROUGH", "") not in ("", "0")


def mostly_slow(values: Iterable[Any], every: int) -> list[Any]:
    """Return the values as parameters, all but the first of each ``every`` marked slow."""
    return [pytest.param(v, marks=pytest.mark.slow if k % every else ()) for k, v in enumerate(values)]


def slow_except(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Return the values as parameters, all but the quick ones marked slow."""
    values = list(values)
    assert set(quick) <= set(values), "a quick one is not there"
    return [pytest.param(v, marks=() if v in quick else pytest.mark.slow) for v in values]


def cases(few: int, many: int) -> int:
    """Return how many random cases to try: a few, or with ``make test-thorough`` as many as ever broke something."""
    return many if THOROUGH else few


def each(name: str, values: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for every value of one argument, as one test: quicker than one each, and a failure names its value.

    Fixtures are shared by all values. Use ``pytest.mark.parametrize`` where cases should be run or left out one by one.
    """
    values = list(values)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def run(*args: Any, **kwargs: Any) -> None:
            for value in values:
                try:
                    test(*args, **{name: value}, **kwargs)
                except BaseException as error:
                    error.add_note(f"with {name} = {value!r}")
                    raise

        signature = inspect.signature(test)
        kept = [parameter for key, parameter in signature.parameters.items() if key != name]
        run.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return run

    return decorate


def every_seed(few: int, many: int | None = None) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test, as one, with ``seed`` = 0 .. few - 1, or up to many - 1 with ``make test-thorough``."""
    return each("seed", range(few if many is None else cases(few, many)))


# Of tests that count something over many simulated data sets: what they find belongs to docs/results.md.
thorough = pytest.mark.skipif(not THOROUGH, reason="counted over many data sets by make test-thorough")
