"""Which judges to trust, and which comparisons to ask for next."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from preflearn.analysis import suggestions
from preflearn.exceptions import quiet
from preflearn.report.context import Shown
from preflearn.report.markup import clean, escape, name, number, paragraph, percent, table
from preflearn.table_format import plural

MOST_JUDGES = 60  # rows
WANTED = 10  # comparisons
MOST_SUGGESTED = 5_000  # items
LEAST_GAIN = 0.0005  # nats that are printed as 0.001


def judges(shown: Shown) -> str:
    """Return the report on judges."""
    found, data = shown.result.judges, shown.result.data
    if found is None:
        named = 0 if data.judge is None else len(set(data.judge.tolist()) - {""})
        if named < 2:
            return ""
        return paragraph(f"{plural(named, 'judge')} are named, but no model that tells them apart was learned.")
    verdicts = [str(one) for one in found.verdict]
    counts = ", ".join(f"{verdicts.count(one)} {escape(one)}" for one in dict.fromkeys(verdicts))
    rows = [
        [
            name(clean(found.judge[i])),
            f"{found.n_comparisons[i]:,}",
            f'<span class="k">{escape(verdicts[i])}</span>',
            f"{number(found.reliability[i])} ± {number(found.std[i])}",
            f"{number(found.consistency[i])} ± {number(found.consistency_std[i])}",
            percent(found.agreement[i]),
            percent(found.expected[i]),
            f"{found.contradictions[i]:,}",
        ]
        for i in range(min(len(found), MOST_JUDGES))
    ]
    header = ["judge", "answers", "verdict", "reliability", "consistency", "agrees", "expected", "decided both ways"]
    more = f" (the first {MOST_JUDGES} of {len(found):,})" if len(found) > MOST_JUDGES else ""
    words = paragraph(
        f"{plural(len(found), 'judge')}: {counts}. <em>Agrees</em> is the share of a judge's answers that are as "
        "the other judges predict, and <em>expected</em> is that share for a typical judge. <em>Reliability</em> sums "
        "this up: 1 is a typical judge, 0 answers by chance, below 0 answers against the others. <em>Consistency</em> "
        "is the same, predicted from the judge's own other answers too: a judge of high consistency and low "
        "reliability has a taste of its own."
    )
    return words + table(f"Judges, the least reliable first{more}", header, rows, left=(0, 2))


def next_comparisons(shown: Shown) -> str:
    """Return the comparisons that are expected to tell most."""
    n = len(shown.names)
    if n < 2:
        return ""
    return _suggested(shown) or _neighbours(shown) or paragraph("No comparison would tell more than another.")


def _suggested(shown: Shown) -> str | None:
    result = shown.result
    if len(shown.names) > MOST_SUGGESTED:
        return None
    with quiet(Warning):
        todo = suggestions.next_comparisons(result.model, WANTED, random_state=shown.random_state)
    pairs = [
        (clean(a), clean(b), float(gain))
        for a, b, gain in zip(todo.first_name, todo.second_name, todo.gain, strict=True)
        if gain >= LEAST_GAIN
    ]
    if not pairs:
        return paragraph("No further comparison of these items is expected to change much.")
    what = "preferences" if todo.criterion == "preferences" else "utilities"
    words = f"Each comparison is the one that should teach us most about the {what} once those above it are answered."
    return _listed(words, pairs, "information (nats)", 3)


def _neighbours(shown: Shown) -> str | None:
    """Choose neighbours in the ranking whose order is least sure."""
    sure = np.asarray(shown.result.ranking.p_next[:-1])
    best = np.argsort(np.abs(sure - 0.5), kind="stable")[:WANTED]
    words = "Neighbours in the ranking whose order is least sure; what an outcome would tell was not computed here."
    pairs = [(shown.names[k], shown.names[k + 1], float(sure[k])) for k in best]
    return _listed(words, pairs, "P(the first is better)", 2) if pairs else None


def _listed(words: str, pairs: Iterable[tuple[str, str, float]], title: str, digits: int) -> str:
    rows = [[f"{k}", name(a), name(b), number(value, digits)] for k, (a, b, value) in enumerate(pairs, 1)]
    return paragraph(escape(words)) + table("What to compare next", ["", "compare", "with", title], rows, left=(1, 2))
