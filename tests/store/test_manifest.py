"""A manifest is read completely and correctly, or refused."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa
import pytest

from covey.errors import StoreError
from covey.space import Space
from covey.store import Store
from covey.store.ids import IdKind
from covey.store.manifest.manifest import (
    Manifest,
    SegmentEntry,
    list_versions,
    manifest_name,
    read_manifest,
    read_newest_manifest,
)
from covey.store.storage.backend import partial_name
from covey.store.storage.local import LocalBackend

SPACE = Space.from_types({"x": pa.int32()})
ENTRY = SegmentEntry("ab" * 32, 1000, 20, 10, 3)


def version(number: int) -> Manifest:
    return Manifest(number, 1_700_000_000_000, SPACE, IdKind.TEXT, (ENTRY,), "cd" * 32)


def test_a_manifest_is_restored() -> None:
    manifest = version(7)
    assert Manifest.from_bytes(manifest.to_bytes()) == manifest


def test_a_manifest_knows_its_files_and_its_live_subscriptions() -> None:
    assert version(7).files == {"ab" * 32, "cd" * 32}
    assert version(7).subscriptions == 7


def test_every_changed_byte_is_noticed() -> None:
    content = version(7).to_bytes()
    for position in range(len(content)):
        for change in (1, 32):
            with pytest.raises(StoreError, match="truncated or damaged"):
                Manifest.from_bytes(
                    content[:position]
                    + bytes([content[position] ^ change])
                    + content[position + 1 :]
                )


def test_every_truncation_and_every_addition_is_noticed() -> None:
    content = version(7).to_bytes()
    for wrong in [content[:size] for size in range(len(content))] + [content + b" "]:
        with pytest.raises(StoreError, match="truncated or damaged"):
            Manifest.from_bytes(wrong)


def test_the_newest_version_has_the_highest_number(tmp_path: Path) -> None:
    directory = LocalBackend(tmp_path)
    for number in (0, 9, 10, 2):
        directory.put_if_absent(manifest_name(number), version(number).to_bytes())
    assert list(list_versions(directory)) == [0, 2, 9, 10]
    assert read_newest_manifest(directory).version == 10


def test_a_partial_file_of_a_killed_writer_is_ignored(tmp_path: Path) -> None:
    directory = LocalBackend(tmp_path)
    directory.put_if_absent(manifest_name(1), version(1).to_bytes())
    (tmp_path / partial_name(manifest_name(2))).write_bytes(version(2).to_bytes()[:50])
    assert read_newest_manifest(directory).version == 1


def test_a_damaged_newest_version_raises_an_error(tmp_path: Path) -> None:
    directory = LocalBackend(tmp_path)
    directory.put_if_absent(manifest_name(1), version(1).to_bytes())
    directory.put_if_absent(manifest_name(2), version(2).to_bytes()[:50])
    with pytest.raises(StoreError, match=r"version 2 in .* cannot be read: it is truncated.*copy"):
        read_newest_manifest(directory)


def test_a_version_under_another_name_is_refused(tmp_path: Path) -> None:
    directory = LocalBackend(tmp_path)
    directory.put_if_absent(manifest_name(3), version(2).to_bytes())
    with pytest.raises(StoreError, match="its content says version 2"):
        read_manifest(directory, 3)


def test_missing_versions_and_stores_are_reported(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no version 3"):
        read_manifest(LocalBackend(tmp_path), 3)
    with pytest.raises(StoreError, match="there is no store at"):
        read_newest_manifest(LocalBackend(tmp_path))


def test_a_version_of_a_later_format_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    content = version(1).to_bytes()
    monkeypatch.setattr("covey.store.manifest.manifest._FORMAT", 5)
    with pytest.raises(StoreError, match="it has format 3, but this release of covey reads 5"):
        Manifest.from_bytes(content)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", "7"), ("version", -1), ("written_ms", None), ("id_kind", "no kind"),
        ("segments", 5), ("segments", [{}]), ("segments", [{"file": "../../etc/passwd"}]),
        ("segments", [{**asdict(ENTRY), "file": "../secret"}]),
        ("segments", [{**asdict(ENTRY), "dead": 99}]),
        ("segments", [{**asdict(ENTRY), "regions": "many"}]),
        ("tombstones_file", "../secret"), ("zone_map_file", 3), ("space", {}), ("space", None),
        ("space", {"columns": [{"name": 1}]}), ("format", None), ("format", 99),
    ],
)  # fmt: skip
def test_a_forged_manifest_with_a_valid_checksum_is_refused(name: str, value: object) -> None:
    content = version(7).to_bytes()
    body = json.loads(content)["version"]
    forged = json.dumps({**body, name: value}, sort_keys=True).encode()
    checksum = hashlib.sha256(forged).hexdigest()
    with pytest.raises(StoreError):
        Manifest.from_bytes(b'{"version":' + forged + f',"sha256":"{checksum}"}}\n'.encode())


@pytest.mark.parametrize("body", [b"5", b"[]", b"null", b"{}", b'"x"', b"[" * 100_000, b"\xff"])
def test_json_that_is_no_manifest_is_refused(body: bytes) -> None:
    checksum = hashlib.sha256(body).hexdigest()
    with pytest.raises(StoreError):
        Manifest.from_bytes(b'{"version":' + body + f',"sha256":"{checksum}"}}\n'.encode())


def test_a_file_is_refused_as_a_store(tmp_path: Path) -> None:
    (tmp_path / "alerts").write_text("id,predicate")
    for location in (tmp_path / "alerts", tmp_path / "alerts" / "below"):
        with pytest.raises(StoreError, match="this path, or a path above it, is a file"):
            Store.open(location)
        with pytest.raises(StoreError, match="this path, or a path above it, is a file"):
            Store.create(location, SPACE)
