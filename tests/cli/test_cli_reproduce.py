"""The command that reruns experiments: names, mistakes, what is printed and saved."""

import json
import signal
import subprocess
import sys
import time

import pytest

from preflearn.reproduce import experiments


def test_the_list_has_every_name_once(run):
    code, out, err = run("reproduce", "--list")
    assert (code, err) == (0, "")
    first = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    assert first == [*experiments(), "all"]
    assert "(kpcrank 2008, section 6.2): 3 min" in " ".join(out.split())


@pytest.mark.slow
def test_a_table_is_printed_and_saved(run, folder):
    code, out, err = run("reproduce", "kpcrank-sinc", "kpcrank-sinc", "--quick", "--repeats", 1, "--out", "there")
    assert (code, err) == (0, "")
    assert out.count("Sinc curve") == 1  # a name that is given twice
    assert "KPCRank" in out
    assert "quick look" in out
    assert (folder / "there" / "kpcrank-sinc.md").read_text().startswith("# Sinc curve")
    assert json.loads((folder / "there" / "kpcrank-sinc.json").read_text())["repeats"] == {"kpcrank-sinc": 1}


SMALL = ["reproduce", "kpcrank-sinc", "--quick", "--repeats", "3", "--out"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="other signals")
def test_what_a_signal_leaves_is_whole_and_the_next_run_goes_on_from_it(run, folder):
    assert run(*SMALL, "whole")[0] == 0
    for name, code, said in (("INT", 130, "preflearn: interrupted.\n"), ("KILL", -9, "")):
        path = folder / name / "trials" / "kpcrank-sinc.jsonl"
        command = [sys.executable, "-m", "preflearn", *SMALL, name]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None and not (path.exists() and b"\n" in path.read_bytes()):
                time.sleep(0.002)  # until a whole trial is there: of a line, the beginning may be seen first
            process.send_signal(getattr(signal, f"SIG{name}"))
            err = process.communicate(timeout=100)[1]
        assert (process.returncode, err) == (code, said)
        assert not (folder / name / "kpcrank-sinc.md").exists()
        before = path.read_bytes()
        kept = before[: before.rfind(b"\n") + 1]  # without a line that was torn
        assert 0 < kept.count(b"\n") < 3
        assert run(*SMALL, name)[0] == 0
        after = path.read_bytes()
        assert after.startswith(kept)
        assert after.count(b"\n") == 3
        one, other = (json.loads((folder / out / "kpcrank-sinc.json").read_text()) for out in (name, "whole"))
        assert {**one, "seconds": 0} == {**other, "seconds": 0}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="other signals")
def test_an_interrupt_while_several_processes_work_keeps_what_is_finished(folder):
    path = folder / "two" / "trials" / "kpcrank-sinc.jsonl"
    command = [sys.executable, "-m", "preflearn", *SMALL[:3], "--repeats", "60", "--jobs", "2", "--out", "two"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while process.poll() is None and not (path.exists() and b"\n" in path.read_bytes()):
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        err = process.communicate(timeout=100)[1]
    assert (process.returncode, err) == (130, "preflearn: interrupted.\n")
    kept = [json.loads(line)["repeat"] for line in path.read_text().splitlines()]
    assert 0 < len(kept) < 60
    assert len(set(kept)) == len(kept)
    assert not (folder / "two" / "kpcrank-sinc.md").exists()


@pytest.mark.slow
def test_an_experiment_that_fails_does_not_stop_the_next(run, folder):
    (folder / "data" / "letor_ohsumed").mkdir(parents=True)
    (folder / "data" / "letor_ohsumed" / "S1.txt.gz").write_bytes(b"")
    names = ["rankrls-table2", "rankrls-table4"]
    code, out, err = run("reproduce", *names, "--repeats", 1, "--data", "data", "--out", "there")
    said = "data/letor_ohsumed lacks 4 of 5 files of OHSUMED"
    assert code == 2
    assert f"Failed rankrls-table2: {said}" in " ".join(out.split())
    assert f"preflearn: {said}" in err
    assert "TREC2003 is missing" in err
    assert {path.stem for path in (folder / "there").glob("*.md")} == {"rankrls-table4"}


MISTAKES = {
    "nothing": ([], ["NAMES are missing", "--list"]),
    "unknown name": (["kpcrank-sink"], ['"kpcrank-sink"', '"kpcrank-sinc"', "Choose from"]),
    "all in capitals": (["ALL"], ['"ALL"', 'nearest names: "all"', "Choose from"]),
    "all and an unknown one": (["all", "kpcrank-sink"], ['no experiment "kpcrank-sink"', "Choose from"]),
    "no jobs": (["kpcrank-sinc", "--jobs", "0"], ["--jobs is 0", "1 or more"]),
    "no repeats": (["kpcrank-sinc", "--repeats", "0"], ["--repeats is 0", "1 or more"]),
    "no such data": (["kpcrank-sinc", "--data", "nowhere"], ["nowhere", "no such directory", "--data"]),
    "out is a file": (["kpcrank-sinc", "--quick", "--out", "matches.csv"], ["matches.csv", "cannot", "Choose another"]),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_get_one_message(name, run):
    arguments, words = MISTAKES[name]
    code, _, err = run("reproduce", *arguments)
    assert code == 2
    assert err.startswith("preflearn: ")
    assert err.count("\n") == 1
    for word in words:
        assert word in err
