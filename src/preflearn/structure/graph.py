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
from preflearn.data.pair_table import PairTable

__all__ = [
    "Flow",
    "Hodge",
    "average_clustering",
    "cyclic_triads",
    "hodge",
    "pairs_in_circles",
    "shares",
    "smith_sizes",
    "strongest_cycles",
    "triads_by_item",
    "triangles",
    "wins_in_order",
]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

MOST_TRIANGLES = 1_000_000


@dataclass(frozen=True)
class Flow:
    """Net preferences of the pairs that were compared: lower item against higher, with the weight of what was seen."""

    low: IntArray
    high: IntArray
    net: FloatArray
    weight: FloatArray
    n_items: int

    @classmethod
    def of(cls, X: Comparisons) -> Flow:
        """Return the mean outcome of every pair.

        Examples
        --------
        >>> from preflearn import Comparisons
        >>> flow = Flow.of(Comparisons(None, ["a", "b", "a"], ["b", "a", "b"]))
        >>> flow.net.round(3), flow.weight
        (array([0.333]), array([3.]))
        """
        return cls.of_pairs(X.pairs, X.outcome, X.weight)

    @classmethod
    def of_pairs(cls, pairs: PairTable, outcome: FloatArray, weight: FloatArray | None) -> Flow:
        """Return the same from a table of pairs, with the outcome and the weight of each comparison in it."""
        value = pairs.sign * outcome
        total, net = pairs.count, pairs.sums(value if weight is None else weight * value)
        seen = total > 0
        return cls(pairs.low[seen], pairs.high[seen], net[seen] / total[seen], total[seen], pairs.n_items)

    def directed(self) -> Any:
        """Return the sparse matrix (n, n) with a one where the row beat the column more often than not."""
        first = np.where(self.net > 0, self.low, self.high)[self.net != 0]
        second = np.where(self.net > 0, self.high, self.low)[self.net != 0]
        return sp.csr_array((np.ones(first.shape[0]), (first, second)), shape=(self.n_items, self.n_items))


