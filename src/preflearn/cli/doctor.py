"""``preflearn doctor``: versions, threads, optional packages, and one self-test."""

from __future__ import annotations

import os
import platform
import sys
from typing import Any

from preflearn._version import __version__
from preflearn.cli.console import facts, print_json, table
from preflearn.cli.options import Flag

USAGE = "preflearn doctor [OPTIONS]"
_NEEDED = ("numpy", "scipy", "scikit-learn", "narwhals", "cyclopts", "rich")
_OPTIONAL = {
    "matplotlib": 'plots: pip install "preflearn[plot]"',
    "pyarrow": 'Parquet files: pip install "preflearn[io]"',
    "XlsxWriter": 'Excel files: pip install "preflearn[io]"',
    "dask": 'clusters: pip install "preflearn[large]"',
    "pandas": "to_pandas(): pip install pandas",
}


def doctor(*, json: Flag = False) -> int:
    """Say whether this installation works: versions, threads and a self-test.

    For example:

        preflearn doctor

    Parameters
    ----------
    json
        Print JSON instead of text.
    """
    return 0 if _check_up(as_json=json) else 1


def _check_up(*, as_json: bool) -> bool:
    """Print how this installation is, and return whether it works."""
    packages = {name: _version(name) for name in (*_NEEDED, *_OPTIONAL)}
    checks = _checks()
    well = all(found is None for found in checks.values())
    if as_json:
        answer = {
            "preflearn": __version__,
            "python": platform.python_version(),
            "system": platform.platform(),
            "packages": packages,
            "threads": _threads(),
            "self_test": {name: found or "passed" for name, found in checks.items()},
            "well": well,
        }
        print_json(answer)
        return well
    facts(
        [
            ("This is", f"preflearn {__version__} on Python {platform.python_version()}, {platform.platform()}"),
            (
                "Threads",
                ", ".join(f"{kind}: {n}" for kind, n in _threads().items()) + f" of {os.cpu_count()} processors",
            ),
            ("Text", f"{sys.stdout.encoding} on standard output"),
        ]
    )
    rows = [(name, packages[name] or "missing", "") for name in _NEEDED]
    rows += [(name, packages[name] or "not installed", "" if packages[name] else _OPTIONAL[name]) for name in _OPTIONAL]
    table([("package", "left"), ("version", "left"), ("for", "left")], rows)
    facts([("Test" if found is None else "FAILED", f"{name}: {found or 'passed'}") for name, found in checks.items()])
    facts([("", "All is well." if well else "Something is wrong with this installation: install preflearn again.")])
    return well


def _version(name: str) -> str | None:
    import importlib.metadata

    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _threads() -> dict[str, int]:
    from threadpoolctl import threadpool_info

    return {one["internal_api"]: int(one["num_threads"]) for one in threadpool_info()}


def _checks() -> dict[str, str | None]:
    """Return what is wrong with each part; None where it gives what is known."""
    found: dict[str, str | None] = {}
    for name, check in (("Bradley-Terry", _ranks), ("Gaussian process", _learns), ("model file", _keeps)):
        try:
            found[name] = check()
        except Exception as error:  # whatever it is, the person should hear of it
            found[name] = f"{type(error).__name__}: {error}"
    return found


def _off(name: str, value: float, known: float) -> str | None:
    return None if abs(value - known) < 1e-6 else f"{name} is {value!r} and should be {known!r}"


def _ranks() -> str | None:
    """Return whether three wins of four are odds of 3 to 1."""
    import numpy as np

    from preflearn import BradleyTerry, Comparisons

    model = BradleyTerry(prior=None).fit(Comparisons(None, ["a", "a", "a", "b"], ["b", "b", "b", "a"]))
    utility = model.predict_utility()
    return _off("the log odds", float(utility[0] - utility[1]), float(np.log(3)))


def _problem() -> tuple[Any, Any]:
    """Return one comparison by a margin of 1, and a model of it."""
    from sklearn.gaussian_process.kernels import RBF

    from preflearn import Comparisons, PreferenceGP
    from preflearn.likelihoods import Gaussian

    model = PreferenceGP(1.0 * RBF(1.0), Gaussian(precision=1.0, fixed=True), hyperparameters="fixed")
    return Comparisons([[0.0], [1.0]], [0], [1], [1.0]), model


def _learns() -> str | None:
    """Return whether a difference of prior variance v, seen once with noise of variance 1, is v / (v + 1)."""
    import numpy as np

    data, model = _problem()
    v = 2 * (1 - np.exp(-0.5))
    return _off("a difference", float(model.fit(data).predict_difference(data)[0]), float(v / (v + 1)))


def _keeps() -> str | None:
    """Return whether a model predicts the same after having been written and read."""
    import tempfile
    from pathlib import Path

    import numpy as np

    from preflearn import load, save

    data, model = _problem()
    before = model.fit(data).predict_proba(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.preflearn")
        save(model, path)
        after = load(path).predict_proba(data)
    return _off("the largest difference after reading", float(np.abs(after - before).max()), 0.0)
