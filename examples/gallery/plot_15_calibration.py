"""
Is the model too sure of itself?
================================

A forecast of 70 % should come true seven times of ten. Does it?

Forecasts are made of pairs that were held out. One model learns how far utilities are apart; the other has hardly any
prior, and is almost maximum likelihood.
"""

import matplotlib.pyplot as plt
import numpy as np

from preflearn import BradleyTerry, Comparisons
from preflearn.plots import plot_calibration
from preflearn.selection import held_out

rng = np.random.default_rng(5)
n_items = 60
utility = rng.normal(size=n_items)
first = rng.integers(0, n_items, 400)
second = (first + rng.integers(1, n_items, 400)) % n_items
outcome = np.where(utility[first] - utility[second] + rng.logistic(size=400) > 0, 1, -1)
games = Comparisons(n_items, first, second, outcome)

learned = held_out(lambda: BradleyTerry(), games)
hardly_any = held_out(lambda: BradleyTerry(prior=100.0), games)
print("log loss with a learned prior:", round(learned.log_loss, 3), "; with hardly any:", round(hardly_any.log_loss, 3))

# %%
# With few games for each item, utilities without a prior are too far apart, and forecasts too near to 0 and 1.

ax = plt.subplots(figsize=(6.4, 5))[1]
plot_calibration(learned.probability, games, n_bins=6, label="a learned prior", ax=ax)
plot_calibration(hardly_any.probability, games, n_bins=6, label="hardly any prior", color="#b04a00", marker="s", ax=ax)
ax.set_title("With a prior, forecasts are nearer to the diagonal")
ax.legend()

assert learned.log_loss < hardly_any.log_loss
