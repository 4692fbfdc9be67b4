"""Which versions and files can go: those that nobody may still want to open."""

from __future__ import annotations

import time
from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from sys import intern

from covey.errors import ValueRefused
from covey.store import files, leases, versions
from covey.store.directory import PARTIAL, Directory, Listed
from covey.store.leases import listed_leases
from covey.store.versions import listed_versions, read_version, version_name

__all__ = ["Collected", "Named", "collect"]


@dataclass(frozen=True, slots=True)
class Collected:
    """What was deleted."""

    versions: int
    files: int
    size_bytes: int


class Named:
    """The files that versions name. A version never changes: each is read once."""

    def __init__(self) -> None:
        self._by_version: dict[tuple[int, float], list[str]] = {}

    def by(self, directory: Directory, kept: Mapping[int, Listed]) -> set[str]:
        """The files that some of these versions name; what others name is forgotten."""
        known, self._by_version = self._by_version, {}
        for number, listed in kept.items():
            key = number, listed.written  # which tells it from that of a store made anew
            if key not in known:
                known[key] = list(map(intern, read_version(directory, number).files))
            self._by_version[key] = known[key]
        return {file for files in self._by_version.values() for file in files}


def collect(
    directory: Directory,
    keep_seconds: float,
    grace_seconds: float,
    in_use: Set[str],
    spare: Set[int],
    named: Named,
) -> Collected:
    """Deletes versions, then files that no version names any more and that are not in use.

    Kept are the newest version, every version that was the newest less than `keep_seconds` ago,
    and every one that is to be spared or that a live lease names. A file that no version names is
    kept for `grace_seconds`: a writer may be about to name it. If a version that is kept cannot be
    read, nothing is deleted.

    Cost: lists all files, and reads every version that is kept, unless `named` knows it.
    """
    if not (keep_seconds >= 0 and grace_seconds >= 0):
        raise ValueRefused(f"no time to keep: {keep_seconds} and {grace_seconds} seconds")
    now = time.time()
    listed = listed_versions(directory)
    kept = _kept(listed, now - keep_seconds, _leased(directory, now) | spare)
    wanted = named.by(directory, {number: listed[number] for number in sorted(kept)})
    gone = [number for number in listed if number not in kept]
    for number in gone:
        directory.delete(version_name(number))
    wanted |= in_use
    unnamed = [file for file in directory.list(files.FOLDER) if file.name not in wanted]
    size, count = 0, 0
    for folder, some in [(files.FOLDER, unnamed), *_leftovers(directory)]:
        for file in some:
            if file.written < now - grace_seconds:
                directory.delete(f"{folder}/{file.name}")
                size, count = size + file.size_bytes, count + 1
    return Collected(len(gone), count, size)


def _kept(listed: dict[int, Listed], horizon: float, wanted: set[int]) -> set[int]:
    """Versions that were the newest at the horizon or later, or that somebody wants."""
    numbers = list(listed)
    kept = {
        number for number, successor in pairwise(numbers) if listed[successor].written >= horizon
    }
    return kept | set(numbers[-1:]) | (wanted & set(numbers))


def _leased(directory: Directory, now: float) -> set[int]:
    """The versions under lease; leases that ended are deleted."""
    leased = set()
    for name, version, end in listed_leases(directory):
        if end >= now:
            leased.add(version)
        else:
            directory.delete(name)
    return leased


def _leftovers(directory: Directory) -> list[tuple[str, list[Listed]]]:
    """What killed writers left unfinished, elsewhere than among the files."""
    return [
        (folder, [file for file in directory.list(folder) if file.name.endswith(PARTIAL)])
        for folder in (versions.FOLDER, leases.FOLDER)
    ]
