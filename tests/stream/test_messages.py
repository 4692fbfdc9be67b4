"""Messages of the control topic: written messages are read back, and others are reported."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.stream import cancel_message, subscription_message
from covey.stream.control.messages import SubscriptionChange, parse_change

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
REVISIONS = st.none() | st.integers(1, (1 << 62) - 1)
TIMES = st.none() | st.integers(-62_135_596_800_000, 253_402_300_799_999)
NUMBER = "'revision' must be a whole number from 1 to 4611686018427387903"
TIME = "must be a time in milliseconds since 1970, from -62135596800000 to 253402300799999"


def read(
    key: bytes | None, value: bytes | None, *headers: tuple[str, bytes | None]
) -> SubscriptionChange:
    return parse_change(key, value, headers, 1000, "alerts-0-4")


def problem(value: Any, key: bytes | None = b"7") -> str:
    """Return the problem of a value, which must parse to a change without effect."""
    found = read(key, value if isinstance(value, bytes) else json.dumps(value).encode())
    assert found.problem is not None
    assert (found.predicate, found.revision, found.from_ms, found.to_ms) == (None, 0, None, None)
    assert (found.appended_ms, found.message_ref) == (1000, "alerts-0-4")
    return found.problem


@given(TEXTS.filter(bool), TEXTS, REVISIONS, TIMES, TIMES)
def test_a_change_is_read_back(
    id: str, predicate: str, revision: int | None, from_ms: int | None, to_ms: int | None
) -> None:
    key, value = subscription_message(
        id, predicate, revision=revision, from_ms=from_ms, to_ms=to_ms
    )
    expected = SubscriptionChange(id, 1000, "alerts-0-4", predicate, revision or 0, from_ms, to_ms)
    assert read(key, value) == expected


@given(TEXTS.filter(bool), REVISIONS)
def test_a_cancellation_is_read_back(id: str, revision: int | None) -> None:
    key, value = cancel_message(id, revision)
    assert (value is None) == (revision is None)
    assert read(key, value) == SubscriptionChange(id, 1000, "alerts-0-4", revision=revision or 0)


def test_omitted_arguments_are_not_written() -> None:
    assert subscription_message("ž", "a > 1") == ("ž".encode(), b'{"predicate": "a > 1"}')
    assert subscription_message("x", "a", from_ms=0) == (b"x", b'{"predicate": "a", "from": 0}')


def test_a_null_value_may_have_its_revision_in_a_header() -> None:
    headers: list[tuple[str, bytes | None]] = [("trace", b"x"), ("revision", b"0012")]
    assert read(b"7", None, *headers) == SubscriptionChange("7", 1000, "alerts-0-4", revision=12)
    assert read(b"7", None, ("revision", None)).revision == 0
    assert read(b"7", b'{"predicate": "a"}', ("revision", b"9")).revision == 0


@pytest.mark.parametrize("given_", [{}, {"predicate": None}, {"revision": None, "to": None}])
def test_an_object_without_a_predicate_cancels(given_: dict[str, Any]) -> None:
    assert read(b"7", json.dumps(given_).encode()) == SubscriptionChange("7", 1000, "alerts-0-4")


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (b"", "the value is not valid JSON"),
        (b"{", "the value is not valid JSON"),
        (b"\xff\xfe{", "the value is not valid JSON"),
        (b"[" * 100_000, "the value is not valid JSON"),
        (b'{"revision": ' + b"9" * 5000 + b"}", "the value is not valid JSON"),
        ([1], 'the value is not a JSON object such as {"predicate": "price > 5"}'),
        ("a > 1", 'the value is not a JSON object such as {"predicate": "price > 5"}'),
        (None, 'the value is not a JSON object such as {"predicate": "price > 5"}'),
        (
            {"Predicate": "a"},
            "unknown key 'Predicate': a change may have the keys predicate, revision, from",
        ),
        ({"predicate": 5}, "the predicate must be a string, got int"),
        ({"predicate": ["a"]}, "the predicate must be a string, got list"),
        ({"revision": 0}, f"{NUMBER}, got 0"),
        ({"revision": -3}, f"{NUMBER}, got -3"),
        ({"revision": True}, f"{NUMBER}, got True"),
        ({"revision": "3"}, f"{NUMBER}, got '3'"),
        ({"revision": 1.0}, f"{NUMBER}, got 1.0"),
        ({"revision": float("nan")}, f"{NUMBER}, got nan"),
        ({"revision": 1 << 62}, f"{NUMBER}, got 46116860"),
        ({"from": "2026-01-01"}, f"'from' {TIME}, got '2026-01-01'"),
        ({"predicate": "a", "to": 1.5}, f"'to' {TIME}, got 1.5"),
        ({"predicate": "a", "to": False}, f"'to' {TIME}, got False"),
        ({"from": 253_402_300_800_000}, f"'from' {TIME}, got 2534023008"),
        ({"to": 1_767_312_000_000_000_000}, f"'to' {TIME}, got 17673120"),
        ({"to": -(1 << 61)}, f"'to' {TIME}, got -230584"),
        (
            {"predicate": "s = '\ud83d'"},
            "the predicate contains half of a surrogate pair: \"s = '\\ud8",
        ),
        (b'{"predicate": "\xed\xa0\x80"}', "the predicate contains half of a surrogate pair"),
    ],
)
def test_an_unreadable_value_is_reported(value: Any, said: str) -> None:
    assert problem(value).startswith(said)


@pytest.mark.parametrize("content", [b"", b"x", b"-1", b"1.5", b"\xb2", "٣".encode(), b"1" * 5000])
def test_a_header_that_is_no_revision_is_reported(content: bytes) -> None:
    said = read(b"7", None, ("revision", content)).problem
    assert said == f"the header 'revision' must be 1 to 100 digits, got {content!r}"


@pytest.mark.parametrize("key", [None, b""])
def test_a_message_without_a_key_is_reported(key: bytes | None) -> None:
    assert problem({"predicate": "a > 1"}, key) == (
        "the key, which is the subscription's id, is missing"
    )


def test_a_key_that_is_not_utf8_has_no_id() -> None:
    """The id is not a text similar to the bytes."""
    found = read(b"a\xff", b'{"predicate": "a > 1"}')
    assert found.subscription_id == ""
    assert found.problem == "the key, which is the subscription's id, is not valid UTF-8: b'a\\xff'"


@given(st.none() | st.binary(), st.none() | st.binary(), st.binary())
def test_any_message_becomes_a_change(
    key: bytes | None, value: bytes | None, header: bytes
) -> None:
    found = read(key, value, ("revision", header))
    assert found.problem is None or found.predicate is None
