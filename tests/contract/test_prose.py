"""What is written is plain: a list of words to avoid, decision records of one page, and nothing about how work is done.

`make check` looks for slips of the pen (codespell); this looks for words. Add a word with what to write in its place.
"""

import re
from pathlib import Path

import pytest

from fast_share import each

ROOT = Path(__file__).resolve().parents[2]
BUILT = ("docs/_build", "docs/gallery", "docs/files/layouts", "docs/reference/python", "docs/reference/commands")
NAMES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "examples/gallery/*", "docs/**/*.rst")
    for path in ROOT.glob(pattern)
    if path.is_file() and not path.relative_to(ROOT).as_posix().startswith(BUILT)
)
SITE = [name for name in NAMES if not name.startswith(("CHANGELOG", "docs/results.md"))]
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("0*.md"))
MOST_WORDS = 750  # of a decision record: a page

INSTEAD = {
    r"utili[sz]e[sd]?": "use",
    r"leverag(e|es|ing)": "use",
    r"in order to": "to",
    r"seamless(ly)?": "nothing",
    r"cutting[- ]edge|state[- ]of[- ]the[- ]art": "a figure",
    r"powerful|robustly|blazing(ly)?": "a figure",
    r"simply|obviously|clearly just": "nothing",
    r"whom of": "which of",
    r"functionality": "what it does",
    r"facilitat(e|es|ing)": "help",
    r"prior to": "before",
    r"due to the fact": "because",
    r"a (large|wide) (variety|range) of": "many",
    r"it is worth noting|note that": "nothing",
    r"e\.g\.|i\.e\.": "for example, that is",
}
# How and by whom work is organised is no part of the documentation, nor are places of one machine.
ELSEWHERE = (
    r"\bAI\b|\bagents?\b|\bLLM[- ]written\b|\bhelper sessions?\b|\bthis session\b",
    r"(?<!\w)/(root|work|home)/",
    r"\bTODO\b|\bFIXME\b|coming soon|lorem ipsum",
)


def prose(text):
    """Return a text without its code."""
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    return re.sub(r"`[^`\n]*`", "", text)


@each("name", SITE)
def test_words_are_plain(name):
    text = prose((ROOT / name).read_text("utf-8"))
    for word, better in INSTEAD.items():
        found = re.search(rf"\b({word})\b", text, flags=re.IGNORECASE)
        assert found is None, f'{name}: "{found[0]}"; write: {better}'


@each("name", NAMES)
def test_pages_are_about_the_package(name):
    text = (ROOT / name).read_text("utf-8")
    for pattern in ELSEWHERE:
        found = re.search(pattern, text)
        assert found is None, f'{name}: "{found[0]}"'


@pytest.mark.parametrize("sentence", ["We utilise it.", "We do so In order to see.", "It is POWERFUL."])
def test_a_word_to_avoid_is_found(sentence):
    assert any(re.search(rf"\b({word})\b", prose(sentence), flags=re.IGNORECASE) for word in INSTEAD)


@each("path", DECISIONS)
def test_a_decision_is_a_page_with_four_parts(path):
    text = path.read_text("utf-8")
    assert len(text.split()) <= MOST_WORDS
    for part in (r"\*\*Question", r"\*\*(Choice|Decision)", r"\*\*(Evidence|What it brings)", r"\*\*Reversed by"):
        assert re.search(part, text), f"{path.name}: {part}"


def test_no_two_pages_have_a_paragraph_in_common():
    seen: dict[str, str] = {}
    for name in SITE:
        if name.startswith(("README", "docs/index", "docs/about")):
            continue
        for paragraph in prose((ROOT / name).read_text("utf-8")).split("\n\n"):
            words = " ".join(paragraph.split())
            if len(words.split()) >= 15:
                assert seen.setdefault(words, name) == name, f"{seen[words]} and {name}: {words[:80]}"
