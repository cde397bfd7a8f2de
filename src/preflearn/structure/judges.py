"""How far each judge can be trusted: whether the answers of the others predict its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit, ndtri
from sklearn.utils.validation import check_is_fitted

from preflearn.data import Comparisons
from preflearn.data.fields import object_array
from preflearn.data.pair_table import PairTable
from preflearn.exceptions import DataError
from preflearn.models import PreferenceGP
from preflearn.structure.graph import FloatArray, IntArray, triads_by_item
from preflearn.table_format import Column, TextTable, decimal

LEGEND = """\
reliability: how well the other judges predict this judge: 1 as usual here, 0 not at all, below 0 the opposite
consistency: the same, predicted from the judge's own other answers too: high where a judge has a taste of its own
agrees, expected: share of answers that are as the others predict, and the share that is usual here
circles: share of triples of items that the judge put in a circle"""
LIKENESS = "\nlikeness: how similar the judge's taste is to the taste that all share, from -1 to 1"
PRIOR_DEVIATION = 1.0  # of a reliability around 1, before a judge has answered
SURE = 2.0  # standard deviations that a verdict needs


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
        How far the answers of the others predict those of the judge: 1 as well as for any judge of this population,
        0 not at all, below 0 the opposite; with its standard deviation.
    consistency, consistency_std : ndarray (n_judges,)
        The same for predictions from the judge's own other answers as well: 1 for a judge with a taste of its own who
        is as careful as the others, 0 for random answers.
    agreement, expected : ndarray (n_judges,)
        Share of answers that are as predicted from the others, and the share expected of a judge like the others.
    likeness : ndarray (n_judges,)
        Correlation of the estimated preferences of the judge and of the population, over the pairs that the judge
        compared; NaN if the model has no tastes of judges.
    circles : ndarray (n_judges,)
        Share of the triples that the judge compared with each other which run in a circle; NaN without triples.
    contradictions : ndarray (n_judges,)
        Pairs that the judge decided both ways.
    verdict : ndarray (n_judges,)
        "as expected", "like chance", "contrary", "on its own" (a taste of its own), or "undecided" (too few answers).

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.structure import judge_report
    >>> votes = Comparisons(None, ["ann", "bob", "ann"] * 6, ["bob", "cy", "cy"] * 6, judge=["u", "v", "w"] * 6)
    >>> judge_report(votes).n_comparisons.tolist()
    [6, 6, 6]
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
        more = 0 if top is None else max(0, len(self) - top)
        rest = f"\n... and {more:,} more, more reliable ones" if more else ""
        likeness = LIKENESS if "likeness" in self.listing().columns else ""
        return f"{self.listing().top(top).text()}{rest}\n{LEGEND}{likeness}"

    def listing(self) -> TextTable:
        """Return the table that is shown, without likeness where no tastes were learned."""
        columns = {
            "judge": Column("judge", self.judge, kind="name"),
            "answers": Column("answers", self.n_comparisons),
            "reliability": _slopes("reliability", self.reliability, self.std),
            "consistency": _slopes("consistency", self.consistency, self.consistency_std),
            "agreement": Column("agrees", self.agreement, _percent),
            "expected": Column("expected", self.expected, _percent),
            "likeness": Column("likeness", self.likeness, decimal),
            "circles": Column("circles", self.circles, _percent),
            "verdict": Column("verdict", self.verdict, kind="text"),
        }
        if np.isnan(self.likeness).all():
            del columns["likeness"]
        return TextTable(columns)


def _slopes(title: str, mean: FloatArray, std: FloatArray) -> Column:
    return Column(title, [f"{decimal(m)} ± {decimal(s)}" for m, s in zip(mean, std, strict=True)])


def _percent(share: float) -> str:
    return "" if np.isnan(share) else f"{share:.0%}"


def judge_report(X: Comparisons | PreferenceGP) -> JudgeReport:
    """Say how far each judge can be trusted.

    Parameters
    ----------
    X : Comparisons or fitted PreferenceGP
        Comparisons with ``judge``: ``PreferenceGP(judge_kernel="identity")`` is fitted to them. Or a model with a
        ``judge_kernel`` or with ``judge_reliability``.

    Returns
    -------
    JudgeReport
        Judges, the least reliable first.

    Notes
    -----
    Every comparison is predicted without all comparisons of its judge, in closed form. The reliability r is the slope
    in P(answer) = logistic(r · predicted log odds), at its posterior mode under N(1, 1). A judge with a taste that
    differs from the population's is also unreliable in this sense. The consistency tells this judge from one who
    answers by chance: for it, every comparison is predicted from all others, the judge's own included.

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
    decided = np.flatnonzero((data.outcome != 0) & (data.judge != ""))
    n_judges = len(model.judges_)
    number = {name: k for k, name in enumerate(model.judges_)}
    names: Any = data.judge
    judge = np.array([number[name] for name in names[decided]], dtype=np.intp)
    answers = _Answers(
        judge,
        data.outcome[decided] > 0,
        np.ones(len(decided)) if data.weight is None else data.weight[decided],
        n_judges,
    )
    times = np.ones(len(decided)) if data.times is None else data.times[decided]
    p = np.clip(model.leave_one_out("judge")[decided, 1], 1e-12, 1 - 1e-12)
    alone = np.clip(model.leave_one_out("comparison")[decided, 1], 1e-12, 1 - 1e-12)
    slope, deviation = answers.slopes(logit(p))
    own, own_deviation = answers.slopes(logit(alone))
    circles, contradicted = _own_graphs(data, decided, answers)
    # of many judges some answer oddly by chance: with probability 0.95 none of them is called so
    sure = max(SURE, -float(ndtri(0.05 / max(1, n_judges))))
    verdict = [
        _verdict(*figures, sure)
        for figures in zip(slope, deviation, own, own_deviation, answers.gains(slope, logit(p)), strict=True)
    ]
    order = np.argsort(slope, kind="stable")
    columns: dict[str, Any] = {
        "judge": object_array(list(model.judges_)),
        "n_comparisons": np.bincount(judge, times, n_judges).astype(np.intp),
        "reliability": slope,
        "std": deviation,
        "consistency": own,
        "consistency_std": own_deviation,
        "agreement": answers.means(np.where(p == 0.5, 0.5, (p > 0.5) == answers.won)),
        "expected": answers.means(np.maximum(p, 1 - p)),
        "likeness": _likeness(model),
        "circles": circles,
        "contradictions": contradicted,
        "verdict": object_array(verdict),
    }
    return JudgeReport(**{name: column[order] for name, column in columns.items()})


