"""Beyond the papers: our models and those of other packages on six sets, by one protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, DotProduct, WhiteKernel
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsRegressor

from preflearn.baselines import PageRank, RankBoost, RankCentrality, RankSVM, SerialRank, SVDRank
from preflearn.data import Comparisons, LabelPreferences, Ratings, from_label_rankings
from preflearn.datasets import make_label_rankings
from preflearn.kernels import Nystroem
from preflearn.likelihoods import Flipped
from preflearn.metrics import comparison_log_loss, expected_calibration_error, ndcg, pairwise_accuracy
from preflearn.models import BradleyTerry, LabelPreferenceGP, PreferenceGP, RankRLS
from preflearn.reproduce.experiment import Case, Column, Experiment, Record, Run
from preflearn.reproduce.papers.letor import parts as letor_parts
from preflearn.reproduce.papers.letor_data import CLUEWEB
from preflearn.reproduce.studies.peer_data import (
    CARS,
    KEBI,
    KEBI_SETS,
    LAMBDARANK,
    POKEMON,
    TENNIS,
    Contest,
    cars,
    documents,
    orders,
    parts,
    pokemon,
    tennis,
)
from preflearn.reproduce.studies.peer_models import (
    GRIDS,
    BoTorch,
    PairwiseLogistic,
    by_choix,
    missing,
    pair_classifier,
    ranker,
)

CHOSEN = "ours, chosen"
_SUREST = 1 - 1e-6  # probability; a log loss may be infinite otherwise
_FREE = ConstantKernel(1.0, (1e-4, 1e4))
_WITH_MEAN = _FREE * DotProduct(1.0, "fixed")
_LABEL_GP = "LabelPreferenceGP"
_KERNELS_OF_LABELS = (_LABEL_GP, f"{_LABEL_GP}, linear", f"{_LABEL_GP}, both", f"{_LABEL_GP}, both, ARD")
# products of features, such as which type meets which, and what is smooth
_OF_CIRCLES = _FREE * DotProduct(0.0, "fixed") + _FREE * RBF(3.0, (1e-2, 1e3))
_OWN: dict[str, Any] = {"n_restarts": 0, "random_state": 0}
# of each set, our candidates, of which the one with the highest evidence is chosen
OURS: dict[str, dict[str, Any]] = {
    "pokemon": {
        "PreferenceGP": PreferenceGP("ard", covariates=False, **_OWN),
        "PreferenceGP, flips": PreferenceGP("ard", Flipped(), "ep", covariates=False, **_OWN),
        "PreferenceGP, signs": PreferenceGP("ard", **_OWN),
        "PreferenceGP, signs and circles": PreferenceGP("ard", cyclic_kernel=_OF_CIRCLES, **_OWN),
    },
    "cars": {
        "PreferenceGP": PreferenceGP("rbf", **_OWN),
        "PreferenceGP, tastes": PreferenceGP("rbf", judge_kernel="identity", **_OWN),
        "PreferenceGP, like people": PreferenceGP("rbf", judge_kernel=WhiteKernel(0.5) + RBF(1.0), **_OWN),
        "PreferenceGP, tastes, circles": PreferenceGP("rbf", judge_kernel="identity", cyclic_kernel="rbf", **_OWN),
    },
    "tennis": {
        "BradleyTerry": BradleyTerry(covariates=False),
        "BradleyTerry, covariates": BradleyTerry(),
        "PreferenceGP, covariates, surfaces": PreferenceGP(ConstantKernel(), judge_kernel="identity", **_OWN),
    },
}
_OURS_OF_ROWS = ("RankRLS, linear", "RankRLS, Gaussian kernel")
_BASELINES_OF_ROWS = ("RankSVM", "RankBoost")
_BASELINES = (RankCentrality(), PageRank(), SerialRank(normalised=False), SVDRank())
_READERS: dict[str, Callable[[Case], Contest]] = {"pokemon": pokemon, "cars": cars, "tennis": tennis}


class Table:
    """The records of a trial: one for each contestant, with its processor seconds, and one for the best of ours."""

    def __init__(self, row: str, ours: Sequence[str]) -> None:
        self.row = row
        self.ours = ours
        self.records: dict[str, Record] = {}
        self.merit: dict[str, float] = {}

    def add(self, name: str, work: Callable[[], tuple[Record, float]]) -> None:
        """Let a contestant work: it returns what it reached, and by what ours are chosen."""
        start = time.process_time()
        found, merit = work()
        self.records[name] = {"row": f"{self.row}: {name}", **found, "seconds": time.process_time() - start}
        if name in self.ours:
            self.merit[name] = merit

    def finished(self, absent: Sequence[str]) -> list[Record]:
        """Return all records, the chosen one of ours first, with the time of the whole choice."""
        best = max(self.merit, key=lambda name: self.merit[name])
        for name in self.merit:
            self.records[name]["chosen"] = float(name == best)
        seconds = sum(self.records[name]["seconds"] for name in self.merit)
        chosen = {**self.records[best], "row": f"{self.row}: {CHOSEN}", "seconds": seconds}
        chosen.pop("chosen")
        return [chosen, *self.records.values(), {"missing": list(absent)}]


def of_probabilities(outcome: Any, probability: Any) -> Record:
    """Return accuracy, log loss and calibration error; nobody is surer than `_SUREST`."""
    probability = np.clip(probability, 1 - _SUREST, _SUREST)
    return {
        "score": pairwise_accuracy(outcome, probability - 0.5),
        "loss": comparison_log_loss(outcome, probability),
        "calibration": expected_calibration_error(outcome, probability),
    }


def _fitted(model: Any, train: Comparisons, test: Comparisons) -> tuple[Record, float]:
    model.fit(train)
    if hasattr(model, "predict_proba"):
        return of_probabilities(test.outcome, model.predict_proba(test)[:, 1]), getattr(model, "log_evidence_", np.nan)
    return {"score": model.score(test)}, np.nan


def contest(case: Case) -> list[Record]:
    """Predict held-out comparisons of a set by our candidates and by their peers."""
    settings, seed = case.settings, case.random_state
    found = _READERS[settings["set"]](case)
    train, test = parts(case, len(found.ours))
    absent = missing(settings["peers"])
    table = Table(settings["row"], settings["ours"])
    ours, sides = ((data[train], data[test]) for data in found)
    for name in settings["ours"]:
        table.add(name, partial(_fitted, clone(OURS[settings["set"]][name]), *ours))
    for model in _BASELINES if settings["baselines"] else ():
        plain = (data.without_features() for data in ours)
        table.add(type(model).__name__, partial(_fitted, clone(model), *plain))
    for name in settings["peers"]:
        if name in absent:
            continue
        if name == "choix":
            table.add(name, partial(_fitted, by_choix(seed), *ours))
        elif name == "BoTorch":
            table.add(name, partial(_fitted, BoTorch(), *sides))
        else:
            table.add(name, partial(_fitted, pair_classifier(name, seed, settings["grids"][name]), *sides))
    return table.finished(absent)


def _best(candidates: Iterator[tuple[Any, Any]], validation: Ratings, test: Ratings) -> tuple[Record, float]:
    """Return NDCG@10 on the test part of the candidate that has most of it on the validation part."""
    measured = [(at_ten(validation, own), at_ten(test, other)) for own, other in candidates]
    merit, score = max(measured, key=lambda both: both[0])
    return {"score": score}, merit


def at_ten(part: Ratings, scores: Any) -> float:
    """Return the mean NDCG@10 of queries."""
    return float(np.asarray(ndcg(part.score, scores, k=10, qid=part.group)))


def _predictions(
    models: Sequence[Any], train: Ratings, validation: Ratings, test: Ratings
) -> Iterator[tuple[Any, Any]]:
    for model in models:
        model.fit(train)
        yield model.predict(validation), model.predict(test)


def _of_rows(models: Sequence[Any], train: Ratings, validation: Ratings, test: Ratings) -> Iterator[tuple[Any, Any]]:
    for model in models:
        fitted = (
            model(train.items, train.score, train.group) if callable(model) else model.fit(train.items, train.score)
        )
        yield fitted.predict(validation.items), fitted.predict(test.items)


def ranking(case: Case) -> list[Record]:
    """Rank documents of unseen queries; each method is chosen among its settings on validation queries."""
    settings, seed = case.settings, case.random_state
    train, validation, test = letor_parts(case) if settings["set"] == "clueweb" else documents(case)
    alphas = np.geomspace(*settings["alphas"]).tolist()
    few = Nystroem(settings["basis"], random_state=seed)
    candidates: list[list[Any]] = [
        [RankRLS(alpha) for alpha in alphas],
        [RankRLS(alpha, "rbf", approximation=few) for alpha in alphas],
        [RankSVM(C) for C in np.geomspace(*settings["C"]).tolist()],
        [RankBoost(settings["rounds"])],
    ]
    absent = missing(settings["peers"])
    table = Table(settings["row"], _OURS_OF_ROWS)
    for name, models in zip((*_OURS_OF_ROWS, *_BASELINES_OF_ROWS), candidates, strict=True):
        table.add(name, partial(_best, _predictions(models, train, validation, test), validation, test))
    for name in settings["peers"]:
        if name not in absent:
            found = _regressions(name, settings, seed)
            table.add(name, partial(_best, _of_rows(found, train, validation, test), validation, test))
    return table.finished(absent)


def _regressions(name: str, settings: Mapping[str, Any], seed: int) -> list[Any]:
    grid = settings["rankers"].get(name, {})
    if name == "scikit-learn, ridge":
        return [Ridge(alpha) for alpha in np.geomspace(*settings["alphas"])]
    if name == "scikit-learn, boosting":
        return [
            HistGradientBoostingRegressor(max_iter=n, random_state=seed, early_stopping=False)
            for n in settings["iterations"]
        ]
    keys = list(grid)
    return [ranker(name, seed, {keys[0]: one, keys[1]: other}) for one in grid[keys[0]] for other in grid[keys[1]]]


def tau(place: Any, utility: Any) -> float:
    """Return the mean over rows of Kendall's tau between places (0 is the best) and utilities.

    Examples
    --------
    >>> import numpy as np
    >>> tau(np.array([[0, 1, 2]]), np.array([[3.0, 1.0, 2.0]]))
    0.3333333333333333
    """
    a, b = np.triu_indices(place.shape[1], 1)
    return float(np.mean(np.sign(place[:, b] - place[:, a]) * np.sign(utility[:, a] - utility[:, b])))


def label_sets(case: Case) -> list[Record]:
    """Rank labels by features, on each of 15 sets; and the mean over sets."""
    every: dict[str, list[Record]] = {}
    records: list[Record] = []
    for name in case.settings["sets"]:
        if case.folder is None:
            made = make_label_rankings(4, 100, 100, random_state=case.rng())
            tables: list[Any] = [made.train.items, made.test.items]
            X = np.vstack(tables)
            place = np.argsort(np.argsort(-X @ made.utility.T, axis=1), axis=1)
        else:
            packed = ".gz" if name == "fried" else ""
            X, place = orders(case.folder / f"{name}.csv{packed}")
        found = label_set(case, X, place)
        records.append({"row": name, **{key: one["score"] for key, one in found.items()}})
        for key, one in found.items():
            every.setdefault(key, []).append(one)
    absent = missing(case.settings["peers"])
    for key, ones in every.items():
        mean: Record = {what: float(np.mean([one[what] for one in ones])) for what in ones[0]}
        records.append({**mean, "row": f"{case.settings['row']}: {key}"})
    return [*records, {"missing": absent}]


def label_set(case: Case, X: Any, place: Any) -> dict[str, Record]:
    """Return what each contestant reaches on one set."""
    settings, seed = case.settings, case.random_state
    train, test = parts(case, len(X))
    names = np.arange(place.shape[1])
    known, edges = (
        from_label_rankings(X[rows], np.argsort(place[rows], axis=1).tolist(), labels=names) for rows in (train, test)
    )
    table = Table("", settings["ours"])
    for name in settings["ours"]:
        kernel = _kernel_of_labels(name, X.shape[1])
        table.add(name, partial(_labels, LabelPreferenceGP(kernel, **_OWN), known, edges, place[test]))
    sklearn = {
        "scikit-learn, logistic": GridSearchCV(PairwiseLogistic(), settings["grids"]["scikit-learn, logistic"], cv=3),
        "scikit-learn, forest": RandomForestRegressor(settings["trees"], random_state=seed),
        "scikit-learn, neighbours": GridSearchCV(
            KNeighborsRegressor(), {"n_neighbors": settings["neighbours"]}, cv=KFold(3, shuffle=True, random_state=seed)
        ),
    }
    for name in settings["peers"]:
        if name in sklearn:
            table.add(name, partial(_places, sklearn[name], X, place, train, test))
        elif not missing([name]):
            table.add(name, partial(_label_rows, name, settings, seed, X, place, train, test))
    found = table.finished([])
    return {
        one["row"].removeprefix(": "): {k: v for k, v in one.items() if k != "row"} for one in found if "row" in one
    }


def _kernel_of_labels(name: str, n_features: int) -> Any:
    """Return a kernel: Gaussian with one length scale or one for each feature, linear with a mean, or a sum."""
    if name == _LABEL_GP:
        return "rbf"
    if name.endswith("linear"):
        return _WITH_MEAN
    scales = np.full(n_features, 3.0) if name.endswith("ARD") else 3.0
    return _WITH_MEAN + _FREE * RBF(scales, (1e-2, 1e3))


def _labels(
    model: LabelPreferenceGP, known: LabelPreferences, edges: LabelPreferences, place: Any
) -> tuple[Record, float]:
    """Choose hyperparameters by Laplace's method, and answer by expectation propagation, which is less modest."""
    merit = model.fit(known).log_evidence_
    model = LabelPreferenceGP(model.kernel_, inference="ep", hyperparameters="fixed").fit(known)
    found = of_probabilities(edges.outcome, model.predict_proba(edges)[:, 1])
    return {**found, "score": tau(place, model.predict_utility(edges))}, merit


