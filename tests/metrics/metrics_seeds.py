"""Many random problems in one test: quicker than one test per seed, and the failing seed is still named."""

from __future__ import annotations

import functools
import inspect


def every_seed(count):
    """Run a test with ``seed`` = 0 .. count - 1."""

    def decorate(test):
        @functools.wraps(test)
        def run(*args, **kwargs):
            for seed in range(count):
                try:
                    test(*args, seed=seed, **kwargs)
                except BaseException as error:
                    error.add_note(f"with seed {seed}")
                    raise

        signature = inspect.signature(test)
        kept = [parameter for name, parameter in signature.parameters.items() if name != "seed"]
        run.__signature__ = signature.replace(parameters=kept)
        return run

    return decorate
