"""Rows in Dask collections: every worker sums over its partitions, and only sums, labels of groups and samples move.

A group that lies in one partition is *closed*: its worker sees all its pairs, as in memory. The others are *open*.
Their weights are summed first; then each worker replaces their rows by means and the squares around these, which are
joined (`preflearn.inference.scattered`). So groups may lie anywhere, in any order, and nothing is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any, NamedTuple, cast

import numpy as np

from preflearn.data.chunks import Chunk, Chunks
from preflearn.exceptions import DataError
from preflearn.inference.scattered import Census, Scatter, ScatteredSums
from preflearn.models.streamed import Map, RowSource, Sample, System, dense
from preflearn.models.training_data import Seen
from preflearn.operators import FloatArray, IntArray, scatter

ROLES = ("y", "qid", "sample_weight")
JOINED = 8  # results of workers that are joined at a time


class Collection(NamedTuple):
    """Rows with scores, groups and weights in partitions."""

    delayed: Callable[[bool], list[Any]]  # a task for each partition, with or without features, that returns a Chunk
    feature_names: tuple[str, ...] | None


def collection_of(owner: str, X: Any, y: Any, qid: Any, sample_weight: Any) -> Collection:
    """Return Dask arrays, or data frames and series, as partitions of the same rows."""
    import dask.array as da
    import dask.dataframe as dd

    given = {name: one for name, one in zip(ROLES, (y, qid, sample_weight), strict=True) if one is not None}
    if y is None:
        raise ValueError(f"{owner}.fit needs the scores y, a Dask collection like X.")
    if isinstance(X, da.Array) and all(isinstance(one, da.Array) for one in given.values()):
        return _of_arrays(owner, X, given)
    if isinstance(X, dd.DataFrame) and all(isinstance(one, dd.Series) for one in given.values()):
        return _of_frames(owner, X, given)
    kinds = ", ".join(f"{name} is {type(one).__name__}" for name, one in {"X": X, **given}.items())
    raise TypeError(
        f"{owner}.fit takes Dask arrays, or a Dask data frame X with Dask series; {kinds}. "
        f"Use {owner.removeprefix('Dask')} for what is in memory."
    )


def _of_arrays(owner: str, X: Any, given: dict[str, Any]) -> Collection:
    from dask.delayed import delayed

    X = X.rechunk({1: -1})
    rows = X.chunks[0]
    for name, one in given.items():
        if one.ndim != 1 or not np.isnan([*rows, *one.chunks[0]]).any():
            if one.shape != (X.shape[0],):
                raise DataError(code="dask-lengths", owner=owner).says(
                    f"{name} has shape {one.shape} for {X.shape[0]} rows", "Give one value per row"
                )
            one = one.rechunk((rows,))
        if len(one.chunks[0]) != len(rows):
            raise _not_aligned(owner, name)
        given[name] = one

    def tasks(features: bool) -> list[Any]:
        columns = [X.to_delayed()[:, 0] if features else [None] * len(rows)]
        columns += [given[name].to_delayed() if name in given else [None] * len(rows) for name in ROLES]
        return [delayed(_chunk)(*parts, number) for number, parts in enumerate(zip(*columns, strict=True))]

    return Collection(tasks, None)


def _of_frames(owner: str, X: Any, given: dict[str, Any]) -> Collection:
    from dask.delayed import delayed

    names = [str(name) for name in X.columns]
    inside = {name: f"preflearn {name}" for name in given}
    try:
        whole = X.assign(**{inside[name]: one for name, one in given.items()})
    except ValueError:
        raise _not_aligned(owner, " or ".join(given)) from None

    def tasks(features: bool) -> list[Any]:
        wanted = [*(X.columns if features else ()), *inside.values()]
        parts = whole[wanted].to_delayed()
        if not features and len(parts) != len(whole.to_delayed()):
            parts = whole.to_delayed()  # Dask reads small files of few columns together: partitions must be the same
        return [delayed(_chunk_of_frame)(part, inside, i) for i, part in enumerate(parts)]

    return Collection(tasks, tuple(names))


def _not_aligned(owner: str, name: str) -> DataError:
    return DataError(code="dask-partitions", owner=owner).says(
        f"{name} has other partitions than X, so that it cannot be told which rows belong together",
        "Take all of them from one Dask collection",
        "compute their chunk sizes and rechunk them alike",
    )


def _chunk_of_frame(part: Any, inside: dict[str, str], number: int) -> Chunk | None:
    columns = {name: part[column].to_numpy() for name, column in inside.items()}
    X = part.drop(columns=list(inside.values()))
    y, qid, weight = (columns.get(name) for name in ROLES)
    return _chunk(X.to_numpy() if X.shape[1] else None, y, qid, weight, number)


def _chunk(X: Any, y: Any, qid: Any, weight: Any, number: int) -> Chunk | None:
    """Return the checked rows of a partition, those of positive weight; None if there are none."""
    X = np.empty((len(y), 0)) if X is None else X
    for chunk in Chunks([Chunk(X, y, qid, weight, f"partition {number}")]):
        some = chunk if chunk.weight is None else chunk.take(np.flatnonzero(chunk.weight))
        return some if len(some) else None
    return None


def joined(merge: Callable[[Any], Any], parts: Sequence[Any]) -> Any:
    """Return a task that merges the results of others, a few at a time."""
    from dask.delayed import delayed

    left = list(parts)
    while len(left) > 1:
        left = [delayed(merge)(left[i : i + JOINED]) for i in range(0, len(left), JOINED)]
    return delayed(merge)(left)


class Labels(NamedTuple):
    """Distinct groups in ascending order, in how many partitions each is, and its rows."""

    label: Any
    partitions: IntArray
    size: IntArray

    @classmethod
    def of(cls, chunk: Chunk | None) -> Labels | None:
        """Return the labels of a partition; rows without groups are one group."""
        if chunk is None:
            return None
        label, size = np.unique(_groups(chunk), return_counts=True)
        return cls(label, np.ones_like(size), size)

    @classmethod
    def merged(cls, parts: Sequence[Labels | None]) -> Labels | None:
        """Return the labels of all parts."""
        found = [part for part in parts if part is not None]
        if not found:
            return None
        label, place = np.unique(np.concatenate([part.label for part in found]), return_inverse=True)
        counts = [
            np.bincount(place.ravel(), np.concatenate(column), len(label)).astype(np.intp)
            for column in ([part.partitions for part in found], [part.size for part in found])
        ]
        return cls(label, counts[0], counts[1])

    def summary(self) -> Summary:
        """Return what one process needs of the labels."""
        return Summary(self.label[self.partitions > 1], len(self.label), int(self.size.max()), int(self.size.sum()))


class Summary(NamedTuple):
    """Groups that are in several partitions, and what there is in all."""

    open: Any
    n_groups: int
    largest: int
    n_rows: int


def _groups(chunk: Chunk) -> Any:
    return np.zeros(len(chunk), dtype=np.intp) if chunk.group is None else chunk.group


def _is_open(chunk: Chunk, known: Any) -> tuple[IntArray, IntArray, IntArray]:
    """Return closed rows, open rows, and the number of each open row's group among the open ones."""
    group = _groups(chunk)
    place = np.searchsorted(known, group)
    there = np.zeros(len(chunk), dtype=bool)
    if len(known):
        there = known[np.minimum(place, len(known) - 1)] == group
    return np.flatnonzero(~there), np.flatnonzero(there), place[there]


