"""Utilities of items, and an effect of its own for each pair: the effects are eliminated in closed form.

    z_k = a_k'f + c_k,    f ~ N(0, K) over n items,    c_k ~ N(0, s²) independently for k distinct pairs.

The deviation s may be one of each pair, and f any latents that pairs see through a design of their own, such as
utilities beside weights of functions (`preflearn.inference.features`). With precisions t of the pairs, G = 1 + s²t and
what the effects leave of a precision, t̃ = t / G,

    |B| = |B̃| Π G,  B̃ = I + R'Λ̃R,  Λ̃ = A'diag(t̃)A,      and f has the posterior of a problem without effects and with t̃;
    given f, c_k is independent of everything else, with variance s²/G, so that var z_k = var(a_k'f) / G² + s²/G.

Only B̃ (n, n) is factored: O(k + n³) and memory O(k + n²), nothing approximated. Without utilities n = 0 and all is
diagonal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from preflearn.inference.design import Design, pair_operator
from preflearn.inference.factor import Covariance, Factor
from preflearn.inference.posterior import Curvature, Eliminated, Posterior
from preflearn.linalg import draw_normal
from preflearn.operators import FloatArray, IntArray

__all__ = ["EffectCovariance", "EffectCurvature", "EffectDesign", "EffectFactor", "EffectPosterior"]


class EffectOperator:
    """The operator (m, n + k) from latents (f, c) to z; ``pair`` (m,) says which pair each row compares."""

    def __init__(self, A: Any, pair: IntArray) -> None:
        self.A, self.pair = A, pair
        self.shape = pair.shape[0], A.shape[1] + A.shape[0]

    def __getitem__(self, rows: Any) -> EffectOperator:
        """Return some of the rows."""
        return EffectOperator(self.A, self.pair[rows])

    def __matmul__(self, x: FloatArray) -> FloatArray:
        """Return z for latents x."""
        n = self.A.shape[1]
        return np.asarray((self.A @ x[:n] + x[n:])[self.pair])


class _Transposed:
    def __init__(self, items: Any, pair: IntArray) -> None:
        self.pair, self.AT, self.n_pairs = pair, items.AT, items.shape[0]

    def __matmul__(self, v: FloatArray) -> FloatArray:
        sums = self.of_pairs(v)
        return np.concatenate([self.AT @ sums, sums])

    def of_pairs(self, v: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self.pair, v, minlength=self.n_pairs), dtype=np.float64)


class EffectDesign:
    """What `preflearn.inference.design.Design` answers; ``A`` (k, n), or its design, are the distinct pairs."""

    dense = True

    def __init__(self, A: Any, pair: IntArray) -> None:
        self.items = Design.of(A)
        self.A = EffectOperator(self.items.A, pair)
        self.AT = _Transposed(self.items, pair)
        self.shape = self.A.shape
        self.inner_steps = self.items.inner_steps

    @property
    def size(self) -> int:
        """Order of the matrix that is factored."""
        return int(self.items.shape[1])

    def laplacian(self, tau: FloatArray) -> EffectLaplacian:
        """Return Λ, as the precisions of pairs."""
        return EffectLaplacian(self, self.AT.of_pairs(tau))


@dataclass(frozen=True)
class EffectLaplacian:
    """Λ = [A I]' diag(t) [A I], not formed."""

    design: EffectDesign
    t: FloatArray  # (k,)

    def __matmul__(self, x: FloatArray) -> FloatArray:
        """Return Λ x for a vector."""
        n = self.design.size
        seen = self.t * (self.design.items.A @ x[:n] + x[n:])
        return np.concatenate([self.design.items.AT @ seen, seen])


