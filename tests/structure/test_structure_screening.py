"""Circles are learned only where the residuals of a ranking hint at them."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.gaussian_process.kernels import RBF

from preflearn import Bags, BradleyTerry, Comparisons, PreferenceGP
from preflearn.analysis import Limits, rank
from preflearn.likelihoods import Logit, get_likelihood
from preflearn.report import report_html
from preflearn.structure import circle_search, rankability
from preflearn.structure.circle_search import _smallest_p, _strongest, cyclic_residuals, similarities, typical_distance
from preflearn.structure.graph import pairs_in_circles
from preflearn.structure.rankability import _cycles, _preferences

pytestmark = pytest.mark.filterwarnings("ignore::preflearn.exceptions.DataWarning")


def problem(seed, *, n=24, m=160, circles=0.0, own=0.0):
    """Return comparisons by a utility of two features, own effects, and circles in the plane of the features."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    u = 1.5 * X[:, 0] + own * rng.normal(size=n)
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    turn = X[first, 0] * X[second, 1] - X[first, 1] * X[second, 0]
    z = (1 - circles) * (u[first] - u[second]) + 3 * circles * turn
    return Comparisons(X, first, second, np.where(z + rng.logistic(size=m) > 0, 1, -1))


@pytest.mark.parametrize("columns", [1, 3])
def test_the_smallest_of_several_p_values_is_judged_by_those_of_the_simulations(columns):
    rng = np.random.default_rng(0)
    seen = rng.integers(0, 30, (60, columns)).astype(float)
    p = [[np.mean(seen[:, k] >= seen[row, k]) for k in range(columns)] for row in range(60)]
    least = np.min(p, axis=1)
    assert _smallest_p(seen) == pytest.approx(np.mean(least <= least[0]))
    if columns == 1:
        assert _smallest_p(seen) == np.mean(seen[:, 0] >= seen[0, 0])


def test_p_values_over_several_scales_are_uniform_where_rows_are_alike():
    rng = np.random.default_rng(1)
    p = []
    for _ in range(300):
        common = rng.normal(size=(50, 1))
        p.append(_smallest_p(common + rng.normal(size=(50, 3))))
    assert np.mean(np.array(p) <= 0.1) == pytest.approx(0.1, abs=0.05)
    assert np.mean(np.array(p) <= 0.5) == pytest.approx(0.5, abs=0.09)


@pytest.mark.slow
def test_without_a_hint_only_the_ranking_is_learned_and_the_verdict_is_the_same():
    rng = np.random.default_rng(0)
    u = 2 * rng.normal(size=8)
    first, second = (np.repeat(side, 4) for side in np.triu_indices(8, 1))
    data = Comparisons(8, first, second, np.where(u[first] - u[second] + rng.logistic(size=len(first)) > 0, 1, -1))
    short, full = rankability(data, screen=True, n_samples=50), rankability(data, n_samples=50)
    assert short.p_value == full.p_value > 0.2
    assert set(short.models) == {"ranking"}
    assert set(short.log_evidence) == {"ranking", "chance"}
    assert short.verdict == full.verdict == "rankable"
    assert short.odds == full.odds == "no sign of circles"
    assert short.ranking_share == pytest.approx(1)
    assert not short.hint


@pytest.mark.slow
def test_circles_are_found_after_a_hint_as_without_screening():
    data = Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"], weight=[9, 9, 9])
    short, full = rankability(data, screen=True), rankability(data)
    assert short.verdict == full.verdict == "cyclic"
    assert short.log_odds == full.log_odds
    assert set(short.models) == {"ranking", "both"}


