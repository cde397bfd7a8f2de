"""Pages that follow from the code: the reference of Python, the reference of commands, a page for each layout."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
from pathlib import Path
from typing import Any

import preflearn

# Rooms that people import from; the first one that has a name describes it.
ROOMS = ("preflearn", *(f"preflearn.{room}" for room in preflearn._ROOMS))
MARK = "<!-- Written when the site is built, by docs/build_tools/generated.py. -->\n\n"


def public_names() -> dict[str, str]:
    """Return the room of each public name, by its full name: the first room that has the object."""
    seen: set[int] = set()
    found = {}
    for room in ROOMS:
        module = importlib.import_module(room)
        for name in module.__all__:
            thing = getattr(module, name)
            if not (inspect.isclass(thing) or inspect.isroutine(thing)) or id(thing) in seen:
                continue
            seen.add(id(thing))
            found[f"{room}.{name}"] = room
    return found


def python_pages() -> dict[str, str]:
    """Return the pages of the rooms, by file name."""
    names = public_names()
    pages = {}
    for room in ROOMS:
        own = sorted((full for full, of in names.items() if of == room), key=str.casefold)
        short = room.removeprefix("preflearn.")
        module = importlib.import_module(room)
        purpose = str(inspect.getdoc(module)).partition("\n\n")[0].replace("\n", " ")
        lines = [short, "=" * len(short), "", purpose, ""]
        kinds = (("Classes", inspect.isclass), ("Functions", inspect.isroutine))
        for title, test in kinds:
            rows = [full for full in own if test(getattr(module, full.rpartition(".")[2]))]
            if rows:
                lines += [f".. rubric:: {title}", "", ".. autosummary::", "   :toctree: names", "   :nosignatures:", ""]
                lines += [f"   {row}" for row in rows] + [""]
        pages[f"{short}.rst"] = "\n".join(lines)
    return pages


def command_pages() -> dict[str, str]:
    """Return a page for each command, from its own help."""
    from preflearn.cli.app import COMMANDS, app

    pages = {}
    for name in COMMANDS:
        out = io.StringIO()
        before = os.environ.get("COLUMNS")
        os.environ["COLUMNS"] = "80"
        with contextlib.redirect_stdout(out):
            app.help_print([name])
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
        help_text = out.getvalue().strip("\n")
        pages[f"{name}.md"] = f"{MARK}# preflearn {name}\n\n{_what(app[name])}\n\n```text\n{help_text}\n```\n"
    return pages


def _what(command: Any) -> str:
    return str(inspect.getdoc(command.default_command)).partition("\n")[0]


def write(folder: Path, pages: dict[str, str]) -> None:
    """Write pages into a folder, those that differ, and remove others."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.*"):
        if old.name not in pages:
            old.unlink()
    for name, text in pages.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def write_all(source: Path) -> None:
    """Write all pages that follow from the code."""
    from build_tools.layouts import layout_pages

    kept = {path.stem for path in (source.parent / "examples" / "gallery").glob("*.py")}
    for page in source.glob("gallery/plot_*.rst"):  # of examples that are no more
        if page.stem not in kept:
            page.unlink()
    write(source / "reference" / "python", python_pages())
    write(source / "reference" / "commands", command_pages())
    write(source / "files" / "layouts", layout_pages())


def setup(app: Any) -> dict[str, bool]:
    """Write the pages before Sphinx looks for pages."""
    app.connect("config-inited", lambda app, config: write_all(Path(app.srcdir)), priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
