"""
Ten lines, and any function as the judge
========================================

You have many variants and something that can say which of two is better: a person, a program, a model. Which variant is
best?

The loop below asks such a function about pairs that tell most. Here the judge is a simulated person who compares cups
of coffee by strength and temperature, with mistakes.
"""

import matplotlib.pyplot as plt
import numpy as np

from preflearn import Comparisons, PreferenceGP
from preflearn.active import suggest

rng = np.random.default_rng(2)
cups = np.column_stack([rng.uniform(2, 12, 40), rng.uniform(50, 95, 40)])  # grams of coffee, degrees
taste = -(((cups[:, 0] - 8) / 3) ** 2) - ((cups[:, 1] - 68) / 12) ** 2


def better(a, b):
    """Any function that says whether the first of two is better; this one makes mistakes."""
    return taste[a] - taste[b] + 0.5 * rng.logistic() > 0


def learn(pairs, answers):
    """Return a model of all answers."""
    votes = Comparisons(scaled, *zip(*pairs, strict=True), answers)
    return PreferenceGP("ard", n_restarts=0, hyperprior=1.5).fit(votes)


# %%
# The loop.

scaled = (cups - cups.mean(axis=0)) / cups.std(axis=0)
pairs = [tuple(rng.choice(40, 2, replace=False)) for _ in range(9)]
answers = [1 if better(a, b) else -1 for a, b in pairs]
for _ in range(10):
    asked = suggest(learn(pairs, answers), items=scaled, n=3, criterion="top_k", k=3, n_samples=1024, random_state=0)
    for a, b in zip(asked.first, asked.second, strict=True):
        pairs.append((a, b))
        answers.append(1 if better(a, b) else -1)
model = learn(pairs, answers)

# %%
# The learned utility after 39 answers, with the cups as dots; the star is the best of them by the model.

ranking = model.rank(scaled)
best = int(ranking.row[0])
x, y = np.meshgrid(np.linspace(2, 12, 40), np.linspace(50, 95, 40))
grid = (np.column_stack([x.ravel(), y.ravel()]) - cups.mean(axis=0)) / cups.std(axis=0)
ax = plt.subplots(figsize=(6.4, 4.4))[1]
shown = ax.contourf(x, y, model.predict_utility(grid).reshape(x.shape), levels=12, cmap="Blues")
ax.plot(*cups.T, "o", color="#b04a00", markersize=4)
ax.plot(*cups[best], "*", color="#b04a00", markeredgecolor="white", markersize=20)
ax.figure.colorbar(shown, ax=ax, label="learned utility")
ax.set_xlabel("coffee (g)")
ax.set_ylabel("temperature (°C)")
ax.set_title(f"After {len(pairs)} answers: {cups[best, 0]:.1f} g at {cups[best, 1]:.0f} °C")

place = int((taste > taste[best]).sum()) + 1
print(f"the model's best cup is truly number {place} of {len(cups)}")
assert place <= 3
