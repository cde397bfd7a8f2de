"""What the page rests on: data and how they were read, models that were tried, what words mean, and references."""

from __future__ import annotations

import platform
from pathlib import PureWindowsPath
from typing import Any

import numpy as np

from preflearn._version import __version__
from preflearn.analysis.analyse import sentence_of
from preflearn.analysis.suggestions import runs_in_circles
from preflearn.data.pair_table import facts_of
from preflearn.items import as_items
from preflearn.messages import WORDS, FileNote
from preflearn.plots.fitted import parameter_names
from preflearn.report.context import Shown
from preflearn.report.markup import bullets, clean, escape, figures, number, paragraph, share, table


def data_facts(shown: Shown) -> str:
    """Return how the data were read, and what is in them."""
    facts = facts_of(shown.result.data)
    table = figures((term, escape(value)) for term, value in facts.items())
    if not shown.result.notes:
        return table
    notes = bullets(escape(clean(_without_folders(note), 600)) for note in shown.result.notes)
    return f"{table}<h3>How the data were read</h3>{notes}"


def _without_folders(note: str) -> str:
    return f"{PureWindowsPath(note.source).name}: {note.text}" if isinstance(note, FileNote) else note


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
    tried = table("Models that were tried", ["model", "log evidence", "penalty", "penalised"], rows)
    none = "".join(paragraph(f"Not fitted: {escape(clean(str(one), 300))}.") for one in ladder.no_sign)
    left_out = "".join(paragraph(f"Not tried: {escape(clean(str(one), 300))}.") for one in ladder.left_out)
    checked = sentence_of(shown.result.checks, WORDS)
    checks = paragraph(f"Checks: {escape(clean(checked, 1500))}") if checked else ""
    return words + checks + tried + none + left_out + _hyperparameters(ladder.model) + _versions()


def _hyperparameters(model: Any) -> str:
    learned = zip(parameter_names(model), np.exp(model.theta_), strict=True)
    rows = [[escape(clean(key)), f"{value:.4g}"] for key, value in learned]
    return table("Learned hyperparameters", ["hyperparameter", "value"], rows[:60]) if rows else ""


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
            "overlapping intervals may still differ clearly, because their errors are correlated: see P(above next).",
        ),
        (
            "Places",
            f"Where an item's true place lies with probability {level}. A wide range is an open place.",
        ),
        ("Tier", "Items that cannot be told apart from the first item of their tier."),
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
    """Return what a difference of 1 means."""
    first, tie, _ = np.asarray(model.likelihood_.probability(np.ones(1), np.zeros(1)))[0]
    ties = f" (ties, {share(float(tie))} of cases, counted half)" if tie > 0.005 else ""
    return f" An item that is better by 1 wins {share(float(first + tie / 2))} of its comparisons with the other{ties}."


REFERENCES: dict[str, str] = {
    "bradley-terry": "R. A. Bradley and M. E. Terry (1952). Rank analysis of incomplete block designs: I. The method "
    "of paired comparisons. Biometrika 39, 324-345.",
    "thurstone": "L. L. Thurstone (1927). A law of comparative judgment. Psychological Review 34, 273-286.",
    "ties": "P. V. Rao and L. L. Kupper (1967). Ties in paired-comparison experiments: a generalization of the "
    "Bradley-Terry model. Journal of the American Statistical Association 62, 194-204.",
    "gp": "W. Chu and Z. Ghahramani (2005). Preference learning with Gaussian processes. Proceedings of the 22nd "
    "International Conference on Machine Learning, 137-144.",
    "circles": "S. L. Chau, J. González and D. Sejdinovic (2022). Learning inconsistent preferences with Gaussian "
    "processes. Proceedings of the 25th International Conference on Artificial Intelligence and Statistics, PMLR 151, "
    "2266-2281.",
    "hodge": "X. Jiang, L.-H. Lim, Y. Yao and Y. Ye (2011). Statistical ranking and combinatorial Hodge theory. "
    "Mathematical Programming 127, 203-244.",
    "next": "N. Houlsby, F. Huszár, Z. Ghahramani and M. Lengyel (2011). Bayesian active learning for classification "
    "and preference learning. arXiv:1112.5745.",
    "bags": "A. Smola, A. Gretton, L. Song and B. Schölkopf (2007). A Hilbert space embedding for distributions. "
    "Algorithmic Learning Theory, 13-31.",
}


def references(shown: Shown) -> list[str]:
    """Return the keys of the methods that were used, in order."""
    result = shown.result
    terms = result.ladder.terms
    used = ["thurstone" if terms.utility == "thurstone" else "bradley-terry"]
    if bool((result.data.outcome == 0).any()):
        used.append("ties")
    if terms.on_features or {"reliability", "tastes", "circles"} & set(terms.beside):
        used.append("gp")
    if result.rankability is not None or "circles" in terms:
        used.append("circles")
    if result.rankability is not None:
        used.append("hodge")
    if len(result) > 1:
        used.append("next")
    if not as_items(result.data.items).one_row_each:
        used.append("bags")
    return used


def citations(shown: Shown) -> str:
    """Return the references of the methods that were used."""
    what = {
        "bradley-terry": "the link between utilities and outcomes",
        "thurstone": "the link between utilities and outcomes",
        "ties": "ties",
        "gp": "the model of utilities",
        "circles": "preferences that run in circles, and groups of comparable items",
        "hodge": "shares of observed preferences in ranking and circles",
        "next": "what to compare next",
        "bags": "items that are bags of points",
    }
    lines = (f"{escape(REFERENCES[key])} <span class='soft'>({what[key]})</span>" for key in references(shown))
    return paragraph("What was used here:") + bullets(lines)
