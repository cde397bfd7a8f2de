"""
A ladder, where only neighbours meet
====================================

On a ladder everybody plays those of about the same strength. Does a ranking still know how far the first is from the
last?

All games are close, so the data look as if strengths hardly differed. A prior whose variance is learned from such games
is too narrow. `rank` notices that pairs were chosen by strength, and widens it.
"""

import warnings

import numpy as np

import preflearn
from preflearn import BradleyTerry, Comparisons

rng = np.random.default_rng(0)
n_players = 20
strength = np.linspace(3.8, -3.8, n_players)
first = rng.integers(0, n_players - 1, 600)
second = np.minimum(first + rng.integers(1, 3, 600), n_players - 1)
keep = first != second
first, second = first[keep], second[keep]
outcome = np.where(strength[first] - strength[second] + rng.logistic(size=keep.sum()) > 0, 1, -1)
names = np.array([f"player {k + 1}" for k in range(n_players)])
games = Comparisons(n_players, first, second, outcome, names=names)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # it says that it sees nothing but noise
    narrow = BradleyTerry(prior="evidence").fit(games).rank()
result = preflearn.rank(games)
wide = result.ranking
for note in [*result.notes, *result.warnings]:
    print("-", note)

# %%
# How far is the first from the last? The truth is 7.6.


def spread(ranking):
    utility = dict(zip(ranking.names, ranking.utility, strict=True))
    return utility["player 1"] - utility["player 20"]


print(f"evidence alone: {spread(narrow):.1f}; rank: {spread(wide):.1f}; truth: 7.6")

# %%
# The picture shows the truth as crosses.

ax = result.plot(top=None)
ax.figure.set_size_inches(6.4, 5.6)
place = [names.tolist().index(name) for name in wide.names]
ax.plot(strength[place], range(n_players), "x", color="#b04a00")
ax.set_title("A ladder of twenty: utilities, intervals, truth (crosses)")

# %%
# Wider is nearer to the truth here. :doc:`/answer` says what remains: on a ladder, intervals hold less than they say.

assert abs(spread(wide) - 7.6) < 2.5 < abs(spread(narrow) - 7.6)
