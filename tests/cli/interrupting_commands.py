"""Run commands that write files while they are killed, interrupted or out of disk; say what was left behind.

Run as a program, so that its children are copies of a small process: ``python interrupting_commands.py FOLDER HOW
COUNT``, with kill, interrupt, terminate or disk. What is computed is computed once: a child does little but write.
"""

import json
import os
import resource
import signal
import sys
import time
from pathlib import Path

import numpy as np
from cli_files import matches, save_probable_models, write_all

import preflearn.analysis.ranker
import preflearn.report.writing
from preflearn import load
from preflearn.cli.main import main as command_line

COMMANDS = {
    "rank": ["rank", "{}", "--no-circles", "--out", "o.csv", "--save", "o.preflearn", "--report", "o.html", "--force"],
    "convert": ["convert", "{}", "o.jsonl", "--force"],
    "predict": ["predict", "bt.preflearn", "{}", "--out", "o.csv", "--force"],
}
SOURCES = ("matches.csv", "few.csv")  # in turn, so that what was there before is something else
SIGNALS = {"kill": signal.SIGKILL, "interrupt": signal.SIGINT, "terminate": signal.SIGTERM}


def once(function, key):
    """Return a function that computes each answer once."""
    known = {}

    def answer(*arguments, **options):
        name = key(*arguments)
        if name not in known:
            known[name] = function(*arguments, **options)
        return known[name]

    return answer


def run(command):
    """Run a command with its output thrown away."""
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 - of a process that ends
    try:
        return command_line(command)
    except KeyboardInterrupt:  # after the command was done
        return 130


def outputs():
    """Return what is in the output files; of those that differ from run to run, whether they are whole."""
    found = {}
    for path in sorted(Path().glob("o.*")):
        content = path.read_bytes()
        if path.suffix == ".preflearn":
            content = type(load(path)).__name__.encode()
        elif path.suffix == ".html":
            content = b"page" if content.startswith(b"<!") and content.rstrip().endswith(b"</html>") else b"torn page"
        found[path.name] = content
    return found


def temporary():
    return [name for name in os.listdir() if name.endswith(".preflearn-tmp")]  # noqa: PTH208 - names only


def wait_for_files(child, number):
    """Return when the child is writing its n-th file, or has ended."""
    seen = set()
    while len(seen) < number:
        seen.update(temporary())
        if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            return


def end(child, number):
    """Send a child its signal and return how it ended; an interrupt within a finaliser is lost, and sent again."""
    while True:
        os.kill(child, number)
        for _ in range(2000):
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.001)


def prepare(folder):
    """Make the files, and let what is computed be computed once."""
    os.chdir(folder)
    write_all(Path())
    Path("few.csv").write_text("\n".join(matches(3, 20)) + "\n")
    save_probable_models(Path())
    preflearn.analysis.ranker.rank_comparisons = once(
        preflearn.analysis.ranker.rank_comparisons, lambda read, *_: read.source
    )
    preflearn.report.writing.report_html = once(preflearn.report.writing.report_html, lambda result: len(result.data))


def attempt(command, how, n_files, rng, span):
    """Let a child run a command and end it while it writes one of its files; return how it ended."""
    child = os.fork()
    if child == 0:
        if how == "disk":
            resource.setrlimit(resource.RLIMIT_FSIZE, (int(rng.integers(1, 500)),) * 2)
        os._exit(run(command))
    if how == "disk":
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    wait_for_files(child, int(rng.integers(1, n_files + 1)))
    time.sleep(float(rng.exponential(span / 20)))
    return end(child, SIGNALS[how])


def trials(name, how, count):
    """Return how often files were old, new, missing or torn, how the command ended, and what else was left."""
    commands = [[source if word == "{}" else word for word in COMMANDS[name]] for source in SOURCES]
    whole, streams = [], (sys.stdout, sys.stderr)
    for command in commands:
        start = time.perf_counter()
        assert run(command) == 0
        span = time.perf_counter() - start
        whole.append(outputs())
    sys.stdout, sys.stderr = streams
    rng = np.random.default_rng(1)
    files = dict.fromkeys(("old", "new", "missing", "torn"), 0)
    codes, left = set(), 0
    for trial in range(count):
        if trial % 3 == 0 and how != "disk":
            for path in Path().glob("o.*"):
                path.unlink()
        before = outputs()
        codes.add(attempt(commands[trial % 2], how, len(whole[0]), rng, span))
        now = outputs()
        for file, content in whole[trial % 2].items():
            found = now.get(file)
            kept = "old" if found == before.get(file) else "torn"
            files["missing" if found is None else "new" if found == content else kept] += 1
        left += len(temporary())
        for leftover in temporary():
            Path(leftover).unlink()
    for path in Path().glob("o.*"):
        path.unlink()
    return {"files": files, "codes": sorted(codes), "left": left}


if __name__ == "__main__":
    prepare(sys.argv[1])
    sys.stdout.write(json.dumps({name: trials(name, sys.argv[2], int(sys.argv[3])) for name in COMMANDS}) + "\n")
