"""What a statistician would say of the data that a ranking rests on."""

from __future__ import annotations

import contextlib
import unicodedata
from typing import Any

import numpy as np

from preflearn.analysis.advice import Advice
from preflearn.analysis.model_names import Terms
from preflearn.analysis.record import Record, short_number
from preflearn.data import Comparisons
from preflearn.exceptions import first_few
from preflearn.structure.graph import wins_in_order

__all__ = [
    "FEW",
    "alike_names",
    "extremes",
    "few_comparisons",
    "in_order",
    "missing_values",
    "parts",
    "sides",
]

FEW = 3  # comparisons of an item below which its place is mostly the prior's
MANY = 10  # comparisons from which on it means something that none contradicts
MISSING = ("nan", "na", "n/a", "null", "none", "-", "?", "#n/a")


def in_order(data: Comparisons) -> bool:
    """Return whether many comparisons have no ties and no chain of wins that leads back to where it began."""
    return len(data) >= MANY and wins_in_order(data)


def parts(data: Comparisons, names: Any) -> list[Advice]:
    part = data.parts()
    used = data.used_items()
    compared, sizes = np.unique(part[used], return_counts=True)
    if len(compared) < 2:
        return []
    order = np.argsort(-sizes, kind="stable")
    ends = [names[used[np.flatnonzero(part[used] == compared[k])[0]]] for k in order[:2]]
    on = "on their features" if data.items is not None else "on the prior alone"
    return [
        Advice(
            "parts",
            f"The comparisons fall into {len(compared)} parts that never met ({first_few(sizes[order].tolist())} "
            f"items): how items of different parts stand to each other rests {on}. Compare some of them, such as "
            f"{ends[0]} with {ends[1]}.",
            tuple(ends),
        )
    ]


def sides(model: Any, terms: Terms) -> list[Advice]:
    """Return the advantage of a side, where a model has learned one."""
    if "side" not in terms:
        return []
    effect = model.side_effect_
    side = "first" if effect.estimate > 0 else "second"
    low, high = sorted(np.exp([abs(effect.low), abs(effect.high)]).tolist())
    low = low if effect.low * effect.high > 0 else 1.0
    odds = float(np.exp(abs(effect.estimate)))
    return [
        Advice(
            "side",
            f"The {side} of the two sides wins more often than the items explain: odds of {odds:.2f} to 1 between "
            f"equal items ({low:.2f} to {high:.2f}). Places and probabilities are without that advantage. "
            "Where sides can be chosen, put them in random order.",
        )
    ]


def missing_values(names: Any) -> list[Advice]:
    """Return whether items have names that often stand for a missing value."""
    found = [name for name in names if isinstance(name, str) and name.strip().lower() in MISSING]
    if not found:
        return []
    text = f"Items are called {first_few(found, 5)}: if that means a missing value, delete those rows."
    return [Advice("names", text, tuple(found))]


def alike_names(names: Any) -> list[Advice]:
    """Return whether names differ only in capitals, blanks, accents, zeros of a number or the quote of a formula."""
    forms: dict[str, list[str]] = {}
    for name in names:
        if isinstance(name, str):
            forms.setdefault(_plain_name(name), []).append(name)
    groups = [group for group in forms.values() if len(group) > 1]
    if not groups:
        return []
    shown = "; ".join(" and ".join(f'"{name}"' for name in group[:3]) for group in groups[:3])
    more = "; ..." if len(groups) > 3 else ""
    text = (
        f"{len(groups)} {'names are' if len(groups) > 1 else 'name is'} written in several ways, which count as "
        f"different items ({shown}{more}). If they are the same, write them alike."
    )
    return [Advice("names", text, tuple(name for group in groups for name in group))]


def _plain_name(name: str) -> str:
    """Return a name without what people do not see as part of it; of numbers their value ("1", "01", "1.0")."""
    plain = " ".join(unicodedata.normalize("NFKC", name).split()).casefold().removeprefix("'")
    if plain.replace(".", "", 1).isdigit():
        with contextlib.suppress(ValueError):
            return repr(float(plain))
    return plain


def extremes(data: Comparisons, record: Record, names: Any) -> list[Advice]:
    played = record.played > 0
    found = []
    for kind, word, never, bound in (
        ("undefeated", "never lost", record.losses + record.ties, "from above"),
        ("winless", "never won", record.wins + record.ties, "from below"),
    ):
        rows = np.flatnonzero(played & (never == 0))
        if len(rows):
            which = first_few([names[row] for row in rows], 5)
            item, it = ("items", "they are") if len(rows) > 1 else ("item", "it is")
            found.append(
                Advice(
                    kind,
                    f"{len(rows)} {item} {word} ({which}): how far {it} from the others is bounded {bound} only by "
                    f"{'the prior' if data.items is None else 'features and prior'}.",
                    tuple(names[row] for row in rows),
                )
            )
    return found


def few_comparisons(data: Comparisons, record: Record, names: Any) -> list[Advice]:
    played = record.played
    used = np.flatnonzero(played > 0)
    rare = used[played[used] < FEW]
    if not len(rare):
        return []
    each = float(played[used].mean())
    which = first_few([names[row] for row in rare], 5)
    return [
        Advice(
            "few",
            f"{len(rare)} of {len(used)} items were compared fewer than {FEW} times ({which}; on average "
            f"{short_number(round(each, 1))} times): their places are little more than guesses. Compare them again.",
            tuple(names[row] for row in rare),
        )
    ]
