"""The page as a document: well formed, accessible, self-contained, the same twice, and small."""

import re

import numpy as np
import pytest

from fast_share import slow_except
from preflearn.report import report_html, write_report
from preflearn.report.style import SCHEMES, contrast, matrix_colours
from preflearn.report.writing import SECTIONS
from report.conftest import HOSTILE, QUICK, league

FETCHING = ("src", "href", "xlink:href", "data", "action", "poster", "srcset", "background", "formaction")


@pytest.mark.parametrize("name", slow_except(QUICK, "tie", "two", "unused"))
def test_every_page_is_a_well_formed_document(name, page_of, parsed):
    text = page_of(name)
    page = parsed(text)
    assert "could not be computed" not in text
    ids = page.ids()
    assert len(ids) == len(set(ids))
    for attributes in page.all("a"):
        assert attributes["href"].startswith("#")
        assert attributes["href"][1:] in ids
    for _, attributes in page.elements:
        for key in ("aria-labelledby", "aria-describedby"):
            assert set((attributes.get(key) or "").split()) <= set(ids)
    assert [key for key, _, _ in SECTIONS] == [one["id"] for one in page.all("section")]
    assert len(page.all("h1")) == len(page.all("main")) == len(page.all("title")) - len(page.all("svg")) == 1


@pytest.mark.parametrize("name", slow_except(QUICK, "tie", "two", "unused"))
def test_every_figure_has_its_finding_in_words(name, page_of, parsed):
    page = parsed(page_of(name))
    figures = page.all("svg")
    assert figures
    kinds = [kind for kind, _ in page.elements]
    for place, (kind, attributes) in enumerate(page.elements):
        if kind == "svg":
            assert attributes["role"] == "img"
            assert kinds[place + 1 : place + 3] == ["title", "desc"]
            named = [page.elements[place + k][1]["id"] for k in (1, 2)]
            assert attributes["aria-labelledby"].split() == named
    told = [text for where, text in page.texts if where[-1:] == ("desc",)]
    assert len(told) == len(figures)
    assert all(len(text) > 40 for text in told)


@pytest.mark.parametrize("name", slow_except(QUICK, "tie", "two", "unused"))
def test_nothing_would_be_fetched_or_run(name, page_of, parsed):
    text = page_of(name)
    page = parsed(text)
    for kind, attributes in page.elements:
        assert kind not in ("script", "iframe", "object", "embed", "link", "img", "image", "use", "base", "form")
        for key, value in attributes.items():
            assert not key.startswith("on"), key
            assert key != "style"
            assert key not in FETCHING or (value or "").startswith("#")
    for where, shown in page.texts:
        if "style" in where:
            assert not re.search(r"url\(|@import|//", shown)
    (policy,) = [one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


@pytest.mark.slow
def test_hostile_names_are_text_everywhere(result_of, parsed):
    hostile = "<script>alert(1)</script> \u202e</title>\"'"
    text = report_html(result_of("hostile"), title=hostile, source=hostile)
    page = parsed(text)
    words = page.words()
    for shown in ("<script>alert(1)</script>", '" onload="alert(1)', "javascript:alert(1)", "&amp;lt; ]]> <!--"):
        assert shown in words
    assert "two lines and" in words
    assert "(no name)" in words
    assert "עברית" in words
    assert "x" * 121 not in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f\u202a-\u202e\u2066\u2067\ud800-\udfff]", text)
    assert text.count("\u2068") == text.count("\u2069")
    assert len(HOSTILE) == len(result_of("hostile"))


@pytest.mark.slow
def test_names_of_judges_and_features_are_text_too(page_of, parsed):
    assert "<i>eve</i>" in parsed(page_of("judges")).words()
    assert "sweet<b>" in parsed(page_of("coffee")).words()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["club", "coffee", "judges"])
def test_the_same_result_gives_the_same_bytes(name, result_of, tmp_path):
    one, other = tmp_path / "one.html", tmp_path / "other.html"
    write_report(result_of(name), one, title="T", source="s.csv", random_state=3)
    write_report(result_of(name), other, title="T", source="s.csv", random_state=3)
    assert one.read_bytes() == other.read_bytes()
    assert one.read_text(encoding="utf-8") == report_html(result_of(name), title="T", source="s.csv", random_state=3)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.html", "other.html"]


def test_a_failed_write_leaves_the_old_file(result_of, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr("preflearn.report.writing.report_html", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(result_of("two"), path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_no_result_is_refused():
    with pytest.raises(TypeError, match=r"RankResult is wanted, as preflearn\.rank returns it; got Comparisons"):
        report_html(league(3, 5))


@pytest.mark.slow
def test_long_rankings_are_cut_and_say_so(result_of, parsed):
    text = report_html(result_of("many"))
    words = parsed(text).words()
    assert "The table has the first 100 and the last 20 of 230 items." in words
    assert "110 items between these are left out" in words
    assert "the first 40 of 230 items" in words
    assert "the first 60 of 230 items" in words
    assert len(text.encode()) < 500_000


@pytest.mark.parametrize("scheme", SCHEMES)
def test_contrast_is_enough_in_both_schemes(scheme):
    of = SCHEMES[scheme]
    for ink in ("text", "soft", "line", "mark"):
        for ground in ("page", "panel"):
            assert contrast(of[ink], of[ground]) >= 4.5, (ink, ground)
    assert contrast(of["band"], of["page"]) >= 1.5
    assert contrast(of["line"], of["band"]) >= 2.5
    cells = matrix_colours(scheme)
    assert all(contrast(fill, ink) >= 4.5 for fill, ink in cells)
    # blue and orange of the same strength differ from the middle alike, so that grey says it, too
    far = [contrast(fill, cells[5][0]) for fill, _ in cells]
    assert np.all(np.diff(far[5:]) > 0)
    assert np.all(np.diff(far[:6]) < 0)