def _places(model: Any, X: Any, place: Any, train: Any, test: Any) -> tuple[Record, float]:
    """Return what a regression of places, or a classifier of pairs of labels, reaches."""
    model.fit(X[train], place[train])
    if isinstance(getattr(model, "estimator", None), PairwiseLogistic):
        a, b, probability = model.best_estimator_.predict_pairs(X[test])
        outcome = np.sign(place[test][:, b] - place[test][:, a])
        found = of_probabilities(outcome.ravel(), probability.ravel())
        return {**found, "score": tau(place[test], model.predict(X[test]))}, np.nan
    return {"score": tau(place[test], -model.predict(X[test]))}, np.nan


def _label_rows(
    name: str, settings: Mapping[str, Any], seed: int, X: Any, place: Any, train: Any, test: Any
) -> tuple[Record, float]:
    """Return what a ranker reaches that sees a row for each item and label: features, and which label it is."""
    n_labels = place.shape[1]
    inner = train[: round(0.7 * len(train))], train[round(0.7 * len(train)) :]

    def rows(items: Any) -> Any:
        return np.hstack([np.repeat(X[items], n_labels, axis=0), np.tile(np.eye(n_labels), (len(items), 1))])

    def learned(fit: Any, items: Any) -> Any:
        level = n_labels - 1 - place[items]
        return fit(rows(items), level.ravel(), np.repeat(np.arange(len(items)), n_labels))

    def reached(model: Any, items: Any) -> float:
        return tau(place[items], model.predict(rows(items)).reshape(len(items), n_labels))

    candidates = _regressions(name, settings, seed)
    best = max(candidates, key=lambda fit: reached(learned(fit, inner[0]), inner[1]))
    return {"score": reached(learned(best, train), test)}, np.nan


