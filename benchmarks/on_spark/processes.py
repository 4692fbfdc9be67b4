"""Python workers of this process's Spark, and their memory, as Linux tells in `/proc`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["descendants", "resident_mb", "workers_below"]

_PROC = Path("/proc")
_DAEMON = b"pyspark.daemon"  # forks the workers, which keep its command line


def workers_below() -> Iterator[int]:
    """Processes that a daemon of PySpark's forked, of those that descend from this one."""
    parents = dict(_parents())
    for pid in descendants():
        if _is_daemon(pid) and _is_daemon(parents.get(pid, 0)):
            yield pid


def descendants(of: int | None = None) -> Iterator[int]:
    """All processes that descend from one, which is this one unless told."""
    parents, ancestor = dict(_parents()), os.getpid() if of is None else of
    for pid in parents:
        if pid != ancestor and _descends(pid, ancestor, parents):
            yield pid


def resident_mb(pid: int) -> dict[str, float]:
    """Resident memory by kind, anonymous and mapped from files; nothing if it is gone."""
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return {}
    fields = dict(line.split(":", 1) for line in lines)
    kinds = ("RssAnon", "RssFile")
    return {kind: int(fields[kind].split()[0]) / 1024 for kind in kinds if kind in fields}


def _parents() -> Iterator[tuple[int, int]]:
    """All processes with their parents."""
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                after_name = (folder / "stat").read_text().rpartition(")")[2]
            except OSError:
                continue
            yield int(folder.name), int(after_name.split()[1])


def _is_daemon(pid: int) -> bool:
    try:
        return _DAEMON in (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def _descends(pid: int, ancestor: int, parents: dict[int, int]) -> bool:
    while pid in parents and pid != ancestor:
        pid = parents[pid]
    return pid == ancestor
