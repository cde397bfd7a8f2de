"""The likelihood of the tutorial, docs/contributing/likelihood.md, keeps the laws of those that are entered."""

import inspect
import re
from pathlib import Path

import pytest
import test_likelihoods_density as density
import test_likelihoods_tilted as tilted

PAGE = Path(__file__).resolve().parents[2] / "docs" / "contributing" / "likelihood.md"


def is_of_margins(law):
    """Return whether margins are among what a test walks, and nothing but likelihoods."""
    if list(inspect.signature(law).parameters) != ["likelihood"]:
        return False
    walked = [one for mark in law.pytestmark if mark.name == "parametrize" for one in mark.args[1]]
    return any(not getattr(one, "values", [one])[0].outcomes for one in walked)


LAWS = {
    name: law
    for module in (density, tilted)
    for name, law in vars(module).items()
    if name.startswith("test_") and is_of_margins(law)
}


def is_slow(law):
    return any(mark.name == "slow" for mark in law.pytestmark)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * is_slow(law)) for name, law in LAWS.items()]
)
def test_the_likelihood_of_the_tutorial_keeps_the_law(name):
    found = re.search(r"```\{run\}\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    namespace = {"__name__": "tutorial"}
    exec(compile(found[1], PAGE.name, "exec"), namespace)  # noqa: S102 - the point of the test
    for scale in (0.05, 1.0, 20.0):
        LAWS[name](namespace["LogisticMargins"](scale))
