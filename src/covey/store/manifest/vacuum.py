"""Which versions and files can go: those that nobody may still want to open."""

from __future__ import annotations

import time
from collections.abc import Mapping, Set
from dataclasses import dataclass
from itertools import pairwise
from sys import intern

from covey.errors import InvalidArgumentError
from covey.store.manifest import leases, manifest
from covey.store.manifest.leases import list_leases
from covey.store.manifest.manifest import list_versions, manifest_name, read_manifest
from covey.store.storage import content_store
from covey.store.storage.backend import PARTIAL_SUFFIX, FileEntry, StorageBackend

__all__ = ["ReferencedFiles", "VacuumResult", "vacuum"]


@dataclass(frozen=True, slots=True)
class VacuumResult:
    """What was deleted."""

    versions: int
    files: int
    size_bytes: int


class ReferencedFiles:
    """The files that versions name. A version never changes: each is read once."""

    def __init__(self) -> None:
        self._files_by_version: dict[tuple[int, float], list[str]] = {}

    def read_files(self, backend: StorageBackend, retained: Mapping[int, FileEntry]) -> set[str]:
        """The files that some of these versions name; what others name is forgotten."""
        known, self._files_by_version = self._files_by_version, {}
        for number, listed in retained.items():
            key = number, listed.modified_at_s  # which tells it from that of a store made anew
            if key not in known:
                known[key] = list(map(intern, read_manifest(backend, number).files))
            self._files_by_version[key] = known[key]
        return {file for files in self._files_by_version.values() for file in files}


def vacuum(
    backend: StorageBackend,
    retain_seconds: float,
    grace_seconds: float,
    files_in_use: Set[str],
    keep_versions: Set[int],
    referenced: ReferencedFiles,
) -> VacuumResult:
    """Deletes versions, then files that no version names any more and that are not in use.

    Kept are the newest version, every version that was the newest less than `retain_seconds` ago,
    and every one of `keep_versions` or that a live lease names. A file that no version names is
    kept for `grace_seconds`: a writer may be about to name it. If a version that is kept cannot be
    read, nothing is deleted.

    Cost: lists all files, and reads every version that is kept, unless `referenced` knows it.
    """
    if not (retain_seconds >= 0 and grace_seconds >= 0):
        raise InvalidArgumentError(f"no time to keep: {retain_seconds} and {grace_seconds} seconds")
    now = time.time()
    listed = list_versions(backend)
    kept = _retained_versions(
        listed, now - retain_seconds, _prune_leases(backend, now) | keep_versions
    )
    wanted = referenced.read_files(backend, {number: listed[number] for number in sorted(kept)})
    gone = [number for number in listed if number not in kept]
    for number in gone:
        backend.delete(manifest_name(number))
    wanted |= files_in_use
    unnamed = [file for file in backend.list(content_store.FILES_FOLDER) if file.name not in wanted]
    size, count = 0, 0
    for folder, some in [(content_store.FILES_FOLDER, unnamed), *_find_partial_files(backend)]:
        for file in some:
            if file.modified_at_s < now - grace_seconds:
                backend.delete(f"{folder}/{file.name}")
                size, count = size + file.size_bytes, count + 1
    return VacuumResult(len(gone), count, size)


def _retained_versions(
    listed: dict[int, FileEntry], horizon_s: float, required: set[int]
) -> set[int]:
    """Versions that were the newest at the horizon or later, or that somebody wants."""
    numbers = list(listed)
    kept = {
        number
        for number, successor in pairwise(numbers)
        if listed[successor].modified_at_s >= horizon_s
    }
    return kept | set(numbers[-1:]) | (required & set(numbers))


def _prune_leases(backend: StorageBackend, now_s: float) -> set[int]:
    """The versions under lease; leases that ended are deleted."""
    leased = set()
    for name, version, end in list_leases(backend):
        if end >= now_s:
            leased.add(version)
        else:
            backend.delete(name)
    return leased


def _find_partial_files(backend: StorageBackend) -> list[tuple[str, list[FileEntry]]]:
    """What killed writers left unfinished, elsewhere than among the files."""
    return [
        (folder, [file for file in backend.list(folder) if file.name.endswith(PARTIAL_SUFFIX)])
        for folder in (manifest.VERSIONS_FOLDER, leases.LEASES_FOLDER)
    ]
