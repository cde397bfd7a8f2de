"""The graph of comparisons: who beat whom, cycles, who is beaten by nobody, and the Hodge decomposition.

Everything is in terms of a net preference for each pair that was compared, the mean of its outcomes with the lower item
first. Nothing lists all pairs of items or all triangles: circles of three are counted by sparse products.

With weights w, net preferences y split into three parts that are orthogonal in the inner product Σ w a b (Jiang, Lim,
Yao and Ye, 2011):

    gradient   differences s_i - s_j of scores, the weighted least-squares ranking
    curl       what runs in circles of three items that were all compared with each other
    harmonic   what runs in longer circles only
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import lsmr

from preflearn.data import Comparisons
from preflearn.data.pair_table import PairTable, connected_parts, net_preferences
from preflearn.terms import pair_operator

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

MOST_TRIANGLES = 1_000_000


def pairs_in_circles(low: IntArray, high: IntArray, n_items: int) -> NDArray[np.bool_]:
    """Return which pairs are left when items with one opponent are dropped, again and again: none of a forest.

    These are the pairs on a circle of the comparison graph, whoever won, and on the ways between two circles.
    """
    ends = np.stack([low, high])
    left = np.arange(low.shape[0])
    while left.shape[0]:
        opponents = np.bincount(ends[:, left].ravel(), minlength=n_items)
        stays = (opponents[ends[:, left]] > 1).all(axis=0)
        if stays.all():
            break
        left = left[stays]
    inside = np.zeros(low.shape[0], dtype=bool)
    inside[left] = True
    return inside


def wins_in_order(X: Comparisons) -> bool:
    """Return whether there are no ties and no chain of wins that leads back to where it began.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> wins_in_order(Comparisons(None, ["a", "b", "a"], ["b", "c", "c"]))
    True
    >>> wins_in_order(Comparisons(None, ["a", "b", "c"], ["b", "c", "a"]))
    False
    """
    if not X.outcome.all():
        return False
    won = X.outcome > 0
    winner, loser = np.where(won, X.first, X.second), np.where(won, X.second, X.first)
    beats = _graph(winner, loser, X.n_items)
    return int(connected_components(beats, directed=True, connection="strong")[0]) == X.n_items


def cyclic_triads(pairs: PairTable, net: FloatArray) -> tuple[int, int]:
    """Return how many triples of items run in a circle, and how many were compared with each other, without draws."""
    circles, triples = triads_by_item(pairs, net)
    return round(circles.sum() / 3), round(triples.sum() / 3)


def triads_by_item(pairs: PairTable, net: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the same two counts for the triples that each item is part of, (n,) each."""
    winner, loser = np.where(net > 0, pairs.low, pairs.high), np.where(net > 0, pairs.high, pairs.low)
    D = _graph(winner[net != 0], loser[net != 0], pairs.n_items)
    U = D + D.T
    circles, triples = (D @ D).multiply(D.T).sum(axis=1), (U @ U).multiply(U).sum(axis=1) / 2
    return np.asarray(circles, dtype=np.float64), np.asarray(triples, dtype=np.float64)


def average_clustering(X: Comparisons) -> float:
    """Return the average clustering coefficient of the comparison graph.

    Answers: how often did two opponents of an item meet each other? Only where they did can preferences run in circles
    of three; the paper on inconsistent preferences reports the coefficient as a sign of how hard a ranking is.

    Parameters
    ----------
    X : Comparisons
        What was compared; who won, and how often, does not count.

    Returns
    -------
    float
        Mean over items that were compared of the share of pairs of their opponents that were compared with each other,
        0 for items with one opponent.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.structure import average_clustering
    >>> matches = Comparisons(None, ["ann", "bob", "cy", "cy"], ["bob", "cy", "ann", "di"])
    >>> round(average_clustering(matches), 3)
    0.583
    """
    pairs, _ = net_preferences(X)
    half = _graph(pairs.low, pairs.high, pairs.n_items)
    U = half + half.T
    degree: FloatArray = np.asarray(U.sum(axis=1)).ravel()
    closed: FloatArray = np.asarray((U @ U).multiply(U).sum(axis=1)).ravel()
    possible = degree * (degree - 1)
    share = np.divide(closed, possible, out=np.zeros_like(degree), where=possible > 0)
    return float(share[degree > 0].mean()) if (degree > 0).any() else 0.0


def _graph(start: IntArray, end: IntArray, n_items: int) -> Any:
    return sp.csr_array((np.ones(start.shape[0]), (start, end)), shape=(n_items, n_items))


def strongest_cycles(
    first: IntArray, second: IntArray, strength: FloatArray, count: int
) -> list[tuple[float, list[int]]]:
    """Return up to ``count`` cycles of a directed graph, the one whose weakest edge is strongest first.

    Edges lead from ``first`` (preferred) to ``second``. Every cycle found is the shortest one through its weakest edge
    among edges that are no weaker. Reachability is kept up to date, n² bits for n items and at most n³ of them
    touched in all, so that a search is made only where there is a cycle to find.
    """
    after: dict[int, list[int]] = {}
    found: list[tuple[float, list[int]]] = []
    seen: set[frozenset[int]] = set()
    reaches = np.eye(max(first.max(initial=-1), second.max(initial=-1)) + 1, dtype=bool)
    order = np.argsort(-strength, kind="stable")
    for start, end, size in zip(*(side[order].tolist() for side in (first, second, strength)), strict=True):
        path = _shortest(after, end, start) if reaches[end, start] else None
        after.setdefault(start, []).append(end)
        if not reaches[start, end]:
            reaches[reaches[:, start] & ~reaches[:, end]] |= reaches[end]
        if path is not None and frozenset(path) not in seen:
            seen.add(frozenset(path))
            lowest = path.index(min(path))
            found.append((size, path[lowest:] + path[:lowest]))
            if len(found) == count:
                break
    return found


