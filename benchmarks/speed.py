"""Speed and memory of the least-squares rankers, each against a yardstick in the same run."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from sklearn.gaussian_process.kernels import RBF

from benchmarks.measure import Row, alternate, peak_bytes, ratio_row
from preflearn import KPCRank, KPCRankCV, Nystroem, RankRLS, RankRLSCV
from preflearn.datasets import make_ltr
from preflearn.inference.exact import decompose, leave_groups_out_primal
from preflearn.kernels import gram
from preflearn.metrics import ndcg
from preflearn.operators import Groups, scatter


def grouped(n, d, size=20):
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(n, d)), np.arange(n) // size
    return X, X[:, 0] + rng.normal(size=n), qid


def dual(n, repeats):
    """One fit against kernel + Cholesky; leave-query-out for nine alphas against one eigendecomposition."""
    X, y, qid = grouped(n, 20)
    kernel = RBF(5.0)

    def yardstick():
        K = gram(kernel, X)
        K.flat[:: n + 1] += 1.0
        scipy.linalg.cho_factor(K.T, lower=True, overwrite_a=True, check_finite=False)

    fit, bare = alternate(lambda: RankRLS(1.0, kernel).fit(X, y, qid=qid), yardstick, repeats=repeats)
    yield ratio_row(f"RankRLS dual, fit, n = {n:,}", fit, bare, "kernel + Cholesky", 3)
    K = gram(kernel, X)
    alphas = np.geomspace(1e-4, 1e4, 9)
    everything, eigh = alternate(
        lambda: RankRLSCV(alphas, kernel).fit(X, y, qid=qid),
        lambda: scipy.linalg.eigh(K, driver="evd", check_finite=False),
        repeats=max(1, repeats - 2),
    )
    yield ratio_row(f"RankRLSCV dual, leave-query-out, 9 alphas, n = {n:,}", everything, eigh, "one eigh", 1.5)


def primal(n, repeats):
    """One fit against X'X; leave-query-out against the fit; memory against the data."""
    X, y, qid = grouped(n, 50)
    fit, bare = alternate(lambda: RankRLS().fit(X, y, qid=qid), lambda: X.T @ X, repeats=repeats)
    yield ratio_row(f"RankRLS primal, fit, {n:,} x 50", fit, bare, "X.T @ X", 3)
    operator = Groups.build(y, qid)

    def leave_out():
        system = decompose(*scatter(operator, lambda rows: X[rows], 50))
        leave_groups_out_primal(system, operator, lambda rows: X[rows], np.array([1.0]))

    hold, fit = alternate(leave_out, lambda: RankRLS().fit(X, y, qid=qid), repeats=repeats)
    yield ratio_row(f"leave-query-out with the fit, {n:,} x 50, one alpha", hold, fit, "fit", 4)
    peak = 1 + peak_bytes(lambda: RankRLS().fit(X, y, qid=qid)) / X.nbytes
    yield Row(
        "RankRLS primal, X and peak memory", f"{peak:.2f} x data", "size of X", f"{peak:.2f}", "< 1.2", peak < 1.2
    )


def nystroem(n, n_basis):
    """A Gaussian kernel on n x 50 rows through Nystroem features, never held whole."""
    data = make_ltr(n // 20 + 2000, 20, 50, random_state=0)
    X, y, qid = data.X[:n], data.y[:n], data.qid[:n]
    model = RankRLS(10.0, "rbf", approximation=Nystroem(n_basis, random_state=0))
    (seconds,) = alternate(lambda: model.fit(X, y, qid=qid), repeats=1)
    peak = X.nbytes + peak_bytes(lambda: model.fit(X, y, qid=qid))
    test = slice(n, None)
    accurate, linear = (
        ndcg(data.y[test], m.predict(data.X[test]), qid=data.qid[test], k=10)
        for m in (model, RankRLS(10.0).fit(X, y, qid=qid))
    )
    job = f"RankRLS, {n_basis:,} Nystroem features, {n:,} x 50"
    yield Row(job, f"{seconds:.1f} s", "", "", "< 10 s", seconds < 10)
    yield Row(
        f"{job}, memory",
        f"{peak / 2**30:.2f} GiB",
        f"features held whole {8 * n * n_basis / 2**30:.2f} GiB",
        "",
        "< 1 GB",
        peak < 1e9,
    )
    yield Row(f"{job}, NDCG@10", f"{accurate:.3f}", f"linear {linear:.3f}", "", "≥ 0.896", accurate >= 0.896)


def components(n, n_components, repeats):
    """The cross-validated path over p against one fit at the largest p, and against a fit for every p."""
    data = make_ltr(n // 20, 20, 20, random_state=0)
    X, y, qid = data.X, data.y, data.qid
    kernel = RBF(4.0)
    shared, exact, one = alternate(
        lambda: KPCRankCV(n_components, kernel, shared_components=True).fit(X, y, qid=qid),
        lambda: KPCRankCV(n_components, kernel).fit(X, y, qid=qid),
        lambda: KPCRank(n_components, kernel).fit(X, y, qid=qid),
        repeats=repeats,
    )
    job = f"KPCRankCV, path p = 1..{n_components}, 5 folds, n = {n:,}"
    yield ratio_row(f"{job}, components shared", shared, one, f"one fit at {n_components}", 2)
    yield ratio_row(f"{job}, components per fold", exact, one * 6, "six fits (5 folds and the last)", 2)
