"""Reasons and contents of dead letters."""

from __future__ import annotations

import json

import pytest

from covey.stream.events.dead_letters import CORRUPT_RECORD_FIELD, DeadLetterFormatter

NO_OBJECT = "the value is not a JSON object"


def corrupt(**read: object) -> str:
    return json.dumps({**read, CORRUPT_RECORD_FIELD: "…"})


@pytest.mark.parametrize(
    ("value", "decoded", "reason"),
    [
        (None, None, "the value is null"),
        (b"\xff{}", corrupt(), "the value is not valid UTF-8"),
        (b"", None, NO_OBJECT),
        (b"{", corrupt(), NO_OBJECT),
        (b"[1]", corrupt(), NO_OBJECT),
        (b"3", corrupt(), NO_OBJECT),
        (b"[" * 100_000, corrupt(), NO_OBJECT),
        (b'{"a": "x", "b": 1}', corrupt(b=1), "type differs from the schema: a"),
        (b'{"b": [], "a": {}}', corrupt(), "type differs from the schema: a, b"),
        (b'{"a": null, "b": []}', corrupt(), "type differs from the schema: b"),
        (b'{"a": 1}', corrupt(a=1), "the value does not fit the schema"),
    ],
)
def test_the_reason_is_reported(value: bytes | None, decoded: str | None, reason: str) -> None:
    assert DeadLetterFormatter("json", ("a", "b")).find_reason(value, decoded) == reason


def test_a_missing_id_is_distinguished_from_invalid_json() -> None:
    formatter = DeadLetterFormatter("json", ("a", "b"), "b")
    missing = "column b, the event's id, is null"
    assert formatter.find_reason(b'{"a": 1}', '{"a": 1}') == missing
    assert formatter.find_reason(b'{"a": "x"}', corrupt()) == "type differs from the schema: a"
    assert DeadLetterFormatter("avro", ("a", "b"), "b").find_reason(b"\0", "{}") == missing
    assert (
        DeadLetterFormatter("avro", ("a",)).find_reason(b"\0", "{}")
        == "the value does not fit the Avro schema"
    )


def test_a_letter_contains_the_value_as_text_or_in_base64() -> None:
    formatter = DeadLetterFormatter("json", ("a",))
    letter = json.loads(
        formatter.format_letter({"event_ref": "x-0-1", "value": "ž{".encode(), "decoded": None})
    )
    assert letter == {"event": "x-0-1", "reason": NO_OBJECT, "value": "ž{"}
    letter = json.loads(
        formatter.format_letter({"event_ref": "x-0-1", "value": b"\xff" * 90, "decoded": None})
    )
    assert letter == {
        "event": "x-0-1", "reason": "the value is not valid UTF-8", "value_base64": "/" * 120,
    }  # fmt: skip
    letter = json.loads(
        formatter.format_letter({"event_ref": "x-0-1", "value": None, "decoded": None})
    )
    assert letter == {"event": "x-0-1", "reason": "the value is null"}
