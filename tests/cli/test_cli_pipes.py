"""Pipes in place of files, as of ``<(cat matches.csv)``: read once, and written to straight."""

import contextlib
import gzip
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from fast_share import slow_except
from preflearn import _disk
from preflearn.io import read_preferences

pytestmark = pytest.mark.skipif(not Path("/dev/fd").exists(), reason="this system does not name open streams")
RUN = [sys.executable, "-c", "import sys; from preflearn.cli.main import main; sys.exit(main())"]


@pytest.fixture
def pipe():
    """Return a function that puts bytes into a pipe and returns its name."""
    opened = []

    def make(content: bytes) -> str:
        reading, writing = os.pipe()
        opened.append(reading)
        assert len(content) < 1 << 16  # as much as fits without a reader
        os.write(writing, content)
        os.close(writing)
        return f"/dev/fd/{reading}"

    yield make
    for number in opened:
        with contextlib.suppress(OSError):
            os.close(number)


COMMANDS = {
    "rank": ["rank", "matches.csv", "--no-circles"],
    "items of a fit": ["fit", "matches.csv", "--items", "items.csv", "--model", "rankrls", "--save", "new", "--force"],
    "pairs": ["predict", "gp.preflearn", "matches.csv"],
    "items": ["predict", "items.preflearn", "items.csv"],
    "rows": ["predict", "rows.preflearn", "test.txt"],
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", slow_except(COMMANDS, "items of a fit", "items", "rows"))
def test_a_pipe_is_read_as_the_file_is(name, packed, run, folder, pipe):
    data = [word for word in COMMANDS[name] if word.endswith((".csv", ".txt"))]
    pack = gzip.compress if packed else bytes
    names = {word: pipe(pack((folder / word).read_bytes())) for word in data}
    code, out, err = run(*(names.get(word, word) for word in COMMANDS[name]))
    expected = run(*COMMANDS[name])
    assert (code, expected[0]) == (0, 0), err
    for word, named in names.items():
        out, err = out.replace(named, word), err.replace(named, word)
    assert (out.split(), err.split()) == (expected[1].split(), expected[2].split())


def test_a_model_is_judged_on_a_pipe(run, folder, pipe):
    code, out, err = run("evaluate", "names.preflearn", pipe((folder / "later.csv").read_bytes()))
    assert (code, "pairwise accuracy" in out) == (0, True), err


@pytest.mark.slow
def test_what_a_pipe_held_is_forgotten_after_the_command(run, pipe):
    name = pipe(b"winner,loser\nann,bob\nbob,cy\n")
    assert run("rank", name)[0] == 0
    code, _, err = run("rank", name)
    assert (code, "the file is empty" in err) == (2, True)
    assert _disk._kept is None


def test_a_pipe_is_read_by_the_library_too(pipe):
    assert read_preferences(pipe(b"winner,loser\nann,bob\nbob,cy\n")).data.n_items == 3


def test_a_model_in_a_pipe_is_refused(run, folder, pipe):
    code, _, err = run("predict", pipe((folder / "names.preflearn").read_bytes()[:1000]), "matches.csv")
    assert code == 2
    assert "not from a pipe. Give the path" in err


@pytest.mark.slow
@pytest.mark.parametrize("target", ["pipe", "file"])
def test_tables_go_to_standard_output_by_its_name(target, folder):
    command = [*RUN, "predict", "names.preflearn", "matches.csv"]
    plain = subprocess.run(command, cwd=folder, capture_output=True, check=True).stdout
    if target == "pipe":
        done = subprocess.run([*command, "--out", "/dev/stdout"], cwd=folder, capture_output=True, check=True).stdout
        assert done == plain
        return
    with (folder / "all").open("wb") as stream:
        stream.write(b"before\n")
        stream.flush()
        subprocess.run([*command, "--out", "/dev/stdout"], cwd=folder, stdout=stream, check=True)
    assert (folder / "all").read_bytes() == b"before\n" + plain


@pytest.mark.slow
def test_a_named_pipe_is_written_to_straight(run, folder):
    os.mkfifo(folder / "pipe")
    reader = os.open(folder / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert run("rank", "matches.csv", "--out", "pipe")[0] == 0
        assert os.read(reader, 1 << 16).startswith(b"rank,item,")
    finally:
        os.close(reader)


def test_a_stream_that_is_not_open_is_named_before_anything_is_read(run):
    code, out, err = run("rank", "matches.csv", "--out", "/dev/fd/987")
    assert (code, out) == (2, "")
    assert "/dev/fd/987: no file can be written there" in err


@pytest.mark.parametrize("name", ["a pipe", "standard input", "a packed file"])
def test_what_does_not_end_is_not_read_until_memory_does(name, run, folder, pipe, monkeypatch):
    monkeypatch.setattr(_disk, "MOST_BYTES", 1000)
    content = b"winner,loser\n" + b"ann,bob\n" * 1000
    if name == "a pipe":
        source = pipe(content)
    elif name == "standard input":
        source = "-"
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
    else:
        source = "bomb.csv.gz"
        (folder / source).write_bytes(gzip.compress(content))
    code, _, err = run("rank", source)
    assert code == 2
    named = "standard input" if source == "-" else source
    assert err == f"preflearn: {named}: there are more than 0.0 GB in it. Use fewer rows.\n"
