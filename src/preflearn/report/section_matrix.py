"""The preference matrix: with what probability each item is preferred to each other one."""

from __future__ import annotations

import numpy as np

from preflearn.operators import FloatArray
from preflearn.report.context import Shown
from preflearn.report.markup import LONG, details, framed, isolated, name, paragraph, share
from preflearn.report.style import STEPS
from preflearn.report.svg import Drawing
from preflearn.table_format import shortened

MOST = 40  # items
NUMBERED = 12  # items up to which the cells of the figure hold their numbers


def matrix(shown: Shown) -> str:
    """Return the matrix as a figure and as a table."""
    n = len(shown.names)
    if n < 2:
        return ""
    places = np.arange(min(n, MOST))
    chance = np.asarray(shown.result.model.preference_matrix(shown.labels(places)).probability)
    which = f"the first {MOST} of {n:,} items" if n > MOST else f"{n} items"
    words = paragraph(
        f"Probability that the item of the row is preferred to the item of the column in one comparison, for {which}, "
        "in the order of the ranking. Ties count half for each side."
    )
    numbers = details("The same as a table of numbers", _table(shown, chance))
    return words + _figure(shown, chance, which) + numbers


def _step(probability: float) -> int:
    return int(np.clip(round(probability * (STEPS - 1)), 0, STEPS - 1))


def _figure(shown: Shown, chance: FloatArray, which: str) -> str:
    n, names = len(chance), shown.names
    left, top = 130.0, 26.0
    side = max(min(300.0 / n, 46.0), 10.5)
    drawing = Drawing(max(440.0, left + n * side + 10), top + n * side + 40)
    small = "small" if side >= 12 else "tiny"
    for i in range(n):
        y = top + side * (i + 0.5) + 3.5
        drawing.text(20, y, f"{i + 1}", f"{small} soft", anchor="end")
        drawing.text(25, y, shortened(names[i], 16 if small == "small" else 20), small)
        if n <= 20 or i % 5 == 4 or i == 0:
            drawing.text(left + side * (i + 0.5), top - 7, f"{i + 1}", f"{small} soft", anchor="middle")
        for j in range(n):
            if i == j:
                continue
            step = _step(chance[i, j])
            drawing.box(left + side * j, top + side * i, side - 0.6, side - 0.6, f"m{step}")
            if n <= NUMBERED:
                middle = left + side * (j + 0.5)
                drawing.text(middle, y, f"{100 * chance[i, j]:.0f}", f"small i{step}", anchor="middle")
    _legend(drawing, left, top + n * side + 10)
    best, worst = _extremes(chance)
    sure = float(np.mean(np.maximum(chance, 1 - chance)[~np.eye(n, dtype=bool)] >= 0.75))
    description = (
        f"The clearest preference is that of {isolated(names[best])} over {isolated(names[worst])}, "
        f"{share(chance[best, worst])}. Of all pairs {share(sure)} have a winner with a probability of 75 % or more. "
        "The table below the figure holds all numbers."
    )
    caption = "Rows against columns, in per cent. Blue: the row wins; orange: the column does."
    return drawing.html("matrix", f"Preferences between {which}", description, caption, wide=n > 20)


def _extremes(chance: FloatArray) -> tuple[int, int]:
    place = int(np.argmax(chance))
    return place // len(chance), place % len(chance)


def _legend(drawing: Drawing, left: float, y: float) -> None:
    width = 12.0
    for step in range(STEPS):
        drawing.box(left + width * step, y, width - 0.6, 9, f"m{step}")
    for step, words in ((0, "0"), (STEPS // 2, "50"), (STEPS - 1, "100 %")):
        drawing.text(left + width * (step + 0.5), y + 21, words, "small soft", anchor="middle")


def _table(shown: Shown, chance: FloatArray) -> str:
    n = len(chance)
    head = "".join(f'<th scope="col">{j + 1}</th>' for j in range(n))
    body = []
    for i in range(n):
        cells = "".join(
            "<td></td>" if i == j else f'<td class="m{_step(chance[i, j])}">{100 * chance[i, j]:.0f}</td>'
            for j in range(n)
        )
        body.append(f'<tr><th scope="row">{i + 1} {name(shown.names[i])}</th>{cells}</tr>')
    said = "Probability in per cent that the row is preferred to the column; columns by place"
    content = f'<thead><tr><th scope="col">item</th>{head}</tr></thead><tbody>{"".join(body)}</tbody>'
    return framed(said, content, long=n > LONG, kind="matrix")
