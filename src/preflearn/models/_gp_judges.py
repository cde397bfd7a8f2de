"""Judges of a Gaussian process: who they are in training and in prediction, and the prior that tells them apart."""

from __future__ import annotations

from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
from sklearn.gaussian_process.kernels import ConstantKernel, Sum, WhiteKernel

from preflearn.data import Comparisons
from preflearn.data._judges import join_judges
from preflearn.exceptions import DataError, DataWarning, first_few, nearest_names, warn_user
from preflearn.inference.design import Design
from preflearn.inference.judge_design import JudgeDesign
from preflearn.inference.judges import JudgeFactor
from preflearn.models._gp_kernel import start_kernel
from preflearn.operators import IntArray
from preflearn.priors import POPULATION, UNKNOWN, Asked, ItemPrior, JudgeKernelPrior, JudgePrior, PairPrior

__all__ = [
    "asked_by",
    "asked_of",
    "average_similarity",
    "judge_names",
    "judge_numbers",
    "warn_one_judge",
    "with_judges",
]

SHARE = (1e-4, 1e3)  # bounds of the variance of a judge's own preferences, in units of the population's
MOST_TOGETHER = 6_000  # latents of judges with features, whose covariance is held


def judge_names(X: Comparisons) -> list[Any]:
    """Return the names of those who judged, sorted; "" is nobody in particular."""
    if X.judge is None:
        raise DataError(
            "PreferenceGP: judge_kernel asks how judges differ, but the comparisons do not say who judged. Give "
            "Comparisons judge=..., or leave judge_kernel=None."
        )
    names = set(X.judge.tolist()) - {""}
    try:
        return sorted(names)
    except TypeError:  # numbers and words
        return sorted(names, key=str)


def warn_one_judge(X: Comparisons, names: list[Any]) -> None:
    """Warn if there is nobody to tell a judge apart from."""
    if len(names) == 1 and "" not in np.asarray(X.judge, dtype=object):
        warn_user(
            f"PreferenceGP: all comparisons are by one judge ({first_few(names)}): what is its own and what all "
            "share cannot be told apart, so answers for others are guesses. Leave judge_kernel=None.",
            DataWarning,
        )


def judge_numbers(X: Comparisons, names: list[Any]) -> IntArray:
    """Return the number of each comparison's judge; every comparison by nobody in particular has a judge of its own."""
    place = {name: number for number, name in enumerate(names)}
    assert X.judge is not None
    numbers = np.array([place.get(name, -1) for name in X.judge.tolist()], dtype=np.intp)
    nobody = np.flatnonzero(numbers < 0)
    numbers[nobody] = len(names) + np.arange(nobody.shape[0])
    return numbers


def with_judges(
    model: Any, X: Comparisons, base: ItemPrior | PairPrior, A: Any, judge: IntArray, known: Any
) -> tuple[Any, Any]:
    """Return the prior of judges over that of their population, and the design; ``A`` is what is seen of ``base``."""
    design = JudgeDesign(A, judge)
    plan = design.plan
    own, between = _parts(model.judge_kernel)
    share = _share(own) if known is None else known.share
    if between is None:
        build = partial(JudgeFactor.build, plan=plan)
        return JudgePrior(base, share, int(judge.max()) + 1, build), design
    features = _features(X, model.judges_, int(judge.max()) + 1)
    if plan.flat.shape[0] > MOST_TOGETHER:
        raise DataError(
            f"PreferenceGP: judges with features are learned together, and they were asked about {plan.flat.shape[0]} "
            f"things (at most {MOST_TOGETHER}: a matrix of that size squared is held). Use "
            'judge_kernel="identity", which has no such limit, or fewer comparisons.'
        )
    kernel = (
        start_kernel("PreferenceGP", between, features, parameter="judge_kernel")
        if known is None
        else known.kernel_judges
    )
    who = np.concatenate([np.repeat(one, k.shape[1]) for one, k in zip(plan.judges, plan.latents, strict=True)])
    return JudgeKernelPrior(base, share, kernel, features, plan.flat, who), Design(design.own)


def _parts(kernel: Any) -> tuple[Any, Any]:
    """Return the kernel whose value is a judge's own share, and that between features; None where nothing is said."""
    if isinstance(kernel, str) and kernel == "identity":
        return None, None
    if isinstance(kernel, ConstantKernel):
        return kernel, None
    terms = _terms(kernel)
    own = [term for term in terms if isinstance(term, WhiteKernel)]
    if len(own) != 1:
        return None, kernel
    between = [term for term in terms if term is not own[0]]
    return ConstantKernel(own[0].noise_level, own[0].noise_level_bounds), reduce(add, between) if between else None


