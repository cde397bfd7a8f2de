"""How far each judge can be relied upon: whether it answers as the others would lead one to expect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.data.checks import object_array
from preflearn.data.pairs import contradictions
from preflearn.exceptions import DataError
from preflearn.models import PreferenceGP
from preflearn.structure.graph import FloatArray, Flow, IntArray, cyclic_triads

__all__ = ["JudgeReport", "judge_report"]

PRIOR_DEVIATION = 1.0  # of a reliability around 1, before a judge has said anything
SURE = 2.0  # deviations by which a reliability differs from what it is called not to be


@dataclass(frozen=True)
class JudgeReport:
    """Judges, the least reliable first.

    Attributes
    ----------
    judge : ndarray (n_judges,)
        Names.
    n_comparisons : ndarray (n_judges,)
        Comparisons with a winner.
    reliability, std : ndarray (n_judges,)
        By how much a judge's answers follow from what the other judges lead one to expect: 1 as much as those of any
        judge from this population, 0 not at all, below 0 the contrary; with its standard deviation.
    consistency, consistency_std : ndarray (n_judges,)
        The same for what the others and the judge's own other answers lead one to expect: 1 for a judge with a taste of
        its own who is as careful as the others, 0 for answers by chance.
    agreement, expected : ndarray (n_judges,)
        Share of answers that are those expected from the others, and what share would be of a judge like the others.
    likeness : ndarray (n_judges,)
        Correlation of what the judge is believed to prefer with what the population does, over the pairs it compared.
    circles : ndarray (n_judges,)
        Share of the triples that the judge compared with each other which run in a circle; NaN without triples.
    contradictions : ndarray (n_judges,)
        Pairs that the judge decided both ways.
    verdict : ndarray (n_judges,)
        "as expected", "like chance", "contrary", "on its own" (follows neither the others nor chance), or "undecided":
        what was answered does not tell.
    """

    judge: Any
    n_comparisons: IntArray
    reliability: FloatArray
    std: FloatArray
    consistency: FloatArray
    consistency_std: FloatArray
    agreement: FloatArray
    expected: FloatArray
    likeness: FloatArray
    circles: FloatArray
    contradictions: IntArray
    verdict: Any

    def __len__(self) -> int:
        return len(self.judge)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns as lists, ready for a data frame of any library."""
        return {name: list(getattr(self, name)) for name in self.__dataclass_fields__}

    def __str__(self) -> str:
        return self.text()

    def text(self, top: int | None = None) -> str:
        """Return a table of the first ``top`` judges, the least reliable, and how many more there are; None: of all."""
        shown = len(self) if top is None else min(top, len(self))
        wide = max(5, *(len(str(name)) for name in self.judge[:shown]))
        lines = [
            f"{'judge':<{wide}}  answers  reliability   consistency   agrees  expected  likeness  circles  verdict"
        ]
        for i, name in enumerate(self.judge[:shown]):
            circles = "" if np.isnan(self.circles[i]) else f"{self.circles[i]:.0%}"
            slopes = f"{self.reliability[i]:5.2f} ± {self.std[i]:4.2f}  {self.consistency[i]:5.2f} ± "
            lines.append(
                f"{name!s:<{wide}}  {self.n_comparisons[i]:7d}  {slopes}{self.consistency_std[i]:4.2f}  "
                f"{self.agreement[i]:6.0%}  {self.expected[i]:8.0%}  {self.likeness[i]:8.2f}  {circles:>7}  "
                f"{self.verdict[i]}"
            )
        if shown < len(self):
            lines.append(f"... and {len(self) - shown:,} more, more reliable ones")
        return "\n".join(lines)


def judge_report(X: Comparisons | PreferenceGP) -> JudgeReport:
    """Say how far each judge can be relied upon.

    Parameters
    ----------
    X : Comparisons or fitted PreferenceGP
        Comparisons with ``judge``, of which ``PreferenceGP(judge_kernel="identity")`` is learned; or a model with a
        ``judge_kernel`` or with ``judge_reliability``.

    Returns
    -------
    JudgeReport
        Judges, the least reliable first.

    Notes
    -----
    Every comparison is predicted without any of its judge's, in closed form. The reliability r is the slope of the log
    odds, P(answer) = logistic(r · predicted log odds), at its posterior mode under N(1, 1). A judge whose taste differs
    from the population's is unreliable in this sense, too; the consistency, with every comparison predicted without
    itself only, tells it from one who answers by chance.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.structure import judge_report
    >>> pairs = [(x, y) for x in "abcdef" for y in "abcdef" if x < y]
    >>> rows = [(x, y, judge) for judge in ("ann", "bob", "cy", "dan") for x, y in pairs]
    >>> rows += [(y, x, "eve") for x, y in pairs]
    >>> first, second, judge = zip(*rows, strict=True)
    >>> report = judge_report(Comparisons(None, first, second, judge=judge))
    >>> report.judge[0], report.verdict[0]
    ('eve', 'contrary')
    """
    model = _model(X)
    data = model.comparisons_
    told = np.flatnonzero((data.outcome != 0) & (data.judge != ""))
    won = data.outcome[told] > 0
    without = np.clip(model.leave_one_out("judge")[told, 1], 1e-12, 1 - 1e-12)
    alone = np.clip(model.leave_one_out("comparison")[told, 1], 1e-12, 1 - 1e-12)
    weight = np.ones(len(told)) if data.weight is None else data.weight[told]
    labels: Any = data.judge[told] if data.judge is not None else None
    shared = _likeness(model)
    # of many judges some answer oddly by chance: none of them is to be called so, in nineteen cases of twenty
    sure = max(SURE, -float(ndtri(0.05 / max(1, len(model.judges_)))))
    rows: list[dict[str, Any]] = []
    for name in model.judges_:
        here = np.flatnonzero(labels == name)
        own = data[told[here]] if len(here) else None
        p, y, w = without[here], won[here], weight[here]
        slope, deviation = _slope(logit(p), y, w)
        right = (p > 0.5) == y
        itself = _slope(logit(alone[here]), y, w)
        rows.append(
            {
                "judge": name,
                "n_comparisons": len(here),
                "reliability": slope,
                "std": deviation,
                "consistency": itself[0],
                "consistency_std": itself[1],
                "agreement": _mean(np.where(p == 0.5, 0.5, right), w),
                "expected": _mean(np.maximum(p, 1 - p), w),
                "likeness": shared[name],
                "circles": _circles(own),
                "contradictions": 0 if own is None else contradictions(own),
                "verdict": _verdict(slope, deviation, itself, _surer(slope, logit(p), y, w), sure),
            }
        )
    rows.sort(key=lambda row: row["reliability"])
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in JudgeReport.__dataclass_fields__}
    words = ("judge", "verdict")
    return JudgeReport(
        **{name: object_array(column) if name in words else np.array(column) for name, column in columns.items()}
    )


