"""The table of rules: for each kernel its Gram matrix, its diagonal and its pullback.

A rule has two functions. ``evaluate(kernel, space, keep)`` returns the Gram matrix as a `Part` and a function
``pull(M) -> <M, dK/dtheta>`` over the kernel's free hyperparameters, in scikit-learn's order; the second is there
only if ``keep`` is True, because it needs arrays that are otherwise overwritten. ``diag(kernel, X)`` returns the
diagonal. A kernel is looked up by its exact type, so that a subclass never inherits a rule that is not its own;
kernels without a rule are asked themselves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    DotProduct,
    Exponentiation,
    Matern,
    Product,
    RationalQuadratic,
    Sum,
    WhiteKernel,
)

from preflearn.kernels.distances import (
    contract_squared_differences,
    dot,
    is_sparse,
    row_blocks,
    squared_distances,
    squared_norms,
)
from preflearn.kernels.parts import Part, Space
from preflearn.kernels.radial import PROFILES, rq_alpha_slope

__all__ = ["GRADIENT_LIMIT", "RULES", "Rule", "diagonal", "evaluate"]

FloatArray = NDArray[np.float64]
Pull = Callable[[FloatArray], FloatArray]

GRADIENT_LIMIT = 2**30  # bytes that the n x n x p gradient of a kernel without a rule may take


@dataclass(frozen=True)
class Rule:
    """How to evaluate one class of kernels."""

    evaluate: Callable[[Any, Space, bool], tuple[Part, Pull]]
    diag: Callable[[Any, Any], FloatArray]


def evaluate(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    """Evaluate a kernel by its rule, or by asking it."""
    rule = RULES.get(type(kernel))
    return (_ask if rule is None else rule.evaluate)(kernel, space, keep)


def diagonal(kernel: Any, X: Any) -> FloatArray:
    """Return the diagonal of the Gram matrix of X by the kernel's rule, or by asking it."""
    rule = RULES.get(type(kernel))
    if rule is not None:
        return rule.diag(kernel, X)
    _refuse_sparse(kernel, X)
    return np.array(kernel.diag(X), dtype=np.float64)


def n_free(kernel: Any) -> int:
    """Count the free hyperparameters, without the logarithms that ``kernel.theta`` takes."""
    return sum(h.n_elements for h in kernel.hyperparameters if not h.fixed)


def _free(kernel: Any, name: str) -> bool:
    return not getattr(kernel, f"hyperparameter_{name}").fixed


def _vector(*values: Any) -> FloatArray:
    return np.asarray(values, dtype=np.float64).reshape(-1)


# --- leaves ---------------------------------------------------------------------------------------------------------


