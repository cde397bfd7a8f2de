"""One HTML page from a ranking: the sections in order, none of which can stop the others, and the file."""

from __future__ import annotations

import base64
import datetime
import hashlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path, PureWindowsPath

from preflearn._disk import atomic_file
from preflearn._version import __version__
from preflearn.analysis import RankResult
from preflearn.exceptions import quiet
from preflearn.report.context import Shown
from preflearn.report.markup import clean, escape, paragraph
from preflearn.report.section_asking import judges, next_comparisons
from preflearn.report.section_calibration import calibration
from preflearn.report.section_circles import clusters, rankability, rankability_figures
from preflearn.report.section_facts import citations, data_facts, model_facts, reading_guide
from preflearn.report.section_features import features
from preflearn.report.section_graph import graph
from preflearn.report.section_matrix import matrix
from preflearn.report.section_overview import answer, ranking, warned
from preflearn.report.style import style_sheet
from preflearn.table_format import plural

Section = Callable[[Shown], str]

# The first ones are for every reader, those below for statisticians. A section of which there is nothing to say is "".
PLAIN: tuple[tuple[str, str, Section], ...] = (
    ("ranking", "Ranking", ranking),
    ("warnings", "Warnings", warned),
    ("rankability", "Can it be ranked?", rankability),
    ("clusters", "Comparable groups", clusters),
    ("features", "What makes an item good", features),
    ("judges", "Judges", judges),
    ("next", "What to compare next", next_comparisons),
    ("reading", "How to read this page", reading_guide),
)
EXPERT: tuple[tuple[str, str, Section], ...] = (
    ("figures", "Figures behind the verdict", rankability_figures),
    ("matrix", "Preference matrix", matrix),
    ("graph", "Comparison graph", graph),
    ("calibration", "Calibration", calibration),
    ("data", "Data", data_facts),
    ("model", "Model", model_facts),
    ("citing", "How to cite the methods", citations),
)
# The few lines that make the table of items sortable and searchable; the page is whole without them. Rows that are
# folded away join the first table, whose frame scrolls; numbers are read as they are shown: "<1 %" comes before "1 %".
SCRIPT = (Path(__file__).parent / "items.js").read_text("utf-8")
# What the page's policy lets run: this script, by its hash, and no other.
SCRIPT_SOURCE = f"'sha256-{base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode('ascii')}'"
POLICY = (
    f"default-src 'none'; style-src 'unsafe-inline'; script-src {SCRIPT_SOURCE}; img-src data:; base-uri 'none'; "
    "form-action 'none'"
)


def write_report(
    result: RankResult,
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    author: str | None = None,
    date: str | datetime.date | None = None,
    source: str | None = None,
    random_state: int = 0,
    overwrite: bool = True,
) -> None:
    """Write a ranking and the evidence for it as one HTML file that needs no other files.

    Parameters
    ----------
    result : RankResult
        What `preflearn.rank` found.
    path : path
        Where to write. The file appears when it is complete; an older one of that name stays until then.
    title : str, default=None
        Title of the page; None is "Ranking of ... items".
    author : str, default=None
        Who made it, said below the title.
    date : str or date, default=None
        When, said below the title as it is given.
    source : str, default=None
        Where the data come from, said below the title; of a path only the name of the file.
    random_state : int, default=0
        Seed of what is drawn for the report. The same result and seed give the same bytes.
    overwrite : bool, default=True
        Whether an existing file is replaced; else it is an error.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from preflearn import Comparisons
    >>> from preflearn.analysis import rank
    >>> from preflearn.report import write_report
    >>> result = rank(Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_report(result, Path(folder) / "report.html", title="Chess club")
    ...     print((Path(folder) / "report.html").read_text(encoding="utf-8")[:15])
    <!doctype html>
    """
    page = report_html(result, title=title, author=author, date=date, source=source, random_state=random_state)
    with atomic_file(Path(path), overwrite=overwrite) as stream:
        stream.write(page.encode("utf-8"))


def report_html(
    result: RankResult,
    *,
    title: str | None = None,
    author: str | None = None,
    date: str | datetime.date | None = None,
    source: str | None = None,
    random_state: int = 0,
) -> str:
    """Return the page that `write_report` writes. The parameters are the same.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.analysis import rank
    >>> from preflearn.report import report_html
    >>> page = report_html(rank(Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "cy"])))
    >>> "<title>Ranking of 3 items</title>" in page
    True
    """
    if not isinstance(result, RankResult):
        raise TypeError(f"report: give a RankResult, as preflearn.rank returns it; got {type(result).__name__}.")
    shown = Shown(result, random_state)
    heading = f"Ranking of {plural(len(result), 'item')}" if title is None else clean(title, 200)
    file = None if source is None else PureWindowsPath(source).name
    counts = f"{plural(len(result), 'item')}, {plural(result.data.n_listed, 'comparison')}"
    said = [escape(clean(one, 300)) for one in (author, date, file) if one is not None]
    plain, expert = _sections(PLAIN, shown), _sections(EXPERT, shown)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{escape(heading)}</title><style>{style_sheet()}</style></head><body>"
        '<a class="skip" href="#content">To the content</a><div class="page"><header>'
        f'<h1 dir="auto">{escape(heading)}</h1><p class="source">{" · ".join([*said, counts])}</p></header>'
        f'<main id="content"><div class="answer" id="answer">{_softly(answer, shown)}</div>'
        f'<nav aria-label="On this page"><ul>{_links(plain)}</ul><p>For statisticians:</p><ul>{_links(expert)}</ul>'
        "</nav>"
        f"{_framed(plain)}"
        '<div class="part">For statisticians</div>'
        f"{_framed(expert)}</main>"
        f"<footer>preflearn {escape(__version__)}. This page holds everything it shows and loads nothing.</footer>"
        f"</div><script>{SCRIPT}</script></body></html>\n"
    )


def _sections(of: Iterable[tuple[str, str, Section]], shown: Shown) -> list[tuple[str, str, str]]:
    """Return key, title and content of the sections that have something to say."""
    made = ((key, words, _softly(make, shown)) for key, words, make in of)
    return [one for one in made if one[2]]


def _links(sections: list[tuple[str, str, str]]) -> str:
    return "".join(f'<li><a href="#{key}">{escape(words)}</a></li>' for key, words, _ in sections)


def _framed(sections: list[tuple[str, str, str]]) -> str:
    return "".join(
        f'<section id="{key}" aria-labelledby="{key}-heading"><h2 id="{key}-heading">{escape(words)}</h2>{content}'
        "</section>"
        for key, words, content in sections
    )


def _softly(make: Section, shown: Shown) -> str:
    """Return a section, or one sentence on why there is none."""
    try:
        with quiet(Warning):
            return make(shown)
    except Exception as error:  # a part that fails must not take the others with it
        reason = clean(error, 300) if str(error) else ""
        cause = f"{type(error).__name__}{': ' if reason else ''}{reason}"
        return paragraph(f"This part could not be computed ({escape(cause)}).", kind="failed")
