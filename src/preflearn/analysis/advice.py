"""What a statistician would add to a ranking: warnings about the data, the judges, circles and places.

A warning is a function of the `_Case` (the analysis with its ranking) that returns `Advice`, or none. It is listed in
``WARNINGS``, the gravest first, and takes its thresholds from `Limits`.
"""

from __future__ import annotations

import contextlib
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from preflearn.analysis.limits import LIMITS, Limits
from preflearn.analysis.model_names import BESIDE
from preflearn.analysis.pairing import is_widened
from preflearn.data import Comparisons
from preflearn.exceptions import first_few
from preflearn.messages import PYTHON, Dialect, Message, Setting, Text
from preflearn.models.ranking import Ranking
from preflearn.operators import IntArray
from preflearn.structure import Rankability
from preflearn.structure.circle_search import CLEAR, PRICE, chance
from preflearn.structure.graph import wins_in_order
from preflearn.structure.rankability import NOISE
from preflearn.table_format import p_value, plural

if TYPE_CHECKING:
    from preflearn.analysis.analyse import Analysis
    from preflearn.analysis.ladder import Ladder

LOOK_FOR_CIRCLES = "Ask for it with " + Setting("circles", True)
COLLECT_MORE = "Collect more comparisons; if you expect clear differences, check which column says who won."
MISSING = ("nan", "na", "n/a", "null", "none", "-", "?", "#n/a")


