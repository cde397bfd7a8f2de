"""How far a reader walks: the modules and functions of preflearn that a call enters.

    python -m benchmarks.walk [--list]

Every call runs in a process of its own, so that nothing is left out that was cached before. A function counts once,
however often it is entered; imports do not count.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path

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


def data():
    """Return what the calls speak of."""
    import numpy as np

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


def walk(call):
    """Return the modules, and in how many functions of each the call has been."""
    names = data()
    entered = set()

    def note(frame, event, _):
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            entered.add((frame.f_code.co_filename, frame.f_code.co_qualname))

    code = compile(call, "<call>", "eval")
    sys.setprofile(note)
    try:
        eval(code, names)
    finally:
        sys.setprofile(None)
    found = {}
    for path, name in entered:
        if name != "<module>":
            module = str(Path(path).relative_to(SOURCE))
            found[module] = found.get(module, 0) + 1
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the modules")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        warnings.simplefilter("ignore")
        print(json.dumps(walk(CALLS[options.job])))
        return
    print("| call | modules | functions |")
    print("|---|---|---|")
    for name in CALLS:
        command = [sys.executable, "-m", "benchmarks.walk", "--job", name]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        found = json.loads(done.stdout.splitlines()[-1])
        print(f"| {name} | {len(found)} | {sum(found.values())} |", flush=True)
        if options.list:
            for module in sorted(found):
                print(f"    {found[module]:4d}  {module}")


if __name__ == "__main__":
    main()
