"""The page as a document: well formed, accessible, self-contained, the same twice, and small."""

import base64
import datetime
import io
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from fast_share import slow_except
from preflearn.messages import FileNote
from preflearn.plots.marks import SCHEMES
from preflearn.report import report_html, write_report
from preflearn.report.style import contrast, matrix_colours
from preflearn.report.writing import EXPERT, PLAIN, SCRIPT
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
        assert attributes["href"][1:] in ids or "download" in attributes
    for _, attributes in page.elements:
        for key in ("aria-labelledby", "aria-describedby"):
            assert set((attributes.get(key) or "").split()) <= set(ids)
    there = {one["id"] for one in page.all("section")}
    assert {"ranking", "reading", "data", "model", "citing"} <= there
    assert [key for key, _, _ in (*PLAIN, *EXPERT) if key in there] == [one["id"] for one in page.all("section")]
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
    descriptions = [text for where, text in page.texts if where[-1:] == ("desc",)]
    assert len(descriptions) == len(figures)
    assert all(len(text) > 40 for text in descriptions)


@pytest.mark.parametrize("name", slow_except(QUICK, "tie", "two", "unused"))
def test_nothing_would_be_fetched_or_run(name, page_of, parsed):
    text = page_of(name)
    page = parsed(text)
    for kind, attributes in page.elements:
        assert kind not in ("iframe", "object", "embed", "link", "img", "image", "use", "base", "form")
        for key, value in attributes.items():
            assert not key.startswith("on"), key
            assert key != "style"
            file = "download" in attributes and (value or "").startswith("data:text/csv;base64,")
            assert key not in FETCHING or (value or "").startswith("#") or file
    for where, shown in page.texts:
        if "style" in where:
            assert not re.search(r"url\(|@import|//", shown)
    (policy,) = [one["content"] for one in page.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert policy.count("script-src") == policy.count("script-src 'sha256-") == 1
    assert text.count("<script>") == text.count(f"<script>{SCRIPT}</script>") == 1


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
    with pytest.raises(TypeError, match=r"give a RankResult, as preflearn\.rank returns it; got Comparisons"):
        report_html(league(3, 5))


@pytest.mark.slow
def test_long_rankings_are_whole_and_figures_say_what_they_leave_out(result_of, parsed):
    result = result_of("many")
    text = report_html(result)
    page = parsed(text)
    words = page.words()
    assert all(words.count(name) for name in result.ranking.names)
    assert "Places 101 to 230" in words
    assert "the first 40 of 230 items" in words
    assert "the first 60 of 230 items" in words
    assert len(text.encode()) < 700_000


@pytest.mark.slow
def test_the_file_of_the_page_is_the_whole_table(result_of, parsed):
    for name in ("many", "hostile"):
        (link,) = [one for one in parsed(report_html(result_of(name))).all("a") if "download" in one]
        content = base64.b64decode(link["href"].partition("base64,")[2])
        table = pd.read_csv(io.BytesIO(content), encoding="utf-8-sig")
        assert list(table) == list(result_of(name).table())
        assert len(table) == len(result_of(name))
        np.testing.assert_allclose(table["utility"], result_of(name).ranking.utility, rtol=1e-5, atol=1e-5)
        assert not any(str(item).startswith(("=", "+", "-", "@")) for item in table["item"])


def test_a_title_an_author_and_a_date_of_ones_own(page_of, result_of, parsed):
    said = {"title": "Best tea", "author": "A & B", "date": datetime.date(2026, 11, 18), "source": "/home/ann/teas.csv"}
    words = parsed(report_html(result_of("two"), **said)).words()
    assert "A & B · 2026-11-18 · teas.csv · 2 items" in words
    assert "/home" not in words


def test_notes_about_a_file_name_it_without_its_folders(result_of, parsed):
    for source in ("/home/ann/my data/teas.csv", "C:\\ann\\teas.csv", "teas.csv"):
        words = parsed(report_html(replace(result_of("two"), notes=(FileNote(source, "3 rows"),)))).words()
        assert "teas.csv: 3 rows" in words
        assert "ann" not in words.partition("How the data were read")[2]


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
