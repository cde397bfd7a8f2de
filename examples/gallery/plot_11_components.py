"""
Noise, and the number of components
===================================

Kernel principal components can stand in for a penalty: with few of them a function is smooth. How many are best if
comparisons are noisy?

A curve is learned from margins between its points. `KPCRankCV` finds the error for every number of components at once.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.gaussian_process.kernels import RBF

from preflearn import Comparisons, KPCRankCV

rng = np.random.default_rng(0)
x = rng.uniform(-4, 4, (200, 1))
curve = np.sinc(x[:, 0])
first, second = rng.integers(0, 200, (2, 500))
first, second = first[first != second], second[first != second]
paths, chosen, truth = {}, {}, {}
grid = np.linspace(-4, 4, 200)[:, None]
for noise in (0.0, 0.2, 0.6):
    margins = curve[first] - curve[second] + noise * rng.normal(size=len(first))
    margins = np.where(margins == 0, 1e-6, margins)
    learner = KPCRankCV(60, RBF(0.3), scoring="squared_error").fit(Comparisons(x, first, second, margins))
    chosen[noise] = learner.n_components_
    truth[noise] = np.corrcoef(learner.predict(grid), np.sinc(grid[:, 0]))[0, 1]
    paths[noise] = np.ravel(learner.path_["error"])

# %%
# Without noise every component helps. With noise further ones follow the noise, and the error rises again.

print("chosen:", chosen, "correlation with the truth:", {k: round(v, 3) for k, v in truth.items()})
ax = plt.subplots(figsize=(6.4, 4))[1]
for (noise, path), style in zip(paths.items(), ("-", "--", "-."), strict=True):
    ax.plot(range(1, len(path) + 1), path, style, label=f"noise {noise}: {chosen[noise]} chosen")
ax.set_yscale("log")
ax.set_ylim(1e-4, 1)
ax.set_xlabel("number of components")
ax.set_ylabel("cross-validated error")
ax.legend()
ax.set_title("With noise, few components are best")

assert max(chosen[0.2], chosen[0.6]) < 30 < chosen[0.0]
assert truth[0.6] > 0.8
