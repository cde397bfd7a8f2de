"""``llms.txt``: every page of the site with its first sentence, and where its source lies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes

HEAD = """\
# preflearn

> Learning from preferences in Python and on the command line: rankings with their uncertainty from comparisons of two,
> from rankings, and from scores in groups.

Each line is a page: its title, its source as text beside this file, and its first sentence.
"""


def first_sentence(tree: nodes.document) -> str:
    """Return the first sentence of the first paragraph of a page."""
    for paragraph in tree.findall(nodes.paragraph):
        if not isinstance(paragraph.parent, nodes.section):
            continue
        text = " ".join(paragraph.astext().split()).removeprefix("Question. ")
        if text:
            return text.partition(". ")[0].rstrip(".") + "."
    return ""


def _write(app: Any, error: Exception | None) -> None:
    if error is not None or app.builder.format != "html":
        return
    rooms: dict[str, list[str]] = {}
    for name in sorted(app.env.all_docs):
        place = f"_sources/{Path(app.env.doc2path(name, base=False)).as_posix()}.txt"
        sentence = app.env.llms_sentences.get(name, "")
        line = f"- [{app.env.titles[name].astext()}]({place}): {sentence}"
        rooms.setdefault(name.partition("/")[0] if "/" in name else "start", []).append(line)
    text = HEAD + "".join(f"\n## {room}\n\n" + "\n".join(lines) + "\n" for room, lines in rooms.items())
    Path(app.outdir, "llms.txt").write_text(text, "utf-8")


def _remember(app: Any, tree: nodes.document) -> None:
    if not hasattr(app.env, "llms_sentences"):
        app.env.llms_sentences = {}
    app.env.llms_sentences[app.env.docname] = first_sentence(tree)


def setup(app: Any) -> dict[str, bool]:
    """Register what listens."""
    app.connect("doctree-read", _remember)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
