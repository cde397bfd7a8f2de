"""Whether judges differ, and which can be relied upon: choices between cars by 60 people."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.model_selection import GroupKFold, KFold

from preflearn.data import Comparisons, ItemTable
from preflearn.metrics import comparison_log_loss, expected_calibration_error, pairwise_accuracy
from preflearn.models import PreferenceGP
from preflearn.reproduce.data_tables import read_cars
from preflearn.reproduce.experiment import Case, Column, Data, Experiment, Record, Run
from preflearn.structure import judge_report

MODELS: dict[str, dict[str, Any]] = {
    "one for all": {"kernel": "ard"},
    "and one for each": {"kernel": "ard", "judge_kernel": "identity"},
    "judges by features": {"kernel": "ard", "judge_kernel": "rbf"},
    "one for each, circles": {"kernel": "rbf", "cyclic_kernel": "rbf", "judge_kernel": "identity"},
}
_OF_JUDGES = ("education", "age", "gender", "region")
CARS = Data(
    title="the set of choices between cars",
    folder="car_preferences",
    files={"prefs1.csv": 2974, "items1.csv": 11, "users1.csv": 61},
    get="It is the first experiment of Abbasnejad et al. (IJCAI 2013).",
    stand_in="a simulation of judges with tastes of their own",
)


def load(folder: Path) -> tuple[Comparisons, dict[int, float]]:
    """Return the comparisons without control questions, and how many of these each user answered alike again."""
    preferences, items, users = read_cars(folder)
    user, better, worse = preferences[preferences[:, 3] == 0, :3].astype(int).T
    turned = np.random.default_rng(0).random(len(user)) < 0.5  # the preferred car is listed first
    data = Comparisons(
        _standardised(items[:, 1:]),
        np.where(turned, worse, better) - 1,
        np.where(turned, better, worse) - 1,
        np.where(turned, -1, 1),
        judge=user,
        judges=_described(users[:, 0], _standardised(users[:, 1:5])),
    )
    return data, dict(zip(users[:, 0].astype(int).tolist(), users[:, 5].tolist(), strict=True))


def simulated(n_judges: int = 10, answers: int = 30) -> tuple[Comparisons, dict[int, float]]:
    """Return votes about ten items by judges whose tastes differ as much as they agree."""
    rng = np.random.default_rng(0)
    X, table = rng.normal(size=(10, 4)), rng.normal(size=(n_judges, len(_OF_JUDGES)))
    own = X @ (rng.normal(size=4) + rng.normal(size=(n_judges, 4))).T
    judge = np.repeat(np.arange(1, n_judges + 1), answers)
    first = rng.integers(0, 10, len(judge))
    second = (first + rng.integers(1, 10, len(judge))) % 10
    z = own[first, judge - 1] - own[second, judge - 1]
    judges = _described(np.arange(1, n_judges + 1), table)
    data = Comparisons(X, first, second, np.sign(z + rng.logistic(size=len(z))), judge=judge, judges=judges)
    return data, dict.fromkeys(range(1, n_judges + 1), 0.0) | {1: 1.0}


def _standardised(X: Any) -> Any:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def _described(names: Any, values: Any) -> ItemTable:
    """Return what is known of judges."""
    return ItemTable(values, np.array(names.astype(int).tolist(), dtype=object), _OF_JUDGES, len(names))


def predictions(case: Case) -> list[Record]:
    """Predict one fold: a part of each judge's answers, and all answers of a part of the judges."""
    data, _ = simulated() if case.folder is None else load(case.folder)
    folds = case.settings["folds"]
    splits = {
        "known": list(KFold(folds, shuffle=True, random_state=0).split(data))[case.repeat],
        "new": list(GroupKFold(folds).split(data, groups=data.judge))[case.repeat],
    }
    records = []
    for name in case.settings["models"]:
        record: Record = {"row": name}
        if case.repeat == 0:
            record["evidence"] = float(PreferenceGP(**MODELS[name], n_restarts=0).fit(data).log_evidence_)
        for who, (train, test) in splits.items():
            model = PreferenceGP(**MODELS[name], n_restarts=0).fit(data[train])
            p, y = model.predict_proba(data[test])[:, 1], data.outcome[test]
            record[f"{who} accuracy"] = float(pairwise_accuracy(y, p - 0.5))
            record[f"{who} loss"] = comparison_log_loss(y, p)
            record[f"{who} calibration"] = expected_calibration_error(y, p)
        records.append(record)
    return records


def report(case: Case) -> list[Record]:
    """Count the verdicts about judges, and set the report against the control questions, which no model saw."""
    data, controls = simulated() if case.folder is None else load(case.folder)
    found = judge_report(PreferenceGP("ard", judge_kernel="identity", n_restarts=0).fit(data))
    consistent = [controls[judge] for judge in np.asarray(found.judge).tolist()]
    verdicts, counts = np.unique(found.verdict, return_counts=True)
    records: list[Record] = [
        {"row": verdict, "judges": float(count)} for verdict, count in zip(verdicts.tolist(), counts, strict=True)
    ]
    for name in ("reliability", "consistency"):
        rank = spearmanr(getattr(found, name), consistent)
        records.append({"row": name, "correlation": float(rank.statistic)})
    return records


_WORDS = {"accuracy": "accuracy", "loss": "log loss", "calibration": "calibration error"}

EXPERIMENTS = (
    Experiment(
        name="judges",
        title="Judges with tastes of their own: predictions of their choices",
        source="a study",
        runs=[
            Run(
                "judges",
                predictions,
                5,
                120.0,
                {"folds": 5, "models": list(MODELS)},
                {"folds": 2, "models": ["one for all", "and one for each"]},
                quick_repeats=1,
                data=CARS,
                most_repeats=5,
            )
        ],
        head="utilities",
        columns=[
            Column("evidence", "log evidence", "max", digits=1),
            *(
                Column(f"{who} {key}", f"{who} judge: {words}")
                for who in ("known", "new")
                for key, words in _WORDS.items()
            ),
        ],
        notes=[
            "2,675 choices between 10 cars by 60 people, in five folds: of comparisons (known judge) or of people (new "
            "judge). A utility for all; one for all and one for each judge; the same with judges alike in what is "
            "known of them; and with circles. The evidence is that of all comparisons.",
        ],
    ),
    Experiment(
        name="judges-report",
        title="What is said of judges, and the control questions",
        source="a study",
        runs=[Run("judges-report", report, 1, 1.0, quick_repeats=1, data=CARS)],
        head="verdict or figure",
        columns=[
            Column("judges", digits=0),
            Column("correlation", "rank correlation with control questions", digits=2),
        ],
        notes=[
            "Verdicts of `judge_report` on the 60 people, and how reliability and consistency go with the control "
            "questions that each person answered twice and no model saw.",
        ],
    ),
)
