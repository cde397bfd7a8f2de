"""
Groups that can only be ranked within
=====================================

Wines are compared with wines, and cheeses with cheeses. Between the two people toss a coin. Can that be found from the
comparisons alone?

Forty items have a hidden group. Within a group a utility decides, between groups chance does.
"""

import numpy as np

from preflearn import PreferenceGP
from preflearn.datasets import make_comparable_clusters
from preflearn.plots import plot_preferences
from preflearn.structure import ComparableClusters

data = make_comparable_clusters(n_states=2, n_items=40, random_state=1)
model = PreferenceGP(None, cyclic_kernel="rbf", n_restarts=0)
groups = ComparableClusters(2, model=model, random_state=0).fit(data.comparisons)

# %%
# Names of groups do not matter, so the better of both assignments counts.

same = np.mean(groups.labels_ == data.state)
right = max(same, 1 - same)
print(f"{right:.0%} of the items are in the right group")

# %%
# Within a group the matrix has an order, blue above the diagonal. Between groups there is none.

ax = plot_preferences(model.fit(data.comparisons), clusters=groups)
ax.set_title("Ordered within each group, and not between them")

assert right > 0.85
