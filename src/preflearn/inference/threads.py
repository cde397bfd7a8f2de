"""How many BLAS threads a computation is worth."""

from __future__ import annotations

from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["few_threads"]

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
