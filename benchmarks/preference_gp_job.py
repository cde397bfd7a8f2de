"""One job of benchmarks.against_botorch, which explains the protocol, in a process of its own.

    python -m benchmarks.preference_gp_job '{"who": "ours", "job": "fit", "n": 100, "m": 1000, "n_held": 100, "seed": 0,
        "truth": "even"}'

prints one line of JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np

from benchmarks.preference_gps import START, BoTorch, Ours, Problem


def timed(job, *arguments):
    start = time.perf_counter()
    found = job(*arguments)
    return time.perf_counter() - start, found


def agree(problem):
    """Return how far the two are apart at the same parameters, BoTorch's clamp lifted, so that the model is one."""
    ours, peer = Ours(problem), BoTorch(problem, limit=30)
    apart = dict.fromkeys(["evidence", "gradient", "mean difference", "probability"], 0.0)
    ours.prepare()
    peer.prepare()
    for solution in (START, problem.truth):
        (value, gradient), (value_peer, gradient_peer) = (c.evidence_and_gradient(solution) for c in (ours, peer))
        apart["evidence"] = max(apart["evidence"], abs(value - value_peer))
        apart["gradient"] = max(apart["gradient"], np.abs(gradient - gradient_peer).max())
    for solution in (START, problem.truth):
        ours.fix(solution)
        peer.fix(solution)
        apart["mean difference"] = max(apart["mean difference"], np.abs(ours.differences() - peer.differences()).max())
        apart["probability"] = max(apart["probability"], np.abs(ours.probabilities() - peer.probabilities()).max())
    return apart


def summary(contestant, problem):
    return {
        "solution": list(contestant.solution()),
        "evidence": contestant.evidence(),
        "accuracy": float(np.mean(np.sign(contestant.differences()) == problem.order)),
    }


def fit(contestant, problem, job):
    """One fit with hyperparameters."""
    seconds, evaluations = timed(contestant.fit)
    return {"seconds": seconds, "evaluations": evaluations}


def evaluate(contestant, problem, job):
    """One evidence with gradient as a search meets it: the mode is known at parameters a step away."""
    contestant.prepare()
    contestant.evidence_and_gradient(START)
    step = np.where(np.arange(len(START)) == 0, 0.0, 0.1)
    seconds, (value, _) = timed(contestant.evidence_and_gradient, START + step)
    return {"seconds": seconds, "evidence": value}


def predict(contestant, problem, job):
    """The held-out pairs, at given parameters; the best of three runs and of all sizes of chunks."""
    contestant.fix(problem.truth)
    return {"seconds": min(timed(contestant.predict, chunk)[0] for _ in range(3) for chunk in contestant.chunks)}


def at(contestant, problem, job):
    """Evidence and accuracy at given parameters."""
    contestant.fix(job["solution"])
    return {}


def peak_memory():
    """Return the peak so far of this process in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def main():
    job = json.loads(sys.argv[1])
    problem = Problem.draw(job["n"], job["m"], job["n_held"], job["seed"], job["truth"], job.get("pool"))
    if job["job"] == "agree":
        print(json.dumps(agree(problem)))
        return
    kind = {"ours": Ours, "BoTorch": BoTorch}[job["who"]]
    run = {"fit": fit, "evaluate": evaluate, "predict": predict, "at": at}[job["job"]]
    small = kind(Problem.draw(20, 60, 10))
    small.fit()  # lazy imports, thread pools
    small.differences()
    contestant = kind(problem)
    before = peak_memory()
    found = run(contestant, problem, job)
    found["bytes"] = peak_memory() - before
    if job["job"] != "evaluate":
        found.update(summary(contestant, problem))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