def absent_peers(records: Sequence[Record]) -> list[str]:
    """Return a sentence about peers whose packages were not installed."""
    names = dict.fromkeys(name for one in records for name in one.get("missing", ()))
    if not names:
        return []
    return [
        f"Left out, because not installed: {', '.join(names)}. Install torch first and alone, then "
        '`pip install "preflearn[peers]"`, and choose another directory for the results.'
    ]


_PEERS = ["scikit-learn, logistic", "scikit-learn, forest", "LightGBM", "XGBoost"]
_SMALL_GRIDS = {
    "LightGBM": {"n_estimators": [10]},
    "XGBoost": {"n_estimators": [10]},
    "scikit-learn, logistic": {"C": [1.0]},
    "scikit-learn, forest": {"min_samples_leaf": [5]},
}
_RANKERS = {name: GRIDS[name] for name in ("LightGBM", "XGBoost")}
_SMALL_RANKERS = {
    name: {"n_estimators": [10], key: [4]} for name, key in (("LightGBM", "num_leaves"), ("XGBoost", "max_depth"))
}


def _contest_run(
    name: str, row: str, repeats: int, seconds: float, data: Any, peers: list[str], **settings: Any
) -> Run:
    return Run(
        name=f"peers-{name}",
        trial=contest,
        repeats=repeats,
        seconds=seconds,
        settings={
            "set": name,
            "row": row,
            "ours": list(OURS[name]),
            "peers": [*_PEERS, *peers],
            "baselines": False,
            "grids": GRIDS,
            "n_train": 6000,
            "n_test": 20_000,
            **settings,
        },
        quick={"ours": list(OURS[name])[:2], "peers": _PEERS, "grids": _SMALL_GRIDS},
        quick_repeats=1,
        data=data,
    )