@pytest.mark.slow
def test_too_many_pairs_after_a_hint_leave_the_question_open_and_say_so(monkeypatch):
    monkeypatch.setattr(circle_search, "FEW_PAIRS", 10)
    found = rankability(problem(0, circles=0.6, m=200), screen=True, max_pairs=20, n_samples=50)
    assert found.hint
    assert found.verdict == "undecided"
    assert set(found.models) == {"ranking"}
    assert "hint at circles, but circles were not learned" in str(found)
    result = rank(problem(0, circles=0.6, m=200), model="gp", limits=Limits(pairs_learned=20))
    assert result.warnings[0].kind == "circles"
    assert str(result.warnings[0]).endswith("Ask for it with circles=True.")
    assert result.rankability.hint
    assert result.summary()["rankability"]["circles_learned"] is False
    assert "both" in rank(problem(0, circles=0.6, m=200), model="gp", circles=True).rankability.models
    page = report_html(result)
    assert "hint at circles, but circles were not learned" in page
    ranked = rank(problem(0, m=200), model="gp")
    assert not ranked.rankability.hint
    assert ranked.rankability.verdict == "rankable"
    assert not any(one.kind == "circles" for one in ranked.warnings)


@pytest.mark.parametrize(
    ("few", "p", "learned"), [(600, 0.15, True), (600, 0.9, False), (10, 0.15, False), (10, 0.01, True)]
)
def test_with_few_pairs_any_sign_of_circles_is_looked_into_with_many_a_clear_one(few, p, learned, monkeypatch):
    ranking = BradleyTerry().fit(problem(0, m=40).without_features())
    monkeypatch.setattr(circle_search, "FEW_PAIRS", few)
    monkeypatch.setattr(circle_search, "cyclic_residuals", lambda *_: SimpleNamespace(p_value=p, strongest=0))
    monkeypatch.setattr(circle_search, "_without_features", lambda *_: ranking)
    found = circle_search.look_for_circles(ranking, circle_search.Screen(100, 1000), 0)
    assert (found.both is not None) == learned
    assert found.p_value == p


def test_items_of_every_kind_can_be_screened():
    def alike(items):
        data = problem(1, m=60)
        ranking = PreferenceGP(hyperparameters="fixed")
        return similarities(ranking.fit(Comparisons(items, data.first, data.second, data.outcome)), (0.5, 1.0))

    X = problem(1, m=60).items
    dense = alike(X)
    for items in (sp.csr_array(X), Bags([row[None, :] for row in X])):
        for one, other in zip(dense, alike(items), strict=True):
            np.testing.assert_allclose(one, other, atol=1e-10)
    assert dense[0].shape == (len(problem(1, m=60).used_items()),) * 2
    assert (dense[0] <= dense[1] + 1e-12).all()  # longer scales, more alike
    assert alike(24) == [None]


@pytest.mark.slow
def test_rankings_rarely_hint_at_circles_and_circles_mostly_do():
    def hints(**how):
        found = []
        for seed in range(20):
            ranking = PreferenceGP("rbf", n_restarts=0).fit(problem(seed, **how))
            found.append(cyclic_residuals(ranking, similarities(ranking, (0.25, 0.5, 1)), 0).p_value)
        return np.mean(np.array(found) < 0.04)

    assert hints() <= 0.15  # three of 20; 0.04 are expected
    assert hints(own=1.5) <= 0.15
    assert hints(circles=0.5) >= 0.8


def test_the_start_is_at_the_higher_of_two_tops():
    """On a ladder the evidence of a ranking is highest at both ends of the variance, and one of them is no ranking."""
    first = np.arange(29)
    ladder = Comparisons(30, first, first + 1, weight=np.full(29, 9.0))
    found = rankability(ladder, screen=True, n_samples=10)
    assert found.verdict == "rankable"
    assert found.models["ranking"].log_evidence_ > found.log_evidence["chance"] + 50


