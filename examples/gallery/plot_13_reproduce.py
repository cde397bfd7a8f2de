"""
A figure of a paper again
=========================

The tables and figures of the papers are declarations that can be run again. Does a small run show what the large one
does?

``preflearn reproduce --list`` names them, and ``preflearn reproduce gpgp-fig2`` runs the one shown here: cyclic
preferences of Chau, González and Sejdinovic (2022). :doc:`/results` has the whole run.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from preflearn import OnItems, PreferenceGP
from preflearn.datasets import make_cyclic_preferences
from preflearn.reproduce import find

experiment = find("gpgp-fig2")
print(experiment.name, "-", experiment.title)

# %%
# Three trials by hand: preferences of 30 items, decided by another utility for each pair of hidden states.

models = {
    "a utility": lambda: PreferenceGP("rbf", "logit", n_restarts=0),
    "circles": lambda: PreferenceGP(None, "logit", cyclic_kernel="rbf", n_restarts=0),
}
states = (1, 2, 5)
accuracy = {name: [] for name in models}
for n_states in states:
    scores = {name: [] for name in models}
    for seed in range(3):
        data = make_cyclic_preferences(n_states, random_state=seed).comparisons
        train, test = train_test_split(OnItems(StandardScaler()).fit_transform(data), test_size=0.3, random_state=seed)
        for name, build in models.items():
            scores[name].append(build().fit(train).score(test))
    for name in models:
        accuracy[name].append(np.mean(scores[name]))

# %%
# With one state there is a ranking, and a utility is best. With more there are circles.

ax = plt.subplots(figsize=(6.4, 3.8))[1]
place = np.arange(len(states))
ax.bar(place - 0.2, accuracy["a utility"], 0.38, label="a utility (PGP)")
ax.bar(place + 0.2, accuracy["circles"], 0.38, label="circles (GPGP)")
ax.set_xticks(place, [f"{k} state{'s' * (k > 1)}" for k in states])
ax.set_ylim(0.5, 1)
ax.set_ylabel("accuracy on held-out pairs")
ax.legend(loc="upper right")
ax.set_title("One state is a ranking, several are circles")

print({name: np.round(scores, 3).tolist() for name, scores in accuracy.items()})
assert accuracy["a utility"][0] > accuracy["circles"][0]
assert accuracy["circles"][-1] > accuracy["a utility"][-1]
