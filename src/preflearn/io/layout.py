"""Which layout a table has: the two sides, what says who won, features on the row; or rankings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from preflearn.data.sides import normal, word_value
from preflearn.exceptions import Setting, first_few, nearest_names
from preflearn.io.formats import Format
from preflearn.io.questions import ask_columns, ask_outcomes, ask_pair, guess
from preflearn.io.read_options import listed
from preflearn.io.roles import (
    BESIDE,
    DECIDED,
    ITEM_STEMS,
    LISTS,
    SCORE_STEMS,
    WIN_STEMS,
    Pair,
    follows_outcome,
    pairs_of,
    place_columns,
    single,
)
from preflearn.io.table import Table, numbers_of
from preflearn.table_format import plural

_SOURCES = {
    "winner": ("winner",),
    "outcome": ("outcome",),
    "scores": ("score_first", "score_second"),
    "wins": ("wins_first", "wins_second"),
}
_NOT_HERE = ("name", *LISTS)  # roles that are no columns of the comparisons


class Covariate(NamedTuple):
    """A number of each row, the first side's minus the second's: one column, or one for each side."""

    name: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Layout:
    """A layout with the column of each role; ``sources`` are the ways in which the table says who won."""

    name: str
    roles: dict[str, str]
    sides: tuple[str, str] | None = None
    sources: dict[str, dict[str, str]] = field(default_factory=dict)
    features: tuple[Pair, ...] = ()
    places: tuple[str, ...] = ()
    covariates: tuple[Covariate, ...] = ()
    format: Format | None = None

    @property
    def is_ranking(self) -> bool:
        """Whether rows are rankings, or parts of one."""
        return self.name.startswith("ranking")

    @property
    def decided(self) -> bool:
        """Whether the order of the two sides says who won."""
        return self.sides in DECIDED

    @property
    def side_roles(self) -> tuple[str, str]:
        """Roles of the two sides."""
        return ("winner", "loser") if self.decided else ("first", "second")

    @property
    def side_columns(self) -> tuple[str, str] | tuple[()]:
        """Columns of the two sides; empty where items have no names."""
        one, other = self.side_roles
        return (self.roles[one], self.roles[other]) if one in self.roles else ()

    @property
    def name_columns(self) -> tuple[str, ...]:
        """Columns whose cells are names of items; none where rankings are text."""
        return (self.roles["item"],) if "item" in self.roles else self.side_columns or self.places

    @property
    def columns(self) -> dict[str, str]:
        """Column of each role; several are separated by commas."""
        several = {"ranking": self.places, "covariates": [one.name for one in self.covariates]}
        return self.roles | {role: ",".join(columns) for role, columns in several.items() if columns}

    @property
    def answer_columns(self) -> list[str]:
        """Columns that say who won."""
        columns = [column for source in self.sources.values() for column in source.values()]
        return [*columns, *self.places, *(self.roles[role] for role in ("ties", "ranking") if role in self.roles)]


def find_layout(
    table: Table, given: Mapping[str, Any], known: Format | None = None, *, need_outcomes: bool, rankings: bool | None
) -> Layout:
    """Return the layout of a table; ``given`` are named columns, ``rankings`` whether these are some (None: ask)."""
    if known is not None:
        left_out = () if need_outcomes or "loser" in known.roles else tuple(chain(*_SOURCES.values()))
        given = {role: column for role, column in known.roles.items() if role not in left_out} | dict(given)
        rankings = False
    covariates = _covariates(table, given)
    held = {column for one in covariates for column in one.columns}
    table = replace(table, columns=tuple(column for column in table.columns if column not in held))
    found = _find(table, given, need_outcomes, rankings)
    if covariates and found.is_ranking:
        raise table.refuse(code="covariates-of-rankings").says(
            f"covariates are numbers of a comparison of two items, and these are rankings ({found.name})",
            "Leave them out",
        )
    return replace(found, covariates=covariates, format=known)


def _covariates(table: Table, given: Mapping[str, Any]) -> tuple[Covariate, ...]:
    """Return the covariates that were named: columns, or differences such as days_home-days_away."""
    named = {table.find(column, role): role for role, column in given.items() if role not in _NOT_HERE}
    found = []
    for name in dict.fromkeys(listed(given.get("covariates"))):
        cuts = [(name[:place].strip(), name[place + 1 :].strip()) for place, mark in enumerate(name) if mark == "-"]
        pair = next((cut for cut in cuts if name not in table.columns and set(cut) <= set(table.columns)), None)
        columns = pair or (table.find(name, "covariates"),)
        for column in columns:
            if column in named:
                raise table.refuse(code="column-of-two-roles").says(
                    f'column "{column}" is named for {named[column]} and for covariates', "Name it for one of them"
                )
        found.append(Covariate(name if pair else columns[0], columns))
    return tuple(found)


def _find(table: Table, given: Mapping[str, Any], need_outcomes: bool, rankings: bool | None) -> Layout:
    named = {role: table.find(column, role) for role, column in given.items() if role not in _NOT_HERE}
    pairs = pairs_of(table.columns)
    ranked = {"ranking", "item", "place"} & named.keys()
    if rankings or ranked:
        found = _rankings(table, named)
        if found is None:
            raise table.refuse(code="no-ranking-column").says(
                f"the columns {first_few(table.columns, 12)} hold no rankings",
                'Write them in a column "ranking" as a > b > c, in columns 1,2,3, or name the columns: '
                + Setting("columns", {"ranking": "COLUMN"}),
            )
        return found
    sides = _sides(table, named, pairs, only_features="features" in given)
    if sides is None or (sides.words not in DECIDED and not {"first", "second"} & named.keys()):
        found = None if rankings is False else _rankings(table, named)
        if found is not None and (sides is None or not _sources(table, named, pairs, sides)):
            return found
    if sides is None:
        families = {pair.words for pair in pairs if _is_feature(pair)}
        families = {words for words in families if len(words[0]) > 3} or families  # x1_left, x2_left: not 1 and 2
        decided = families and families <= set(DECIDED)
        if not families or (need_outcomes and not decided and not _sources(table, named, pairs, None)):
            raise ask_columns(table, {role: named[role] for role in given if role in named})
        if len(families) > 1:
            raise table.refuse(code="no-items-named").says(
                f"the columns {first_few(table.columns, 12)} name neither items nor one way to tell two sides apart",
                guess(table) or "Name the items: " + Setting("columns", {"first": "COLUMN", "second": "COLUMN"}),
            )
        words = families.pop()
        return _with_outcomes(table, given, named, pairs, Pair(words, "", "", ""), need_outcomes)
    return _with_outcomes(table, given, named, pairs, sides, need_outcomes)


def _with_outcomes(
    table: Table, given: Mapping[str, Any], named: dict[str, str], pairs: list[Pair], sides: Pair, need: bool
) -> Layout:
    decided = sides.words in DECIDED
    roles = dict(zip(("winner", "loser") if decided else ("first", "second"), (sides.first, sides.second), strict=True))
    roles = {role: column for role, column in roles.items() if column}
    sources: dict[str, dict[str, str]] = {}
    if not decided and (need or any(role in named for source in _SOURCES.values() for role in source)):
        sources = _sources(table, named, pairs, sides)
        if not sources:
            raise ask_outcomes(table, named, sides)
    for columns in sources.values():
        roles |= columns
    for role in (*BESIDE, "ties"):
        column = named.get(role) or single(table, role, list(roles.values()))
        if role == "weight" and role not in named and column is not None:
            counts = [str(row) for row in range(len(table) + 1)]
            if len(table) > 2 and table.cells(column) in (counts[:-1], counts[1:]):
                continue  # n numbers the rows: it is no weight
        if column is not None and (role != "ties" or "wins" in sources or decided):
            roles[role] = column
    if decided and "ties" not in roles:
        _refuse_draws(table, list(roles.values()))
    features = _features(table, given, pairs, sides, list(roles.values()))
    if not sides.first:
        name = "features"
    else:
        name = f"{sides.first},{sides.second}"
        if sides.words in (*DECIDED, ("first", "second"), ("left", "right"), ("home", "away")):
            name = ",".join(sides.words)
    return Layout(",".join([name, *sources]), roles, sides.words if any(sides.words) else None, sources, features)


def _refuse_draws(table: Table, used: list[str]) -> None:
    """Raise if a further column calls some rows draws: there, the winner is none."""
    column = single(table, "outcome", used)
    if column is None:
        return
    cells = table.cells(column)
    drawn = [cell for cell in cells.distinct if cell and not cell[0].isdigit() and word_value(cell, {}) == 0.0]
    if drawn:
        n_rows = sum(table.number(cells.are(cell)) for cell in drawn)
        raise table.fail(cells.index(drawn[0]), code="tie-with-a-winner").says(
            f'column "{column}" says "{drawn[0][:40]}" ({plural(n_rows, "row")}), but a winner is named',
            "Say that these are ties: " + Setting("columns", {"ties": column}),
        )


def _sides(table: Table, named: dict[str, str], pairs: list[Pair], *, only_features: bool) -> Pair | None:
    """Return the two columns of items; None if there are none."""
    if "first" in named:
        return _as_pair(named["first"], named["second"], pairs, decided=False)
    if "loser" in named:
        return _as_pair(named["winner"], named["loser"], pairs, decided=True)
    free = [pair for pair in pairs if not {pair.first, pair.second} & set(named.values())]
    says = {role for source in _SOURCES.values() for role in source} & named.keys()
    for decided in (True, False):
        candidates = [p for p in free if p.stem in ITEM_STEMS and (p.words in DECIDED) == decided]
        if candidates and not (decided and says):
            return _best(table, candidates, decided)
    others = [pair for pair in free if _is_feature(pair)]
    if len(others) != 1 or only_features or place_columns(table.columns):
        return None
    return others[0] if _holds_items(table, named, others[0]) else None


def _as_pair(first: str, second: str, pairs: list[Pair], *, decided: bool) -> Pair:
    alike = [p for p in pairs if (p.first, p.second) == (first, second) and (p.words in DECIDED) == decided]
    return alike[0] if alike else Pair(DECIDED[0] if decided else ("", ""), "", first, second)


def _best(table: Table, candidates: list[Pair], decided: bool) -> Pair:
    if len({pair.words for pair in candidates}) > 1:
        raise ask_pair(table, candidates, ("winner", "loser") if decided else ("first", "second"), "two sides")
    return min(candidates, key=lambda pair: ITEM_STEMS.index(pair.stem))


def _is_feature(pair: Pair) -> bool:
    return pair.stem not in ITEM_STEMS and not follows_outcome(pair)


def _holds_items(table: Table, named: dict[str, str], pair: Pair) -> bool:
    """Return whether the only pair of columns holds items; whole numbers could be either, and raise."""
    one, other = table.cells(pair.first), table.cells(pair.second)
    values = numbers_of([*one.distinct, *other.distinct], table.delimiter)
    if values is None:
        return True
    winner = named.get("winner") or single(table, "winner", [pair.first, pair.second])
    if winner is not None:
        cells = table.cells(winner)
        if np.mean(cells.same(one) | cells.same(other)) > 0.5:
            return True
    present = values[np.isfinite(values)]
    if np.any(present != np.floor(present)):
        return False
    feature = normal(pair.stem)
    raise table.refuse(code="items-or-feature").says(
        f'columns "{pair.first}" and "{pair.second}" hold whole numbers: they could be items or a feature',
        "If they are items, use "
        + Setting("columns", {"first": pair.first, "second": pair.second})
        + " and if they are a feature "
        + Setting("columns", {"features": feature}),
    )


def _sources(table: Table, named: dict[str, str], pairs: list[Pair], sides: Pair | None) -> dict[str, dict[str, str]]:
    """Return the ways in which the table says who won; named columns exclude all others."""
    asked = {
        source: {role: named[role] for role in roles}
        for source, roles in _SOURCES.items()
        if all(role in named for role in roles)
    }
    if asked:
        return asked
    used = [*named.values(), *((sides.first, sides.second) if sides else ())]
    found: dict[str, dict[str, str]] = {}
    winner = single(table, "winner", used)
    if winner is not None:
        found["winner"] = {"winner": winner}
    else:
        outcome = single(table, "outcome", used)
        if outcome is not None:
            found["outcome"] = {"outcome": outcome}
    free = [p for p in pairs if p.words not in DECIDED and not {p.first, p.second} & set(used)]
    for source, stems in (("scores", SCORE_STEMS), ("wins", WIN_STEMS)):
        roles, fitting = _SOURCES[source], [p for p in free if p.stem in stems]
        if len(fitting) > 1:
            raise ask_pair(table, fitting, roles, source)
        if fitting and not (source == "wins" and found):
            found[source] = dict(zip(roles, (fitting[0].first, fitting[0].second), strict=True))
    if not found:
        weak = single(table, "weak_outcome", used)
        if weak is not None:
            found["outcome"] = {"outcome": weak}
    return found


def _features(
    table: Table, given: Mapping[str, Any], pairs: list[Pair], sides: Pair, used: list[str]
) -> tuple[Pair, ...]:
    """Return the pairs of columns that describe the items of a row."""
    candidates = [p for p in pairs if p.words == sides.words and not {p.first, p.second} & set(used)]
    asked = given.get("features")
    if asked is None:
        return tuple(pair for pair in candidates if _is_feature(pair))
    stems = listed(asked)
    by_stem = {pair.stem: pair for pair in candidates}
    for stem in stems:
        if normal(stem) not in by_stem:
            nearest = nearest_names(stem, by_stem)
            raise table.refuse(code="unknown-feature").says(
                f'there are no two columns for the feature "{stem}" (features: '
                f"{first_few(by_stem, 8) or 'none'}{'; ' + nearest if nearest else ''})",
                "Name one of them, or use no features: " + Setting("columns", {"features": "none"}),
            )
    return tuple(by_stem[normal(stem)] for stem in stems)


def _rankings(table: Table, named: dict[str, str]) -> Layout | None:
    """Return a layout of rankings, if the columns have one."""
    roles = {role: column for role, column in named.items() if role in BESIDE}
    for role in BESIDE:
        column = roles.get(role) or single(table, role, list(named.values()))
        roles |= {role: column} if column is not None else {}
    item = named.get("item") or single(table, "item", list(named.values()))
    place = named.get("place") or single(table, "place", list(named.values()))
    text = named.get("ranking") or single(table, "ranking", list(roles.values()))
    if item is not None and place is not None:
        which = text or single(table, "ranking_id", [item, place])
        roles |= {"item": item, "place": place} | ({"ranking": which} if which else {})
        return Layout("ranking (item,place)", roles)
    places = place_columns(table.columns)
    if text is not None and ("ranking" in named or not places):
        return Layout("ranking (text)", roles | {"ranking": text})
    if places:
        return Layout("ranking (places)", roles, places=tuple(places))
    only = table.columns[0] if len(table.columns) == 1 else None
    if only is not None and all(">" in cell or "≻" in cell for cell in table.cells(only)):
        return Layout("ranking (text)", roles | {"ranking": only})
    return None
