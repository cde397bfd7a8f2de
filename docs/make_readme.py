"""Write into README.md what its blocks print, after a change of what is printed.

    python docs/make_readme.py

Of the command's output the README shows some parts, with dots for the rest: the verdict, the table, and the first
warning. Below a block of Python stands what it prints, unless comments say it.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def shown(output: str) -> str:
    """Return the parts of the command's output that the README shows."""
    table = output[output.index("Verdict") : output.index("\n\n        and ")]
    warning = re.search(r"^Warning .*?(?=\n        \d|\Z)", output, flags=re.MULTILINE | re.DOTALL)
    assert warning is not None
    return f"...\n{table.rstrip()}\n...\n{warning[0].rstrip()}\n..."


def main() -> None:
    """Run the command and the blocks, and write what they print."""
    text = (ROOT / "README.md").read_text("utf-8")
    block = re.search(r"```\n\$ preflearn (rank .*?)\n(.*?)\n```", text, flags=re.DOTALL)
    assert block is not None
    done = subprocess.run(
        [sys.executable, "-m", "preflearn", *block[1].split()],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": "100", "PYTHONIOENCODING": "utf-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    text = text.replace(block[2], shown(done.stdout))
    os.chdir(ROOT)
    names: dict[str, object] = {}
    for code, table in re.findall(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", text, flags=re.DOTALL):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, "README.md", "exec"), names)  # noqa: S102 - our own README
        if table:
            text = text.replace(f"```\n{table}```", f"```\n{printed.getvalue()}```")
    (ROOT / "README.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
