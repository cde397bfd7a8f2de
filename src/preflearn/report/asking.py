"""Whom to believe and what to ask: how far judges can be relied upon, and which comparisons would tell most."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from preflearn.active import suggest
from preflearn.operators import FloatArray
from preflearn.report.context import Shown
from preflearn.report.markup import clean, escape, name, number, paragraph, percent, plural, table

__all__ = ["judges", "next_comparisons"]

MOST_JUDGES = 60  # rows
WANTED = 10  # comparisons
MOST_SUGGESTED = 5_000  # items
MOST_PAIRED = 300  # items all of whose pairs are looked at for models that `suggest` does not know
_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(31)


def judges(shown: Shown) -> str:
    """Return the report on judges."""
    found, data = shown.result.judges, shown.result.data
    if found is None:
        named = 0 if data.judge is None else len(set(data.judge.tolist()) - {""})
        if named < 2:
            return paragraph("The data do not say who judged, or there is only one judge.")
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
        f"{plural(len(found), 'judge')}: {counts}. A reliability of 1 means that answers follow from those of the "
        "others as much as is usual here, 0 not at all, and below 0 the contrary; consistency is the same, with the "
        "judge's own other answers known."
    )
    return words + table(f"Judges, the least reliable first{more}", header, rows, left=(0, 2))


def next_comparisons(shown: Shown) -> str:
    """Return the comparisons that are expected to tell most."""
    n = len(shown.names)
    if n < 2:
        return paragraph("There is only one item, so there is nothing to compare.")
    for way in (_suggested, _informative, _neighbours):
        found = way(shown)
        if found is not None:
            return found
    return paragraph("No comparison would tell more than another.")


def _suggested(shown: Shown) -> str | None:
    if len(shown.names) > MOST_SUGGESTED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            todo = suggest(shown.result.model, shown.labels(slice(None)), WANTED, random_state=shown.random_state)
    except (TypeError, ValueError, AttributeError):  # models that it does not know
        return None
    if not len(todo):
        return None
    pairs = zip(todo.first_name, todo.second_name, todo.gain, strict=True)
    words = "Each is the one expected to tell most about the utilities, given that those above it will be answered."
    return _listed(words, [(clean(a), clean(b), gain) for a, b, gain in pairs], "information (nats)", 3)


def _informative(shown: Shown) -> str | None:
    """Choose pairs by what an outcome would tell about the preference between the two."""
    model = shown.result.model
    if not (hasattr(model, "preference_matrix") and hasattr(model, "likelihood_")):
        return None
    places = np.arange(min(len(shown.names), MOST_PAIRED))
    found = model.preference_matrix(shown.labels(places))
    low, high = np.triu_indices(len(places), 1)
    gain = pair_information(model.likelihood_, found.mean[low, high], found.std[low, high])
    best = np.argsort(-gain, kind="stable")[:WANTED]
    which = f"Of the first {MOST_PAIRED} items, the" if len(shown.names) > MOST_PAIRED else "The"
    words = (
        f"{which} pairs whose outcome is expected to tell most about the preference between the two; what it would "
        "tell about other pairs is not counted for this kind of model."
    )
    pairs = [(shown.names[low[k]], shown.names[high[k]], float(gain[k])) for k in best]
    return _listed(words, pairs, "information (nats)", 3)


def pair_information(likelihood: Any, mean: FloatArray, std: FloatArray) -> FloatArray:
    """Return H(E p(y|z)) - E H(p(y|z)) for z ~ N(mean, std²), in nats, by quadrature.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn.likelihoods import Logit
    >>> pair_information(Logit(), np.array([0.0, 0.0]), np.array([0.0, 1.0])).round(3).tolist()
    [0.0, 0.094]
    """
    z = mean[:, None] + std[:, None] * _NODES
    p = np.asarray(likelihood.probability(z.ravel(), np.zeros(z.size))).reshape(*z.shape, 3)
    weight = _WEIGHTS / _WEIGHTS.sum()
    gain = _entropy(np.einsum("ijk,j->ik", p, weight)) - _entropy(p) @ weight
    return np.asarray(np.maximum(gain, 0.0))  # rounding


def _entropy(p: FloatArray) -> FloatArray:
    return np.asarray(-np.sum(p * np.log(np.maximum(p, 1e-300)), axis=-1))


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