def _shortest(after: dict[int, list[int]], start: int, end: int) -> list[int]:
    """Return the items on the shortest way from start to end, which there is."""
    came: dict[int, int] = {start: start}
    waiting = deque([start])
    while waiting:
        item = waiting.popleft()
        if item == end:
            path = [item]
            while path[-1] != start:
                path.append(came[path[-1]])
            return path[::-1]
        for other in after.get(item, ()):
            if other not in came:
                came[other] = item
                waiting.append(other)
    raise AssertionError("no way")


def smith_sets(beats: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return who is in the Smith set of tournaments (s, n, n): the smallest set that beats everybody outside; (s, n).

    Sorted by the number of items beaten, it is the first k for the smallest k whose wins add up to all within and all
    against the rest.
    """
    wins = beats.sum(axis=2)
    n = wins.shape[1]
    order = np.argsort(-wins, axis=1, kind="stable")
    total = np.cumsum(np.take_along_axis(wins, order, axis=1), axis=1)
    k = np.arange(1, n + 1)
    size = np.argmax(total == k * (k - 1) // 2 + k * (n - k), axis=1) + 1
    member = np.zeros(wins.shape, dtype=bool)
    np.put_along_axis(member, order, k[None, :] <= size[:, None], axis=1)
    return member


@dataclass(frozen=True)
class Hodge:
    """Shares of the squared net preferences, which sum to 1, and the scores (n,) of the gradient, mean 0 in each part.

    ``complete`` says whether all circles of three were used; otherwise some of the curl is counted as harmonic.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.structure import rankability
    >>> throws = Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"], weight=[9, 9, 9])
    >>> round(rankability(throws).hodge.curl, 3)
    1.0
    """

    gradient: float
    curl: float
    harmonic: float
    scores: FloatArray
    complete: bool


def hodge(pairs: PairTable, net: FloatArray) -> Hodge:
    """Decompose net preferences."""
    m, n, weight = len(pairs), pairs.n_items, pairs.count
    root = np.sqrt(weight)
    A = pair_operator(pairs.low, pairs.high, n)
    scores = _least_squares(sp.diags_array(root) @ A, root * net)
    gradient = A @ scores
    # where an item met all others every circle is a sum of triangles with it, and nothing is harmonic
    cone = _some_met_all(pairs)
    triples, complete = (np.zeros((0, 3), dtype=np.intp), True) if cone else triangles(pairs)
    curl = net - gradient if cone else np.zeros(m)
    if len(triples):
        # a flow of the curl part is W⁻¹C'φ for a potential φ of the triangles i < j < k
        i, j, k = triples.T
        code = pairs.low * n + pairs.high  # in this order
        sides = [np.searchsorted(code, a * n + b) for a, b in ((i, j), (j, k), (i, k))]
        t = len(triples)
        columns = np.tile(np.arange(t), 3)
        C = sp.csr_array((np.repeat([1.0, 1.0, -1.0], t), (np.concatenate(sides), columns)), shape=(m, t))
        curl = (C @ _least_squares(sp.diags_array(1 / root) @ C, root * (net - gradient))) / weight
    total = float(weight @ net**2)
    if total == 0:
        return Hodge(1.0, 0.0, 0.0, scores, complete)
    shares = [float(weight @ part**2) / total for part in (gradient, curl)]
    return Hodge(shares[0], shares[1], max(0.0, 1.0 - sum(shares)), scores, complete)


def _some_met_all(pairs: PairTable) -> bool:
    """Return whether each part of the items has one that was compared with all others of the part."""
    part = connected_parts(pairs.low, pairs.high, pairs.n_items)
    most = np.zeros(int(part.max(initial=-1)) + 1)
    np.maximum.at(most, part, np.bincount(np.concatenate([pairs.low, pairs.high]), minlength=pairs.n_items))
    return bool((most == np.bincount(part) - 1).all())


def triangles(pairs: PairTable) -> tuple[IntArray, bool]:
    """Return rows i < j < k of items that were all compared with each other, at most a million; whether it is all."""
    higher = np.split(pairs.high, np.searchsorted(pairs.low, np.arange(1, pairs.n_items)))  # than each item
    found, count = [np.zeros((0, 3), dtype=np.intp)], 0
    for i, j in zip(pairs.low.tolist(), pairs.high.tolist(), strict=True):
        third = np.intersect1d(higher[i], higher[j], assume_unique=True)
        if third.shape[0]:
            found.append(np.column_stack([np.full(third.shape, i), np.full(third.shape, j), third]))
            count += third.shape[0]
            if count > MOST_TRIANGLES:
                break
    return np.concatenate(found), count <= MOST_TRIANGLES


def _least_squares(A: Any, b: FloatArray) -> FloatArray:
    return np.asarray(lsmr(A, b, atol=1e-13, btol=1e-13, conlim=0, maxiter=20 * max(A.shape))[0])


def shares(G: FloatArray) -> tuple[float, float]:
    """Return the shares of preferences (n, n) that differences of utilities explain best, and of the rest."""
    f = G.mean(axis=1)
    total = float(np.sum(G**2))
    ranking = float(np.sum((f[:, None] - f[None, :]) ** 2))
    return (ranking / total, max(total - ranking, 0.0) / total) if total > 0 else (0.0, 0.0)
