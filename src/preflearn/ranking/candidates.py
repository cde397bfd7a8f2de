"""The models that comparisons may be ranked by: which there are, which of them data allow, and how each is built."""

from __future__ import annotations

from typing import Any

from sklearn.gaussian_process.kernels import ConstantKernel

from preflearn.data import Comparisons
from preflearn.exceptions import DataError
from preflearn.models import BradleyTerry, PreferenceGP

__all__ = [
    "AROUND",
    "BY_NAME",
    "JUDGED",
    "MODELS",
    "MOST_ITEMS",
    "ON_FEATURES",
    "applicable",
    "as_seen",
    "build_model",
    "check_model",
    "has_judges",
    "judged_items",
    "judged_pairs",
]

MODELS: dict[str, str] = {
    "bradley-terry": "Bradley-Terry, one utility per item",
    "thurstone": "Thurstone, one utility per item",
    "gp": "a smooth utility of the features",
    "gp-ard": "a smooth utility of the features, each with its own relevance",
    "gp-own": "a smooth utility of the features and an effect of each item",
    "gp-ard-own": "a smooth utility of the features, each with its own relevance, and an effect of each item",
    "both": "a utility and preferences that run in circles",
    "judges": "a utility that all judges share and a taste of each",
    "both-judges": "a utility and circles that all judges share and a taste of each",
}
BY_NAME = ("bradley-terry", "thurstone")
AROUND = ("both", "both-judges")
JUDGED = ("judges", "both-judges")
ON_FEATURES = ("gp", "gp-own", "gp-ard", "gp-ard-own")
MOST_ITEMS = 1_500  # with features: the cube of their number is paid at each step
MOST_RELEVANCES = 30  # features with a length scale each
WEAK = 1.5  # deviation of log hyperparameters around their start, as that of the log variance of Bradley-Terry
NO_RESTARTS_FROM = 300  # items from which on one start has to do


def applicable(data: Comparisons) -> tuple[list[str], tuple[str, ...]]:
    """Return the names of models worth trying, and what is left out for its cost."""
    names = ["bradley-terry"]
    if data.items is None:
        return names, ()
    used = len(data.used_items())
    if used > MOST_ITEMS:
        return names, (f"models of the features (at most {MOST_ITEMS:,} compared items; here {used:,})",)
    names.append("gp-own")
    if 1 < data.n_features <= MOST_RELEVANCES:
        return [*names, "gp-ard-own"], ()
    many = data.n_features > MOST_RELEVANCES
    return names, (f"a relevance for each of {data.n_features} features (at most {MOST_RELEVANCES})",) if many else ()


def check_model(data: Comparisons, name: str) -> str:
    """Return a name of ``MODELS`` that these data allow."""
    if name not in MODELS:
        raise DataError(f'rank: model "{name}" is not one of auto, {", ".join(MODELS)}.')
    if name in ON_FEATURES and data.items is None:
        raise DataError(
            f"rank: model {name} learns a utility of features, and the items have none. Give a table of items, or use "
            "bradley-terry."
        )
    if name in JUDGED and not has_judges(data):
        raise DataError(f"rank: model {name} needs comparisons by two judges or more. Name the column of the judges.")
    return name


def has_judges(data: Comparisons) -> bool:
    """Return whether two judges or more are named."""
    return data.judge is not None and len(set(data.judge.tolist()) - {""}) > 1


def judged_items(data: Comparisons) -> int:
    """Return how many items each judge was asked about, summed over judges."""
    assert data.judge is not None
    pairs = {*zip(data.judge.tolist(), data.first.tolist(), strict=True)}
    return len(pairs | {*zip(data.judge.tolist(), data.second.tolist(), strict=True)})


def judged_pairs(data: Comparisons) -> int:
    """Return how many pairs each judge was asked about, summed over judges."""
    assert data.judge is not None
    return len({*zip(data.judge.tolist(), data.pairs.row.tolist(), strict=True)})


def as_seen(data: Comparisons, name: str) -> Comparisons:
    """Return comparisons as a model of ``MODELS`` sees them: those that know items by name get no features."""
    return data.with_items(data.n_items) if name in BY_NAME and data.items is not None else data


def build_model(data: Comparisons, name: str, *, like: str | None = None, random_state: Any = 0) -> Any:
    """Return the unfitted model of a name of ``MODELS``; those with parts have the utility of ``like``."""
    ties = bool((data.outcome == 0).any())
    if name in BY_NAME:
        return BradleyTerry("logit" if name == "bradley-terry" else "probit", ties=ties)
    utility = name
    parts: dict[str, Any] = {}
    if name in (*AROUND, *JUDGED):
        utility = like if like in ON_FEATURES else "gp-own"
        if name in AROUND:
            parts["cyclic_kernel"] = ConstantKernel() if data.items is None else "rbf"
        if name in JUDGED:
            parts["judge_kernel"] = "identity"
    return PreferenceGP(
        ConstantKernel() if data.items is None else "ard" if "ard" in utility else "rbf",
        "logit",
        ties=ties,
        own_effect="own" in utility and data.items is not None,
        hyperprior=WEAK,
        # a random start with circles may need thousands of functions, and gains next to nothing
        n_restarts=0 if name in AROUND or len(data.used_items()) >= NO_RESTARTS_FROM or data.items is None else 1,
        random_state=random_state,
        **parts,
    )
