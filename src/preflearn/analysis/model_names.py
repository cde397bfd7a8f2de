"""Which terms a model has: its name, what it means in words, and the estimator that learns it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel

from preflearn.analysis.limits import LIMITS, Limits
from preflearn.data import Comparisons
from preflearn.exceptions import DataError, Setting
from preflearn.kernels import Nystroem
from preflearn.models import BradleyTerry, PreferenceGP
from preflearn.models.bradley_terry import SPREAD

UTILITIES: dict[str, str] = {
    "bradley-terry": "Bradley-Terry, one utility per item",
    "thurstone": "Thurstone, one utility per item",
    "gp": "a smooth utility of the features",
    "gp-ard": "a smooth utility of the features, each with its own relevance",
    "gp-own": "a smooth utility of the features and an effect of each item",
    "gp-ard-own": "a smooth utility of the features, each with its own relevance, and an effect of each item",
    "gpgp": "preferences that may run in circles, without a utility",
}
BESIDE: dict[str, str] = {
    "side": "an advantage of the first side",
    "covariates": "effects of the covariates",
    "clusters": "what answers of one cluster have in common",
    "reliability": "how reliable each judge is",
    "tastes": "tastes of single judges",
    "circles": "preferences that run in circles",
}
ALIASES = {"judges": "tastes", "both": "circles", "both-judges": "tastes+circles"}
BY_NAME = ("bradley-terry", "thurstone")  # utilities that know items by name
NO_UTILITY = "gpgp"
NO_RESTARTS_FROM = 300  # from this many items the search starts once


@dataclass(frozen=True)
class Terms:
    """The utility of a model (a key of ``UTILITIES``) and its further terms (keys of ``BESIDE``).

    "gpgp" stands for no utility: circles are then all there is of items, and the name does not say them again.

    Examples
    --------
    >>> from preflearn.analysis import Terms
    >>> Terms("bradley-terry", ("side",)).name
    'bradley-terry+side'
    """

    utility: str
    beside: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.utility == NO_UTILITY and "circles" not in self.beside:
            object.__setattr__(self, "beside", (*self.beside, "circles"))

    @property
    def _added(self) -> tuple[str, ...]:
        """The terms that the utility does not say already."""
        return tuple(one for one in self.beside if self.utility != NO_UTILITY or one != "circles")

    @property
    def name(self) -> str:
        """As ``model=`` takes it: "gp-own+side+tastes"."""
        return "+".join([self.utility, *self._added])

    @property
    def words(self) -> str:
        """What the model is, in words."""
        parts = [UTILITIES[self.utility], *(BESIDE[name] for name in self._added)]
        return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"

    @property
    def on_features(self) -> bool:
        """Whether the utility, or the model without one, is one of features where items have some."""
        return self.utility not in BY_NAME

    def __contains__(self, term: str) -> bool:
        return term in self.beside

    def plus(self, term: str) -> Terms:
        """Return the same with one more term."""
        return replace(self, beside=tuple(name for name in BESIDE if name in (*self.beside, term)))

    def without(self, *terms: str) -> Terms:
        """Return the same without some terms."""
        return replace(self, beside=tuple(name for name in self.beside if name not in terms))


def terms_of(name: str, data: Comparisons) -> Terms:
    """Return the terms that a name means, if these data have what they need; without a utility the usual one."""
    parts = ALIASES.get(name, name).split("+")
    utility = parts.pop(0) if parts[0] in UTILITIES else "bradley-terry" if data.items is None else "gp-own"
    unknown = [part for part in parts if part not in BESIDE]
    if unknown:
        raise DataError(code="unknown-model", owner="rank").says(
            Setting("model", name) + f' is not known: "{unknown[0]}" is neither a utility ({", ".join(UTILITIES)}) '
            f"nor a term that can be added with + ({', '.join(BESIDE)})",
            "Leave the choice to auto",
        )
    terms = Terms(utility, tuple(one for one in BESIDE if one in parts))
    needed = {
        "judge": (has_judges(data), ("reliability", "tastes"), "comparisons by two judges or more"),
        "cluster": (data.cluster is not None, ("clusters",), "the prompt or task of each comparison"),
        "covariates": (data.covariates is not None, ("covariates",), "numbers of each comparison that vary"),
    }
    for role, (there, of, what) in needed.items():
        if not there and any(term in terms for term in of):
            raise DataError(code="model-needs-column", owner="rank").says(
                Setting("model", name) + f" needs {what}",
                "Name its column: " + Setting("columns", {role: "COLUMN"}),
            )
    if terms.on_features and data.items is None and terms.utility != NO_UTILITY:
        raise without_features(name)
    return terms


def without_features(name: str) -> DataError:
    """Return the error that a model needs features, and the items have none."""
    return DataError(code="model-needs-features", owner="rank").says(
        Setting("model", name) + " learns a utility of features, and the items have none",
        "Give them with " + Setting("items"),
        "use " + Setting("model", "bradley-terry"),
    )


def has_judges(data: Comparisons) -> bool:
    """Return whether two judges or more are named."""
    return data.judge is not None and len(set(data.judge.tolist()) - {""}) > 1


def has_clusters(data: Comparisons) -> bool:
    """Return whether there are two clusters or more, and one of them has two rows."""
    if data.cluster is None:
        return False
    named = [label for label in data.cluster.tolist() if label != ""]
    return 1 < len(set(named)) < len(named)


def as_seen(data: Comparisons, terms: Terms) -> Comparisons:
    """Return comparisons as a model sees them: one that knows items by name gets no features."""
    return data.without_features() if data.items is not None and not terms.on_features else data


def is_approximated(data: Comparisons, terms: Terms, limits: Limits) -> bool:
    """Return whether a model of some terms learns utilities of features as sums of functions."""
    smooth = terms.on_features and data.items is not None and "circles" not in terms
    return smooth and len(data.used_items()) > limits.items_on_features


def _landmarks(data: Comparisons, limits: Limits) -> Nystroem:
    plain = isinstance(data.items, np.ndarray)  # neither sparse nor bags, which have no centres
    return Nystroem(limits.landmarks, method="kmeans" if plain else "random", random_state=0)


def build_model(data: Comparisons, terms: Terms, *, limits: Limits = LIMITS, random_state: Any = 0) -> Any:
    """Return the unfitted estimator of some terms."""
    ties = bool((data.outcome == 0).any())
    common: dict[str, Any] = {
        "ties": ties,
        "side": "side" in terms,
        "cluster": "clusters" in terms,
        "covariates": "covariates" in terms,
    }
    link: Literal["logit", "probit"] = "probit" if terms.utility == "thurstone" else "logit"
    if not terms.on_features and not {"reliability", "tastes", "circles"} & set(terms.beside):
        return BradleyTerry(link, **common)
    featured, without = terms.on_features and data.items is not None, terms.utility == NO_UTILITY
    cyclic: Any = None if "circles" not in terms else "rbf" if featured else ConstantKernel()
    restarts = 0 if cyclic is not None or not featured or len(data.used_items()) >= NO_RESTARTS_FROM else 1
    return PreferenceGP(
        None if without else ConstantKernel() if not featured else "ard" if "ard" in terms.utility else "rbf",
        link,
        own_effect="own" in terms.utility,
        hyperprior=SPREAD,
        n_restarts=restarts,  # with circles a random start may need thousands of functions, and gains next to nothing
        cyclic_kernel=cyclic,
        judge_kernel="identity" if "tastes" in terms else None,
        judge_reliability="reliability" in terms,
        approximation=_landmarks(data, limits) if is_approximated(data, terms, limits) else None,
        random_state=random_state,
        **common,
    )
