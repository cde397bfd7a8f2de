"""Which way do judges point? Utilities u with reliabilities s, and -u with -s, say the same about every outcome.

A search that starts with all judges alike sees nothing where half of them answer the contrary of the other half. What
it needs is who answers like whom, which the outcomes tell before any utility is known (`agreement`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from preflearn.inference.contract import Observed
from preflearn.operators import FloatArray

ROUNDS = 30  # products with the matrix of agreement
LARGEST = 1.5  # size of a reliability to start from
ALIKE = 0.7  # cosine above which reliabilities that were found agree with who answers like whom


def agreement(system: Any, seen: Observed, reliability: Any, likelihood: Any) -> FloatArray:
    """Return reliabilities, of mean square 1, that raise the evidence most where utilities hardly differ.

    Near x = 0 the evidence is 1/2 s'Qs, Q = (r'A K A'r of every two judges) with r the slopes of log p(y | z) at z = 0:
    the leading eigenvector, by the power method, which costs a product with the prior covariance in each round. The
    better half of its two directions is the one in which most judges are careful.
    """
    plain = seen.scaled(None)
    r = plain.weight * likelihood.log_density(plain.y, np.zeros(len(plain.y))).first
    judge, n = reliability.judge, len(reliability.value)
    s = np.random.default_rng(0).normal(size=n)
    for _ in range(ROUNDS):
        s /= max(float(np.sqrt(np.mean(s**2))), 1e-300)
        x = system.forward(system.back(plain.sums(np.append(s, 0.0)[judge] * r)))
        s = reliability.pull(r * plain.see(x))
    s /= max(float(np.sqrt(np.mean(s**2))), 1e-300)
    s = s if s.sum() >= 0 else -s
    return np.asarray(np.clip(s, -LARGEST, LARGEST))


def agree(one: FloatArray, other: FloatArray) -> bool:
    """Return whether two sets of reliabilities, or one and the reverse of the other, are about the same."""
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return abs(float(one @ other)) >= ALIKE * size > 0.0