def _ranking_run(name: str, row: str, seconds: float, data: Any) -> Run:
    return Run(
        name=f"peers-{name}",
        trial=ranking,
        repeats=5,
        seconds=seconds,
        settings={
            "set": name,
            "row": row,
            "peers": ["LightGBM", "XGBoost", "scikit-learn, ridge", "scikit-learn, boosting"],
            "rankers": _RANKERS,
            "alphas": [1e-2, 1e4, 7],
            "C": [1e-6, 1e-1, 6],
            "basis": 300,
            "rounds": 200,
            "iterations": [50, 200],
            "simulated": [4, 10, 8],
        },
        quick={
            "alphas": [1, 10, 2],
            "C": [1e-3, 1e-2, 2],
            "basis": 20,
            "rounds": 10,
            "iterations": [10],
            "rankers": _SMALL_RANKERS,
        },
        quick_repeats=1,
        data=data,
        most_repeats=5 if name == "clueweb" else None,
    )


LABELS = Run(
    name="peers-labels",
    trial=label_sets,
    repeats=3,
    seconds=150,
    settings={
        "sets": list(KEBI_SETS),
        "row": "labels",
        "ours": list(_KERNELS_OF_LABELS),
        "peers": ["scikit-learn, logistic", "scikit-learn, forest", "scikit-learn, neighbours", "LightGBM", "XGBoost"],
        "grids": {"scikit-learn, logistic": GRIDS["scikit-learn, logistic"]},
        "rankers": _RANKERS,
        "trees": 200,
        "neighbours": [3, 5, 10, 20],
        "n_train": 150,
        "n_test": 500,
    },
    quick={
        "sets": ["iris"],
        "n_train": 40,
        "trees": 10,
        "rankers": _SMALL_RANKERS,
        "neighbours": [5],
        "grids": {"scikit-learn, logistic": {"C": [1.0]}},
    },
    quick_repeats=1,
    data=KEBI,
)
RUNS = [
    LABELS,
    _contest_run("pokemon", "pokemon", 1, 260, POKEMON, ["choix", "BoTorch"]),
    _contest_run("cars", "cars", 3, 50, CARS, ["choix", "BoTorch"]),
    _contest_run("tennis", "tennis", 3, 30, TENNIS, ["choix"], baselines=True),
    _ranking_run("clueweb", "clueweb09", 12, CLUEWEB),
    _ranking_run("lambdarank", "lambdarank", 6, LAMBDARANK),
]
_ROWS = [
    f"{run.settings['row']}: {name}"
    for run in RUNS
    for name in (
        CHOSEN,
        *run.settings.get("ours", _OURS_OF_ROWS),
        *((type(model).__name__ for model in _BASELINES) if run.settings.get("baselines") else ()),
        *(_BASELINES_OF_ROWS if run.trial is ranking else ()),
        *run.settings["peers"],
    )
]
_KEYS = (CHOSEN, *LABELS.settings["ours"], *LABELS.settings["peers"])