def _census(chunk: Chunk | None, known: Any, by_level: bool) -> Census:
    census = Census(by_level, np.zeros(len(known)), np.zeros(len(known), dtype=np.intp))
    if chunk is not None:
        _, rows, code = _is_open(chunk, known)
        some = chunk.take(rows)
        census.add(code, cast(FloatArray, some.y), some.weight)
    return census


class Sums(NamedTuple):
    """What some rows say: the system of closed groups, and of open ones in one way to see them."""

    M: FloatArray
    b: FloatArray
    scatter: Scatter | None
    n_closed: int  # groups

    @classmethod
    def of(
        cls, chunk: Chunk | None, way: Seen, features: Map, n_features: int, known: Any, census: Census | None
    ) -> Sums:
        """Return the sums of a partition."""
        M, b, n_closed = np.zeros((n_features, n_features)), np.zeros(n_features), 0
        if chunk is None:
            return cls(M, b, None, 0)
        closed, rows, code = np.arange(len(chunk)), np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)
        if way.pairs:
            closed, rows, code = _is_open(chunk, known)
        if len(closed):
            some = chunk.take(closed) if len(rows) else chunk
            inside = np.unique(_groups(some), return_inverse=True)[1].ravel()
            n_closed = int(inside.max()) + 1
            M, b = scatter(way.operator_of(some.y, inside, some.weight), lambda i: features(some.X[i]), n_features)
        if not len(rows):
            return cls(M, b, None, n_closed)
        assert census is not None
        numbers, local = np.unique(code, return_inverse=True)
        sums = ScatteredSums(census.part(numbers), n_features, by_group=way.weighting == "groups")
        some = chunk.take(rows)
        sums.add(dense(features(some.X)), cast(FloatArray, some.y), local.ravel(), some.weight)
        return cls(M, b, sums.scatter(numbers), n_closed)

    @classmethod
    def merged(cls, parts: Sequence[Sums]) -> Sums:
        """Return the sums of all parts."""
        found = [part.scatter for part in parts if part.scatter is not None]
        M, b = sum(part.M for part in parts), sum(part.b for part in parts)
        n_closed = sum(part.n_closed for part in parts)
        return cls(np.asarray(M), np.asarray(b), Scatter.of_all(found) if found else None, n_closed)

    def system(self) -> System:
        """Return M and b of closed and open groups."""
        if self.scatter is None:
            return self.M, self.b
        M, b = self.scatter.system()
        return self.M + M, self.b + b


