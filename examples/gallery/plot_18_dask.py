"""
The same answer on a cluster
============================

The rows lie in many files or on many machines. Does a model that learns from a Dask collection say the same as one that
holds all rows?

Workers add up products of features, and one process solves. Threads stand in for the machines here; a
``distributed.Client`` in this process would be used in their place.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np

from preflearn import RankRLS
from preflearn.scale import DaskRankRLS

rng = np.random.default_rng(0)
n, d = 200_000, 12
X = rng.standard_normal((n, d))
y = X @ rng.normal(size=d) + rng.normal(size=n)
qid = np.arange(n) // 20

# %%
# Ten thousand rows are one partition. Rows of a query may lie in several.

pieces = {"X": da.from_array(X, chunks=(9_990, d)), "y": da.from_array(y, chunks=9_990)}
groups = da.from_array(qid, chunks=9_990)
far = DaskRankRLS().fit(pieces["X"], pieces["y"], qid=groups)
near = RankRLS().fit(X, y, qid=qid)
difference = np.abs(far.coef_ - near.coef_).max()
print(f"largest difference of weights: {difference:.1e}")

# %%
# The weights of both lie on one line. ``far.to_local()`` is an ordinary estimator, which can be saved.

ax = plt.subplots(figsize=(6.4, 4.2))[1]
ax.axline((0, 0), slope=1, color="#565b63", linewidth=0.8)
ax.plot(near.coef_, far.coef_, "o")
ax.set_xlabel("weights learned from all rows in memory")
ax.set_ylabel("weights learned from 21 partitions")
ax.set_title("Rows in pieces, and the same answer")

assert difference < 1e-10
