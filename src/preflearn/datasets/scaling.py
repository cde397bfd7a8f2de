"""Features scaled inside each group, as learning-to-rank collections want it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from preflearn.data import ItemTable, Ratings


def scale_per_group(ratings: Ratings) -> Ratings:
    """Scale every feature to [0, 1] inside each group.

    Answers: how do I make features of different queries comparable, as the RankRLS paper does (section 3.1)?

    Parameters
    ----------
    ratings : Ratings
        Scored items in groups with features as an array; without groups all rows are one group.

    Returns
    -------
    Ratings
        The same rows in the same order with features (x - min) / (max - min), minimum and maximum over the row's
        group; a feature that is constant in a group becomes 0 there.

    Notes
    -----
    A group is scaled by itself, so nothing passes from training to test rows. Cost O(n d + n log n), one copy of the
    features. *Differences from the paper*: none; what it does with constant features it does not say.

    Examples
    --------
    >>> from preflearn.data import Ratings
    >>> from preflearn.datasets import scale_per_group
    >>> pages = Ratings([[1.0, 7.0], [3.0, 7.0], [10.0, 0.0], [20.0, 5.0]], [0, 1, 0, 1], [1, 1, 2, 2])
    >>> scale_per_group(pages).items
    array([[0., 0.],
           [1., 0.],
           [0., 0.],
           [1., 1.]])
    """
    if not isinstance(ratings, Ratings):
        raise TypeError(f"scale_per_group: expected Ratings; got {type(ratings).__name__}.")
    if sparse.issparse(ratings.items):
        raise TypeError(
            "scale_per_group: the features are a sparse matrix, and scaling would fill it. "
            "Read the file with dense=True if the full table fits in memory."
        )
    items = np.asarray(ratings.items)
    group = np.zeros(len(ratings)) if ratings.group is None else ratings.group
    code = np.unique(group, return_inverse=True)[1].ravel()
    order = np.argsort(code, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(code[order]) > 0])
    rows = items if np.array_equal(order, np.arange(len(order))) else items[order]
    low = np.minimum.reduceat(rows, starts, axis=0)
    high = np.maximum.reduceat(rows, starts, axis=0)
    width = high - low
    scaled = items - low[code]
    scaled /= np.where(width > 0.0, width, 1.0)[code]  # constant: 0 / 1
    scaled.setflags(write=False)
    table = ItemTable(scaled, None, ratings.feature_names, len(ratings))
    return Ratings(table, ratings.score, ratings.group, weight=ratings.weight, names=ratings.names)
