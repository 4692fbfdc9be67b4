"""A process that merges segments for another one, told what to do by lines of JSON.

It reads and writes local files only, whatever file system the store is on. It ends when its input
ends, so it does not outlive the process that started it by more than one merge.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from covey.errors import StoreError
from covey.store.arrays import read_path
from covey.store.files import Files
from covey.store.merge import Merge, merged
from covey.store.parts import Part
from covey.store.tombstones import pack_tombstones

__all__ = ["MergeProcess", "serve"]

_PROGRAM = """
import os
os.nice(19)  # before imports, which take a second
from covey.store.merge_process import serve
serve()
"""


class MergeProcess:
    """The other process, seen from the writer. Not for several threads at once, except `end`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, merge: Merge, files: Files) -> tuple[str, int] | None:
        """Merges, and gives the store the file: its SHA-256 and size; None if nothing was left."""
        output, stones_path = files.partial_path("merge"), files.partial_path("tombstones")
        task: dict[str, Any] = {
            "inputs": {part.file: str(files.path(part.file)) for part in merge.parts},
            "output": str(output),
            "horizons": dict(merge.horizons),
        }
        stones = pack_tombstones({part.file: part.tombstones for part in merge.parts})
        try:
            if stones is not None:
                stones_path.write_bytes(b"".join(stones.pieces))
                task["tombstones"] = {"path": str(stones_path), "sha256": stones.sha256}
            answer = self._ask(task)
            if "error" in answer:
                raise StoreError(f"a merge failed: {answer['error']}")
            if "sha256" not in answer:
                return None
            files.adopt(output, answer["sha256"])
            return answer["sha256"], answer["size_bytes"]
        finally:
            output.unlink(missing_ok=True)
            stones_path.unlink(missing_ok=True)

    def end(self) -> None:
        """Ends the process, also in the middle of a merge; `run` then is a `StoreError`."""
        self._process.kill()

    def close(self) -> None:
        """Ends the process and waits for its end."""
        self.end()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # what it was told last it will not read
                stream.close()

    def _ask(self, task: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            code = self._process.poll()
            raise StoreError(f"the process that merges ended (exit code {code})") from None
        return answer


def serve() -> None:
    """Merges as told on standard input, until it ends."""
    for line in sys.stdin:
        try:
            answer = _merge(json.loads(line))
        except Exception as error:  # whatever it is, the writer is to hear of it
            answer = {"error": f"{type(error).__name__}: {error}"}
        try:
            print(json.dumps(answer), flush=True)
        except BrokenPipeError:  # the writer is gone
            os._exit(1)


def _merge(task: Mapping[str, Any]) -> dict[str, Any]:
    parts = [Part.read(read_path(Path(path), file)) for file, path in task["inputs"].items()]
    if "tombstones" in task:
        stones = read_path(Path(task["tombstones"]["path"]), task["tombstones"]["sha256"])
        parts = [part.with_tombstones(stones) for part in parts]
    built = merged(Merge(tuple(parts), task["horizons"]))
    if built is None:
        return {}
    packed = built.pack()
    with open(task["output"], "xb") as file:
        file.writelines(packed.pieces)
    return {"sha256": packed.sha256, "size_bytes": packed.size_bytes}
