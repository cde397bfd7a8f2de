"""Least squares on rows that come in pieces: one system of equations, whatever the number of rows.

Where the rows of every group stand together, pieces are cut between groups, and each of them is what it would be in
memory. Otherwise groups are weighed in a first pass and summed in a second one (`ScatteredSums`); what needs the rows
of a group at once, such as leaving it out, sorts rows into files by group.
"""

from __future__ import annotations

import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from preflearn.data.chunks import Chunk, Chunks
from preflearn.exceptions import DataError
from preflearn.inference.exact import Decomposition, leave_groups_out_primal
from preflearn.inference.scattered import Census, Scatter, ScatteredSums
from preflearn.models.training_data import Seen
from preflearn.operators import Features, FloatArray, IntArray, Rows, scatter

Map = Callable[[Any], Any]  # from rows to their features
System = tuple[FloatArray, FloatArray]

# Rows that wait for the rest of their group, and held-out predictions, are kept in files above this many bytes.
IN_MEMORY = 1 << 28


class GroupNumbers:
    """Numbers of groups, the same in every piece: 0, 1, ... in the order in which they appear."""

    def __init__(self) -> None:
        self._known: dict[Any, int] = {}

    def __len__(self) -> int:
        return len(self._known)

    def of(self, chunk: Chunk) -> IntArray:
        """Return the group of each row; without groups all are one."""
        if chunk.group is None:
            self._known.setdefault(None, 0)
            return np.zeros(len(chunk), dtype=np.intp)
        labels, place = np.unique(chunk.group, return_inverse=True)
        numbers = [self._known.setdefault(label, len(self._known)) for label in labels.tolist()]
        return np.array(numbers, dtype=np.intp)[place.ravel()]


@dataclass(frozen=True)
class Sample:
    """Features of up to so many rows, those with the least of random keys, in the order in which they came."""

    n_rows: int
    X: Any
    keys: FloatArray

    @classmethod
    def empty(cls, n_rows: int) -> Sample:
        """Return a sample of no rows."""
        return cls(n_rows, None, np.empty(0))

    @classmethod
    def drawn(cls, X: Any, n_rows: int, rng: np.random.Generator) -> Sample:
        """Return a sample of these rows."""
        if n_rows == 1:
            return cls(1, X[:1], np.zeros(1))
        return cls.best(X, rng.random(X.shape[0]), n_rows)

    def merged(self, other: Sample) -> Sample:
        """Return a sample of the rows of both."""
        if self.X is None or other.X is None:
            return other if self.X is None else self
        return Sample.best(stacked([self.X, other.X]), np.concatenate([self.keys, other.keys]), self.n_rows)

    @classmethod
    def best(cls, X: Any, keys: FloatArray, n_rows: int) -> Sample:
        """Return the rows with the least keys."""
        few = np.sort(np.argpartition(keys, n_rows - 1)[:n_rows]) if X.shape[0] > n_rows else slice(None)
        return cls(n_rows, X[few], keys[few])


class RowSource(ABC):
    """Rows of positive weight that are not held at once: least squares ask for sums over them.

    Attributes
    ----------
    owner : str
        Name of the estimator, for messages.
    feature_names : tuple of str or None
        Names of the features.
    n_rows, n_groups, largest : int
        Numbers of rows and groups, and of rows in the largest group; known once sums are there.
    """

    owner: str
    feature_names: tuple[str, ...] | None
    n_rows = n_groups = largest = 0

    @abstractmethod
    def sample(self, n_rows: int) -> Any:
        """Return the features of some rows, each taken with the same chance; one row is any."""

    @abstractmethod
    def systems(self, seen: Sequence[Seen], features: Map, n_features: int, *, whole: bool = True) -> list[System]:
        """Return M and b for each way to see the rows; ``whole``: whether groups are wanted later."""

    def nothing(self) -> DataError:
        """Return the error of rows that are not there."""
        return DataError(code="chunks-empty", owner=self.owner).says(
            "there are no rows of positive weight", "Give a source with rows; an iterator can be read only once"
        )


