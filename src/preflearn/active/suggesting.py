"""Which comparisons should be made next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.active._candidates import Considered, check_criterion, consider
from preflearn.active._criteria import Criterion, Draws, OneOfMixture, TopK, Utilities
from preflearn.active._label_pool import LabelPool, check_label_criterion
from preflearn.active._pool import Pool, pair_codes
from preflearn.data import Comparisons
from preflearn.data.fields import as_list, check_count, check_labels, label_array, object_array
from preflearn.exceptions import DataError, DataWarning, first_few
from preflearn.linalg import generator
from preflearn.models.label_gp import LabelPreferenceGP
from preflearn.operators import FloatArray, IntArray
from preflearn.table_format import Column, TextTable, decimal


@dataclass(frozen=True)
class Suggestions:
    """Comparisons to make next, the most informative first.

    Parameters
    ----------
    first, second : ndarray of shape (n,)
        Row numbers of the two items.
    first_name, second_name : ndarray of shape (n,)
        Their names, or again the row numbers where items have no names.
    gain : ndarray of shape (n,)
        Expected information of each, in nats, given that those before it are answered.
    judge : ndarray of shape (n,) or None
        Who should be asked.
    criterion : str
        What the gain is about, "utilities", "preferences" or "top_k".
    item, item_name : ndarray of shape (n,) or None
        For which instance two labels are to be compared: its row, and its name or again its row. First and second are
        then labels.

    Examples
    --------
    >>> import numpy as np
    >>> from preflearn.active import Suggestions
    >>> names = np.array(["ann", "bob"])
    >>> todo = Suggestions(np.array([0]), np.array([1]), names[:1], names[1:], np.array([0.25]), None, "utilities")
    >>> todo.to_dict()
    {'first': ['ann'], 'second': ['bob'], 'gain': [0.25]}
    >>> print(todo)
    first  second  gain
    ann    bob     0.2500
    """

    first: IntArray
    second: IntArray
    first_name: NDArray[Any]
    second_name: NDArray[Any]
    gain: FloatArray
    judge: NDArray[Any] | None
    criterion: str
    item: IntArray | None = None
    item_name: NDArray[Any] | None = None

    def __len__(self) -> int:
        return int(self.first.shape[0])

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Go through the rows as dictionaries."""
        columns = self.to_dict()
        return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    def to_dict(self) -> dict[str, list[Any]]:
        """Return the columns of a table: item (of labels), first, second, judge (where there are any) and gain."""
        table = {} if self.item_name is None else {"item": self.item_name.tolist()}
        table |= {"first": self.first_name.tolist(), "second": self.second_name.tolist()}
        if self.judge is not None:
            table["judge"] = self.judge.tolist()
        table["gain"] = self.gain.tolist()
        return table

    def __str__(self) -> str:
        return self.listing().text()

    def listing(self) -> TextTable:
        """Return the table that is shown."""
        columns = {name: Column(name, values, kind="name") for name, values in self.to_dict().items()}
        return TextTable(columns | {"gain": Column("gain", self.gain, partial(decimal, digits=4))})


