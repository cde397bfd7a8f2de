"""An operator is a root of the Laplacian that listing every pair gives (MATHS 1, 2, 5)."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

from fast_share import every_seed
from laws.problems import dense_root, pair_problem, row_problem
from preflearn import operators
from preflearn.linalg import in_threads
from preflearn.operators import Edges, Groups, Rows, project, scatter


def groups(p):
    return Groups.build(p.y, p.code, p.weight, ties=p.ties, weighting=p.weighting)


@every_seed(40, 200)
def test_groups_are_a_root_of_the_listed_laplacian(seed):
    p = row_problem(seed)
    op, L = groups(p), p.laplacian
    C = dense_root(op)
    np.testing.assert_allclose(C @ C.T, L, atol=1e-12 * max(1, abs(L).max()))
    np.testing.assert_allclose(op.adjoint(np.eye(len(p.y))), C, atol=1e-12)
    np.testing.assert_allclose(C @ op.target, L @ p.y, atol=1e-11 * max(1, abs(L).max()))
    F = p.X
    np.testing.assert_allclose(op.apply(F), C.T @ F, atol=1e-10)
    np.testing.assert_allclose(op.apply(F[:, 0]), C.T @ F[:, 0], atol=1e-10)


@every_seed(40, 200)
def test_edges_and_their_root_share_the_listed_laplacian(seed):
    p = pair_problem(seed)
    op = Edges.build(len(p.X), p.first, p.second, p.margin, p.weight)
    for root in (op, op.root):
        C = dense_root(root)
        np.testing.assert_allclose(C @ C.T, p.laplacian, atol=1e-12)
        np.testing.assert_allclose(C @ root.target, p.rhs, atol=1e-12)
        np.testing.assert_allclose(root.adjoint(np.eye(C.shape[1])), C, atol=1e-12)
    np.testing.assert_allclose(op.quadratic(p.X), p.X.T @ p.laplacian @ p.X, atol=1e-10)
    np.testing.assert_allclose(op.quadratic(sp.csr_array(p.X)), p.X.T @ p.laplacian @ p.X, atol=1e-10)


@every_seed(40, 200)
@pytest.mark.parametrize("block", [6, 1 << 19], ids=["many blocks", "one block"])
def test_scatter_streams_to_the_same_sums(seed, block, monkeypatch):
    # A block of 6 elements makes every group larger than its block, the two-pass route.
    monkeypatch.setattr(operators, "BLOCK", block)
    monkeypatch.setattr(operators, "MIN_ROWS", 1)
    p = row_problem(seed)
    Z = p.X - 1e3 * (
        seed % 7 == 0
    )  # the slow formula is not accurate with an offset; the law of shifts is tested below
    for op, L, b in (
        (groups(p), p.laplacian, p.laplacian @ p.y),
        (Rows.build(p.y, p.weight), *_diagonal(p)),
    ):
        for features in (Z, sp.csr_array(Z)):
            M, rhs = scatter(op, lambda rows, features=features: features[rows], Z.shape[1])
            np.testing.assert_allclose(M, Z.T @ L @ Z, atol=1e-9)
            np.testing.assert_allclose(rhs, Z.T @ b, atol=1e-9)


def _diagonal(p):
    w = np.ones_like(p.y) if p.weight is None else p.weight
    return np.diag(w), w * p.y


def test_scatter_is_the_same_to_the_last_bit_on_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(operators, "BLOCK", 1 << 7)
    monkeypatch.setattr(operators, "MIN_ROWS", 1)
    p = row_problem(2)

    def sums(threads):
        monkeypatch.setattr(operators, "in_threads", partial(in_threads, threads=threads))
        return [scatter(op, lambda rows: p.X[rows], p.X.shape[1]) for op in (groups(p), Rows.build(p.y, p.weight))]

    for (M, b), (M3, b3) in zip(sums(1), sums(3), strict=True):
        np.testing.assert_array_equal(M, M3)
        np.testing.assert_array_equal(b, b3)


def test_scatter_survives_offsets_a_million_times_the_spread():
    p = row_problem(4)
    p.X += 1e6
    op = groups(p)
    M, _ = scatter(op, lambda rows: p.X[rows], 3)
    exact = (p.X - 1e6).T @ p.laplacian @ (p.X - 1e6)
    np.testing.assert_allclose(M, exact, rtol=1e-8, atol=1e-8 * abs(exact).max())


@every_seed(20, 50)
def test_project_is_the_two_sided_product(seed):
    p = row_problem(seed)
    K = p.X @ p.X.T + np.eye(len(p.y))
    C = dense_root(groups(p))
    np.testing.assert_allclose(project(groups(p), K.copy()), C.T @ K @ C, rtol=1e-9, atol=1e-6)
    e = pair_problem(seed)
    K = e.X @ e.X.T
    op = Edges.build(len(e.X), e.first, e.second, e.margin, e.weight)
    for root in (op, op.root):
        C = dense_root(root)
        np.testing.assert_allclose(project(root, K.copy()), C.T @ K @ C, atol=1e-10)


@every_seed(40, 100)
def test_recover_inverts_apply_up_to_a_constant_per_group(seed):
    p = row_problem(seed)
    op = groups(p)
    f = np.random.default_rng(seed).normal(size=(len(p.y), 2))
    fallback = np.full_like(f, 7.0)
    back = op.recover(op.apply(f), fallback)
    for g in range(op.n_groups):
        rows = p.code == g
        blind = rows.sum() == 1 or (p.ties == "exclude" and np.ptp(p.y[rows]) == 0)
        if blind:
            np.testing.assert_array_equal(back[rows], 7.0)
        else:
            np.testing.assert_allclose(np.ptp(back[rows] - f[rows], axis=0), 0, atol=1e-10)


@every_seed(30)
def test_chunks_cover_every_row_once_with_whole_groups(seed):
    p = row_problem(seed)
    op = groups(p)
    seen = []
    for rows, part in op.chunks(4):
        index = np.arange(len(p.y))[rows]
        assert not set(p.code[index]) & set(np.delete(p.code, index))
        np.testing.assert_allclose(part.apply(p.X[index]), op.apply(p.X)[index], atol=1e-9)
        seen.extend(index)
    assert sorted(seen) == list(range(len(p.y)))
