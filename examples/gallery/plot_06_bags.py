"""
Items that are samples: the steadier archer
===========================================

Sixty archers shoot twenty arrows each, and the steadier of two wins a duel. Who wins duels between archers who were
never seen, judged by where their arrows hit?

What decides is the spread of the hits. The mean of twenty hits tells something about it, as it is farther off for those
who spread more. A bag of rows is an item whose kernel sees the whole sample.
"""

import matplotlib.pyplot as plt
import numpy as np

from preflearn import Bags, Comparisons, PreferenceGP

rng = np.random.default_rng(0)
error = rng.uniform(0.3, 2.0, 60)
hits = [e * rng.normal(size=(20, 2)) for e in error]
pairs = rng.permutation(np.column_stack(np.triu_indices(60, 1)))[:600]
first, second = pairs.T
outcome = np.where(error[first] < error[second], 1, -1)
old, new = pairs.max(axis=1) < 40, pairs.min(axis=1) >= 40

# %%
# The same model on the means of the bags, and on the bags.

of_means = Comparisons(np.array([one.mean(axis=0) for one in hits]), first, second, outcome)
of_bags = Comparisons(Bags(hits), first, second, outcome)
share = {}
for name, duels in (("means", of_means), ("bags", of_bags)):
    model = PreferenceGP(n_restarts=0).fit(duels[old])
    share[name] = model.score(duels[new])
    print(f"{name}: {share[name]:.0%} of duels between new archers are right")

# %%
# The learned utility of new archers falls with their error.

utility = model.predict_utility(Bags([hits[k] for k in range(40, 60)]))
ax = plt.subplots(figsize=(6.4, 3.8))[1]
ax.plot(error[40:], utility, "o")
ax.set_xlabel("error of an archer who was never seen")
ax.set_ylabel("learned utility")
ax.set_title("The steadier an archer, the higher the utility")

assert share["bags"] > share["means"] + 0.05
