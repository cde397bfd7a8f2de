"""Models of label preferences by name: which one the data ask for, and how well they predict unseen rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import ConstantKernel, DotProduct
from sklearn.model_selection import GridSearchCV, KFold

from preflearn.analysis.limits import LIMITS, Limits
from preflearn.baselines import LabelConstraintSVM, LabelFrequencies
from preflearn.baselines.label_frequencies import firsts
from preflearn.data import LabelPreferences
from preflearn.exceptions import DataError, Setting, first_few, quiet
from preflearn.models import LabelPreferenceGP
from preflearn.models.label_gp import operations
from preflearn.selection import HeldOut
from preflearn.structure.circle_search import PRICE
from preflearn.table_format import plural

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]
Progress = Callable[[str, float], None]

PROCESSES: dict[str, Any] = {
    "label-gp": "rbf",
    "label-gp-ard": "ard",
    "label-gp-linear": ConstantKernel() + ConstantKernel(0.1) * DotProduct(0.0, "fixed"),
}
LABEL_MODELS: dict[str, str] = {
    "label-gp": "a smooth utility of the features for each label",
    "label-gp-ard": "a smooth utility of the features for each label, each feature with its own relevance",
    "label-gp-linear": "a linear utility of the features for each label",
    "label-svm": "the largest margins between labels, at a price chosen by cross-validation",
    "label-frequencies": "one mean ranking, whatever the features",
}
_PRICES, _PASSES = {"C": [0.1, 1.0, 10.0, 100.0]}, 2_000  # of the support vector machine


@dataclass(frozen=True)
class LearnedLabels:
    """A model of labels that was learned, its name, and sentences about how.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn.analysis.label_models import learn_labels
    >>> from preflearn.data import from_class_labels
    >>> X = np.linspace(-1, 1, 12)[:, None]
    >>> learned = learn_labels(from_class_labels(X, np.where(X[:, 0] > 0, "warm", "cold")), "label-gp")
    >>> learned.name, str(learned.model.predict_label([[0.8]])[0])
    ('label-gp', 'warm')
    """

    model: Any
    name: str
    notes: tuple[str, ...]

    @property
    def words(self) -> str:
        """What the model is, in words."""
        return f"{LABEL_MODELS[self.name]} ({self.name})"


def learn_labels(
    data: LabelPreferences,
    model: str = "auto",
    *,
    random_state: int = 0,
    limits: Limits = LIMITS,
    progress: Progress | None = None,
) -> LearnedLabels:
    """Learn a model of labels by its name, or the one that the evidence chooses.

    Hyperparameters are searched for, and processes compared, on as many rows as make that quick; then utilities are
    learned from all rows, up to a limit that a note speaks of. ``model`` is a key of `LABEL_MODELS` or "auto".
    """
    if model != "auto" and model not in LABEL_MODELS:
        raise DataError(code="unknown-label-model", owner="learn_labels").says(
            Setting("model", model) + " is not a model of labels", f"Choose from auto, {', '.join(LABEL_MODELS)}"
        )
    tell = progress or (lambda what, share: None)
    rng = np.random.default_rng(random_state)
    notes: list[str] = []
    if model == "label-frequencies":
        return LearnedLabels(LabelFrequencies().fit(data), model, ())
    whole = _drawn(data, limits.label_learning, rng)
    if len(whole) < len(data):
        notes.append(
            f"Learned from {len(whole):,} of {len(data):,} rows, drawn at random: time grows with the cube of rows "
            "times labels."
        )
    if model == "label-svm":
        folds = KFold(3, shuffle=True, random_state=random_state)
        decided = _decided(_drawn(whole, limits.label_search, rng))
        with quiet():
            tell("Choosing a price", 0.0)
            price = _PRICES["C"][1]
            if len(decided) > 3:
                price = (
                    GridSearchCV(LabelConstraintSVM(max_iter=_PASSES), _PRICES, cv=folds).fit(decided).best_params_["C"]
                )
            return LearnedLabels(
                LabelConstraintSVM(C=price, max_iter=_PASSES).fit(_decided(whole)), model, (*notes, f"C is {price:g}.")
            )
    return _process(data, whole, model, notes, rng, random_state, limits, tell)


def _process(
    data: LabelPreferences,
    whole: LabelPreferences,
    model: str,
    notes: list[str],
    rng: np.random.Generator,
    random_state: int,
    limits: Limits,
    tell: Progress,
) -> LearnedLabels:
    """Learn a Gaussian process, of the kernel of highest evidence for its number of parameters unless it is named."""
    some = _drawn(whole, limits.label_search, rng)
    names = [model]
    if model == "auto":
        ard = 1 < data.n_features <= limits.relevances
        names = ["label-gp", *(["label-gp-ard"] if ard else []), "label-gp-linear"]
    found: dict[str, Any] = {}
    worth: dict[str, float] = {}
    with quiet():
        for k, name in enumerate(names):
            tell(f"Searching for the hyperparameters of {name}", k / (len(names) + 1))
            restarts = 1 if name == "label-gp" else 0
            searched = LabelPreferenceGP(PROCESSES[name], n_restarts=restarts, random_state=random_state).fit(some)
            found[name] = _by_moments(searched.kernel_).fit(some)
            worth[name] = found[name].log_evidence_ - PRICE * len(searched.theta_)
        name = max(names, key=worth.__getitem__)
        best = found[name]
        if len(some) < len(whole):
            tell("Learning from all rows", len(names) / (len(names) + 1))
            moments = operations(whole) <= limits.label_moments
            best = (_by_moments if moments else _by_laplace)(best.kernel_).fit(whole)
    if len(names) > 1:
        rest = sorted((other for other in names if other != name), key=lambda other: -worth[other])
        behind = ", ".join(f"{other} is {worth[name] - worth[other]:.1f} nats behind" for other in rest)
        notes.append(f"It has the highest evidence, less a price for each hyperparameter: {behind}.")
    if len(some) < len(whole):
        how = "" if best.inference == "ep" else ", by Laplace's method: probabilities may be a little too near to even"
        notes.append(
            f"Hyperparameters are those of {len(some):,} rows, drawn at random; utilities of all {len(whole):,}{how}."
        )
    return LearnedLabels(best, name, tuple(notes))


def _by_moments(kernel: Any) -> LabelPreferenceGP:
    """Return the model at given hyperparameters, by expectation propagation.

    Laplace's method finds them well and quickly, but where answers are nearly free of noise it takes utilities to be
    so uncertain that probabilities are far too near to even: log loss 0.31 instead of 0.05 on the iris rankings.
    """
    return LabelPreferenceGP(kernel, inference="ep", hyperparameters="fixed")


def _by_laplace(kernel: Any) -> LabelPreferenceGP:
    """Return the same by Laplace's method, which takes a tenth of the time."""
    return LabelPreferenceGP(kernel, hyperparameters="fixed")


