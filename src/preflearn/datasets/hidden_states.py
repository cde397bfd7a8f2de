"""Comparisons decided by hidden states of the items: sections 4.1 and 4.2 of the paper on inconsistent preferences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import RBF

from preflearn.data import Comparisons
from preflearn.data.fields import check_count
from preflearn.datasets._params import RandomState, as_generator, check_number


@dataclass(frozen=True, eq=False)
class HiddenStates:
    """Comparisons of items with hidden states, with the truth.

    Attributes
    ----------
    comparisons : Comparisons
        Wins and losses, each pair once; a `train_test_split` of them makes the paper's training and test part.
    state : array of shape (n_items,)
        The hidden state of each item, 0, ..., n_states - 1.
    utilities : array of shape (n_states, n_states, n_items) or (n_states, n_items)
        Values of the utility functions at the items: of one for each pair of states ``[low, high]``
        (`make_cyclic_preferences`), or of one for each state (`make_comparable_clusters`).

    Examples
    --------
    >>> from preflearn.datasets import make_cyclic_preferences
    >>> data = make_cyclic_preferences(2, n_items=6, random_state=0)
    >>> data.comparisons.n_items, data.state.shape
    (6, (6,))
    """

    comparisons: Comparisons
    state: NDArray[np.intp]
    utilities: NDArray[np.float64]


def make_cyclic_preferences(
    n_states: int = 2,
    share: float = 1.0,
    *,
    n_items: int = 30,
    n_features: int = 5,
    random_state: RandomState = None,
) -> HiddenStates:
    """Generate comparisons that are decided by another utility for every pair of hidden states.

    Answers: does a model of inconsistent preferences predict them where one utility cannot? One state is a ranking.

    Parameters
    ----------
    n_states : int, default=2
        Number of hidden states L.
    share : float in [0, 1], default=1.0
        Probability with which a pair of items is compared.
    n_items, n_features : int, default=30, 5
        Size of the item table.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    HiddenStates
        The comparisons, the states and the utilities.

    Notes
    -----
    States z are uniform, features N((z + 1) 1, I), and r_zz'(x) = Σ_j α_j k(x, x_j) with normal α and a Gaussian kernel
    of length scale √n_features; i beats j where r_zz'(x_i) > r_zz'(x_j).

    *Differences from the paper*: it gives neither the kernel nor its length scale nor how pairs are left out (here
    each by itself); r_zz' and r_z'z are one function (here), so that a pair has one outcome.

    References
    ----------
    Chau, González and Sejdinovic, "Learning inconsistent preferences with Gaussian processes", 2022, section 4.1.

    Examples
    --------
    >>> from preflearn.datasets import make_cyclic_preferences
    >>> data = make_cyclic_preferences(n_states=2, random_state=0)
    >>> data.comparisons
    Comparisons(435 comparisons of 30 items with 5 features)
    """
    rng, X, state, first, second = _compared("make_cyclic_preferences", n_states, n_items, n_features, random_state)
    r = _utilities(X, n_states**2, rng).reshape(n_states, n_states, -1)
    first, second = _kept(first, second, share, "make_cyclic_preferences", rng)
    low, high = np.minimum(state[first], state[second]), np.maximum(state[first], state[second])
    outcome = np.sign(r[low, high, first] - r[low, high, second])
    return HiddenStates(Comparisons(X, first, second, outcome), state, r)


def make_comparable_clusters(
    n_states: int = 2,
    share: float = 1.0,
    *,
    n_items: int = 30,
    n_features: int = 5,
    random_state: RandomState = None,
) -> HiddenStates:
    """Generate comparisons that are ranked among items of one hidden state, and tossed for between states.

    Answers: are clusters of items that can be compared with each other found from comparisons?

    Parameters
    ----------
    n_states, share, n_items, n_features, random_state : as in `make_cyclic_preferences`
        ``n_states`` is the number of clusters.

    Returns
    -------
    HiddenStates
        The comparisons, the states (the true clusters) and the utilities.

    Notes
    -----
    As `make_cyclic_preferences`, with one utility function for each state and a fair coin between states. *Differences
    from the paper*: as there.

    References
    ----------
    Chau, González and Sejdinovic, "Learning inconsistent preferences with Gaussian processes", 2022, section 4.2.

    Examples
    --------
    >>> from preflearn.datasets import make_comparable_clusters
    >>> data = make_comparable_clusters(n_states=3, share=0.5, random_state=0)
    >>> data.utilities.shape
    (3, 30)
    """
    rng, X, state, first, second = _compared("make_comparable_clusters", n_states, n_items, n_features, random_state)
    r = _utilities(X, n_states, rng)
    first, second = _kept(first, second, share, "make_comparable_clusters", rng)
    ranked = np.sign(r[state[first], first] - r[state[first], second])
    coin = rng.choice([-1.0, 1.0], len(first))
    outcome = np.where(state[first] == state[second], ranked, coin)
    return HiddenStates(Comparisons(X, first, second, outcome), state, r)


def _compared(
    owner: str, n_states: int, n_items: int, n_features: int, random_state: RandomState
) -> tuple[np.random.Generator, NDArray[np.float64], NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return the source of randomness, items with their states, and all pairs of items."""
    n_states = check_count(n_states, "n_states", owner)
    n_items = check_count(n_items, "n_items", owner, low=2)
    n_features = check_count(n_features, "n_features", owner)
    rng = as_generator(random_state)
    state = rng.integers(n_states, size=n_items)
    X = rng.normal(size=(n_items, n_features)) + state[:, None] + 1
    first, second = np.triu_indices(n_items, 1)
    return rng, X, state, first, second


def _utilities(X: NDArray[np.float64], count: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return the values at the items of sums of kernels with normal coefficients, (count, n)."""
    return np.asarray(rng.normal(size=(count, len(X))) @ RBF(np.sqrt(X.shape[1]))(X))


def _kept(
    first: NDArray[np.intp], second: NDArray[np.intp], share: float, owner: str, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the pairs that are compared, each with this probability."""
    kept = np.flatnonzero(rng.random(len(first)) < check_number(share, "share", owner, high=1.0))
    if not len(kept):
        raise ValueError(f"{owner}: share is {share}, and no pair was drawn. Ask for a larger share, or more items.")
    return first[kept], second[kept]
