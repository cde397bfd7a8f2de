"""OnItems: any scikit-learn transformer in front of a model of data objects, and the names of columns."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.gaussian_process.kernels import RBF
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from preflearn import Comparisons, LabelPreferenceGP, OnItems, PreferenceGP, RankRLS, Ratings
from preflearn.data import LabelPreferences, from_class_labels
from preflearn.exceptions import DataError

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(rng.normal(size=(30, 2)) * [1, 100] + [0, 50], columns=["age", "size"])
X = FRAME.to_numpy()
SCALED = (X - X.mean(axis=0)) / X.std(axis=0)
CLASS = np.where(X[:, 0] + X[:, 1] / 100 > 0.5, "up", "down")
FIRST, SECOND = np.arange(29), np.arange(1, 30)
OUTCOME = np.sign(SCALED[FIRST, 0] - SCALED[SECOND, 0])
MATCHES = Comparisons(FRAME, FIRST, SECOND, OUTCOME)


def test_labels_are_learned_over_transformed_items():
    pipeline = make_pipeline(OnItems(StandardScaler()), LabelPreferenceGP(RBF(1.0), hyperparameters="fixed"))
    data = from_class_labels(X, CLASS)
    pipeline.fit(data)
    direct = LabelPreferenceGP(RBF(1.0), hyperparameters="fixed").fit(SCALED, CLASS)
    np.testing.assert_allclose(pipeline.predict_proba(data), direct.predict_proba(from_class_labels(SCALED, CLASS)))
    assert pipeline.score(data) > 0.9
    np.testing.assert_array_equal(pipeline.predict(X), direct.predict(SCALED))
    assert cross_val_score(pipeline, data, cv=3).min() > 0.6


def test_the_transformer_sees_items_with_edges_only():
    data = LabelPreferences(X, [4, 4, 7], ["a", "b", "a"], ["b", "c", "c"])
    step = OnItems(StandardScaler()).fit(data)
    np.testing.assert_allclose(step.transformer_.mean_, X[[4, 7]].mean(axis=0))
    after = step.transform(data)
    assert after.n_items == 30
    np.testing.assert_array_equal(after.first, data.first)


@pytest.mark.parametrize(
    ("transformer", "names"),
    [
        (StandardScaler(), ("age", "size")),
        (StandardScaler().set_output(transform="pandas"), ("age", "size")),
        (PCA(1), ("pca0",)),
        (FunctionTransformer(np.square), None),
        (make_pipeline(StandardScaler(), FunctionTransformer(np.square)), None),
    ],
    ids=repr,
)
def test_columns_keep_the_names_that_the_transformer_gives(transformer, names):
    labels = from_class_labels(FRAME, CLASS)
    for data in (MATCHES, Ratings(FRAME, X[:, 0]), labels):
        after = OnItems(transformer).fit(data).transform(data)
        assert after.feature_names == names
        assert type(after) is type(data)
    assert OnItems(transformer).fit(MATCHES).transform(Comparisons(X, [0], [1])).feature_names == names
    if names is None or "pandas" not in str(vars(transformer)):
        unnamed = Comparisons(X, [0], [1])
        assert OnItems(transformer).fit(unnamed).transform(unnamed).feature_names is None


def test_relevances_have_names_and_frames_are_matched_by_name():
    pipeline = make_pipeline(OnItems(StandardScaler()), PreferenceGP("ard", n_restarts=0)).fit(MATCHES)
    assert list(pipeline[-1].relevances_) == ["age", "size"]
    swapped = Comparisons(FRAME[["size", "age"]], FIRST, SECOND, OUTCOME)
    np.testing.assert_array_equal(pipeline.predict_proba(swapped), pipeline.predict_proba(MATCHES))
    ranker = make_pipeline(OnItems(StandardScaler()), RankRLS()).fit(MATCHES)
    utility = ranker[-1].predict(Ratings(pd.DataFrame(SCALED, columns=["age", "size"]), X[:, 0]))
    np.testing.assert_allclose(ranker.predict(FRAME), utility, atol=1e-12)
    np.testing.assert_allclose(ranker.predict(FRAME[["size", "age"]].assign(name="x")), utility, atol=1e-12)
    with pytest.raises(DataError, match=r'OnItems: 1 of the \d features of training are missing \(columns "size"\)'):
        ranker.predict(FRAME[["age"]])


def test_label_preferences_over_other_items_need_as_many():
    data = from_class_labels(X, CLASS)
    with pytest.raises(DataError, match="with_items: the new table has 3 rows; these preferences are for 30 items"):
        data.with_items(X[:3])
