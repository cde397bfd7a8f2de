"""What a person sees: tables, lines, warnings, and a sign of life while long work runs."""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any

from preflearn.cli.failures import one_line
from preflearn.messages import Dialect, Message
from preflearn.table_format import visible

_INDENT = 8
_PATIENCE = 2.0  # seconds of silence before a spinner appears


def warning_printer(dialect: Dialect) -> Callable[..., None]:
    """Return a stand-in for ``warnings.showwarning`` that prints every different warning once, on standard error."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        data = getattr(message, "message", None)
        text = one_line(dialect.render(data) if isinstance(data, Message) else str(message))
        if text not in seen:
            seen.add(text)
            print(f"preflearn: warning: {text}", file=sys.stderr)

    return show


@contextlib.contextmanager
def progress(text: str) -> Iterator[Callable[[str, float], None]]:
    """Return a function to call with what is done next and which share is done; a bar shows it if that takes long."""
    if not sys.stderr.isatty():
        yield lambda what, share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    what = TextColumn("{task.description}", markup=False)
    columns = (SpinnerColumn(), what, BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task(text, total=None)
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda what, share: bar.update(task, description=what, completed=share, total=1.0)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def _console() -> Any:
    from rich.console import Console

    # Made anew each time: standard output may have been redirected since.
    return Console(highlight=False, markup=False, emoji=False)


def width() -> int:
    """Return how many letters a line of the terminal holds."""
    return int(_console().width)


def prose(text: str, *, heading: bool = False) -> None:
    """Print a paragraph, wrapped to the width of the terminal."""
    _console().print(visible(text), style="bold" if heading else None)


def plain(text: str) -> None:
    """Print lines, however long."""
    sys.stdout.write(visible(text) + "\n")


def print_json(answer: Mapping[str, Any]) -> None:
    """Print an answer, which may hold numbers of numpy, as JSON; NaN and infinity become null."""
    import json

    text = json.dumps(_finite(answer), indent=2, ensure_ascii=False, allow_nan=False, default=lambda one: one.item())
    sys.stdout.write(text + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(one) for key, one in value.items()}
    return [_finite(one) for one in value] if isinstance(value, list | tuple) else value


def hanging(text: str, indent: int) -> None:
    """Print lines of a table whose last column, from ``indent`` on, is wrapped to the width of the terminal."""
    import textwrap

    width = max(indent + 20, _console().width)
    for line in text.splitlines():
        plain("\n".join(textwrap.wrap(line, width, subsequent_indent=" " * indent, break_on_hyphens=False)))


def facts(pairs: Sequence[tuple[str, str]]) -> None:
    """Print lines of a word, once, and what there is to say about it; flushed, so that they come before long work."""
    import textwrap

    from rich.text import Text

    console = _console()
    width = max(20, console.width - _INDENT)
    previous = None
    for word, text in pairs:
        word, previous = ("" if word == previous else word), word
        # Paths are not broken, so that they can be copied.
        lines = textwrap.wrap(visible(text), width, break_long_words=False, break_on_hyphens=False) or [""]
        start = Text.assemble((f"{word:<{_INDENT}}", "bold"), lines[0])
        for line in (start, *(Text(" " * _INDENT + rest) for rest in lines[1:])):
            console.print(line, soft_wrap=True)
    sys.stdout.flush()


def table(columns: Sequence[tuple[str, str]], rows: Sequence[Sequence[str]]) -> None:
    """Print a table whose texts are wrapped; columns are names with "left" or "right"."""
    from rich import box
    from rich.table import Table

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for name, side in columns:  # a number that is cut off is a wrong number
        justify: Any = side
        drawn.add_column(name, justify=justify, no_wrap=side == "right", overflow="fold")
    for row in rows:
        drawn.add_row(*(" ".join(visible(cell).split()) for cell in row))
    console = _console()
    with console.capture() as captured:
        console.print(drawn)
    # rich fills lines with blanks up to the width of the table.
    sys.stdout.write("\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n")
