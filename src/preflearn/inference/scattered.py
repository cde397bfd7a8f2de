"""Sums over groups whose rows arrive in any order (docs/maths.md, section 5).

With weights w, W the weight of a group, W_a that of its a-th level of equal scores and v = 1 or 1/W (`Groups`),

    z'Lz = Σ_i c_i z_i² - Σ_groups v (Σ w z)² + Σ_levels v (Σ w z)²,      c_i = v w_i (W - W_a),

where only levels of two rows and more have an a, and only if ties are left out. So a first pass over labels finds W and
W_a, and a second one sums over rows in any order. L does not see what is added to all rows of a group: rows are taken
relative to the first one of their group, so that the differences lose no digits.

The sums of different rows are joined by their means (`Scatter`), wherever they were made: of two parts of a group or
level with weights V and V' and means m and m',

    Σ w (z - mean)(z - mean)' = that of one part + that of the other + V V'/(V + V') (m - m')(m - m')'.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import Self

import numpy as np
import scipy.sparse as sp

from preflearn.operators import FloatArray, IntArray


@dataclass
class Census:
    """The first pass: how much each group, and each level of equal scores, weighs.

    ``code`` are numbers of groups that mean the same in every call.
    """

    by_level: bool
    weight: FloatArray = field(default_factory=lambda: np.zeros(0))  # of each group
    size: IntArray = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    _levels: list[tuple[IntArray, FloatArray, FloatArray, IntArray]] = field(default_factory=list)
    _pending: int = 0

    def add(self, code: IntArray, y: FloatArray, weight: FloatArray | None) -> None:
        """Count some rows."""
        w = np.ones(code.shape[0]) if weight is None else weight
        n = max(int(code.max(initial=-1)) + 1, self.weight.shape[0])
        self.weight = np.pad(self.weight, (0, n - self.weight.shape[0]))
        self.size = np.pad(self.size, (0, n - self.size.shape[0]))
        self.weight += np.bincount(code, weights=w, minlength=n)
        self.size += np.bincount(code, minlength=n)
        if self.by_level:
            self._levels.append(_merged([(code, y, w, np.ones(code.shape[0], dtype=np.intp))]))
            self._pending += self._levels[-1][0].shape[0]
            if len(self._levels) > 1 and self._pending > 2 * self._levels[0][0].shape[0]:
                self._compact()

    def _compact(self) -> None:
        self._levels = [_merged(self._levels)]
        self._pending = self._levels[0][0].shape[0]

    def merged(self, other: Census) -> Census:
        """Return what both have counted, as a new census."""
        n = max(self.weight.shape[0], other.weight.shape[0])
        weight, size = np.zeros(n), np.zeros(n, dtype=np.intp)
        for one in (self, other):
            weight[: one.weight.shape[0]] += one.weight
            size[: one.size.shape[0]] += one.size
        levels = [*self._levels, *other._levels]
        return Census(self.by_level, weight, size, [_merged(levels)] if levels else [])

    def part(self, groups: IntArray) -> Census:
        """Return the census of some groups, numbered in this order, which is ascending."""
        found = Census(self.by_level, self.weight[groups], self.size[groups])
        if self._levels:
            self._compact()
            code, *rest = self._levels[0]
            place = np.searchsorted(groups, code)
            here = np.flatnonzero(groups[np.minimum(place, groups.shape[0] - 1)] == code)
            found._levels = [(place[here], *(part[here] for part in rest))]  # type: ignore[list-item]
        return found

    def levels(self) -> Levels | None:
        """Return the levels of two rows and more, if levels are counted."""
        if not self.by_level or not self._levels:
            return None
        self._compact()
        code, y, w, count = self._levels[0]
        many = count > 1
        return Levels(code[many], y[many], w[many])


def _merged(
    parts: list[tuple[IntArray, FloatArray, FloatArray, IntArray]],
) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Return distinct (code, y), sorted, with their summed weights and counts."""
    code, y, w, count = (np.concatenate(part) for part in zip(*parts, strict=True))
    order = np.lexsort((y, code))
    code, y = code[order], y[order]
    new = np.ones(code.shape[0], dtype=bool)
    new[1:] = (code[1:] != code[:-1]) | (y[1:] != y[:-1])
    start = np.flatnonzero(new)
    if start.shape[0] == 0:
        return code, y, w, count
    return code[start], y[start], np.add.reduceat(w[order], start), np.add.reduceat(count[order], start)


