r"""Directives that run what a page shows: ``{run}`` for Python, ``{terminal}`` for the command line.

Both run in the folder ``examples/``, and show what was printed below what was typed. All ``{run}`` blocks of a page
share their names; an error fails the build. Options of both:

    :hide-output:   show the code alone
    :from: rank     show what was printed from the first line on that starts so
    :lines: 12      show that many lines of what was printed, then a mark that there are more

``{run}`` also has ``:picture: alternative text``, which shows the figure that the block drew, and ``:hide-code:``.
Commands of ``{terminal}`` start with ``$ ``; ``$ cat``, ``$ head`` and ``$ preflearn`` are known.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import io
import os
import shlex
import tempfile
import warnings
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
WIDTH = "96"  # columns of what commands print


@contextlib.contextmanager
def workshop(folder: Path) -> Any:
    """Run in a folder, with a fixed width and warnings as errors."""
    before, columns = Path.cwd(), os.environ.get("COLUMNS")
    os.chdir(folder)
    os.environ["COLUMNS"] = WIDTH
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")
            yield
    finally:
        os.chdir(before)
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns


def run_python(code: str, names: dict[str, Any], source: str) -> str:
    """Run a block and return what it printed; a last expression is shown as the interpreter would."""
    tree = ast.parse(code, source)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), workshop(EXAMPLES):
        if last is not None:
            tree.body.pop()
        exec(compile(tree, source, "exec", dont_inherit=True), names)  # noqa: S102 - pages are our own
        if last is not None:
            value = eval(compile(ast.Expression(last.value), source, "eval", dont_inherit=True), names)
            if value is not None:
                print(repr(value))
    return printed.getvalue()


def run_command(line: str, folder: Path) -> str:
    """Run one command in a folder and return what it printed."""
    from preflearn.cli.main import main

    words = shlex.split(line)
    if words[0] == "cat":
        return (folder / words[1]).read_text("utf-8")
    if words[0] == "head":
        n = int(words[2]) if words[1] == "-n" else 10
        return "\n".join((folder / words[-1]).read_text("utf-8").splitlines()[:n]) + "\n"
    if words[0] != "preflearn":
        raise ValueError(f"cannot run {words[0]}")
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), workshop(folder):
        code = main(words[1:])
    if code not in (0, None):
        return err.getvalue()
    return out.getvalue() + err.getvalue()


class _Live(SphinxDirective):
    has_content = True
    option_spec = {  # noqa: RUF012 - as docutils has it
        "hide-output": directives.flag,
        "hide-code": directives.flag,
        "from": directives.unchanged_required,
        "lines": directives.nonnegative_int,
        "picture": directives.unchanged_required,
        "fails": directives.flag,
    }

    def _shown(self, text: str, language: str, kind: str) -> list[nodes.Node]:
        if not text.strip():
            return []
        block = nodes.literal_block(text.rstrip(), text.rstrip(), classes=[kind])
        block["language"] = language
        return [block]

    def _cut(self, text: str) -> str:
        lines = text.rstrip().split("\n")
        start, limit = self.options.get("from"), self.options.get("lines")
        if start is not None:
            place = next((k for k, line in enumerate(lines) if line.startswith(start)), None)
            if place is None:
                raise self.error(f"no line of the output starts with {start!r}")
            lines = ["...", *lines[place:]]
        return "\n".join(lines if limit is None or len(lines) <= limit else [*lines[:limit], "..."])


class Run(_Live):
    """Python that runs when the page is built."""

    def run(self) -> list[nodes.Node]:
        code = "\n".join(self.content)
        names = self.env.temp_data.setdefault("live_names", {"__name__": "__main__"})
        if "picture" in self.options:
            import matplotlib

            matplotlib.use("agg")
        try:
            printed = run_python(code, names, f"{self.env.docname}, line {self.lineno}")
        except Exception as error:
            raise self.error(f"{type(error).__name__}: {error}") from error
        found: list[nodes.Node] = [] if "hide-code" in self.options else self._shown(code, "python", "live-code")
        if "hide-output" not in self.options:
            found += self._shown(self._cut(printed), "text", "live-output")
        if "picture" in self.options:
            found.append(self._picture(code))
        return found

    def _picture(self, code: str) -> nodes.Node:
        import matplotlib.pyplot as plt

        folder = Path(self.env.srcdir) / "_pictures"
        folder.mkdir(exist_ok=True)
        name = hashlib.sha256(f"{self.env.docname}{code}".encode()).hexdigest()[:12] + ".png"
        plt.gcf().savefig(folder / name, dpi=160)
        width = plt.gcf().get_size_inches()[0] * 100
        plt.close("all")
        return nodes.image(uri=f"/_pictures/{name}", alt=self.options["picture"], width=f"{width:.0f}px")


class Terminal(_Live):
    """Commands that run when the page is built, each after ``$ ``."""

    def run(self) -> list[nodes.Node]:
        folders = self.env.temp_data.setdefault("live_folder", {})
        if "folder" not in folders:
            folders["keep"] = tempfile.TemporaryDirectory()
            folders["folder"] = Path(folders["keep"].name)
            for path in EXAMPLES.glob("*.csv"):
                (folders["folder"] / path.name).write_bytes(path.read_bytes())
        shown = []
        for line in self.content:
            if not line.startswith("$ "):
                continue
            printed = run_command(line[2:], folders["folder"])
            failed = printed.startswith("preflearn: ")
            if failed != ("fails" in self.options):
                raise self.error(f"{line}: {printed or 'did not fail'}")
            shown.append(line if "hide-output" in self.options else f"{line}\n{self._cut(printed).rstrip()}")
        return self._shown("\n\n".join(shown), "console", "live-terminal")


def setup(app: Any) -> dict[str, bool]:
    """Register the directives."""
    app.add_directive("run", Run)
    app.add_directive("terminal", Terminal)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