def _drawn(data: LabelPreferences, most: float, rng: np.random.Generator) -> LabelPreferences:
    """Return as many of the rows, drawn at random, as can be factored with so many operations."""
    needed = operations(data)
    if needed <= most:
        return data
    n = max(2 * data.n_labels, int(len(data) * (most / needed) ** (1 / 3)))
    if n >= len(data):
        return data
    order = rng.permutation(len(data))
    while not np.isin(order[:n], data.item).any():  # rows that say something
        order = rng.permutation(len(data))
    return data[np.sort(order[:n])]


def _decided(data: LabelPreferences) -> LabelPreferences:
    """Return the same without ties."""
    return data if data.outcome.all() else data._take(data.outcome != 0)


@dataclass(frozen=True)
class LabelScores:
    """How well a model predicted the labels of rows that it had not seen.

    ``edges`` are its predictions of what rows said of two labels each; ``margin`` are differences of utilities and
    ``first`` the probabilities of the labels that came first, one for each row that has one, where the model has
    probabilities. ``label_right`` has 1 for each such row whose first label was predicted, and 0 otherwise.
    """

    edges: HeldOut
    margin: FloatArray
    label_right: FloatArray
    first: FloatArray | None

    @property
    def probable(self) -> bool:
        """Whether the model has probabilities."""
        return self.first is not None

    @property
    def tau(self) -> float:
        """Kendall's tau of each row between predicted and given order, on average over the rows."""
        sign = np.sign(self.margin) * np.sign(self.edges.outcome) * self.edges.weight
        decided = np.abs(np.sign(self.edges.outcome)) * self.edges.weight
        row = np.unique(self.edges.unit, return_inverse=True)[1]
        size = np.bincount(row, decided)
        return float(np.mean(np.bincount(row, sign)[size > 0] / size[size > 0]))

    @property
    def preference_error(self) -> float:
        """Share of preferences between two labels in the wrong direction; equal utilities count one half."""
        decided = self.edges.outcome != 0
        right = (1 + np.sign(self.margin) * np.sign(self.edges.outcome))[decided] / 2
        return 1.0 - float(np.average(right, weights=self.edges.weight[decided]))

    @property
    def label_error(self) -> float | None:
        """Share of rows whose first label is not the predicted one; None where no row has one."""
        return None if not len(self.label_right) else 1.0 - float(np.mean(self.label_right))

    @property
    def label_log_loss(self) -> float | None:
        """Mean surprise at the first label, in nats; None without probabilities."""
        if self.first is None or not len(self.first):
            return None
        return float(-np.mean(np.log(np.maximum(self.first, np.finfo(float).tiny))))