class Pieces(RowSource):
    """Rows of positive weight in pieces of whole groups, as often as they are asked for.

    Attributes
    ----------
    together : bool
        Whether the rows of every group stand together; known after the first pass.
    """

    def __init__(self, chunks: Chunks, owner: str) -> None:
        self.chunks = chunks
        self.owner = owner
        self.feature_names = chunks.feature_names
        self.together = True

    def rows(self) -> Iterator[Chunk]:
        """Yield rows of positive weight."""
        return self._kept(iter(self.chunks))

    def sample(self, n_rows: int) -> Any:
        """Return the features of some rows, each taken with the same chance; one row is the first."""
        sample = Sample.empty(n_rows)
        rng = np.random.default_rng(0)
        for chunk in self.rows():
            sample = sample.merged(Sample.drawn(chunk.X, n_rows, rng))
            if n_rows == 1:
                break
        if sample.X is None:
            raise self.nothing()
        return sample.X

    def _kept(self, chunks: Iterator[Chunk]) -> Iterator[Chunk]:
        for chunk in chunks:
            if chunk.y is None:
                raise DataError(code="chunks-without-scores", owner=self.owner).says(
                    f"the rows have no scores ({chunk.place})", "Give y with every piece"
                )
            kept = chunk
            if chunk.weight is not None and not chunk.weight.all():
                kept = chunk.take(np.flatnonzero(chunk.weight))
            if len(kept):
                yield kept

    def whole(self) -> Iterator[tuple[Chunk, IntArray]]:
        """Yield pieces of whole groups, with the number of each row's group in the piece.

        Raises `Apart` in the first pass if a group comes again after others, or does not fit in memory.
        """
        for piece in self._runs() if self.together else self._sorted_by_group():
            yield piece, _runs_of(piece)[1]

    def _runs(self) -> Iterator[Chunk]:
        """Yield the rows as they come, cut between groups."""
        done: set[Any] = set()
        waiting: list[Chunk] = []
        n_rows = 0
        self.largest = 0
        for chunk in self.rows():
            n_rows += len(chunk)
            start, _ = _runs_of(chunk)
            labels = [None] if chunk.group is None else chunk.group[start].tolist()
            new = labels[1:] if waiting and _label(waiting[-1]) == labels[0] else labels
            if len(set(new)) < len(new) or not done.isdisjoint(new):
                raise Apart
            done.update(new)
            if new:
                first, last = int(start[len(start) - len(new)]), int(start[-1])
                if waiting:  # the group that was cut, by itself: the others need not be copied
                    yield self._measured(joined([*waiting, chunk.take(slice(0, first))] if first else waiting))
                if last > first:
                    yield self._measured(chunk.take(slice(first, last)))
                waiting = [chunk.take(slice(last, None))]
            else:
                waiting.append(chunk)
            if sum(n_bytes(one.X) for one in waiting) > IN_MEMORY:
                raise Apart
        if waiting:
            yield self._measured(joined(waiting))
        self.n_rows, self.n_groups = n_rows, len(done)

    def _measured(self, piece: Chunk) -> Chunk:
        """Return the piece, its largest group noted."""
        self.largest = max(self.largest, int(np.bincount(_runs_of(piece)[1]).max()))
        return piece

    def census(self, by_level: bool) -> tuple[Census, GroupNumbers]:
        """Weigh groups, and levels of equal scores, in a pass over labels."""
        numbers, census = GroupNumbers(), Census(by_level)
        for chunk in self._kept(self.chunks.labels()):
            assert chunk.y is not None
            census.add(numbers.of(chunk), chunk.y, chunk.weight)
        self.counted(census, numbers)
        return census, numbers

    def counted(self, census: Census, numbers: GroupNumbers) -> None:
        """Note how many rows and groups there are."""
        self.n_rows, self.n_groups = int(census.size.sum()), len(numbers)
        self.largest = int(census.size.max(initial=0))

    def systems(self, seen: Sequence[Seen], features: Map, n_features: int, *, whole: bool = True) -> list[System]:
        """Return M and b for each way to see the rows; ``whole``: whether groups are wanted later."""
        if whole or any(one.pairs for one in seen):
            try:
                return _of_whole_groups(self, seen, features, n_features)
            except Apart:
                self.together = False
        found: list[System] = []
        for one in seen:
            if not one.pairs:
                found.append(_of_rows(self, features, n_features))
                continue
            census, numbers = self.census(one.ties == "exclude")
            sums = ScatteredSums(census, n_features, by_group=one.weighting == "groups")
            for chunk in self.rows():
                assert chunk.y is not None
                sums.add(dense(features(chunk.X)), chunk.y, numbers.of(chunk), chunk.weight)
            found.append(sums.system())
        return found

    def moments(self, features: Map, n_features: int) -> tuple[FloatArray, Scatter]:
        """Return the means of features and of scores (last), and the squares around them."""
        one_group = Census(by_level=False, weight=np.ones(1))
        sums, n_rows = ScatteredSums(one_group, n_features, by_group=True), 0
        for chunk in self.rows():
            assert chunk.y is not None
            sums.add(dense(features(chunk.X)), chunk.y, np.zeros(len(chunk), dtype=np.intp), chunk.weight)
            n_rows += len(chunk)
        self.n_rows = n_rows
        found = sums.scatter(np.zeros(1, dtype=np.intp))
        return found.means[0].mean[0], found

    def _sorted_by_group(self) -> Iterator[Chunk]:
        """Yield rows sorted by group, some groups at a time, by way of files where they are many."""
        numbers = GroupNumbers()
        with tempfile.TemporaryDirectory(prefix="preflearn-") as folder:
            shelves = _Shelves(Path(folder))
            for chunk in self.rows():
                shelves.put(chunk, numbers.of(chunk))
            yield from shelves.sorted()


