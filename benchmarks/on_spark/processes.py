"""Python workers of this process's Spark, and their memory, read from `/proc` of Linux."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["descendants", "resident_mb", "workers_below"]

_PROC = Path("/proc")
_DAEMON = b"pyspark.daemon"  # forks the workers, which keep its command line


def workers_below() -> Iterator[int]:
    """Yield the ids of descendants of this process that a PySpark daemon has forked."""
    parents = dict(_parents())
    for pid in descendants():
        if _is_daemon(pid) and _is_daemon(parents.get(pid, 0)):
            yield pid


def descendants(of: int | None = None) -> Iterator[int]:
    """Yield the ids of all descendants of a process; by default of this process."""
    parents, ancestor = dict(_parents()), os.getpid() if of is None else of
    for pid in parents:
        if pid != ancestor and _descends(pid, ancestor, parents):
            yield pid


def resident_mb(pid: int) -> dict[str, float]:
    """Return the resident memory of a process in MiB by kind; empty if the process has ended.

    The kinds are `RssAnon` (anonymous) and `RssFile` (mapped files).
    """
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return {}
    fields = dict(line.split(":", 1) for line in lines)
    kinds = ("RssAnon", "RssFile")
    return {kind: int(fields[kind].split()[0]) / 1024 for kind in kinds if kind in fields}


def _parents() -> Iterator[tuple[int, int]]:
    """Yield the id of each process with that of its parent."""
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
