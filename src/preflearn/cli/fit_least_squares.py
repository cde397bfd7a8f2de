"""Learning by least squares for ``preflearn fit``: what is "auto" is chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from preflearn.cli.console import count
from preflearn.cli.sources import about
from preflearn.data import Comparisons, Ratings
from preflearn.exceptions import DataError
from preflearn.io.reading import check_feature_numbers
from preflearn.kernels import Nystroem
from preflearn.metrics import RankingScorer, get_scorer, pairwise_accuracy
from preflearn.models import KPCR, RLS, KPCRank, KPCRankCV, RankRLS, RankRLSCV
from preflearn.selection.fold_search import alpha_candidates, component_candidates, search

if TYPE_CHECKING:
    from preflearn.cli.fit import Learning

Found = tuple[Any, str, float | None]  # a fitted model, what was chosen and how, its score (None: nothing was chosen)
MODELS: dict[str | None, Any] = {"rankrls": RankRLS, "rls": RLS, "kpcrank": KPCRank, "kpcr": KPCR}


def train(data: Ratings | Comparisons, asked: Learning, seed: int) -> tuple[Any, list[tuple[str, str]]]:
    """Fit the model; what is "auto" is chosen by cross-validation. Returns it with lines about it."""
    choices = asked.resolved()
    scorer = get_scorer(choices.scoring or "disagreement")
    common: dict[str, Any] = {"kernel": choices.kernel}
    if choices.nystroem is not None:
        common["approximation"] = Nystroem(choices.nystroem, random_state=seed)
    if choices.on_pairs:
        common["weighting"] = choices.weighting or "pairs"
    number = _number(choices)
    if number is not None and choices.ties != "auto":
        ties = {"ties": choices.ties or "include"} if choices.on_pairs else {}
        model, score = MODELS[choices.model](number, **ties, **common).fit(data), None
        chosen = f"nothing, as {'alpha' if choices.penalised else 'components'} = {number:g} was given"
    elif choices.on_pairs:
        model, chosen, score = (_rankrls if choices.penalised else _kpcrank)(data, choices, common, scorer)
    else:
        assert isinstance(data, Ratings)
        model, chosen, score = _of_scores(data, choices, common, scorer, seed)
    lines = [("Model", _described(choices, model)), ("Chosen", chosen)]
    if score is not None:
        lines.append(("Score", _score_in_words(choices.scoring or "disagreement", score)))
    note = _switch(asked, data)
    return model, [*lines, *([("Note", note)] if note else [])]


def _of_scores(data: Ratings, choices: Learning, common: dict[str, Any], scorer: RankingScorer, seed: int) -> Found:
    """Choose for models that learn scores, which bring no search of their own."""
    name = "alpha" if choices.penalised else "components"
    candidates: Sequence[float] = (
        alpha_candidates(common["kernel"], data) if choices.penalised else component_candidates(data)
    )
    kind = MODELS[choices.model]
    model, value, score, n_folds = search(lambda one: kind(one, **common), candidates, data, scorer, seed)
    held_out = "groups" if data.n_groups > 1 else "rows"
    return model, f"{name} = {value:.4g} of {len(candidates)} candidates, by {n_folds} folds of {held_out}", score


def _rankrls(data: Ratings | Comparisons, choices: Learning, common: dict[str, Any], scorer: RankingScorer) -> Found:
    alpha = _number(choices)
    ties: Any = ("include", "exclude") if choices.ties == "auto" else choices.ties or "include"
    model = RankRLSCV(None if alpha is None else [alpha], ties=ties, scoring=scorer, **common).fit(data)
    parts = []
    if alpha is None:
        first, last = model.alphas_[0], model.alphas_[-1]
        edge = "the largest " if model.alpha_ == last else "the smallest " if model.alpha_ == first else ""
        parts.append(f"alpha = {model.alpha_:.4g} ({edge}of {len(model.alphas_)} from {first:.2g} to {last:.2g})")
    if choices.ties == "auto":
        parts.append(f"ties {model.ties_}d")
    if isinstance(data, Comparisons):
        how = "by leaving out one pair at a time"
    else:
        how = "by leaving out one group at a time" if data.n_groups > 1 else "by folds of rows"
    return model, f"{', '.join(parts)}, {how}", model.best_score_


def _kpcrank(data: Ratings | Comparisons, choices: Learning, common: dict[str, Any], scorer: RankingScorer) -> Found:
    number = _number(choices)
    options: Any = ("include", "exclude") if choices.ties == "auto" else (choices.ties or "include",)
    candidates: Any = 100 if number is None else [number]
    models = [KPCRankCV(candidates, ties=ties, scoring=scorer, **common).fit(data) for ties in options]
    model = max(models, key=lambda candidate: candidate.best_score_)  # of equal scores the first
    parts = []
    if number is None:
        parts.append(f"{count(model.n_components_, 'component')} of 1 to 100")
    if choices.ties == "auto":
        parts.append(f"ties {model.ties}d")
    what = "pairs" if isinstance(data, Comparisons) else "groups" if data.n_groups > 1 else "rows"
    return model, f"{', '.join(parts)}, by folds of {what}", model.best_score_


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
    if choices.nystroem is not None:
        if choices.nystroem < 1:
            raise DataError(f"--nystroem is {choices.nystroem}; it must be a number of rows, at least 1.")
        if choices.kernel == "linear" and choices.penalised:
            raise DataError(
                "--nystroem approximates a kernel, and the linear kernel needs no approximation. Leave it out, or "
                "choose another kernel, such as --kernel rbf."
            )
    if choices.scoring is not None:
        with about("--scoring"):
            scorer = get_scorer(choices.scoring)
        if scorer.probabilistic:
            raise DataError(
                f"--scoring {choices.scoring} judges probabilities, and these models predict utilities. "
                "Use --scoring disagreement or squared_error."
            )
        if number is not None and choices.ties != "auto":
            option = "--alpha" if choices.penalised else "--components"
            raise DataError(
                f"--scoring is for choosing {option[2:]}, but {option} already gives it. Give one of the two."
            )


def _number(choices: Learning) -> float | None:
    """Return alpha or the number of components; None for auto."""
    option, given = ("alpha", choices.alpha) if choices.penalised else ("components", choices.components)
    if given is None or given.lower() == "auto":
        return None
    wanted = "a positive number" if choices.penalised else "a whole number, at least 1,"
    try:
        number = float(given) if choices.penalised else int(given)
    except ValueError:
        number = float("nan")
    if not (np.isfinite(number) and number > 0):
        raise DataError(f'--{option} is "{given}"; it must be {wanted} or auto.')
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
    parts = [f"{MODELS[choices.model].__name__}, kernel {choices.kernel}"]
    if choices.nystroem is not None:
        parts.append(f"Nystroem with {count(choices.nystroem, 'row')}")
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
        f"{' and '.join(options)} without --model: {MODELS[name].__name__} was learned, by least squares, which "
        f"gives no probabilities. Leave {it} out for a model with probabilities, chosen by evidence; --model {name} "
        "says that this one is meant."
    )


def _score_in_words(scoring: str, score: float) -> str:
    """Return a cross-validated score in words."""
    if scoring == "disagreement":
        return f"disagreement error {-score:.4f} in cross-validation (0 is perfect, 0.5 is chance)"
    value = score if get_scorer(scoring).greater_is_better else -score
    return f"{scoring} {value:.4g} in cross-validation"
