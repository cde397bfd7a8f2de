"""What the columns of a table are for: lists of words, and pairs of columns for two sides. No more is guessed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from preflearn.data.comparisons import LABELS
from preflearn.data.sides import normal
from preflearn.exceptions import Setting, first_few
from preflearn.io.table import Table

# What stands beside the two sides, and leaves open who won.
BESIDE = ("weight", *LABELS)
# Roles of several columns, which are never found by their names: features of items, what describes none, covariates.
LISTS = ("features", "without", "covariates", "labels")
OF_LABELS = ("class", "labels")  # roles of tables in which each row has features and says which labels suit it
ROLES = (
    *("winner", "loser", "first", "second", "outcome", "score_first", "score_second", "wins_first", "wins_second"),
    *("ties", *BESIDE, "ranking", "item", "place", "name", "class", *LISTS),
)

# The two words of a pair of columns; those of the first list say who won.
DECIDED = (
    *(("winner", "loser"), ("winning", "losing"), ("chosen", "rejected"), ("preferred", "rejected")),
    *(("preferred", "dispreferred"), ("better", "worse"), ("preferred", "other")),
)
_SIDES = (
    *(("first", "second"), ("left", "right"), ("home", "away"), ("home", "visitor"), ("white", "black"), ("a", "b")),
    *(("1", "2"), ("one", "two"), ("i", "j")),
)
_THIRD = {"a": "c", "1": "3", "i": "k", "one": "three"}  # three of a kind are no pair
_LONG = sorted({word for pair in (*DECIDED, *_SIDES) for word in pair if len(word) > 3}, key=len, reverse=True)

# What is left of the name of a side without the word for the side: items (best first), scores, counts of wins.
ITEM_STEMS = (
    *("", "name", "item", "itemname", "team", "teamname", "player", "playername", "model", "modelname", "option"),
    *("alternative", "candidate", "competitor", "system", "school", "product", "image", "photo", "document", "doc"),
    *("generator", "video", "stimulus", "sample", "side", "id", "itemid", "teamid", "playerid", "modelid", "optionid"),
    *("response", "text"),
)
SCORE_STEMS = ("score", "scores", "teamscore", "goals", "goal", "points", "pts", "runs", "finalscore", "sets")
WIN_STEMS = ("wins", "win", "winner", "winnermodel", "votes", "nwins", "winscount")
# Words of columns that were made from the outcome (win1.adj, goals_scored_home): nothing that describes an item.
_OUTCOME_WORDS = frozenset(
    (
        *SCORE_STEMS,
        *WIN_STEMS,
        *("point", "vote", "winner", "winners", "winning", "won", "lose", "loss", "losses", "lost", "defeats"),
        *("tie", "ties", "tied", "draw", "draws", "drawn", "outcome", "outcomes", "result", "results", "victories"),
    )
)
_OUTCOME_STARTS = ("wins", "winner", "score", "goals", "points", "outcome", "result")  # scoreadj, goalsfor

# Those who compare. Of the second list, a column of yes and no says what somebody is, and not who.
_JUDGES = (
    *("judge", "worker", "annotator", "rater", "user", "voter", "assessor", "evaluator", "reviewer", "respondent"),
    *("participant", "labeler", "labeller", "person", "grader", "marker", "examiner", "coder", "juror", "critic"),
    *("panelist", "panellist", "observer", "listener", "viewer", "taster", "tester", "turker", "crowdworker"),
)
_PERSONS = ("student", "pupil", "teacher", "expert", "subject", "customer", "consumer", "client", "patient")
_ENDS = ("", "id", "name", "number", "no", "nr", "code", "key", "uuid")
_JUDGED_BY = (
    *("judgedby", "ratedby", "annotatedby", "labeledby", "labelledby", "reviewedby", "evaluatedby", "assessedby"),
    "publicusername",
)
_JUDGE_WORDS = {f"{who}{end}": (who, place) for who in (*_JUDGES, *_PERSONS) for place, end in enumerate(_ENDS)}
_FLAGS = frozenset(("0", "1", "yes", "no", "true", "false", "y", "n"))

_WORDS = {
    "winner": (
        *("winner", "winnername", "winnerid", "winneritem", "winnerteam", "won", "wonby", "victor", "preferred"),
        *("chosen", "choice", "better", "best", "selected", "picked", "pick"),
    ),
    "outcome": (
        *("outcome", "result", "label", "preference", "verdict", "judgement", "judgment", "vote", "answer", "decision"),
        *("ftr", "overallpreference"),
    ),
    "weak_outcome": ("margin", "grade", "score", "rating", "y"),  # where nothing else says who won
    "ties": ("tie", "ties", "tied", "draw", "draws", "drawn", "istie", "winnertie"),
    "weight": ("weight", "weights", "count", "counts", "n", "freq", "frequency", "times", "multiplicity"),
    "group": ("group", "groupid", "query", "queryid", "qid", "session", "sessionid"),
    "judge": (*_JUDGE_WORDS, *_JUDGED_BY),
    "cluster": ("cluster", "clusterid", "promptid", "questionid", "taskid"),
    "ranking": ("ranking", "rankings", "order", "ordering", "rankorder"),
    "item": ("item", "itemid", "itemname", "name", "candidate", "alternative", "option", "team", "player", "driver"),
    "place": ("place", "rank", "position", "pos", "placing", "finish", "standing"),
    "ranking_id": (
        *("ranking", "rankingid", "list", "listid", "ballot", "ballotid", "race", "raceid", "contest", "contestid"),
        *("order", "orderid"),
    ),
}


_ROW_WORDS = frozenset(
    ("id", "uid", "uuid", "guid", "time", "timestamp", "tstamp", "datetime", "date", "created", "submitted")
)
_ITEM_WORDS = frozenset(("winner", "loser", "item", "model", "team", "player", "video", "option", "candidate"))
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_HOME = frozenset(("home", "away", "host", "hosts", "visitor", "visitors", "guest", "guests"))
_PLACE = re.compile(r"(?:rank|place|pos|position|choice|preference|)(\d+)(?:st|nd|rd|th|)")


class Pair(NamedTuple):
    """Two columns that say the same of two sides: x_left and x_right have stem x and words left, right."""

    words: tuple[str, str]
    stem: str
    first: str
    second: str


def says_home(name: str) -> bool:
    """Return whether the name of a column says who plays at home, or who is the guest."""
    return not _HOME.isdisjoint(_split(name))


def _split(name: str) -> tuple[str, ...]:
    """Return the words of a column name: home_score, homeScore and HomeScore1 are cut where people would."""
    words: list[str] = []
    for word in re.findall(r"[^\W\d_]+|\d+", re.sub(r"([a-z])([A-Z])", r"\1 \2", name)):
        low = word.casefold()
        long = next((mark for mark in _LONG if low != mark and (low.startswith(mark) or low.endswith(mark))), None)
        if long is None:
            words.append(low)
        else:
            words.extend((long, low[len(long) :]) if low.startswith(long) else (low[: -len(long)], long))
    return tuple(words)


def pairs_of(columns: Sequence[str]) -> list[Pair]:
    """Return all pairs of columns whose names differ in the word for the side only."""
    by_words = {_split(column): column for column in reversed(columns) if column}
    pairs = []
    for words, column in reversed(by_words.items()):
        for one, other in (*DECIDED, *_SIDES):
            if words.count(one) == 1:
                partner = by_words.get(tuple(other if word == one else word for word in words))
                third = tuple(_THIRD.get(one, one) if word == one else word for word in words)
                if partner is not None and (one not in _THIRD or third not in by_words):
                    stem = "".join(word for word in words if word != one)
                    pairs.append(Pair((one, other), stem, column, partner))
    return pairs


def follows_outcome(pair: Pair) -> bool:
    """Return whether two columns say who won, or were made from what does, by the words of their name."""
    words = [word for word in _split(pair.first) if word not in pair.words]
    return any(word in _OUTCOME_WORDS for word in (*words, pair.stem)) or pair.stem.startswith(_OUTCOME_STARTS)


def row_columns(columns: Sequence[str]) -> list[str]:
    """Return the columns that number or date their rows: id, timestamp, or one without a name; not those of a side."""
    of_sides = {name for pair in pairs_of(columns) for name in (pair.first, pair.second)}
    found = []
    for name in columns:
        words = set(_split(name))
        unnamed = not normal(name) or normal(name) == "unnamed0"
        if unnamed or (words & _ROW_WORDS and not words & _ITEM_WORDS and name not in of_sides):
            found.append(name)
    return found


def names_rows(columns: Sequence[str]) -> list[str]:
    """Return the columns that name, number or date their rows, or say who a row is about, by their names."""
    words = ("item", "itemid", "itemname", "name", "id", "instance", "case", *_JUDGE_WORDS, *_JUDGED_BY)
    dated = row_columns(columns)
    return [name for name in columns if name in dated or normal(name) in words]


def counts_rows(columns: Sequence[str]) -> list[str]:
    """Return the columns that could say how often each row counts, by their names."""
    return [name for name in columns if normal(name) in _WORDS["weight"]]


def says_class(name: str) -> bool:
    """Return whether a column can only be the class of each row, by its name."""
    return normal(name) in ("class", "classes", "classlabel", "classname")


_RANKED = re.compile(r"(?i)(?:rank|pos|position|place)(?:[\s_.:-]+(?:of|for)?[\s_.:-]*)(\S.*)")
_RANK_OF = re.compile(r"(?i)(.*\S)[\s_.:-]+(?:rank|pos|position|place)")
_NUMBERED = re.compile(r"(?i)(?:l|label)[\s_.-]?(\d{1,4})")


def rank_columns(columns: Sequence[str]) -> dict[str, str]:
    """Return the columns named after what they rank, by that: rank_tea, or tea rank; else none."""
    for mark in (_RANKED, _RANK_OF):
        found = {match[1]: column for column in columns if (match := mark.fullmatch(column))}
        if len(found) > 1 and not all(name.isdigit() for name in found):
            return found
    return {}


def numbered_columns(columns: Sequence[str]) -> list[str]:
    """Return columns such as L1, L2, L3, which are places of labels or labels by place; else none."""
    found = {int(match[1]): column for column in columns if (match := _NUMBERED.fullmatch(column))}
    return (
        [found[k] for k in sorted(found)] if len(found) > 2 and sorted(found) == list(range(1, len(found) + 1)) else []
    )


def says_outcome(name: str) -> bool:
    """Return whether a column could say who won, or follow from it, by its name."""
    return any(normal(name) in _WORDS[role] for role in ("winner", "outcome", "weak_outcome", "ties")) or bool(
        _OUTCOME_WORDS & set(_split(name))
    )


def single(table: Table, role: str, used: Sequence[str]) -> str | None:
    """Return the column called by a word of the role; several raise with the candidates."""
    found = [column for column in table.columns if normal(column) in _WORDS[role] and column not in used]
    if role == "judge":
        found = _one_judge(table, found)
    if len(found) > 1:
        exact = [column for column in found if normal(column) == role]
        if len(exact) == 1:
            return exact[0]
        role = role.removeprefix("weak_")
        raise table.refuse(code="several-columns-of-role").says(
            f"{len(found)} columns could be the {role}: {first_few(found, 6)}",
            "Name one: " + Setting("columns", {role: found[0]}),
        )
    return found[0] if found else None


def _one_judge(table: Table, found: list[str]) -> list[str]:
    """Return the columns that say who compared, without those that say it again: user_id beside user, or a customer."""

    def says_what(column: str) -> bool:
        cells = {cell.casefold() for cell in table.cells(column).distinct}
        return normal(column) in _PERSONS and (cells <= _FLAGS or "" in cells)

    found = [column for column in found if not says_what(column)]
    words = {column: _JUDGE_WORDS.get(normal(column), (normal(column), 0)) for column in found}
    surely = [column for column in found if words[column][0] not in _PERSONS] or found
    by_word: dict[str, str] = {}
    for column in sorted(surely, key=lambda column: words[column][1]):
        by_word.setdefault(words[column][0], column)
    return list(by_word.values())


def place_columns(columns: Sequence[str]) -> list[str]:
    """Return the columns that are the places 1, 2, 3, ... (or 1st, rank1, pos1, first, ...), in order; else none."""
    by_place: dict[int, str] = {}
    for column in columns:
        name = normal(column)
        match = _PLACE.fullmatch(name)
        place = int(match[1]) if match and len(match[1]) < 7 else _ORDINALS.index(name) + 1 if name in _ORDINALS else 0
        if place:
            by_place.setdefault(place, column)
    n_places = next((place - 1 for place in range(1, len(by_place) + 2) if place not in by_place), 0)
    return [by_place[place] for place in range(1, n_places + 1)] if n_places >= 3 else []
