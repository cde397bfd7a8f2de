"""Counts of pieces add up to those of the whole table, however it is cut."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from preflearn.io import counts
from preflearn.io.columns import Cells
from preflearn.io.counts import add_all, add_counts, count_piece, summed

ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.sampled_from(["", "1"])), min_size=1)


def counted(rows, start=0, file=0):
    columns = {name: Cells.of(cells) for name, cells in zip("pqr", zip(*rows, strict=True), strict=True)}
    return count_piece(columns, range(start, start + len(rows)), file)


def listed(found):
    rows = list(zip(*found.columns.values(), strict=True))
    return rows, found.times.tolist(), found.line.tolist()


@given(ROWS, st.lists(st.integers(0, 60)), st.booleans())
def test_pieces_add_up_to_the_whole(rows, cuts, dense):
    before, counts.DENSE = counts.DENSE, 8 if dense else 0
    try:
        ends = sorted({0, len(rows), *(cut for cut in cuts if cut < len(rows))})
        pieces = [counted(rows[a:b], a) for a, b in pairwise(ends)]
        different = Counter(rows)
        where = [rows.index(row) for row in different]
        whole = (list(different), list(different.values()), where)
        assert listed(counted(rows)) == whole
        assert listed(reduce(add_counts, pieces)) == whole
        assert listed(add_all(pieces)) == whole
        assert listed(summed(add_all(pieces))) == whole
        right = pieces[-1]
        for piece in pieces[-2::-1]:
            right = add_counts(piece, right)
        assert listed(right) == whole
    finally:
        counts.DENSE = before


def test_many_columns_of_many_cells_are_counted():
    columns = {str(k): Cells.of([str(row * (k + 1) % 997) for row in range(2_000)]) for k in range(12)}
    found = count_piece(columns, range(2_000))
    assert len(found) == 997
    assert set(found.times.tolist()) == {2, 3}


def test_nothing_is_the_sum_of_no_pieces():
    assert add_all([]) is None
