"""What is odd about comparisons that are to be learned from.

Comparisons are also questions (`predict_proba`) and answers to judge by (`score`), where none of this matters: so it is
said by whoever learns, once, and not when comparisons are built.
"""

from __future__ import annotations

import numpy as np

from preflearn.data._graph import exact_repeats
from preflearn.data.comparisons import Comparisons
from preflearn.exceptions import DataWarning, first_few, warn_user

__all__ = ["warn_before_learning"]


def warn_before_learning(
    data: Comparisons, owner: str, *, known: Comparisons | None = None, parts: bool = True, repeats: bool = True
) -> None:
    """Warn about comparisons that can be learned from, but probably not as intended.

    Parameters
    ----------
    data : Comparisons
        What is learned from.
    owner : str
        Who learns.
    known : Comparisons, default=None
        What was learned from before, the first rows of ``data``. Repeats are then looked for among the others only,
        since an answer asked for again is new evidence, and parts are worth a word only if there are more than before.
    parts : bool, default=True
        Whether items of parts that were never compared with each other are to be told apart by what is learned.
    repeats : bool, default=True
        Whether repeats are worth a word; where matches are learned from they are the rule.

    Warns
    -----
    DataWarning
        If comparisons are repeated exactly; if compared items without features or groups fall into parts that were
        never compared with each other.
    """
    new = data if known is None else data[len(known) :]
    again = exact_repeats(new) if repeats else 0
    if again:
        warn_user(
            f"{owner}: {again} of {len(new)} comparisons repeat an earlier one exactly (same items, outcome, group, "
            "judge, cluster and covariates). They count as independent evidence: delete the repeats if they are not.",
            DataWarning,
        )
    if not parts or data.items is not None or data.group is not None:
        return
    if _compared_parts(data) > (1 if known is None else _compared_parts(known)):
        sizes = np.sort(np.bincount(data.parts()))[::-1]
        unused = data.n_items - len(data.used_items())
        never = f" ({unused} of the items were never compared)" if unused else ""
        warn_user(
            f"{owner}: the comparisons leave {len(sizes)} separate parts, of {first_few(sizes.tolist())} "
            f"items{never}. Utilities of different parts cannot be compared without features: add comparisons "
            "between the parts, give features, or keep one part (see .parts()).",
            DataWarning,
        )


def _compared_parts(data: Comparisons) -> int:
    """Return the number of parts with a comparison in them: that an item is not in the data needs no warning."""
    return int(np.unique(data.parts()[data.first]).shape[0])
