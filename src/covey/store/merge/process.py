"""Merge process: a child process that receives requests for merges and builds them.

Requests and answers are lines of JSON on standard input and standard output. The process reads and
writes only local files, even if the file system of the store is remote. It ends when its standard
input ends. So after the end of the process that started it, it finishes at most one merge.
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
    """Handle of a merge process; only `kill` may be called from another thread."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, operation: MergeOperation, content_store: ContentStore) -> list[MergedSegment]:
        """Build a merge in the process, add the merged files to the store, and return them.

        The result is empty if no subscription remains.

        Raises:
            StoreError: if the merge fails, or the process ended.
        """
        count = 1 if operation.zone_map is None else len(operation.zone_map) + 1
        outputs = [content_store.partial_path("merge") for _ in range(count)]
        side_files = {name: content_store.partial_path(name) for name in ("tombstones", "zone_map")}
        request: dict[str, Any] = {
            "inputs": {
                segment.file: str(content_store.local_path(segment.file))
                for segment in operation.segments
            },
            "zone": operation.segments[0].zone,
            "outputs": list(map(str, outputs)),
            "horizons": dict(operation.horizons),
        }
        encoded_by_name = {
            "tombstones": encode_tombstones(
                {segment.file: segment.tombstones for segment in operation.segments}
            ),
            "zone_map": None if operation.zone_map is None else encode_zone_map(operation.zone_map),
        }
        try:
            for name, encoded in encoded_by_name.items():
                if encoded is not None:
                    side_files[name].write_bytes(b"".join(encoded.pieces))
                    request[name] = {"path": str(side_files[name]), "sha256": encoded.sha256}
            answer = self._send_request(request)
            if "error" in answer:
                raise StoreError(f"a merge failed: {answer['error']}")
            merged_segments = [MergedSegment(**merged) for merged in answer["built"]]
            for output, merged in zip(outputs, merged_segments, strict=False):
                content_store.put_local_file(output, merged.file)
            return merged_segments
        finally:
            for path in (*outputs, *side_files.values()):
                path.unlink(missing_ok=True)

    def kill(self) -> None:
        """End the process at once; a running call of `run` then raises StoreError."""
        self._process.kill()

    def close(self) -> None:
        """End the process and wait for its end."""
        self.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            assert stream is not None
            with suppress(BrokenPipeError):  # the process does not read its last request any more
                stream.close()

    def _send_request(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request to the process and return its answer.

        Raises:
            StoreError: if the process has ended, or its answer is not JSON.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            code = self._process.poll()
            raise StoreError(
                f"the merge process ended or gave no valid answer (exit code {code}): its standard "
                "error may say why"
            ) from None
        return answer


def serve_requests() -> None:
    """Build the merges that are requested on standard input, until it ends.

    A request is one line of JSON. The answer on standard output is one line of JSON as well; it
    contains a list of the merged segments as `built`, or the message of an error as `error`.
    """
    for line in sys.stdin:
        try:
            answer = _run_request(json.loads(line))
        except Exception as error:  # the writer must receive every error
            answer = {"error": f"{type(error).__name__}: {error}"}
        try:
            print(json.dumps(answer), flush=True)
        except BrokenPipeError:  # the writer has ended
            os._exit(1)


def _run_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Build the merge of one request, write its files and return the answer."""
    segments = [
        LiveSegment.from_file(open_array_file(Path(path), file))
        for file, path in request["inputs"].items()
    ]
    segments = [replace(segment, zone=request["zone"]) for segment in segments]
    side_files = {
        name: open_array_file(Path(request[name]["path"]), request[name]["sha256"])
        for name in ("tombstones", "zone_map")
        if name in request
    }
    if "tombstones" in side_files:
        segments = [segment.with_tombstones(side_files["tombstones"]) for segment in segments]
    zone_map = None
    if "zone_map" in side_files:
        spaces = [segment.subscriptions.index.space for segment in segments]
        zone_map = read_zone_map(side_files["zone_map"], combine_spaces(spaces[0], spaces))
    merged_segments = []
    operation = MergeOperation(tuple(segments), request["horizons"], zone_map)
    for path, (zone, subscriptions) in zip(
        request["outputs"], merge_segments(operation), strict=False
    ):
        encoded = subscriptions.encode()
        with open(path, "xb") as file:
            file.writelines(encoded.pieces)
        merged_segments.append(asdict(MergedSegment(zone, encoded.sha256, encoded.size_bytes)))
    return {"built": merged_segments}
