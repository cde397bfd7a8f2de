"""Mathematics as MathML, written at build: browsers show it without scripts, fonts or network."""

from __future__ import annotations

from typing import Any

from latex2mathml.converter import convert


def mathml(latex: str, display: str) -> str:
    """Return a formula as MathML; ValueError for a command that the converter does not know."""
    if display == "block" and ("\\\\" in latex or "&" in latex) and "\\begin" not in latex:
        latex = f"\\begin{{align*}}{latex}\\end{{align*}}"
    found = convert(latex, display=display)
    if "\\" in found or "<mi>&</mi>" in found:
        raise ValueError(f"this formula has a command that cannot be shown: {latex}")
    return str(found).replace("<math ", f'<math alttext="{_attribute(latex)}" ', 1)


def _attribute(text: str) -> str:
    return " ".join(text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").split())


def _inline(writer: Any, node: Any) -> None:
    from docutils import nodes

    writer.body.append(mathml(node.astext(), "inline"))
    raise nodes.SkipNode


def _block(writer: Any, node: Any) -> None:
    from docutils import nodes

    writer.body.append(f'<div class="formula">{mathml(node.astext(), "block")}</div>\n')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