@dataclass(frozen=True)
class Levels:
    """Levels of two rows and more, sorted by group and score."""

    code: IntArray
    y: FloatArray
    weight: FloatArray

    def of(self, code: IntArray, y: FloatArray) -> IntArray:
        """Return the level of each row, -1 for rows that are alone in theirs."""
        both_code, both_y = np.concatenate([self.code, code]), np.concatenate([self.y, y])
        known = self.code.shape[0]
        # rows sort behind the level with the same group and score
        is_row = np.arange(both_code.shape[0]) >= known
        order = np.lexsort((is_row, both_y, both_code))
        last = np.maximum.accumulate(np.where(order < known, order, -1))  # levels are sorted, so numbers increase
        found = np.empty(code.shape[0], dtype=np.intp)
        rows = order >= known
        found[order[rows] - known] = last[rows]
        if known == 0:
            return np.full(code.shape[0], -1, dtype=np.intp)
        same = (found >= 0) & (self.code[found] == code) & (self.y[found] == y)
        return np.where(same, found, -1)


@dataclass(frozen=True)
class Means:
    """Groups or levels, by ascending keys: their weights so far, means, and the factor of their squares."""

    key: FloatArray  # (k, 1) groups, (k, 2) levels: group and score
    mass: FloatArray
    mean: FloatArray  # (k, d)
    factor: FloatArray

    def merged(self, other: Self) -> tuple[Self, FloatArray]:
        """Return the means of both, and the squares between their parts, (d, d)."""
        key, place = _distinct(np.concatenate([self.key, other.key]))
        mine, theirs = np.split(place, [self.mass.shape[0]])
        mass, factor = np.zeros(key.shape[0]), np.empty(key.shape[0])
        mean = np.empty((key.shape[0], self.mean.shape[1]))
        mass[mine], mean[mine], factor[mine] = self.mass, self.mean, self.factor
        before = mass[theirs]
        known = before > 0
        total = before + other.mass
        step = other.mean[known] - mean[theirs[known]]
        share = (other.mass / total)[known]
        between = (step * (other.factor[known] * before[known] * share)[:, None]).T @ step
        mean[theirs[known]] += share[:, None] * step
        mean[theirs[~known]] = other.mean[~known]
        mass[theirs], factor[theirs] = total, other.factor
        return type(self)(key, mass, mean, factor), between


@dataclass(frozen=True)
class Scatter:
    """Squares of some rows around the means of their groups and levels, (d + 1, d + 1), scores last."""

    squares: FloatArray
    means: tuple[Means, ...]  # of groups, and of levels where ties are left out

    def merged(self, other: Self) -> Self:
        """Return the same of the rows of both."""
        squares, means = self.squares + other.squares, []
        for mine, theirs in zip(self.means, other.means, strict=True):
            both, between = mine.merged(theirs)
            squares += between
            means.append(both)
        return type(self)(squares, tuple(means))

    @classmethod
    def of_all(cls, parts: Iterable[Self]) -> Self:
        """Return the same of the rows of all parts."""
        return reduce(cls.merged, parts)

    def system(self) -> tuple[FloatArray, FloatArray]:
        """Return M and b."""
        return np.ascontiguousarray(self.squares[:-1, :-1]), self.squares[:-1, -1].copy()


