"""Dense symmetric linear algebra: factors, eigenvectors, stacks of small matrices; threads and random generators.

Nothing here warns: what a computation needed (jitter, a lower rank) is returned, and callers say what follows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dtrtri
from threadpoolctl import ThreadpoolController

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.intp]

Piece = TypeVar("Piece")
Result = TypeVar("Result")

EPS = float(np.finfo(np.float64).eps)
JITTER_START = 1e-12  # relative to the mean of the diagonal
JITTER_TRIES = 5
SMALL = 512  # rows up to which NumPy's product is the quicker one
SHARED_FROM = 256  # columns of a product from which threads of BLAS share it well
WIDE = 16  # possible numbers for each one that is taken, up to which a table of all beats sorting
WEIGHTED = 2**21  # numbers of a temporary array
DENSE_LIMIT = 1_000  # below this LAPACK is quicker than Lanczos for any number of components
RESIDUAL_TOLERANCE = 1e-10  # ||K v - lambda v|| / lambda_1 asked of the Lanczos route


def cholesky_psd(K: FloatArray) -> tuple[FloatArray, float]:
    """Factor a symmetric positive semi-definite matrix with as little jitter as it takes: R R' = K + jitter I.

    Returns the lower triangular R and the jitter, 0.0 if none was needed; K is not changed. The first jitter is
    ``max(1e-12, n * eps)`` times the mean of the diagonal, then ten times as much, five tries in all, n³ / 3 each.
    `LinAlgError` where entries are missing or infinite, or K is not positive semi-definite.
    """
    n = K.shape[0]
    if not np.isfinite(K).all():
        count = int(K.size - np.isfinite(K).sum())
        raise np.linalg.LinAlgError(
            f"cholesky_psd: {count} of {K.size} entries of the {n} x {n} matrix are missing or infinite.\n"
            "  Check the features and the kernel's hyperparameters."
        )
    scale = float(np.mean(np.diagonal(K))) if n else 0.0
    if scale == 0.0 and not K.any():
        return np.zeros_like(K), 0.0
    jitter = 0.0
    for attempt in range(JITTER_TRIES + 1):
        if attempt:
            jitter = max(JITTER_START, n * EPS) * scale * 10.0 ** (attempt - 1)
        trial = np.array(K, order="F")
        trial.ravel(order="K")[:: n + 1] += jitter
        try:
            R: FloatArray = scipy.linalg.cholesky(trial, lower=True, overwrite_a=True, check_finite=False)
        except np.linalg.LinAlgError:
            if scale <= 0.0:
                break
            continue
        return R, jitter
    values = scipy.linalg.eigvalsh(K, check_finite=False)
    raise np.linalg.LinAlgError(
        f"cholesky_psd: the {n} x {n} matrix is not positive semi-definite: its smallest eigenvalue is "
        f"{values[0]:.3g} (largest {values[-1]:.3g}); adding {jitter:.3g} to the diagonal did not help.\n"
        "  A precomputed matrix may not be a kernel (or not symmetric); otherwise shorten the length scale or "
        "add noise."
    )


def eigh_full(K: FloatArray, *, overwrite: bool = False) -> tuple[FloatArray, FloatArray]:
    """Return eigenvalues and eigenvectors, K = V diag(s) V', of a positive semi-definite matrix, the largest first.

    Negative eigenvalues (rounding) are set to zero; the entry largest in magnitude of each vector is positive. With
    ``overwrite`` the memory of K may be used for the answer. About 9 n³ operations and 3 n² numbers (LAPACK ``syevd``).
    """
    values, vectors = scipy.linalg.eigh(K, driver="evd", overwrite_a=overwrite, check_finite=False)
    return np.maximum(values[::-1], 0.0), _fix_signs(vectors[:, ::-1])


def eigh_leading(K: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """Return the leading eigenvalues (r,) and eigenvectors (n, r) of a symmetric positive semi-definite matrix.

    All are above ``n * eps`` times the largest: r is ``n_components``, or the numerical rank where that is lower. The
    entry largest in magnitude of each vector is positive.

    Deterministic: there is no random state. Up to n = 1,000, or for more than n / 5 components, LAPACK: O(n³).
    Otherwise Lanczos (ARPACK) from a fixed vector: O(n² n_components). A Lanczos answer is used only if all residuals
    are below 1e-10 times the largest eigenvalue and if, with the found components taken out, nothing larger than the
    last one is left (Lanczos can miss copies of a repeated eigenvalue); if not, LAPACK decides.
    """
    n = K.shape[0]
    n_components = min(int(n_components), n)
    found = None
    if n > DENSE_LIMIT and 5 * n_components <= n:
        found = _lanczos(K, n_components)
    if found is None:
        found = _lapack(K, n_components)
    values, vectors = found
    rank = numerical_rank(values, n)
    return values[:rank], _fix_signs(vectors[:, :rank])


def numerical_rank(values: FloatArray, n: int) -> int:
    """Count the eigenvalues (in decreasing order) above ``n * eps`` times the largest."""
    if values.size == 0 or values[0] <= 0.0:
        return 0
    return int(np.count_nonzero(values > n * EPS * values[0]))


def weighted_square(V: FloatArray, weight: FloatArray) -> FloatArray:
    """Return V'diag(w)V for an array (k, n) in C order; k n² operations, the rows of negative weights taken off."""
    n = V.shape[1]
    total: FloatArray = np.zeros((n, n), order="F")
    if n == 0:
        return total
    step = max(1, WEIGHTED // n)
    for sign in (1.0, -1.0):
        chosen = np.flatnonzero(weight * sign > 0)
        for start in range(0, chosen.shape[0], step):
            some: Any = chosen[start : start + step]
            if some[-1] - some[0] + 1 == some.shape[0]:
                some = slice(some[0], some[-1] + 1)  # a view
            rows = V[some] * np.sqrt(np.abs(weight[some]))[:, None]
            # rows in C order are columns in Fortran order
            total = dsyrk(sign, rows.T, beta=1.0, c=total, lower=1, overwrite_c=1)
    return np.asarray(np.tril(total) + np.tril(total, -1).T)


def _lapack(K: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """Leading eigenpairs by LAPACK: a subset where few are wanted, all of them otherwise."""
    n = K.shape[0]
    if 5 * n_components > n:
        values, vectors = scipy.linalg.eigh(K, driver="evd", check_finite=False)
    else:
        values, vectors = scipy.linalg.eigh(K, subset_by_index=(n - n_components, n - 1), check_finite=False)
    return np.maximum(values[::-1][:n_components], 0.0), vectors[:, ::-1][:, :n_components]


def _lanczos(K: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray] | None:
    """Leading eigenpairs by ARPACK, or None if they cannot be vouched for."""
    import inspect

    import scipy.sparse.linalg as sparse_linalg

    eigsh: Any = sparse_linalg.eigsh
    n = K.shape[0]
    # Not the constant vector: a centred Gram matrix has it in its null space.
    start, probe = np.random.default_rng(0).standard_normal((2, n))
    # As many products with K as cost about the same as the dense solver.
    n_lanczos = min(n, max(2 * n_components + 1, 20))
    restarts = max(10, 2 * n // (n_lanczos - n_components))
    options: dict[str, Any] = {"which": "LA", "maxiter": restarts}
    if "rng" in inspect.signature(eigsh).parameters:  # scipy >= 1.17 draws restart vectors from it
        options["rng"] = np.random.default_rng(1)
    try:
        values, vectors = eigsh(K, k=n_components, v0=start, ncv=n_lanczos, **options)
    except (sparse_linalg.ArpackNoConvergence, sparse_linalg.ArpackError):
        return None
    values, vectors = values[::-1], vectors[:, ::-1]
    largest = values[0]
    if not largest > 0.0:
        return None
    residual = K @ vectors
    residual -= vectors * values
    if np.sqrt(np.einsum("ij,ij->j", residual, residual)).max() > RESIDUAL_TOLERANCE * largest:
        return None

    # K - V diag(values) V' must have nothing above the last value found.
    def deflated(x: FloatArray) -> Any:
        return K @ x - vectors @ (values * (vectors.T @ x))

    operator: Any = sparse_linalg.LinearOperator((n, n), matvec=deflated, dtype=np.float64)
    try:
        rest = eigsh(operator, k=1, v0=probe, tol=1e-3, return_eigenvectors=False, **options)
    except (sparse_linalg.ArpackNoConvergence, sparse_linalg.ArpackError):
        return None
    if float(rest[0]) > values[-1] + 1e-8 * largest:
        return None
    return np.maximum(values, 0.0), vectors


def _fix_signs(vectors: FloatArray) -> FloatArray:
    """Return the columns with the entry of largest magnitude made positive."""
    if vectors.size == 0:
        return vectors
    rows = np.argmax(np.abs(vectors), axis=0)
    signs = np.where(vectors[rows, np.arange(vectors.shape[1])] < 0.0, -1.0, 1.0)
    return vectors * signs


def cholesky_pivoted(K: FloatArray) -> tuple[FloatArray, IntArray]:
    """Factor a symmetric positive semi-definite matrix with pivoting, to its numerical rank r.

    Returns L (n, r), rows in pivoted order, and that order, the first r of which are the pivots: ``K[order][:, order] =
    L L'`` up to ``n * eps`` times the largest diagonal entry; the leading r x r block is lower triangular with a
    positive diagonal. Needs no jitter. The matrix is scaled to unit size first, so that neither huge nor tiny kernels
    change the rank; one of zeros has rank 0. LAPACK ``pstrf``, n r² operations.
    """
    n = K.shape[0]
    largest = float(K.diagonal().max(initial=0.0))
    if largest <= 0.0:
        return np.zeros((n, 0)), np.arange(n)
    factor, pivots, rank, _ = scipy.linalg.lapack.dpstrf(K / largest, lower=1, tol=n * EPS, overwrite_a=True)
    L = np.tril(factor)[:, :rank] * np.sqrt(largest)
    return np.ascontiguousarray(L), pivots.astype(np.intp) - 1


def cholesky_one_plus(G: FloatArray, *, semidefinite: bool = True) -> FloatArray:
    """Return the lower Cholesky factor of I + G, of which the lower triangle counts; G may be overwritten."""
    G.flat[:: G.shape[0] + 1] += 1.0
    if not G.size:
        return G
    L, failed = scipy.linalg.lapack.dpotrf(G, lower=1, clean=1)
    if failed and not semidefinite:
        raise np.linalg.LinAlgError("B is not positive definite")
    if failed:  # entries beyond 1e16 of each other: the eigenvalues below 1 are rounding
        G.flat[:: G.shape[0] + 1] -= 1.0
        return cholesky_at_least_one(G)
    return np.asarray(L)


def cholesky_at_least_one(G: FloatArray) -> FloatArray:
    """Factor I + G for the lower triangle of a positive semi-definite G with rounding errors larger than 1."""
    values, vectors = scipy.linalg.eigh(G, lower=True)
    root = np.sqrt(1.0 + np.maximum(values, 0.0))[:, None] * vectors.T
    upper: FloatArray = np.asarray(np.linalg.qr(root, mode="r"))
    return np.asfortranarray((upper * np.sign(upper.diagonal())[:, None]).T)


def draw_normal(mean: FloatArray, covariance: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
    """Return draws (count, n) of a normal vector; the covariance may be singular.

    Examples
    --------
    >>> import numpy as np
    >>> draw_normal(np.array([1.0, 2.0]), np.zeros((2, 2)), 1, np.random.default_rng(0))
    array([[1., 2.]])
    """
    root = normal_root(covariance)
    draws = rng.standard_normal((count, root.shape[1])) @ root.T
    draws += mean
    return draws


def normal_root(covariance: FloatArray) -> FloatArray:
    """Return R (n, r) with RR' = covariance, which may be singular: normal draws are R times independent ones.

    Examples
    --------
    >>> import numpy as np
    >>> normal_root(np.ones((2, 2)))
    array([[1.],
           [1.]])
    """
    L, order = cholesky_pivoted(covariance)
    root = np.empty_like(L)
    root[order] = L
    return root


# Up to this many latents two BLAS threads spend more time waiting for each other than they save.
ONE_THREAD = 999


def few_threads(n_latents: int) -> Any:
    """Return a context in which BLAS uses one thread if the problem is small, and never two pools of threads at once.

    Wheels of NumPy and SciPy each bring a BLAS library. Inference does its large products through SciPy's, so NumPy's
    is kept at one thread: the threads of two pools wait for each other (n = 1,000 took twice as long as on one thread).
    """
    every, numpy_only = _controllers()
    return (every if n_latents <= ONE_THREAD else numpy_only).limit(limits=1)


@cache
def _controllers() -> tuple[Any, Any]:
    # looking through the loaded libraries takes milliseconds, so once
    every = ThreadpoolController().select(user_api="blas")
    paths = [library["filepath"] for library in every.info()]
    own = [path for path in paths if "numpy" in path.split("site-packages")[-1]] if len(paths) > 1 else []
    return every, every.select(filepath=own)


def in_threads(
    function: Callable[[Piece], Result], pieces: Iterable[Piece], size: int, threads: int | None = None
) -> Iterator[Result]:
    """Yield ``function(piece)`` of every piece, in order, in as many threads as BLAS would take.

    Products of a few columns (``size`` is how many) are too small to share: threads of BLAS wait for each other at each
    of them, and for a core that is busy with something else. Here each thread has pieces of its own and a BLAS of one
    thread. Larger ones are left to BLAS, one piece after the other. Results are the same for any number of threads.

    Examples
    --------
    >>> list(in_threads(lambda n: n * n, range(5), 50, threads=2))
    [0, 1, 4, 9, 16]
    """
    every, _ = _controllers()
    if threads is None:
        threads = max((library.num_threads for library in every.lib_controllers), default=1)
    if threads == 1 or size > SHARED_FROM:
        yield from map(function, pieces)
        return
    waiting: deque[Future[Result]] = deque()
    with every.limit(limits=1), ThreadPoolExecutor(threads) as pool:
        try:
            for piece in pieces:
                waiting.append(pool.submit(function, piece))
                if len(waiting) > 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def generator(random_state: Any, owner: str) -> np.random.Generator:
    """Return a generator from an int, a RandomState, a Generator or None."""
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31)))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ValueError(
            f"{owner}: random_state={random_state!r} must be a whole number of at least 0, a RandomState, a Generator "
            "or None."
        ) from None


# Stacks of small matrices, (count, k, k): products, roots and inverses of Cholesky factors, all at once.

SMALL_BLOCK = 8  # order up to which matrices are inverted together, by a method that is slower for large ones


def turned(M: FloatArray) -> FloatArray:
    """Return the transposes of a stack of matrices."""
    return M.transpose(0, 2, 1)


def squares(P: FloatArray) -> FloatArray:
    """Return P P' for a stack of matrices."""
    if P.shape[1] > 1:
        return P @ turned(P)
    return np.asarray(np.einsum("gr,gr->g", P[:, 0], P[:, 0]))[:, None, None]


def times(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return A B for stacks of matrices; one number (1, 1, 1) stands for its multiple of the identity."""
    inner = A.shape[2]
    if A.shape == (1, 1, 1) or B.shape == (1, 1, 1) or inner == 1:
        return np.asarray(A * B)
    if inner == 2:  # so small that a loop over them is quicker than one over the stack
        return np.asarray(A[:, :, :1] * B[:, :1] + A[:, :, 1:] * B[:, 1:])
    return A @ B


def inverse_cholesky(G: FloatArray, *, semidefinite: bool) -> FloatArray:
    """Return the inverses of the lower Cholesky factors of I + G, (groups, k, k)."""
    k = G.shape[1]
    eye = np.eye(k)
    if k == 1:
        gain = 1.0 + G
        if not gain.min(initial=1.0) > 0.0:
            if not semidefinite:
                raise np.linalg.LinAlgError("B is not positive definite")
            gain = np.maximum(gain, 1.0)
        return np.asarray(1.0 / np.sqrt(gain))
    try:
        L = np.linalg.cholesky(G + eye)
    except np.linalg.LinAlgError:
        if not semidefinite:
            raise
        L = np.stack([cholesky_at_least_one(one) for one in G])
    if k <= SMALL_BLOCK:
        return np.asarray(np.linalg.solve(L, np.broadcast_to(eye, L.shape)))
    # the rows of a lower triangle are, to LAPACK, the columns of an upper one
    return np.stack([dtrtri(one.T, lower=0)[0].T for one in L])


def cholesky_blocks(K: FloatArray) -> FloatArray:
    """Return lower Cholesky factors; one number (1, 1, 1) for multiples of the identity that are all the same."""
    first = K[:1, :1, :1]
    if K.shape[0] and (first * np.eye(K.shape[1]) == K).all():
        return np.sqrt(first)
    return np.sqrt(K) if K.shape[1] == 1 else np.asarray(np.linalg.cholesky(K))


def symmetric_roots(K: FloatArray) -> FloatArray:
    """Return the roots of positive semi-definite matrices, (sets, k, k)."""
    values, V = np.linalg.eigh(K)
    root = np.sqrt(np.where(values > K.shape[1] * EPS * values[:, -1:], values, 0.0))
    return np.asarray((V * root[:, None, :]) @ turned(V))


def square_norms(rows: Any) -> FloatArray:
    """Return the squared norms of the rows of an array or a sparse array."""
    if isinstance(rows, np.ndarray):
        return np.asarray(np.einsum("ij,ij->i", rows, rows))
    squared = sp.csr_array((np.square(rows.data), rows.indices, rows.indptr), shape=rows.shape)
    return np.asarray(squared @ np.ones(rows.shape[1]))


def distinct_numbers(key: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return the distinct whole numbers below a size, in ascending order, and the place of each among them."""
    if size > WIDE * key.shape[0]:
        distinct, where = np.unique(key, return_inverse=True)
        return distinct, where.ravel()
    there = np.zeros(size, dtype=bool)
    there[key] = True
    return np.flatnonzero(there), (np.cumsum(there) - 1)[key]