_CHOICE_OF_LABELS = (
    "Hyperparameters by Laplace's method, answers by expectation propagation, whose probabilities are less modest."
)
_NOTES = (
    "One protocol: 70 % of the comparisons train, the others test; of Pokemon 6,000 fights train and 20,000 test, "
    "once. Queries are in 60 % training, 20 % validation and 20 % test, or in the folds of the collection. Nothing is"
    " chosen on test data: of ours the candidate with the highest evidence on the training part, or the best on "
    "validation queries; of the others the settings with the least log loss in 3-fold cross-validation of the "
    "training part, or the best on validation queries; BoTorch learns hyperparameters as it does by default. The "
    "first row of a set has the time of all our candidates together.",
    "What they see: classifiers of pairs see the features of both sides and their differences, in both orders, and "
    "probabilities are averaged over the orders. Ours sees items, people as judges (cars), the surface as a judge "
    "(tennis), what was known of the players before a match as differences (tennis), and in the rows called signs "
    "which of two has more of each number (Pokemon). choix sees names alone. BoTorch has a row for each car in the "
    "eyes of each person; on tennis every player in every match would be an item, so it is left out. SerialRank, "
    "SVDRank, RankCentrality and PageRank (tennis), RankSVM and RankBoost (documents) are those of "
    "`preflearn.baselines`; SerialRank is the paper's, not normalised.",
    "labels: means over 15 sets, 150 rows each for training; `preflearn reproduce peers-labels` shows the sets. "
    + _CHOICE_OF_LABELS,
    "Ours has the best score and log loss on labels, the best log loss on cars, level in accuracy with BoTorch, whose "
    "fit takes 70 times that of our most frequent choice, and the best log loss on tennis. PageRank, which sees names "
    "alone, names as many winners there as the best of ours, and has no probabilities. On documents the differences "
    "are smaller than the spread over folds.",
    "LightGBM and XGBoost win on Pokemon. The faster one wins nearly always, by however little it is faster: a smooth "
    "utility can say that only by making all other differences small. A rate of flips repairs a third of the log loss, "
    "the sign of each difference as a covariate nearly half, and circles a little more. What is left are products: "
    "which type meets which, and how that depends on strength. Trees find them one by one; a skew function has one "
    "kernel for all (`preflearn reproduce trees-pokemon`).",
)