class ScatteredSums:
    """The second pass: Σ over rows and groups that give M = Z'LZ, b = Z'Ly and y'Ly.

    ``add`` takes rows in any order. Memory: d² and, for every group and every level of two rows and more, d.
    """

    def __init__(self, census: Census, n_features: int, *, by_group: bool) -> None:
        d = n_features + 1  # scores are one more column
        self.weight, self.levels = census.weight, census.levels()  # W and, where ties are left out, levels
        self.v = 1.0 / self.weight if by_group else np.ones_like(self.weight)
        n_groups = self.weight.shape[0]
        n_levels = 0 if self.levels is None else self.levels.code.shape[0]
        self.gram = np.zeros((d, d))
        self.origin = np.full((n_groups, d), np.nan)
        self.group, self.group_mass = np.zeros((n_groups, d)), np.zeros(n_groups)
        self.level, self.level_mass = np.zeros((n_levels, d)), np.zeros(n_levels)

    def add(self, Z: FloatArray, y: FloatArray, code: IntArray, weight: FloatArray | None) -> None:
        """Add some rows."""
        T = np.column_stack([Z, y])
        groups, first, place = np.unique(code, return_index=True, return_inverse=True)
        new = np.isnan(self.origin[groups, 0])
        self.origin[groups[new]] = T[first[new]]
        T -= self.origin[code]
        w = np.ones(code.shape[0]) if weight is None else weight
        mass = self.weight[code]
        if self.levels is not None:
            level = self.levels.of(code, y)
            tied = np.flatnonzero(level >= 0)
            mass = mass.copy()
            mass[tied] = np.maximum(mass[tied] - self.levels.weight[level[tied]], 0.0)
            levels, at = np.unique(level[tied], return_inverse=True)
            self.level[levels] += _summed(at, w[tied], T[tied], levels.shape[0])
            self.level_mass[levels] += np.bincount(at, w[tied], levels.shape[0])
        self.group[groups] += _summed(place.ravel(), w, T, groups.shape[0])
        self.group_mass[groups] += np.bincount(place.ravel(), w, groups.shape[0])
        T *= np.sqrt(self.v[code] * mass * w)[:, None]
        self.gram += T.T @ T

    def system(self) -> tuple[FloatArray, FloatArray]:
        """Return M and b, once all rows are there."""
        S = self.group * np.sqrt(self.v)[:, None]
        whole = self.gram - S.T @ S
        if self.levels is not None:
            S = self.level * np.sqrt(self.v[self.levels.code])[:, None]
            whole += S.T @ S
        return Scatter(whole, ()).system()

    def scatter(self, numbers: IntArray) -> Scatter:
        """Return what the rows so far say, to be merged with that of others; ``numbers`` name the groups elsewhere.

        With the weights V of the rows so far and their sums s around the origin, that is around means

            Σ c_i z_i² - Σ_groups v W s²/V + Σ_levels v W_a s²/V.
        """
        parts = [(numbers[:, None], self.group, self.group_mass, self.v * self.weight, self.origin)]
        if self.levels is not None:
            code, factor = self.levels.code, -self.v[self.levels.code] * self.levels.weight
            key = np.column_stack([numbers[code], self.levels.y])
            parts.append((key, self.level, self.level_mass, factor, self.origin[code]))
        squares, means = self.gram.copy(), []
        for key, sums, mass, factor, origin in parts:
            there = np.flatnonzero(mass)
            mass, factor, mean = mass[there], factor[there], sums[there] / mass[there, None]
            squares -= (mean * (factor * mass)[:, None]).T @ mean
            means.append(Means(np.asarray(key[there], dtype=np.float64), mass, origin[there] + mean, factor))
        return Scatter(squares, tuple(means))


def _distinct(key: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return the distinct rows, ascending, and the place of each row among them."""
    order = np.lexsort(key.T[::-1])
    ordered = key[order]
    new = np.ones(key.shape[0], dtype=bool)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    place = np.empty(key.shape[0], dtype=np.intp)
    place[order] = np.cumsum(new) - 1
    return ordered[new], place


def _summed(place: IntArray, w: FloatArray, T: FloatArray, n: int) -> FloatArray:
    """Return the sums of w T over rows of each place."""
    m = place.shape[0]
    return np.asarray(sp.csr_array((w, (place, np.arange(m))), shape=(n, m)) @ T)
