"""make_noisy_parse_ranking: every sentence of its model, and the measured facts that its defaults claim to resemble."""

from __future__ import annotations

import numpy as np
import pytest

from preflearn.datasets import make_noisy_parse_ranking


def group_means(values, group):
    code = np.unique(group, return_inverse=True)[1]
    return np.bincount(code, values)[code] / np.bincount(code)[code]


def within_pairs(group):
    """Row numbers of all pairs of one sentence."""
    i, j = np.triu_indices(len(group), 1)
    same = group[i] == group[j]
    return i[same], j[same]


def slope(values):
    return np.polyfit(np.log(np.arange(1, len(values) + 1)), np.log(values), 1)[0]


@pytest.fixture(scope="module")
def data():
    return make_noisy_parse_ranking(random_state=0)


def test_counts_are_those_of_the_paper(data):
    assert (data.train.n_items, data.test.n_items) == (500, 2698)
    assert not set(data.train.group.tolist()) & set(data.test.group.tolist())
    assert data.train.n_groups + data.test.n_groups == pytest.approx(1100, abs=15)


def test_sentence_sizes(data):
    sizes = np.bincount(np.concatenate([data.train.group, data.test.group]))
    assert sizes.max() == 3
    assert sizes.min() == 1
    assert (sizes == 3).mean() == pytest.approx(0.938, abs=0.025)
    assert np.bincount(make_noisy_parse_ranking(500, 10, max_parses=5, random_state=0).train.group).max() == 5


def test_clean_scores_are_in_the_unit_interval_and_fractions(data):
    for ratings in (data.train, data.test):
        assert ratings.score.min() >= 0.0
        assert ratings.score.max() == 1.0
    np.testing.assert_array_equal(data.train.score, data.clean)
    for sentence in range(20):
        score = data.train.score[data.train.group == sentence]
        assert any(np.allclose(score * links, np.round(score * links), atol=1e-9) for links in range(12, 61))


def test_scores_resemble_the_measured_ones(data):
    score, group = data.test.score, data.test.group
    means = group_means(score, group)
    first = np.r_[True, np.diff(group) != 0]
    assert score.mean() == pytest.approx(0.62, abs=0.02)
    assert means[first].std() == pytest.approx(0.18, abs=0.02)
    assert np.sqrt(((score - means) ** 2).sum() / (len(score) - first.sum())) == pytest.approx(0.077, abs=0.004)
    i, j = within_pairs(group)
    assert 0.10 < (score[i] == score[j]).mean() < 0.18
    assert 0.01 < (score == 1.0).mean() < 0.05


@pytest.mark.parametrize("decay", [0.6, 0.9, 1.5])
def test_the_spectrum_decays_with_the_exponent_asked_for(decay):
    data = make_noisy_parse_ranking(10, 6000, n_features=60, decay=decay, random_state=1)
    assert slope(data.spectrum) == pytest.approx(-decay)
    assert data.spectrum.sum() == pytest.approx(1.0)
    eigenvalues = np.linalg.eigvalsh(np.cov(data.test.items.T))[::-1]  # those of the centred kernel, over n
    assert slope(eigenvalues[:40]) == pytest.approx(-decay, abs=0.1)
    assert eigenvalues.sum() == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("within", [0.05, 0.19, 1.0])
def test_within_is_the_share_of_variance_inside_sentences(within):
    test = make_noisy_parse_ranking(10, 3000, n_features=80, within=within, random_state=2).test
    i, j = within_pairs(test.group)
    inside = ((test.items[i] - test.items[j]) ** 2).sum(axis=1).mean() / 2
    assert inside / np.var(test.items, axis=0).sum() == pytest.approx(within, rel=0.1)


def test_coef_gives_all_differences_within_sentences(data):
    for ratings, utility in ((data.train, data.utility_train), (data.test, data.utility_test)):
        i, j = within_pairs(ratings.group)
        np.testing.assert_allclose(
            (ratings.items[i] - ratings.items[j]) @ data.coef, utility[i] - utility[j], atol=1e-12
        )


def test_scores_follow_the_utility_up_to_rounding(data):
    assert np.abs(data.test.score - np.clip(data.utility_test, 0, 1)).max() <= 0.5 / 12 + 1e-12
    i, j = within_pairs(data.test.group)
    assert np.all((data.test.score[i] - data.test.score[j]) * (data.utility_test[i] - data.utility_test[j]) >= 0)


@pytest.mark.parametrize(("signal", "exponent"), [(0.0, 0.0), (0.5, 1.0), (0.75, 3.0)])
def test_signal_sets_the_energy_of_the_components(signal, exponent):
    data = make_noisy_parse_ranking(10, 10, n_features=50, decay=1.0, signal=signal, random_state=3)
    energy = data.coef**2 * data.spectrum  # variance that component k adds to the within-sentence utility, over within
    assert slope(energy) == pytest.approx(-exponent, abs=1e-9)
    assert energy.sum() * 0.19 == pytest.approx(0.077**2)


