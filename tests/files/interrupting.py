"""Save two models in turn while the process is killed, interrupted or out of disk; say what was left behind.

Run as a program, so that its children are copies of a small process: ``python interrupting.py FOLDER HOW COUNT``.
"""

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import numpy as np

import preflearn
from preflearn import Comparisons, PreferenceGP, RankRLS


def models():
    """Return two fitted models of very different size."""
    X = np.random.default_rng(0).standard_normal((4000, 30))
    matches = Comparisons(None, ["ann", "bob"], ["bob", "cy"])
    return PreferenceGP(hyperparameters="fixed").fit(matches), RankRLS(kernel="rbf").fit(X[:60], X[:60, 0])


def save_for_ever(pair, path):
    """Save in turn until a signal comes; the end of the process is that of the child."""
    try:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
        while True:
            for model in pair:
                preflearn.save(model, path)
    except KeyboardInterrupt:
        pass
    os._exit(0)


def save_in_vain(model, path, limit):
    """Try to save where files may not be larger than a limit."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    try:
        preflearn.save(model, path)
    except OSError:
        os._exit(3)
    os._exit(0)


def end(child, how):
    """Send a child its signal, and return how it ended; an interrupt within a finaliser is lost, and sent again."""
    while True:
        if how != "disk":
            os.kill(child, {"kill": signal.SIGKILL, "interrupt": signal.SIGINT}[how])
        for _ in range(2000):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.001)


def main(folder, how, count):
    """Return how often each model was found whole, and what else is in the folder."""
    path, rng, pair = Path(folder, "model.preflearn"), np.random.default_rng(1), models()
    kinds = [type(model).__name__ for model in pair]
    start = time.perf_counter()
    for model in reversed(pair):
        preflearn.save(model, path)
    both = time.perf_counter() - start
    found, codes = dict.fromkeys(kinds, 0), []
    for number in range(count):
        before = path.read_bytes()
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])  # until the child is ready for it
        child = os.fork()
        if child == 0:
            if how == "disk":
                save_in_vain(pair[1], path, 1 + 250 * number)
            save_for_ever(pair[:: 1 - 2 * (number % 2)], path)
        if how != "disk":
            time.sleep(float(rng.uniform(0.0, 1.5 * both)))
        codes.append(end(child, how))
        if how == "disk" and path.read_bytes() != before:
            codes.append("changed")
        found[type(preflearn.load(path)).__name__] += 1
    others = [entry.name for entry in Path(folder).iterdir() if entry != path]
    return {"found": found, "codes": sorted(set(codes), key=str), "others": others}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1], sys.argv[2], int(sys.argv[3]))))
