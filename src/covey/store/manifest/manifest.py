"""Versions: each names one exact set of subscriptions, as a list of segments and tombstones.

A version is a JSON file with a checksum of itself. It appears in one step, after all the
files that it names, and never changes: whoever sees it sees all of it.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from covey._types import JsonObject, JsonValue
from covey.errors import StoreError
from covey.space import Space
from covey.store.ids import IdKind
from covey.store.manifest.space_json import space_from_json, space_to_json
from covey.store.storage.backend import FileEntry, StorageBackend

__all__ = [
    "VERSIONS_FOLDER",
    "Manifest",
    "SegmentEntry",
    "find_labelled_manifest",
    "list_versions",
    "manifest_name",
    "now_ms",
    "read_manifest",
    "read_newest_manifest",
]  # fmt: skip

VERSIONS_FOLDER = "versions"

_FORMAT, _ZONED_FORMAT = 3, 4
_NAME = re.compile(r"(\d{12})\.json")
_FILE = re.compile(r"[0-9a-f]{64}")
_HEAD, _MIDDLE, _TAIL = b'{"version":', b',"sha256":"', b'"}\n'


@dataclass(frozen=True, slots=True)
class SegmentEntry:
    """A segment as a version names it: its file, and how much of it is there and dead.

    If it is `gated_by` another file, whatever it matches is in some region of that. If it is of a
    `zone`, it has what events there can match; so many of the live ones are `replicas` of what
    another zone has. One that `is_home` has what events of other zones are sent to it for, too.
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
        """As what `json.dumps` takes."""
        defaults = {"gated_by": None, "zone": None, "replicas": 0, "is_home": False}
        return {k: v for k, v in asdict(self).items() if k not in defaults or v != defaults[k]}

    @classmethod
    def from_json(cls, saved: Mapping[str, JsonValue]) -> SegmentEntry:
        """Return the entry that `to_json` was given; what cannot be one is a `ValueError`."""
        fields: Mapping[str, Any] = saved
        entry = cls(**fields)
        for name in ("size_bytes", "regions", "subscriptions", "dead", "replicas"):
            _check_count(getattr(entry, name))
        for named in (entry.file, entry.gated_by):
            _check_file_name(named)
        if entry.file is None or entry.dead + entry.replicas > entry.subscriptions:
            raise ValueError(fields)
        return entry


@dataclass(frozen=True, slots=True)
class Manifest:
    """The name of one exact set of subscriptions.

    `space` has the derived attributes that its segments need. `written_ms` is the writer's clock.
    `label` is what the writer calls it, so that a repeated attempt finds what the first has done.
    `zone_map_file` is the file that says where its zones are, if it has any.
    """

    version: int
    written_ms: int
    space: Space
    id_kind: IdKind
    segments: tuple[SegmentEntry, ...] = ()
    tombstones_file: str | None = None
    label: str | None = None
    zone_map_file: str | None = None

    @property
    def subscriptions(self) -> int:
        """How many subscriptions count, each once."""
        return sum(entry.subscriptions - entry.dead - entry.replicas for entry in self.segments)

    @property
    def files(self) -> set[str]:
        """The files that it names."""
        named = {entry.file for entry in self.segments}
        return named | {file for file in (self.tombstones_file, self.zone_map_file) if file}

    def to_bytes(self) -> bytes:
        """The file of this version."""
        saved = {
            "format": _FORMAT if self.zone_map_file is None else _ZONED_FORMAT,
            "version": self.version,
            "written_ms": self.written_ms,
            "space": space_to_json(self.space),
            "id_kind": self.id_kind.value,
            "segments": [entry.to_json() for entry in self.segments],
            "tombstones_file": self.tombstones_file,
            "label": self.label,
            **({} if self.zone_map_file is None else {"zone_map_file": self.zone_map_file}),
        }
        body = json.dumps(saved, sort_keys=True).encode()
        return _HEAD + body + _MIDDLE + _sha256_hex(body) + _TAIL

    @classmethod
    def from_bytes(cls, content: bytes) -> Manifest:
        """The version of a file; one byte more, less or else is a `StoreError`."""
        body = content.removeprefix(_HEAD).rpartition(_MIDDLE)[0]
        if content != _HEAD + body + _MIDDLE + _sha256_hex(body) + _TAIL:
            raise StoreError("it is truncated or damaged: its checksum does not fit")
        try:
            saved = json.loads(body)
            if saved["format"] not in (_FORMAT, _ZONED_FORMAT):
                raise StoreError(
                    f"it has format {saved['format']}, this covey reads {_FORMAT} and "
                    f"{_ZONED_FORMAT}: the store was written by another version of covey and must "
                    "be made again"
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
            )
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise StoreError(f"no covey has written it: {error!r}") from None


def list_versions(backend: StorageBackend) -> dict[int, FileEntry]:
    """The files of all versions by their numbers, ascending; what is unfinished is not seen."""
    found = {
        int(match[1]): file
        for file in backend.list(VERSIONS_FOLDER)
        if (match := _NAME.fullmatch(file.name))
    }
    return dict(sorted(found.items()))


def read_newest_manifest(backend: StorageBackend) -> Manifest:
    """The version with the highest number; if its file is damaged that is an error, not ignored."""
    numbers = list(list_versions(backend))
    if not numbers:
        raise StoreError(f"there is no store at {backend.location}: Store.create makes one")
    return read_manifest(backend, numbers[-1])


def read_manifest(backend: StorageBackend, number: int) -> Manifest:
    """The version with this number."""
    try:
        version = Manifest.from_bytes(backend.read(manifest_name(number)))
        if version.version != number:
            raise StoreError(f"it says that it is version {version.version}")
    except FileNotFoundError:
        raise StoreError(
            f"there is no version {number} in {backend.location}: vacuum deleted it, or it never "
            "was"
        ) from None
    except StoreError as error:
        raise StoreError(
            f"version {number} in {backend.location} cannot be read: {error}. Bring its file "
            "back from a copy, or delete it to go back to the version before"
        ) from None
    return version


def find_labelled_manifest(backend: StorageBackend, label: str) -> Manifest | None:
    """The newest version with this label, if there is one.

    Cost: reads versions from the newest back, so all of them if none has it.
    """
    for number in reversed(list(list_versions(backend))):
        version = read_manifest(backend, number)
        if version.label == label:
            return version
    return None


def manifest_name(version: int) -> str:
    """Where the file of a version is."""
    return f"{VERSIONS_FOLDER}/{version:012d}.json"


def _check_count(saved: Any) -> int:
    if not isinstance(saved, int) or isinstance(saved, bool) or saved < 0:
        raise ValueError(f"{saved!r} is no count")
    return saved


def _check_file_name(saved: Any) -> str | None:
    """Return the name of a file, which is that of its content and never leads elsewhere."""
    if saved is not None and not (isinstance(saved, str) and _FILE.fullmatch(saved)):
        raise ValueError(f"{saved!r} is the name of no file")
    return saved


def _sha256_hex(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def now_ms() -> int:
    """The time, as versions record it."""
    return time.time_ns() // 1_000_000
