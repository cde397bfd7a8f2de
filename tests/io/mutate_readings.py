"""Damaged files through the readers: each is read, or refused by an error that names a file; nothing else, and soon.

Run ``python tests/io/mutate_readings.py --mutants 100000`` for the long version.
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from test_reading import LAYOUTS, OLD_PREFLIB, PREFLIB

from preflearn.data import Comparisons, Ratings
from preflearn.exceptions import DataError, DataWarning
from preflearn.io import read_preferences

ITEMS = b"item,size,kind,when,ok\nann,1.5,cat,2001-01-01,yes\nbob,,dog,2002-02-02,no\ncy,-3e-1,cat,NA,yes\n"
ROWS = b"left,right,x_left,x_right,kind_left,kind_right,winner\nann,bob,1,2,cat,dog,left\ncy,ann,3,1,cat,cat,left\n"
NAMELESS = b"x_left,y_left,x_right,y_right,winner\n1.5,0,2,1,left\n2,1,3,0,right\n1.5,0,3,0,tie\n"
SVMLIGHT = b"2 qid:7 1:0.5 3:1 # docid = a\n0 qid:7 2:1 # docid = b\n1 qid:8 1:2\n"
SEEDS = [(f"m{number}.csv", case[0].encode()) for number, case in enumerate(LAYOUTS.values())] + [
    ("votes.toc", PREFLIB.encode()),
    ("votes.toi", OLD_PREFLIB.encode()),
    ("train.txt", SVMLIGHT),
    ("rows.csv", ROWS),
    ("nameless.csv", NAMELESS),
    ("wide.csv", "winner,loser\nzwölf,ann\n".encode("utf-16")),
    ("packed.csv.gz", gzip.compress(b"winner,loser\nann,bob\n", mtime=0)),
]
BYTES = b"0123456789,;|\t\"'\n\r.-+eE:=>{}[]#()abny\x00\xff\xef \xc3\xb6%_~/\\"
CELLS = (
    *(
        "",
        " ",
        "0",
        "1",
        "2",
        "-1",
        "0.5",
        "1e999",
        "nan",
        "NA",
        "inf",
        "tie",
        "draw",
        "left",
        "ann",
        "bob",
        "cy",
        "a > b",
    ),
    *(
        "ann > ann",
        "1-0",
        "½",
        "x" * 300,
        "1,5",
        '"',
        '""',
        "{1,2}",
        "3:1",
        "true",
        "2001-01-01",
        "\uff11",
        "1_000",
        "-0",
        "=1+1",
    ),
    *(
        "winner",
        "loser",
        "first",
        "second",
        "outcome",
        "weight",
        "judge",
        "ranking",
        "place",
        "item",
        "score_home",
        "ties",
    ),
)
LIMIT = 5.0  # seconds for one file


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """Return content with one to three bytes or cells changed."""
    for _ in range(int(rng.integers(1, 4))):
        content = _cells(content, rng) if rng.random() < 0.4 else _bytes(content, rng)
    return content


def _bytes(content: bytes, rng: np.random.Generator) -> bytes:
    text = bytearray(content)
    place = int(rng.integers(0, len(text) + 1))
    length = int(rng.integers(1, 8))
    action = rng.integers(0, 6)
    if action == 0 and place < len(text):
        text[place] = BYTES[rng.integers(0, len(BYTES))]
    elif action == 1:
        text.insert(place, BYTES[rng.integers(0, len(BYTES))])
    elif action == 2:
        del text[place : place + length]
    elif action == 3:
        text[place:place] = text[place : place + 4 * length]
    elif action == 4:
        return bytes(text[:place])
    else:
        text[place:place] = bytes(rng.integers(0, 256, length).tolist())
    return bytes(text)


def _cells(content: bytes, rng: np.random.Generator) -> bytes:
    rows = [line.split(b",") for line in content.split(b"\n")]
    row = int(rng.integers(0, len(rows)))
    cell = int(rng.integers(0, len(rows[row])))
    action = rng.integers(0, 5)
    if action == 0:
        rows[row][cell] = CELLS[rng.integers(0, len(CELLS))].encode()
    elif action == 1:
        rows.insert(row, list(rows[int(rng.integers(0, len(rows)))]))
    elif action == 2:
        rows = [line[:cell] + line[cell + 1 :] for line in rows]
    elif action == 3:
        rows = [[*line, CELLS[rng.integers(0, len(CELLS))].encode()] for line in rows]
    else:
        rows[0][min(cell, len(rows[0]) - 1)] = CELLS[rng.integers(0, len(CELLS))].encode()
    return b"\n".join(b",".join(line) for line in rows)


def check(data: Comparisons | Ratings) -> None:
    """Assert that what was read is whole."""
    if isinstance(data, Ratings):
        assert np.isfinite(data.score).all()
        return
    assert len(data) > 0
    assert np.isfinite(data.outcome).all()
    for side in (data.first, data.second):
        assert side.shape == data.outcome.shape
        assert side.min() >= 0
        assert side.max() < data.n_items
    assert not np.any(data.first == data.second)
    assert data.names is not None
    assert len(set(data.names.tolist())) == data.n_items
    assert data.items is None or (np.isfinite(data.items).all() and data.items.shape[0] == data.n_items)
    assert data.weight is None or (np.isfinite(data.weight).all() and data.weight.min() >= 0)


def run(n_mutants: int, seed: int, folder: Path) -> Counter[str]:
    """Read mutants and count what became of them; anything but a DataError that names a file is raised."""
    rng = np.random.default_rng(seed)
    counts: Counter[str] = Counter()
    for number in range(n_mutants):
        name, content = SEEDS[number % len(SEEDS)]
        items = None
        damaged = mutate(content, rng)
        if number % 3 == 0:
            items = folder / "items.csv"
            whole = rng.random() < 0.5
            items.write_bytes(ITEMS if whole else mutate(ITEMS, rng))
            damaged = damaged if whole else content
        path = folder / name
        path.write_bytes(damaged)
        options = {"missing": "drop", "self_comparisons": "drop"} if number % 5 == 0 else {}
        start = time.monotonic()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", DataWarning)
            try:
                check(read_preferences(path, items, need_outcomes=number % 7 > 0, **options).data)
                counts["read"] += 1
            except DataError as error:
                counts["refused"] += 1
                counts["unnamed"] += str(folder) not in str(error)
            except Exception as error:
                raise AssertionError(
                    f"mutant {number} of seed {seed}: {damaged!r}, {items and items.read_bytes()!r}"
                ) from error
        counts["late"] += time.monotonic() - start > LIMIT
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        total = run(given.mutants, given.seed, Path(directory))
        print(dict(total), f"{time.monotonic() - began:.0f} s")  # noqa: T201 - a script
