"""How far a reader walks: the modules and functions of preflearn that a call enters.

    python -m benchmarks.walk [--list]

Every call runs in a process of its own, so that nothing is left out that was cached before. A function counts once,
however often it is entered; imports do not count. For ``rank`` it also counts

- fits: calls of ``fit`` of an estimator that no other fit has made;
- Comparisons that were built;
- representations: classes of which an object held an array, or a list, with an entry for each row of the table or for
  each distinct pair when it was made.
"""

from __future__ import annotations

import argparse
import inspect
import json
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

from preflearn.io import read_preferences

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
SOURCE = str(ROOT / "src" / "preflearn")
CALLS = {
    "PreferenceGP.fit": "PreferenceGP(n_restarts=0).fit(matches)",
    "PreferenceGP.fit, all terms": (
        "PreferenceGP(n_restarts=0, side=True, cluster=True, judge_kernel='identity').fit(matches)"
    ),
    "LabelPreferenceGP.fit": "LabelPreferenceGP(n_restarts=0).fit(X, labels)",
    "BradleyTerry.fit": "BradleyTerry().fit(games)",
    "RankRLS.fit": "RankRLS().fit(X, y, qid=qid)",
    "RankRLSCV.fit": "RankRLSCV().fit(X, y, qid=qid)",
    "rank of the tea data": "preflearn.rank(EXAMPLES / 'tastings.csv', EXAMPLES / 'teas.csv')",
}
# what a reader should still be able to follow; tests/contract/test_walk.py fails above
AIMS = {
    "PreferenceGP.fit": {"modules": 20},
    "RankRLSCV.fit": {"modules": 16},
    "rank of the tea data": {"modules": 60, "fits": 4, "comparisons": 6, "representations": 10},
}


def data():
    """Return what the calls speak of."""
    import preflearn

    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(40, 3)), rng.normal(size=40), np.repeat(np.arange(8), 5)
    first = rng.integers(0, 40, 200)
    second = (first + rng.integers(1, 40, 200)) % 40
    outcome = np.where(X[first, 0] + rng.normal(size=200) > X[second, 0], 1.0, -1.0)
    labels = rng.choice(["a", "b", "c"], 40)
    groups = {"judge": rng.integers(0, 5, 200), "cluster": rng.integers(0, 30, 200)}
    matches = preflearn.Comparisons(X, first, second, outcome, **groups)
    games = preflearn.Comparisons(40, first, second, outcome)
    names = ("BradleyTerry", "LabelPreferenceGP", "PreferenceGP", "RankRLS", "RankRLSCV")
    estimators = {name: getattr(preflearn, name) for name in names}
    found = {"X": X, "y": y, "qid": qid, "labels": labels, "matches": matches, "games": games}
    return {**found, **estimators, "preflearn": preflearn, "EXAMPLES": EXAMPLES}


class Objects:
    """What was made on the way: fits, Comparisons, and classes that hold an entry for each row or pair."""

    def __init__(self, sizes):
        self.sizes, self.fits, self.comparisons, self.classes, self._depth = sizes, [], 0, set(), 0

    def note(self, frame, event):
        name = frame.f_code.co_name
        if name == "fit" and frame.f_code.co_filename.startswith(SOURCE):
            if event == "call":
                if self._depth == 0:
                    self.fits.append(type(frame.f_locals["self"]).__name__)
                self._depth += 1
            elif event == "return":
                self._depth -= 1
        if event != "return" or name not in ("__init__", "__post_init__", "_fill"):
            return
        made = frame.f_locals.get("self")
        if not type(made).__module__.startswith("preflearn."):
            return
        self.comparisons += name == "_fill" and type(made).__name__ == "Comparisons"
        held = getattr(made, "__dict__", {}).values()
        if any(isinstance(value, np.ndarray | list | tuple) and len_of(value) in self.sizes for value in held):
            self.classes.add(f"{type(made).__module__}.{type(made).__name__}")


def len_of(value):
    if isinstance(value, np.ndarray):
        return value.shape[0] if value.ndim else 0
    return len(value)


def walk(call):
    """Return the modules with the number of functions of each that the call has been in, and what was made."""
    names = data()
    entered = set()
    teas = read_preferences(EXAMPLES / "tastings.csv", EXAMPLES / "teas.csv").data
    objects = Objects({len(teas), len(teas.pairs.low)})

    def note(frame, event, _):
        function = frame.f_code.co_flags & inspect.CO_OPTIMIZED  # bodies of modules and classes run on import
        if event == "call" and function and frame.f_code.co_filename.startswith(SOURCE):
            entered.add((frame.f_code.co_filename, frame.f_code.co_qualname))
        objects.note(frame, event)

    code = compile(call, "<call>", "eval")
    sys.setprofile(note)
    try:
        eval(code, names)
    finally:
        sys.setprofile(None)
    found = {}
    for path, _ in entered:
        module = str(Path(path).relative_to(SOURCE))
        found[module] = found.get(module, 0) + 1
    made = {"fits": objects.fits, "comparisons": objects.comparisons, "representations": sorted(objects.classes)}
    return {"modules": found, **made}


def in_process(call):
    """Return the same from a process of its own."""
    command = [sys.executable, "-m", "benchmarks.walk", "--job", call]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def counts(found):
    """Return how many there are of everything."""
    return {what: many if isinstance(many, int) else len(many) for what, many in found.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the modules, and what was made on the way")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        warnings.simplefilter("ignore")
        print(json.dumps(walk(CALLS[options.job])))
        return
    print("| call | modules | functions | fits | Comparisons | representations |")
    print("|---|---|---|---|---|---|")
    for name in CALLS:
        found = in_process(name)
        modules, many = found["modules"], counts(found)
        made = f"{many['fits']} | {many['comparisons']} | {many['representations']}"
        made = made if name.startswith("rank of") else "| |"
        print(f"| {name} | {many['modules']} | {sum(modules.values())} | {made} |", flush=True)
        if options.list:
            for module in sorted(modules):
                print(f"    {modules[module]:4d}  {module}")
            for kind in ("fits", "representations"):
                print(f"    {kind}: {', '.join(found[kind])}")


if __name__ == "__main__":
    main()
