"""What a statistician would add to a ranking: warnings about the data, the judges, circles and places."""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from preflearn.analysis.model_names import BESIDE, Terms
from preflearn.analysis.pairing import is_widened
from preflearn.data import Comparisons
from preflearn.exceptions import first_few
from preflearn.messages import PYTHON, Dialect, Message, Setting, Text
from preflearn.models.ranking import Ranking
from preflearn.structure import JudgeReport, Rankability
from preflearn.structure.circle_search import CLEAR, PRICE, chance
from preflearn.structure.graph import wins_in_order
from preflearn.structure.rankability import NOISE
from preflearn.table_format import short_number

if TYPE_CHECKING:
    from preflearn.analysis.analyse import Analysis
    from preflearn.analysis.ladder import Ladder
    from preflearn.analysis.prepared import Record

__all__ = [
    "FEW",
    "LOOK_FOR_CIRCLES",
    "Advice",
    "advise",
    "alike_names",
    "camps",
    "extremes",
    "few_comparisons",
    "in_order",
    "missing_values",
    "parts",
    "sides",
    "two_camps",
]

LOOK_FOR_CIRCLES = "Ask for it with " + Setting("circles", True)


@dataclass(frozen=True)
class Advice:
    """One warning.

    Attributes
    ----------
    kind : str
        In a word: "parts", "unfounded" (first places that rest on almost nothing), "undefeated", "winless", "few",
        "alike", "side", "pairing", "judges", "circles", "noise", "repeats", "outcomes", "names", "not examined".
    text : str
        What was seen, what it means and what to do.
    items : tuple
        Names of the items or judges it is about, if it is about some.
    cure : str, Setting or Phrase
        What else to do, where that needs a setting.
    """

    kind: str
    text: str
    items: tuple[Any, ...] = ()
    cure: Text = ""

    def __str__(self) -> str:
        return self.worded()

    def worded(self, dialect: Dialect = PYTHON) -> str:
        """Return the text, with settings as these readers write them."""
        return dialect.render(Message(self.text, (self.cure,) if self.cure else ()))


ALIKE = 0.75  # probability of the order of two neighbours below which they cannot be told apart
APART = 1.5  # variance of a judge's own preferences, in units of what all share, above which they have little in common
_MORE = "Collect more; if differences should be plain, check which column says who won."
MOST_GROUPED = 60  # items that are looked at for groups in passing
MISSED = 3.0  # nats that a term is expected to be worth from which it is missed
TOP = 10  # places that are looked at in a long ranking


def advise(analysis: Analysis, ranking: Ranking) -> list[Advice]:
    """Return what should be known before a ranking is trusted, the gravest first."""
    data, record, rankability, ladder = analysis.data, analysis.record, analysis.rankability, analysis.ladder
    judges = analysis.judges if analysis.tells_judges_apart else None
    names = np.arange(data.n_items) if data.names is None else data.names
    apart, sided = camps(ladder), sides(analysis.model, ladder.terms)
    circles = _circles(rankability) if rankability is not None else _noise(data, ladder)
    circles = [one for one in circles if not (apart and one.kind == "noise")]
    doubts = ""
    if rankability is not None and rankability.found and "circles" not in ladder.terms:
        doubts += " This model has no part for circles and takes them for noise: its intervals are too narrow."
    if any(one.term == "side" for one in ladder.left_out):
        doubts += " But who stands first mostly follows from the items: an advantage of one side may be all of it."
    if data.weight is not None and data.weight.max() > 1:
        doubts += (
            " A weight is taken for so many answers that agreed: if weights say something else, leave their column "
            "out, as they make circles of chance."
        )
    order = " But they contradict each other nowhere: ask about items that never met." if in_order(data) else ""
    further = {"circles": doubts, "noise": order}
    circles = [replace(one, text=one.text + further[one.kind]) for one in circles]
    return [
        *apart,
        *circles,
        *parts(data, names),
        *_matched(ladder),
        *_missing_terms(ladder),
        *_unfounded(data, record, ranking, names),
        *sided,
        *(one for one in _judges(judges) if not apart),
        *missing_values(names[data.used_items()]),
        *alike_names(names[data.used_items()]),
        *extremes(data, record, names),
        *few_comparisons(data, record, names),
        *_alike(ranking),
    ]


def _noise(data: Comparisons, ladder: Ladder) -> list[Advice]:
    """Return whether chance explains comparisons as well as any model, where circles were not looked for."""
    guessed = chance(data, normal=False) - PRICE * bool((data.outcome == 0).any())
    if max(one.penalised_evidence for one in ladder.steps) - guessed >= NOISE - PRICE:
        return []
    return [Advice("noise", f"These comparisons do not show that items differ: chance could have made them. {_MORE}")]


