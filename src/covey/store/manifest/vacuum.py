"""Vacuum: delete versions beyond the retention, then the files that no version names."""

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
    """Result of a vacuum: the number of deleted versions, and of other deleted files.

    Args:
        versions: number of deleted versions.
        files: number of other deleted files. The manifests of deleted versions and the leases that
            have ended are not counted.
        size_bytes: total size of the files that are counted in `files`.
    """

    versions: int
    files: int
    size_bytes: int


class ReferencedFiles:
    """Cache of the file names in manifests, so that each manifest is read only once."""

    def __init__(self) -> None:
        self._files_by_version: dict[tuple[int, float], list[str]] = {}

    def read_files(self, backend: StorageBackend, retained: Mapping[int, FileEntry]) -> set[str]:
        """Return the files that the retained versions name; drop other versions from the cache.

        `retained` contains the manifest file of each retained version.
        """
        cached, self._files_by_version = self._files_by_version, {}
        for number, listed in retained.items():
            key = number, listed.modified_at_s  # the time differs if the store was created again
            if key not in cached:
                cached[key] = list(map(intern, read_manifest(backend, number).files))
            self._files_by_version[key] = cached[key]
        return {file for files in self._files_by_version.values() for file in files}


def vacuum(
    backend: StorageBackend,
    retain_seconds: float,
    grace_seconds: float,
    files_in_use: Set[str],
    keep_versions: Set[int],
    referenced: ReferencedFiles,
) -> VacuumResult:
    """Delete old versions, then files that no remaining version names and that are not in use.

    These versions remain: the newest version, versions that were the newest less than
    `retain_seconds` ago, versions in `keep_versions`, and versions under a lease. A file that no
    version names is not deleted before it is `grace_seconds` old, because the next version may name
    it. If a remaining version cannot be read, only leases that have ended are deleted.

    Raises:
        InvalidArgumentError: `retain_seconds` or `grace_seconds` is negative.
        StoreError: a remaining version cannot be read.

    Cost: all files are listed, and each remaining manifest that is not in `referenced` is read.
    """
    if not (retain_seconds >= 0 and grace_seconds >= 0):
        raise InvalidArgumentError(
            f"retain_seconds and grace_seconds must be at least 0, got {retain_seconds} and "
            f"{grace_seconds}"
        )
    now_s = time.time()
    listed = list_versions(backend)
    retained = _retained_versions(
        listed, now_s - retain_seconds, _prune_leases(backend, now_s) | keep_versions
    )
    referenced_files = referenced.read_files(
        backend, {number: listed[number] for number in sorted(retained)}
    )
    deleted = [number for number in listed if number not in retained]
    for number in deleted:
        backend.delete(manifest_name(number))
    referenced_files |= files_in_use
    unreferenced = [
        file
        for file in backend.list(content_store.FILES_FOLDER)
        if file.name not in referenced_files
    ]
    size, count = 0, 0
    for folder, files in [
        (content_store.FILES_FOLDER, unreferenced),
        *_find_partial_files(backend),
    ]:
        for file in files:
            if file.modified_at_s < now_s - grace_seconds:
                backend.delete(f"{folder}/{file.name}")
                size, count = size + file.size_bytes, count + 1
    return VacuumResult(len(deleted), count, size)


def _retained_versions(
    listed: dict[int, FileEntry], horizon_s: float, required: set[int]
) -> set[int]:
    """Return the versions that were the newest at the horizon or later, and required versions.

    Numbers in `required` without a version are ignored.
    """
    numbers = list(listed)
    retained = {
        number
        for number, successor in pairwise(numbers)
        if listed[successor].modified_at_s >= horizon_s
    }
    return retained | set(numbers[-1:]) | (required & set(numbers))


def _prune_leases(backend: StorageBackend, now_s: float) -> set[int]:
    """Return the versions under a lease, and delete leases that have ended."""
    leased = set()
    for name, version, end_s in list_leases(backend):
        if end_s >= now_s:
            leased.add(version)
        else:
            backend.delete(name)
    return leased


def _find_partial_files(backend: StorageBackend) -> list[tuple[str, list[FileEntry]]]:
    """Return the partial files in the folders of manifests and leases, by the name of the folder.

    Killed writers have left them, unless they are being written now.
    """
    return [
        (folder, [file for file in backend.list(folder) if file.name.endswith(PARTIAL_SUFFIX)])
        for folder in (manifest.VERSIONS_FOLDER, leases.LEASES_FOLDER)
    ]
