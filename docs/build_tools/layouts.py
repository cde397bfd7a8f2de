"""A page for each layout that is recognised: how a file begins, the command, and how it is read.

Common layouts are listed here. Those of well-known sources come from `FORMATS` of `preflearn.io.formats`, with the
samples that its tests read (`tests/io/layout_samples.py`): a new format brings its page.
"""

from __future__ import annotations

import importlib.util
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

MARK = "<!-- Written when the site is built, by docs/build_tools/layouts.py. -->\n\n"
SAMPLES = Path(__file__).resolve().parents[2] / "tests" / "io" / "layout_samples.py"


class Layout(NamedTuple):
    """A layout as its page shows it: ``place`` is the name of the page, ``known`` by which words it is recognised."""

    place: str
    title: str
    what: str
    file: str
    text: str
    known: str = ""


COMMON = (
    Layout(
        "winner-loser",
        "Winner and loser",
        "Each row names who won and who lost. A column of ties is optional.",
        "matches.csv",
        "winner,loser,tie\nann,bob,0\ncy,ann,0\nbob,cy,1\nann,cy,0\n",
        "Also `winning,losing`, `chosen,rejected`, `preferred,dispreferred` and `better,worse`, with a word such as "
        "`_name`, `_id` or `_team` after them.",
    ),
    Layout(
        "two-sides-and-a-winner",
        "Two sides and a winner",
        "Each row has two sides, and a column that says who won: by name, by the word for the side, or by its number.",
        "votes.csv",
        "judge,left,right,winner\nAda,Assam,Oolong,right\nAda,Sencha,Assam,left\nBen,Oolong,Sencha,tie\nBen,Assam,Oolong,left\n",
        "Sides are also `first,second`, `home,away`, `a,b`, `1,2` or `item_a,item_b`, `player1,player2` and the like. "
        "Judges are found under names such as `judge`, `worker`, `annotator`, `rater` and `voter`.",
    ),
    Layout(
        "arena",
        "Arena votes",
        "Two models answer one prompt, and somebody votes. `tie (bothbad)` and `both_bad` are ties.",
        "arena.csv",
        "question_id,model_a,model_b,winner,judge\n81,otter,heron,model_a,u1\n81,otter,finch,tie,u2\n"
        "82,heron,finch,model_b,u1\n83,finch,otter,both_bad,u3\n",
        "`question_id`, `prompt_id`, `task_id` and `cluster` are clusters: ten votes about one prompt do not count as ten "
        "prompts.",
    ),
    Layout(
        "arena-three-columns",
        "Arena votes in three columns",
        "The outcome is in three columns of 0 and 1.",
        "arena55k.csv",
        "model_a,model_b,winner_model_a,winner_model_b,winner_tie\notter,heron,1,0,0\notter,finch,0,1,0\nheron,finch,0,0,1\n",
    ),
    Layout(
        "crowd-labels",
        "Labels of a crowd",
        "Workers see two things, and their label is the name of the better one.",
        "crowd.csv",
        "worker,left,right,label\nw1,ann,bob,ann\nw2,ann,cy,cy\nw2,bob,cy,cy\n",
    ),
    Layout(
        "scores-of-two-sides",
        "Games with scores",
        "Both sides have a score. The higher one wins, with `--lower-wins` the lower one; equal scores are a tie.",
        "games.csv",
        "date,home_team,away_team,home_score,away_score\n2024-03-01,Rome,Bern,2,1\n2024-03-08,Bern,Oslo,0,0\n2024-03-15,Oslo,Rome,1,3\n",
        "Scores are also `goals`, `points`, `runs` or `sets`. Only who won counts; `read_preferences(margins=True)` keeps "
        "the difference, for `RankRLS` and for the likelihood `gaussian`.",
    ),
    Layout(
        "football-letters",
        "Results as letters: H, A, D",
        "The result is a letter: H for the home side, A for the away side, D for a draw.",
        "league.csv",
        "HomeTeam,AwayTeam,FTR\nRome,Bern,H\nBern,Oslo,D\nOslo,Rome,A\n",
        "W, L and D, win and loss, and 1, 2 and X are read as well.",
    ),
    Layout(
        "chess-results",
        "Chess results",
        "White, Black, and 1-0, 0-1 or 1/2-1/2.",
        "chess.csv",
        "white,black,result\nann,bob,1-0\nann,cy,0-1\ncy,bob,1/2-1/2\n",
    ),
    Layout(
        "first-second-outcome",
        "Two sides and a number",
        "A positive number says that the first side is better, 0 is a tie.",
        "pairs.csv",
        "first,second,outcome\nann,bob,1\nann,cy,-2.5\ncy,bob,0\n",
        "Where a number could mean something else, such as 1 for the first and 2 for the second side, preflearn asks. Answer "
        "with `--outcomes first=1,second=2` or `--outcomes second=positive`.",
    ),
    Layout(
        "counts-of-wins",
        "Counts of wins",
        "Each row is a pair with how often each side won, and how often they were equal.",
        "counts.csv",
        "team_a,team_b,wins_a,wins_b,ties\nRome,Bern,3,1,0\nRome,Oslo,0,2,4\nBern,Oslo,2,2,1\n",
    ),
    Layout(
        "rankings-in-columns",
        "Rankings, one place per column",
        "Each row is a ranking, best first. Rankings may end early.",
        "ballots.csv",
        "1,2,3\nann,bob,cy\ncy,ann,\nann,cy,bob\n",
        "Also `first,second,third` and `rank1,rank2,rank3`. All pairs of a ranking of k items together count as k - 1 "
        "comparisons ([decision 18](../../decisions/0018-uncertainty-that-holds.md)).",
    ),
    Layout(
        "rankings-as-text",
        "Rankings as text",
        "One cell holds a ranking, with `>` between places and `=` between items of one place.",
        "rankings.csv",
        "voter,ranking\nv1,ann > bob = cy\nv2,cy > ann > bob\nv3,ann > cy\n",
    ),
    Layout(
        "places",
        "One row for each item and place",
        "A race, its runners, and their places.",
        "races.csv",
        "race,driver,place\nr1,bob,2\nr1,ann,1\nr2,cy,1\nr2,ann,2\nr2,bob,2\n",
    ),
    Layout(
        "preflib",
        "PrefLib",
        "Ballots with the number of voters who cast each of them (`.soc`, `.soi`, `.toc`, `.toi`), in the old and in the new "
        "form of the files.",
        "ballots.toc",
        "# FILE NAME: ballots.toc\n# ALTERNATIVE NAME 1: ann\n# ALTERNATIVE NAME 2: bob\n# ALTERNATIVE NAME 3: cy\n3: 1,{2,3}\n2: 3,1\n",
    ),
    Layout(
        "svmlight",
        "SVMlight and LETOR",
        "Rows with scores, queries and features, for learning to rank. Rows are compared within their query.",
        "train.txt",
        "2 qid:1 1:0.9 2:0.1\n0 qid:1 1:0.2 2:0.4\n1 qid:2 1:0.5 2:0.9\n0 qid:2 1:0.1 2:0.8\n",
        "`preflearn rank` takes at most 1,500 rows. For more, learn a function of the features: "
        "[Learning to rank](../../questions/learning-to-rank.md).",
    ),
    Layout(
        "json-lines",
        "JSON lines",
        "One object per line, with the columns of any other layout. A list of objects is read as well.",
        "votes.jsonl",
        '{"left": "ann", "right": "bob", "winner": "left"}\n{"left": "bob", "right": "cy", "winner": "tie"}\n',
    ),
)


