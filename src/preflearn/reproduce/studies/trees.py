"""Why boosted trees are ahead of our models on two sets: what rules of one feature reach, and what products add."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, QuantileTransformer

from preflearn.baselines import PairAugmented
from preflearn.data import Ratings
from preflearn.kernels import Nystroem
from preflearn.models import RankRLS
from preflearn.reproduce.experiment import Case, Column, Experiment, Record, Run
from preflearn.reproduce.studies.peer_data import LAMBDARANK, POKEMON, documents, parts, pokemon
from preflearn.reproduce.studies.peer_models import with_differences
from preflearn.reproduce.studies.peers import at_ten, of_probabilities


def fights(case: Case) -> list[Record]:
    """Predict fights by sums of trees that ask for one feature, or for several; of both sides, and differences."""
    found = pokemon(case).sides
    train, test = (found[rows] for rows in parts(case, len(found)))
    records = []
    for row, depth in case.settings["depths"].items():
        trees = HistGradientBoostingClassifier(
            max_depth=depth, max_iter=case.settings["rounds"], random_state=case.random_state, early_stopping=False
        )
        model = PairAugmented(make_pipeline(FunctionTransformer(with_differences), trees)).fit(train)
        records.append({"row": row, **of_probabilities(test.outcome, model.predict_proba(test)[:, 1])})
    return records


def queries(case: Case) -> list[Record]:
    """Rank documents of unseen queries by trees and by RankRLS; settings by the validation queries."""
    given = documents(case)
    even = QuantileTransformer(n_quantiles=case.settings["quantiles"], output_distribution="normal")
    even.fit(np.asarray(given[0].items))
    evened = [Ratings(even.transform(np.asarray(part.items)), part.score, part.group) for part in given]
    alphas = np.geomspace(*case.settings["alphas"]).tolist()
    few = Nystroem(case.settings["basis"], random_state=case.random_state)
    linear = [RankRLS(alpha) for alpha in alphas]
    smooth = [RankRLS(alpha, "rbf", approximation=few) for alpha in alphas]
    reached = {
        "boosted trees": _best([_trees(case, rounds, None) for rounds in case.settings["rounds"]], given),
        "boosted rules of one feature": _best([_trees(case, rounds, 1) for rounds in case.settings["rounds"]], given),
        "RankRLS, linear": _best(linear, given),
        "RankRLS, linear, features by their ranks": _best(linear, evened),
        "RankRLS, Gaussian kernel": _best(smooth, given),
        "RankRLS, Gaussian kernel, features by their ranks": _best(smooth, evened),
    }
    ahead = reached["boosted trees"]
    return [{"row": row, "score": score, "behind": ahead - score} for row, score in reached.items()]


def _trees(case: Case, rounds: int, depth: int | None) -> Any:
    return HistGradientBoostingRegressor(
        max_iter=rounds, max_depth=depth, random_state=case.random_state, early_stopping=False
    )


def _best(models: Sequence[Any], given: Sequence[Ratings]) -> float:
    """Return NDCG@10 on the test part of the model that has most of it on the validation part."""
    train, validation, test = given
    measured = []
    for model in models:
        if isinstance(model, RankRLS):
            model.fit(train)
        else:
            model.fit(train.items, train.score)
        measured.append([at_ten(part, model.predict(part.items)) for part in (validation, test)])
    return max(measured, key=lambda both: both[0])[1]


EXPERIMENTS = (
    Experiment(
        name="trees-pokemon",
        title="Pokemon fights by sums of trees of few features",
        source="a study",
        runs=[
            Run(
                "trees-pokemon",
                fights,
                3,
                6,
                {
                    "depths": {"one feature": 1, "two features": 2, "three features": 3, "six features": 6},
                    "rounds": 200,
                    "n_train": 6000,
                    "n_test": 20_000,
                },
                {"rounds": 5},
                1,
                POKEMON,
            )
        ],
        head="each tree asks for at most",
        columns=[Column("score", "accuracy"), Column("loss", "log loss"), Column("calibration", "calibration error")],
        notes=[
            "Trees of scikit-learn see the features of both sides and their differences, in both orders, as in "
            "`peers`. Trees of one feature add up to a sum of functions of single features or differences; each of "
            "them may have steps, such as who is faster. What trees of more features gain are products."
        ],
    ),
    Experiment(
        name="trees-queries",
        title="LightGBM's example of ranking: rules, products and scales of features",
        source="a study",
        runs=[
            Run(
                "trees-queries",
                queries,
                12,
                4,
                {"alphas": [1e-2, 1e4, 7], "basis": 300, "quantiles": 200, "rounds": [50, 200]},
                {"alphas": [1, 10, 2], "basis": 20, "rounds": [10], "quantiles": 20},
                1,
                LAMBDARANK,
            )
        ],
        head="model",
        columns=[
            Column("score", "NDCG@10"),
            Column("behind", "behind boosted trees, the same queries", spread="error"),
        ],
        notes=[
            "Queries are 60 % training, 20 % validation, which choose the settings, and 20 % test, drawn anew in "
            "each trial. Features by their ranks: each has a normal distribution over the training rows. Boosted "
            "rules of one feature know no products."
        ],
    ),
)
