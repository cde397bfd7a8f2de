"""``preflearn demo``: four kinds of generated data, what was learned from each, and what came out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from preflearn.cli.console import progress, prose, table
from preflearn.cli.options import Seed
from preflearn.table_format import plural

if TYPE_CHECKING:
    from preflearn.data import Comparisons, Ratings

USAGE = "preflearn demo [OPTIONS]"


def demo(*, seed: Seed = 0) -> None:
    """Learn from generated data of several kinds and say what came out.

    Graded documents in query groups, noisy scores of a few similar items per
    group, pairwise comparisons with margins, and preferences that run in
    circles. Nothing is read or written. Takes a few seconds.

    For example:

        preflearn demo --seed 1

    Parameters
    ----------
    seed
        Seed of the data; the same seed gives the same numbers.
    """
    from preflearn.structure import rankability

    prose(
        "Small problems with generated data. In the first three the models see the training part only, and every "
        "number is measured on held-out data. Right pairs: share of the held-out pairs that are put in the right "
        "order; 50 % is guessing."
    )
    for part in (_graded, _noisy, _pairs):
        with progress("Learning"):
            title, story, methods = part(seed)
        prose(f"\n{title}", heading=True)
        prose(story)
        table(
            [("method", "left"), ("chosen", "left"), ("right pairs", "right"), ("error", "right"), ("+/-", "right")],
            [
                (m.name, m.chosen, f"{100 * (1 - m.error):.1f} %", f"{m.error:.4f}", f"{_deviation(m.errors):.4f}")
                for m in methods
            ],
        )
        prose(compare(*methods[:2]))
    prose("\nError: disagreement error, the share of held-out pairs in the wrong order; +/-: its standard error.")
    prose("\n4. Can it be ranked at all?", heading=True)
    prose(
        "Two leagues of twelve players without features, four games of each pair. In the first a player's strength "
        "decides; in the second every player has one of three styles, and each style beats the next."
    )
    for name, games in _leagues(seed).items():
        with progress("Comparing a ranking with circles"):
            found = rankability(games, random_state=seed)
        print(f"\n{name}\n{found}")
    prose('\nThe same for your own files: "preflearn fit --help"; from Python: preflearn.structure.rankability.')


class Method(NamedTuple):
    """A method, what it chose, and its error on each held-out group (or pair)."""

    name: str
    chosen: str
    errors: Any

    @property
    def error(self) -> float:
        """Mean error."""
        return float(self.errors.mean())


def compare(one: Method, other: Method) -> str:
    """Say which of two methods is better, or that the difference is within its own uncertainty."""
    gap = other.errors - one.errors
    mean, deviation = float(gap.mean()), _deviation(gap)
    points = f"{100 * abs(mean):.1f} percentage points, with a standard error of {100 * deviation:.1f}"
    if abs(mean) <= 2.0 * deviation or mean == 0.0:
        return f"What came out: no clear difference between {one.name} and {other.name} ({points})."
    better, worse = (one, other) if mean > 0 else (other, one)
    return f"What came out: {better.name} puts more pairs in the right order than {worse.name}, by {points}."


def _deviation(values: Any) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values)))


def _graded(seed: int) -> tuple[str, str, list[Method]]:
    import numpy as np

    from preflearn.datasets import make_ltr
    from preflearn.models import RLSCV, RankRLSCV

    made = make_ltr(n_groups=300, random_state=seed)
    data = made.ratings
    train, test = data[np.flatnonzero(made.qid < 100)], data[np.flatnonzero(made.qid >= 100)]
    rank, rls = RankRLSCV().fit(train), RLSCV().fit(train)
    best = _group_errors(test, made.utility[made.qid >= 100])
    methods = [
        Method("RankRLS", f"alpha {rank.alpha_:.3g}", _group_errors(test, rank.predict(test))),
        Method("RLS", f"alpha {rls.alpha_:.3g}", _group_errors(test, rls.predict(test))),
        Method("true utilities", "nothing to choose", best),
    ]
    story = (
        f"{_size(train)} with {train.n_features} features and grades 0 to 4; {test.n_groups} new groups to rank. "
        "RankRLS learns the differences within groups, RLS the grades themselves; both are linear. The true utilities "
        "make mistakes, too, because the grades are noisy."
    )
    return "1. Graded documents in query groups", story, methods


def _noisy(seed: int) -> tuple[str, str, list[Method]]:
    from preflearn.datasets import make_noisy_parse_ranking
    from preflearn.models import KPCRankCV, RankRLSCV

    made = make_noisy_parse_ranking(noise=0.5, random_state=seed)
    few = KPCRankCV(n_components=100, kernel="linear").fit(made.train)
    all_of_them = RankRLSCV(kernel="linear").fit(made.train)
    methods = [
        Method("KPCRank", plural(few.n_components_, "component"), _group_errors(made.test, few.predict(made.test))),
        Method("RankRLS", f"alpha {all_of_them.alpha_:.3g}", _group_errors(made.test, all_of_them.predict(made.test))),
    ]
    story = (
        f"{_size(made.train)}, as parses of sentences, with {made.train.n_features:,} features. The training scores "
        "lie in [0, 1] and carry noise of deviation 0.5, far more than parses of one sentence differ by; the held-out "
        "scores are clean. KPCRank keeps a few principal components, RankRLS keeps all and shrinks them."
    )
    return "2. Noisy scores, few similar items per group", story, methods


def _pairs(seed: int) -> tuple[str, str, list[Method]]:
    from preflearn.datasets import make_sinc_preferences
    from preflearn.models import KPCRankCV, RankRLSCV

    made = make_sinc_preferences(n_test_pairs=2000, random_state=seed)
    few = KPCRankCV(n_components=60, kernel="rbf").fit(made.train)
    penalty = RankRLSCV(kernel="rbf").fit(made.train)
    line = RankRLSCV(kernel="linear").fit(made.train)
    methods = [
        Method("KPCRank (rbf)", plural(few.n_components_, "component"), _pair_errors(made.test, few)),
        Method("RankRLS (rbf)", f"alpha {penalty.alpha_:.3g}", _pair_errors(made.test, penalty)),
        Method("RankRLS (linear)", f"alpha {line.alpha_:.3g}", _pair_errors(made.test, line)),
    ]
    story = (
        f"{len(made.train)} comparisons of points x in [-4, 4] with margins sinc(x) - sinc(x'); 2,000 comparisons of "
        "other points to predict. No line can follow this wave, so the linear kernel has to fail."
    )
    return "3. Pairwise comparisons with margins", story, methods


def _leagues(seed: int) -> dict[str, Comparisons]:
    import numpy as np

    from preflearn.data import Comparisons

    rng = np.random.default_rng(seed)
    first, second = (np.repeat(side, 4) for side in np.triu_indices(12, 1))
    strength, style = 1.5 * rng.standard_normal(12), np.arange(12) % 3
    margins = {
        "strengths": strength[first] - strength[second],
        "styles": 2.0 * (np.mod(style[first] - style[second] + 1, 3) - 1),
    }
    leagues = {}
    for name, margin in margins.items():
        won = margin + math.sqrt(2.0) * rng.standard_normal(len(first)) > 0
        code, times = np.unique(np.where(won, first * 12 + second, second * 12 + first), return_counts=True)
        players = [f"player {k + 1}" for k in range(12)]
        winners, losers = ([players[k] for k in side] for side in (code // 12, code % 12))
        leagues[name] = Comparisons(None, winners, losers, weight=times)
    return leagues


def _size(data: Ratings) -> str:
    return f"{plural(len(data), 'row')} in {plural(data.n_groups, 'group')}"


def _group_errors(data: Ratings, prediction: Any) -> Any:
    import numpy as np

    from preflearn.metrics import disagreement_error

    errors = np.asarray(disagreement_error(data.score, prediction, qid=data.group, average=None))
    return errors[~np.isnan(errors)]  # groups in which all scores are equal have no pair to judge


def _pair_errors(data: Comparisons, model: Any) -> Any:
    import numpy as np

    return (1.0 - np.sign(data.outcome) * np.sign(model.predict(data))) / 2.0