EXPERIMENTS = (
    Experiment(
        name="peers",
        title="Our models and those of other packages, by one protocol",
        source="a study",
        runs=RUNS,
        head="set: model",
        rows=_ROWS,
        columns=[
            Column("score", "accuracy, tau or NDCG@10"),
            Column("loss", "log loss"),
            Column("calibration", "calibration error"),
            Column("seconds", "processor seconds", digits=1),
            Column("chosen", "share of trials in which it is chosen", digits=2),
        ],
        says=absent_peers,
        notes=_NOTES,
    ),
    Experiment(
        name="peers-labels",
        title="Label rankings of 15 sets: Kendall's tau",
        source="a study",
        runs=[LABELS],
        head="set",
        rows=KEBI_SETS,
        columns=[Column(name) for name in _KEYS],
        says=absent_peers,
        notes=[
            "150 rows train and up to 500 others test. " + _CHOICE_OF_LABELS,
            "Which kernel: ours in the first column is the one with the highest evidence on the training rows. A "
            "ranker of LightGBM or XGBoost has a row for each item and label, and its settings by a part of the "
            "training rows.",
            "A forest wins on cpu-small; logistic regression on authorship, wine and wisconsin, which have 13 features "
            "or more for 150 rows or fewer: a scale for each is learned too eagerly. A linear kernel alone is level on "
            "the last two, and evidence did not choose it.",
        ],
    ),
)
