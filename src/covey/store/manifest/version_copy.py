"""A version of one store as the next of another."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from covey._argument_checks import check_arguments
from covey.store.manifest.manifest import (
    Manifest,
    find_labelled_manifest,
    list_versions,
    manifest_name,
    now_ms,
    read_manifest,
)
from covey.store.storage.backend import StorageBackend
from covey.store.storage.cache import Cache
from covey.store.storage.content_store import FILES_FOLDER, ContentStore
from covey.store.storage.location import Location, open_storage

__all__ = ["copy_version"]


@check_arguments
def copy_version(source: Location, target: Location, number: int, label: str) -> Manifest:
    """Makes a version of the source the newest of the target, which may be no store yet.

    The two need not have anything in common: other versions of the target stay as they are. If a
    version of the target has the label already, it is returned. Local files are linked where that
    is possible, since they never change.
    """
    here, there = open_storage(source), open_storage(target)
    if (known := find_labelled_manifest(there, label)) is not None:
        return known
    version = read_manifest(here, number)
    for file in sorted(version.files):
        _copy_file(here, ContentStore(there, Cache()), file)
    last = max(list_versions(there), default=-1)
    copied = replace(version, version=last + 1, written_ms=now_ms(), label=label)
    there.put_if_absent(manifest_name(copied.version), copied.to_bytes())
    return copied


def _copy_file(source: StorageBackend, target: ContentStore, file: str) -> None:
    name, path = f"{FILES_FOLDER}/{file}", target.partial_path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        local = source.local_path(name)
        if local is None:
            with path.open("xb") as into:
                source.download(name, into)
        else:
            _link_or_copy(local, path)
        os.utime(path)  # it is new here, and `vacuum` spares what is new
        target.put_local_file(path, file)
    finally:
        path.unlink(missing_ok=True)


def _link_or_copy(old: Path, new: Path) -> None:
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)