class Apart(Exception):  # noqa: N818 - not an error: another way is taken
    """The rows of a group do not stand together."""


def _label(chunk: Chunk) -> Any:
    """Return the group of the last row."""
    return None if chunk.group is None else chunk.group[-1:].tolist()[0]


def _runs_of(chunk: Chunk) -> tuple[IntArray, IntArray]:
    """Return where runs of one group start, and the number of each row's run."""
    new = np.zeros(len(chunk), dtype=bool)
    new[0] = True
    if chunk.group is not None:
        new[1:] = chunk.group[1:] != chunk.group[:-1]
    return np.flatnonzero(new), np.cumsum(new) - 1


def stacked(tables: Sequence[Any]) -> Any:
    """Return rows of features one below the other."""
    return sp.vstack(tables, format="csr") if sp.issparse(tables[0]) else np.concatenate(tables)


def joined(chunks: Sequence[Chunk]) -> Chunk:
    """Return one piece of several."""
    if len(chunks) == 1:
        return chunks[0]
    first = chunks[0]
    y, group, weight = (
        None if getattr(first, name) is None else np.concatenate([getattr(one, name) for one in chunks])
        for name in ("y", "group", "weight")
    )
    return Chunk(stacked([one.X for one in chunks]), y, group, weight, first.place)


def dense(Z: Any) -> FloatArray:
    """Return features as an array."""
    return np.asarray(Z if isinstance(Z, np.ndarray) else Z.toarray())


def n_bytes(X: Any) -> int:
    """Return how much memory rows take."""
    return int(X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes)


class _Shelves:
    """Rows sorted by group, in files of some groups each if they are many."""

    N_SHELVES = 64

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.waiting: list[tuple[Chunk, IntArray]] = []
        self.bytes = 0
        self.on_disk = self.sparse = False

    def put(self, chunk: Chunk, code: IntArray) -> None:
        """Take some rows."""
        self.waiting.append((chunk, code))
        self.sparse = sp.issparse(chunk.X)
        self.bytes += n_bytes(chunk.X)
        if self.bytes > IN_MEMORY:
            self._flush()

    def _flush(self) -> None:
        chunk, code = self._together()
        self.waiting, self.bytes, self.on_disk = [], 0, True
        shelf = code % self.N_SHELVES
        for number in np.unique(shelf).tolist():
            rows = np.flatnonzero(shelf == number)
            part = chunk.take(rows)
            with (self.folder / f"{number}.npy").open("ab") as stream:
                arrays = [part.X.data, part.X.indices, part.X.indptr] if self.sparse else [part.X]
                weight = np.empty(0) if part.weight is None else part.weight
                for array in (*arrays, part.y, weight, code[rows], np.array(part.X.shape)):
                    np.save(stream, array, allow_pickle=False)

    def _together(self) -> tuple[Chunk, IntArray]:
        return joined([chunk for chunk, _ in self.waiting]), np.concatenate([code for _, code in self.waiting])

    def sorted(self) -> Iterator[Chunk]:
        """Yield the rows of whole groups; groups are numbers."""
        if not self.on_disk:
            yield _by_code(*self._together())
            return
        if self.waiting:
            self._flush()
        for path in sorted(self.folder.glob("*.npy")):
            parts, codes = [], []
            with path.open("rb") as stream:
                while stream.peek(1):
                    found = [np.load(stream, allow_pickle=False) for _ in range(7 if self.sparse else 5)]
                    *X, y, weight, code, shape = found
                    table = sp.csr_array(tuple(X), shape=tuple(shape)) if self.sparse else X[0]
                    parts.append(Chunk(table, y, None, weight if weight.size else None))
                    codes.append(code)
            yield _by_code(joined(parts), np.concatenate(codes))


