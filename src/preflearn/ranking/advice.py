"""What a statistician would add to a ranking: warnings about the data it rests on."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from preflearn.data import Comparisons
from preflearn.exceptions import DataError, first_few
from preflearn.models import BradleyTerry, SideEffect
from preflearn.models.ranking import Ranking
from preflearn.ranking._camps import two_camps
from preflearn.ranking.candidates import AROUND, JUDGED, as_seen
from preflearn.ranking.choice import Choice
from preflearn.ranking.record import Record, short_number
from preflearn.structure import JudgeReport, Rankability
from preflearn.structure._rivals import CLEAR, PRICE
from preflearn.structure.rankability import NOISE
from preflearn.structure.residuals import chance

__all__ = ["Advice", "advise", "camps"]

FEW = 3  # comparisons of an item below which its place is mostly the prior's
MANY = 10  # comparisons from which on it means something that none contradicts
ALIKE = 0.75  # probability of the order of two neighbours below which they cannot be told apart
NO_CHANCE = 0.01  # p-value from which on an advantage of one side is spoken of
APART = 1.5  # variance of a judge's own preferences, in units of what all share, above which they have little in common
_MORE = "Collect more; if differences should be plain, check which column says who won."
MOST_GROUPED = 60  # items that are looked at for groups in passing
MISSING = ("nan", "na", "n/a", "null", "none", "-", "?", "#n/a")
TOP = 10  # places that are looked at in a long ranking
WIDE = 100.0  # variance of a prior that decides nothing but that there is a maximum
DENSE = 3_000  # items up to which maximum likelihood is quick
LOPSIDED = 0.02  # share of outcomes on one side below which sides were sorted by outcome


@dataclass(frozen=True)
class Advice:
    """One warning.

    Attributes
    ----------
    kind : str
        In a word: "parts", "unfounded" (first places that rest on almost nothing), "undefeated", "winless", "few",
        "alike", "side", "judges", "circles", "noise", "repeats", "outcomes", "names", "not examined".
    text : str
        What was seen, what it means and what to do.
    items : tuple
        Names of the items or judges it is about, if it is about some.
    """

    kind: str
    text: str
    items: tuple[Any, ...] = ()

    def __str__(self) -> str:
        return self.text


def advise(
    data: Comparisons,
    record: Record,
    ranking: Ranking,
    rankability: Rankability | None,
    judges: JudgeReport | None,
    choice: Choice,
) -> list[Advice]:
    """Return what should be known before a ranking is trusted, the gravest first."""
    names = np.arange(data.n_items) if data.names is None else data.names
    apart, sides = camps(choice, judges), _sides(data)
    circles = _circles(rankability) if rankability is not None else _noise(data, choice)
    circles = [one for one in circles if not (apart and one.kind == "noise")]
    doubts = ""
    if rankability is not None and rankability.found and choice.name not in (*AROUND, *JUDGED):
        doubts += " This model has no part for circles and takes them for noise: its intervals are too narrow."
    if sides and _same_order(data):
        doubts += " But most pairs always stood in the same order: the advantage of one side (below) may be all of it."
    if data.weight is not None and data.weight.max() > 1:
        doubts += (
            " A weight is taken for so many answers that agreed: if weights say something else, leave their column "
            "out, as they make circles of chance."
        )
    order = " But they contradict each other nowhere: ask about items that never met." if _in_order(data) else ""
    further = {"circles": doubts, "noise": order}
    circles = [replace(one, text=one.text + further[one.kind]) for one in circles]
    return [
        *apart,
        *circles,
        *_parts(data, names),
        *_unfounded(data, record, ranking, names),
        *sides,
        *(one for one in _judges(judges) if not apart),
        *_missing(names[data.used_items()]),
        *_alike_names(names[data.used_items()]),
        *_extremes(data, record, names),
        *_few(data, record, names),
        *_alike(ranking),
    ]


def _in_order(data: Comparisons) -> bool:
    """Return whether many comparisons have no ties and no chain of wins that leads back to where it began."""
    if len(data) < MANY or not data.outcome.all():
        return False
    won = data.outcome > 0
    winner, loser = np.where(won, data.first, data.second), np.where(won, data.second, data.first)
    beats = sp.csr_array((np.ones(len(data)), (winner, loser)), shape=(data.n_items, data.n_items))
    return int(connected_components(beats, directed=True, connection="strong")[0]) == data.n_items


def _noise(data: Comparisons, choice: Choice) -> list[Advice]:
    """Return whether chance explains comparisons as well as any model, where circles were not looked for."""
    guessed = chance(data, None) - PRICE * bool((data.outcome == 0).any())
    if max(one.earned for one in choice.candidates) - guessed >= NOISE - PRICE:
        return []
    return [Advice("noise", f"These comparisons do not show that items differ: chance could have made them. {_MORE}")]


def _circles(rankability: Rankability) -> list[Advice]:
    if rankability.verdict == "rankable":
        if rankability.p_value > CLEAR or rankability.models["ranking"].comparisons_.items is None:
            return []
        text = (
            "What this ranking leaves unexplained runs in circles more than chance would make it (p = "
            f"{rankability.p_value:.1g}), though circles of all features together explain it no better: they may run "
            "along a few of the features. Give a table of items with these alone to find out."
        )
        return [Advice("circles", text)]
    if rankability.hint:
        text = (
            "What a ranking leaves unexplained runs in circles more than chance would make it (p = "
            f"{rankability.p_value:.1g}), but there are too many pairs to learn circles in passing: preflearn rank "
            "--circles (in Python circles=True) or preflearn inspect does it."
        )
        return [Advice("circles", text)]
    cycle = groups = ""
    if rankability.found:
        sure, names = next(iter(rankability.cycles), (0.0, []))
        cycle = f" along {' and '.join(rankability.along)}" if rankability.along else ""
        cycle += f", as in {' > '.join(map(str, [*names, names[0]]))}" if sure >= ALIKE else ""
        if rankability.models["ranking"].comparisons_.n_items <= MOST_GROUPED:
            found = rankability.clusters().n_clusters_
            groups = f" But {found} groups of items can be ranked within: inspect names them." if found > 1 else ""
    share = f"{rankability.ranking_share:.0%}"
    if rankability.found and rankability.ordered:
        text = (
            "How strong preferences are is not explained by one utility for each item (that explains "
            f"{share} of what was learned), though one order agrees with all of them: places stand, but ask for single "
            f"pairs (predict) where probabilities matter.{groups}"
        )
        return [Advice("circles", text)]
    told = {
        "cyclic": f"Preferences run in circles{cycle}: the best ranking explains {share} of what was learned. Ask for "
        f"single pairs (predict) instead of places.{groups}",
        "partly cyclic": f"Some preferences run in circles{cycle}: a ranking explains {share} of what was learned. "
        f"Ask for single pairs (predict) where it matters.{groups}",
        "undecided": "The comparisons do not decide between a ranking and preferences that run in circles. Repeat "
        "comparisons of the same pairs to find out.",
        "only noise": f"{rankability.told} {_MORE}",
    }[rankability.verdict]
    return [Advice("noise" if rankability.verdict == "only noise" else "circles", told)]


def _parts(data: Comparisons, names: Any) -> list[Advice]:
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


def _unfounded(data: Comparisons, record: Record, ranking: Ranking, names: Any) -> list[Advice]:
    """Return which of the first places say nothing: of items hardly compared, or not with the others, among surer ones.

    Places are by mean utility, which is the best guess for each item; but a guess between the first and the last place
    is not a place.
    """
    n = len(ranking)
    top = min(TOP, n // 2)
    anywhere = (ranking.rank_high - ranking.rank_low + 1)[:top] > n / 2
    part = data.parts()
    most = np.bincount(part[data.used_items()]).argmax()
    rows = ranking.row[:top]
    places = np.flatnonzero(anywhere & ((record.played[rows] < FEW) | (part[rows] != most)))
    if not len(places) or anywhere.sum() > top / 2:  # where most are unsure, other warnings say so of all
        return []
    known = next((names[row] for row in ranking.row if part[row] == most and record.played[row] >= FEW), None)
    more = "; ..." if len(places) > 4 else ""
    told = "; ".join(
        f"{ranking.rank[k]}, {names[rows[k]]} ({record.told(rows[k])}, anywhere from {ranking.rank_low[k]} to "
        f"{ranking.rank_high[k]})"
        for k in places[:4]
    )
    rest = "rest" if len(places) > 1 else "rests"
    cure = "" if known is None else f" Compare {names[rows[places[0]]]} with {known}, or"
    return [
        Advice(
            "unfounded",
            f"{len(places)} of the first {top} places {rest} on almost nothing: {told}{more}."
            f"{cure or ' Compare such items more, or'} read the others' places without them.",
            tuple(names[rows[k]] for k in places),
        )
    ]


def _sides(data: Comparisons) -> list[Advice]:
    """Return whether the first side won more often than the items explain."""
    decided = data.outcome != 0
    share = float(np.mean(data.outcome[decided] > 0)) if decided.any() else 1.0
    if not LOPSIDED < share < 1 - LOPSIDED:  # sides were written down by who won
        return []
    effect = _side_effect(as_seen(data, "bradley-terry"), ties=bool((~decided).any()))
    if effect is None or effect.p_value > NO_CHANCE:
        return []
    side = "first" if effect.estimate > 0 else "second"
    odds = float(np.exp(abs(effect.estimate)))
    return [
        Advice(
            "side",
            f"The {side} of the two sides wins more often than the items explain (odds of {odds:.2f} to 1 between "
            f"equal items, p = {effect.p_value:.1g}): an advantage of playing at home or of being shown there. Where "
            "that can be chosen, put the sides in random order.",
        )
    ]


def _same_order(data: Comparisons) -> bool:
    """Return whether most pairs that met more than once always had the same item on the first side."""
    low, high = np.minimum(data.first, data.second), np.maximum(data.first, data.second)
    _, pair, met = np.unique(low.astype(np.int64) * data.n_items + high, return_inverse=True, return_counts=True)
    ahead = np.bincount(pair, data.first == low)
    both = (ahead > 0) & (ahead < met)
    return float(both[met > 1].mean() if (met > 1).any() else 0.0) < 0.5


def _side_effect(data: Comparisons, *, ties: bool) -> SideEffect | None:
    """Return the advantage of the first side, or None where the comparisons do not tell it from the utilities.

    A prior draws utilities towards zero and leaves part of what favourites win to the side where they stand, so there
    is none where the likelihood has a maximum, and a wide one elsewhere.
    """
    try:
        try:
            model = BradleyTerry("logit", None if data.n_items <= DENSE else WIDE, ties=ties).fit(data)
        except DataError:
            model = BradleyTerry("logit", WIDE, ties=ties).fit(data)
        return model.side_effect()
    except (DataError, np.linalg.LinAlgError):
        return None


def camps(choice: Choice, judges: JudgeReport | None) -> list[Advice]:
    """Return whether judges differ more from each other than they agree, and fall into two camps."""
    model = choice.judged
    if model is None or judges is None or model.judge_share_ < APART:
        return []
    sides = two_camps(model)
    if not sides:
        return []
    told = " and ".join(f"{len(camp)} ({first_few(camp, 12)})" for camp in sides)
    text = (
        f"The judges fall into two camps of opposite tastes, of {told}, and a ranking for all of them says little of "
        "either. Rank each camp by itself."
    )
    if 4 * len(sides[1]) <= len(model.judges_):
        text += " Or did the smaller one read the question the other way round?"
    neither = [name for name in model.judges_ if not any(name in camp for camp in sides)]
    if neither:
        text += f" {first_few(neither, 12)} {'belongs' if len(neither) == 1 else 'belong'} to neither."
    return [Advice("judges", text, tuple(sides[1]))]


def _missing(names: Any) -> list[Advice]:
    """Return whether items have names that often stand for a missing value."""
    found = [name for name in names if isinstance(name, str) and name.strip().lower() in MISSING]
    if not found:
        return []
    text = f"Items are called {first_few(found, 5)}: if that means a missing value, delete those rows."
    return [Advice("names", text, tuple(found))]


def _alike_names(names: Any) -> list[Advice]:
    """Return whether names differ in nothing but capitals, blanks, the form of accents or the quote of a formula."""
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
    """Return a name without what people do not see as part of it."""
    return " ".join(unicodedata.normalize("NFKC", name).split()).casefold().removeprefix("'")


def _judges(judges: JudgeReport | None) -> list[Advice]:
    if judges is None:
        return []
    told = {
        "contrary": ("against the others", "Check whether they read the question the other way round."),
        "like chance": ("like chance", "Consider leaving them out."),
    }
    found = []
    for verdict, (how, cure) in told.items():
        names = tuple(name for name, said in zip(judges.judge, judges.verdict, strict=True) if said == verdict)
        if names:
            answer = "answers" if len(names) == 1 else "answer"
            text = f"{len(names)} of {len(judges)} judges {answer} {how}: {first_few(names)}. {cure}"
            found.append(Advice("judges", text, names))
    return found


def _extremes(data: Comparisons, record: Record, names: Any) -> list[Advice]:
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


def _few(data: Comparisons, record: Record, names: Any) -> list[Advice]:
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


def _alike(ranking: Ranking) -> list[Advice]:
    n = len(ranking)
    top = n if n <= 2 * TOP else TOP + 1  # further down, neighbours of long rankings are always close
    close = np.flatnonzero(ranking.p_next[: top - 1] < ALIKE)
    if not len(close):
        return []
    where = "in this ranking" if top == n else f"among the first {TOP} places"
    if len(close) == top - 1 and n > 2:
        text = f"No two neighbours {where} can be told apart (the order of each is less than {ALIKE:.0%} sure)."
    else:
        runs = list(_runs(close.tolist()))
        shown = "; ".join(f"places {a + 1} {'to' if b > a else 'and'} {b + 2}" for a, b in runs[:4])
        more = "; ..." if len(runs) > 4 else ""
        text = (
            f"{len(close)} of {top - 1} neighbours {where} cannot be told apart (their order is less than "
            f"{ALIKE:.0%} sure): {shown}{more}."
        )
    return [Advice("alike", f"{text} Read the intervals of places.")]


def _runs(numbers: list[int]) -> Iterable[tuple[int, int]]:
    """Return the runs of consecutive numbers as (first, last)."""
    start = previous = numbers[0]
    for number in numbers[1:]:
        if number != previous + 1:
            yield start, previous
            start = number
        previous = number
    yield start, previous
