"""
From a thousand rows to a million
=================================

A million rows in queries of twenty imply ten million pairs. How long does learning from all of them take?

Least squares on differences never lists a pair: it subtracts means of queries.
"""

from time import process_time

import matplotlib.pyplot as plt
import numpy as np

from preflearn import RankRLS

rng = np.random.default_rng(0)
largest, n_features = 1_000_000, 20
X = rng.standard_normal((largest, n_features))
weights = rng.normal(size=n_features)
y = X @ weights + rng.normal(size=largest)
qid = np.arange(largest) // 20

sizes = [1_000, 10_000, 100_000, 1_000_000]
learning, product = [], []
for n in sizes:
    times = []
    for job in (lambda n=n: RankRLS().fit(X[:n], y[:n], qid=qid[:n]), lambda n=n: X[:n].T @ X[:n]):
        least = np.inf
        for _ in range(3):
            start = process_time()
            job()
            least = min(least, process_time() - start)
        times.append(max(least, 1e-5))
    learning.append(times[0])
    product.append(times[1])

# %%
# Time grows as that of the product of the features with themselves.

model = RankRLS().fit(X, y, qid=qid)
ax = plt.subplots(figsize=(6.4, 4))[1]
ax.loglog(sizes, learning, "o-", label="RankRLS, all pairs within queries")
ax.loglog(sizes, product, "s--", label="X.T @ X")
ax.set_xlabel("rows (times 9.5 implied pairs)")
ax.set_ylabel("processor time in seconds")
ax.legend()
ax.set_title("Ten million pairs, never listed")

print("correlation of learned and true weights:", np.corrcoef(model.coef_, weights)[0, 1].round(4))
assert np.corrcoef(model.coef_, weights)[0, 1] > 0.999
