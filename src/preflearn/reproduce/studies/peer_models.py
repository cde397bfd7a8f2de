"""What other packages have for preferences, each asked for probabilities of comparisons, or scores, in a few lines."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.special import expit, ndtr
from sklearn.base import BaseEstimator
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler

from preflearn.baselines import PairAugmented
from preflearn.data import Comparisons
from preflearn.metrics import comparison_log_loss

PACKAGES = {"LightGBM": "lightgbm", "XGBoost": "xgboost", "choix": "choix", "BoTorch": "botorch"}
MOST_IN_TREES = 200  # rounds of boosting
GRIDS: dict[str, dict[str, list[Any]]] = {
    "LightGBM": {"n_estimators": [50, MOST_IN_TREES], "num_leaves": [7, 31]},
    "XGBoost": {"n_estimators": [50, MOST_IN_TREES], "max_depth": [3, 6]},
    "scikit-learn, logistic": {"C": [0.001, 0.01, 0.1, 1.0, 10.0]},
    "scikit-learn, forest": {"min_samples_leaf": [1, 5]},
}


def missing(names: Sequence[str]) -> list[str]:
    """Return those of our peers whose package is not installed."""
    return [name for name in names if name in PACKAGES and find_spec(PACKAGES[name]) is None]


def with_differences(rows: Any) -> Any:
    """Return features of two items side by side, and their differences."""
    half = rows.shape[1] // 2
    return np.hstack([rows, rows[:, :half] - rows[:, half:]])


def log_loss_score(model: Any, X: Comparisons, y: None = None) -> float:
    """Return minus the log loss, for the choice among candidates."""
    return -comparison_log_loss(X.outcome, model.predict_proba(X)[:, 1])


def _classifier(name: str, seed: int) -> Any:
    if name == "LightGBM":
        import lightgbm

        return lightgbm.LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    if name == "XGBoost":
        import xgboost

        return xgboost.XGBClassifier(random_state=seed, n_jobs=1)
    if name == "scikit-learn, forest":
        return RandomForestClassifier(MOST_IN_TREES, random_state=seed)
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))


def pair_classifier(name: str, seed: int, grid: Mapping[str, Sequence[Any]]) -> GridSearchCV:
    """Return a classifier of pairs in both orders, its settings by 3-fold cross-validation of the log loss."""
    pairs = PairAugmented(make_pipeline(FunctionTransformer(with_differences), _classifier(name, seed)))
    inner = pairs.estimator.steps[-1]
    prefix = f"estimator__{inner[0]}__" + ("logisticregression__" if hasattr(inner[1], "steps") else "")
    folds = KFold(3, shuffle=True, random_state=seed)
    return GridSearchCV(
        pairs, {prefix + key: list(values) for key, values in grid.items()}, scoring=log_loss_score, cv=folds
    )


class Choix(BaseEstimator):
    """Bradley-Terry utilities of items without features by choix (iterative Luce spectral ranking)."""

    def __init__(self, alpha: float = 0.1) -> None:
        self.alpha = alpha

    def fit(self, X: Comparisons, y: None = None) -> Choix:
        """Learn utilities."""
        import choix

        self.utilities_ = choix.ilsr_pairwise(X.n_items, winners_and_losers(X).tolist(), alpha=self.alpha)
        return self

    def predict_proba(self, X: Comparisons) -> Any:
        """Return P(second preferred) and P(first preferred)."""
        apart = self.utilities_[X.first] - self.utilities_[X.second]
        return np.column_stack([expit(-apart), expit(apart)])

    def score(self, X: Comparisons, y: None = None) -> float:
        """Return minus the log loss."""
        return log_loss_score(self, X)


def by_choix(seed: int) -> GridSearchCV:
    """Return choix with its regularisation by 3-fold cross-validation of the log loss."""
    return GridSearchCV(Choix(), {"alpha": [0.001, 0.01, 0.1, 1.0]}, cv=KFold(3, shuffle=True, random_state=seed))


class BoTorch(BaseEstimator):
    """PairwiseGP of BoTorch: Laplace's method, hyperparameters by the evidence with BoTorch's priors."""

    def fit(self, X: Comparisons, y: None = None) -> BoTorch:
        """Learn utilities of the items, features scaled to the unit cube as BoTorch wants them."""
        import torch
        from botorch.fit import fit_gpytorch_mll
        from botorch.models.pairwise_gp import PairwiseGP, PairwiseLaplaceMarginalLogLikelihood

        torch.set_num_threads(1)
        items = torch.tensor(MinMaxScaler().fit_transform(X.items), dtype=torch.float64)
        model = PairwiseGP(items, torch.tensor(winners_and_losers(X)))
        fit_gpytorch_mll(PairwiseLaplaceMarginalLogLikelihood(model.likelihood, model))
        with torch.no_grad():
            found = model.posterior(items)
            self.mean_ = found.mean.numpy().ravel()
            self.covariance_ = found.distribution.covariance_matrix.numpy()
        return self

    def predict_proba(self, X: Comparisons) -> Any:
        """Return P(second preferred) and P(first preferred): the probit of the difference, of items of training."""
        i, j, C = X.first, X.second, self.covariance_
        variance = np.maximum(C[i, i] + C[j, j] - 2 * C[i, j], 0)
        z = (self.mean_[i] - self.mean_[j]) / np.sqrt(2 + variance)
        return np.column_stack([ndtr(-z), ndtr(z)])


def winners_and_losers(X: Comparisons) -> Any:
    """Return a row of two items for each comparison, the winner first."""
    won = X.outcome > 0
    return np.column_stack([np.where(won, X.first, X.second), np.where(won, X.second, X.first)])


def ranker(name: str, seed: int, settings: Mapping[str, Any]) -> Callable[[Any, Any, Any], Any]:
    """Return a ranker of LightGBM or XGBoost: a function that fits rows, levels and groups, and returns the model."""

    def fit(X: Any, y: Any, group: Any) -> Any:
        order = np.argsort(group, kind="stable")
        X, y, group = X[order], np.asarray(y)[order].astype(int), np.asarray(group)[order]
        if name == "LightGBM":
            import lightgbm

            model = lightgbm.LGBMRanker(random_state=seed, n_jobs=1, verbose=-1, **settings)
            return model.fit(X, y, group=np.unique(group, return_counts=True)[1])
        import xgboost

        return xgboost.XGBRanker(random_state=seed, n_jobs=1, **settings).fit(X, y, qid=group)

    return fit


class PairwiseLogistic(BaseEstimator):
    """Label ranking by pairwise comparison: a logistic regression for each pair of labels, probabilities as votes."""

    def __init__(self, C: float = 1.0) -> None:
        self.C = C

    def fit(self, X: Any, place: Any) -> PairwiseLogistic:
        """Learn from places of labels, (n_items, n_labels), 0 the best."""
        self.n_labels_ = place.shape[1]
        self.models_ = []
        for a, b in zip(*np.triu_indices(self.n_labels_, 1), strict=True):
            y = place[:, a] < place[:, b]
            share = (y.sum() + 1) / (len(y) + 2)  # where one is always ahead
            model = LogisticRegression(C=self.C, max_iter=2000).fit(X, y) if 0 < y.sum() < len(y) else share
            self.models_.append(model)
        return self

    def predict_pairs(self, X: Any) -> tuple[Any, Any, Any]:
        """Return both labels of each pair, and P(the one is ahead of the other), (n_items, n_pairs)."""
        found = [
            np.full(len(X), model) if isinstance(model, float) else model.predict_proba(X)[:, 1]
            for model in self.models_
        ]
        return (*np.triu_indices(self.n_labels_, 1), np.column_stack(found))

    def predict(self, X: Any) -> Any:
        """Return sums of votes, (n_items, n_labels)."""
        a, b, probability = self.predict_pairs(X)
        votes = np.zeros((len(X), self.n_labels_))
        np.add.at(votes.T, a, probability.T)
        np.add.at(votes.T, b, 1 - probability.T)
        return votes

    def score(self, X: Any, place: Any) -> float:
        """Return minus the log loss over all pairs of labels."""
        a, b, probability = self.predict_pairs(X)
        return -comparison_log_loss(np.sign(place[:, b] - place[:, a]).ravel(), probability.ravel())
