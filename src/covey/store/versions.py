"""Versions: each names one exact set of subscriptions, as a list of segments and tombstones.

A version is a JSON file with a checksum of itself. It appears in one step, after all the
files that it names, and never changes: whoever sees it sees all of it.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from typing import Any

from covey.errors import StoreError
from covey.space import Space
from covey.store.directory import Directory, Listed
from covey.store.ids import IdKind
from covey.store.spaces import space_from_json, space_to_json

__all__ = [
    "FOLDER", "Entry", "Version", "labelled_version", "listed_versions", "newest_version",
    "read_version", "version_name",
]  # fmt: skip

FOLDER = "versions"

_FORMAT, _ZONED_FORMAT = 1, 2
_NAME = re.compile(r"(\d{12})\.json")
_FILE = re.compile(r"[0-9a-f]{64}")
_HEAD, _MIDDLE, _TAIL = b'{"version":', b',"sha256":"', b'"}\n'


@dataclass(frozen=True, slots=True)
class Entry:
    """A segment as a version names it: its file, and how much of it is there and dead.

    If it is `under` another file, whatever it matches is in some region of that. If it is of a
    `zone`, it has what events there can match; so many of the live ones are `copies` of what
    another zone has. One that `is_home` has what events of other zones are sent to it for, too.
    """

    file: str
    size_bytes: int
    regions: int
    subscriptions: int
    dead: int
    under: str | None = None
    zone: int | None = None
    copies: int = 0
    is_home: bool = False

    def to_json(self) -> dict[str, Any]:
        """As what `json.dumps` takes."""
        usual = {"under": None, "zone": None, "copies": 0, "is_home": False}
        return {k: v for k, v in asdict(self).items() if k not in usual or v != usual[k]}

    @classmethod
    def from_json(cls, saved: dict[str, Any]) -> Entry:
        """Return the entry that `to_json` was given; what cannot be one is a `ValueError`."""
        entry = cls(**saved)
        for name in ("size_bytes", "regions", "subscriptions", "dead", "copies"):
            _number(getattr(entry, name))
        for named in (entry.file, entry.under):
            _file(named)
        if entry.file is None or entry.dead + entry.copies > entry.subscriptions:
            raise ValueError(saved)
        return entry


@dataclass(frozen=True, slots=True)
class Version:
    """The name of one exact set of subscriptions.

    `space` has the derived attributes that its segments need. `written_ms` is the writer's clock.
    `label` is what the writer calls it, so that a repeated attempt finds what the first has done.
    `zoning` is the file that says where its zones are, if it has any.
    """

    number: int
    written_ms: int
    space: Space
    id_kind: IdKind
    segments: tuple[Entry, ...] = ()
    tombstones: str | None = None
    label: str | None = None
    zoning: str | None = None

    @property
    def subscriptions(self) -> int:
        """How many subscriptions count, each once."""
        return sum(entry.subscriptions - entry.dead - entry.copies for entry in self.segments)

    @property
    def files(self) -> set[str]:
        """The files that it names."""
        named = {entry.file for entry in self.segments}
        return named | {file for file in (self.tombstones, self.zoning) if file}

    def to_bytes(self) -> bytes:
        """The file of this version."""
        saved = {
            "format": _FORMAT if self.zoning is None else _ZONED_FORMAT,
            "number": self.number,
            "written_ms": self.written_ms,
            "space": space_to_json(self.space),
            "ids": self.id_kind.value,
            "segments": [entry.to_json() for entry in self.segments],
            "tombstones": self.tombstones,
            "label": self.label,
            **({} if self.zoning is None else {"zoning": self.zoning}),
        }
        body = json.dumps(saved, sort_keys=True).encode()
        return _HEAD + body + _MIDDLE + _sha256(body) + _TAIL

    @classmethod
    def from_bytes(cls, content: bytes) -> Version:
        """The version of a file; one byte more, less or else is a `StoreError`."""
        body = content.removeprefix(_HEAD).rpartition(_MIDDLE)[0]
        if content != _HEAD + body + _MIDDLE + _sha256(body) + _TAIL:
            raise StoreError("it is truncated or damaged: its checksum does not fit")
        try:
            saved = json.loads(body)
            if saved["format"] not in (_FORMAT, _ZONED_FORMAT):
                raise StoreError(
                    f"it has format {saved['format']}, this covey reads {_FORMAT} and "
                    f"{_ZONED_FORMAT}"
                )
            return cls(
                _number(saved["number"]),
                _number(saved["written_ms"]),
                space_from_json(saved["space"]),
                IdKind(saved["ids"]),
                tuple(Entry.from_json(entry) for entry in saved["segments"]),
                _file(saved["tombstones"]),
                saved.get("label"),
                _file(saved.get("zoning")),
            )
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            raise StoreError(f"no covey has written it: {error!r}") from None


def listed_versions(directory: Directory) -> dict[int, Listed]:
    """The files of all versions by their numbers, ascending; what is unfinished is not seen."""
    found = {
        int(match[1]): file
        for file in directory.list(FOLDER)
        if (match := _NAME.fullmatch(file.name))
    }
    return dict(sorted(found.items()))


def newest_version(directory: Directory) -> Version:
    """The version with the highest number; if its file is damaged that is an error, not ignored."""
    numbers = list(listed_versions(directory))
    if not numbers:
        raise StoreError(f"there is no store at {directory.place}: Store.create makes one")
    return read_version(directory, numbers[-1])


def read_version(directory: Directory, number: int) -> Version:
    """The version with this number."""
    try:
        version = Version.from_bytes(directory.read(version_name(number)))
        if version.number != number:
            raise StoreError(f"it says that it is version {version.number}")
    except FileNotFoundError:
        raise StoreError(
            f"there is no version {number} in {directory.place}: it was collected, or never was"
        ) from None
    except StoreError as error:
        raise StoreError(
            f"version {number} in {directory.place} cannot be read: {error}. Bring its file "
            "back from a copy, or delete it to go back to the version before"
        ) from None
    return version


def labelled_version(directory: Directory, label: str) -> Version | None:
    """The newest version with this label, if there is one.

    Cost: reads versions from the newest back, so all of them if none has it.
    """
    for number in reversed(list(listed_versions(directory))):
        version = read_version(directory, number)
        if version.label == label:
            return version
    return None


def version_name(number: int) -> str:
    """Where the file of a version is."""
    return f"{FOLDER}/{number:012d}.json"


def _number(saved: Any) -> int:
    if not isinstance(saved, int) or isinstance(saved, bool) or saved < 0:
        raise ValueError(f"{saved!r} is no count")
    return saved


def _file(saved: Any) -> str | None:
    """Return the name of a file, which is that of its content and never leads elsewhere."""
    if saved is not None and not (isinstance(saved, str) and _FILE.fullmatch(saved)):
        raise ValueError(f"{saved!r} is the name of no file")
    return saved


def _sha256(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()