def repeated(times, *, likelihood="probit", weight=None, turned=True):
    """Return a ranking of comparisons in which each pair met so often, every other time turned."""
    rng = np.random.default_rng(3)
    first, second = (np.tile(side, times) for side in np.triu_indices(9, 1))
    z = np.linspace(2, -2, 9)[first] - np.linspace(2, -2, 9)[second] + np.sqrt(2) * rng.normal(size=36 * times)
    data = Comparisons(9, first, second, z if likelihood == "gaussian" else np.where(abs(z) < 0.3, 0, np.sign(z)))
    data = data.swapped(np.arange(len(data)) // 36 % 2 == int(turned) * 2 - 1)
    if weight is not None:
        data = Comparisons(9, data.first, data.second, data.outcome, weight=np.tile(weight, times))
    return PreferenceGP(likelihood=likelihood, ties=likelihood != "gaussian", hyperparameters="fixed").fit(data)


@pytest.mark.parametrize("likelihood", ["probit", "logit", "gaussian"])
def test_what_is_simulated_grows_with_pairs_and_not_with_rows(likelihood, monkeypatch):
    sizes = []
    simulator = circle_search._simulator

    def watched(likelihood, z, trials, rng):
        draw, information = simulator(likelihood, z, trials, rng)

        def counted(size):
            drawn = draw(size)
            sizes.append((drawn.shape, int(trials.times.sum())))
            return drawn

        return counted, information

    monkeypatch.setattr(circle_search, "_simulator", watched)
    monkeypatch.setattr(circle_search, "FEW_ROWS", 0)
    for times in (1, 50):
        cyclic_residuals(repeated(times, likelihood=likelihood), [None], 0)
        assert {shape for shape, _ in sizes} == {(36, 111)}
        assert {seen for _, seen in sizes} == {36 * times}
        sizes.clear()


@pytest.mark.parametrize("likelihood", ["probit", "gaussian"])
def test_rows_that_are_drawn_together_have_the_p_value_of_rows_drawn_apart(likelihood, monkeypatch):
    monkeypatch.setattr(circle_search, "ENOUGH", np.inf)
    for weight in (None, np.tile([1.0, 2.0, 0.4, 2.5], 9)):
        ranking = repeated(6, likelihood=likelihood, weight=weight)
        apart = cyclic_residuals(ranking, [None], 0).p_value
        with monkeypatch.context() as patch:
            patch.setattr(circle_search, "FEW_ROWS", 0)
            together = cyclic_residuals(ranking, [None], 0).p_value
        assert together == pytest.approx(apart, abs=0.06)  # 0.022 is the deviation of the difference at 0.5


def test_residuals_that_are_drawn_together_have_the_moments_of_rows_drawn_apart(monkeypatch):
    rng = np.random.default_rng(0)
    place, weight = np.repeat([0, 1], 30), np.tile([1.0, 3.0, 0.4, 2.5, 2.0], 12)
    apart = circle_search._trials(place, weight, exact=False)
    monkeypatch.setattr(circle_search, "FEW_ROWS", 0)
    together = circle_search._trials(place, weight, exact=False)
    assert len(together.row) == 2 * 3  # outcomes that count 1, 0.4 and 1.25
    likelihood, moments = get_likelihood("probit"), []
    for trials in (apart, together):
        z = np.array([0.4, -1.0])[place[trials.row]]
        draw, information = circle_search._simulator(likelihood, z, trials, rng)
        drawn = np.array([draw(20_000)[place[trials.row] == pair].sum(axis=0) for pair in (0, 1)])
        moments.append([drawn.mean(axis=1), drawn.std(axis=1), np.bincount(place[trials.row], information)])
    np.testing.assert_allclose(moments[0][0], moments[1][0], atol=0.04 * moments[0][1].max())
    np.testing.assert_allclose(moments[0][1], moments[1][1], rtol=0.03)
    np.testing.assert_allclose(moments[0][2], moments[1][2])


@pytest.mark.parametrize("tie", [None, 0.4])
def test_sums_of_many_outcomes_are_drawn_as_normal(tie, monkeypatch):
    z, times = np.array([0.3, -0.8, 1.2]), np.array([300, 500, 800])
    likelihood = get_likelihood("logit") if tie is None else Logit(tie=tie)
    spread = []
    for most in (np.inf, 0.0, None):
        if most is not None:
            monkeypatch.setattr(circle_search, "AS_NORMAL", most)
        else:
            monkeypatch.undo()
        trials = circle_search.Trials(np.arange(3), times, 2.0 * times, np.arange(3))
        draw, information = circle_search._simulator(likelihood, z, trials, np.random.default_rng(1))
        drawn = draw(20_000)
        assert np.allclose(drawn.mean(axis=1), 0.0, atol=0.03 * drawn.std(axis=1).max())
        spread.append(drawn.std(axis=1))
        np.testing.assert_allclose(spread[-1] ** 2, 2.0 * information, rtol=0.06)  # each counts twice
    np.testing.assert_allclose(spread[0], spread[1], rtol=0.03)
    assert np.array_equal(spread[2], spread[0])  # so many are drawn as normal


def test_simulations_end_once_fifty_are_as_cyclic_as_the_data(monkeypatch):
    smallest_p, asked = circle_search._smallest_p, []

    def watched(seen):
        asked.append((smallest_p(seen), len(seen)))
        return asked[-1][0]

    monkeypatch.setattr(circle_search, "_smallest_p", watched)
    draws = set()
    for seed in range(8):
        found = cyclic_residuals(repeated(1 + seed), [None], seed).p_value
        *before, (p, count) = asked
        assert found == p
        assert round(p * count) >= 50 or count == 1000
        assert all(round(p * count) < 50 for p, count in before)
        draws.add(count)
        asked.clear()
    assert len(draws) > 1  # some end sooner than others


def test_smaller_blocks_of_simulations_give_the_same_p_value(monkeypatch):
    ranking = repeated(2)
    whole = cyclic_residuals(ranking, [None], 0).p_value
    monkeypatch.setattr(circle_search, "BLOCK", 72 * 7)  # seven at a time
    assert cyclic_residuals(ranking, [None], 0).p_value == whole


@pytest.mark.parametrize("likelihood", ["probit", "gaussian"])
def test_rows_that_are_drawn_together_may_be_turned(likelihood, monkeypatch):
    monkeypatch.setattr(circle_search, "FEW_ROWS", 0)
    found = [
        cyclic_residuals(repeated(6, likelihood=likelihood, turned=turned), [None], 0).p_value
        for turned in (False, True)
    ]
    assert found[0] == found[1] > 0.01


def test_the_strongest_sign_is_the_roughest_of_nearly_equal_ones():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(200, 3)) * [1.0, 10.0, 100.0]  # deviations differ, and are what counts
    for first, wanted in (
        ([9, 30, 300], 0),
        ([2, 90, 300], 1),
        ([2, 30, 900], 2),
        ([8, 90, 900], 0),
        ([7, 75, 900], 1),
    ):
        assert _strongest(np.vstack([np.array(first, float), noise])) == wanted
    assert _strongest(np.ones((50, 2))) == 0  # nothing varies


