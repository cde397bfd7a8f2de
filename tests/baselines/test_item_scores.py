"""SerialRank, SVDRank, RankCentrality, PageRank: against dense matrices, known answers, invariances, separate parts."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.stats import kendalltau
from sklearn.model_selection import cross_val_score

from fast_share import every_seed
from preflearn import Comparisons
from preflearn.baselines import PageRank, RankCentrality, SerialRank, SVDRank, _item_scores, rank_centrality
from preflearn.exceptions import DataError, DataWarning

EVERY = [SerialRank(), SerialRank(normalised=False), SVDRank(), SVDRank(normalised=False), RankCentrality(), PageRank()]
of_each = pytest.mark.parametrize("model", EVERY, ids=repr)


def draw(seed, n=9, m=60, margins=False, noise=0.5):
    """Return comparisons by a utility, of all items, with repeats, ties and weights."""
    rng = np.random.default_rng(seed)
    utility = rng.normal(size=n)
    first = np.r_[np.arange(n), rng.integers(0, n, m)]
    second = (first + np.r_[np.ones(n, dtype=int), rng.integers(1, n, m)]) % n
    noisy = utility[first] - utility[second] + noise * rng.normal(size=n + m)
    outcome = noisy if margins else np.where(np.abs(noisy) < 0.1, 0.0, np.sign(noisy))
    return Comparisons(n, first, second, outcome, weight=rng.integers(1, 4, n + m).astype(float)), utility


def mean_outcomes(X, margins):
    """Return mean outcomes, and how often each pair met, as dense matrices, from a loop over comparisons."""
    total, count = np.zeros((2, X.n_items, X.n_items))
    for i, j, y, w in zip(X.first, X.second, X.outcome, X.weight, strict=True):
        y = y if margins else np.sign(y)
        total[i, j] += w * y
        total[j, i] -= w * y
        count[i, j] += w
        count[j, i] += w
    return total / np.maximum(count, 1), count


def closest(scores, C, count):
    """Return scores in the scale and sign of least squares."""
    apart = scores[:, None] - scores[None, :]
    return (scores - scores.mean()) * np.sum(count * C * apart) / np.sum(count * apart**2)


@every_seed(3, 20)
@pytest.mark.parametrize("normalised", [False, True])
def test_serial_rank_is_the_fiedler_vector_of_the_papers_similarity(seed, normalised):
    X, _ = draw(seed)
    C, count = mean_outcomes(X, margins=False)
    S = (X.n_items + C @ C.T) / 2
    D = S.sum(axis=1) if normalised else np.ones(X.n_items)
    laplacian = (np.diag(S.sum(axis=1)) - S) / np.sqrt(np.outer(D, D))
    fiedler = eigh(laplacian)[1][:, 1] / np.sqrt(D)
    np.testing.assert_allclose(SerialRank(normalised).fit(X).utilities_, closest(fiedler, C, count), atol=1e-8)


def test_the_normalised_laplacian_stands_few_and_noisy_comparisons_better():
    rng = np.random.default_rng(0)
    found = {True: [], False: []}
    for _ in range(6):
        utility = rng.normal(size=150)
        first = rng.integers(0, 150, 1500)
        second = (first + rng.integers(1, 150, 1500)) % 150
        won = rng.random(1500) < 1 / (1 + np.exp(utility[second] - utility[first]))
        X = Comparisons(150, first, second, np.where(won, 1, -1))
        for normalised, values in found.items():
            values.append(kendalltau(SerialRank(normalised).fit(X).utilities_, utility).statistic)
    assert np.mean(found[True]) > np.mean(found[False]) + 0.05


def test_the_small_second_eigenvalue_of_many_items_is_found(monkeypatch):
    # beside the leading eigenvalue 1 the next is 1e-4, and their difference counts
    X, _ = draw(0, n=400, m=2000, noise=0.1)
    C, count = mean_outcomes(X, margins=False)
    S = (X.n_items + C @ C.T) / 2
    root = np.sqrt(S.sum(axis=1))
    values, vectors = eigh(S / np.outer(root, root))
    assert values[-2] < 1e-3
    monkeypatch.setattr(_item_scores, "DENSE_LIMIT", 50)
    found = SerialRank().fit(X).utilities_
    np.testing.assert_allclose(found, closest(vectors[:, -2] / root, C, count), atol=1e-7)


@every_seed(3, 20)
@pytest.mark.parametrize("normalised", [False, True])
def test_svd_rank_is_what_is_orthogonal_to_one_in_the_leading_singular_vectors(seed, normalised):
    X, _ = draw(seed, margins=True)
    H, count = mean_outcomes(X, margins=True)
    D = np.abs(H).sum(axis=1) if normalised else np.ones(X.n_items)
    U = np.linalg.svd(H / np.sqrt(np.outer(D, D)))[0][:, :2]
    along = U @ (U.T @ (1 / np.sqrt(D)))
    across = U @ U.T - np.outer(along, along) / (along @ along)
    scores = np.sqrt(D) * eigh(across)[1][:, -1]
    np.testing.assert_allclose(SVDRank(normalised).fit(X).utilities_, closest(scores, H, count), atol=1e-8)


@every_seed(3, 20)
@pytest.mark.parametrize("prior", [0.0, 0.7])
def test_rank_centrality_is_the_stationary_distribution_of_the_walk(seed, prior):
    X, _ = draw(seed, m=400, noise=2.0)
    C, count = mean_outcomes(X, margins=False)
    share = np.where(count > 0, (count * (1 - C) / 2 + prior) / np.maximum(count + 2 * prior, 1e-9), 0)  # of the column
    P = share / (count > 0).sum(axis=1).max()
    P += np.diag(1 - P.sum(axis=1))
    np.testing.assert_allclose(P.sum(axis=1), 1)
    model = RankCentrality(prior).fit(X)
    walk = np.exp(model.utilities_) / np.exp(model.utilities_).sum()
    np.testing.assert_allclose(P.T @ walk, walk, rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    strength = np.exp(model.utilities_)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], strength[X.first] / (strength[X.first] + strength[X.second])
    )


@every_seed(3, 20)
def test_page_rank_is_the_stationary_distribution_of_a_walk_with_jumps(seed):
    X, _ = draw(seed, n=7, m=3)
    C, count = mean_outcomes(X, margins=False)
    lost = count * (1 - C) / 2
    n = X.n_items
    P = np.array([row / row.sum() if row.sum() else np.full(n, 1 / n) for row in lost])
    model = PageRank(0.6).fit(X)
    np.testing.assert_allclose(0.6 * model.scores_ @ P + 0.4 / n, model.scores_, rtol=1e-10)
    np.testing.assert_allclose(np.exp(model.utilities_ - model.utilities_[0]), model.scores_ / model.scores_[0])


@of_each
def test_an_order_that_all_pairs_agree_with_is_found(model):
    order = np.random.default_rng(0).permutation(12)
    i, j = np.triu_indices(12, 1)
    model.fit(Comparisons(12, order[i], order[j]))
    np.testing.assert_array_equal(np.argsort(-model.utilities_), order)


def test_exact_shares_and_margins_give_exact_strengths():
    utility = np.array([1.0, -0.5, 0.2, 0.7, -1.4])
    i, j = np.triu_indices(5, 1)
    won = 1 / (1 + np.exp(utility[j] - utility[i]))
    shares = Comparisons(5, np.r_[i, j], np.r_[j, i], weight=np.r_[won, 1 - won])
    np.testing.assert_allclose(RankCentrality(prior=0).fit(shares).utilities_, utility - utility.mean(), atol=1e-12)
    margins = Comparisons(5, i, j, utility[i] - utility[j])
    for normalised in (False, True):
        np.testing.assert_allclose(SVDRank(normalised).fit(margins).utilities_, utility - utility.mean(), atol=1e-12)


@of_each
@every_seed(2, 10)
def test_order_sides_and_repeats_do_not_matter(model, seed):
    X, utility = draw(seed)
    found = model.fit(X).utilities_
    assert kendalltau(found, utility).statistic > 0.3
    rng = np.random.default_rng(seed)
    name = rng.permutation(X.n_items)  # the new number of each item
    rows = rng.permutation(len(X))
    renamed = Comparisons(X.n_items, name[X.first][rows], name[X.second][rows], X.outcome[rows], weight=X.weight[rows])
    np.testing.assert_allclose(model.fit(renamed).utilities_[name], found, atol=1e-9)
    turned = X.swapped(rng.random(len(X)) < 0.5)
    np.testing.assert_allclose(model.fit(turned).utilities_, found, atol=1e-12)
    reversed_ = Comparisons(X.n_items, X.first, X.second, -X.outcome, weight=X.weight)
    if isinstance(model, SerialRank | SVDRank):  # walks follow losses
        np.testing.assert_allclose(model.fit(reversed_).utilities_, -found, atol=1e-9)
    listed = X[np.repeat(np.arange(len(X)), X.weight.astype(int))]
    plain = Comparisons(X.n_items, listed.first, listed.second, listed.outcome)
    np.testing.assert_allclose(model.fit(plain).utilities_, found, atol=1e-12)


@of_each
def test_separate_parts_are_ranked_by_themselves_and_warned_of(model):
    one, _ = draw(0, n=6)
    other, _ = draw(1, n=5)
    both = Comparisons(
        12,  # the last is never compared
        np.r_[one.first, 6 + other.first],
        np.r_[one.second, 6 + other.second],
        np.r_[one.outcome, other.outcome],
        weight=np.r_[one.weight, other.weight],
    )
    with pytest.warns(DataWarning, match="3 separate parts"):
        found = model.fit(both).utilities_
    if isinstance(model, PageRank):  # jumps connect them
        return
    np.testing.assert_allclose(found[:6], model.fit(one).utilities_, atol=1e-12)
    np.testing.assert_allclose(found[6:11], model.fit(other).utilities_, atol=1e-12)
    assert found[11] == 0


@of_each
def test_comparisons_of_weight_zero_are_not_there(model):
    X, _ = draw(3)
    more = Comparisons(
        X.n_items, np.r_[X.first, 0, 1], np.r_[X.second, 1, 2], np.r_[X.outcome, 1, -1], weight=np.r_[X.weight, 0, 0]
    )
    np.testing.assert_array_equal(model.fit(more).utilities_, model.fit(X).utilities_)
    with pytest.warns(DataWarning, match="2 separate parts"):  # nothing is known across
        model.fit(Comparisons(4, [0, 2, 1], [1, 3, 2], weight=[1, 1, 0]))


@pytest.mark.parametrize(
    "model",
    [SerialRank(), SerialRank(normalised=False), SVDRank(), SVDRank(normalised=False), RankCentrality()],
    ids=repr,
)
def test_iterations_find_what_dense_matrices_do(model, monkeypatch):
    X, _ = draw(4, n=80, m=1500)
    found = model.fit(X).utilities_
    monkeypatch.setattr(_item_scores, "DENSE_LIMIT", 50)
    monkeypatch.setattr(rank_centrality, "DIRECT_LIMIT", 50)

    def never(*_):
        raise AssertionError("a dense matrix was decomposed")

    monkeypatch.setattr(_item_scores, "eigh", never)
    monkeypatch.setattr(rank_centrality, "splu", never)
    np.testing.assert_allclose(model.fit(X).utilities_, found, atol=1e-7)


@pytest.mark.parametrize("model", [SerialRank(), SVDRank()], ids=repr)
def test_iterations_start_where_everyone_won_as_often_as_lost(model, monkeypatch):
    monkeypatch.setattr(_item_scores, "DENSE_LIMIT", 50)
    ring = Comparisons(60, np.arange(60), (np.arange(60) + 1) % 60)
    np.testing.assert_allclose(model.fit(ring).utilities_, 0, atol=1e-12)


def test_where_iterations_do_not_converge_dense_matrices_step_in_or_it_says_so(monkeypatch):
    ladder = Comparisons(120, np.arange(119), np.arange(1, 120))
    expected = {type(model): model.fit(ladder).utilities_ for model in (SVDRank(), RankCentrality())}

    def fails(*_, **__):
        raise _item_scores.ArpackNoConvergence("no", [], [])

    monkeypatch.setattr(_item_scores, "DENSE_LIMIT", 50)
    monkeypatch.setattr(rank_centrality, "DIRECT_LIMIT", 50)
    monkeypatch.setattr(_item_scores, "eigsh", fails)
    monkeypatch.setattr(rank_centrality, "eigs", fails)
    for kind, found in expected.items():
        np.testing.assert_array_equal(kind().fit(ladder).utilities_, found)
    np.testing.assert_allclose(np.diff(expected[RankCentrality]), -np.log(2), rtol=1e-12)  # 2^119 apart
    monkeypatch.setattr(_item_scores, "MOST_DENSE", 100)
    with pytest.raises(DataError, match="connect them too loosely"):
        SVDRank().fit(ladder)


@of_each
def test_items_are_matched_by_name(model):
    named = Comparisons(None, ["ann", "bob", "cy", "ann"], ["bob", "cy", "ann", "cy"], [1, 1, -1, 1])
    model.fit(named)
    u = dict(zip(named.names, model.utilities_, strict=True))
    asked = Comparisons(None, ["cy", "bob"], ["ann", "ann"])
    np.testing.assert_allclose(model.decision_function(asked), [u["cy"] - u["ann"], u["bob"] - u["ann"]])
    np.testing.assert_array_equal(model.predict(asked), [-1, -1])
    assert model.score(named) == 1
    with pytest.raises(DataError, match='"eve"'):
        model.decision_function(Comparisons(None, ["ann"], ["eve"]))
    features = Comparisons(np.eye(3), named.first, named.second, named.outcome)  # are not used
    np.testing.assert_array_equal(model.fit(features).utilities_, [u[name] for name in named.names])
    assert model.score(features) == 1
    with pytest.raises(DataError, match="row number"):
        model.decision_function(Comparisons(4, [0], [3]))


@of_each
def test_cross_validation_and_mistakes(model):
    X, _ = draw(5, m=300)
    assert cross_val_score(model, X, cv=3).mean() > 0.6
    with pytest.raises(TypeError, match="learns from Comparisons"):
        model.fit(np.eye(3))
    with pytest.raises(TypeError, match="predicts Comparisons; got ndarray"):
        model.fit(X).predict(np.eye(3))
    with pytest.raises(DataError, match="no comparisons to learn from"):
        model.fit(X[:0])
    with pytest.raises(DataError, match="all 1 comparisons have weight 0"):
        model.fit(Comparisons(3, [0, 1], [1, 2], weight=[0, 1])[:1])
    with pytest.warns(DataWarning, match="all pairs are tied"):
        model.fit(Comparisons(3, [0, 1], [1, 2], [0, 0], weight=[1, 2]))
    assert np.isfinite(model.utilities_).all()


def test_a_walk_that_cannot_return_is_refused():
    chain = Comparisons(None, ["ann", "bob"], ["bob", "cy"])
    with pytest.raises(DataError, match=r"3 groups.*does not come back.*prior"):
        RankCentrality(prior=0).fit(chain)
    assert np.all(np.diff(RankCentrality().fit(chain).utilities_) < 0)