@dataclass(frozen=True)
class EffectFactor:
    """blockdiag(K, s² I) = R R'; columns of the items, then of the pairs."""

    items: Factor
    deviation: Any  # s, of all pairs or (k,)
    n_pairs: int

    @classmethod
    def build(cls, K: FloatArray, variance: Any, n_pairs: int) -> EffectFactor:
        """Factor the covariance of the items, and take the effects' variance s², of all pairs or (k,)."""
        return cls(Factor.build(K) if K.size else Factor(K, None), np.sqrt(variance), n_pairs)

    @property
    def order(self) -> IntArray | None:
        """None if the items are not pivoted."""
        return self.items.order

    @property
    def rank(self) -> int:
        """Number of columns of R."""
        return self.items.rank + self.n_pairs

    def forward(self, u: FloatArray) -> FloatArray:
        """Return R u."""
        r = self.items.rank
        return np.concatenate([self.items.forward(u[:r]), self.deviation * u[r:]])

    def back(self, f: FloatArray) -> FloatArray:
        """Return R'f."""
        n = self.items.L.shape[0]
        return np.concatenate([self.items.back(f[:n]), self.deviation * f[n:]])

    def curvature(self, Lam: EffectLaplacian, *, semidefinite: bool) -> EffectCurvature:
        """Factor B; see `Curvature.build` for ``semidefinite``."""
        gain = 1.0 + self.deviation**2 * Lam.t
        if not gain.min(initial=1.0) > 0.0:
            raise np.linalg.LinAlgError("B is not positive definite")
        inner = Curvature.build(self.items, Lam.design.items.laplacian(Lam.t / gain), semidefinite=semidefinite)
        return EffectCurvature(self, Lam, gain, inner)

    def covariance(self, LB: EffectCurvature) -> EffectCovariance:
        """Return C = R B⁻¹ R'."""
        return EffectCovariance(LB, self.items.covariance(LB.inner.LB))

    def posterior(self, *parts: Any) -> EffectPosterior:
        """Return the posterior of the same fields as `Posterior`."""
        return EffectPosterior(*parts)


@dataclass(frozen=True)
class EffectCurvature(Eliminated):
    """B with the effects eliminated; in place of a `Curvature`."""

    factor: EffectFactor
    Lam: EffectLaplacian
    gain: FloatArray  # G, (k,)
    inner: Curvature  # B̃

    @property
    def log_det(self) -> float:
        """Return log |B|."""
        return self.inner.log_det + float(np.log1p(self.factor.deviation**2 * self.Lam.t).sum())

    def solve(self, b: FloatArray) -> FloatArray:
        """Return B⁻¹ b for one vector."""
        items, design, r = self.factor.items, self.Lam.design.items, self.factor.items.rank
        st = self.factor.deviation * self.Lam.t
        v = self.inner.solve(b[:r] - items.back(design.AT @ (st / self.gain * b[r:])))
        return np.concatenate([v, (b[r:] - st * (design.A @ items.forward(v))) / self.gain])


