"""What the page rests on: the data and how they were read, the models that were tried, and what the words mean."""

from __future__ import annotations

import platform
import re
from typing import Any

import numpy as np

from preflearn._version import __version__
from preflearn.analysis.suggestions import runs_in_circles
from preflearn.data.pair_table import contradictions, exact_repeats
from preflearn.plots.fitted import parameter_names
from preflearn.report.context import Shown
from preflearn.report.markup import bullets, clean, escape, figures, number, paragraph, share, table
from preflearn.table_format import plural

_FOLDERS = re.compile(r"^(?:[A-Za-z]:)?[^:]*[/\\\\](?=[^/\\\\]+: )")  # of the file that a note is about


def data_facts(shown: Shown) -> str:
    """Return how the data were read, and what is in them."""
    data, result = shown.result.data, shown.result
    n_pairs = len(data.pairs)
    used = data.used_items()
    parts = np.sort(np.unique(data.parts()[used], return_counts=True)[1])[::-1]
    outcomes = [int(np.count_nonzero(np.sign(data.outcome) == sign)) for sign in (1, 0, -1)]
    each = 2 * len(data) / max(len(used), 1)
    facts = [
        ("items", f"{data.n_items:,} ({len(used):,} compared, {each:.1f} times each on average)"),
        ("comparisons", f"{len(data):,}"),
        ("different pairs", f"{n_pairs:,}"),
        ("outcomes", f"first side {outcomes[0]:,}, ties {outcomes[1]:,}, second side {outcomes[2]:,}"),
        ("exact repeats", f"{exact_repeats(data):,}"),
        ("decided both ways", f"{contradictions(data):,} of {plural(n_pairs, 'pair')}"),
    ]
    if len(parts) > 1:
        facts.append(("parts that never met", f"{len(parts):,} (of {_sizes(parts)} items)"))
    if data.n_features:
        facts.append(("features", f"{data.n_features:,}"))
    for word, labels in (("judges", data.judge), ("groups", data.group), ("clusters", data.cluster)):
        if labels is not None:
            facts.append((word, f"{len(set(labels.tolist()) - {''}):,}"))
    if data.covariates is not None:
        facts.append(("covariates", f"{data.covariates.shape[1]:,}"))
    if data.weight is not None:
        facts.append(("weights", f"{float(data.weight.sum()):,.6g} in total"))
    notes = bullets(escape(clean(_FOLDERS.sub("", line), 600)) for line in result.notes) if result.notes else ""
    heading = "<h3>How the data were read</h3>" if notes else ""
    return figures((term, escape(value)) for term, value in facts) + heading + notes


def _sizes(parts: Any) -> str:
    shown = ", ".join(f"{size:,}" for size in parts[:5])
    return shown + (", …" if len(parts) > 5 else "")


def model_facts(shown: Shown) -> str:
    """Return which models were tried and why one was taken, its hyperparameters, and versions."""
    ladder = shown.result.ladder
    why = clean(ladder.why, 600)
    words = paragraph(
        f"{escape(why[:1].upper() + why[1:])}.",
        "The evidence of a model is the log probability that it gave to the outcomes before it saw them; each learned "
        "parameter has to be worth 1.5.",
    )
    rows = [
        [
            f'<span class="words">{escape(one.terms.words)}{" (chosen)" if one is ladder.chosen else ""}</span>',
            number(one.log_evidence, 1),
            number(one.price, 1),
            number(one.penalised_evidence, 1),
        ]
        for one in ladder.ordered
    ]
    tried = table("Models that were tried", ["model", "log evidence", "price", "evidence less price"], rows)
    none = "".join(paragraph(f"Not fitted: {escape(clean(str(one), 300))}.") for one in ladder.no_sign)
    left_out = "".join(paragraph(f"Not tried: {escape(clean(str(one), 300))}.") for one in ladder.left_out)
    return words + tried + none + left_out + _hyperparameters(ladder.model) + _versions()


def _hyperparameters(model: Any) -> str:
    theta = getattr(model, "theta_", None)
    if theta is None or not len(theta):
        return ""
    try:
        names = parameter_names(model)
    except AttributeError:
        names = [f"parameter {k + 1}" for k in range(len(theta))]
    rows = [[escape(clean(key)), f"{np.exp(value):.4g}"] for key, value in zip(names, theta, strict=True)]
    return table("Learned hyperparameters", ["hyperparameter", "value"], rows[:60])


def _versions() -> str:
    import numpy
    import scipy
    import sklearn

    used = {"preflearn": __version__, "NumPy": numpy.__version__, "SciPy": scipy.__version__}
    used |= {"scikit-learn": sklearn.__version__, "Python": platform.python_version()}
    return paragraph(f"Made with {escape(', '.join(f'{key} {value}' for key, value in used.items()))}.", kind="soft")


def reading_guide(shown: Shown) -> str:
    """Return what utility, interval and places mean."""
    level = share(shown.result.ranking.level)
    terms = [
        (
            "Utility",
            (
                "How much an item is preferred to the ranked items on average: preferences run in circles, so no "
                "single number says how it fares against each of them."
                if runs_in_circles(shown.result.model)
                else "How good an item is, on a scale on which only differences count; 0 is the average of the ranked "
                "items." + _meaning(shown.result.model)
            ),
        ),
        (
            "Interval",
            f"Where an item's utility lies with probability {level}, given the data and the model. Two items with "
            "overlapping intervals may still be clearly apart, as their errors go together: look at P(above next).",
        ),
        ("Places", f"Where an item's true place lies with probability {level}. A wide range means: not settled yet."),
        ("Tier", "Items that cannot be told from the first one of their tier."),
        ("P(best)", "Probability that no other ranked item has a higher utility."),
        ("P(above next)", "Probability that an item is better than the one placed just below it; 50 % is a toss-up."),
        ("P(win)", "Probability to win one comparison with an opponent of average utility; a tie is half a win."),
        ("W-L-T", "How often the item won, lost and tied."),
        (
            "Circles",
            "A is preferred to B, B to C, and C to A. Some circles arise by chance; the verdict asks whether there are "
            "more than chance explains.",
        ),
        ("Information", "By how much an answer is expected to make utilities surer, in nats; 0.69 is one bit."),
    ]
    return figures(((term, escape(meaning)) for term, meaning in terms), "facts guide")


def _meaning(model: Any) -> str:
    """Return what a difference of 1 means, as far as the likelihood says it."""
    likelihood = getattr(model, "likelihood_", None)
    if likelihood is None:
        return ""
    first, tie, _ = np.asarray(likelihood.probability(np.ones(1), np.zeros(1)))[0]
    ties = f" (ties, {share(float(tie))} of cases, counted half)" if tie > 0.005 else ""
    return f" An item that is better by 1 wins {share(float(first + tie / 2))} of its comparisons with the other{ties}."
