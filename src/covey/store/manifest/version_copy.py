"""Copy of a version: a version of one store becomes the next version of another store."""

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
    new_commit_id,
    now_ms,
    publish_manifest,
    read_manifest,
    read_newest_manifest,
)
from covey.store.storage.backend import AlreadyExistsError, StorageBackend
from covey.store.storage.cache import Cache
from covey.store.storage.content_store import FILES_FOLDER, ContentStore
from covey.store.storage.location import Location, open_storage

__all__ = ["copy_version"]


@check_arguments
def copy_version(source: Location, target: Location, number: int, label: str) -> Manifest:
    """Publish a version of the source store as the next version of the target store.

    The stores need not have anything in common; other versions of the target do not change. If the
    target has a version with the label already, its manifest is returned and nothing is copied.
    Local files are hard-linked if possible, which is safe because they never change.

    Args:
        source: location of the store to copy from.
        target: location of the store to copy to; if there is no store yet, one is created.
        number: version of the source.
        label: label of the copy.

    Returns:
        The manifest of the copy in the target store.

    Raises:
        StoreError: if the version does not exist, or its manifest is damaged. Other files are
            copied unread: a copy that is damaged is noticed when it is opened.
    """
    source_backend, target_backend = open_storage(source), open_storage(target)
    if (labelled := find_labelled_manifest(target_backend, label)) is not None:
        return labelled
    manifest = read_manifest(source_backend, number)
    for file in sorted(manifest.files):
        _copy_file(source_backend, ContentStore(target_backend, Cache()), file)
    newest = read_newest_manifest(target_backend) if list_versions(target_backend) else None
    copied = replace(
        manifest,
        version=0 if newest is None else newest.version + 1,
        written_ms=now_ms(),
        label=label,
        commit_id=new_commit_id(),
        previous_commit_id="" if newest is None else newest.commit_id,
    )
    try:
        publish_manifest(target_backend, copied)
    except AlreadyExistsError:
        # Another attempt may have made the copy.
        if (labelled := find_labelled_manifest(target_backend, label)) is not None:
            return labelled
        raise
    return copied


def _copy_file(source: StorageBackend, target: ContentStore, file: str) -> None:
    """Copy a content-addressed file from one store to another."""
    name, path = f"{FILES_FOLDER}/{file}", target.partial_path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        local = source.local_path(name)
        if local is None:
            with path.open("xb") as into:
                source.download(name, into)
        else:
            _link_or_copy(local, path)
        os.utime(path)  # the file is new in this store, and vacuum does not delete new files
        target.put_local_file(path, file)
    finally:
        path.unlink(missing_ok=True)


def _link_or_copy(old: Path, new: Path) -> None:
    """Make `new` a hard link to the file `old`, or a copy if a link is not possible."""
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)