def rough(n=60, m=1200, scale=0.6, seed=0, utility=1.5):
    """Return comparisons by a utility of one feature and circles that are rough in three."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    root = np.linalg.cholesky(RBF(scale)(X) + 1e-9 * np.eye(n))
    S = rng.normal(size=(n, n))
    C = 2 * root @ (S - S.T) @ root.T
    first = rng.integers(0, n, m)
    second = (first + rng.integers(1, n, m)) % n
    z = utility * (X[first, 0] - X[second, 0]) + C[first, second] + rng.logistic(size=m)
    return Comparisons(X, first, second, np.where(z > 0, 1, -1), names=[f"item {k}" for k in range(n)])


@pytest.mark.slow
def test_residuals_know_how_rough_circles_are():
    found = []
    for scale in (0.5, 3.0):
        ranking = PreferenceGP(n_restarts=0).fit(rough(scale=scale))
        strongest = cyclic_residuals(ranking, similarities(ranking, (0.25, 0.5, 1.0)), 0).strongest
        found.append((0.25, 0.5, 1.0)[strongest] * typical_distance(ranking))
    assert found[0] < 1.0 < found[1]


@pytest.mark.slow
def test_circles_beyond_doubt_beside_a_ranking_are_not_learned_alone_unless_groups_are_asked_for():
    data = rough()
    short, full = rankability(data, screen=True, likelihood="logit"), rankability(data, likelihood="logit")
    assert set(short.models) == {"ranking", "both"}
    assert short.verdict == full.verdict == "partly cyclic"
    assert short.odds == full.odds == "odds beyond a million to 1 for circles"
    assert short.log_evidence["both"] == pytest.approx(full.log_evidence["both"], abs=2.0)
    for clusters in (short.clusters(2), full.clusters(2)):
        assert set(clusters.labels_) == {0, 1}
    assert short.clusters(2).labels_.tolist() == full.clusters(2).labels_.tolist()
    report_html(rank(data))


def test_cycles_by_preferences_alone_are_nearly_the_strongest(monkeypatch):
    data = rough(n=20, m=300)
    model = PreferenceGP(likelihood="logit", cyclic_kernel="rbf", n_restarts=0).fit(data)
    G, P = _preferences(model)
    every = _cycles(model, G, P, 5)
    monkeypatch.setitem(_preferences.__globals__, "QUICK", 0.0)
    means, nothing = _preferences(model)
    np.testing.assert_allclose(means, G, atol=1e-10)
    assert nothing is None
    quick = _cycles(model, means, None, 5)
    for strength, cycle in quick:
        assert strength == pytest.approx(
            min(P[a, b] for a, b in zip(cycle, np.roll(cycle, -1), strict=True)), abs=1e-10
        )
    assert [strength for strength, _ in quick] == sorted((strength for strength, _ in quick), reverse=True)
    assert every[0][0] - 0.02 < quick[0][0] <= every[0][0] + 1e-12
    assert _cycles(model, G - G, None, 5) == []


def test_who_beats_everybody_is_drawn_when_somebody_asks(monkeypatch):
    data = Comparisons(
        None, ["rock", "scissors", "paper", "rock"], ["scissors", "paper", "rock", "bomb"], weight=[9] * 4
    )
    drawn = []
    sample = PreferenceGP.sample_preferences
    monkeypatch.setattr(PreferenceGP, "sample_preferences", lambda *args: drawn.append(1) or sample(*args))
    found = rankability(data, n_samples=100)
    assert drawn == []
    assert {name for name, _ in found.smith} >= {"rock", "scissors", "paper"}
    assert isinstance(found.condorcet, list)
    assert drawn == [1]


@pytest.mark.slow
def test_a_fitted_model_with_another_kernel_for_circles_can_be_asked():
    model = PreferenceGP("rbf", "logit", cyclic_kernel="ard", hyperparameters="fixed").fit(rough(n=20, m=300))
    found = rankability(model, n_samples=10)
    assert "cyclic length scale 2" in found.models["both"].theta_names_


@pytest.mark.slow
def test_circles_that_features_know_nothing_of_are_hinted_at_too():
    # every pair has an effect of its own, and is asked about again and again
    rng = np.random.default_rng(1)
    X = rng.normal(size=(25, 3))
    first, second = np.triu_indices(25, 1)
    z = np.repeat(X[first, 0] - X[second, 0] + 0.7 * rng.normal(size=len(first)), 6)
    first, second = np.repeat(first, 6), np.repeat(second, 6)
    data = Comparisons(X, first, second, np.where(z + rng.logistic(size=len(z)) > 0, 1, -1))
    ranking = rankability(data, screen=True, likelihood="logit", n_samples=10).models["ranking"]
    p = [cyclic_residuals(ranking, similarities(ranking, scales), 0).p_value for scales in ((0.25, 0.5, 1.0), (0.0,))]
    assert p[1] <= 0.01 < p[0]
    assert similarities(ranking, (0.0, 0.5))[0] is None
    found = rank(data).rankability
    assert found.found
    assert found.along == ()


@pytest.mark.slow
@pytest.mark.parametrize("features", [False, True])
def test_pairs_that_close_no_circle_show_none(features):
    # a ladder whose rungs are small steps: a prior holds the utilities back, and what is left is no circle
    for seed in range(3):
        rng = np.random.default_rng(seed)
        first = np.repeat(np.arange(14), 30)
        won = 0.4 + rng.logistic(size=len(first)) > 0
        items = rng.normal(size=(15, 2)) if features else 15
        found = rankability(Comparisons(items, first, first + 1, np.where(won, 1, -1)), screen=True, n_samples=10)
        assert found.p_value == 1.0
        assert not found.found
        assert found.cycles == []


def test_residuals_are_those_that_no_utility_explains():
    # the same comparisons with other utilities of the items: what runs in circles is still seen
    data = problem(0, circles=0.6, m=200)
    ranking = PreferenceGP("rbf", "logit", n_restarts=0).fit(data)
    narrow = PreferenceGP(1e-3 * RBF(1.0), "logit", hyperparameters="fixed").fit(data)
    p = [cyclic_residuals(model, similarities(ranking, (0.5, 1.0)), 0).p_value for model in (ranking, narrow)]
    assert max(p) < 0.05


def test_noise_has_no_cycles_to_tell():
    rng = np.random.default_rng(9)
    first, second = (np.repeat(side, 2) for side in np.triu_indices(8, 1))
    found = rankability(Comparisons(8, first, second, rng.choice([-1, 1], len(first))), n_samples=10)
    assert found.verdict in ("only noise", "rankable")
    assert found.cycles == []
    assert found.along == ()


def shuffled(n, first, second, seed=0):
    """Return comparisons of these pairs by a utility and noise, two of each."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=n)
    first, second = np.tile(first, 2), np.tile(second, 2)
    return Comparisons(n, first, second, np.where(u[first] - u[second] + rng.logistic(size=len(first)) > 0, 1, -1))


