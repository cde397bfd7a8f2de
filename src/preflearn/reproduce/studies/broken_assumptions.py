"""Votes that are not what they seem: what becomes of a ranking, and whether the term that says so helps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import betaln, expit
from scipy.stats import kendalltau
from sklearn.gaussian_process.kernels import ConstantKernel

from preflearn.data import Comparisons
from preflearn.models import PreferenceGP
from preflearn.reproduce.experiment import Case, Column, Experiment, Record, Run
from preflearn.reproduce.studies.coverage import random_pairs, share_held

_DEVIATIONS = 1.645  # either way, that hold 90 %
_SIDE = np.log(2.8)
_LENGTH = 0.7
_CLUSTER = 1.5
# Tastes can take the place of reliabilities; a search that starts with little of them finds the higher evidence.
_TASTES = ConstantKernel(0.01)
KNOWN = 16.0, 2.0  # careful and contrary judges whom the model's prior has seen
_SEED = 30_000  # data sets that nothing was decided on


class Drawn(NamedTuple):
    """Votes, true utilities, what an oracle learns from, the true effect, and true reliabilities."""

    data: Comparisons
    u: Any
    oracle: Comparisons | None = None
    effect: float | None = None
    reliability: Any = None


def _vote(z: Any, noise: Any) -> Any:
    return np.where(z + noise > 0, 1.0, -1.0)


def side(rng: np.random.Generator, n: int = 30, m: int = 5_000) -> Drawn:
    """Newer items stand first in 85 % of rows, and who stands first has odds of 2.8; age is not strength."""
    u, noise = 0.6 * rng.normal(size=n), rng.logistic(size=m)
    one, other = random_pairs(rng, n, m)
    newer_first = rng.random(m) < 0.85
    first = np.where(newer_first, np.maximum(one, other), np.minimum(one, other))
    second = one + other - first
    z = u[first] - u[second]
    seen, fair = (Comparisons(n, first, second, _vote(value, noise)) for value in (z + _SIDE, z))
    return Drawn(seen, u, fair, float(_SIDE))


def clusters(rng: np.random.Generator, n: int = 20, prompts: int = 200, seen: int = 4) -> Drawn:
    """Ten votes about each prompt; a prompt has an effect of deviation 1.5 on each of the items that it sees."""
    u, effect = rng.normal(size=n), _CLUSTER * rng.normal(size=(prompts, n))
    shown = rng.permuted(np.tile(np.arange(n), (prompts, 1)), axis=1)[:, :seen]
    prompt = np.repeat(np.arange(prompts), 10)
    first, second = (shown[prompt, place] for place in random_pairs(rng, seen, len(prompt)))
    z = u[first] - u[second] + effect[prompt, first] - effect[prompt, second]
    return Drawn(Comparisons(n, first, second, _vote(z, rng.logistic(size=len(z))), cluster=prompt), u)


def one_pair(rng: np.random.Generator) -> Drawn:
    """Ten votes about one pair a prompt."""
    return clusters(rng, seen=2)


def all_pairs(rng: np.random.Generator) -> Drawn:
    """Ten votes about any of 20 items a prompt."""
    return clusters(rng, seen=20)


def covariates(rng: np.random.Generator, n: int = 30, m: int = 3_000, tied: float = 0.7) -> Drawn:
    """Longer answers win, by 0.7 for each unit, and better items write longer ones: correlation ``tied`` of items."""
    u, noise = rng.normal(size=n), rng.logistic(size=m)
    length = tied * u + np.sqrt(1 - tied**2) * rng.normal(size=n)
    first, second = random_pairs(rng, n, m)
    x = length[first] - length[second] + np.sqrt(2) * rng.normal(size=m)
    z = u[first] - u[second]
    data = Comparisons(n, first, second, _vote(z + _LENGTH * x, noise), covariates=x)
    return Drawn(data, u, Comparisons(n, first, second, _vote(z, noise)), _LENGTH)


def covariates_apart(rng: np.random.Generator) -> Drawn:
    """Length has nothing to do with quality."""
    return covariates(rng, tied=0.0)


def judges(rng: np.random.Generator, s: Any, n: int = 20, answers: int = 40) -> Drawn:
    """Judges of reliabilities ``s``; the oracle learns from those of reliability 1."""
    u, judge = rng.normal(size=n), np.repeat(np.arange(len(s)), answers)
    first, second = random_pairs(rng, n, len(judge))
    z = s[judge] * (u[first] - u[second])
    data = Comparisons(n, first, second, _vote(z, rng.logistic(size=len(z))), judge=judge)
    good = s[judge] == 1.0
    return Drawn(data, u, data[good] if good.any() else None, reliability=s)


def careless(rng: np.random.Generator) -> Drawn:
    """Half of 20 judges answer like a coin."""
    return judges(rng, np.repeat([0.0, 1.0], 10))


def contrary(rng: np.random.Generator) -> Drawn:
    """Six of 20 judges answer the contrary."""
    return judges(rng, np.repeat([-1.0, 1.0], [6, 14]))


def near_balance(rng: np.random.Generator) -> Drawn:
    """Nine of 20 judges answer the contrary."""
    return judges(rng, np.repeat([-1.0, 1.0], [9, 11]))


def either_way(rng: np.random.Generator, n_judges: int = 20, more: int = 11) -> Drawn:
    """Eleven judges answer the opposite of nine; who is right is drawn with the odds that the model's prior has."""
    fewer = n_judges - more
    careful, contrary = KNOWN
    odds = betaln(careful + more, contrary + fewer) - betaln(careful + fewer, contrary + more)
    right = 1.0 if rng.random() < expit(odds) else -1.0
    return judges(rng, right * np.repeat([-1.0, 1.0], [fewer, more]))


