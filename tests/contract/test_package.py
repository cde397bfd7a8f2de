"""What `import preflearn` gives: every name and every room, and nothing that is slow."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import preflearn

ROOMS = sorted(
    path.name
    for path in Path(preflearn.__file__).parent.iterdir()
    if (path / "__init__.py").is_file() and path.name not in ("cli", "inference", "linalg", "operators", "terms")
)


def fresh(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_every_room_is_an_attribute_in_a_fresh_session():
    code = (
        "import json, sys, preflearn\n"
        "heavy = [name for name in ('numpy', 'scipy', 'sklearn') if name in sys.modules]\n"
        f"rooms = {ROOMS!r}\n"
        "listed = [name for name in rooms if name not in dir(preflearn)]\n"
        "found = {name: getattr(preflearn, name).__name__ for name in rooms}\n"
        "call = callable(preflearn.report.write_report)\n"
        "print(json.dumps([heavy, listed, found, call]))"
    )
    heavy, not_listed, found, can_report = fresh(code)
    assert heavy == []
    assert not_listed == []
    assert found == {name: f"preflearn.{name}" for name in ROOMS}
    assert can_report


def test_rooms_of_maths_and_unknown_names_stay_out():
    with pytest.raises(AttributeError, match="no attribute 'reprot'"):
        _ = preflearn.reprot
    assert not {"inference", "terms", "operators"} & set(dir(preflearn))