def _circles(rankability: Rankability) -> list[Advice]:
    if rankability.verdict == "rankable":
        if (
            rankability.p_value > CLEAR
            or rankability.shared  # tastes of judges explain it
            or rankability.models["ranking"].comparisons_.items is None
        ):
            return []
        text = (
            "What this ranking leaves unexplained runs in circles more than chance would make it (p = "
            f"{rankability.p_value:.1g}), though circles along the features, all or one or two of them, explain it no "
            "better: they may depend on something that the table of items does not have. Compare the same pairs again."
        )
        return [Advice("circles", text)]
    if rankability.hint:
        what = "items" if rankability.models["ranking"].comparisons_.items is None else "pairs"
        text = (
            "What a ranking leaves unexplained runs in circles more than chance would make it (p = "
            f"{rankability.p_value:.1g}), but there are too many {what} to learn circles in passing: not tried."
        )
        return [Advice("circles", text, cure=LOOK_FOR_CIRCLES)]
    cycle = groups = ""
    along = " and ".join(rankability.along)
    if rankability.found:
        sure, names = next(iter(rankability.cycles), (0.0, []))
        cycle = f" along {along}" if along else ""
        cycle += f", as in {' > '.join(map(str, [*names, names[0]]))}" if sure >= ALIKE else ""
        if rankability.models["ranking"].comparisons_.n_items <= MOST_GROUPED:
            found = rankability.clusters().n_clusters_
            groups = f" But {found} groups of items can be ranked within: inspect names them." if found > 1 else ""
    share = f"{rankability.ranking_share:.0%}"
    if rankability.found and rankability.ordered:
        text = (
            f"How strong preferences are{f' along {along}' if along else ''} is not explained by one utility for each "
            f"item (that explains {share} of what was learned), though one order agrees with all of them: places "
            f"stand, but ask for single pairs (predict) where probabilities matter.{groups}"
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


def _missing_terms(ladder: Ladder) -> list[Advice]:
    """Return which terms the comparisons ask for that a model, which was asked for, does not have."""
    missing = [one for one in ladder.no_sign if ladder.asked and one.gain is not None and one.gain > MISSED]
    if not missing:
        return []
    what = " and ".join(BESIDE[one.term] for one in sorted(missing, key=lambda one: -(one.gain or 0.0)))
    text = (
        f"The model that was asked for leaves out what the comparisons show: {what}. Places and intervals may be "
        "wrong. Let the evidence choose the model (auto), or add the term."
    )
    return [Advice("model", text)]


def _matched(ladder: Ladder) -> list[Advice]:
    """Return whether items met others of about their own strength, so that the prior had to be widened."""
    if not is_widened(ladder.model):
        return []
    return [
        Advice(
            "pairing",
            "Items mostly met others of about their own strength, so that all differences that were seen are small: a "
            "spread of utilities that is learned from these would draw all items together, and is not used. How far "
            "the first is from the last rests on sums along chains. Compare some that are far apart.",
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
        f"{ranking.rank[k]}, {names[rows[k]]} ({record.text(rows[k])}, anywhere from {ranking.rank_low[k]} to "
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


def camps(ladder: Ladder) -> list[Advice]:
    """Return whether judges differ more from each other than they agree, and fall into two camps."""
    model = ladder.model
    if "tastes" not in ladder.terms or model.judge_share_ < APART:
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


FEW = 3  # comparisons of an item below which its place is mostly the prior's
MANY = 10  # comparisons from which on it means something that none contradicts
MISSING = ("nan", "na", "n/a", "null", "none", "-", "?", "#n/a")


def in_order(data: Comparisons) -> bool:
    """Return whether many comparisons have no ties and no chain of wins that leads back to where it began."""
    return len(data) >= MANY and wins_in_order(data)


def parts(data: Comparisons, names: Any) -> list[Advice]:
    """Return whether the comparisons fall into parts that nothing joins."""
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
    """Return which items never lost, and which never won."""
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
    """Return which items were hardly compared."""
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


MOST_ASKED, OPPOSED = 200, 0.3  # judges whose tastes are compared; mean likeness within camps, less that across


def two_camps(model: Any) -> list[list[Any]]:
    """Return two camps of judges of opposite tastes, the larger first, if there are such, without those in between."""
    if not 2 < len(model.judges_) <= MOST_ASKED:
        return []
    taste = np.array([model.predict_utility(judge=name) for name in model.judges_])
    taste -= taste.mean(axis=1, keepdims=True)
    taste /= np.maximum(np.linalg.norm(taste, axis=1, keepdims=True), 1e-300)
    alike = taste @ taste.T
    side = np.where(np.linalg.eigh(alike)[1][:, -1] > 0, 1.0, -1.0)
    others = ~np.eye(len(side), dtype=bool)
    clear = np.mean(side * side[:, None] * alike, axis=1, where=others) >= OPPOSED
    one, other = clear & (side > 0), clear & (side < 0)
    if min(one.sum(), other.sum()) < 2 or alike[np.ix_(one, other)].mean() > -OPPOSED:
        return []
    return sorted((list(model.judges_[one]), list(model.judges_[other])), key=len, reverse=True)
