"""Rankings to report on: each is made once, when it is first asked for."""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest

from preflearn import Comparisons
from preflearn.analysis import RankResult, rank
from preflearn.analysis.advice import _circles
from preflearn.exceptions import DataWarning
from preflearn.report import report_html
from preflearn.structure import rankability

HOSTILE = [
    "<script>alert(1)</script>",
    '" onload="alert(1)',
    "it's </svg></title></style><img src=x onerror=alert(1)>",
    "two\nlines\tand\x00\x07controls",
    "עברית שלום",
    "\u202eoverride\u2066",
    "\ud800lone surrogate",
    "👩‍👩‍👧‍👦🏳️‍🌈",
    "x" * 5000,
    "   ",
    "&amp;lt; ]]> <!--",
    "javascript:alert(1)",
]
VOID = {"meta", "br", "line", "circle", "rect", "path"}


def league(n_items: int, n_comparisons: int, names=None, ties=0.0, seed=0, spread=1.0) -> Comparisons:
    """Comparisons of items whose utilities are evenly spread, in no order."""
    rng = np.random.default_rng(seed)
    utility = spread * rng.permutation(np.linspace(1.5, -1.5, n_items))
    first = rng.integers(0, n_items, n_comparisons)
    second = (first + rng.integers(1, n_items, n_comparisons)) % n_items
    won = rng.uniform(size=n_comparisons) < 1 / (1 + np.exp(utility[second] - utility[first]))
    outcome = np.where(rng.uniform(size=n_comparisons) < ties, 0, np.where(won, 1, -1))
    labels = np.array([f"item {k}" for k in range(n_items)] if names is None else names, dtype=object)
    return Comparisons._build(None, labels[first], labels[second], outcome, names=labels)


def coffees() -> Comparisons:
    """Items with features, of which one is liked, one is liked in between and one does not matter."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1.5, 1.5, size=(10, 3))
    utility = 3 * X[:, 0] - 3 * X[:, 1] ** 2
    first, second = np.tile(np.triu_indices(10, 1), 3)
    outcome = np.where(rng.uniform(size=135) < 1 / (1 + np.exp(utility[second] - utility[first])), 1, -1)
    import pandas as pd

    items = pd.DataFrame(X, columns=["sweet<b>", "strong", "price"])
    items.insert(0, "item", [f"coffee {k}" for k in range(10)])
    return Comparisons(items, items["item"][first].tolist(), items["item"][second].tolist(), outcome)


def votes() -> Comparisons:
    """Five judges, one of whom answers against the others and has a hostile name."""
    pairs = [(a, b) for a in "ABCDEF" for b in "ABCDEF" if a < b]
    rows = [(a, b, judge) for judge in ("ann", "bob", "cy", "dan") for a, b in pairs]
    rows += [(b, a, "<i>eve</i>") for a, b in pairs]
    first, second, judge = zip(*rows, strict=True)
    return Comparisons(None, first, second, judge=judge)


def throws() -> Comparisons:
    """Rock, paper, scissors."""
    return Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"], weight=[9, 9, 9])


def examined(data: Comparisons, model: str) -> RankResult:
    """A ranking with its verdict, by Laplace's method to be quick."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        verdict = rankability(data, likelihood="logit", inference="laplace", n_samples=200)
    result = rank(data, model=model, circles=False)
    analysis = replace(result.analysis, rankability=verdict)
    return replace(result, analysis=analysis, warnings=(*_circles(verdict), *result.warnings))


def with_model(result: RankResult, model) -> RankResult:
    """The same ranking, said to be by another model."""
    ladder = result.ladder
    ladder = replace(ladder, chosen=replace(ladder.chosen, model=model))
    return replace(result, analysis=replace(result.analysis, ladder=ladder))


def currents():
    """Return comparisons that run in circles of two features, beside a utility of the first."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10, 2))
    first, second = (np.repeat(side, 5) for side in np.triu_indices(10, 1))
    z = 2 * (X[first, 0] - X[second, 0]) + 4 * (X[first, 0] * X[second, 1] - X[first, 1] * X[second, 0])
    won = rng.random(len(z)) < 1 / (1 + np.exp(-z))
    return Comparisons(X, first, second, np.where(won, 1.0, -1.0))


MAKERS = {
    "club": lambda: examined(league(6, 60, spread=2.0), "bradley-terry"),
    "coffee": lambda: rank(coffees(), model="gp-ard", circles=False),
    "hostile": lambda: rank(league(len(HOSTILE), 80, HOSTILE, ties=0.1), circles=False),
    "currents": lambda: rank(currents(), circles=True),
    "judges": lambda: rank(votes(), circles=False),
    "many": lambda: rank(league(230, 700), circles=False),
    "throws": lambda: examined(throws(), "both"),
    "tie": lambda: rank(Comparisons(None, ["a"], ["b"], [0]), circles=False),
    "two": lambda: rank(Comparisons(None, ["a", "a", "b"], ["b", "b", "a"]), circles=False),
    "unused": lambda: rank(Comparisons(8, [0, 3, 5, 5], [3, 5, 7, 0]), circles=False),
}
QUICK = ("club", "coffee", "currents", "hostile", "judges", "throws", "tie", "two", "unused")


@cache
def made(name: str):
    """Return a ranking by name."""
    return MAKERS[name]()


@cache
def written(name: str) -> str:
    """Return the page of a ranking, whose title and source look like addresses."""
    return report_html(made(name), title="http://example.org", source="https://example.org")


@pytest.fixture(scope="session")
def page_of():
    """Pages by name."""
    return written


@pytest.fixture(scope="session")
def result_of():
    """Rankings by name."""
    return made


class Page(HTMLParser):
    """A parsed page: elements with attributes and own text, ids, and whether every element was closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[tuple[str, ...], str]] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert not self._open, f"not closed: {self._open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open[-1] == tag, f"</{tag}> closes <{self._open[-1]}>"
        self._open.pop()

    def handle_data(self, data):
        self.texts.append((tuple(self._open), data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        """Attributes of all elements of a kind."""
        return [attributes for name, attributes in self.elements if name == tag]

    def ids(self) -> list[str]:
        """All ids, in order."""
        return [attributes["id"] for _, attributes in self.elements if attributes.get("id")]

    def words(self) -> str:
        """All that is shown."""
        return " ".join(re.sub(r"\s+", " ", text) for where, text in self.texts if "style" not in where)


@pytest.fixture(scope="session")
def parsed():
    """The parser of pages."""
    return Page