def suggest(
    model: Any,
    items: Any = None,
    n: int = 1,
    *,
    candidates: Any = None,
    criterion: str | None = None,
    k: int | None = None,
    forbidden: Any = None,
    judges: Any = None,
    answered: Any = None,
    n_max_candidates: int = 100_000,
    n_samples: int = 4096,
    random_state: Any = None,
) -> Suggestions:
    """Return the comparisons with the highest expected information.

    What should be compared next?

    Parameters
    ----------
    model : PreferenceGP, BradleyTerry, RankResult or LabelPreferenceGP
        Fitted, or what `preflearn.rank` returned.
    items : None, table (n_items, n_features), names or Comparisons, default=None
        The pool. None: the training items. With features: a table (array, sparse matrix or data frame) of old or new
        items. Without features: names, or row numbers where there are no names. Comparisons stand for their items. For
        labels: the instances, which must be given.
    n : int, default=1
        How many comparisons are wanted, to be answered together.
    candidates : sequence of pairs or Comparisons, default=None
        Pairs to choose from, by name or by row number; None for all pairs of the pool. For labels triples (instance,
        label, label) or LabelPreferences; None for all pairs of labels of all instances.
    criterion : {"utilities", "preferences", "top_k"}, default=None
        What the outcomes should tell about: the utilities, that is what all judges share; all preferences, also tastes
        of those who are asked; or which ``k`` items have the highest utilities. None is "utilities", or "preferences"
        where these may run in circles (the only one then).
    k : int, default=None
        Number of best items for ``criterion="top_k"``.
    forbidden : sequence of pairs or Comparisons, default=None
        Pairs that must not be suggested, whichever item comes first.
    judges : sequence, default=None
        Names of judges. Each is asked at most ``ceil(n / n_judges)`` of the comparisons. Where the model tells judges
        apart, by taste or reliability, who is asked is chosen with the pair. None: somebody who was never asked before.
    answered : Comparisons, default=None
        Earlier answers by judges (``answered.judge``), who are not asked again about the same pair.
    n_max_candidates : int, default=100_000
        About how many pairs of a larger pool are considered (see Notes).
    n_samples : int, default=4096
        Draws of utilities for "top_k".
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness, for "top_k" and for pools of more than 2,000 items.

    Returns
    -------
    Suggestions
        At most ``n`` distinct pairs; the lower row number comes first unless ``candidates`` say otherwise.

    Warns
    -----
    DataWarning
        If fewer than ``n`` pairs could be suggested.

    Notes
    -----
    The batch is greedy: every pair is the best given that those before it will be answered, whatever the outcomes. An
    unknown outcome shrinks the covariance of the utilities as expected, to C - J c c', with c the covariance of the
    utilities with the pair's difference and J the expected squared slope of the log predictive probability (exact for
    Gaussian margins). So two pairs that would tell the same are not both suggested.

    What all judges share is learned from an answer as far as its judge shares it: of an answer by judge a the
    information is that about d, the difference of the two items for all, with z_a = d + h_a in the posterior. A judge
    of reliability s answers by s z. Of a judge or a cluster that was never seen before nothing is to be learned. With a
    cyclic part it is the information about the preference between the two items, and what that says of other pairs
    counts within a batch.

    If the pool has more pairs than ``n_max_candidates``, half of them are the most informative by a closed formula and
    half are the best partners of every item. Of more than 2,000 items 2,000 are considered: 1,000 with the most
    uncertain utility and 1,000 random ones; for "top_k" those nearest to the border of the top k. Utilities of each
    judge with a taste count as further items. With a cyclic part the 1,500 pairs that tell most by themselves are
    considered together, and instances with 2,000 utilities of labels.

    If hyperparameters are averaged over, a single pair (``n=1``) has the most information about utilities and
    hyperparameters together (`information_gain`), of the 2,048 most promising candidates. A batch, and "top_k", take
    utilities as normal, with the mean and covariance of the average, under the likelihood of the best hyperparameters.

    Where judges leave it open which of two rankings is right, one about the reverse of the other, all is given the more
    probable one: judges of unknown reliability cannot decide between them.

    Cost for p <= 2,000 items and q candidates: one joint covariance, O(p²) for screening, about a microsecond per
    candidate, and O(q) per suggestion.

    Examples
    --------
    >>> from sklearn.gaussian_process.kernels import ConstantKernel
    >>> from preflearn import Comparisons, PreferenceGP
    >>> from preflearn.active import suggest
    >>> matches = Comparisons(None, ["ann", "ann", "bob"], ["bob", "cy", "dee"])
    >>> model = PreferenceGP(ConstantKernel(2.0, "fixed")).fit(matches)
    >>> print(suggest(model, n=2, forbidden=[("dee", "cy")], judges=["eve", "flo"]))
    first  second  judge  gain
    bob    cy      eve    0.2195
    bob    dee     flo    0.1688
    """
    owner = "suggest"
    n = check_count(n, "n", owner)
    rng = generator(random_state, owner)
    if isinstance(model, LabelPreferenceGP):
        check_label_criterion(criterion, owner, judges=judges, answered=answered, k=k)
        labels = LabelPool.build(model, items, candidates, forbidden, n_max_candidates, owner)
        return _of_labels(labels, n)
    pool = Pool.build(model, items, owner)
    goal, top = check_criterion(criterion, k, pool)
    if k is not None and top is None:
        raise ValueError(
            f'{owner}: k={k} goes with criterion="top_k", but criterion={goal!r}. '
            'Leave k out, or pass criterion="top_k".'
        )
    n_samples = check_count(n_samples, "n_samples", owner, low=64)
    if judges is None and answered is not None:
        raise ValueError(f"{owner}: answered is given, but judges=None. Name the judges to ask.")
    names = None if judges is None else _names_of_judges(judges, owner)
    apart = pool.tells_judges and names is not None
    asked = names.tolist() if apart and names is not None else ()
    seen = consider(pool, candidates, forbidden, top, n_max_candidates, rng, goal, asked)
    posterior = seen.posterior
    rule: Criterion = Utilities(posterior)
    if seen.k is not None:
        rule = TopK(Draws(posterior, seen.k, n_samples, rng, seen.n_items))
    elif pool.averaged and n == 1 and posterior.plain and not apart:
        rule = OneOfMixture(posterior, lambda rows: pool.information(seen.first[rows], seen.second[rows]))
    panel = None if names is None else Judges.build(names, answered, pool, seen, n)
    chosen, gains = _greedy(rule, seen.first.shape[0], n, panel)
    if len(chosen) < n:
        DataWarning(code="few-suggestions", owner="suggest").warn(
            f"only {len(chosen)} of {n} comparisons could be suggested from {seen.first.shape[0]} "
            f"candidates{'' if panel is None else f' for {len(panel.names)} judges'}."
        )
    one, other = seen.first[chosen], seen.second[chosen]
    return Suggestions(
        pool.rows[one],
        pool.rows[other],
        pool.labels(one),
        pool.labels(other),
        np.array(gains),
        None if panel is None else label_array(panel.order),
        goal,
    )