def _constant(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    value = float(kernel.constant_value)

    def pull(M: FloatArray) -> FloatArray:
        return _vector(value * M.sum()) if _free(kernel, "constant_value") else _vector()

    return Part(constant=value), pull


def _white(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    noise = float(kernel.noise_level)

    def pull(M: FloatArray) -> FloatArray:
        seen = np.trace(M) if space.Y is None else 0.0
        return _vector(noise * seen) if _free(kernel, "noise_level") else _vector()

    return Part(diagonal=noise if space.Y is None else 0.0), pull


def _dot_product(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    bias = float(kernel.sigma_0) ** 2

    def pull(M: FloatArray) -> FloatArray:
        return _vector(2.0 * bias * M.sum()) if _free(kernel, "sigma_0") else _vector()

    return Part(constant=bias, dense=dot(space.X, space.Y)), pull


def _radial(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    profile = PROFILES[type(kernel)]
    U, V = space.scaled(kernel.length_scale)
    D = squared_distances(U, V)
    K = np.empty_like(D) if keep else D
    mirror = space.Y is None and profile.costly(kernel)
    for rows in row_blocks(*D.shape):
        if mirror:  # half of the entries are enough
            block = profile.value(kernel, D[rows, rows.start :])
            K[rows, rows.start :] = block
            K[rows.start :, rows] = block.T
        else:
            K[rows] = profile.value(kernel, D[rows])

    def pull(M: FloatArray) -> FloatArray:
        parts: list[Any] = []
        if type(kernel) is RationalQuadratic and _free(kernel, "alpha"):
            blocks = row_blocks(*D.shape)
            parts.append(sum(np.vdot(M[b], rq_alpha_slope(kernel.alpha, D[b], K[b])) for b in blocks))
        if _free(kernel, "length_scale"):
            # <M, dK/dlog l_k> = sum_ij P_ij (u_ik - u_jk)^2 with P = M o slope
            if np.size(kernel.length_scale) > 1:
                P = np.empty_like(D)
                for b in row_blocks(*D.shape):
                    np.multiply(M[b], profile.slope(kernel, D[b], K[b]), out=P[b])
                parts.extend(contract_squared_differences(P, U, D, V))
            else:
                blocks = row_blocks(*D.shape)
                parts.append(sum(np.vdot(M[b] * profile.slope(kernel, D[b], K[b]), D[b]) for b in blocks))
        return _vector(*parts)

    return Part(dense=K), pull


def _ask(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    """Use the kernel's own call, and for the pullback its n x n x p gradient under a memory guard."""
    _refuse_sparse(kernel, space.X)
    K = np.array(kernel(space.X, space.Y), dtype=np.float64)
    if K.shape != space.shape:
        raise TypeError(
            f"kernel: {type(kernel).__name__} returned an array of shape {K.shape} where {space.shape} was expected; "
            "it cannot be used as one kernel."
        )

    def pull(M: FloatArray) -> FloatArray:
        # kernels know the gradient of rows against themselves only, so X and Y are one set of rows
        n_x, p = K.shape[0], n_free(kernel)
        n, rows = (n_x, space.X) if space.Y is None else (sum(K.shape), np.concatenate([space.X, space.Y]))
        if p == 0:
            return _vector()
        if n * n * p * 8 > GRADIENT_LIMIT:
            raise MemoryError(
                f"pullback: {type(kernel).__name__} has no rule, and its gradient for {n} items and {p} "
                f"hyperparameters would take {n * n * p * 8 / 2**30:.1f} GiB (limit {GRADIENT_LIMIT / 2**30:.1f}).\n"
                "  Fix hyperparameters, use fewer items, or use one of "
                f"{', '.join(sorted(known.__name__ for known in RULES))}."
            )
        _, gradient = kernel(rows, eval_gradient=True)
        return np.asarray(np.einsum("ij,ijk->k", M, gradient if space.Y is None else gradient[:n_x, n_x:]))

    return Part(dense=K), pull


def _refuse_sparse(kernel: Any, X: Any) -> None:
    if is_sparse(X):
        raise TypeError(
            f"kernel: {type(kernel).__name__} has no rule for sparse rows.\n  Use one of "
            f"{', '.join(sorted(known.__name__ for known in RULES))}, or pass X.toarray()."
        )


# --- compositions ---------------------------------------------------------------------------------------------------


def _sum(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    (A, pull_a), (B, pull_b) = evaluate(kernel.k1, space, keep), evaluate(kernel.k2, space, keep)
    return A.add(B, keep), lambda M: np.concatenate([pull_a(M), pull_b(M)])


def _product(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    (A, pull_a), (B, pull_b) = evaluate(kernel.k1, space, keep), evaluate(kernel.k2, space, keep)

    # d(A o B) = dA o B + A o dB
    def pull(M: FloatArray) -> FloatArray:
        return np.concatenate([_pull_weighted(kernel.k1, pull_a, B, M), _pull_weighted(kernel.k2, pull_b, A, M)])

    return A.multiply(B, keep), pull


def _exponentiation(kernel: Any, space: Space, keep: bool) -> tuple[Part, Pull]:
    part, pull_base = evaluate(kernel.kernel, space, keep)
    p = kernel.exponent

    # d(K^p) = p K^(p-1) o dK
    def pull(M: FloatArray) -> FloatArray:
        if n_free(kernel.kernel) == 0:
            return _vector()
        if part.is_constant:
            return np.asarray(p * part.constant ** (p - 1) * pull_base(M))
        weight = _power(part.toarray(space.shape, keep=True), p - 1)
        weight *= p
        weight *= M
        return pull_base(weight)

    if part.is_constant:
        return Part(constant=part.constant**p), pull
    return Part(dense=_power(part.toarray(space.shape, keep), p)), pull


def _pull_weighted(kernel: Any, pull: Pull, other: Part, M: FloatArray) -> FloatArray:
    """Return <M o other, dK/dtheta>; a constant factor is taken out, because the pullback is linear in M."""
    if n_free(kernel) == 0:
        return _vector()
    return other.constant * pull(M) if other.is_constant else pull(other.weigh(M))


def _power(K: FloatArray, exponent: Any) -> FloatArray:
    """Raise to a power in place; small whole powers by multiplication, ten times quicker than ``pow``."""
    whole = int(exponent) if float(exponent).is_integer() and 1 <= exponent <= 8 else None
    for rows in row_blocks(*K.shape):
        block = K[rows]
        if whole is None:
            np.power(block, exponent, out=block)
        else:
            base = block.copy()
            for _ in range(whole - 1):
                block *= base
    return K


# --- the table ------------------------------------------------------------------------------------------------------


def _ones(kernel: Any, X: Any) -> FloatArray:
    return np.ones(X.shape[0])


def _filled(name: str) -> Callable[[Any, Any], FloatArray]:
    return lambda kernel, X: np.full(X.shape[0] if hasattr(X, "shape") else len(X), float(getattr(kernel, name)))


RULES: dict[type, Rule] = {
    ConstantKernel: Rule(_constant, _filled("constant_value")),
    WhiteKernel: Rule(_white, _filled("noise_level")),
    DotProduct: Rule(_dot_product, lambda kernel, X: squared_norms(X) + float(kernel.sigma_0) ** 2),
    RBF: Rule(_radial, _ones),
    Matern: Rule(_radial, _ones),
    RationalQuadratic: Rule(_radial, _ones),
    Sum: Rule(_sum, lambda kernel, X: diagonal(kernel.k1, X) + diagonal(kernel.k2, X)),
    Product: Rule(_product, lambda kernel, X: diagonal(kernel.k1, X) * diagonal(kernel.k2, X)),
    Exponentiation: Rule(_exponentiation, lambda kernel, X: diagonal(kernel.kernel, X) ** kernel.exponent),
}
