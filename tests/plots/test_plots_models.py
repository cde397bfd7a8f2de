"""What is drawn is what the model says: utility, evidence and relevances."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from scipy.stats import norm
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from preflearn import LabelPreferenceGP, PreferenceGP
from preflearn.plots import plot_evidence, plot_relevances, plot_utility


def line(ax, label):
    return next(line for line in ax.lines if line.get_label() == label)


def band(ax):
    """Lower and upper edge of the band as functions of x."""
    vertices = ax.collections[0].get_paths()[0].vertices
    x = np.unique(vertices[:, 0])
    edges = [[vertices[vertices[:, 0] == value, 1].min(), vertices[vertices[:, 0] == value, 1].max()] for value in x]
    return x, np.array(edges).T


def of_labels():
    return LabelPreferenceGP(hyperparameters="fixed").fit([[0.0], [1.0]], ["a", "b"])


@pytest.mark.parametrize("feature", [0, 1, -1])
def test_the_curve_is_the_utility_less_its_mean_at_the_medians(model, matches, axes, feature):
    plot_utility(model, feature, n_points=40, ax=axes)
    x, mean = line(axes, "posterior mean").get_data()
    items = matches.items[matches.used_items()]
    assert (x[0], x[-1]) == (items[:, feature].min(), items[:, feature].max())
    curve = np.tile(np.median(items, axis=0), (40, 1))
    curve[:, feature] = x
    utility, covariance = model.predict_utility(curve, return_cov=True)
    np.testing.assert_allclose(mean, utility - utility.mean(), atol=1e-12)
    centre = np.eye(40) - 1 / 40
    width = norm.ppf(0.975) * np.sqrt(np.diag(centre @ covariance @ centre))
    where, (low, high) = band(axes)
    np.testing.assert_allclose(where, x)
    np.testing.assert_allclose(low, mean - width, atol=1e-9)
    np.testing.assert_allclose(high, mean + width, atol=1e-9)
    np.testing.assert_array_equal(np.sort(line(axes, "training items").get_xdata()), np.sort(items[:, feature]))
    assert axes.get_ylabel() == "utility minus its mean along the curve"


def test_a_reference_point_has_utility_zero_and_no_uncertainty(model, axes):
    plot_utility(model, 0, at={1: 0.3}, reference=0.5, n_points=30, level=0.8, ax=axes)
    x, mean = line(axes, "posterior mean").get_data()
    items = np.column_stack([np.append(x, 0.5), np.full(31, 0.3)])
    draws = model.sample_utilities(items, 100_000, random_state=0)
    difference = draws[:, :-1] - draws[:, -1:]
    np.testing.assert_allclose(mean, difference.mean(axis=0), atol=0.03)
    _, (low, high) = band(axes)
    np.testing.assert_allclose([low, high], np.quantile(difference, [0.1, 0.9], axis=0), atol=0.05)
    nearest = np.abs(x - 0.5).argmin()
    assert high[nearest] - low[nearest] < 0.2 * (high - low).max()
    assert axes.get_ylabel() == "utility minus that at feature 0 = 0.5"


def test_names_others_items_and_a_second_curve(model, matches, axes):
    named = clone(model).fit(matches)
    named.feature_names_in_ = np.array(["age", "size"], dtype=object)
    other = np.array([[0.0, 0.0], [1.0, 4.0], [0.5, 1.0]])
    plot_utility(named, "size", at=[0.4, 9.0], items=other, label="at 0.4", n_points=5, ax=axes)
    plot_utility(named, "size", at={"age": 1.0}, items=other, label="at 1", color="black", n_points=5, ax=axes)
    assert axes.get_xlabel() == "size"
    np.testing.assert_allclose(line(axes, "at 0.4").get_xdata(), np.linspace(0, 4, 5))
    assert sum(one.get_label() == "items" for one in axes.lines) == 1
    whole = plot_utility(named, items=matches, n_points=5, ax=axes.figure.add_subplot())
    assert line(whole, "posterior mean").get_xdata()[0] == matches.items[matches.used_items(), 0].min()


@pytest.mark.slow
@pytest.mark.parametrize("names", [(0, 1), ("length scale of feature 1", "variance")])
def test_contours_lie_where_the_evidence_drops_by_their_level(model, axes, names):
    plot_evidence(model, *names, limits=[(0.5, 20), (0.3, 10)], n_points=25, ax=axes)
    index = [{"variance": 0, "length scale of feature 1": 2}.get(name, name) for name in names]
    rings = axes.collections[1]
    assert rings.levels[-1] == -1
    checked = 0
    for level, path in zip(rings.levels, rings.get_paths(), strict=True):
        for vertex in path.vertices[::4]:
            theta = model.theta_.copy()
            theta[index] = np.log(vertex)
            # interpolation between the points of the grid
            assert model.log_evidence(theta)[0] - model.log_evidence_ == pytest.approx(level, abs=0.25, rel=0.1)
            checked += 1
    assert checked > 10
    chosen = line(axes, "chosen")
    np.testing.assert_allclose(np.log(chosen.get_data()).ravel(), model.theta_[index])


def test_names_of_parameters_are_all_different(matches, axes):
    kernel = ConstantKernel(2.0) * RBF([1.0, 3.0]) + RBF([2.0, 2.0]) + RBF(5.0)
    mixed = PreferenceGP(kernel, hyperparameters="fixed", own_effect=True).fit(matches)
    plot_evidence(mixed, "length scale", "own effect variance", n_points=3, ax=axes)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("length scale", "own effect variance")
    with pytest.raises(ValueError, match=r'nearest names: "length scale of feature 0 \([13]\)"'):
        plot_evidence(mixed, "length scale of feature 0")


def test_every_optimum_is_marked_once(model, axes):
    ends = [model.optima_[0].theta, model.optima_[0].theta + 1e-4, model.optima_[0].theta + 1.0]
    several = clone(model)
    drops = [0.0, 1e-4, 2.5]
    optima = [SimpleNamespace(theta=a, evidence=model.log_evidence_ - b) for a, b in zip(ends, drops, strict=True)]
    several.__dict__.update(model.__dict__, optima_=optima)
    plot_evidence(several, n_points=4, ax=axes)
    np.testing.assert_allclose(np.log(line(axes, "other optima").get_xydata()), [ends[2][:2]])
    limits = np.log([axes.get_xlim(), axes.get_ylim()])
    assert (limits[:, 0] <= ends[2][:2]).all()
    assert (ends[2][:2] <= limits[:, 1]).all()


def test_optima_beside_a_curve_are_at_their_own_evidence(model, axes):
    best = model.theta_
    # the second differs in the other parameters only, the last is too far below
    ends = {(0.0, 1.0, 0.0): 4.0, (1.0, 0.0, 1.0): 7.0, (0.0, 0.5, 0.0): 31.0}
    optima = [SimpleNamespace(theta=best, evidence=model.log_evidence_)]
    optima += [SimpleNamespace(theta=best + step, evidence=model.log_evidence_ - drop) for step, drop in ends.items()]
    several = clone(model)
    several.__dict__.update(model.__dict__, optima_=optima)
    plot_evidence(several, 1, None, n_points=5, ax=axes)
    wanted = [[np.exp(best[1] + 1), -4], [np.exp(best[1]), -7]]
    np.testing.assert_allclose(line(axes, "other optima").get_xydata(), wanted)


def test_small_drops_are_written_out_at_the_ticks(model, axes):
    alone = clone(model)
    alone.__dict__.update(model.__dict__, optima_=model.optima_[:1])
    plot_evidence(alone, 2, None, limits=[np.exp(model.theta_[2] + np.array([-1e-3, 1e-3]))], n_points=5, ax=axes)
    FigureCanvasAgg(axes.figure).draw()
    assert axes.yaxis.get_offset_text().get_text() == ""
    assert any("e\N{MINUS SIGN}" in text.get_text() for text in axes.get_yticklabels())


def test_parameters_go_by_their_names_in_the_model_too(model, axes):
    assert model.theta_names_ == ("constant value", "length scale 0", "length scale 1")
    plot_evidence(model, "length scale 1", "constant value", n_points=3, ax=axes)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("length scale of feature 1", "variance")


@pytest.mark.parametrize(
    "options", [{"x": "length scale of feature 0", "y": None}, {"x": 1, "y": None}, {"x": "length scale 0", "y": None}]
)
def test_one_parameter_is_a_curve(model, axes, options):
    plot_evidence(model, **options, n_points=9, ax=axes)
    x, drop = axes.lines[0].get_data()
    for value, below in zip(x, drop, strict=True):
        theta = model.theta_.copy()
        theta[1] = np.log(value)
        assert below == pytest.approx(model.log_evidence(theta)[0] - model.log_evidence_, abs=1e-6)
    assert drop.max() <= 0
    np.testing.assert_allclose(line(axes, "chosen").get_xydata(), [[np.exp(model.theta_[1]), 0]], atol=1e-12)
    assert axes.get_xscale() == "log"
    assert axes.get_xlabel() == "length scale of feature 0"


def test_a_model_with_one_parameter_needs_no_y(unnamed, axes):
    plot_evidence(unnamed, n_points=5, ax=axes)
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("variance", "log evidence minus its maximum")


def test_evidence_that_is_not_finite_leaves_a_hole(model, axes):
    broken = clone(model)
    broken.__dict__.update(model.__dict__)
    broken.log_evidence = lambda theta: (np.nan if theta[0] > model.theta_[0] else -((theta[1] - 1) ** 2), None)
    broken.log_evidence_ = 0.0
    plot_evidence(broken, n_points=7, ax=axes)
    plot_evidence(broken, y=None, n_points=7, ax=axes.figure.add_subplot())


def test_relevances_are_shares_of_inverse_squares(model, axes):
    plot_relevances(model, ax=axes)
    kappa = 1 / np.asarray(model.kernel_.k2.length_scale) ** 2
    np.testing.assert_allclose([bar.get_width() for bar in axes.patches], np.sort(kappa / kappa.sum())[::-1])
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels == [f"feature {k}" for k in np.argsort(-kappa)]
    assert axes.yaxis_inverted()


def test_many_relevances_are_summed_up_without_overflow(axes):
    scales = np.array([1e-200, 1e-200, 1e150, 2e-200, 4e-200])
    plot_relevances(RBF(scales) + WhiteKernel(), top=2, ax=axes)
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(widths, [16 / 37, 16 / 37, 5 / 37])
    assert [text.get_text() for text in axes.get_yticklabels()] == ["feature 0", "feature 1", "3 others"]


@pytest.mark.parametrize(
    ("draw", "error", "message"),
    [
        (lambda m, u: plot_utility(m, 2), ValueError, "feature=2, but there are 2"),
        (lambda m, u: plot_utility(m, "feature 7"), ValueError, 'nearest names: "feature'),
        (lambda m, u: plot_utility(m, 0.5), TypeError, "number or a name"),
        (lambda m, u: plot_utility(m, at=[1.0]), ValueError, "one value per feature"),
        (lambda m, u: plot_utility(m, at={"weight": 1.0}), ValueError, "is not known"),
        (lambda m, u: plot_utility(m, at=[np.nan, 1.0]), ValueError, "not finite"),
        (lambda m, u: plot_utility(m, items=np.zeros((3, 5))), ValueError, "fitted on 2 features"),
        (lambda m, u: plot_utility(m, reference="median"), ValueError, 'use "mean"'),
        (lambda m, u: plot_utility(m, reference=np.inf), ValueError, "finite"),
        (lambda m, u: plot_utility(m, level=95), ValueError, "level is 95"),
        (lambda m, u: plot_utility(m, n_points=1), ValueError, "at least 2"),
        (lambda m, u: plot_utility(u), ValueError, "plot_ranking"),
        (lambda m, u: plot_utility(PreferenceGP()), ValueError, "not fitted"),
        (lambda m, u: plot_utility(PreferenceGP), TypeError, "is the class"),
        (lambda m, u: plot_utility("model"), TypeError, "give a fitted PreferenceGP"),
        (lambda m, u: plot_utility(of_labels()), TypeError, "give a fitted PreferenceGP; LabelPreferenceGP has"),
        (lambda m, u: plot_utility(m, ax=[1]), TypeError, "one matplotlib Axes"),
        (lambda m, u: plot_evidence(m, 0, 0), ValueError, "both 'variance'"),
        (lambda m, u: plot_evidence(m, "lenght scale"), ValueError, "is not known"),
        (lambda m, u: plot_evidence(m, n_points=1), ValueError, "at least 2"),
        (lambda m, u: plot_evidence(m, limits=(1, 2)), ValueError, "2 pairs"),
        (lambda m, u: plot_evidence(m, limits=[(1, 2), (0, 2)]), ValueError, "0 < low < high"),
        (lambda m, u: plot_evidence(u, 0, 2), ValueError, "y=2, but there are 1"),
        (lambda m, u: plot_relevances(m, top=0), ValueError, "top must be .*got 0"),
        (lambda m, u: plot_relevances(u), ValueError, "no length scale per feature"),
        (lambda m, u: plot_relevances(2.0 * RBF(0.5)), ValueError, "one length scale for all features"),
        (lambda m, u: plot_relevances(RBF([1, 2]) + RBF([2, 1])), ValueError, "Pass one part"),
    ],
)
def test_mistakes_are_explained_and_open_no_figure(model, unnamed, draw, error, message):
    with pytest.raises(error, match=message):
        draw(model, unnamed)


def test_a_model_without_free_parameters_has_no_surface(matches):
    fixed = PreferenceGP(RBF(1.0, "fixed")).fit(matches)
    with pytest.raises(ValueError, match="no free hyperparameters"):
        plot_evidence(fixed)