def _by_code(chunk: Chunk, code: IntArray) -> Chunk:
    order = np.argsort(code, kind="stable")
    rows = chunk.take(order)
    return Chunk(rows.X, rows.y, code[order], rows.weight)


def _of(features: Map, X: Any) -> Features:
    """Return the features of some rows of a piece."""
    return lambda rows: features(X[rows])


def _of_whole_groups(pieces: Pieces, seen: Sequence[Seen], features: Map, n_features: int) -> list[System]:
    found = [(np.zeros((n_features, n_features)), np.zeros(n_features)) for _ in seen]
    for piece, code in pieces.whole():
        for (M, b), one in zip(found, seen, strict=True):
            more = scatter(one.operator_of(piece.y, code, piece.weight), _of(features, piece.X), n_features)
            M += more[0]
            b += more[1]
    return found


def _of_rows(pieces: Pieces, features: Map, n_features: int) -> System:
    """Return M and b of rows by themselves, for which groups do not matter."""
    M, b = np.zeros((n_features, n_features)), np.zeros(n_features)
    numbers, census = GroupNumbers(), Census(by_level=False)
    for chunk in pieces.rows():
        assert chunk.y is not None
        census.add(numbers.of(chunk), chunk.y, chunk.weight)
        operator = Rows.build(chunk.y, chunk.weight)
        more = scatter(operator, _of(features, chunk.X), n_features)
        M += more[0]
        b += more[1]
    pieces.counted(census, numbers)
    return M, b


@dataclass(frozen=True)
class HeldOutRows:
    """Held-out predictions of all rows in the order in which groups were left out, for each way to see the rows."""

    predictions: list[FloatArray]  # (n, n_alphas) each, in files if they are many
    noise: list[FloatArray]
    truth: FloatArray
    group: IntArray
    weight: FloatArray | None


def hold_out_groups(
    pieces: Pieces,
    seen: Sequence[Seen],
    decompositions: Sequence[Decomposition],
    alphas: FloatArray,
    features: Map,
    folder: Path,
) -> HeldOutRows:
    """Leave out each group in turn, exactly, in one more pass."""
    n, k = pieces.n_rows, alphas.shape[0]
    held = [_array(folder / f"held{i}", (n, k)) for i in range(len(seen))]
    noise = [_array(folder / f"noise{i}", (n, k)) for i in range(len(seen))]
    truth, group, weight = np.empty(n), np.empty(n, dtype=np.intp), None
    at = groups = 0
    for piece, code in pieces.whole():
        rows = slice(at, at + len(piece))
        for i, one in enumerate(seen):
            held[i][rows], noise[i][rows] = leave_groups_out_primal(
                decompositions[i], one.operator_of(piece.y, code, piece.weight), _of(features, piece.X), alphas
            )
        truth[rows], group[rows] = piece.y, code + groups
        if piece.weight is not None:
            weight = np.empty(n) if weight is None else weight
            weight[rows] = piece.weight
        at, groups = at + len(piece), groups + int(code[-1]) + 1
    return HeldOutRows(held, noise, truth, group, weight)


def _array(path: Path, shape: tuple[int, int]) -> FloatArray:
    """Return an empty array, in a file if it is large."""
    if 8 * shape[0] * shape[1] <= IN_MEMORY // 4:
        return np.empty(shape)
    return np.memmap(path, dtype=np.float64, mode="w+", shape=shape)
