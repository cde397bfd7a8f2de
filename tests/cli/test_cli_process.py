"""The command as a process: start-up, streams, exit codes, interrupts, pipes and terminals."""

import os
import pty
import re
import signal
import subprocess
import sys
import threading
from dataclasses import fields

import pytest
from cli_files import svmlight

from fast_share import THOROUGH
from preflearn import __version__
from preflearn.cli.app import COMMANDS
from preflearn.cli.console import progress
from preflearn.cli.fit import Learning
from preflearn.cli.main import main
from preflearn.cli.options import Machine, Output, ReadOptions
from preflearn.cli.rank import Heading

pytestmark = pytest.mark.slow

RUN = [sys.executable, "-c", "import sys; from preflearn.cli.main import main; sys.exit(main())"]


def process(*arguments, folder, **environment):
    return subprocess.run(
        [*RUN, *arguments],
        cwd=folder,
        env={**os.environ, "COLUMNS": "80", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_help_imports_nothing_heavy(folder):
    every = [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)]
    code = (
        "import sys\nfrom preflearn.cli.main import main\n"
        f"for asked in {every}:\n"
        "    assert main(asked) == 0\n"
        "    heavy = {'numpy', 'scipy', 'sklearn', 'narwhals', 'pandas', 'polars', 'pyarrow'} & set(sys.modules)\n"
        "    assert not heavy, f'{asked} imported {heavy}'\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "preflearn" in done.stdout


def test_mistakes_in_options_are_answered_before_anything_heavy_is_imported(folder):
    code = (
        "import sys\nfrom preflearn.cli.main import main\n"
        "assert main(['fit', 'train.txt', '--save', 'rows.preflearn']) == 2\n"
        "sys.exit('numpy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, check=False).returncode == 0


def test_help_fits_80_columns_and_gives_examples(run):
    assert run("--help")[1] == run()[1]
    for command in ([], *([name] for name in COMMANDS)):
        code, out, err = run(*command, "--help")
        assert (code, err) == (0, "")
        assert max(map(len, out.splitlines())) <= 80
        assert not re.search(r"^    preflearn .* $", out, re.MULTILINE), "an example is broken and cannot be copied"
        assert f"    {' '.join(['preflearn', *command])}" in out
    for option in ("--items", "--alpha", "--components", "--ties", "--weighting", "--nystroem", "--scoring", "--force"):
        described = re.search(rf"{option} .*?[a-z]{{3}}", run("fit", "--help")[1])
        assert described, option


def test_every_option_is_described(run):
    import inspect

    from preflearn.cli.app import app

    for name in COMMANDS:
        function = app[name].default_command
        text = inspect.getdoc(function)
        section = text.split("Parameters\n----------\n")[1]
        described = re.findall(r"^(\w+)$", section, re.MULTILINE)
        shared = ("reading", "learning", "heading", "output", "machine")  # described where they are defined
        assert described == [name for name in inspect.signature(function).parameters if name not in shared]
        assert f"    preflearn {name}" in text
    for options in (ReadOptions, Learning, Heading, Output, Machine):
        section = inspect.getdoc(options).split("Attributes\n----------\n")[1]
        assert re.findall(r"^(\w+)$", section, re.MULTILINE) == [field.name for field in fields(options)]


def test_the_version_is_that_of_the_package(run):
    assert run("--version") == (0, f"preflearn {__version__}\n", "")


def test_exit_codes_and_streams_of_the_process(folder):
    good = process("predict", "rows.preflearn", "test.txt", folder=folder)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith("row,qid,score,rank\n1,1,")
    bad = process("predict", "rows.preflearn", "none.txt", folder=folder)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr.startswith("preflearn: none.txt: ")
    assert process("--nothing", folder=folder).returncode == 2


def test_output_in_a_pipe_is_plain_text_without_colours_or_spinners(folder):
    done = process("evaluate", "rows.preflearn", "test.txt", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    lines = done.stdout.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line == line.rstrip() for line in lines)


def test_ascii_output_is_possible_and_names_it_cannot_show_are_named(folder):
    done = process("evaluate", "rows.preflearn", "test.txt", folder=folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "disagreement error" in done.stdout
    (folder / "names.csv").write_text("winner,loser\nZoë,Bob\nBob,Al\n", encoding="utf-8")
    assert main(["fit", "names.csv", "--alpha", "1", "--save", "m.preflearn"]) == 0
    done = process("predict", "m.preflearn", folder=folder, PYTHONIOENCODING="ascii")
    assert done.returncode == 2
    assert "PYTHONIOENCODING=utf-8" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_stops_early_is_no_error(folder):
    (folder / "long.txt").write_text("\n".join(svmlight(0, 3000)))
    with subprocess.Popen(
        [*RUN, "predict", "rows.preflearn", "long.txt"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout.readline() == b"row,qid,score,rank\n"
        running.stdout.close()
        assert running.wait(60) == 0
        assert running.stderr.read() == b""


def test_an_interrupt_while_learning_gives_130_and_no_file(folder):
    (folder / "long.txt").write_text("\n".join(svmlight(0, 250)))
    command = ["fit", "long.txt", "--model", "kpcr", "--save", "m.preflearn"]
    before = sorted(path.name for path in folder.iterdir())
    with subprocess.Popen([*RUN, *command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline().startswith(b"Read")  # now it learns, for many times as long as this takes
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == 130
        assert running.stderr.read() == b"preflearn: interrupted.\n"
    assert sorted(path.name for path in folder.iterdir()) == before


SLOW_SAVE = """
import signal, sys, time
import numpy as np
from preflearn.cli.main import main

def slowly(stream, array, **options):
    stream.write(b"half")
    print("saving", flush=True)
    time.sleep(60)

np.lib.format.write_array = slowly
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # whatever the tests were started by
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGHUP", 129)])
@pytest.mark.parametrize("existing", [False, True] if THOROUGH else [True])
def test_a_signal_while_saving_gives_its_code_and_leaves_what_was_there(existing, name, code, folder):
    target = folder / "m.preflearn"
    if existing:
        target.write_bytes(b"before")
    before = sorted(path.name for path in folder.iterdir())
    command = [sys.executable, "-c", SLOW_SAVE, "fit", "train.txt", "--alpha", "1", "--save", target.name, "--force"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        while running.stdout.readline() != b"saving\n":
            assert running.poll() is None
        assert len(list(folder.glob(".m.preflearn.*"))) == 1  # the temporary file
        running.send_signal(getattr(signal, name))
        assert running.wait(60) == code
        said = {130: b"preflearn: interrupted.\n"}.get(code, b"preflearn: terminated.\n")
        assert running.stderr.read().endswith(said)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert not existing or target.read_bytes() == b"before"


def test_a_signal_that_is_ignored_stays_so_and_handlers_are_given_back(folder, monkeypatch):
    seen = []
    monkeypatch.setattr("preflearn.cli.main._run", lambda tokens: seen.append(signal.getsignal(signal.SIGHUP)) or 0)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup does
    try:
        assert main([]) == 0
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        assert main([]) == 0
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGHUP, before)
    assert seen[0] is signal.SIG_IGN
    assert callable(seen[1])


def in_terminal(folder, *arguments, **environment):
    """Run with standard output and error on a terminal and return what it shows."""
    master, slave = pty.openpty()
    env = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **environment}
    running = subprocess.Popen([*RUN, *arguments], cwd=folder, stdout=slave, stderr=slave, env=env)
    os.close(slave)
    shown = b""
    while True:
        try:
            piece = os.read(master, 4096)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(master)
    assert running.wait(60) == 0
    return shown.decode()


def test_a_terminal_shows_bold_headings_unless_colours_are_unwanted(folder):
    (folder / "m1.preflearn").symlink_to(folder / "rows.preflearn")
    shown = in_terminal(folder, "evaluate", "rows.preflearn", "test.txt")
    assert "\x1b[1m" in shown
    plain = in_terminal(folder, "evaluate", "rows.preflearn", "test.txt", NO_COLOR="1")
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", plain)


class Terminal:
    """A standard error that says it is a terminal and keeps what is written."""

    encoding = "utf-8"

    def __init__(self):
        self.text = ""
        self.written = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        self.text += text
        self.written.set()
        return len(text)

    def flush(self):
        pass


def test_a_spinner_appears_on_a_terminal_after_a_while_and_not_before(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with progress("Reading"):
        pass
    assert terminal.text == ""
    monkeypatch.setattr("preflearn.cli.console._PATIENCE", 0.01)
    with progress("Reading"):
        assert terminal.written.wait(10)
    assert "Reading" in terminal.text


def test_a_spinner_never_appears_in_a_pipe(monkeypatch, capsys):
    monkeypatch.setattr("preflearn.cli.console._PATIENCE", 0.0)
    with progress("Reading"):
        threading.Event().wait(0.1)
    assert capsys.readouterr() == ("", "")


def test_importing_the_entry_point_imports_only_what_is_needed_to_fail_well(folder):
    # An interrupt before main() runs cannot be caught, so this time must be short.
    code = "import sys, preflearn.cli.main; sys.exit('cyclopts' in sys.modules or 'rich' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], cwd=folder, check=False).returncode == 0
