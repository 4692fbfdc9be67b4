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
from covey.store.manifest.space_json import combine_spaces
from covey.store.merge.operation import MergedSegment, MergeOperation, merge_segments
from covey.store.segments.live_segment import LiveSegment
from covey.store.segments.tombstones import encode_tombstones
from covey.store.storage.array_file import open_array_file
from covey.store.storage.content_store import ContentStore
from covey.store.zones.placement import encode_zone_map, read_zone_map

__all__ = ["MergeProcess", "serve_requests"]

_PROGRAM = """
import os
os.nice(19)  # before imports, which take a second
from covey.store.merge.process import serve_requests
serve_requests()
"""


class MergeProcess:
    """The other process, seen from the writer. Not for several threads at once, except `kill`."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, operation: MergeOperation, content_store: ContentStore) -> list[MergedSegment]:
        """Merges, and gives the store what came of it; nothing if nothing was left."""
        count = 1 if operation.zone_map is None else len(operation.zone_map) + 1
        outputs = [content_store.partial_path("merge") for _ in range(count)]
        beside = {name: content_store.partial_path(name) for name in ("tombstones", "zone_map")}
        task: dict[str, Any] = {
            "inputs": {
                part.file: str(content_store.local_path(part.file)) for part in operation.segments
            },
            "zone": operation.segments[0].zone,
            "outputs": list(map(str, outputs)),
            "horizons": dict(operation.horizons),
        }
        given = {
            "tombstones": encode_tombstones(
                {part.file: part.tombstones for part in operation.segments}
            ),
            "zone_map": None if operation.zone_map is None else encode_zone_map(operation.zone_map),
        }
        try:
            for name, packed in given.items():
                if packed is not None:
                    beside[name].write_bytes(b"".join(packed.pieces))
                    task[name] = {"path": str(beside[name]), "sha256": packed.sha256}
            answer = self._send_request(task)
            if "error" in answer:
                raise StoreError(f"a merge failed: {answer['error']}")
            built = [MergedSegment(**one) for one in answer["built"]]
            for output, one in zip(outputs, built, strict=False):
                content_store.put_local_file(output, one.file)
            return built
        finally:
            for path in (*outputs, *beside.values()):
                path.unlink(missing_ok=True)

    def kill(self) -> None:
        """Ends the process, also in the middle of a merge; `run` then is a `StoreError`."""
        self._process.kill()

    def close(self) -> None:
        """Ends the process and waits for its end."""
        self.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # what it was told last it will not read
                stream.close()

    def _send_request(self, request: Mapping[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            code = self._process.poll()
            raise StoreError(f"the process that merges ended (exit code {code})") from None
        return answer


def serve_requests() -> None:
    """Merges as told on standard input, until it ends."""
    for line in sys.stdin:
        try:
            answer = _run_request(json.loads(line))
        except Exception as error:  # whatever it is, the writer is to hear of it
            answer = {"error": f"{type(error).__name__}: {error}"}
        try:
            print(json.dumps(answer), flush=True)
        except BrokenPipeError:  # the writer is gone
            os._exit(1)


def _run_request(request: Mapping[str, Any]) -> dict[str, Any]:
    parts = [
        LiveSegment.from_file(open_array_file(Path(path), file))
        for file, path in request["inputs"].items()
    ]
    parts = [replace(part, zone=request["zone"]) for part in parts]
    beside = {
        name: open_array_file(Path(request[name]["path"]), request[name]["sha256"])
        for name in ("tombstones", "zone_map")
        if name in request
    }
    if "tombstones" in beside:
        parts = [part.with_tombstones(beside["tombstones"]) for part in parts]
    zone_map = None
    if "zone_map" in beside:
        spaces = [part.subscriptions.index.space for part in parts]
        zone_map = read_zone_map(beside["zone_map"], combine_spaces(spaces[0], spaces))
    built = []
    merge = MergeOperation(tuple(parts), request["horizons"], zone_map)
    for path, (zone, subscriptions) in zip(request["outputs"], merge_segments(merge), strict=False):
        packed = subscriptions.encode()
        with open(path, "xb") as file:
            file.writelines(packed.pieces)
        built.append(asdict(MergedSegment(zone, packed.sha256, packed.size_bytes)))
    return {"built": built}