def camps(rng: np.random.Generator) -> Drawn:
    """Ten judges answer the opposite of ten others, who are right."""
    return judges(rng, np.repeat([-1.0, 1.0], 10))


def of_kinds(rng: np.random.Generator, n_judges: int = 20, deviation: float = 0.5) -> Any:
    """Return reliabilities of careful, careless and contrary judges, of the distribution that the model has."""
    return rng.choice([1.0, 0.0, -1.0], p=[0.8, 0.1, 0.1], size=n_judges) + deviation * rng.normal(size=n_judges)


def kinds(rng: np.random.Generator) -> Drawn:
    """Reliabilities are drawn from the prior; 200 answers of each judge."""
    return judges(rng, of_kinds(rng), answers=200)


def prompts_and_careless(rng: np.random.Generator, n: int = 15, prompts: int = 150) -> Drawn:
    """Ten votes about each prompt by 16 judges of whom four do not look; a prompt has effects of deviation 1.2."""
    u, effect = rng.normal(size=n), 1.2 * rng.normal(size=(prompts, n))
    s = np.where(np.arange(16) < 4, 0.0, 1.0)
    prompt, judge = np.repeat(np.arange(prompts), 10), rng.integers(0, len(s), 10 * prompts)
    first, second = random_pairs(rng, n, len(prompt))
    z = s[judge] * (u[first] - u[second] + effect[prompt, first] - effect[prompt, second])
    votes = _vote(z, rng.logistic(size=len(z)))
    return Drawn(Comparisons(n, first, second, votes, cluster=prompt, judge=judge), u, reliability=s)


def together(rng: np.random.Generator, n: int = 15, n_judges: int = 20, answers: int = 100) -> Drawn:
    """Judges with tastes (half the variance of utilities), reliabilities and side biases 0.5 ± 0.5 of their own."""
    u, s, judge = rng.normal(size=n), of_kinds(rng, n_judges, 0.2), np.repeat(np.arange(n_judges), answers)
    own, bias = np.sqrt(0.5) * rng.normal(size=(n_judges, n)) + u, 0.5 + 0.5 * rng.normal(size=n_judges)
    first, second = random_pairs(rng, n, len(judge))
    z = s[judge] * (own[judge, first] - own[judge, second] + bias[judge])
    return Drawn(Comparisons(n, first, second, _vote(z, rng.logistic(size=len(z))), judge=judge), u, None, 0.5, s)