def public_layouts() -> list[Layout]:
    """Return the layouts of well-known sources, with the samples of the tests."""
    from preflearn.io.formats import FORMATS

    spec = importlib.util.spec_from_file_location("layout_samples", SAMPLES)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = []
    for one in FORMATS:
        text = module.SAMPLES[one.name][0].lstrip("\n")
        ending = "jsonl" if text.startswith("{") else "json" if text.startswith("[") else "csv"
        place = "".join(letter if letter.isalnum() else "-" for letter in one.name.casefold()).strip("-")
        columns = ", ".join(f"`{column}`" for column in one.columns)
        what = f"A table with {'the columns ' if len(one.columns) > 1 else 'the column '}{columns} is read as a file of {one.name}."
        found.append(Layout(place, one.name, what, f"{place}.{ending}", text))
    return found


def reading_of(layout: Layout) -> Any:
    """Return how preflearn reads the sample, with the sentences that it says."""
    from preflearn.io import read_preferences

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder, layout.file)
        path.write_text(layout.text, "utf-8")
        found = read_preferences(path)
        return found, [str(note).replace(f"{path}", layout.file) for note in found.notes]


def statements(data: Any, n: int = 6) -> list[str]:
    """Return the first comparisons in words."""
    if not hasattr(data, "first"):
        return []
    names = data.names
    said = []
    for a, b, y in list(zip(data.first, data.second, data.outcome, strict=True))[:n]:
        first, second = (a, b) if y >= 0 else (b, a)
        said.append(f"{names[first]} {'beats' if y else 'equals'} {names[second]}")
    return said


def page_of(layout: Layout) -> str:
    """Return the page of a layout."""
    found, notes = reading_of(layout)
    lines = layout.text.rstrip("\n").split("\n")
    said = statements(found.data)
    parts = [
        f"{MARK}# {layout.title}",
        layout.what,
        *([layout.known] if layout.known else []),
        "The file begins like this:",
        f"```text\n{chr(10).join(lines[:6])}\n```",
        "This ranks it:",
        f"```console\n$ preflearn rank {layout.file}\n```",
        "The first lines of the answer say how the file was read:",
        "```text\n" + "\n".join(notes) + "\n```",
    ]
    if said:
        parts.append("The first comparisons are: " + "; ".join(said) + ".")
    return "\n\n".join(parts) + "\n"


def layout_pages() -> dict[str, str]:
    """Return the pages of all layouts, by file name, with two lists of them."""
    public = public_layouts()
    pages = {f"{one.place}.md": page_of(one) for one in (*COMMON, *public)}
    for name, title, some in (
        ("common", "Layouts by their columns", COMMON),
        ("public", "Files of well-known sources", public),
    ):
        rows = "\n".join(f"| [{one.title}]({one.place}.md) | `{one.text.partition(chr(10))[0][:70]}` |" for one in some)
        toc = "\n".join(one.place for one in some)
        pages[f"{name}.md"] = (
            f"{MARK}# {title}\n\nEach has a page with its first lines, the command, and how it is read.\n\n"
            f"| layout | begins with |\n|---|---|\n{rows}\n\n```{{toctree}}\n:hidden:\n{toc}\n```\n"
        )
    return pages
