"""A version of one store as the next of another."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from covey.store.cache import Cache
from covey.store.directory import Directory
from covey.store.files import FOLDER, Files
from covey.store.places import Place, directory_at
from covey.store.versions import (
    Version,
    labelled_version,
    listed_versions,
    read_version,
    version_name,
)
from covey.store.writer import now_ms

__all__ = ["copy_version"]


def copy_version(source: Place, target: Place, number: int, label: str) -> Version:
    """Makes a version of the source the newest of the target, which may be no store yet.

    The two need not have anything in common: other versions of the target stay as they are. If a
    version of the target has the label already, it is returned. Local files are linked where that
    is possible, since they never change.
    """
    here, there = directory_at(source), directory_at(target)
    if (known := labelled_version(there, label)) is not None:
        return known
    version = read_version(here, number)
    for file in sorted(version.files):
        _copy(here, Files(there, Cache()), file)
    last = max(listed_versions(there), default=-1)
    copied = replace(version, number=last + 1, written_ms=now_ms(), label=label)
    there.publish(version_name(copied.number), copied.to_bytes())
    return copied


def _copy(source: Directory, target: Files, file: str) -> None:
    name, path = f"{FOLDER}/{file}", target.partial_path(file)
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        local = source.local_path(name)
        if local is None:
            with path.open("xb") as into:
                source.download(name, into)
        else:
            _link(local, path)
        os.utime(path)  # it is new here, and `collect` spares what is new
        target.adopt(path, file)
    finally:
        path.unlink(missing_ok=True)


def _link(old: Path, new: Path) -> None:
    try:
        os.link(old, new)
    except OSError:
        shutil.copyfile(old, new)
