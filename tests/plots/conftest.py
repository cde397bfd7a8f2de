"""Pictures are drawn without a screen, and every test must leave no figure open."""

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, PreferenceGP

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _no_figure_is_left_open():
    import matplotlib.pyplot as plt

    assert not plt.get_fignums()
    yield
    left = plt.get_fignums()
    plt.close("all")
    assert not left


@pytest.fixture
def axes():
    return Figure().subplots()


def data(m, seed):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.uniform(-2, 2, 30), rng.normal(size=30)])
    f = 2 * np.sin(2 * X[:, 0])
    rng = np.random.default_rng(seed)
    first, second = rng.permuted(np.column_stack(np.triu_indices(30, 1))[rng.permutation(435)[:m]], axis=1).T
    outcome = np.where(f[first] - f[second] + np.sqrt(2) * rng.normal(size=m) > 0, 1.0, -1.0)
    return Comparisons(X, first, second, outcome, weight=rng.integers(1, 4, m))


@pytest.fixture(scope="session")
def matches():
    return data(80, 1)


@pytest.fixture(scope="session")
def fresh():
    return data(300, 2)


@pytest.fixture(scope="session")
def model(matches):
    return PreferenceGP(ConstantKernel(2.0) * RBF([1.0, 3.0]), n_restarts=1, random_state=0).fit(matches)


@pytest.fixture(scope="session")
def unnamed():
    """A model of items without features."""
    return PreferenceGP(n_restarts=0).fit(Comparisons(4, [0, 0, 0, 1, 1, 2], [1, 2, 3, 2, 3, 3]))