def _model(X: Any) -> PreferenceGP:
    if isinstance(X, Comparisons):
        if X.judge is None:
            raise DataError("judge_report: the comparisons do not say who judged. Give Comparisons judge=...")
        if not (X.judge != "").any():
            raise DataError('judge_report: every judge is "", nobody in particular. Name the judges.')
        ties = bool((X.outcome == 0).any())
        return PreferenceGP(judge_kernel="identity", ties=ties, random_state=0).fit(X)
    if not isinstance(X, PreferenceGP):
        raise TypeError(f"judge_report takes Comparisons or a fitted PreferenceGP; got {type(X).__name__}.")
    check_is_fitted(X)
    if X.judge_kernel is None and not X.judge_reliability:
        raise ValueError(
            "judge_report: the model does not tell judges apart. Give the comparisons, or a "
            'PreferenceGP(judge_kernel="identity").'
        )
    return X


def _slope(x: FloatArray, won: Any, weight: FloatArray) -> tuple[float, float]:
    """Return mode and deviation of r in P(won) = logistic(r x) under N(1, 1)."""
    r, precision = 1.0, 1.0 / PRIOR_DEVIATION**2
    for _ in range(100):  # concave in one dimension: Newton's steps, cut
        p = expit(r * x)
        slope = float(weight @ ((won - p) * x)) - precision * (r - 1.0)
        curvature = float(weight @ (p * (1 - p) * x**2)) + precision
        step = np.clip(slope / curvature, -0.5, 0.5)
        r += float(step)
        if abs(step) < 1e-10:
            break
    return r, float(1 / np.sqrt(curvature))


def _mean(values: Any, weight: FloatArray) -> float:
    return float(np.average(values, weights=weight)) if weight.sum() > 0 else np.nan


def _likeness(model: PreferenceGP) -> dict[Any, float]:
    """Return the correlation of what each judge is believed to prefer with what the population does.

    Over the pairs that the judge compared, whose posterior means are at hand.
    """
    X, data = model.comparisons_, model._statements
    cell = data.seen.cell
    own = model._solution.posterior.x[cell]
    low, high = data.used[data.rows.low[cell]], data.used[data.rows.high[cell]]
    pairs = X.merged(keep_labels=False)
    place = np.searchsorted(pairs.first * X.n_items + pairs.second, low * X.n_items + high)
    together = model.decision_function(pairs)[place]
    found = {}
    for number, name in enumerate(model.judges_):
        a, b = own[data.judge == number], together[data.judge == number]
        size = float(np.linalg.norm(a) * np.linalg.norm(b))
        clear = float(np.linalg.norm(b)) > 1e-6 * float(np.linalg.norm(a))
        found[name] = float(a @ b) / size if size > 0 and clear else np.nan
    return found


def _circles(own: Comparisons | None) -> float:
    if own is None:
        return np.nan
    circles, triples = cyclic_triads(Flow.of(own))
    return circles / triples if triples else np.nan


def _surer(slope: float, x: FloatArray, won: Any, weight: FloatArray) -> float:
    """Return by how many nats this slope explains the answers better than throwing a coin."""
    sign = np.where(won, 1.0, -1.0)
    return float(weight @ (np.log(2.0) - np.logaddexp(0.0, -slope * sign * x)))


def _verdict(slope: float, deviation: float, itself: tuple[float, float], surer: float, sure: float) -> str:
    # drawn towards 1 before a judge has spoken, a slope below 0 understates: what counts is the coin that it beats
    if slope < 0 and 2.0 * surer > sure**2:
        return "contrary"
    if slope > SURE * deviation:
        return "as expected"
    own, own_deviation = itself
    # less than the others would lead to expect: by a taste of its own, or by chance?
    if own > SURE * own_deviation:
        return "on its own" if slope + SURE * deviation < 1 else "undecided"
    return "like chance" if min(slope + sure * deviation, own + sure * own_deviation) < 1 else "undecided"
