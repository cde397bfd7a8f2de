"""Who is asked: each judge at most a fair share, and nobody twice about the same pair."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from preflearn.active._pool import Pool, pair_codes
from preflearn.data import Comparisons
from preflearn.data.fields import as_list, check_labels, object_array
from preflearn.exceptions import DataError, first_few
from preflearn.operators import IntArray

__all__ = ["Judges"]


class Judges:
    """Shares of judges, and which candidates each may still be asked about."""

    def __init__(self, names: NDArray[Any], open_: NDArray[np.bool_], n: int) -> None:
        self.names = names
        self.open = open_  # (judges, candidates)
        self.share = -(-n // len(names))
        self.asked = np.zeros(len(names), dtype=np.intp)

    @classmethod
    def build(cls, judges: Any, answered: Any, pool: Pool, first: IntArray, second: IntArray, n: int) -> Judges:
        """Return judges of whom none has been asked yet, for candidates given by numbers of the pool."""
        listed = as_list(judges, "judges", pool.owner)
        if not listed:
            raise DataError(
                "judges is empty",
                "Name at least one judge, or leave judges=None",
                code="no-judges-asked",
                owner=pool.owner,
            )
        names = object_array(check_labels(listed, len(listed), "name", pool.owner, "judge").tolist())
        repeated = [name for name, count in Counter(names).items() if count > 1]
        if repeated:
            raise DataError(
                f"judges names {first_few(repeated)} more than once",
                "Name every judge once",
                code="judge-asked-twice",
                owner=pool.owner,
            )
        open_ = np.ones((len(names), first.shape[0]), dtype=bool)
        if answered is not None:
            if not isinstance(answered, Comparisons) or answered.judge is None:
                raise TypeError(f"{pool.owner}: answered must be Comparisons with judges (judge=...).")
            code = pair_codes(*pool.pairs(answered, "answered"), len(pool))
            candidate = pair_codes(first, second, len(pool))
            judge = answered.judge.tolist()
            number = {name: row for row, name in enumerate(names)}
            who = np.array([number.get(name, -1) for name in judge], dtype=np.intp)
            for row in range(len(names)):
                open_[row] = ~np.isin(candidate, code[who == row])
        return cls(names, open_, n)

    def alive(self) -> NDArray[np.bool_]:
        """Return which candidates somebody may still be asked about."""
        return np.asarray(self.open[self.asked < self.share].any(axis=0))

    def assign(self, candidate: int) -> Any:
        """Ask the judge with the fewest questions so far (the first named of equals); return the name."""
        may = self.open[:, candidate] & (self.asked < self.share)
        judge = int(np.argmin(np.where(may, self.asked, np.iinfo(np.intp).max)))
        self.asked[judge] += 1
        return self.names[judge]
