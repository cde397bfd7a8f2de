"""Pictures of structure show what the matrix, the clusters and the verdict say."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process.kernels import ConstantKernel

from preflearn import Comparisons, PreferenceGP
from preflearn.plots import plot_comparison_graph, plot_preferences, plot_shares, plot_spectrum
from preflearn.structure import ComparableClusters, rankability


@pytest.fixture(scope="module")
def circle():
    return Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"], weight=[9, 9, 9])


@pytest.fixture(scope="module")
def groups():
    first, second = np.triu_indices(8, 1)
    same = (first < 4) == (second < 4)
    return Comparisons(8, first[same], second[same], weight=np.full(12, 5.0))


def test_the_matrix_is_drawn_in_an_order_that_shows_structure(groups, axes):
    model = PreferenceGP(cyclic_kernel=ConstantKernel(4.0), hyperparameters="fixed").fit(groups)
    clusters = ComparableClusters(2, model=model, random_state=0).fit(groups)
    plot_preferences(model, clusters=clusters, ax=axes)
    shown = np.asarray(axes.images[0].get_array())
    P = model.preference_matrix().probability
    order = [int(text.get_text()) for text in axes.get_yticklabels()]
    np.testing.assert_array_equal(shown, P[np.ix_(order, order)])
    assert {frozenset(order[:4]), frozenset(order[4:])} == {frozenset(range(4)), frozenset(range(4, 8))}
    assert order[:4] == sorted(order[:4])
    assert len(axes.lines) == 2
    matrix = model.preference_matrix([3, 1])
    other = plot_preferences(matrix, ax=Figure().subplots())
    assert [text.get_text() for text in other.get_yticklabels()] == ["1", "3"]


def test_the_spectrum_marks_the_values_of_the_clusters(groups, axes):
    clusters = ComparableClusters("auto", "svd", random_state=0).fit(groups)
    plot_spectrum(clusters, ax=axes)
    np.testing.assert_array_equal(axes.lines[1].get_ydata(), clusters.singular_values_[:4])
    assert "2 clusters" in axes.get_legend().get_texts()[0].get_text()


def test_shares_are_those_of_the_verdict(circle, axes):
    found = rankability(circle, n_samples=10)
    plot_shares(found, ax=axes)
    widths = [bar.get_width() for bar in axes.patches]
    np.testing.assert_allclose(
        widths,
        [found.ranking_share, found.cyclic_share, 0, found.hodge.gradient, found.hodge.curl, found.hodge.harmonic],
    )


def test_arrows_lead_from_winners_and_cycles_are_marked(circle, axes):
    plot_comparison_graph(circle, cycles=[(0.9, ["rock", "scissors", "paper"])], ax=axes)
    arrows = [text for text in axes.texts if hasattr(text, "arrow_patch") and text.arrow_patch is not None]
    assert len(arrows) == 3
    assert {text.get_text() for text in axes.texts} - {""} == {"rock", "paper", "scissors"}
    plain = plot_comparison_graph(circle, ax=Figure().subplots())
    colours = [text.arrow_patch.get_edgecolor() for text in plain.texts if getattr(text, "arrow_patch", None)]
    marked = [text.arrow_patch.get_edgecolor() for text in arrows]
    assert colours != marked


def test_mistakes_are_explained(circle, groups, axes):
    model = PreferenceGP(cyclic_kernel=ConstantKernel(), hyperparameters="fixed").fit(groups)
    with pytest.raises(TypeError, match="preference_matrix"):
        plot_preferences([1], ax=axes)
    with pytest.raises(TypeError, match="has them already"):
        plot_preferences(model.preference_matrix(), [1], ax=axes)
    with pytest.raises(ValueError, match="clusters are of 8 items, and 2"):
        plot_preferences(model, [1, 2], clusters=ComparableClusters(2, "svd").fit(groups), ax=axes)
    with pytest.raises(TypeError, match="ComparableClusters"):
        plot_spectrum(model, ax=axes)
    with pytest.raises(TypeError, match="rankability"):
        plot_shares(model, ax=axes)
    with pytest.raises(TypeError, match="give Comparisons"):
        plot_comparison_graph(model, ax=axes)
    with pytest.raises(ValueError, match="'spock' of a cycle"):
        plot_comparison_graph(circle, cycles=[["rock", "spock"]], ax=axes)
    with pytest.raises(TypeError, match="give fitted ComparableClusters; got list"):
        plot_preferences(model, clusters=[0, 1], ax=axes)
    for plot in (lambda clusters: plot_preferences(model, clusters=clusters, ax=axes), plot_spectrum):
        with pytest.raises(NotFittedError, match=r"not fitted\. Call fit"):
            plot(ComparableClusters(2))
    for cycles in (3, "rock"):
        with pytest.raises(TypeError, match="cycles must be a list of cycles, each a list of items; got"):
            plot_comparison_graph(circle, cycles=cycles, ax=axes)
    for cycles in ([3], ["rock", "paper"]):
        with pytest.raises(TypeError, match="a cycle must be a list of items; got"):
            plot_comparison_graph(circle, cycles=cycles, ax=axes)


def test_one_item_is_drawn(axes):
    data = Comparisons([[0.0], [1.0], [2.0]], ["a", "b"], ["b", "c"], names=["a", "b", "c"])
    model = PreferenceGP(cyclic_kernel="rbf", hyperparameters="fixed").fit(data)
    plot_preferences(model, items=["a"], ax=axes)
    assert np.asarray(axes.images[0].get_array()).tolist() == [[0.5]]
