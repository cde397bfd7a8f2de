"""Long work shows that it goes on where a person looks, and nowhere else."""

import json
import os
import pty
import signal
import subprocess
import sys
import threading

import pytest

from preflearn.cli.console import progress

pytestmark = pytest.mark.slow

START = """
import sys, time
import preflearn.analysis.ranker, preflearn.cli.console
from preflearn.cli.main import main

preflearn.cli.console._PATIENCE = 0.0
"""
SLOW = """
def slowly(*_, progress, **__):
    progress("Thinking hard", 0.5)
    for _ in range(600):  # in pieces: a signal just before a long sleep would be seen after it
        time.sleep(0.1)

preflearn.analysis.ranker.rank_comparisons = slowly
"""
RANK = ("rank", "matches.csv", "--model", "bradley-terry")


class Watched:
    """A command whose standard error (and output, if asked for) is a terminal; ``shown`` is what it shows."""

    def __init__(self, folder, *arguments, code="", terminal=("stderr",)):
        self.shown = ""
        self.changed = threading.Condition()
        master, slave = pty.openpty()
        streams = {name: slave if name in terminal else subprocess.PIPE for name in ("stdout", "stderr")}
        environment = {**os.environ, "TERM": "xterm", "COLUMNS": "80"}
        command = [sys.executable, "-c", f"{START}{code}sys.exit(main())", *arguments]
        self.process = subprocess.Popen(command, cwd=folder, env=environment, text=True, **streams)
        os.close(slave)
        self.reader = threading.Thread(target=self._read, args=(master,))
        self.reader.start()

    def _read(self, master):
        while True:
            try:
                piece = os.read(master, 4096)
            except OSError:  # how a terminal ends
                piece = b""
            with self.changed:
                self.shown += piece.decode(errors="replace")
                self.changed.notify()
            if not piece:
                os.close(master)
                return

    def wait_for(self, text):
        with self.changed:
            assert self.changed.wait_for(lambda: text in self.shown, 60), self.shown

    def end(self):
        """Return the exit code and what went into pipes."""
        out, err = self.process.communicate(timeout=60)
        self.reader.join(60)
        return self.process.returncode, out, err


def test_a_terminal_shows_a_bar_and_takes_it_away_while_the_answer_goes_into_the_pipe(folder):
    watched = Watched(folder, *RANK, "--json")
    code, out, _ = watched.end()
    assert code == 0
    assert json.loads(out)["n_items"] == 12
    assert "Reading" in watched.shown  # later steps may be over before the line is drawn again
    assert "\u2501" in watched.shown  # the bar
    assert watched.shown.endswith("\x1b[2K")  # its line is empty again


def test_no_bar_where_standard_error_is_a_pipe_even_if_the_output_is_a_terminal(folder):
    watched = Watched(folder, *RANK, terminal=("stdout",))
    code, _, err = watched.end()
    assert (code, err) == (0, "")
    assert "C11" in watched.shown
    assert "\x1b[2K" not in watched.shown


def test_an_interrupt_takes_the_bar_away_and_gives_the_cursor_back(folder):
    before = sorted(path.name for path in folder.iterdir())
    watched = Watched(folder, *RANK, "--out", "o.csv", code=SLOW)
    watched.wait_for("Thinking hard")
    watched.process.send_signal(signal.SIGINT)
    assert watched.end()[0] == 130
    assert watched.shown.rstrip().endswith("preflearn: interrupted.")
    assert watched.shown.rindex("\x1b[?25h") > watched.shown.rindex("\x1b[?25l")
    assert "Traceback" not in watched.shown
    assert sorted(path.name for path in folder.iterdir()) == before


def test_names_of_files_are_shown_as_they_are(monkeypatch):
    class Terminal:
        encoding, text = "utf-8", ""
        written = threading.Event()

        def isatty(self):
            return True

        def write(self, text):
            Terminal.text += text
            self.written.set()
            return len(text)

        def flush(self):
            pass

    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr("preflearn.cli.console._PATIENCE", 0.0)
    Terminal.written.clear()
    with progress("Reading [/a] [b].csv"):
        assert Terminal.written.wait(10)
    assert "Reading [/a] [b].csv" in Terminal.text


@pytest.mark.parametrize(
    "command",
    [
        RANK,
        ("evaluate", "matches.csv", "--model", "bradley-terry"),
        ("evaluate", "bt.preflearn", "later.csv"),
        ("inspect", "matches.csv"),
        ("compare", "matches.csv", "bradley-terry", "thurstone", "--folds", "2"),
        ("doctor",),
    ],
    ids=" ".join,
)
def test_json_is_all_that_is_printed(command, run):
    code, out, err = run(*command, "--json")
    assert (code, err) == (0, "")
    assert isinstance(json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON")), dict)


def test_streams_that_are_closed_or_full_are_no_bug(folder):
    def shell(command):
        line = f"'{sys.executable}' -m preflearn {command}"
        done = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    assert shell("--version >&-") == (0, "")
    assert shell("rank nothing.csv 2>&-") == (2, "")
    assert shell("rank - <&-") == (2, "preflearn: standard input: the file is empty. Give a file with data.\n")
    if os.path.exists("/dev/full"):  # noqa: PTH110 - a device
        code, err = shell("--version >/dev/full")
        assert code == 2
        assert err.startswith("preflearn: standard output: No space left on device.")
        assert err.count("\n") == 1