def test_signal_one_lies_in_the_first_component_only():
    data = make_noisy_parse_ranking(10, 10, n_features=50, signal=1.0, random_state=3)
    assert np.flatnonzero(data.coef).tolist() == [0]


@pytest.mark.parametrize("shared", [0.0, 0.5, 1.0])
def test_shared_is_the_part_of_the_difficulty_that_features_explain(shared):
    # many parses per sentence, so that the means of the within-sentence parts hardly vary
    data = make_noisy_parse_ranking(10, 30000, max_parses=20, n_features=20, shared=shared, random_state=0)
    test = data.test
    items = np.column_stack([group_means(column, test.group) for column in test.items.T])
    first = np.r_[True, np.diff(test.group) != 0]
    A = np.column_stack([items[first], np.ones(first.sum())])
    b = group_means(data.utility_test, test.group)[first]
    residual = b - A @ np.linalg.lstsq(A, b, rcond=None)[0]
    assert residual.var() / 0.18**2 == pytest.approx(1.0 - shared, abs=0.1)


@pytest.mark.parametrize("noise", [0.5, 1.0])
def test_noise_has_the_deviation_asked_for_and_spares_the_test_scores(noise):
    clean = make_noisy_parse_ranking(3000, 300, n_features=30, random_state=4)
    noisy = make_noisy_parse_ranking(3000, 300, n_features=30, noise=noise, random_state=4)
    error = noisy.train.score - noisy.clean
    assert error.std() == pytest.approx(noise, rel=0.05)
    assert abs(error.mean()) < 4 * noise / np.sqrt(3000)
    assert abs(np.corrcoef(error, noisy.clean)[0, 1]) < 0.07
    np.testing.assert_array_equal(noisy.test.score, clean.test.score)
    np.testing.assert_array_equal(noisy.clean, clean.clean)
    np.testing.assert_array_equal(noisy.train.items, clean.train.items)


def test_test_scores_are_noisy_on_request():
    clean = make_noisy_parse_ranking(100, 3000, n_features=30, random_state=4)
    noisy = make_noisy_parse_ranking(100, 3000, n_features=30, noise=0.5, noise_test=True, random_state=4)
    assert (noisy.test.score - clean.test.score).std() == pytest.approx(0.5, rel=0.05)


def test_with_noise_draws_afresh_from_the_clean_scores():
    noisy = make_noisy_parse_ranking(300, 30, n_features=30, noise=1.0, random_state=4)
    a, b, again = (noisy.with_noise(0.5, random_state=seed) for seed in (0, 1, 0))
    np.testing.assert_array_equal(a.train.score, again.train.score)
    assert abs(np.corrcoef(a.train.score - noisy.clean, b.train.score - noisy.clean)[0, 1]) < 0.25
    assert (a.train.score - noisy.clean).std() == pytest.approx(0.5, rel=0.15)
    np.testing.assert_array_equal(noisy.with_noise(0.0, random_state=0).train.score, noisy.clean)
    assert a.test is noisy.test
    assert np.shares_memory(a.train.items, noisy.train.items)


def test_one_seed_gives_one_data_set():
    a, b, c = (make_noisy_parse_ranking(60, 60, n_features=9, noise=0.5, random_state=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a.train.items, b.train.items)
    np.testing.assert_array_equal(a.train.score, b.train.score)
    assert not np.array_equal(a.train.items, c.train.items)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_train": 0}, "n_train must be a whole number of at least 1"),
        ({"max_parses": 0}, "max_parses must be a whole number from 1 to 32"),
        ({"decay": -1.0}, "decay must be finite and at least 0"),
        ({"signal": 2.0}, "signal must be between 0 and 1"),
        ({"within": 0.0}, "within must be above 0"),
        ({"noise": -0.5}, "noise must be finite and at least 0"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_noisy_parse_ranking(random_state=0, **arguments)


@pytest.mark.data
def test_the_quoted_facts_hold_in_the_real_files(data_dir):
    from sklearn.datasets import load_svmlight_file

    folder = data_dir / "bioinfer_parse_rlscore"
    if not folder.is_dir():
        pytest.skip(f"{folder} not found")
    facts = []
    for name in ("rank_train", "rank_test"):
        X, y, qid = load_svmlight_file(folder / f"{name}.svmlight", n_features=195100, query_id=True)
        means = group_means(y, qid)
        first = np.unique(qid, return_index=True)[1]
        i, j = within_pairs(qid)
        X = X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1))).tocsr()
        K = (X @ X.T).toarray()
        C = np.eye(len(y)) - 1 / len(y)
        spread = np.sqrt(((y - means) ** 2).sum() / (len(y) - len(first)))
        leading = slope(np.linalg.eigvalsh(C @ K @ C)[::-1][:20])
        facts.append([y.mean(), means[first].std(), spread, (y[i] == y[j]).mean(), leading])
    np.testing.assert_allclose(facts[0], [0.62, 0.196, 0.078, 0.142, -0.604], atol=0.002)
    np.testing.assert_allclose(facts[1], [0.616, 0.163, 0.077, 0.130, -0.634], atol=0.002)
