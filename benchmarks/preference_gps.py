"""Two preference GPs with the same methods, preflearn's and BoTorch's PairwiseGP, and the problem they get.

A solution is an array of natural logarithms: kernel variance, then one length-scale per feature. Both contestants have
the ARD RBF kernel, P = Φ((f_i - f_j) / √2), Laplace's method, one L-BFGS-B search, and the same start.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from preflearn import Comparisons, PreferenceGP

N_FEATURES = 10
# What draws the utilities: kernel variance and length-scales. "even" is close to the hyperprior that BoTorch adds.
TRUTHS = {
    "even": np.log([1.5**2, *np.geomspace(0.4, 1.6, N_FEATURES)]),
    "wide": np.log([1.5**2, *np.geomspace(0.25, 8.0, N_FEATURES)]),
    "sparse": np.log([1.5**2, *np.geomspace(0.4, 1.0, 5), *np.full(N_FEATURES - 5, 1e3)]),
}
# Where BoTorch starts: variance 1, length-scales at the mode of its Gamma(2.4, 2.7) prior. Ours starts there too.
START = np.log([1.0, *np.full(N_FEATURES, 1.4 / 2.7)])
VARIANCE_BOUNDS = (5e-3, 2e2)  # BoTorch's
LENGTH_BOUNDS = (1e-2, 1e2)  # BoTorch's are 1e-4 and none; in a unit cube 0.01 is white noise and 100 is a plane


@dataclass
class Problem:
    """Comparisons of n items in the unit cube, and held-out pairs of new items whose true order is known."""

    X: np.ndarray
    utility: np.ndarray
    winner: np.ndarray
    loser: np.ndarray
    X_held: np.ndarray
    first: np.ndarray  # held-out pair k is rows first[k] and second[k] of X_held
    second: np.ndarray
    order: np.ndarray  # the sign of their true differences
    truth: np.ndarray  # the solution that drew the utilities

    @classmethod
    def draw(cls, n, m, n_held, seed=0, truth="even", pool=None):
        """Utilities: a random smooth function, 1,000 random Fourier features of the kernel at the truth.

        Held-out pairs are drawn among ``pool`` new items; without it every pair has two items of its own.
        """
        rng = np.random.default_rng(seed)
        solution = TRUTHS[truth]
        frequency = rng.normal(size=(N_FEATURES, 1000)) / np.exp(solution[1:, None])
        phase = rng.uniform(0, 2 * np.pi, 1000)

        def utility(X):
            # a few rows at a time: the data must not set the peak of memory
            parts = [np.cos(part @ frequency + phase).sum(axis=1) for part in np.array_split(X, len(X) // 500 + 1)]
            return np.sqrt(np.exp(solution[0]) / 500) * np.concatenate(parts)

        def pairs(n_items, size):
            first = rng.integers(n_items, size=size)
            return first, (first + rng.integers(1, n_items, size=size)) % n_items

        X = rng.uniform(size=(n, N_FEATURES))
        first, second = pairs(n, m)
        u = utility(X)
        won = u[first] - u[second] + np.sqrt(2) * rng.normal(size=m) > 0
        winner, loser = np.where(won, first, second), np.where(won, second, first)
        X_held = rng.uniform(size=(pool or 2 * n_held, N_FEATURES))
        first, second = pairs(pool, n_held) if pool else np.split(np.arange(2 * n_held), 2)
        held = utility(X_held)
        return cls(X, u, winner, loser, X_held, first, second, np.sign(held[first] - held[second]), solution)


class Ours:
    """PreferenceGP from one start."""

    chunks = (None,)  # pairs are predicted in one call

    def __init__(self, problem):
        self.data = Comparisons(problem.X, problem.winner, problem.loser)
        self.held = Comparisons(problem.X_held, problem.first, problem.second)

    def _fitted(self, solution, hyperparameters):
        variance, *lengths = np.exp(solution)
        kernel = ConstantKernel(variance, VARIANCE_BOUNDS) * RBF(lengths, LENGTH_BOUNDS)
        model = PreferenceGP(kernel, hyperparameters=hyperparameters, n_restarts=0)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*repeat an earlier one")  # pairs are drawn with replacement
            return model.fit(self.data)

    def fit(self):
        self.model = self._fitted(START, "maximise")
        return self.model.optima_[0].evaluations

    def fix(self, solution):
        self.model = self._fitted(solution, "fixed")

    def prepare(self):
        self.fix(START)

    def solution(self):
        kernel = self.model.kernel_
        return np.log([kernel.k1.constant_value, *kernel.k2.length_scale])

    def evidence(self):
        return self.model.log_evidence_

    def evidence_and_gradient(self, solution):
        return self.model.log_evidence(solution)

    def differences(self):
        return self.model.decision_function(self.held)

    def probabilities(self):
        return self.model.predict_proba(self.held)[:, 1]

    def predict(self, chunk):
        return self.probabilities()


class BoTorch:
    """PairwiseGP, built and fitted as its documentation says; ``limit`` lifts its clamp of the link at |z| = 3."""

    chunks = (500, 1000, 2000)

    def __init__(self, problem, limit=None):
        import botorch
        import torch

        np.random.seed(0)  # noqa: NPY002  (PairwiseGP draws its first utilities from the global state)
        self.torch, self.fit_objective, self.limit = torch, botorch.fit_gpytorch_mll, limit
        self.first, self.second = problem.first, problem.second
        self.X, self.X_held = torch.as_tensor(problem.X), torch.as_tensor(problem.X_held)
        self.pairs = torch.as_tensor(np.column_stack([problem.winner, problem.loser]))

    def prepare(self):
        """Build the model, which finds the mode at START, and its objective, which counts its evaluations."""
        from botorch.models import PairwiseGP
        from botorch.models.likelihoods.pairwise import PairwiseProbitLikelihood
        from botorch.models.pairwise_gp import PairwiseLaplaceMarginalLogLikelihood

        class Counted(PairwiseLaplaceMarginalLogLikelihood):
            evaluations = 0

            def forward(self, *arguments):
                self.evaluations += 1
                return super().forward(*arguments)

        likelihood = PairwiseProbitLikelihood()
        if self.limit is not None:
            likelihood._zlim = self.limit
        self.model = PairwiseGP(self.X, self.pairs, likelihood=likelihood)
        self.objective = Counted(self.model.likelihood, self.model)

    def fit(self):
        self.prepare()
        self.fit_objective(self.objective)
        return self.objective.evaluations

    def fix(self, solution):
        self.prepare()
        self._set(solution)
        self.model.set_train_data(self.X, self.pairs, update_model=True)  # finds the mode

    def _set(self, solution):
        kernel = self.model.covar_module
        kernel.outputscale = float(np.exp(solution[0]))
        kernel.base_kernel.lengthscale = self.torch.as_tensor(np.exp(solution[1:]))

    def solution(self):
        kernel = self.model.covar_module
        return np.log([float(kernel.outputscale), *kernel.base_kernel.lengthscale.detach().numpy().ravel()])

    def evidence(self):
        """Return the Laplace evidence at the present parameters, without the hyperpriors that the search adds."""
        with self.torch.no_grad():
            value = float(self._value() - self._log_prior())
        self.objective.eval()
        return value

    def evidence_and_gradient(self, solution):
        """Return value and gradient in logarithms; the gradient of the hyperpriors, nearly free, is taken out."""
        self._set(solution)
        value, log_prior = self._value(), self._log_prior()
        gradient = self._gradient(value) - self._gradient(log_prior)
        return float(value - log_prior), gradient

    def _value(self):
        self.objective.train()
        model = self.model
        return self.objective(model(model.unconsolidated_datapoints), model.unconsolidated_comparisons)

    def _log_prior(self):
        return sum(p.log_prob(closure(module)).sum() for _, module, p, closure, _ in self.model.named_priors())

    def _gradient(self, value):
        self.objective.zero_grad()
        value.backward()
        kernel = self.model.covar_module
        variance, *lengths = np.exp(self.solution())
        # raw length-scales are the length-scales; variance = low + (high - low) sigmoid(raw)
        constraint = kernel.raw_outputscale_constraint
        low, high = float(constraint.lower_bound), float(constraint.upper_bound)
        slope = (variance - low) * (high - variance) / (high - low)
        by_length = kernel.base_kernel.raw_lengthscale.grad.numpy().ravel()
        return np.array([float(kernel.raw_outputscale.grad) * variance / slope, *(by_length * lengths)])

    def differences(self):
        return self.predict(1000)

    def predict(self, chunk):
        """Return mean differences of the held-out pairs; in chunks, because the joint covariance is always made."""
        with self.torch.no_grad():
            mean = np.concatenate(
                [self.model.posterior(part).mean.numpy().ravel() for part in self.X_held.split(chunk)]
            )
        return mean[self.first] - mean[self.second]

    def probabilities(self):
        """Return P(first) by hand from the joint covariance of all held-out items: only for few of them."""
        with self.torch.no_grad():
            C = self.model.posterior(self.X_held).distribution.covariance_matrix.numpy()
        own = np.diag(C)
        variance = own[self.first] + own[self.second] - 2 * C[self.first, self.second]
        return ndtr(self.differences() / np.sqrt(2 + variance))
