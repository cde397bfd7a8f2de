"""Write docs/results.md from the saved runs in docs/results.

    python docs/make_results.py                     write the page
    python docs/make_results.py --take reproduced   take the results of `preflearn reproduce` from there first

A saved run is the NAME.json that `preflearn reproduce NAME` leaves: rows of means, deviations and p-values, seed,
settings, versions and time. Titles, columns, notes and the papers' figures are those of the experiment's declaration.
`docs/results/page.template` is the text around them. Between double braces stands what is filled in:

    experiment NAME                    the whole of it: title, table, notes, how it was run
    NAME | row | column                a mean, as the table shows it
    NAME | row | column | paper        what the paper prints; so "spread" (what follows ±), "n" and "percent"
    NAME | /rows/ | column | largest   over rows that match; so "smallest", "rows" (their number) and "farthest"
                                       (the largest difference from the paper)
    NAME | /rows/ | column | below     in how many rows it is below all that it is tested against, each p < 0.05
    NAME | /rows/ | column | above     in how many it is above one of them, p < 0.05
    NAME | row | p, ...                the p-value of the test of this title
    claim NAME | row | a < b           nothing; an error unless the first column has the smaller mean
    runs                               a table of all runs, and the names of experiments without one

An experiment that was not run yet is shown as `docs/results/earlier/NAME.txt` has it: figures of older scripts.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import TextWrapper

from preflearn.reproduce import Outcome, experiments
from preflearn.reproduce.outcome import duration
from preflearn.reproduce.writing import as_text, markdown
from preflearn.table_format import Column, TextTable, decimal

HERE = Path(__file__).resolve().parent
SAVED, PAGE = HERE / "results", HERE / "results.md"
HEAD = "<!-- Written by docs/make_results.py from docs/results; change those. -->\n\n"
SIGNIFICANT = 0.05
WIDTH = 140  # of the lines of paragraphs
_OF_ROWS: dict[str, Callable[[list[float]], float]] = {"largest": max, "smallest": min}


class Page:
    """Saved runs by name, and what a text asks of them."""

    def __init__(self, folder: Path = SAVED) -> None:
        self.folder, self.known, self.used = folder, experiments(), set[str]()
        self.found = {
            name: Outcome.from_json(json.loads(path.read_text("utf-8")), one)
            for name, one in self.known.items()
            if (path := folder / f"{name}.json").exists()
        }

    def text(self) -> str:
        """Return the page."""
        template = (self.folder / "page.template").read_text("utf-8")
        filled = "\n\n".join(self._block(block) for block in re.split(r"\n{2,}", template))
        missing = self.found.keys() - self.used
        if missing:
            raise ValueError(f"the page does not show {', '.join(sorted(missing))}")
        return HEAD + re.sub(r"\n{3,}", "\n\n", filled).strip() + "\n"

    def _block(self, block: str) -> str:
        """Return a paragraph, its lines filled again, or what stands alone between braces."""
        filled = re.sub(r"\{\{(.*?)\}\}\n?", self._filled, block, flags=re.DOTALL)
        if block.startswith(("{{experiment", "{{runs", "#")):
            return filled
        lines = TextWrapper(WIDTH, break_on_hyphens=False, break_long_words=False)
        shown = []
        for one in re.split(r"\n(?=- )", filled.strip()):
            lines.subsequent_indent = "  " * one.startswith("-")
            shown.append(lines.fill(" ".join(one.split())))
        return "\n".join(shown)

    def _filled(self, match: re.Match[str]) -> str:
        asked = " ".join(match[1].split())
        end = "\n" if match[0].endswith("\n") else ""
        try:
            if asked == "runs":
                return self._runs()
            word, _, rest = asked.partition(" ")
            if word == "experiment":
                return self._experiment(rest) + end
            if word == "claim":
                self._claimed(*_parts(rest))
                return ""
            return self._number(*_parts(asked)) + end
        except (KeyError, TypeError, IndexError) as error:
            raise ValueError(f"{{{{{asked}}}}} cannot be filled in: {error!r}") from error

    def _experiment(self, name: str) -> str:
        self.used.add(name)
        if name in self.found:
            return markdown(self.found[name], level=3)
        title = self.known[name].title if name in self.known else name.replace("-", " ").capitalize()
        earlier = (self.folder / "earlier" / f"{name}.txt").read_text("utf-8")
        return f"### {title}\n\nNot saved yet: figures as an earlier version printed them.\n\n{earlier}"

    def _claimed(self, name: str, row: str, comparison: str) -> None:
        first, second = (one.strip() for one in comparison.split("<"))
        found = self.found[name]
        if not found.cell(row, first).mean < found.cell(row, second).mean:
            raise ValueError(f"{name}, {row}: {first} is not below {second}; the text says so")

    def _number(self, name: str, row: str, key: str, what: str = "mean") -> str:
        found = self.found[name]
        if key in found.tests:
            p = found.tests[key][row]
            return "p < 0.001" if p < 0.001 else f"p = {p:.2g}"
        rows = [one for one in found.rows if re.fullmatch(row[1:-1], one)] if row.startswith("/") else [row]
        if not rows:
            raise KeyError(row)
        column = {one.key: one for one in found.experiment.columns}[key]
        cells = [found.cells[one, key] for one in rows if (one, key) in found.cells]
        if what in ("below", "above", "rows"):
            return str(len(rows) if what == "rows" else sum(_beaten(found, one, key, what) for one in rows))
        if what == "farthest":
            return decimal(max(abs(cell.difference) for cell in cells if cell.difference is not None), column.digits)
        if what in _OF_ROWS:
            return decimal(_OF_ROWS[what]([cell.mean for cell in cells]), column.digits)
        cell = cells[0]
        if what == "percent":
            return f"{100 * cell.mean:.0f} %"
        if what == "n":
            return str(cell.n)
        spread = cell.error if column.spread == "error" else cell.deviation
        return decimal({"mean": cell.mean, "paper": cell.paper, "spread": spread}[what], column.digits)

    def _runs(self) -> str:
        shown = list(self.found.values())
        columns = {
            "name": Column("experiment", [one.experiment.name for one in shown], kind="name"),
            "trials": Column("trials", [" + ".join(str(n) for n in one.repeats.values()) for one in shown]),
            "time": Column("one core", [duration(one.seconds) if one.seconds else "not kept" for one in shown]),
            "version": Column("preflearn", [one.versions["preflearn"] for one in shown]),
        }
        left = [name for name in self.known if name not in self.found]
        more = f"\nWithout a saved run so far: {', '.join(left)}.\n" if left else ""
        return TextTable(columns).markdown() + "\n" + more


def _parts(asked: str) -> list[str]:
    return [part.strip() for part in re.split(r" \| ", asked)]


def _beaten(found: Outcome, row: str, key: str, what: str) -> bool:
    """Return whether a column is below all others of its tests in a row, or above one; each significantly."""
    signs = []
    for test in found.experiment.tests:
        if key in (test.first, test.second):
            other = test.second if test.first == key else test.first
            sure = found.tests[test.title][row] < SIGNIFICANT
            lower = found.cell(row, key).mean < found.cell(row, other).mean
            signs.append(sure and lower if what == "below" else sure and not lower)
    return all(signs) if what == "below" else any(signs)


def take(folder: Path, into: Path = SAVED) -> list[str]:
    """Copy the results of whole runs, and return their names."""
    taken = []
    for name, one in experiments().items():
        path = folder / f"{name}.json"
        if path.exists():
            found = Outcome.from_json(json.loads(path.read_text("utf-8")), one)
            if not found.quick:
                (into / path.name).write_text(as_text(found), "utf-8")
                taken.append(name)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--take", type=Path, metavar="DIR", help="take saved runs from there first")
    options = parser.parse_args()
    if options.take:
        print("taken:", ", ".join(take(options.take)) or "nothing", file=sys.stderr)
    PAGE.write_text(Page().text(), "utf-8")


if __name__ == "__main__":
    main()
