"""Models of bags beyond the laws: known items, updates, other estimators, files and transformers."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from preflearn import (
    Bags,
    Comparisons,
    KPCRank,
    LabelPreferenceGP,
    Nystroem,
    OnItems,
    PreferenceGP,
    RandomFourier,
    RankRLS,
    Ratings,
    load,
    save,
)
from preflearn.active import suggest
from preflearn.data import from_class_labels
from preflearn.exceptions import DataError, FileFormatError
from preflearn.files.codec import Decoder, Encoder
from preflearn.plots import plot_utility

RNG = np.random.default_rng(0)
ARRAYS = [RNG.normal(size=2) + 0.5 * RNG.normal(size=(int(RNG.integers(1, 6)), 2)) for _ in range(16)]
NAMES = [f"photo {number}" for number in range(16)]
BAGS = Bags(ARRAYS, names=NAMES, feature_names=["red", "blue"])
UTILITY = BAGS.means() @ [1.0, -1.0]
PAIRS = np.triu_indices(16, 1)
DATA = Comparisons(BAGS, *PAIRS, np.sign(UTILITY[PAIRS[0]] - UTILITY[PAIRS[1]]))


def test_a_process_ranks_known_and_new_bags():
    some = DATA[(DATA.first < 12) & (DATA.second < 12)]
    model = PreferenceGP(random_state=0).fit(some)
    assert model.score(DATA) > 0.9
    assert model.on_bags_
    best = NAMES[int(np.argmax(UTILITY))]
    assert best in model.rank(BAGS).names[:3]
    np.testing.assert_allclose(model.predict_utility(NAMES[:3]), model.predict_utility(BAGS[:3]))
    np.testing.assert_allclose(model.predict_utility(BAGS[:, [1, 0]]), model.predict_utility(BAGS))
    assert set(model.relevances_) == {"red", "blue"}
    assert suggest(model, n=2, items=BAGS[12:]).first.shape == (2,)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(DATA), model.predict_proba(DATA))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*is worth only")
def test_an_average_over_hyperparameters_of_bags_of_one_point_is_that_of_rows():
    rows = DATA.with_items(BAGS.means())[::3]
    found = [
        PreferenceGP(hyperparameters="average", n_restarts=0, random_state=0).fit(data).predict_proba(data)
        for data in (rows, rows.with_items(Bags(BAGS.means()[:, None])))
    ]
    np.testing.assert_allclose(found[0], found[1], atol=1e-5)


@pytest.mark.parametrize("more", [{}, {"cyclic_kernel": "rbf"}, {"kernel": "rbf", "cyclic_kernel": "rbf"}])
def test_an_update_is_a_fit_on_everything(more):
    old, new = DATA[:60], DATA[60:]
    model = PreferenceGP(**more, hyperparameters="fixed").fit(old).update(new)
    fresh = PreferenceGP(**more, hyperparameters="fixed").fit(DATA)
    theta = model.theta_
    assert model.log_evidence_ == pytest.approx(fresh.log_evidence(theta, gradient=False), abs=1e-8)


def test_own_effects_are_those_of_bags_with_the_same_distribution():
    bare = DATA.with_items(Bags(ARRAYS))._take(slice(None), names=None)
    model = PreferenceGP(own_effect=True, hyperparameters="fixed").fit(bare)
    known = model.predict_utility([3, 4])
    turned = Bags([ARRAYS[3][::-1], np.tile(ARRAYS[4], (2, 1))])
    np.testing.assert_allclose(model.predict_utility(turned), known, atol=1e-9)
    moved = Bags([ARRAYS[3] + 1e-9, ARRAYS[4] + 1e-9])
    assert np.abs(model.predict_utility(moved) - known).min() > 1e-3
    np.testing.assert_allclose(
        model.predict_utility(Bags([a[::-1] for a in ARRAYS])), model.predict_utility(), atol=1e-9
    )


def test_labels_are_learned_for_bags():
    label = np.where(UTILITY > 0, "warm", "cold")
    model = LabelPreferenceGP(random_state=0).fit(from_class_labels(BAGS, label))
    assert np.mean(model.predict(BAGS)[:, 0] == label) > 0.9
    with pytest.raises(DataError, match="fitted on Bags"):
        model.predict(BAGS.means())


def test_a_transformer_of_rows_works_on_points():
    model = make_pipeline(OnItems(StandardScaler()), PreferenceGP(n_restarts=0)).fit(DATA)
    scaled = Bags(np.split(StandardScaler().fit_transform(BAGS.points), BAGS.offsets[1:-1]))
    by_hand = PreferenceGP(n_restarts=0).fit(DATA.with_items(scaled))
    np.testing.assert_allclose(model.predict_proba(DATA), by_hand.predict_proba(DATA.with_items(scaled)), atol=1e-8)
    step = model[0]
    table = step.transform(BAGS[:, [1, 0]])
    np.testing.assert_allclose(table.values.points, scaled.points)
    assert table.names.tolist() == NAMES
    assert table.feature_names == ("red", "blue")
    assert isinstance(step.transform(Ratings(BAGS, UTILITY)).items, Bags)
    assert model[1].predict_utility(table).shape == (16,)


def test_scikit_learn_splits_comparisons_and_ratings_of_bags():
    assert cross_val_score(RankRLS(kernel="rbf"), DATA, cv=3).mean() > 0.8
    assert cross_val_score(RankRLS(kernel="rbf"), Ratings(BAGS, UTILITY), cv=3).mean() > 0.7
    assert cross_val_score(RankRLS(kernel="rbf"), BAGS, UTILITY, cv=3).mean() > 0.7


def test_columns_of_a_long_table_are_matched_by_name():
    rows = pd.DataFrame(BAGS.points, columns=["red", "blue"]).assign(photo=np.repeat(NAMES, BAGS.sizes))
    bags = Bags.from_table(rows[["blue", "photo", "red"]], item="photo")
    for model in (RankRLS(kernel="rbf"), KPCRank(5)):
        wanted = model.fit(DATA).predict(BAGS)
        np.testing.assert_allclose(model.predict(bags), wanted, atol=1e-12)
        np.testing.assert_allclose(model.predict(Ratings(bags, UTILITY)), wanted, atol=1e-12)
        np.testing.assert_allclose(model.fit(bags, UTILITY).predict(BAGS), model.fit(BAGS, UTILITY).predict(BAGS))


@pytest.mark.parametrize(
    "model",
    [
        RankRLS(),
        RankRLS(kernel="rbf"),
        KPCRank(5),
        RankRLS(kernel="rbf", approximation=Nystroem(6, random_state=0)),
        RankRLS(kernel="rbf", approximation=RandomFourier(6, random_state=0)),
    ],
)
def test_a_saved_model_predicts_the_same(model, tmp_path):
    model.fit(DATA)
    save(model, tmp_path / "model.preflearn")
    again = load(tmp_path / "model.preflearn")
    np.testing.assert_array_equal(again.predict(BAGS), model.predict(BAGS))
    with pytest.raises(DataError, match="fitted on Bags"):
        again.predict(BAGS.means())


def test_bags_in_a_damaged_file_are_found_out(tmp_path):
    encoder = Encoder()
    encoded = encoder.encode(Bags(ARRAYS[:3]), "X_fit_")
    for sizes in ([], [1, 2], [0, *Bags(ARRAYS[:3]).sizes.tolist()], [[1]]):
        with pytest.raises(DataError, match="sizes of bags"):
            Decoder(lambda number, *_, s=sizes: encoder.arrays[0] if number == 0 else np.array(s, dtype=int)).decode(
                encoded
            )
    model = RankRLS(kernel="rbf").fit(DATA)
    model.on_bags_ = False
    save(model, tmp_path / "model.preflearn")
    with pytest.raises(FileFormatError, match="do not belong together"):
        load(tmp_path / "model.preflearn")


@pytest.mark.slow
def test_bags_have_no_value_to_draw_along():
    model = PreferenceGP(hyperparameters="fixed").fit(DATA)
    with pytest.raises(ValueError, match="bags of points"):
        plot_utility(model)


def test_the_bags_of_training_mean_the_items_of_training_also_where_some_are_alike():
    twins = Bags([ARRAYS[0], ARRAYS[0][::-1], ARRAYS[1]])
    model = PreferenceGP(own_effect=True, hyperparameters="fixed").fit(Comparisons(twins, [0, 0], [1, 2]))
    utility = model.predict_utility()
    assert utility[0] > utility[1] + 0.01
    np.testing.assert_allclose(model.predict_utility(Bags([bag[::-1] for bag in twins.to_list()])), utility, atol=1e-10)
