"""What an inference method answers.

A method is an object: it finds a Gaussian posterior of a system, given outcomes and a likelihood, with its evidence and
the derivatives of that. To add one write a class with these in a module of its own, and list it in `methods`.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Protocol

from preflearn.inference.observed import Observed
from preflearn.inference.posterior import Info, Posterior
from preflearn.operators import FloatArray

__all__ = ["Found", "Method", "Slopes"]


class Found(NamedTuple):
    """A posterior, how the inference ended, and each outcome's part exp(ν z - τ z²/2) in it, per unit of weight."""

    posterior: Posterior
    info: Info
    tau: FloatArray
    nu: FloatArray
    derivatives: Any = None  # of log p at the mode, where that is what was found


class Slopes(NamedTuple):
    """Derivatives of the evidence: by prior covariances, by the likelihood's parameters, and by every outcome's s."""

    prior: Any
    likelihood: FloatArray
    scale: FloatArray


class Method(Protocol):
    """One inference method; see the module."""

    name: ClassVar[str]
    words: ClassVar[str]  # what messages call it
    log_concave_only: ClassVar[bool]
    exact_only: ClassVar[bool]  # whether it needs variances to the last digits, not estimates

    @property
    def tol(self) -> float:
        """Size of what should be zero at which it stops."""
        ...

    def solve(self, system: Any, seen: Observed, likelihood: Any, warm: Any = None) -> Found:
        """Return the posterior; ``warm`` is a start from nearby parameters."""
        ...

    def gradient(self, found: Found, seen: Observed, likelihood: Any) -> Slopes:
        """Return the derivatives of the evidence of what `solve` has found."""
        ...

    def warm(self, found: Found, before: Any) -> Any:
        """Return the warm start that follows from what was found; ``before`` is the last one."""
        ...

    def at_cells(self, g: FloatArray) -> Any:
        """Return a warm start from what ``g`` of a posterior was at cells that it knew, 0 at others."""
        ...

    def kept(self, warm: Any) -> Any:
        """Return a warm start as numbers, for files."""
        ...

    def again(self, kept: Any, found: list[Found]) -> Any:
        """Return the warm start that was kept, given posteriors that were made again."""
        ...