def score_labels(model: Any, data: LabelPreferences, rows: IntArray | None = None, n_folds: int = 1) -> LabelScores:
    """Return how a fitted model predicts label preferences; ``rows`` are the numbers of their rows."""
    known, labels = {label: place for place, label in enumerate(model.labels_.tolist())}, data.labels.tolist()
    strange = [label for label in labels if label not in known]
    if strange:
        raise DataError(code="labels-of-no-training", owner="score_labels").says(
            f"the model has not learned {plural(len(strange), 'label')}: {first_few(strange)}", "Leave out such rows"
        )
    mean = np.asarray(model.predict_utility(data))[:, [known[label] for label in labels]]
    margin = mean[data.item, data.first] - mean[data.item, data.second]
    probable = hasattr(model, "predict_proba")
    probability = model.predict_proba(data)[:, 1] if probable else (1 + np.sign(margin)) / 2
    top = firsts(data, data.n_labels)
    one = np.flatnonzero(top.max(axis=1, initial=0.0) == 1.0)
    # of all labels of the model, not only of those that occur here
    best = np.asarray(model.predict_utility(data)).argmax(axis=1)[one]
    right = np.array([known[label] for label in labels])[top[one].argmax(axis=1)]
    first = model.predict_label_proba(data)[one, right] if probable else None
    rows = np.arange(len(data)) if rows is None else rows
    weight = np.ones(data.n_edges) if data.weight is None else np.asarray(data.weight)
    edges = HeldOut(
        np.arange(data.n_edges), np.asarray(probability), np.asarray(data.outcome), weight, rows[data.item], "row",
        n_folds,
    )  # fmt: skip
    return LabelScores(edges, margin, (best == right).astype(np.float64), first)


def hold_out_labels(
    data: LabelPreferences,
    model: str = "auto",
    n_folds: int = 5,
    *,
    random_state: int = 0,
    progress: Progress | None = None,
) -> tuple[LabelScores, list[LearnedLabels]]:
    """Predict each row by a model that has not seen it; return how well, and what was learned in each fold.

    The folds are the same for all models. Labels that are not in what a fold learns from are known to be possible.
    """
    said = np.unique(data.item)
    if len(said) < 2:
        raise DataError(code="one-row-of-labels", owner="hold_out_labels").says(
            f"only {plural(len(said), 'row')} says something about labels, and nothing is left to learn from",
            "Give more rows",
        )
    n_folds = min(n_folds, len(said))
    tell = progress or (lambda what, share: None)
    parts, learned = [], []
    for k, (train, test) in enumerate(KFold(n_folds, shuffle=True, random_state=random_state).split(said)):

        def within(what: str, share: float, k: int = k) -> None:
            tell(f"Fold {k + 1} of {n_folds}: {what}", (k + share) / n_folds)

        within("learning", 0.0)
        learned.append(learn_labels(data[said[train]], model, random_state=random_state, progress=within))
        with quiet():
            parts.append(score_labels(learned[-1].model, data[said[test]], said[test], n_folds))
    return _joined(parts, n_folds), learned


def _joined(parts: Sequence[LabelScores], n_folds: int) -> LabelScores:
    row = np.concatenate([part.edges.unit for part in parts])
    probability, outcome, weight = (
        np.concatenate([getattr(part.edges, name) for part in parts]) for name in ("probability", "outcome", "weight")
    )
    first = [part.first for part in parts if part.first is not None]
    return LabelScores(
        HeldOut(np.arange(len(row)), probability, outcome, weight, row, "row", n_folds),
        np.concatenate([part.margin for part in parts]),
        np.concatenate([part.label_right for part in parts]),
        np.concatenate(first) if first else None,
    )
