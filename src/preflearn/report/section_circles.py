"""Whether there is a ranking at all, with the figures behind the verdict, and which items are comparable."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.analysis.advice import LOOK_FOR_CIRCLES
from preflearn.messages import WORDS
from preflearn.report.context import Shown
from preflearn.report.markup import bullets, clean, escape, name, number, paragraph, percent, table
from preflearn.table_format import plural

MOST_CLUSTERED = 200  # items
MOST_CYCLES, LONGEST_CYCLE = 5, 12
LEAST_SURE = 0.1  # probability of beating everybody below which nobody is named
MOST_MEMBERS = 30  # items that are named for each cluster


# What a verdict means for somebody who wants to use the ranking.
MEANING = {
    "rankable": "You can use the places; their intervals say how sure each one is.",
    "partly cyclic": "Some items beat others against the order. Use the places as a rough guide, and ask for the two "
    "items that matter to you.",
    "cyclic": "As in rock, paper, scissors, which item is better depends on what it is compared with. Do not use the "
    "places; ask for the two items that matter to you.",
    "undecided": "There are too few repeats to tell an order from circles. Compare the same pairs again.",
    "only noise": "The answers look as if they had been given by chance. Do not use the places.",
}


def rankability(shown: Shown) -> str:
    """Return the verdict in plain words, and what to do about it."""
    found = shown.result.rankability
    if found is None:
        return paragraph(
            "Whether a single ranking explains these comparisons was not examined. "
            f"{escape(WORDS.words(LOOK_FOR_CIRCLES))}, even if it takes long."
        )
    meaning = "" if found.hint else MEANING[found.verdict]
    if found.found and found.ordered:
        meaning = "The places hold, but they do not show how likely a win is: ask for the two items."
    if found.n_parts > 1 and found.verdict == "rankable":
        meaning = "Items of different parts never met: compare places within a part only."
    return paragraph(f"<strong>{escape(found.sentence)}</strong>", meaning) + (_cycles(found) if found.found else "")


def rankability_figures(shown: Shown) -> str:
    """Return the figures behind the verdict."""
    found = shown.result.rankability
    if found is None:
        return ""
    circles, triples = found.triads
    hodge = found.hodge
    models = {"ranking": "without circles", "both": "with circles", "chance": "chance"}
    evidence = ", ".join(
        f"{models.get(key, clean(key))} {number(value, 1)}" for key, value in found.log_evidence.items()
    )
    chance = escape(found.chance.replace("%", "\N{NO-BREAK SPACE}%"))
    lines = [
        f"{found.odds[0].upper()}{found.odds[1:]}.",
        f"Of rankings like this one {chance} would look as cyclic by chance.",
        f"Of the learned preferences a ranking explains {percent(found.ranking_share)}, circles "
        f"{percent(found.cyclic_share)}.",
        f"Of the observed preferences a ranking explains {percent(hodge.gradient)}, circles of three items "
        f"{percent(hodge.curl)} and longer circles {percent(hodge.harmonic)}; noise makes circles, too.",
        f"{circles:,} of {plural(triples, 'triple')} of items that were compared with each other run in a circle."
        if triples
        else "No three items were all compared with each other.",
        f"Log evidence of the models that this verdict compares: {escape(evidence)}.",
    ]
    if found.found and found.along:
        what = "How strong preferences are depends on" if found.ordered else "The circles run along"
        lines.append(f"{what} {' and '.join(name(clean(one)) for one in found.along)}.")
    return bullets(lines) + _winners(shown) + ("" if found.found else _cycles(found))


def _cycles(found: Any) -> str:
    if not found.cycles:
        return ""
    rows = []
    for probability, items in found.cycles[:MOST_CYCLES]:
        around = [name(clean(item, 40)) for item in items[:LONGEST_CYCLE]]
        more = "" if len(items) <= LONGEST_CYCLE else f" … ({len(items) - LONGEST_CYCLE} more)"
        circle = " &gt; ".join([*around, *([more] if more else []), around[0]])
        rows.append([f'<span class="words">{circle}</span>', percent(probability)])
    return table("Strongest circles: each is preferred to the next", ["circle", "weakest preference"], rows)


def _winners(shown: Shown) -> str:
    found = shown.result.rankability
    if found is None or not found.condorcet or not found.found:
        return ""  # where there is a ranking, it says who is best
    who, probability = found.condorcet[0]
    if probability < LEAST_SURE:
        return paragraph("No item can be said to beat every other one.")
    sentence = f"{name(clean(who))} beats every other item with probability {percent(probability)}"
    inside = [name(clean(item, 40)) for item, chance in found.smith if chance >= 0.5][:MOST_MEMBERS]
    if len(inside) > 1:
        sentence += ". The smallest set that beats everybody outside it holds, each more probably than not: "
        sentence += ", ".join(inside)
    return paragraph(sentence + ".")


def clusters(shown: Shown) -> str:
    """Return groups of items that can be ranked within and not across, where preferences run in circles."""
    result = shown.result
    if result.rankability is None:
        return ""
    if result.rankability.n_parts > 1 and not result.rankability.found:
        labels = result.data.parts()[shown.rows]
        words = (
            "Items of different groups never met, not even through others: they can be ranked within their group only."
        )
        return paragraph(words) + _groups(shown, labels, None)
    if not result.rankability.found:
        return ""
    n = result.data.n_items
    if n > MOST_CLUSTERED:
        return paragraph(f"Not looked for: {n:,} items, and groups are looked for among at most {MOST_CLUSTERED}.")
    found = result.rankability.clusters(random_state=shown.random_state)
    labels = found.labels_[shown.rows]
    if len(np.unique(labels)) < 2:
        return paragraph(
            "Found no groups with a clear ranking inside and little between groups: circles run through all items."
        )
    words = (
        "Items of one group can be ranked among themselves, as far as the last column says; between groups preferences "
        "follow no common order."
    )
    return paragraph(words) + _groups(shown, labels, found)


def _groups(shown: Shown, labels: Any, found: Any) -> str:
    """Return a table of groups, the largest first; without clusters that were found, members are in their places."""
    groups = [np.flatnonzero(labels == label) for label in dict.fromkeys(labels.tolist())]
    rows = []
    for place, group in enumerate(sorted(groups, key=len, reverse=True), 1):
        members = group if found is None else group[np.argsort(found.ranks_[shown.rows[group]], kind="stable")]
        named = ", ".join(name(shown.names[i]) for i in members[:MOST_MEMBERS])
        more = f" and {len(members) - MOST_MEMBERS} more" if len(members) > MOST_MEMBERS else ""
        row = [f'<span class="k">group {place}</span>', f"{len(members)}", f'<span class="words">{named}{more}</span>']
        if found is not None:
            row.append(percent(found.explained_[labels[members[0]]]) if len(members) > 1 else "")
        rows.append(row)
    header = ["group", "items", "members", *(["a ranking explains"] if found is not None else [])]
    return table("Groups, each from best to worst", header, rows, left=(0, 2))
