"""Calibration and ranking: the drawn numbers, where they are drawn, and what is needed to draw."""

import subprocess
import sys
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.stats import binomtest

from preflearn import Comparisons, RankRLS
from preflearn.data import from_winners
from preflearn.exceptions import DataWarning
from preflearn.metrics import expected_calibration_error
from preflearn.plots import plot_calibration, plot_evidence, plot_ranking, plot_relevances, plot_utility


def points(ax, k=-1):
    """Markers of a curve with their intervals."""
    container = ax.containers[k]
    bars = np.array([segment[:, 1] for segment in container.lines[2][0].get_segments()])
    return container.lines[0].get_xydata(), bars


def counts(ax):
    return [text.get_text() for text in ax.texts if text.get_gid() == "count"]


@pytest.mark.parametrize("n_bins", [1, 2, 9, 10])
def test_markers_are_shares_of_wins_of_the_predicted_winner(model, fresh, axes, n_bins):
    plot_calibration(model, fresh, n_bins, ax=axes)
    probability = model.predict_proba(fresh)
    table = {}
    for p, y, w in zip(probability[:, 1], fresh.outcome, fresh.weight, strict=True):
        chance, won = (p, y > 0) if p > 0.5 else (1 - p, y < 0)
        edge = int(min(chance * n_bins, n_bins - 1))
        if n_bins % 2 and edge == n_bins // 2 and n_bins > 1:
            continue  # around 1/2
        table.setdefault(edge, []).append((chance, won, w))
    drawn, bars = points(axes)
    if n_bins == 1:
        np.testing.assert_allclose(drawn, [[0.5, 0.5]])
        return
    for (edge, rows), (x, y), bar, count in zip(sorted(table.items()), drawn, bars, counts(axes), strict=True):
        chance, won, weight = np.array(rows).T
        assert x == pytest.approx(np.average(chance, weights=weight))
        assert y == pytest.approx(np.average(won, weights=weight))
        assert count == f"{weight.sum():g}"
        exact = binomtest(round(won @ weight), round(weight.sum())).proportion_ci(method="exact")
        assert tuple(bar) == pytest.approx((exact.low, exact.high), abs=1e-8), edge
    error = expected_calibration_error(fresh.outcome, probability[:, 1], n_bins=n_bins, sample_weight=fresh.weight)
    assert axes.get_legend().get_texts()[-1].get_text() == f"calibration error {error:.3f}"


def test_sides_probabilities_and_outcomes_give_the_same_picture(model, fresh):
    axes = plt.figure().subplots(1, 4)
    turned = fresh.swapped(np.arange(len(fresh)) % 2 == 0)
    plain = Comparisons(fresh.items, fresh.first, fresh.second, fresh.outcome)
    plot_calibration(model, fresh, ax=axes[0])
    plot_calibration(model, turned, ax=axes[1])
    plot_calibration(model.predict_proba(plain), plain, ax=axes[2])
    plot_calibration(model.predict_proba(plain)[:, 1], plain.outcome, ax=axes[3])
    np.testing.assert_allclose(points(axes[0])[0], points(axes[1])[0], atol=1e-12)
    np.testing.assert_allclose(points(axes[2])[0], points(axes[3])[0], atol=1e-12)
    assert sum(map(float, counts(axes[3]))) == len(fresh)
    assert sum(map(float, counts(axes[0]))) == fresh.weight.sum()
    plt.close()


def test_a_second_curve_shares_the_diagonal_and_has_its_own_counts(axes):
    plot_calibration([0.9, 0.8, 0.6], [1, -1, 1], label="a", ax=axes)
    plot_calibration([0.7, 0.8, 0.6], [1, -1, 1], label="b", color="black", marker="s", ax=axes)
    assert sum(line.get_gid() == "calibrated" for line in axes.lines) == 1
    heights = {text.xy[1] for text in axes.texts if text.get_gid() == "count"}
    assert len(heights) == 2
    assert [text.get_text()[:2] for text in axes.get_legend().get_texts()] == ["ca", "a ", "b "]


def test_zero_for_lost_is_noticed_in_outcomes_but_not_in_comparisons(axes):
    with pytest.warns(DataWarning, match="plot_calibration: outcome has only the values 0") as caught:
        plot_calibration([0.9, 0.8, 0.6], [1, 0, 1], ax=axes)
    assert caught[0].filename == __file__
    plot_calibration([0.9, 0.8], from_winners(["a", "b"], ["b", "c"], tie=[True, False]), ax=axes)


def test_the_legend_lies_above_the_picture(fresh):
    rng = np.random.default_rng(0)
    ax = plot_calibration(rng.uniform(size=20), fresh[:20], label="one")
    plot_calibration(rng.uniform(size=20), fresh[:20], label="other", ax=ax)
    ax.figure.canvas.draw()
    legend = ax.get_legend().get_window_extent()
    assert legend.y0 >= ax.bbox.y1
    assert legend.y1 <= ax.figure.bbox.y1
    plt.close(ax.figure)