def _greedy(rule: Criterion, n_pairs: int, n: int, panel: Judges | None = None) -> tuple[list[int], list[float]]:
    """Return the best pair again and again, each once, and their gains."""
    chosen: list[int] = []
    gains: list[float] = []
    unused = np.ones(n_pairs, dtype=bool)
    while len(chosen) < n:
        found = rule.best(unused if panel is None else panel.alive(unused))
        if found is None:
            break
        row, gain = found
        pair = row if panel is None else panel.assign(row)
        unused[pair] = False
        chosen.append(pair)
        gains.append(gain)
        if len(chosen) < n:
            rule.condition(row)
    return chosen, gains


def _of_labels(pool: LabelPool, n: int) -> Suggestions:
    """Return pairs of labels to compare next, and for which instances."""
    rule = Utilities(pool.posterior)
    chosen, gains = _greedy(rule, pool.first.shape[0], n)
    if len(chosen) < n:
        DataWarning(code="few-label-suggestions", owner="suggest").warn(
            f"only {len(chosen)} of {n} comparisons could be suggested from {pool.first.shape[0]} candidates."
        )
    item, first, second = (side[chosen] for side in (pool.item, pool.first, pool.second))
    labels = pool.labels
    return Suggestions(
        first, second, labels[first], labels[second], np.array(gains), None, "utilities", item, pool.names_of(item)
    )


def _names_of_judges(judges: Any, owner: str) -> NDArray[Any]:
    listed = as_list(judges, "judges", owner)
    if not listed:
        raise DataError(code="no-judges-asked", owner=owner).says(
            "judges is empty", "Name at least one judge, or leave it out"
        )
    names = object_array(check_labels(listed, len(listed), "name", owner, "judge").tolist())
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        raise DataError(code="judge-asked-twice", owner=owner).says(
            f"judges names {first_few(repeated)} more than once", "Name every judge once"
        )
    return names


class Judges:
    """Shares of judges, and which candidates each may still be asked about."""

    def __init__(self, names: NDArray[Any], open_: NDArray[np.bool_], n: int, *, apart: bool) -> None:
        self.names = names
        self.open = open_  # (judges, pairs)
        self.share = -(-n // len(names))
        self.asked = np.zeros(len(names), dtype=np.intp)
        self.apart = apart  # whether candidates are of one judge each, judge after judge
        self.order: list[Any] = []  # who is asked

    @classmethod
    def build(cls, names: NDArray[Any], answered: Any, pool: Pool, seen: Considered, n: int) -> Judges:
        """Return judges with no questions yet."""
        open_ = np.ones((len(names), seen.first.shape[0]), dtype=bool)
        if answered is not None:
            if not isinstance(answered, Comparisons) or answered.judge is None:
                raise TypeError(f"{pool.owner}: answered must be Comparisons with judges (judge=...).")
            code = pair_codes(*pool.pairs(answered, "answered"), len(pool))
            candidate = pair_codes(seen.first, seen.second, len(pool))
            judge = answered.judge.tolist()
            number = {name: row for row, name in enumerate(names)}
            who = np.array([number.get(name, -1) for name in judge], dtype=np.intp)
            for row in range(len(names)):
                open_[row] = ~np.isin(candidate, code[who == row])
        return cls(names, open_, n, apart=pool.tells_judges)

    def alive(self, unused: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which candidates about unused pairs somebody may still be asked about."""
        may = self.open & (self.asked < self.share)[:, None] & unused
        return may.ravel() if self.apart else np.asarray(may.any(axis=0))

    def assign(self, candidate: int) -> int:
        """Ask the candidate's judge, or the one with the fewest questions so far; return the pair."""
        judge, pair = divmod(candidate, self.open.shape[1])
        if not self.apart:
            may = self.open[:, pair] & (self.asked < self.share)
            judge = int(np.argmin(np.where(may, self.asked, np.iinfo(np.intp).max)))  # the first named of equals
        self.asked[judge] += 1
        self.order.append(self.names[judge])
        return int(pair)
