"""The information in the outcome of a comparison."""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.active._candidates import MOST_ITEMS, MOST_PAIRS, check_criterion, check_k, check_utilities
from preflearn.active._criteria import Draws
from preflearn.active._label_pool import LabelPool, check_label_criterion
from preflearn.active._pool import Panel, Pool
from preflearn.data import Comparisons
from preflearn.data.fields import check_count
from preflearn.exceptions import DataError
from preflearn.linalg import generator
from preflearn.models.label_gp import LabelPreferenceGP
from preflearn.operators import FloatArray


def information_gain(model: Any, pairs: Any, items: Any = None, *, criterion: str | None = None) -> FloatArray:
    """Return how much the outcome of each comparison would tell about the utilities, in nats.

    Which of these comparisons is worth making?

    Parameters
    ----------
    model : PreferenceGP, BradleyTerry, RankResult or LabelPreferenceGP
        Fitted.
    pairs : Comparisons, array-like of shape (m, 2) or sequence of pairs
        What might be compared, by names or row numbers of the pool; outcomes in ``Comparisons`` do not matter, but
        judges do where the model tells them apart. For labels ``LabelPreferences`` or triples (instance, label, label).
    items : None, table, names or Comparisons, default=None
        The pool that pairs refer to; None for the items that the model was fitted on. Not needed with ``Comparisons``.
    criterion : {"utilities", "preferences"}, default=None
        What is to be learned, as for `suggest`.

    Returns
    -------
    ndarray of shape (m,)
        Mutual information of the outcome and the utilities (and the hyperparameters, where they are averaged over):
        at least 0 and at most log 2 (log 3 with ties) for outcomes of two (three) kinds.

    Notes
    -----
    The outcome y depends on the difference z of the two utilities, z ~ N(m, v) in the posterior. The information is
    H(E[p(y|z)]) - E[H(p(y|z))]: log(1 + v * precision) / 2 for Gaussian margins, else one integral, computed to about
    1e-12. It is exactly the same whichever item is named first. O(n²) per pair for n compared items of the model.

    With a cyclic part z is the preference between the two items. Where judges have tastes, z is that of who is asked
    (of a stranger, unless ``pairs`` have judges), and the information about utilities is about the difference d that
    all share, H(E[p(y|z)]) - E[H(E[p(y|z)|d])]; with ``criterion="preferences"`` about z. In the same way nothing is to
    be learned of the effect of a cluster that was never seen. Such answers take utilities as normal where
    hyperparameters are averaged over.

    Where judges leave it open which of two rankings is right, one about the reverse of the other, all is given the more
    probable one: judges of unknown reliability cannot decide between them.

    If hyperparameters are averaged over, z is a mixture of normals with weights w_c, and the information is about
    utilities and hyperparameters together: H(Σ_c w_c E_c[p(y|z)]) - Σ_c w_c E_c[H(p(y|z))]. Each point costs as much;
    Gaussian margins take about a millisecond per pair.

    *Differences from the paper*: the measure of Houlsby and others, without their approximation of the entropy.

    References
    ----------
    Chu and Ghahramani, "Preference learning with Gaussian processes", 2005.
    Houlsby and others, "Bayesian active learning for classification and preference learning", 2011.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ConstantKernel
    >>> from preflearn import Comparisons, PreferenceGP
    >>> from preflearn.active import information_gain
    >>> matches = Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "dee"])
    >>> model = PreferenceGP(ConstantKernel(2.0, "fixed")).fit(matches)
    >>> information_gain(model, [("ann", "cy"), ("cy", "dee")]).round(3)
    array([0.164, 0.241])
    """
    owner, judge = "information_gain", None
    if isinstance(model, LabelPreferenceGP):
        check_label_criterion(criterion, owner)
        return LabelPool.of_edges(model, pairs, items, owner).information()
    if isinstance(pairs, Comparisons):
        pool = Pool.build(model, pairs, owner)
        first, second = pairs.first, pairs.second
        judge = pairs.judge if pool.tells_judges else None
    else:
        pool = Pool.build(model, items, owner)
        first, second = pool.pairs(pairs, "pairs")
    criterion, _ = check_criterion(criterion, 1, pool)
    if judge is None and not pool.strangers:
        return pool.information(first, second)
    listed = [] if judge is None else judge.tolist()
    names = [name for name in dict.fromkeys(listed) if name != ""]
    place = {name: number for number, name in enumerate(names)} | {"": -1}
    who = np.array([place[name] for name in listed] or [-1] * first.shape[0], dtype=np.intp)
    if pool.circles:
        parts = []
        for start in range(0, first.shape[0], MOST_PAIRS):
            few = slice(start, start + MOST_PAIRS)
            posterior = pool.preferences(first[few], second[few], Panel(names, who[few]))
            parts.append(posterior.information(slice(None)))
        return np.concatenate([*parts, np.zeros(0)])
    numbers, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    _check_size(numbers.shape[0] * (1 + len(names) * pool.tastes), owner, "Ask about fewer items or judges at a time")
    one, other = places.reshape(2, -1)
    posterior = pool.questions(numbers, one, other, Panel(names, who), criterion)
    return posterior.information(slice(None))


