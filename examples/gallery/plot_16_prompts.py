"""
Ten votes about one prompt are not ten prompts
==============================================

Each prompt gets many votes. What do intervals look like if the votes count as independent, and what if not?

Ten models are equally good on average. Each prompt suits some of them better than others.
"""

import matplotlib.pyplot as plt
import numpy as np

from preflearn import BradleyTerry, Comparisons
from preflearn.plots import plot_ranking

rng = np.random.default_rng(1)
n_models, n_prompts, votes = 10, 40, 30
n = n_prompts * votes
prompt = np.repeat(np.arange(n_prompts), votes)
suits = 1.2 * rng.normal(size=(n_prompts, n_models))
first = rng.integers(0, n_models, n)
second = (first + rng.integers(1, n_models, n)) % n_models
outcome = np.where(suits[prompt, first] - suits[prompt, second] + rng.logistic(size=n) > 0, 1, -1)
names = [f"model {chr(65 + k)}" for k in range(n_models)]
data = Comparisons(n_models, first, second, outcome, cluster=prompt, names=names)

alone = BradleyTerry().fit(Comparisons(n_models, first, second, outcome, names=names)).rank()
together = BradleyTerry(cluster=True).fit(data).rank()

# %%
# Nothing is to be found here: all models are equally good on average, so an interval should hold zero.


def holding(ranking):
    """Return how many intervals hold the truth, zero."""
    return int(((ranking.low <= 0) & (ranking.high >= 0)).sum())


print("intervals that hold the truth: as independent votes", holding(alone), "of 10; with prompts", holding(together))
figure, axes = plt.subplots(2, 1, figsize=(6.4, 7), sharex=True)
titles = ("As independent votes", "With prompts as clusters")
for ax, ranking, title in zip(axes, (alone, together), titles, strict=True):
    plot_ranking(ranking, ax=ax)
    ax.axvline(0, color="#b04a00", linewidth=1)
    ax.set_title(f"{title}: {holding(ranking)} of 10 intervals hold the truth")
axes[0].set_xlabel("")

assert holding(together) >= holding(alone)
assert np.mean(together.high - together.low) > 1.3 * np.mean(alone.high - alone.low)
