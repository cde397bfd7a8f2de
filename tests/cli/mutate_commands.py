"""Damaged files through every command: an answer or one message; whole files or none; and soon.

Run ``python tests/cli/mutate_commands.py --runs 2000`` for the long version.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import gzip
import io
import json
import os
import signal
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from preflearn import BradleyTerry, PreferenceGP, RankRLS, load
from preflearn.baselines import LabelFrequencies
from preflearn.cli.main import main
from preflearn.files import save
from preflearn.io import read_label_preferences, read_preferences

LIMIT = 5  # seconds of computing for one command
WAIT = 60  # seconds by the clock
WINS = "winner,loser\na,b\nb,c\na,c\nd,a\nc,d\nb,d\n"
VOTES = "judge,left,right,winner\nx,a,b,left\ny,a,b,right\nx,b,c,tie\ny,c,d,c\nx,d,a,left\ny,b,d,right\n"
LINES = [dict(zip(("winner", "loser"), row.split(","), strict=True)) for row in WINS.split()[1:]]
PREFLIB = "# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n"
TABLES = {
    "wins.csv": WINS,
    "wins.tsv": WINS.replace(",", "\t"),
    "bom.csv": "\ufeff" + WINS.replace("\n", "\r\n"),
    "quoted.csv": '"winner","loser"\n"a, junior","b"\n"b","c"\n"c","a, junior"\n',
    "wide.csv": WINS.encode("utf-16"),
    "packed.csv.gz": gzip.compress(WINS.encode(), mtime=0),
    "votes.csv": VOTES,
    "games.csv": "home,away,score_home,score_away\na,b,2,1\nb,c,0,0\nc,a,1,3\nd,a,2,2\nb,d,4,1\n",
    "decimal.csv": "home;away;score_home;score_away\na;b;2,5;1\nb;c;0;0,5\nc;a;1;3\n",
    "outcomes.csv": "first,second,outcome,weight\na,b,1,2\nb,c,-1,1\nc,a,0,1\nd,a,1,0.5\n",
    "counts.csv": "first,second,wins_first,wins_second\na,b,3,1\nb,c,2,2\nc,a,0,4\n",
    "rankings.csv": "voter,ranking\n1,a > b > c\n2,b > a = c\n3,c > a\n",
    "labels.csv": "id,age,town,ranking\n1,20,Rome,a > b > c\n2,,Bern,b > a = c\n3,50,Rome,c > a\n4,44,,b > c > a\n",
    "ranks.csv": "age,rank_a,rank_b,rank_c\n20,1,2,3\n30,2,1,3\n50,,1,2\n44,3,1,2\n",
    "classes.csv": "size,colour,class\n1,red,x\n2.5,blue,y\n,red,x\n4,blue,y\n3,red,y\n",
    "places.csv": "race,item,place\n1,a,1\n1,b,2\n2,b,1\n2,c,2\n2,a,3\n",
    "wins.jsonl": "".join(json.dumps(line) + "\n" for line in LINES),
    "wins.json": json.dumps(LINES),
    "votes.soc": PREFLIB + "3: 1,2,3\n1: 2,3,1\n",
    "votes.toi": PREFLIB + "2: 1,{2,3}\n1: 3,1\n",
    "rows.txt": "2 qid:1 1:0.5 2:1\n0 qid:1 2:1\n1 qid:2 1:2\n0 qid:2 1:1 2:3\n1 qid:1 1:1\n2 qid:2 1:3\n",
}
ITEMS = "item,size,kind\na,1,x\nb,2.5,y\nc,-1,x\nd,4,y\n"
PAIRS = "first,second\na,b\nc,d\n"
COMMANDS = (
    "rank {data} --out out.csv",
    "rank {data} --model bradley-terry --no-circles --save out.preflearn --json",
    "rank {data} --model thurstone --no-circles --report out.html",
    "rank {data} --items {items} --model gp --no-circles --out out.csv",
    "fit {data} --model bradley-terry --save out.preflearn",
    "fit {data} --alpha 1 --save out.preflearn",
    "fit {data} --items {items} --model rankrls --save out.preflearn",
    "fit {rows} --save out.preflearn",
    "predict {model} {data} --out out.csv",
    "predict {model} {pairs}",
    "predict {model} {items} --out out.csv",
    "predict {model}",
    "evaluate {model} {data} --json",
    "evaluate {data} --model bradley-terry --folds 2",
    "fit {data} --model label-frequencies --save out.preflearn",
    "evaluate {data} --model label-frequencies --folds 2 --json",
    "inspect {data} --json",
    "inspect {model}",
    "suggest {data} -n 3 --model bradley-terry --out out.csv",
    "suggest {model} -n 2",
    "forecast {model} {pairs} --out out.csv",
    "forecast {data} {pairs} --model bradley-terry --played {data}",
    "compare {data} bradley-terry rankrls --folds 2 --json",
    "convert {data} out.csv",
    "convert {data} out.jsonl",
    "convert {data} out.toi",
    "convert {data} out.svmlight --items {items}",
    "convert {rows} out.tsv",
)
OPTIONS = ("--drop", "--lower-wins", "--columns winner=a,loser=b", "--format rankings", "--format svmlight", "--seed 7")
BYTES = b"0123456789,;|\t\"'\n\r.-+eE:=>{}[]#()abcd\x00\xff\xef \xc3\xb6%_~/\\"
NUMBERS = "0 1 -1 0.5 1e999 1e300 -1e-300 nan NA inf 3:1 1,5 {1,2} =1+1 99999999"
WORDS = "tie left a d true winner loser first weight judge ranking item score_home"
CELLS = ("", " ", '"', "a > b", "\u00bd", "\u202e", "x" * 3000, *NUMBERS.split(), *WORDS.split())


class Late(BaseException):
    """A command takes too long; no command catches this."""


def mutate(content: bytes, others: list[bytes], rng: np.random.Generator) -> bytes:
    """Return content with up to two bytes, cells, lines or columns changed, or another file in its place."""
    if rng.random() < 0.05:
        return others[rng.integers(len(others))]
    for _ in range(int(rng.integers(0, 3))):
        content = (_bytes, _cells, _lines)[rng.integers(3)](content, rng)
    return content


def _bytes(content: bytes, rng: np.random.Generator) -> bytes:
    place, length = int(rng.integers(0, len(content) + 1)), int(rng.integers(1, 8))
    head, tail = content[:place], content[place:]
    new = bytes(BYTES[k] for k in rng.integers(0, len(BYTES), length))
    return (head + new[:1] + tail, head + new[:1] + tail[1:], head + tail[length:], head, head + new + tail)[
        rng.integers(5)
    ]


def _cells(content: bytes, rng: np.random.Generator) -> bytes:
    rows = [line.split(b",") for line in content.split(b"\n")]
    row, new = int(rng.integers(0, len(rows))), CELLS[rng.integers(len(CELLS))].encode()
    cell, action = int(rng.integers(0, len(rows[row]))), rng.integers(0, 5)
    if action == 0:
        rows[row][cell] = new
    elif action == 1:
        rows = [line[:cell] + line[cell + 1 :] for line in rows]
    elif action == 2:
        rows = [[*line, new] for line in rows]
    elif action == 3:
        rows = [[*line[:cell], new, *line[cell + 1 :]] for line in rows[:1]] + rows[1:]
    else:
        rows = [line[::-1] for line in rows]
    return b"\n".join(b",".join(line) for line in rows)


def _lines(content: bytes, rng: np.random.Generator) -> bytes:
    lines = content.split(b"\n")
    row, action = int(rng.integers(0, len(lines))), rng.integers(0, 5)
    if action == 0:
        lines[row:row] = [lines[row]] * int(rng.integers(1, 30))
    elif action == 1:
        del lines[row]
    elif action == 2:
        lines.insert(row, b"")
    elif action == 3:
        lines = lines[:1] + lines[:0:-1]
    else:
        lines = lines[: row + 1]
    return b"\n".join(lines)


def models(folder: Path) -> dict[str, bytes]:
    """Return the files of small models of names, features and rows."""
    for name, text in (("m.csv", WINS), ("i.csv", ITEMS), ("r.txt", TABLES["rows.txt"])):
        (folder / name).write_text(str(text))
    reading = read_preferences(folder / "m.csv", folder / "i.csv")
    encoder = {"encoder": reading.encoder.to_dict()}
    rows = read_preferences(folder / "r.txt").data
    (folder / "l.csv").write_text(str(TABLES["labels.csv"]))
    people = read_label_preferences(folder / "l.csv")
    fitted = (
        ("bt", BradleyTerry(prior=1.0).fit(read_preferences(folder / "m.csv").data), {}),
        ("gp", PreferenceGP("rbf", "logit", hyperparameters="fixed").fit(reading.data), encoder),
        ("rls", RankRLS(alpha=1.0).fit(rows), {}),
        (
            "labels",
            LabelFrequencies().fit(people.data),
            {"encoder": people.encoder.to_dict(), "labels": people.columns},
        ),
    )
    for name, model, notes in fitted:
        save(model, folder / name, notes=notes)
    return {name: (folder / name).read_bytes() for name, _, _ in fitted}


def check(code: object, out: str, err: str, command: list[str]) -> None:
    """Assert that the answer is one, and that files are whole or absent."""
    lines = err.splitlines()
    messages = [line for line in lines if not line.startswith("preflearn: warning: ")]
    assert code in (0, 2), f"exit code {code}"
    assert len(messages) == (code == 2), "not one message"
    assert all(line.startswith("preflearn: ") for line in lines), "another voice"
    assert "Traceback" not in out + err
    assert "unexpected error" not in err
    if code == 0 and "--json" in command:
        json.loads(out, parse_constant=lambda word: 1 / 0)
    for path in Path().glob(".*"):
        raise AssertionError(f"{path} was left behind")
    for path in Path().glob("out.*"):
        assert code == 0, f"{path} was written"
        if path.suffix == ".preflearn":
            load(path)
            continue
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".html":
            assert text.rstrip().endswith("</html>")
        elif path.suffix == ".jsonl":
            assert all(isinstance(json.loads(line), dict) for line in text.splitlines() if line)
        elif path.suffix in (".csv", ".tsv"):
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter="\t" if path.suffix == ".tsv" else ","))
            assert len(rows) > 1
            assert {len(row) for row in rows} == {len(rows[0])}


def _late(*_: object) -> None:
    raise Late


def call(command: list[str], limit: float) -> tuple[object, str, str]:
    """Run a command in this process, with its time limited."""
    out, err = io.StringIO(), io.StringIO()
    before = [signal.signal(number, _late) for number in (signal.SIGPROF, signal.SIGALRM)]
    signal.setitimer(signal.ITIMER_PROF, limit)
    signal.alarm(WAIT)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code: object = main(command)
            except (SystemExit, Late) as stop:
                code = repr(stop)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
        for number, handler in zip((signal.SIGPROF, signal.SIGALRM), before, strict=True):
            signal.signal(number, handler)
    return code, out.getvalue(), err.getvalue()


def run(
    n_runs: int, seed: int, folder: Path, report: list[str] | None = None, limit: float = LIMIT
) -> tuple[Counter[str], float]:
    """Run commands on mutants; return how they ended and the longest time. What is wrong is raised, or reported."""
    rng = np.random.default_rng(seed)
    known = models(folder)
    seeds = [content if isinstance(content, bytes) else content.encode() for content in TABLES.values()]
    others = [*seeds, ITEMS.encode(), *known.values(), b"", b"\x89PNG\r\n\x1a\n", b"<html></html>"]
    place = folder / "runs"
    place.mkdir()
    here = Path.cwd()
    os.chdir(place)
    counts: Counter[str] = Counter()
    slowest = 0.0
    try:
        for number in range(n_runs):
            command = prepare(number, rng, known, seeds, others)
            start = time.process_time()
            code, out, err = call(command, limit)
            slowest = max(slowest, time.process_time() - start)
            counts[f"exit {code}"] += 1
            counts[f"{command[0]} {code}"] += 1
            try:
                check(code, out, err, command)
            except Exception as error:
                files = {path.name: path.read_bytes()[:400] for path in place.iterdir()}
                text = f"run {number} of seed {seed}: {' '.join(command)}: {error!r}\n{err}\n{files}"
                if report is None:
                    raise AssertionError(text) from error
                report.append(text)
            for path in place.iterdir():
                path.unlink()
    finally:
        os.chdir(here)
    return counts, slowest


def prepare(
    number: int, rng: np.random.Generator, known: dict[str, bytes], seeds: list[bytes], others: list[bytes]
) -> list[str]:
    """Write the files of one run, one of them damaged, and return its command."""
    template = COMMANDS[number % len(COMMANDS)]
    names = {"data": list(TABLES)[rng.integers(len(TABLES))], "model": list(known)[rng.integers(len(known))]}
    if template == COMMANDS[0] and rng.random() < 0.5:
        names["data"] = "wins.csv"
    names |= {"rows": "rows.txt", "items": "items.csv", "pairs": "pairs.csv"}
    content = {
        "data": seeds[list(TABLES).index(names["data"])],
        "model": known[names["model"]],
        "rows": seeds[-1],
        "items": ITEMS.encode(),
        "pairs": PAIRS.encode(),
    }
    used = [role for role in names if "{" + role + "}" in template]
    damaged = used[rng.integers(len(used))]
    for role in used:
        text = mutate(content[role], others, rng) if role == damaged else content[role]
        Path(names[role]).write_bytes(text)
    extra = OPTIONS[rng.integers(len(OPTIONS))] if rng.random() < 0.1 else ""
    return f"{template.format(**names)} {extra}".split()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as directory:
        began = time.monotonic()
        ended, longest = run(given.runs, given.seed, Path(directory), wrong)
    for line in wrong:
        print(line, end="\n\n")  # noqa: T201 - a script
    took = time.monotonic() - began
    print(dict(sorted(ended.items())), f"longest {longest:.1f} s, {len(wrong)} wrong, {took:.0f} s")  # noqa: T201
