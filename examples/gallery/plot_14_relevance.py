"""
Which features matter?
======================

Sixty phones have six features, and people compared some of them. Which features do they look at?

With ``kernel="ard"`` each feature has a length scale. A feature that nobody looks at gets a long one, and a relevance
near zero.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from preflearn import Comparisons, PreferenceGP
from preflearn.plots import plot_relevances, plot_utility

rng = np.random.default_rng(0)
names = ["battery", "screen", "weight", "colour", "year", "serial"]
phones = pd.DataFrame(rng.uniform(0, 1, (60, 6)), columns=names)
utility = 1.5 * phones["battery"] + np.sin(4 * phones["screen"]) - 0.8 * phones["weight"]
utility = utility.to_numpy()
first, second = rng.integers(0, 60, (2, 500))
first, second = first[first != second], second[first != second]
outcome = np.where(utility[first] - utility[second] + 0.25 * rng.normal(size=len(first)) > 0, 1, -1)

model = PreferenceGP("ard", n_restarts=0).fit(Comparisons(phones, first, second, outcome))

# %%
# The relevance of a feature is the inverse square of its length scale. It says how much a utility bends along it, not
# how large its effect is: the battery matters as much, but along a straight line.

figure, (left, right) = plt.subplots(2, 1, figsize=(6.4, 6.4))
plot_relevances(model, ax=left)
left.set_title("Screen, battery and weight come first")
plot_utility(model, "screen", ax=right)
right.set_title("Screens: larger is better up to a point", pad=24)

relevance = model.relevances_
print({name: round(float(value), 3) for name, value in relevance.items()})
assert set(sorted(relevance, key=relevance.get)[3:]) == {"screen", "battery", "weight"}