class Situation(NamedTuple):
    """Words, what draws the votes, models by name, data sets, and seconds of one."""

    words: str
    draw: Callable[[np.random.Generator], Drawn]
    models: dict[str, dict[str, Any]]
    repeats: int
    seconds: float


_ORACLE: dict[str, dict[str, Any]] = {"oracle": {}}
_OF_JUDGES: dict[str, dict[str, Any]] = {
    "without": {},
    "tastes alone": {"judge_kernel": "identity"},
    "with reliabilities": {"judge_reliability": True},
}
_OF_CAMPS = {name: _OF_JUDGES[name] for name in ("without", "with reliabilities")}
_OF_CLUSTERS: dict[str, dict[str, Any]] = {
    "without": {},
    "with clusters, Laplace": {"cluster": True, "inference": "laplace"},
    "with clusters": {"cluster": True},
}
_OF_LENGTH: dict[str, dict[str, Any]] = {"without": {"covariates": False}, "with the covariate": {}, **_ORACLE}
_OF_SIDES: dict[str, dict[str, Any]] = {"without": {}, "with the side": {"side": True}, **_ORACLE}
SITUATIONS = {
    "side": Situation("newer item first", side, _OF_SIDES, 60, 0.2),
    "clusters": Situation("ten votes about 4 items a prompt", clusters, _OF_CLUSTERS, 60, 0.6),
    "one-pair": Situation("ten votes about one pair a prompt", one_pair, _OF_CLUSTERS, 60, 0.6),
    "all-pairs": Situation("ten votes about any of 20 items a prompt", all_pairs, _OF_CLUSTERS, 60, 0.6),
    "covariates": Situation("length goes with quality", covariates, _OF_LENGTH, 60, 0.2),
    "covariates-apart": Situation("length has nothing to do with quality", covariates_apart, _OF_LENGTH, 60, 0.2),
    "careless": Situation("half of the judges careless", careless, {**_OF_JUDGES, **_ORACLE}, 60, 1.0),
    "contrary": Situation("30 % of the judges contrary", contrary, {**_OF_JUDGES, **_ORACLE}, 60, 1.0),
    "kinds": Situation("reliabilities drawn from the prior, 200 answers", kinds, _OF_JUDGES, 60, 1.0),
    "prompts-and-careless": Situation(
        "ten votes a prompt, a quarter of the judges careless",
        prompts_and_careless,
        {"without": {}, "clusters alone": {"cluster": True}, "both": {"cluster": True, "judge_reliability": True}},
        60,
        6.0,
    ),
    "together": Situation(
        "tastes, reliabilities and side biases",
        together,
        {
            "without": {},
            "tastes alone": {"judge_kernel": "identity"},
            "all three": {"judge_kernel": _TASTES, "judge_reliability": True, "side": "judge"},
        },
        60,
        2.0,
    ),
}

CONTRADICTIONS = {
    "near-balance": Situation("45 % of the judges contrary", near_balance, _OF_CAMPS, 60, 1.0),
    "either-way": Situation("11 judges against 9, either right as the prior has it", either_way, _OF_CAMPS, 60, 1.0),
    "camps": Situation("half of the judges contrary", camps, _OF_CAMPS, 60, 1.0),
}


