"""Label rankings by expected utility: the simulation of section 4.3 (Fig. 3) of the paper on preference learning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from preflearn.data import LabelPreferences, from_label_rankings
from preflearn.data.fields import check_count
from preflearn.datasets._params import RandomState, as_generator


@dataclass(frozen=True, eq=False)
class ExpectedUtility:
    """Rankings of labels for training and test items, with the truth.

    Attributes
    ----------
    train, test : LabelPreferences
        All pairs of labels of every item; items are probabilities of the states of the world.
    utility : array of shape (n_labels, n_states)
        Utility of each label (action) in each state: the expected utilities of items p are p @ utility.T.

    Examples
    --------
    >>> from preflearn.datasets import make_label_rankings
    >>> data = make_label_rankings(random_state=0)
    >>> data.train.n_labels
    5
    """

    train: LabelPreferences
    test: LabelPreferences
    utility: NDArray[np.float64]


def make_label_rankings(
    n_labels: int = 5,
    n_train: int = 50,
    n_test: int = 500,
    *,
    n_states: int = 10,
    random_state: RandomState = None,
) -> ExpectedUtility:
    """Generate items whose labels are ranked by a linear function of the features.

    Answers: is the order of labels learned from few items, and how does the error grow with the number of labels?

    Parameters
    ----------
    n_labels : int, default=5
        Number of labels (actions), at least 2; the paper has 2 to 10.
    n_train, n_test : int, default=50, 500
        Numbers of items.
    n_states : int, default=10
        Number of states of the world, which is the number of features.
    random_state : int, Generator, RandomState or None, default=None
        Source of randomness.

    Returns
    -------
    ExpectedUtility
        The training and test rankings, and the utilities.

    Notes
    -----
    Utilities U_ij are uniform on [0, 1], items p are uniform on the simplex, and labels are ranked by Σ_j p_j U_ij.
    *Differences from the paper*: it does not say how many test items there are (500 here).

    References
    ----------
    Chu and Ghahramani, "Preference learning with Gaussian processes", 2005, section 4.3; the task is that of Fürnkranz
    and Hüllermeier, "Pairwise preference learning and ranking", 2003.

    Examples
    --------
    >>> from preflearn.datasets import make_label_rankings
    >>> data = make_label_rankings(n_labels=3, random_state=0)
    >>> data.train
    LabelPreferences(150 edges between 3 labels for 50 items with 10 features)
    """
    owner = "make_label_rankings"
    n_labels = check_count(n_labels, "n_labels", owner, low=2)
    sizes = [check_count(size, name, owner) for size, name in ((n_train, "n_train"), (n_test, "n_test"))]
    n_states = check_count(n_states, "n_states", owner)
    rng = as_generator(random_state)
    utility = rng.uniform(size=(n_labels, n_states))
    items = [rng.dirichlet(np.ones(n_states), size) for size in sizes]
    train, test = (from_label_rankings(p, np.argsort(-p @ utility.T, axis=1), labels=range(n_labels)) for p in items)
    utility.setflags(write=False)
    return ExpectedUtility(train, test, utility)
