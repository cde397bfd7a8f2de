"""
Rock, paper, scissors, and others
=================================

Some preferences run in circles. Is there a ranking, are there circles, or both?

Twelve fighters have a strength, and one of three kinds: fire beats grass, grass beats water, water beats fire.
"""

import matplotlib.pyplot as plt
import numpy as np

from preflearn import Comparisons
from preflearn.plots import plot_preferences, plot_shares
from preflearn.structure import rankability

rng = np.random.default_rng(1)
kinds = np.arange(12) % 3
names = np.array([f"{kind} {k // 3 + 1}" for k, kind in zip(range(12), ["fire", "grass", "water"] * 4, strict=True)])
strength = np.linspace(0.8, -0.8, 12)
first, second = (side.ravel() for side in np.triu_indices(12, 1))
first, second = np.tile(first, 12), np.tile(second, 12)
beats = ((kinds[second] - kinds[first]) % 3 == 1) * 1.0 - ((kinds[first] - kinds[second]) % 3 == 1) * 1.0
outcome = np.sign(strength[first] - strength[second] + 1.6 * beats + rng.logistic(size=len(first)))
fights = Comparisons(12, first, second, outcome, names=names)

found = rankability(fights)
print(found)

# %%
# The odds are for circles, and a part of the preferences is a ranking nevertheless. A model with both predicts pairs.

both = found.models["both"]

# %%
# In the matrix a ranking would be blue above the diagonal and orange below it. Circles break that pattern.

figure, (above, below) = plt.subplots(2, 1, figsize=(6.4, 8), height_ratios=(4, 1.2))
plot_preferences(both, ax=above)
above.set_title("Who is preferred to whom")
plot_shares(found, ax=below)

# %%
# Circles are found, and the strongest of them runs through the three kinds.

weakest, circle = found.cycles[0][0], found.cycles[0][1]
print("circle:", " > ".join(map(str, circle)), f"(weakest preference {weakest:.0%})")
assert found.found
assert {str(name).split()[0] for name in circle} == {"fire", "grass", "water"}