@dataclass(frozen=True)
class EffectCovariance:
    """C = R B⁻¹ R', by the posterior covariance of the items; the rest follows pair by pair."""

    curvature: EffectCurvature
    inner: Covariance

    @cached_property
    def _differences(self) -> FloatArray:
        # posterior variances of a_k'f
        return self.inner.spread(self.curvature.Lam.design.items)

    @property
    def _effects(self) -> FloatArray:
        # posterior variances of c_k given f
        return np.asarray(self.curvature.factor.deviation**2 / self.curvature.gain)

    def spread(self, design: EffectDesign) -> FloatArray:
        """Return the posterior variances of z; both parts are non-negative."""
        return np.asarray((self._differences / self.curvature.gain**2 + self._effects)[design.A.pair])

    def among(self, A: EffectOperator) -> FloatArray:
        """Return the posterior covariance of some z with each other."""
        share = 1.0 / self.curvature.gain[A.pair]
        V = self.inner.among(A.A[A.pair]) * np.outer(share, share)
        return np.asarray(V + np.where(A.pair[:, None] == A.pair, self._effects[A.pair], 0.0))

    def sensitivity(
        self, Lam: EffectLaplacian, plus: FloatArray, minus: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return ½ (ΛCΛ - Λ + pp' - qq') between items, (n, n), and its diagonal over the pairs, (k,).

        Between items ΛCΛ - Λ is what it would be for t̃ without effects.
        """
        inner, n = self.curvature.inner, Lam.design.size
        left = Lam.t / self.curvature.gain
        diagonal = left * (left * self._differences - 1.0) + np.square(plus[n:])
        if minus is not None:
            diagonal -= np.square(minus[n:])
        M = self.inner.sensitivity(inner.Lam, plus[:n], None if minus is None else minus[:n])
        return M, 0.5 * diagonal


class EffectPosterior(Posterior):
    """Moments of items as if there were no effects, and of pairs from these; pairs never compared have c as it was."""

    factor: Any
    curvature: Any

    @cached_property
    def items(self) -> Posterior:
        """The posterior of f."""
        r, n = self.factor.items.rank, self.factor.items.L.shape[0]
        return Posterior(self.factor.items, self.curvature.inner, self.u[:r], self.a[:n], self.log_evidence)

    def moments(
        self, Q: FloatArray, prior_variance: FloatArray, A: Any | None = None, *, total: int = 0
    ) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of utilities, or of combinations A of them; ``Q`` (p, n)."""
        return self.items.moments(Q, prior_variance, A, total=total)

    def joint(self, Q: FloatArray, prior: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean (p,) and the covariance (p, p) of utilities."""
        return self.items.joint(Q, prior)

    def pairs(self, asked: Any, total: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of z at pairs, `preflearn.priors.pair_effects.AskedPairs`."""
        A = pair_operator(asked.first, asked.second, asked.cross.shape[0])
        mean, variance = self.items.moments(asked.cross, asked.difference_variance, A, total=total)
        gain = self._gain(asked)
        return mean + self._effect_means(asked), variance / gain**2 + asked.effect_variance / gain

    def draw(self, asked: Any, prior: FloatArray, count: int, rng: np.random.Generator) -> FloatArray:
        """Return joint draws (count, p) of z at pairs; ``prior`` is the prior covariance of their items' utilities."""
        mean, covariance = self.items.joint(asked.cross, prior)
        f = draw_normal(np.zeros_like(mean), covariance, count, rng)
        gain = self._gain(asked)
        # the same pair is drawn once
        z = rng.standard_normal((count, int(asked.same.max(initial=-1)) + 1))[:, asked.same]
        z *= asked.sign * np.sqrt(asked.effect_variance / gain)
        z += (f[:, asked.first] - f[:, asked.second]) / gain
        z += mean[asked.first] - mean[asked.second] + self._effect_means(asked)
        return z

    def means(self, asked: Any) -> tuple[FloatArray, FloatArray]:
        """Return mean (p,) and covariance (p, p) of z against all items on average, for ``AskedMeans``.

        Σ_j w_j z_ij = f_i - Σ_j w_j f_j + Σ_j w_j c_ij. Given f the effects are independent, and those of pairs never
        compared are as before: only the others are looked at one by one.
        """
        f, covariance = self.items.joint(asked.cross, asked.covariance)
        i, j, w, n = asked.first, asked.second, asked.share, asked.share.shape[0]
        rest = 1.0 / self.curvature.gain[asked.pair] - 1.0
        c = self.factor.deviation * self.u[self.factor.items.rank :][asked.pair]
        mean = f - w @ f + np.bincount(i, w[j] * c, minlength=n) - np.bincount(j, w[i] * c, minlength=n)
        M = np.eye(n) - w
        M[i, j] -= w[j] * rest
        M[j, i] -= w[i] * rest
        M.flat[:: n + 1] += np.bincount(i, w[j] * rest, minlength=n) + np.bincount(j, w[i] * rest, minlength=n)
        own = np.diag(np.full(n, w @ w)) - np.outer(w, w)
        own[i, j] -= w[i] * w[j] * rest
        own[j, i] -= w[i] * w[j] * rest
        own.flat[:: n + 1] += np.bincount(i, w[j] ** 2 * rest, minlength=n) + np.bincount(
            j, w[i] ** 2 * rest, minlength=n
        )
        C = M @ covariance @ M.T + self.factor.deviation**2 * own
        return mean[asked.place], np.asarray((C + C.T) / 2)[np.ix_(asked.place, asked.place)]

    def _gain(self, asked: Any) -> FloatArray:
        return np.asarray(np.append(self.curvature.gain, 1.0)[asked.pair])  # pairs never compared have number -1

    def _effect_means(self, asked: Any) -> FloatArray:
        c = self.factor.deviation * self.u[self.factor.items.rank :]
        return np.asarray(asked.sign * np.append(c, 0.0)[asked.pair])
