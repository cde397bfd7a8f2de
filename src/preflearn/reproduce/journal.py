"""Finished trials, one JSON line each: what an interrupted run leaves, and the next one starts from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from preflearn.exceptions import DataError
from preflearn.reproduce.experiment import Record


class Journal:
    """The file of a run's finished trials.

    A line holds the key under which the trial was run (settings, seed, data, version), its number, its seconds and its
    records. Lines of other keys stay, and are not looked at. A last line without its end, as a full disk or a power
    cut leaves it, is taken off.

    Parameters
    ----------
    path : path
        The file; it need not exist.
    key : mapping
        Everything that the records depend on, but for the number of the trial.
    """

    def __init__(self, path: Path, key: dict[str, Any]) -> None:
        self.path = path
        self.key = json.loads(json.dumps(key))  # as it will be read again: tuples are lists
        self.trials: dict[int, tuple[float, list[Record]]] = {}
        whole = 0
        for line in path.read_bytes().splitlines(keepends=True) if path.exists() else []:
            entry = _entry(line)
            if not line.endswith(b"\n"):
                break
            whole += len(line)
            if entry is not None and entry["key"] == self.key:
                self.trials[entry["repeat"]] = (entry["seconds"], entry["records"])
        self._whole = whole

    def add(self, repeat: int, seconds: float, records: list[Record]) -> None:
        """Append a finished trial; DataError where it cannot be written, with what is kept."""
        entry = {"key": self.key, "repeat": repeat, "seconds": round(seconds, 3), "records": records}
        line = json.dumps(entry, allow_nan=True, default=_plain).encode() + b"\n"
        try:
            with self.path.open("r+b" if self.path.exists() else "w+b") as stream:
                # another process may have added lines meanwhile: these stay, and a part of a line goes
                whole = self._whole if stream.seek(0, 2) >= self._whole else 0
                stream.seek(whole)
                whole += stream.read().rfind(b"\n") + 1
                stream.truncate(whole)
                stream.seek(whole)
                stream.write(line)
        except OSError as error:
            raise DataError(code="reproduce-cannot-write", owner=self.key["run"]).says(
                f"{self.path} cannot be written ({error.strerror}); {len(self.trials)} finished trials are kept there",
                "Make room and run the same again, which goes on where this ended",
            ) from None
        self._whole = whole + len(line)
        # as the file has them, so that a run that was interrupted prints what one that was not prints
        self.trials[repeat] = (entry["seconds"], json.loads(line)["records"])


def _entry(line: bytes) -> dict[str, Any] | None:
    """Return what a line holds; None for one that is no trial."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    wanted = {"key", "repeat", "seconds", "records"}
    return entry if isinstance(entry, dict) and entry.keys() >= wanted else None


def _plain(value: Any) -> Any:
    """Return numbers and arrays of numpy as those of Python."""
    return value.tolist()