def learn(case: Case) -> list[Record]:
    """Learn votes without the term, with it, and as an oracle does; return what each model gets right."""
    situation = (SITUATIONS | CONTRADICTIONS)[case.settings["situation"]]
    drawn = situation.draw(np.random.default_rng(_SEED + case.random_state))
    records = []
    for name in case.settings["models"]:
        data = drawn.oracle if name == "oracle" else drawn.data
        options: dict[str, Any] = {"likelihood": "logit", "n_restarts": 0, **situation.models[name]}
        model = PreferenceGP(random_state=0, **options).fit(data)
        records.append({"row": f"{situation.words}, {name}", **_judged(model, drawn)})
    return records


def _judged(model: PreferenceGP, drawn: Drawn) -> Record:
    u, found = drawn.u - drawn.u.mean(), model.rank()
    place = _places(u[None, :])[0][found.row]
    draws = _places(model.sample_utilities(n_samples=1_000, random_state=1))[:, found.row]
    truth = u[found.row]
    record: Record = {
        "tau": float(kendalltau(found.utility, truth)[0]),
        "places": float(np.mean((found.rank_low <= place) & (place <= found.rank_high))),
        "said": float(np.mean((found.rank_low <= draws) & (draws <= found.rank_high))),
        "utilities": share_held(found, truth),
        "slope": float(np.polyfit(found.utility, truth, 1)[0]),
    }
    knows_length = model.covariates and model.comparisons_.covariates is not None
    if drawn.effect is not None and (model.side or knows_length):
        effect = model.side_effect_ if model.side else model.covariate_effects_[0]
        record["effect"] = float(effect.low <= drawn.effect <= effect.high)
    if model.judge_reliability:
        away = np.abs(model.reliability_ - drawn.reliability)
        record["correlation"] = float(np.corrcoef(model.reliability_, drawn.reliability)[0, 1])
        record["reliabilities"] = float(np.mean(away <= _DEVIATIONS * model.reliability_std_))
    return record


def _places(utilities: Any) -> Any:
    return 1 + np.argsort(np.argsort(-utilities, axis=1), axis=1)


_PLAIN = ("side", "covariates", "careless")  # with --quick also with their terms

_COLUMNS = [
    Column("tau", digits=2, spread="error"),
    Column("places", spread="error"),
    Column("said", "said to hold", spread="error"),
    Column("utilities", spread="error"),
    Column("slope", digits=2, spread="error"),
    Column("effect", spread="error"),
    Column("correlation", "reliabilities: correlation", digits=2, spread="error"),
    Column("reliabilities", spread="error"),
]


def _experiment(name: str, title: str, situations: dict[str, Situation], notes: str) -> Experiment:
    return Experiment(
        name=name,
        title=title,
        source="a study",
        runs=[
            Run(
                name=f"{name}-{key}",
                trial=learn,
                repeats=one.repeats,
                seconds=one.seconds,
                settings={"situation": key, "models": list(one.models)},
                quick={} if key in _PLAIN else {"models": ["without"]},
                quick_repeats=1,
            )
            for key, one in situations.items()
        ],
        head="votes, model",
        columns=_COLUMNS,
        notes=[notes],
    )


EXPERIMENTS = (
    _experiment(
        "broken-assumptions",
        "Votes that are not what they seem, and the term that says so",
        SITUATIONS,
        "Logistic noise. The model without the term, with it, and an oracle: the same votes without the "
        "disturbance, or the votes of the good judges alone. tau is Kendall's to the true order. Places, "
        "utilities, effect and reliabilities are shares of 90 % intervals that hold the truth. Places are whole "
        "numbers, so that their intervals hold more than 90 %: beside them what the model itself says. slope is "
        "that of the true utilities on the estimated ones: above 1 these are too close together, below 1 too far "
        "apart.",
    ),
    _experiment(
        "contradicting-judges",
        "Judges who contradict each other",
        CONTRADICTIONS,
        "As broken-assumptions. Two rankings, one about the reverse of the other, explain such votes, and answers "
        "count both: intervals are wide, and hold 90 % over data sets in which either is right as often as the prior "
        "says. Where most judges are always right they hold more.",
    ),
)
