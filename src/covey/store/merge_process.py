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
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from covey.errors import StoreError
from covey.store.arrays import read_path
from covey.store.files import Files
from covey.store.merge import Merge, Placed, merged
from covey.store.parts import Part
from covey.store.spaces import space_of_all
from covey.store.tombstones import pack_tombstones
from covey.store.zoned import pack_zoning, read_zoning

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

    def run(self, merge: Merge, files: Files) -> list[Placed]:
        """Merges, and gives the store what came of it; nothing if nothing was left."""
        count = 1 if merge.zoning is None else len(merge.zoning) + 1
        outputs = [files.partial_path("merge") for _ in range(count)]
        beside = {name: files.partial_path(name) for name in ("tombstones", "zoning")}
        task: dict[str, Any] = {
            "inputs": {part.file: str(files.path(part.file)) for part in merge.parts},
            "zone": merge.parts[0].zone,
            "outputs": list(map(str, outputs)),
            "horizons": dict(merge.horizons),
        }
        given = {
            "tombstones": pack_tombstones({part.file: part.tombstones for part in merge.parts}),
            "zoning": None if merge.zoning is None else pack_zoning(merge.zoning),
        }
        try:
            for name, packed in given.items():
                if packed is not None:
                    beside[name].write_bytes(b"".join(packed.pieces))
                    task[name] = {"path": str(beside[name]), "sha256": packed.sha256}
            answer = self._ask(task)
            if "error" in answer:
                raise StoreError(f"a merge failed: {answer['error']}")
            built = [Placed(**one) for one in answer["built"]]
            for output, one in zip(outputs, built, strict=False):
                files.adopt(output, one.file)
            return built
        finally:
            for path in (*outputs, *beside.values()):
                path.unlink(missing_ok=True)

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
    parts = [replace(part, zone=task["zone"]) for part in parts]
    beside = {
        name: read_path(Path(task[name]["path"]), task[name]["sha256"])
        for name in ("tombstones", "zoning")
        if name in task
    }
    if "tombstones" in beside:
        parts = [part.with_tombstones(beside["tombstones"]) for part in parts]
    zoning = None
    if "zoning" in beside:
        spaces = [part.subscriptions.index.space for part in parts]
        zoning = read_zoning(beside["zoning"], space_of_all(spaces[0], spaces))
    built = []
    merge = Merge(tuple(parts), task["horizons"], zoning)
    for path, (zone, subscriptions) in zip(task["outputs"], merged(merge), strict=False):
        packed = subscriptions.pack()
        with open(path, "xb") as file:
            file.writelines(packed.pieces)
        built.append(asdict(Placed(zone, packed.sha256, packed.size_bytes)))
    return {"built": built}
