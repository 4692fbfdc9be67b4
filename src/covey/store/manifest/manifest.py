"""The manifest of a version: its segments, tombstones, zone map and space.

A manifest is a JSON file with a checksum of its own content. It becomes visible in one step, after
all files that it names, and never changes, so that readers see the whole version.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from covey._types import JsonObject, JsonValue
from covey.errors import StoreError
from covey.space import Space
from covey.store.ids import IdKind
from covey.store.manifest.space_json import space_from_json, space_to_json
from covey.store.storage.backend import AlreadyExistsError, FileEntry, StorageBackend

__all__ = [
    "VERSIONS_FOLDER",
    "Manifest",
    "SegmentEntry",
    "find_labelled_manifest",
    "list_versions",
    "manifest_name",
    "new_commit_id",
    "now_ms",
    "publish_manifest",
    "read_manifest",
    "read_newest_manifest",
]  # fmt: skip

VERSIONS_FOLDER = "versions"

_FORMAT, _ZONED_FORMAT = 3, 4
_NAME = re.compile(r"(\d{12})\.json")
_FILE = re.compile(r"[0-9a-f]{64}")
_HEAD, _MIDDLE, _TAIL = b'{"version":', b',"sha256":"', b'"}\n'
_RESTORE_HINT = "restore its file from a copy, or delete the file to do without this version"


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """Entry of a manifest for one segment: its file, its row counts and its role.

    Args:
        file: name of the segment file, which is its SHA-256.
        size_bytes: size of the file.
        regions: number of regions in the segment.
        subscriptions: number of subscriptions in the segment, dead ones included.
        dead: number of dead subscriptions.
        gated_by: file of the gate, another segment. Every event that matches a subscription of this
            segment is in a region of the gate. None if this segment is not gated.
        zone: number of the zone with whose events the segment is matched; None if the segment
            belongs to no zone.
        replicas: number of live subscriptions whose home zone is another zone.
        is_home: whether events of other zones are forwarded to this segment.
    """

    file: str
    size_bytes: int
    regions: int
    subscriptions: int
    dead: int
    gated_by: str | None = None
    zone: int | None = None
    replicas: int = 0
    is_home: bool = False

    def to_json(self) -> JsonObject:
        """Return the entry as a JSON object, without optional fields that have their default."""
        defaults = {"gated_by": None, "zone": None, "replicas": 0, "is_home": False}
        return {k: v for k, v in asdict(self).items() if k not in defaults or v != defaults[k]}

    @classmethod
    def from_json(cls, saved: Mapping[str, JsonValue]) -> SegmentEntry:
        """Return the entry that `to_json` encoded; raise ValueError if the object is not valid."""
        fields: Mapping[str, Any] = saved
        entry = cls(**fields)
        for name in ("size_bytes", "regions", "subscriptions", "dead", "replicas"):
            _check_count(getattr(entry, name))
        for named in (entry.file, entry.gated_by):
            _check_file_name(named)
        if entry.file is None or entry.dead + entry.replicas > entry.subscriptions:
            raise ValueError(fields)
        return entry


def new_commit_id() -> str:
    """Return a random text that no other attempt to make a version has."""
    return secrets.token_hex(8)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Manifest of one version; a version is one exact set of subscriptions.

    Args:
        version: number of the version.
        written_ms: time of the commit in milliseconds since 1970, by the writer's clock.
        space: space of the version, with the derived attributes that its segments need.
        id_kind: type of the ids.
        segments: entries of the segments.
        tombstones_file: name of the file of tombstones; None if no row is dead.
        label: text that the writer gave to the version, so that a repeated attempt finds the
            version that the first one committed; None if the version has no label.
        zone_map_file: name of the file of the zone map; None if the version has no zones.
        commit_id: random text of the attempt that made the version, so that a writer can
            distinguish its own manifest from that of another writer.
        previous_commit_id: `commit_id` of the version before it; empty in version 0.
    """

    version: int
    written_ms: int
    space: Space
    id_kind: IdKind
    segments: tuple[SegmentEntry, ...] = ()
    tombstones_file: str | None = None
    label: str | None = None
    zone_map_file: str | None = None
    commit_id: str = field(default_factory=new_commit_id)
    previous_commit_id: str = ""

    @property
    def subscriptions(self) -> int:
        """Number of live subscriptions; replicas are not counted."""
        return sum(entry.subscriptions - entry.dead - entry.replicas for entry in self.segments)

    @property
    def files(self) -> set[str]:
        """Names of all files of the version except for the manifest itself."""
        named = {entry.file for entry in self.segments}
        return named | {file for file in (self.tombstones_file, self.zone_map_file) if file}

    def to_bytes(self) -> bytes:
        """Return the content of the manifest file."""
        saved = {
            "format": _FORMAT if self.zone_map_file is None else _ZONED_FORMAT,
            "version": self.version,
            "written_ms": self.written_ms,
            "space": space_to_json(self.space),
            "id_kind": self.id_kind.value,
            "segments": [entry.to_json() for entry in self.segments],
            "tombstones_file": self.tombstones_file,
            "label": self.label,
            "commit_id": self.commit_id,
            "previous_commit_id": self.previous_commit_id,
            **({} if self.zone_map_file is None else {"zone_map_file": self.zone_map_file}),
        }
        body = json.dumps(saved, sort_keys=True).encode()
        return _HEAD + body + _MIDDLE + _sha256_hex(body) + _TAIL

    @classmethod
    def from_bytes(cls, content: bytes) -> Manifest:
        """Return the manifest that `to_bytes` encoded; raise StoreError for other content.

        The checksum detects every change of a byte.
        """
        body = content.removeprefix(_HEAD).rpartition(_MIDDLE)[0]
        if content != _HEAD + body + _MIDDLE + _sha256_hex(body) + _TAIL:
            raise StoreError(
                f"it is truncated or damaged (its checksum does not match): {_RESTORE_HINT}"
            )
        try:
            saved = json.loads(body)
            if saved["format"] not in (_FORMAT, _ZONED_FORMAT):
                raise StoreError(
                    f"it has format {saved['format']}, but this release of covey reads {_FORMAT} "
                    f"and {_ZONED_FORMAT}: use the release that wrote the store, or create the "
                    "store again"
                )
            return cls(
                _check_count(saved["version"]),
                _check_count(saved["written_ms"]),
                space_from_json(saved["space"]),
                IdKind(saved["id_kind"]),
                tuple(SegmentEntry.from_json(entry) for entry in saved["segments"]),
                _check_file_name(saved["tombstones_file"]),
                saved.get("label"),
                _check_file_name(saved.get("zone_map_file")),
                saved.get("commit_id", ""),
                saved.get("previous_commit_id", ""),
            )
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise StoreError(f"it was not written by covey ({error!r}): {_RESTORE_HINT}") from None


