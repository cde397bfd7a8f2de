"""The sinc example: its Gaussian processes in small, and the averaging over the kernel's width against a plain grid."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn.datasets import make_sinc_preferences
from preflearn.models.gp import PreferenceGP

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def sinc():
    spec = importlib.util.spec_from_file_location("sinc_example", ROOT / "examples" / "sinc.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def data():
    return make_sinc_preferences(flip=0.05, margins=False, random_state=0)


@pytest.mark.slow
def test_the_table_and_the_figure(tmp_path):
    figure = tmp_path / "sinc.png"
    command = [sys.executable, "-W", "ignore", "examples/sinc.py", "--seeds", "1", "--ep", "--plot", str(figure)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    rows = dict(re.findall(r"^(.+?, \d+ % flipped) +([\d. ]+)$", done.stdout, flags=re.MULTILINE))
    assert len(rows) == 5
    table = {name: np.array(cells.split(), dtype=float) for name, cells in rows.items()}
    noisy, averaged = table["EP, maximum evidence, 5 % flipped"], table["EP, averaged, 5 % flipped"]
    laplace, clean = table["Laplace, maximum evidence, 5 % flipped"], table["EP, maximum evidence, 0 % flipped"]
    assert clean[0] <= 0.035
    assert clean[2] < noisy[2]
    assert averaged[4] <= noisy[4] + 0.002
    assert laplace[4] == pytest.approx(noisy[4], abs=0.01)
    assert table["GP on the margins, 0 % flipped"][3] <= 0.001
    assert figure.stat().st_size > 10_000


@pytest.mark.slow
def test_averaging_is_that_of_a_plain_grid(sinc, data):
    model = sinc.Averaged().fit(data.train)
    total, probability, density = 0.0, 0.0, {}
    for log_variance in np.arange(-0.9, 5, 0.45):
        for log_width in np.arange(-2.13, 0.2, 0.13):
            kernel = ConstantKernel(np.exp(log_variance), "fixed") * RBF(np.exp(log_width), "fixed")
            point = PreferenceGP(kernel, inference="ep").fit(data.train)
            weight = np.exp(point.log_evidence_ - model.best_.log_evidence_)
            total, probability = total + weight, probability + weight * point.predict_proba(data.test)
            density[log_width] = density.get(log_width, 0.0) + weight / 0.13
    np.testing.assert_allclose(model.predict_proba(data.test), probability / total, atol=2e-3)
    log_width, posterior = model.width_posterior()
    assert posterior.sum() * sinc.STEP[1] == pytest.approx(1)
    grid = np.array(list(density))
    plain = np.array(list(density.values())) / total
    np.testing.assert_allclose(posterior, np.exp(CubicSpline(grid, np.log(plain))(log_width)), atol=0.01)


@pytest.mark.slow
def test_averaged_utilities_have_the_moments_of_the_mixture(sinc, data):
    model = sinc.Averaged().fit(data.train)
    items = np.array([[-1.0], [0.2], [3.0]])
    mean, covariance = model.predict_utility(items, return_cov=True)
    np.testing.assert_allclose(model.predict_utility(items), mean, atol=1e-12)
    rng = np.random.default_rng(0)
    which = rng.choice(len(model.models_), 60_000, p=model.weight_)
    draws = [
        model.models_[k].sample_utilities(items, int(count), random_state=int(k))
        for k, count in zip(*np.unique(which, return_counts=True), strict=True)
    ]
    draws = np.concatenate(draws)
    np.testing.assert_allclose(draws.mean(axis=0), mean, atol=0.04)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.1)


def test_held_out_pairs_are_of_test_points_and_flipped_by_the_share(sinc, data):
    pairs = sinc.held_out(data, 0.1, 3, 500)
    value = np.sinc(pairs.items[:, 0])
    truth = np.sign(value[pairs.first] - value[pairs.second])
    assert (pairs.outcome != truth).sum() == 50
    assert len({*zip(pairs.first.tolist(), pairs.second.tolist(), strict=True)}) == 500
    assert not set(pairs.items[:, 0]) & set(data.train.items[:, 0])
