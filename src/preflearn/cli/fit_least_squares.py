"""Learning by least squares for ``preflearn fit``: what is "auto" is chosen by cross-validation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import PredefinedSplit

from preflearn.cli.sources import about, read_any
from preflearn.data import Comparisons, Ratings
from preflearn.exceptions import DataError
from preflearn.io.reading import check_feature_numbers
from preflearn.kernels import Nystroem
from preflearn.metrics import get_scorer, pairwise_accuracy
from preflearn.models import KPCR, KPCRCV, RLS, RLSCV, KPCRank, KPCRankCV, RankRLS, RankRLSCV
from preflearn.table_format import plural

if TYPE_CHECKING:
    from preflearn.cli.fit import Learning
    from preflearn.cli.options import ReadOptions

# Each model, and the one that chooses alpha or the number of components.
MODELS: dict[str | None, tuple[Any, Any]] = {
    "rankrls": (RankRLS, RankRLSCV),
    "rls": (RLS, RLSCV),
    "kpcrank": (KPCRank, KPCRankCV),
    "kpcr": (KPCR, KPCRCV),
}
MOST_COMPONENTS = 100


def train(
    data: Ratings | Comparisons, asked: Learning, seed: int, validation: Ratings | None = None
) -> tuple[Any, list[tuple[str, str]]]:
    """Fit the model; what is "auto" is chosen by cross-validation, or on rows for it. Returns lines about it, too."""
    choices = asked.resolved()
    plain, choosing = MODELS[choices.model]
    common: dict[str, Any] = {"kernel": choices.kernel}
    if choices.nystroem is not None:
        common["approximation"] = Nystroem(choices.nystroem, random_state=seed)
    ties: Any = ("include", "exclude") if choices.ties == "auto" else (choices.ties or "include",)
    tried: list[dict[str, Any]] = [{}]
    if choices.on_pairs:
        common["weighting"] = choices.weighting or "pairs"
        # models with a penalty compare both ways to treat ties themselves
        tried = [{"ties": ties}] if choices.penalised and len(ties) > 1 else [{"ties": one} for one in ties]
    number, scoring = _number(choices), choices.scoring or "disagreement"
    if number is not None and len(ties) == 1:
        model = plain(number, **tried[0], **common).fit(data)
        lines = [("Chosen", f"nothing, as {choices.regulariser} = {number:g} was given")]
    else:
        candidates: Any = [number] if number is not None else None if choices.penalised else MOST_COMPONENTS
        seen, how = data, "in cross-validation"
        if validation is not None:
            assert isinstance(data, Ratings)
            seen, how = _together(data, validation), f"on {asked.validation}"
            common["cv"] = PredefinedSplit(np.repeat([-1, 0], [len(data), len(validation)]))
        models = [choosing(candidates, scoring=scoring, **one, **common).fit(seen) for one in tried]
        model = max(models, key=lambda candidate: candidate.best_score_)  # of equal scores the first
        lines = [("Chosen", _chosen(choices, model, data)), ("Score", _score_in_words(scoring, model.best_score_, how))]
        if validation is not None:  # what it was chosen on is not learned from
            common.pop("cv")
            own = {"ties": getattr(model, "ties_", model.ties)} if choices.on_pairs else {}
            value = model.alpha_ if choices.penalised else model.n_components_
            model = plain(value, **own, **common).fit(data)
    note = _switch(asked, data)
    return model, [("Model", _described(choices, model)), *lines, *([("Note", note)] if note else [])]


def read_validation(data: Ratings | Comparisons, path: Path, options: ReadOptions, zero_based: bool) -> Ratings:
    """Return the rows that something is chosen on, which have the features of ``data``."""
    if not isinstance(data, Ratings):
        raise DataError(
            "--validation is for rows with scores, and models of comparisons are chosen by evidence or by leaving out "
            "pairs. Leave it out."
        )
    found = read_any(str(path), options, n_features=data.n_features, zero_based=zero_based).data
    if not isinstance(found, Ratings):
        raise DataError(f"{path}: --validation must be an SVMlight file, as DATA is.")
    if (found.group is None) != (data.group is None):
        raise DataError(
            f"{path}: one of the two files has a qid in each line, and the other has none. Add it to both, or to none."
        )
    return found


def _together(data: Ratings, validation: Ratings) -> Ratings:
    """Return the rows of both, in groups of their own."""
    tables: list[Any] = [data.items, validation.items]
    X: Any = np.concatenate(tables) if all(isinstance(one, np.ndarray) for one in tables) else sparse.vstack(tables)
    first, second = (
        np.zeros(len(one), dtype=np.intp) if one.group is None else np.unique(one.group, return_inverse=True)[1]
        for one in (data, validation)
    )
    group = np.concatenate([first, second + first.max() + 1])
    return Ratings(X, np.concatenate([data.score, validation.score]), group)


def _chosen(choices: Learning, model: Any, data: Ratings | Comparisons) -> str:
    """Return what was chosen, and what was left out to do it."""
    parts = []
    if _number(choices) is None and choices.penalised:
        first, last = model.alphas_[0], model.alphas_[-1]
        edge = "the largest " if model.alpha_ == last else "the smallest " if model.alpha_ == first else ""
        parts.append(f"alpha = {model.alpha_:.4g} ({edge}of {len(model.alphas_)} from {first:.2g} to {last:.2g})")
    elif _number(choices) is None:
        parts.append(f"{plural(model.n_components_, 'component')} of 1 to {MOST_COMPONENTS}")
    if choices.ties == "auto":
        parts.append(f"ties {getattr(model, 'ties_', model.ties)}d")
    if choices.validation is not None:
        return f"{', '.join(parts)}, on {choices.validation}"
    grouped = data.group is not None and len(set(data.group.tolist())) > 1
    unit = "group" if grouped else "pair" if isinstance(data, Comparisons) else "row"
    one_by_one = choices.penalised and unit != "row"
    return f"{', '.join(parts)}, by {f'leaving out one {unit} at a time' if one_by_one else f'folds of {unit}s'}"


def check_options(choices: Learning) -> None:
    """Raise DataError for options that are wrong, or wrong together, before anything is read."""
    model = choices.model
    if choices.alpha is not None and not choices.penalised:
        raise DataError(f"--alpha belongs to rankrls and rls; {model} is regularised by --components. Leave it out.")
    if choices.components is not None and choices.penalised:
        raise DataError(f"--components belongs to kpcrank and kpcr; {model} is regularised by --alpha. Leave it out.")
    for option, given in (("--ties", choices.ties), ("--weighting", choices.weighting)):
        if given is not None and not choices.on_pairs:
            raise DataError(f"{option} belongs to rankrls and kpcrank; {model} does not look at pairs. Leave it out.")
    number = _number(choices)
    if choices.nystroem is not None and choices.kernel == "linear" and choices.penalised:
        raise DataError(
            "--nystroem approximates a kernel, and the linear kernel needs no approximation. Leave it out, or choose "
            "another kernel, such as --kernel rbf."
        )
    if choices.scoring is not None:
        with about("--scoring"):
            scorer = get_scorer(choices.scoring)
        if scorer.probabilistic:
            raise DataError(
                f"--scoring {choices.scoring} judges probabilities, and these models predict utilities. "
                "Use --scoring disagreement or squared_error."
            )
    for option in [option for option in ("--scoring", "--validation") if option in choices.least_squares_options]:
        if number is not None and choices.ties != "auto":
            name = choices.regulariser
            raise DataError(f"{option} is for choosing {name}, but --{name} already gives it. Give one of the two.")


def _number(choices: Learning) -> float | None:
    """Return alpha or the number of components; None for auto."""
    given = choices.alpha if choices.penalised else choices.components
    if given is None or given.lower() == "auto":
        return None
    wanted = "a positive number" if choices.penalised else "a whole number, at least 1,"
    try:
        number = float(given) if choices.penalised else int(given)
    except ValueError:
        number = float("nan")
    if not (np.isfinite(number) and number > 0):
        raise DataError(f'--{choices.regulariser} is "{given}"; it must be {wanted} or auto.')
    return number


def check_data(path: str, data: Ratings | Comparisons, choices: Learning) -> None:
    """Raise DataError where the options do not go with the data."""
    scorer = get_scorer(choices.scoring or "disagreement")
    if isinstance(data, Ratings):
        if scorer.metric is pairwise_accuracy:
            raise DataError(f"{path}: --scoring {choices.scoring} is for comparisons. Use --scoring concordance.")
        check_feature_numbers(data.n_features, path)
        if len(data) < 2:
            raise DataError(f"{path}: there is one row, and nothing to compare it with. Give at least two rows.")
        return
    if not choices.on_pairs:
        raise DataError(
            f"{path}: --model {choices.model} learns scores, and comparisons have none. "
            "Use --model rankrls or --model kpcrank."
        )
    if choices.weighting == "groups" and data.group is None:
        raise DataError(f"{path}: --weighting groups needs a column called group. Add it, or leave the option out.")
    try:
        scorer.for_comparisons()
    except TypeError:
        raise DataError(
            f"{path}: --scoring {choices.scoring} ranks whole groups, and comparisons are pairs. "
            "Use --scoring disagreement or pairwise_accuracy."
        ) from None


def _described(choices: Learning, estimator: Any) -> str:
    """Return the model in a few words."""
    parts = [f"{MODELS[choices.model][0].__name__}, kernel {choices.kernel}"]
    if choices.nystroem is not None:
        parts.append(f"Nystroem with {plural(choices.nystroem, 'row')}")
    if choices.on_pairs:
        ties = getattr(estimator, "ties_", estimator.ties)
        parts.append(f"ties {ties}d")
        if choices.weighting is not None:
            parts.append(f"every {choices.weighting[:-1]} weighs the same")
    return ", ".join(parts)


def _switch(given: Learning, data: Ratings | Comparisons) -> str | None:
    """Return a sentence if options decided on another model than there would be without them; ``given``: unresolved."""
    name = given.resolved().model
    usual = "rankrls" if isinstance(data, Ratings) else "auto"
    if given.model is not None or name == usual:
        return None
    options = given.least_squares_options
    it = "it" if len(options) == 1 else "them"
    if isinstance(data, Ratings):
        return f"{' and '.join(options)} without --model: KPCRank was learned. Leave {it} out to learn RankRLS."
    return (
        f"{' and '.join(options)} without --model: {MODELS[name][0].__name__} was learned, by least squares, which "
        f"gives no probabilities. Leave {it} out for a model with probabilities, chosen by evidence; --model {name} "
        "says that this one is meant."
    )


def _score_in_words(scoring: str, score: float, how: str) -> str:
    """Return the score of what was chosen in words."""
    if scoring == "disagreement":
        return f"disagreement error {0.0 - score:.4f} {how} (0 is perfect, 0.5 is chance)"
    value = score if get_scorer(scoring).greater_is_better else -score
    return f"{scoring} {value:.4g} {how}"
