"""Rows in pieces are learned from under a hard limit of memory that all rows together would break."""

import subprocess
import sys

import pytest

PROGRAM = """
import resource, sys
import numpy as np
from preflearn import KPCRank, Nystroem, RandomFourier, RankRLS
from preflearn.scale import Chunks

ROWS, PIECES, FEATURES = 8_000, 40, 40  # 102 MB in all

def pieces():
    for number in range(PIECES):
        rng = np.random.default_rng(number)
        X = rng.normal(size=(ROWS, FEATURES))
        group = np.arange(number * ROWS, (number + 1) * ROWS) // 20
        yield X, X[:, 0] + rng.normal(size=ROWS), group if sys.argv[1] == "together" else group % 500

models = [RankRLS(), RankRLS(ties="exclude"), RankRLS(kernel="rbf", approximation=RandomFourier(60, random_state=0))]
if sys.argv[1] == "together":
    models.append(KPCRank(5, "rbf", approximation=Nystroem(50, random_state=0)))
small = Chunks([next(pieces())])
for model in models:
    model.fit(small)  # whatever is imported late
held = next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmData")) << 10
resource.setrlimit(resource.RLIMIT_DATA, (held + MORE, held + MORE))
try:
    np.ones((PIECES * ROWS, FEATURES))
    sys.exit("the limit limits nothing")
except MemoryError:
    pass
for model in models:
    model.fit(Chunks(pieces))
    print(type(model).__name__)
"""


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are those of Linux")
@pytest.mark.parametrize("groups", ["together", "apart"])
def test_a_hard_limit_of_memory_is_enough(groups):
    program = PROGRAM.replace("MORE", str(64 << 20))
    done = subprocess.run([sys.executable, "-c", program, groups], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split()[:2] == ["RankRLS", "RankRLS"]