def test_residuals_of_many_items_by_sparse_systems_are_those_by_a_dense_matrix(monkeypatch):
    rng = np.random.default_rng(3)
    first = rng.integers(0, 60, 110)
    second = (first + rng.integers(1, 60, 110)) % 60
    data = shuffled(60, first, second)
    pairs = data.pairs
    used, numbers = np.unique(np.concatenate([pairs.low, pairs.high]), return_inverse=True)
    ends, n = tuple(np.split(numbers, 2)), len(used)
    inside = pairs_in_circles(*ends, n)
    W, r = np.exp(rng.normal(size=len(pairs))), rng.normal(size=(len(pairs), 4))
    dense = circle_search._without_utilities(ends, n, W, inside)(r)
    ranking = rankability(data, screen=True, n_samples=10).models["ranking"]
    p_value = cyclic_residuals(ranking, [None], 0).p_value
    monkeypatch.setattr(circle_search, "DENSE", 0)
    assert not inside.all()
    assert np.abs(dense[~inside]).max() < 1e-9
    np.testing.assert_allclose(circle_search._without_utilities(ends, n, W, inside)(r), dense, atol=1e-4)
    assert cyclic_residuals(ranking, [None], 0).p_value == pytest.approx(p_value, abs=0.01)


@pytest.mark.parametrize("what", ["a forest", "wins in order"])
def test_where_no_circle_could_be_seen_nothing_is_simulated(what, monkeypatch):
    if what == "a forest":
        data = shuffled(20, np.arange(19) // 2, np.arange(1, 20))
    else:
        first, second = np.triu_indices(8, 1)
        data = Comparisons(8, first, second)
    ranking = rankability(data, screen=True, n_samples=10).models["ranking"]
    found = cyclic_residuals(ranking, [None], 0)
    # as it is by simulation
    monkeypatch.setattr(circle_search, "pairs_in_circles", lambda low, high, n: np.ones(len(low), dtype=bool))
    monkeypatch.setattr(circle_search, "wins_in_order", lambda X: False)
    assert found == cyclic_residuals(ranking, [None], 0) == (1.0, 0, ())


@pytest.mark.slow
def test_circles_of_too_many_items_are_not_learned_in_passing_and_that_is_said():
    first, second = np.arange(12), (np.arange(12) + 1) % 12
    around = Comparisons(12, first, second, weight=np.full(12, 9))
    found = rank(around, limits=Limits(items_learned=11))
    assert found.rankability.hint
    assert set(found.rankability.models) == {"ranking"}
    assert any("too many items to look for circles by default" in one.text for one in found.warnings)
    assert rank(around, circles=True).rankability.found
