"""
Which drink suits whom?
=======================

Sixty people of different age ranked three drinks, some of them only two. Which order suits somebody who was not asked?
"""

import matplotlib.pyplot as plt
import numpy as np

from preflearn import LabelPreferenceGP
from preflearn.data import from_label_rankings

rng = np.random.default_rng(0)
age = rng.uniform(15, 75, 60)
drinks = np.array(["juice", "tea", "coffee"])


def truth(age):
    """Return the utilities of the three drinks."""
    return np.column_stack([(60 - age) / 20, (age - 45) / 25, 1 - ((age - 45) / 20) ** 2])


noisy = truth(age) + 0.4 * rng.normal(size=(60, 3))
orders = [drinks[np.argsort(-u)][: rng.integers(2, 4)].tolist() for u in noisy]
print(orders[:3])

# %%
# Each drink has a utility that is a function of the age, learned from who ranked what before what.

model = LabelPreferenceGP(random_state=0).fit(from_label_rankings(age[:, None] / 10, orders))
grid = np.linspace(15, 75, 60)
utility = model.predict_utility(grid[:, None] / 10)
utility = utility[0] if isinstance(utility, tuple) else utility

# %%
# Where lines cross, the order changes.

ax = plt.subplots(figsize=(6.4, 4))[1]
order = [list(model.labels_).index(drink) for drink in drinks]
for drink, column, style in zip(drinks, utility[:, order].T, ("-", "--", "-."), strict=True):
    ax.plot(grid, column, style, label=drink)
ax.set_xlabel("age")
ax.set_ylabel("utility of the drink")
ax.legend()
ax.set_title("Juice for the young, coffee in between, tea for the old")

# %%
# How many of 200 new people have the first drink that their true utilities say?

people = rng.uniform(15, 75, 200)
right = np.mean(model.predict(people[:, None] / 10)[:, 0] == drinks[truth(people).argmax(axis=1)])
print(f"first drink right for {right:.0%} of new people")
assert right > 0.85
