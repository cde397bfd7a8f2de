"""RankRLS and RLS against the answers of RLScore 0.8.2a (git) on small problems."""

import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.gaussian_process.kernels import RBF

from preflearn import RLS, Comparisons, RankRLS, RankRLSCV

GOLDEN = json.loads((Path(__file__).parent / "rlscore_rankrls.json").read_text())
X, X_new, qid = np.array(GOLDEN["X"]), np.array(GOLDEN["X_new"]), np.array(GOLDEN["qid"])
y = np.array(GOLDEN["y"])
CASES = GOLDEN["cases"]


def kernel_of(case):
    return "linear" if case["kernel"] == "linear" else RBF(1.0)


@pytest.mark.parametrize("solver", ["primal", "dual", "cg"])
@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c['model'][:22]} {c['kernel'][:6]} {c['alpha']}")
def test_predictions(case, solver):
    if case["kernel"] != "linear" and solver != "dual":
        solver = "auto"
    options = {"alpha": case["alpha"], "kernel": kernel_of(case), "solver": solver}
    model = case["model"]
    if model.startswith("RankRLS in groups"):
        found = RankRLS(weighting="groups", **options).fit(X, y, qid=qid).predict(X_new)
        tol = {"atol": 1e-9}
    elif model.startswith("RankRLS on all pairs"):
        found = RankRLS(**options).fit(X, y).predict(X_new)
        tol = {"atol": 1e-9}
    elif model.startswith("RankRLS from the listed"):
        matches = Comparisons(X, GOLDEN["winner"], GOLDEN["loser"])
        found = RankRLS(**options).fit(matches).predict(X_new)
        tol = {"atol": 1e-9}
    else:
        found = RLS(**options).fit(X, y).predict(X_new)
        tol = {"atol": 1e-9}
    np.testing.assert_allclose(found, case["prediction"], rtol=0, **tol)


HELD_OUT = [
    (case, solver)
    for case in CASES
    if "leave_group_out" in case
    for solver in (("primal", "dual") if case["kernel"] == "linear" else ("dual",))
]


@pytest.mark.parametrize(("case", "solver"), HELD_OUT, ids=lambda v: v if isinstance(v, str) else str(v["alpha"]))
def test_leave_one_group_out(case, solver):
    model = RankRLSCV(
        alphas=[case["alpha"]], kernel=kernel_of(case), weighting="groups", solver=solver, store_cv_results=True
    ).fit(X, y, qid=qid)
    for g, values in enumerate(case["leave_group_out"]):
        ours = model.cv_predictions_[0, qid == g, 0]
        # the constant per group is not identified
        np.testing.assert_allclose(ours - ours.mean(), np.array(values) - np.mean(values), atol=1e-9)