def pairs_in_circles(low: IntArray, high: IntArray, n_items: int) -> NDArray[np.bool_]:
    """Return which pairs are left when items with one opponent are dropped, again and again: none of a forest.

    These are the pairs on a circle of the comparison graph, whoever won, and on the ways between two circles.

    Examples
    --------
    >>> import numpy as np
    >>> pairs_in_circles(np.array([0, 0, 1, 2, 3]), np.array([1, 2, 2, 3, 4]), 5)
    array([ True,  True,  True, False, False])
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
    beats = sp.csr_array((np.ones(len(X)), (winner, loser)), shape=(X.n_items, X.n_items))
    return int(connected_components(beats, directed=True, connection="strong")[0]) == X.n_items


def cyclic_triads(flow: Flow) -> tuple[int, int]:
    """Return how many triples of items run in a circle, and how many have been compared with each other, without draws.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> cyclic_triads(Flow.of(Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"])))
    (1, 1)
    """
    circles, triples = triads_by_item(flow)
    return round(circles.sum() / 3), round(triples.sum() / 3)


def triads_by_item(flow: Flow) -> tuple[FloatArray, FloatArray]:
    """Return the same two counts for the triples that each item is part of, (n,) each."""
    D = flow.directed()
    U = D + D.T
    circles, triples = (D @ D).multiply(D.T).sum(axis=1), (U @ U).multiply(U).sum(axis=1) / 2
    return np.asarray(circles, dtype=np.float64), np.asarray(triples, dtype=np.float64)


def average_clustering(flow: Flow) -> float:
    """Return the average clustering coefficient of the comparison graph, over items that were compared.

    The coefficient of an item is the share of pairs of its opponents that have been compared with each other, 0 for
    items with one opponent.
    """
    m = flow.low.shape[0]
    half = sp.csr_array((np.ones(m), (flow.low, flow.high)), shape=(flow.n_items, flow.n_items))
    U = half + half.T
    degree: FloatArray = np.asarray(U.sum(axis=1)).ravel()
    closed: FloatArray = np.asarray((U @ U).multiply(U).sum(axis=1)).ravel()
    possible = degree * (degree - 1)
    share = np.divide(closed, possible, out=np.zeros_like(degree), where=possible > 0)
    return float(share[degree > 0].mean()) if (degree > 0).any() else 0.0


def strongest_cycles(
    first: IntArray, second: IntArray, strength: FloatArray, count: int
) -> list[tuple[float, list[int]]]:
    """Return up to ``count`` cycles of a directed graph, the one whose weakest edge is strongest first.

    Edges lead from ``first`` (preferred) to ``second``. Every cycle found is the shortest one through its weakest edge
    among edges that are no weaker. Who leads to whom is kept up to date, n² bits for n items and at most n³ of them
    touched in all, so that a search is made only where there is a cycle to find.

    Examples
    --------
    >>> import numpy as np
    >>> strongest_cycles(np.array([0, 1, 2]), np.array([1, 2, 0]), np.array([0.9, 0.8, 0.7]), 1)
    [(0.7, [0, 1, 2])]
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


def smith_sizes(beats: NDArray[np.bool_]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the size of the Smith set of tournaments (s, n, n), and who is in it, (s, n).

    The Smith set is the smallest set whose members beat everybody outside. Sorted by the number of items beaten, it is
    the first k for the smallest k whose wins add up to all within and all against the rest.

    Examples
    --------
    >>> import numpy as np
    >>> circle = np.array([[0, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 0, 0, 0]], dtype=bool)
    >>> smith_sizes(circle[None])
    (array([3]), array([[ True,  True,  True, False]]))
    """
    wins = beats.sum(axis=2)
    n = wins.shape[1]
    order = np.argsort(-wins, axis=1, kind="stable")
    total = np.cumsum(np.take_along_axis(wins, order, axis=1), axis=1)
    k = np.arange(1, n + 1)
    size = np.argmax(total == k * (k - 1) // 2 + k * (n - k), axis=1) + 1
    member = np.zeros(wins.shape, dtype=bool)
    np.put_along_axis(member, order, k[None, :] <= size[:, None], axis=1)
    return size, member


@dataclass(frozen=True)
class Hodge:
    """Shares of the squared net preferences, which sum to 1, and the scores (n,) of the gradient, mean 0 in each part.

    ``complete`` says whether all circles of three were used; otherwise some of the curl is counted as harmonic.
    """

    gradient: float
    curl: float
    harmonic: float
    scores: FloatArray
    complete: bool


def hodge(flow: Flow) -> Hodge:
    """Decompose net preferences.

    Examples
    --------
    >>> from preflearn import Comparisons
    >>> from preflearn.structure.graph import Flow
    >>> h = hodge(Flow.of(Comparisons(None, ["rock", "scissors", "paper"], ["scissors", "paper", "rock"])))
    >>> round(h.gradient, 6), round(h.curl, 6), round(h.harmonic, 6)
    (0.0, 1.0, 0.0)
    """
    m, n = flow.low.shape[0], flow.n_items
    root = np.sqrt(flow.weight)
    rows = np.tile(np.arange(m), 2)
    A = sp.csr_array((np.repeat([1.0, -1.0], m), (rows, np.concatenate([flow.low, flow.high]))), shape=(m, n))
    scores = _least_squares(sp.diags_array(root) @ A, root * flow.net)
    gradient = A @ scores
    rest = flow.net - gradient
    i, j, k, complete = triangles(flow)
    curl = np.zeros(m)
    if i.shape[0]:
        # a flow of the curl part is W⁻¹C'φ for a potential φ of the triangles i < j < k
        code = flow.low * n + flow.high  # in this order
        sides = [np.searchsorted(code, a * n + b) for a, b in ((i, j), (j, k), (i, k))]
        t = np.arange(i.shape[0])
        C = sp.csr_array(
            (np.repeat([1.0, 1.0, -1.0], t.shape[0]), (np.concatenate(sides), np.tile(t, 3))), shape=(m, t.shape[0])
        )
        curl = (C @ _least_squares(sp.diags_array(1 / root) @ C, root * rest)) / flow.weight
    total = float(flow.weight @ flow.net**2)
    if total == 0:
        return Hodge(1.0, 0.0, 0.0, scores, complete)
    shares = [float(flow.weight @ part**2) / total for part in (gradient, curl)]
    return Hodge(shares[0], shares[1], max(0.0, 1.0 - sum(shares)), scores, complete)


def triangles(flow: Flow) -> tuple[IntArray, IntArray, IntArray, bool]:
    """Return triples i < j < k that were all compared with each other, at most a million, and whether these are all."""
    n, m = flow.n_items, flow.low.shape[0]
    U = sp.csr_array((np.ones(m), (flow.low, flow.high)), shape=(n, n))  # from lower to higher
    found: list[Any] = []
    count = 0
    for e in range(m):
        i, j = int(flow.low[e]), int(flow.high[e])
        third = np.intersect1d(
            U.indices[U.indptr[i] : U.indptr[i + 1]], U.indices[U.indptr[j] : U.indptr[j + 1]], assume_unique=True
        )
        if third.shape[0]:
            found.append(np.column_stack([np.full(third.shape, i), np.full(third.shape, j), third]))
            count += third.shape[0]
            if count > MOST_TRIANGLES:
                break
    listed = np.concatenate(found).astype(np.intp) if found else np.zeros((0, 3), dtype=np.intp)
    return listed[:, 0], listed[:, 1], listed[:, 2], count <= MOST_TRIANGLES


def _least_squares(A: Any, b: FloatArray) -> FloatArray:
    return np.asarray(lsmr(A, b, atol=1e-13, btol=1e-13, conlim=0, maxiter=20 * max(A.shape))[0])


def shares(G: FloatArray) -> tuple[float, float]:
    """Return the shares of preferences (n, n) that differences of utilities explain best, and of the rest."""
    f = G.mean(axis=1)
    total = float(np.sum(G**2))
    ranking = float(np.sum((f[:, None] - f[None, :]) ** 2))
    return (ranking / total, max(total - ranking, 0.0) / total) if total > 0 else (0.0, 0.0)