def _sample(chunk: Chunk | None, n_rows: int, number: int) -> Sample:
    return Sample.empty(n_rows) if chunk is None else Sample.drawn(chunk.X, n_rows, np.random.default_rng((0, number)))


class DaskRows(RowSource):
    """Rows in a Dask collection; ``run`` computes a task, on a cluster or here."""

    def __init__(self, owner: str, rows: Collection, run: Callable[[Any], Any]) -> None:
        self.owner, self.rows, self.run = owner, rows, run
        self.feature_names = rows.feature_names

    def sample(self, n_rows: int) -> Any:
        """Return the features of some rows."""
        from dask.delayed import delayed

        tasks = self.rows.delayed(True)
        if n_rows == 1:
            for task in tasks:
                found = self.run(delayed(_sample)(task, 1, 0))
                if found.X is not None:
                    return found.X
            raise self.nothing()
        samples = [delayed(_sample)(part, n_rows, i) for i, part in enumerate(tasks)]
        found = self.run(joined(partial(reduce, Sample.merged), samples))
        if found.X is None:
            raise self.nothing()
        return found.X

    def systems(self, seen: Sequence[Seen], features: Map, n_features: int, *, whole: bool = True) -> list[System]:
        """Return M and b for each way to see the rows, in a pass over features and two over labels."""
        from dask.delayed import delayed

        labels = joined(Labels.merged, [delayed(Labels.of)(part) for part in self.rows.delayed(False)])
        about: Summary | None = self.run(delayed(_summary)(labels))
        if about is None:
            raise self.nothing()
        self.n_groups, self.largest, self.n_rows = about.n_groups, about.largest, about.n_rows
        found = []
        for way in seen:
            census = None
            if way.pairs and len(about.open):
                parts = [delayed(_census)(part, about.open, way.ties == "exclude") for part in self.rows.delayed(False)]
                census = self.run(joined(partial(reduce, Census.merged), parts))
            shared = delayed((features, about.open, census), pure=True, traverse=False)
            tasks = [delayed(_sums)(part, way, n_features, shared) for part in self.rows.delayed(True)]
            sums: Sums = self.run(joined(Sums.merged, tasks))
            if way.pairs and sums.n_closed + len(about.open) != about.n_groups:
                raise DataError(code="dask-rows-changed", owner=self.owner).says(
                    "groups are in other partitions than a moment ago: the collection is not the same each time",
                    "Give random collections a seed",
                    "call persist() on it",
                )
            found.append(sums.system())
        return found


def _summary(labels: Labels | None) -> Summary | None:
    return None if labels is None else labels.summary()


def _sums(chunk: Chunk | None, way: Seen, n_features: int, shared: Any) -> Sums:
    features, known, census = shared
    return Sums.of(chunk, way, features, n_features, known, census)
