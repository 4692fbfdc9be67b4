"""Resident memory of a pipeline by kind of process, and the size of a folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

__all__ = ["KINDS", "folder_mb", "memory_mb", "total_mb"]

KINDS = ("driver", "jvm", "workers")
_WORKER = b"pyspark.worker"  # in the command line of the daemon, which forked workers retain


def memory_mb(driver: int, family: Iterable[int]) -> dict[str, float]:
    """Return the memory in MiB by kind of process.

    It is the resident memory (Rss) of the driver and the JVM, and the proportional set size (Pss)
    of workers, which counts shared pages once.

    Args:
        driver: id of the driver.
        family: ids of the driver and its descendants.
    """
    sizes_mb = dict.fromkeys(KINDS, 0.0)
    for pid in family:
        words, sizes = _of(pid)
        if not sizes:
            continue
        if pid == driver:
            sizes_mb["driver"] += sizes["Rss"]
        elif words[0].endswith(b"java"):
            sizes_mb["jvm"] += sizes["Rss"]
        elif _WORKER in words:
            sizes_mb["workers"] += sizes["Pss"]
    return sizes_mb


def total_mb(family: Iterable[int]) -> float:
    """Return the memory of all processes in MiB; shared pages count once."""
    return sum(_of(pid)[1].get("Pss", 0.0) for pid in family)


def folder_mb(folder: Path) -> float:
    """Return the size of all files in a folder in MiB; files with several names count once."""
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
    """Return the command line of a process, and its memory in MiB by kind.

    Both are empty if the process has ended.
    """
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    except OSError:
        return [], {}
    return words, {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines}
