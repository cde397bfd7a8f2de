"""How far a reader walks to follow a call: no further than `benchmarks.walk` aims at."""

import pytest
from benchmarks.walk import AIMS, counts, in_process


@pytest.mark.slow
@pytest.mark.parametrize("call", AIMS)
def test_a_call_enters_no_more_modules_than_a_reader_can_follow(call):
    found = in_process(call)
    many = counts(found)
    above = {what: many[what] for what, most in AIMS[call].items() if many[what] > most}
    assert not above, f"python -m benchmarks.walk --list: {sorted(found['modules'])}"
