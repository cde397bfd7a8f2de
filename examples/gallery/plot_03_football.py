"""
Football, with the home advantage
=================================

Ten teams play each other at home and away. How large is the advantage at home, and who is best without it?

A season of 90 games is simulated, in which playing at home is worth 0.5. The table has the columns of public football
files, and a letter for the result: H, A or D.
"""

import numpy as np

import preflearn

rng = np.random.default_rng(7)
towns = np.array(["Rome", "Bern", "Oslo", "Lyon", "Graz", "Porto", "Ghent", "Turin", "Malmo", "Delft"])
strength = np.sort(rng.normal(size=10))[::-1]
home, away = (side.ravel() for side in np.meshgrid(range(10), range(10)))
home, away = home[home != away], away[home != away]
z = strength[home] - strength[away] + 0.5 + rng.logistic(size=len(home))
result = np.where(np.abs(z) < 0.5, "D", np.where(z > 0, "H", "A"))
season = {"HomeTeam": towns[home], "AwayTeam": towns[away], "FTR": result}

# %%
# ``+side`` adds the advantage of the first side. By itself `rank` adds it where the evidence is for it.

ranked = preflearn.rank(season, model="bradley-terry+side")
effect = ranked.model.side_effect_
print("advantage at home:", effect)

# %%
# Nine games at home for each team are few: intervals are wide, and neighbours cannot be told apart.

ax = ranked.plot()
ax.figure.set_size_inches(6.4, 4.6)
ax.plot(strength - strength.mean(), [ranked.ranking.names.tolist().index(town) for town in towns], "x", color="#b04a00")
ax.set_title("Estimated strength (dots) and the truth (crosses)")

# %%
# The interval holds the true advantage, and most of the intervals of teams hold the truth.

r = ranked.ranking
place = [towns.tolist().index(name) for name in r.names]
held = (r.low <= strength[place] - strength.mean()) & (strength[place] - strength.mean() <= r.high)
print(f"{held.sum()} of 10 intervals hold the truth")
assert effect.low < 0.5 < effect.high
assert held.sum() >= 7