@dataclass(frozen=True)
class Advice:
    """One warning.

    Attributes
    ----------
    kind : str
        In a word: "parts", "unfounded" (first places that rest on almost nothing), "undefeated", "winless", "few",
        "alike", "side", "pairing", "model", "judges", "circles", "noise", "names"; of the way from the data to the
        model: "weights", "outcomes", "covariates", "rankings", "not examined", "approximated".
    text : str
        What was seen, what it means and what to do.
    items : tuple
        Names of the items or judges it is about, if it is about some.
    cure : str, Setting or Phrase
        What else to do, where that needs a setting.

    Examples
    --------
    >>> import preflearn
    >>> result = preflearn.rank([("ann", "bob"), ("ann", "cy"), ("bob", "cy")])
    >>> result.warnings[0].kind
    'noise'
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


@dataclass(frozen=True)
class _Case:
    """What warnings are about."""

    analysis: Analysis
    ranking: Ranking
    home: bool = False  # whether sides are home and away, and so nobody's choice

    @property
    def data(self) -> Comparisons:
        return self.analysis.data

    @property
    def ladder(self) -> Ladder:
        return self.analysis.ladder

    @property
    def limits(self) -> Limits:
        return self.analysis.limits

    @cached_property
    def names(self) -> Any:
        return np.arange(self.data.n_items) if self.data.names is None else self.data.names

    @cached_property
    def used(self) -> IntArray:
        return self.data.used_items()

    @cached_property
    def played(self) -> Any:
        return self.analysis.record.played

    @cached_property
    def camps(self) -> list[Advice]:
        return camps(self.ladder, self.limits)


def advise(analysis: Analysis, ranking: Ranking, *, home: bool = False) -> list[Advice]:
    """Return what should be known before a ranking is trusted, the gravest first.

    ``home`` says that sides are home and away, which nobody can choose.
    """
    case = _Case(analysis, ranking, home)
    return [one for warning in WARNINGS for one in warning(case)]


def camps(ladder: Ladder, limits: Limits = LIMITS) -> list[Advice]:
    """Return whether judges differ more from each other than they agree, and fall into two camps."""
    model = ladder.model
    if "reliability" in ladder.terms:
        return _opposed(model, limits)
    if "tastes" not in ladder.terms or model.judge_share_ < limits.tastes_apart:
        return []
    sides = _two_camps(model, limits)
    if not sides:
        return []
    each = " and ".join(f"{len(camp)} ({first_few(camp, 12)})" for camp in sides)
    text = (
        f"The judges fall into two camps of opposite tastes: {each}. One ranking for all judges says little about "
        "either camp. Rank each camp by itself."
    )
    if 4 * len(sides[1]) <= len(model.judges_):
        text += " Or did the smaller camp read the question the other way round?"
    neither = [name for name in model.judges_ if not any(name in camp for camp in sides)]
    if neither:
        text += f" {first_few(neither, 12)} {'belongs' if len(neither) == 1 else 'belong'} to neither."
    return [Advice("judges", text, tuple(sides[1]))]


def _opposed(model: Any, limits: Limits) -> list[Advice]:
    """Return whether contrary judges nearly balance careful ones, so that either may be right."""
    doubt = model.reverse_probability_
    if doubt < limits.reverse_doubt:
        return []
    likely = model.in_likely_direction()
    one, other = _sides_of(likely, limits)
    if not one or not other:
        return []
    items = model.comparisons_.used_items()
    order = items[np.argsort(-likely.predict_utility()[items], kind="stable")]
    names = order if model.comparisons_.names is None else model.comparisons_.names[order]
    n = len(model.judges_)
    half = "Half" if 2 * len(one) == n else f"{len(one)}"
    rest = (
        "of the other half"
        if 2 * len(one) == n == 2 * len(other)
        else f"of {len(other)} other{'' if len(other) == 1 else 's'}"
    )
    text = (
        f"{half} of the {n} judges ({first_few(one, 12)}) {'answers' if len(one) == 1 else 'answer'} the "
        f"opposite {rest} ({first_few(other, 12)}), and the comparisons cannot say who is right. There are two "
        f"rankings: one starts with {', '.join(map(str, names[:3]))} and ends with {names[-1]} (probability "
        f"{1 - doubt:.0%}), the other is about its reverse ({doubt:.0%}). The table counts both. Find out which judges "
        "read the question the other way round, and leave them out. If the judges have tastes of their own, rank each "
        "camp by itself."
    )
    return [Advice("judges", text, tuple(other))]


def _sides_of(model: Any, limits: Limits) -> tuple[list[Any], list[Any]]:
    """Return the judges who mostly answer as the model ranks, and those who mostly answer the opposite."""
    data, utility = model.comparisons_, model.predict_utility()
    with_it = np.sign(data.outcome * (utility[data.first] - utility[data.second]))
    weight = np.ones(len(data)) if data.weight is None else data.weight
    number = {name: place for place, name in enumerate(model.judges_)}
    judge = np.array([number.get(name, len(number)) for name in data.judge])  # the last are answers of nobody
    more, chance = (np.bincount(judge, weight * one, len(number) + 1)[:-1] for one in (with_it, with_it**2))
    one, other = (model.judges_[sign * more > limits.judge_sided * np.sqrt(chance)] for sign in (1, -1))
    return list(one), list(other)


def _two_camps(model: Any, limits: Limits) -> list[list[Any]]:
    """Return two camps of judges of opposite tastes, the larger first, if there are such, without those in between."""
    if not 2 < len(model.judges_) <= limits.judges_in_camps:
        return []
    taste = np.array([model.predict_utility(judge=name) for name in model.judges_])
    taste -= taste.mean(axis=1, keepdims=True)
    taste /= np.maximum(np.linalg.norm(taste, axis=1, keepdims=True), 1e-300)
    alike = taste @ taste.T
    side = np.where(np.linalg.eigh(alike)[1][:, -1] > 0, 1.0, -1.0)
    others = ~np.eye(len(side), dtype=bool)
    clear = np.mean(side * side[:, None] * alike, axis=1, where=others) >= limits.camps_opposed
    one, other = clear & (side > 0), clear & (side < 0)
    if min(one.sum(), other.sum()) < 2 or alike[np.ix_(one, other)].mean() > -limits.camps_opposed:
        return []
    return sorted((list(model.judges_[one]), list(model.judges_[other])), key=len, reverse=True)


def _circles_or_noise(case: _Case) -> list[Advice]:
    """Return whether there is a ranking at all, with what else may have made circles or hidden an order."""
    data, ladder, found = case.data, case.ladder, case.analysis.rankability
    advice = _noise(case) if found is None else _circles(found, case.limits)
    doubts = ""
    if found is not None and found.found and "circles" not in ladder.terms:
        doubts += " This model has no term for circles and treats them as noise, so its intervals are too narrow."
    if any(one.term == "side" for one in ladder.left_out):
        doubts += " But the items mostly decide which of them is first: an advantage of one side may explain all of it."
    weight = data.listed_weight
    if weight is not None and weight.max() > 1:
        doubts += (
            " A weight counts as that many equal answers. If weights mean something else, leave their column out: "
            "they can make chance look like circles."
        )
    in_order = data.n_listed >= case.limits.many_comparisons and wins_in_order(data)
    order = " But they never contradict each other: compare items that have not met yet." if in_order else ""
    further = {"circles": doubts, "noise": order}
    return [
        replace(one, text=one.text + further[one.kind]) for one in advice if not (case.camps and one.kind == "noise")
    ]


def _noise(case: _Case) -> list[Advice]:
    """Return whether chance explains comparisons as well as any model, where circles were not looked for."""
    guessed = chance(case.data, normal=False) - PRICE * bool((case.data.outcome == 0).any())
    if max(one.penalised_evidence for one in case.ladder.steps) - guessed >= NOISE - PRICE:
        return []
    text = "These comparisons do not show that items differ: chance could have made them."
    return [Advice("noise", f"{text} {COLLECT_MORE}")]


def _circles(found: Rankability, limits: Limits = LIMITS) -> list[Advice]:
    """Return what follows from the verdict, which says itself whether preferences run in circles."""
    data = found.models["ranking"].comparisons_
    more = f"more cyclic than chance would make them ({p_value(found.p_value)})"
    if found.verdict == "rankable":
        if found.p_value > CLEAR or found.shared or data.items is None:  # shared: tastes of judges explain it
            return []
        text = (
            f"The residuals of this ranking are {more}, but circles along the features (all of them, or one or two) "
            "do not explain them better. They may depend on something that the table of items does not have. Compare "
            "the same pairs again."
        )
        return [Advice("circles", text)]
    if found.hint:
        what = "items" if data.items is None else "pairs"
        text = f"The residuals of a ranking are {more}, but there are too many {what} to look for circles by default."
        return [Advice("circles", text, cure=LOOK_FOR_CIRCLES)]
    if found.verdict == "only noise":
        return [Advice("noise", f"Places mean nothing here: chance could have made them. {COLLECT_MORE}")]
    if found.verdict == "undecided":
        return [Advice("circles", "Repeat comparisons of the same pairs to find out whether there are circles.")]
    groups = ""
    along = f" along {' and '.join(found.along)}" if found.along else ""
    sure, names = next(iter(found.cycles), (0.0, []))
    cycle = f", as in {' > '.join(map(str, [*names, names[0]]))}" if sure >= limits.told_apart else ""
    if data.n_items <= limits.items_grouped:
        number = found.clusters().n_clusters_
        groups = (
            f" But within each of {number} groups, items can be ranked: inspect names the groups." if number > 1 else ""
        )
    share = f"{found.ranking_share:.0%} of the learned preferences"
    if found.ordered:
        text = (
            f"One utility for each item does not explain how strong preferences are{along}: it explains {share}. The "
            f"order of the items is still right, but predict single pairs where probabilities matter.{groups}"
        )
    elif found.verdict == "cyclic":
        text = (
            f"Preferences run in circles{along}{cycle}, so places mean little: the best ranking explains {share}. "
            f"Predict single pairs instead.{groups}"
        )
    else:
        text = (
            f"Some preferences run in circles{along}{cycle}: a ranking explains {share}. Predict single "
            f"pairs where it matters.{groups}"
        )
    return [Advice("circles", text)]


def _parts(case: _Case) -> list[Advice]:
    """Return whether the comparisons fall into parts that nothing joins."""
    used, names = case.used, case.names
    part = case.data.parts()[used]
    compared, sizes = np.unique(part, return_counts=True)
    if len(compared) < 2:
        return []
    order = np.argsort(-sizes, kind="stable")
    ends = [names[used[np.flatnonzero(part == compared[k])[0]]] for k in order[:2]]
    on = "on their features" if case.data.items is not None else "on the prior alone"
    text = (
        f"The comparisons fall into {len(compared)} parts that never met ({first_few(sizes[order].tolist())} items): "
        f"how items of different parts compare depends {on}. Compare some of them, such as {ends[0]} with "
        f"{ends[1]}."
    )
    return [Advice("parts", text, tuple(ends))]


def _matched(case: _Case) -> list[Advice]:
    """Return whether items met others of about their own strength, so that the prior had to be widened."""
    if not is_widened(case.analysis.model):
        return []
    text = (
        "Items were mostly compared with items of about equal strength, so all observed differences are small. A "
        "spread of utilities learned from these would pull all items together, so it is not used. The distance from "
        "the first to the last item is a sum of many small differences. Compare some items that are far apart."
    )
    return [Advice("pairing", text)]


def _missing_terms(case: _Case) -> list[Advice]:
    """Return which terms the comparisons need and the model, which was asked for, does not have."""
    least = case.limits.missed_term
    missing = [one for one in case.ladder.no_sign if case.ladder.asked and one.gain is not None and one.gain > least]
    if not missing:
        return []
    what = " and ".join(BESIDE[one.term] for one in sorted(missing, key=lambda one: -(one.gain or 0.0)))
    text = (
        f"The requested model leaves out something that the comparisons show: {what}. Places and intervals may be "
        "wrong. Let the evidence choose the model (auto), or add the term."
    )
    return [Advice("model", text)]


def _unfounded(case: _Case) -> list[Advice]:
    """Return which of the first places say nothing: of items hardly compared, or not with the others, among surer ones.

    Places are by mean utility, which is the best guess for each item; but a guess between the first and the last place
    is not a place.
    """
    ranking, names, played, limits = case.ranking, case.names, case.played, case.limits
    n = len(ranking)
    top = min(limits.top_places, n // 2)
    anywhere = (ranking.rank_high - ranking.rank_low + 1)[:top] > n / 2
    part = case.data.parts()
    most = np.bincount(part[case.used]).argmax()
    rows = ranking.row[:top]
    places = np.flatnonzero(anywhere & ((played[rows] < limits.few_comparisons) | (part[rows] != most)))
    if not len(places) or anywhere.sum() > top / 2:  # where most are unsure, other warnings say so of all
        return []
    sure = (names[row] for row in ranking.row if part[row] == most and played[row] >= limits.few_comparisons)
    known = next(sure, None)
    which = "; ".join(
        f"{ranking.rank[k]}, {names[rows[k]]} ({case.analysis.record.text(rows[k])}, anywhere from "
        f"{ranking.rank_low[k]} to {ranking.rank_high[k]})"
        for k in places[:4]
    )
    more = "; ..." if len(places) > 4 else ""
    rest = "rest" if len(places) > 1 else "rests"
    cure = "Compare such items more" if known is None else f"Compare {names[rows[places[0]]]} with {known}"
    text = (
        f"{len(places)} of the first {top} places {rest} on almost nothing: {which}{more}. {cure}, or read the other "
        "places without them."
    )
    return [Advice("unfounded", text, tuple(names[rows[k]] for k in places))]


def _side(case: _Case) -> list[Advice]:
    """Return the advantage of a side, where a model has learned one."""
    if "side" not in case.ladder.terms:
        return []
    effect = case.analysis.model.side_effect_
    side = "first" if effect.estimate > 0 else "second"
    low, high = sorted([abs(effect.low), abs(effect.high)])
    low = low if effect.low * effect.high > 0 else 0.0
    answers = case.analysis.model.likelihood_.probability(np.array([abs(effect.estimate), low, high]), np.zeros(3))
    odds, least, most = (_odds(won, lost) for won, _, lost in answers)
    named = {"first": "home", "second": "away"}[side] if case.home else side
    text = (
        f"The {named} side wins more often than the items explain: odds of {odds} to 1 between equal items "
        f"({least} to {most}). Places and probabilities are without that advantage."
    )
    if case.home or _sides_are_balanced(case.data, case.limits):
        return [Advice("side", text)]
    return [Advice("side", f"{text} Put the two sides in random order.")]


def _sides_are_balanced(data: Comparisons, limits: Limits) -> bool:
    """Return whether items are first about as often as second, as in a schedule or in random order."""
    first, second = (np.bincount(side, data.weight, data.n_items) for side in (data.first, data.second))
    return bool(np.abs(first - second).sum() <= limits.sides_balanced * (first + second).sum())


def _odds(won: float, lost: float) -> str:
    return "more than a million" if won > 1e6 * lost else f"{won / lost:.2f}"


def _judges(case: _Case) -> list[Advice]:
    judges = case.analysis.judges if case.analysis.tells_judges_apart and not case.camps else None
    if judges is None:
        return []
    found = []
    for verdict, how, cure in (
        ("contrary", "against the others", "Check whether they read the question the other way round."),
        ("like chance", "like chance", "Consider leaving them out."),
    ):
        names = tuple(name for name, one in zip(judges.judge, judges.verdict, strict=True) if one == verdict)
        if names:
            answer = "answers" if len(names) == 1 else "answer"
            text = f"{len(names)} of {len(judges)} judges {answer} {how}: {first_few(names)}. {cure}"
            found.append(Advice("judges", text, names))
    return found


def _names(case: _Case) -> list[Advice]:
    """Return which names stand for a missing value or for the same item."""
    names = case.names[case.used]
    found = [name for name in names if isinstance(name, str) and name.strip().lower() in MISSING]
    text = f"Items are called {first_few(found, 5)}: if that means a missing value, delete those rows."
    return [*([Advice("names", text, tuple(found))] if found else []), *alike_names(names)]


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
        f"{plural(len(groups), 'name is', 'names are')} written in several ways, which count as different items "
        f"({shown}{more}). If they are the same, write them the same way."
    )
    return [Advice("names", text, tuple(name for group in groups for name in group))]


def _plain_name(name: str) -> str:
    """Return a name without what people do not see as part of it; of numbers their value ("1", "01", "1.0")."""
    plain = " ".join(unicodedata.normalize("NFKC", name).split()).casefold().removeprefix("'")
    if plain.replace(".", "", 1).isdigit():
        with contextlib.suppress(ValueError):
            return repr(float(plain))
    return plain


def _extremes(case: _Case) -> list[Advice]:
    """Return which items never lost, and which never won."""
    record, found = case.analysis.record, []
    bound_by = "the prior limits" if case.data.items is None else "features and prior limit"
    for kind, never, times, bound in (
        ("undefeated", "never lost", record.losses + record.ties, "above"),
        ("winless", "never won", record.wins + record.ties, "below"),
    ):
        names = tuple(case.names[np.flatnonzero((case.played > 0) & (times == 0))])
        if names:
            they = "they are" if len(names) > 1 else "it is"
            text = (
                f"{plural(len(names), 'item')} {never} ({first_few(names, 5)}): only {bound_by} how far {they} {bound} "
                "the others."
            )
            found.append(Advice(kind, text, names))
    return found


def _few_comparisons(case: _Case) -> list[Advice]:
    """Return which items were hardly compared."""
    used, played, few = np.flatnonzero(case.played > 0), case.played, case.limits.few_comparisons
    rare = tuple(case.names[used[played[used] < few]])
    if not rare:
        return []
    each = plural(round(float(played[used].mean()), 1), "time")
    were, places = ("was", "its place is") if len(rare) == 1 else ("were", "their places are")
    text = (
        f"{len(rare)} of {plural(len(used), 'item')} {were} compared fewer than {few} times ({first_few(rare, 5)}; on "
        f"average {each}): {places} little more than a guess. Compare again."
    )
    return [Advice("few", text, rare)]


def _alike(case: _Case) -> list[Advice]:
    """Return which neighbours of a ranking cannot be told apart."""
    ranking, limits = case.ranking, case.limits
    n = len(ranking)
    # further down, neighbours of long rankings are always close
    top = n if n <= 2 * limits.top_places else limits.top_places + 1
    close = np.flatnonzero(ranking.p_next[: top - 1] < limits.told_apart)
    if not len(close):
        return []
    sure = f"{limits.told_apart:.0%}"
    where = "in this ranking" if top == n else f"among the first {limits.top_places} places"
    if len(close) == top - 1 and n > 2:
        text = f"No two neighbours {where} can be told apart (the order of each is less than {sure} sure)."
    else:
        runs = np.split(close, np.flatnonzero(np.diff(close) > 1) + 1)  # of consecutive places
        shown = "; ".join(f"places {a[0] + 1} {'to' if len(a) > 1 else 'and'} {a[-1] + 2}" for a in runs[:4])
        more = "; ..." if len(runs) > 4 else ""
        text = (
            f"{len(close)} of {plural(top - 1, 'pair')} of neighbours {where} cannot be told apart (their order is "
            f"less than {sure} sure): {shown}{more}."
        )
    return [Advice("alike", f"{text} Look at the intervals of places.")]


WARNINGS: tuple[Callable[[_Case], Iterable[Advice]], ...] = (
    lambda case: case.camps,
    _circles_or_noise,
    _parts,
    _matched,
    _missing_terms,
    _unfounded,
    _side,
    _judges,
    _names,
    _extremes,
    _few_comparisons,
    _alike,
)
