"""Nothing outside preflearn.likelihoods asks a likelihood what its contract does not name."""

import ast
from pathlib import Path

import pytest

import preflearn
from fast_share import each
from preflearn.likelihoods import LIKELIHOOD_CLASSES
from preflearn.likelihoods.resolve import _QUESTIONS

SOURCE = Path(preflearn.__file__).parent
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if "likelihoods" not in path.relative_to(SOURCE).parts]
CLASSES = {kind.__name__ for kind in LIKELIHOOD_CLASSES}


def is_likelihood(node):
    """Whether an expression is called likelihood: a variable, or an attribute of something."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name.rstrip("_") == "likelihood"


def offences(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_likelihood(node.value) and node.attr not in _QUESTIONS:
            yield node.lineno, node.attr
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) > 1:
            asked = {part.id for part in ast.walk(node.args[1]) if isinstance(part, ast.Name)}
            if node.func.id == "isinstance" and asked & CLASSES:
                yield node.lineno, "isinstance"
            if node.func.id in ("hasattr", "getattr") and is_likelihood(node.args[0]):
                yield node.lineno, node.func.id


@each("path", FILES)
def test_likelihoods_are_asked_by_their_contract(path):
    assert not list(offences(ast.parse(path.read_text())))


@pytest.mark.parametrize(
    "code", ["model.likelihood_.tie", "hasattr(likelihood, 'x')", "isinstance(a, Probit | Logit)", "likelihood.scale"]
)
def test_the_test_sees_offences(code):
    assert list(offences(ast.parse(code)))