def _terms(kernel: Any) -> list[Any]:
    return [*_terms(kernel.k1), *_terms(kernel.k2)] if isinstance(kernel, Sum) else [kernel]


def _share(own: Any) -> Any:
    """Return the share to start from, with bounds where it has none of its own."""
    if own is None:
        return ConstantKernel(1.0, SHARE)
    start = start_kernel("PreferenceGP", own, np.zeros((2, 1)), parameter="judge_kernel")
    return ConstantKernel(start.constant_value, SHARE) if _untold(own) else start


def _is_identity(kernel: Any) -> bool:
    return _parts(kernel)[1] is None


def _untold(kernel: Any) -> bool:
    bounds = kernel.constant_value_bounds
    return not isinstance(bounds, str) and tuple(np.ravel(bounds)) == (1e-5, 1e5)


def _features(X: Comparisons, names: Any, n_judges: int) -> Any:
    """Return the features of the judges in their order; those whom nobody knows are average."""
    table = X.judges
    if table is None or table.values is None or table.names is None:
        raise DataError(
            "PreferenceGP: judge_kernel is a kernel between features of judges, and they have none. Give Comparisons "
            'judges=table, or use judge_kernel="identity".'
        )
    place = {name: row for row, name in enumerate(table.names)}
    missing = [name for name in names if name not in place]
    if missing:
        raise DataError(
            f"PreferenceGP: {len(missing)} judges have no row in the table of judges ({first_few(missing)}). "
            "Give Comparisons judges=table with a row for each."
        )
    known = np.asarray(table.values)[[place[name] for name in names]]
    return np.concatenate([known, np.tile(known.mean(axis=0), (n_judges - len(known), 1))])


def average_similarity(prior: JudgePrior | JudgeKernelPrior) -> float:
    """Return the prior variance of a judge's preferences in units of the population's, over the judges."""
    if isinstance(prior, JudgeKernelPrior):
        return float(prior.self_similarity(Asked(np.array([UNKNOWN])))[0])
    return 1.0 + float(prior.share.constant_value)


def asked_of(model: Any, X: Comparisons) -> Asked | None:
    """Return who is asked in each of some comparisons; None where the model does not tell judges apart."""
    if model.judge_kernel is None:
        return None
    if X.judge is None:
        return Asked(np.full(len(X), UNKNOWN))
    place: dict[Any, int] = {name: number for number, name in enumerate(model.judges_)}
    labels = list(dict.fromkeys(X.judge.tolist()))
    written = {str(name): name for name in model.judges_}
    alike = [label for label in labels if label not in place and str(label) in written]
    if alike:
        raise DataError(
            f"{type(model).__name__}: judge {alike[0]!r} is not among those of training, but "
            f"{written[str(alike[0])]!r} is. Write judges as words or as numbers, the same way as in training."
        )
    features = None
    if not _is_identity(model.judge_kernel) and X.judges is not None:
        table: Any = join_judges(model.comparisons_.judges, X.judges, type(model).__name__)
        features, first = table.values, model._solution.prior.n_judges
        for row, name in enumerate(table.names):
            place.setdefault(name, first + row)
    return Asked(np.array([place.get(name, UNKNOWN) for name in X.judge.tolist()], dtype=np.intp), features)


def asked_by(model: Any, judge: Any, count: int, owner: str) -> Asked | None:
    """Return one judge, or without a name the population, as the one who is asked about everything."""
    if judge is None:
        return None if getattr(model, "judge_kernel", None) is None else Asked(np.full(count, POPULATION))
    if getattr(model, "judge_kernel", None) is None:
        raise ValueError(
            f"{owner}: judge={judge!r}: the model does not tell judges apart. Fit it with "
            'PreferenceGP(judge_kernel="identity").'
        )
    names = list(model.judges_)
    if judge in names:
        return Asked(np.full(count, names.index(judge)))
    table = model.comparisons_.judges
    if not _is_identity(model.judge_kernel) and table is not None and judge in list(table.names):
        number = model._solution.prior.n_judges + list(table.names).index(judge)  # known by its features alone
        return Asked(np.full(count, number), table.values)
    hint = nearest_names(str(judge), [repr(name) for name in names])
    raise DataError(
        f"{owner}: judge {judge!r} is not among the {len(names)} of training{'; ' + hint if hint else ''}. "
        "Leave judge=None for the population that judges come from."
    )
