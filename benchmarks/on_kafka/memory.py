"""Resident memory of a pipeline by kind of process, and bytes of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["KINDS", "folder_mb", "memory_mb", "total_mb"]

KINDS = ("driver", "jvm", "workers")
_WORKER = b"pyspark.worker"  # what a process forks, and workers keep of its command line


def memory_mb(driver: int, family: Iterable[int]) -> dict[str, float]:
    """Of the driver and the JVM what is resident, of workers their share of what they share."""
    found = dict.fromkeys(KINDS, 0.0)
    for pid in family:
        words, sizes = _of(pid)
        if not sizes:
            continue
        if pid == driver:
            found["driver"] += sizes["Rss"]
        elif words[0].endswith(b"java"):
            found["jvm"] += sizes["Rss"]
        elif _WORKER in words:
            found["workers"] += sizes["Pss"]
    return found


def total_mb(family: Iterable[int]) -> float:
    """Of all processes, what they share counted once."""
    return sum(_of(pid)[1].get("Pss", 0.0) for pid in family)


def folder_mb(folder: Path) -> float:
    """Of all files below, each counted once however many names it has."""
    sizes: dict[int, int] = {}
    for path, _, names in os.walk(folder):
        for name in names:
            try:
                status = os.stat(os.path.join(path, name), follow_symlinks=False)
            except OSError:
                continue  # removed meanwhile
            sizes[status.st_ino] = status.st_size
    return sum(sizes.values()) / (1 << 20)


def _of(pid: int) -> tuple[list[bytes], dict[str, float]]:
    """The words of a process, and kinds of its memory in megabytes; none if it ended meanwhile."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return [], {}
    return words, {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