def list_versions(backend: StorageBackend) -> dict[int, FileEntry]:
    """Return the manifest file of each version, ascending; unfinished files are left out."""
    files_by_version = {
        int(match[1]): file
        for file in backend.list(VERSIONS_FOLDER)
        if (match := _NAME.fullmatch(file.name))
    }
    return dict(sorted(files_by_version.items()))


def read_newest_manifest(backend: StorageBackend) -> Manifest:
    """Read the manifest of the highest version; raise StoreError if it is damaged or missing."""
    versions = list(list_versions(backend))
    if not versions:
        raise StoreError(f"there is no store at {backend.location}: create one with Store.create")
    return read_manifest(backend, versions[-1])


def read_manifest(backend: StorageBackend, number: int) -> Manifest:
    """Read the manifest of a version; raise StoreError if it is damaged or missing."""
    try:
        manifest = Manifest.from_bytes(backend.read(manifest_name(number)))
        if manifest.version != number:
            raise StoreError(f"its content says version {manifest.version}: {_RESTORE_HINT}")
    except FileNotFoundError:
        raise StoreError(
            f"there is no version {number} in {backend.location}: vacuum deleted it, or it never "
            "existed"
        ) from None
    except StoreError as error:
        raise StoreError(
            f"version {number} in {backend.location} cannot be read: {error}"
        ) from None
    return manifest


def publish_manifest(backend: StorageBackend, manifest: Manifest) -> None:
    """Publish a version durably, so that it is the newest one.

    Raises:
        AlreadyExistsError: another writer has published a version with this number.
    """
    name = manifest_name(manifest.version)
    backend.put_if_absent(name, manifest.to_bytes())
    if backend.local_path(name) is not None or not backend.creates_atomically:
        return  # a lock excludes other writers
    # The name is also free if vacuum has deleted a version with this number in the meantime. Then
    # the next version was made from that one.
    versions = list(list_versions(backend))
    if versions[-1] != manifest.version and not _is_followed(backend, manifest):
        backend.delete(name)
        raise AlreadyExistsError(name, backend.location)


def _is_followed(backend: StorageBackend, manifest: Manifest) -> bool:
    """Return whether the version after a version was made from it."""
    try:
        following = read_manifest(backend, manifest.version + 1)
    except StoreError:
        return False
    return following.previous_commit_id == manifest.commit_id


def find_labelled_manifest(backend: StorageBackend, label: str) -> Manifest | None:
    """Return the newest manifest with a label, or None if no version has the label.

    Cost: manifests are read from the newest backwards; all are read if no version has the label.
    """
    for number in reversed(list(list_versions(backend))):
        manifest = read_manifest(backend, number)
        if manifest.label == label:
            return manifest
    return None


def manifest_name(version: int) -> str:
    """Return the name of a version's manifest file, such as `versions/000000000007.json`."""
    return f"{VERSIONS_FOLDER}/{version:012d}.json"


def _check_count(saved: Any) -> int:
    """Return a count; raise ValueError if it is not an integer of at least 0."""
    if not isinstance(saved, int) or isinstance(saved, bool) or saved < 0:
        raise ValueError(f"{saved!r} is not a count")
    return saved


def _check_file_name(saved: Any) -> str | None:
    """Return a file name or None; raise ValueError if it is not a SHA-256 in hexadecimal digits."""
    if saved is not None and not (isinstance(saved, str) and _FILE.fullmatch(saved)):
        raise ValueError(f"{saved!r} is not a file name of 64 hexadecimal digits")
    return saved


def _sha256_hex(body: bytes) -> bytes:
    """Return the SHA-256 of `body` in hexadecimal digits."""
    return hashlib.sha256(body).hexdigest().encode()


def now_ms() -> int:
    """Return the current time in milliseconds since 1970, as manifests record it."""
    return time.time_ns() // 1_000_000