def test_extreme_probabilities_are_drawn(axes):
    plot_calibration([1.0, 0.0, 1.0], [1, -1, 1], ax=axes)
    np.testing.assert_array_equal(points(axes)[0], [[1, 1]])
    plot_calibration([0.5, 0.5], [1, 1], ax=axes)
    np.testing.assert_array_equal(points(axes)[0], [[0.5, 0.5]])


def ranking(n=5, **changes):
    rng = np.random.default_rng(0)
    utility = rng.permutation(n).astype(float)
    whole = {"names": [f"i{k:.0f}" for k in utility], "utility": utility, "low": utility - 1, "high": utility + 2}
    return {**whole, **changes}


@pytest.mark.parametrize("kind", [dict, SimpleNamespace])
def test_the_best_item_is_at_the_top_with_its_interval(axes, kind):
    given = ranking(level=0.9)
    plot_ranking(given if kind is dict else SimpleNamespace(**given), ax=axes)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["i4", "i3", "i2", "i1", "i0"]
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[4, 0], [3, 1], [2, 2], [1, 3], [0, 4]])
    segments = np.array(axes.collections[0].get_segments())
    np.testing.assert_array_equal(segments[:, :, 0], [[3, 6], [2, 5], [1, 4], [0, 3], [-1, 2]])
    assert axes.yaxis_inverted()
    assert "90 % interval" in axes.get_xlabel()


def test_what_rank_returns_is_drawn(model, axes):
    result = model.rank(random_state=0)
    plot_ranking(result, ax=axes)
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), result.utility)
    assert [text.get_text() for text in axes.get_yticklabels()] == [str(name) for name in result.names]
    assert "90 % interval" in axes.get_xlabel()


def test_only_the_best_and_items_without_names(axes):
    plot_ranking(ranking(names=None), top=2, level=0.5, ax=axes)
    best = np.argsort(-ranking()["utility"])[:2]
    assert [text.get_text() for text in axes.get_yticklabels()] == [f"item {k}" for k in best]
    assert axes.get_title(loc="left") == "the best 2 of 5 items"


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda m, c: plot_calibration(m, c.outcome), TypeError, "a model predicts Comparisons"),
        (lambda m, c: plot_calibration(RankRLS().fit(c), c), TypeError, "predict_proba"),
        (lambda m, c: plot_calibration([0.5, 1.5], [1, 1]), ValueError, "between 0 and 1"),
        (lambda m, c: plot_calibration([[0.5, 0.6]], [1]), ValueError, "sum to 1"),
        (lambda m, c: plot_calibration([0.5], [1, 1]), ValueError, "rows"),
        (lambda m, c: plot_calibration([0.5], [1], 0), ValueError, "n_bins"),
        (lambda m, c: plot_calibration([0.5], [1], level=1.0), ValueError, "level"),
        (lambda m, c: plot_ranking([1, 2]), TypeError, "has no utility"),
        (lambda m, c: plot_ranking(ranking(low=None)), TypeError, "has no low"),
        (lambda m, c: plot_ranking(ranking(low=[0.0])), ValueError, "one of each"),
        (lambda m, c: plot_ranking(ranking(high=np.ones(5))), ValueError, "not half-widths"),
        (lambda m, c: plot_ranking(ranking(utility=[np.nan] * 5)), ValueError, "finite"),
        (lambda m, c: plot_ranking(ranking(), top=0), ValueError, "top must be .*got 0"),
    ],
)
def test_mistakes_are_explained_and_open_no_figure(model, matches, draw, error, message):
    with pytest.raises(error, match=message):
        draw(model, matches)


@pytest.mark.parametrize(
    "draw",
    [
        lambda m, c: plot_utility(m, n_points=5),
        lambda m, c: plot_evidence(m, n_points=3),
        lambda m, c: plot_relevances(m),
        lambda m, c: plot_calibration(m, c),
        lambda m, c: plot_ranking(ranking()),
    ],
)
def test_without_axes_one_new_figure_is_made_and_it_can_be_saved(model, fresh, draw, tmp_path):
    ax = draw(model, fresh)
    assert len(plt.get_fignums()) == 1
    assert ax.get_xlabel()
    ax.figure.savefig(tmp_path / "figure.png")
    plt.close(ax.figure)


@pytest.mark.slow
def test_without_matplotlib_the_message_names_the_extra():
    code = (
        "import sys; sys.modules['matplotlib'] = None; import preflearn.plots as p\n"
        "for draw in p.__all__:\n"
        "    try: getattr(p, draw)(None, *[None] * (draw == 'plot_calibration'))\n"
        "    except ImportError as error: print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(out) == 9
    assert all('pip install "preflearn[plot]"' in line for line in out)
    assert out[0].startswith("plot_calibration draws with matplotlib")
