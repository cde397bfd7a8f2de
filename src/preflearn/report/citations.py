"""Where the methods come from: references for those that this report used, and no others."""

from __future__ import annotations

from preflearn.items import as_items
from preflearn.report.context import Shown
from preflearn.report.markup import bullets, escape, paragraph

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