def top_k_information(
    model: Any, pairs: Any, k: int, items: Any = None, *, n_samples: int = 4096, random_state: Any = None
) -> FloatArray:
    """Return how much the outcome of each comparison would tell about the k best items, in nats.

    Which of these comparisons is worth making, if only the best items matter?

    Parameters
    ----------
    model : PreferenceGP, BradleyTerry or RankResult
        Fitted.
    pairs : Comparisons, array-like of shape (m, 2) or sequence of pairs
        What might be compared, by names or row numbers of the pool.
    k : int
        How many of the best items matter.
    items : None, table, names or Comparisons, default=None
        The pool in which items are the best; None for the items that the model was fitted on. At most 2,000 items.
    n_samples : int, default=4096
        Draws of the utilities from their joint posterior.
    random_state : int, Generator, RandomState or None, default=None
        Source of the draws.

    Returns
    -------
    ndarray of shape (m,)
        Mutual information of the outcome and the part of the top k inside B and the pair. B are the items whose
        membership is most uncertain, as many as the draws can tell apart (64 draws per combination). It is a lower
        bound of the information about the whole top-k set, and equal to it in small pools, where B is everything.

    Notes
    -----
    Never more than `information_gain`, up to the error of the draws: a standard error of at most 0.005 nats with 4096
    draws. O(n_samples) per pair. If hyperparameters are averaged over, utilities are taken as normal, with the mean and
    covariance of the average, under the likelihood of the best hyperparameters; `information_gain` may then be less.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ConstantKernel
    >>> from preflearn import Comparisons, PreferenceGP
    >>> from preflearn.active import top_k_information
    >>> matches = Comparisons(None, ["ann", "bob", "ann", "cy", "bob"], ["cy", "cy", "dee", "dee", "dee"])
    >>> model = PreferenceGP(ConstantKernel(2.0, "fixed")).fit(matches)
    >>> gain = top_k_information(model, [("ann", "bob"), ("cy", "dee")], k=1, random_state=0)
    >>> bool(gain[0] > 5 * gain[1])
    True
    """
    owner = "top_k_information"
    pool = Pool.build(model, items, owner)
    check_utilities(pool)
    k = check_k(k, len(pool), owner)
    n_samples = check_count(n_samples, "n_samples", owner, low=64)
    _check_size(
        len(pool), owner, 'Leave out items that are surely in or out, or use suggest(criterion="top_k"), which does'
    )
    first, second = pool.pairs(pairs, "pairs")
    posterior = pool.questions(np.arange(len(pool)), first, second, Panel.of_each((), first.shape[0]), "top_k")
    return Draws(posterior, k, n_samples, generator(random_state, owner)).information(np.arange(first.shape[0]))


def _check_size(n_values: int, owner: str, cure: str) -> None:
    if n_values > MOST_ITEMS:
        raise DataError(code="pool-too-large", owner=owner).says(
            f"the pool has {n_values} utilities; what is known of all of them together is limited to {MOST_ITEMS}", cure
        )
