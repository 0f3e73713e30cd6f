"""Results kept from earlier runs, as JSON lines in `target/bench/accuracy/results.jsonl`.

The key of a result is the cell and draw, a checksum of its rows and labels, the method, and the program with its
version. When lapwing changes, its results are measured again, while those of peers are kept.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import common

Key = dict[str, Any]
Result = dict[str, Any]


class Cache:
    """The results in the file. Several processes may add results at the same time."""

    def __init__(self, path: Path = common.ROOT / "target" / "bench" / "accuracy" / "results.jsonl") -> None:
        self._path = path
        self._found: dict[str, Result] = {}
        self._latest: dict[str, Result] = {}
        if path.exists():
            for line in path.read_text().splitlines():
                record = json.loads(line)
                self._found[_name(record["key"])] = record["result"]
                latest = {**record["result"], "program": record["key"]["program"]}
                self._latest[_name({**record["key"], "program": ""})] = latest

    def get(self, key: Key, any_program: bool = False) -> Result | None:
        """The result of a key; else, with `any_program`, the latest of another version, with that version's name."""
        found = self._found.get(_name(key))
        return found or (self._latest.get(_name({**key, "program": ""})) if any_program else None)

    def add(self, key: Key, result: Result) -> None:
        """Store a result as one line in one write, so that lines of concurrent processes do not mix."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._found[_name(key)] = result
        file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            os.write(file, (json.dumps({"key": key, "result": result}) + "\n").encode())
        finally:
            os.close(file)


def _name(key: Key) -> str:
    return json.dumps(key, sort_keys=True)
