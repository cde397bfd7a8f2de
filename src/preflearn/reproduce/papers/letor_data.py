"""Where the LETOR collections are, in which layouts, and what stands in for them."""

from __future__ import annotations

from preflearn.reproduce.experiment import Data

_GET = (
    "It is part of LETOR, version 1 or 2 (research.microsoft.com/users/LETOR, letor@microsoft.com); the parts S1 to S5 "
    "or the directories Fold1 to Fold5 do, gzipped or not."
)
_SIMULATION = "a simulation of graded documents"
_FOLDS = ("train.txt", "vali.txt", "test.txt"), ("trainingset.txt", "validationset.txt", "testset.txt")


def _parts(lines: tuple[int, ...], ending: str = ".txt.gz") -> dict[str, int]:
    return {f"S{number}{ending}": count for number, count in enumerate(lines, 1)}


def _collection(title: str, folder: str, lines: tuple[int, ...], get: str, otherwise: Data | None = None) -> Data:
    """Return a collection; its parts have so many lines, which are not counted where there are files of whole folds."""
    folds = [
        {f"Fold{number}/{name}{packed}": 0 for number in range(1, 6) for name in names}
        for names in _FOLDS
        for packed in ("", ".gz")
    ]
    return Data(title, folder, _parts(lines), get, _SIMULATION, otherwise, layouts=[_parts(lines, ".txt"), *folds])


OHSUMED = _collection("OHSUMED", "letor_ohsumed", (3383, 2570, 3076, 3573, 3538), _GET)
CLUEWEB = _collection(
    "a set of ClueWeb09 in the format of LETOR",
    "clueweb09_letor",
    (5309, 5584, 4686, 5004, 6063),
    "It has 61 queries and labels from 0 to 4.",
)
TREC2003 = _collection("TREC2003", "letor_trec2003", (0,) * 5, _GET, CLUEWEB)
TREC2004 = _collection("TREC2004", "letor_trec2004", (0,) * 5, _GET, CLUEWEB)