def _model(X: Any) -> PreferenceGP:
    if isinstance(X, Comparisons):
        if X.judge is None:
            raise DataError(code="no-judges-to-report", owner="judge_report").says(
                "the comparisons do not say who judged", "Give Comparisons judge=..."
            )
        if not (X.judge != "").any():
            raise DataError(code="nameless-judges", owner="judge_report").says(
                'no judge has a name (every judge is "")', "Name the judges"
            )
        ties = bool((X.outcome == 0).any())
        return PreferenceGP(judge_kernel="identity", ties=ties, random_state=0).fit(X)
    if not isinstance(X, PreferenceGP):
        raise TypeError(f"judge_report takes Comparisons or a fitted PreferenceGP; got {type(X).__name__}.")
    check_is_fitted(X)
    if X.judge_kernel is None and not X.judge_reliability:
        raise ValueError(
            "judge_report: the model does not distinguish judges. Give the comparisons, or a "
            'PreferenceGP(judge_kernel="identity").'
        )
    return X


@dataclass(frozen=True)
class _Answers:
    """Answers with a winner of all judges: the judge, whether the first side won, and the weight."""

    judge: IntArray
    won: Any
    weight: FloatArray
    n_judges: int

    def sums(self, values: Any) -> FloatArray:
        """Return the weighted sum of values over each judge's answers."""
        return np.asarray(np.bincount(self.judge, self.weight * values, self.n_judges), dtype=np.float64)

    def means(self, values: Any) -> FloatArray:
        """Return the weighted mean of values over each judge's answers, NaN where these weigh nothing."""
        total = self.sums(1.0)
        return np.where(total > 0, self.sums(values) / np.where(total > 0, total, 1.0), np.nan)

    def slopes(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return mode and deviation of each judge's r in P(won) = logistic(r x) under N(1, 1)."""
        r, precision = np.ones(self.n_judges), 1.0 / PRIOR_DEVIATION**2
        for _ in range(100):  # concave in one dimension: Newton's steps, cut
            p = expit(r[self.judge] * x)
            slope = self.sums((self.won - p) * x) - precision * (r - 1.0)
            curvature = self.sums(p * (1 - p) * x**2) + precision
            step = np.clip(slope / curvature, -0.5, 0.5)
            r = r + step
            if np.abs(step).max(initial=0.0) < 1e-10:
                break
        return r, 1 / np.sqrt(curvature)

    def gains(self, slope: FloatArray, x: FloatArray) -> FloatArray:
        """Return by how many nats these slopes explain the answers better than throwing a coin."""
        sign = np.where(self.won, 1.0, -1.0)
        return self.sums(np.log(2.0) - np.logaddexp(0.0, -slope[self.judge] * sign * x))


def _likeness(model: PreferenceGP) -> FloatArray:
    """Return the correlation of each judge's posterior means with the population's, over the pairs it compared."""
    if model.judge_kernel is None:
        return np.full(len(model.judges_), np.nan)
    X, data = model.comparisons_, model._statements
    cell = data.seen.cell
    own = model._solution.posterior.x[cell]
    low, high = data.used[data.rows.low[cell]], data.used[data.rows.high[cell]]
    pairs = X.merged(keep_labels=False)
    place = np.searchsorted(pairs.first * X.n_items + pairs.second, low * X.n_items + high)
    together = model.decision_function(pairs)[place]
    n_judges, number = len(model.judges_), np.asarray(data.judge)
    named = number < n_judges  # the last has no name
    judge = number[named]
    ab, aa, bb = (
        np.bincount(judge, (a * b)[named], n_judges) for a, b in ((own, together), (own, own), (together, together))
    )
    clear = (aa * bb > 0) & (np.sqrt(bb) > 1e-6 * np.sqrt(aa))
    return np.where(clear, ab / np.sqrt(np.where(clear, aa * bb, 1.0)), np.nan)


def _own_graphs(data: Comparisons, decided: IntArray, answers: _Answers) -> tuple[FloatArray, IntArray]:
    """Return the share of circles among each judge's triples, and how many pairs it decided both ways.

    The graphs of all judges are one graph, of which (judge, item) is a node.
    """
    n = data.n_items
    first, second = answers.judge * n + data.first[decided], answers.judge * n + data.second[decided]
    nodes, place = np.unique(np.concatenate([first, second]), return_inverse=True)
    outcome = data.outcome[decided]
    pairs = PairTable.build(place[: len(first)], place[len(first) :], outcome, answers.weight, len(nodes))
    owner = nodes // n
    net = pairs.sums(pairs.sign * outcome * answers.weight)
    circles, triples = (np.bincount(owner, count, answers.n_judges) for count in triads_by_item(pairs, net))
    share = np.where(triples > 0, circles / np.maximum(triples, 1.0), np.nan)
    both_ways = np.bincount(owner[pairs.low[pairs.contradicted(outcome)]], minlength=answers.n_judges)
    return share, both_ways


def _verdict(slope: float, deviation: float, own: float, own_deviation: float, gain: float, sure: float) -> str:
    # the prior draws a slope below 0 towards 1, so what counts is by how much it explains answers better than a coin
    if slope < 0 and 2.0 * gain > sure**2:
        return "contrary"
    if slope > SURE * deviation:
        return "as expected"
    # less than predicted from the others: because of a taste of its own, or by chance?
    if own > SURE * own_deviation:
        return "on its own" if slope + SURE * deviation < 1 else "undecided"
    return "like chance" if min(slope + sure * deviation, own + sure * own_deviation) < 1 else "undecided"
