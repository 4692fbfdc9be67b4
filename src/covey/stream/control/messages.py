"""The messages of the control topic: what a change of a subscription looks like on Kafka.

The key is the subscription's id, so that all its changes are on one partition, in order, and so
that Kafka's compaction keeps the last. The value is a JSON object; without a predicate it cancels.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from covey._argument_checks import check_arguments
from covey.errors import InvalidArgumentError

__all__ = [
    "SubscriptionChange",
    "UnreadableChangeHandler",
    "cancel_message",
    "parse_change",
    "subscription_message",
]

_KEYS = ("predicate", "revision", "from", "to")
_KNOWN_KEYS = frozenset(_KEYS)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_decode_json = json.JSONDecoder().decode
_MAX_REVISION = (1 << 62) - 1
_MIN_TIME_MS, _MAX_TIME_MS = -62_135_596_800_000, 253_402_300_799_999  # the years 1 to 9999


class SubscriptionChange(NamedTuple):
    """One change: from `at_ms` on, the subscription is this predicate, or nothing.

    `place` is where on Kafka it stands. `revision` is 0 if it has none: then it counts in the order
    of the log. `problem` says why it could not be read; it then is a change to nothing, and of
    nobody if the `id` is empty.
    """

    subscription_id: str
    appended_ms: int
    message_ref: str
    predicate: str | None = None
    revision: int = 0
    from_ms: int | None = None
    to_ms: int | None = None
    problem: str | None = None


UnreadableChangeHandler = Callable[[Sequence[SubscriptionChange]], None]
"""Tells of changes that could not be read, durably, before they take effect."""


@check_arguments
def subscription_message(
    subscription_id: str,
    predicate: str,
    *,
    revision: int | None = None,
    from_ms: int | None = None,
    to_ms: int | None = None,
) -> tuple[bytes, bytes]:
    """Key and value of the message that makes or changes a subscription.

    It is acknowledged when Kafka has acknowledged it with `acks=all`: events that are published
    after that see it.

    >>> subscription_message("alert-1", "price > 5", revision=2)
    (b'alert-1', b'{"predicate": "price > 5", "revision": 2}')
    """
    given = {"predicate": predicate, "revision": revision, "from": from_ms, "to": to_ms}
    return _encode_id(subscription_id), json.dumps(
        {k: v for k, v in given.items() if v is not None}
    ).encode()


@check_arguments
def cancel_message(subscription_id: str, revision: int | None = None) -> tuple[bytes, bytes | None]:
    """Key and value of the message that cancels a subscription.

    Without a revision the value is null, which Kafka's compaction removes with all that was
    before; with one it stays on the topic, for one message per cancelled subscription.

    >>> cancel_message("alert-1", revision=3)
    (b'alert-1', b'{"predicate": null, "revision": 3}')
    """
    if revision is None:
        return _encode_id(subscription_id), None
    return _encode_id(subscription_id), json.dumps(
        {"predicate": None, "revision": revision}
    ).encode()


def _encode_id(subscription_id: str) -> bytes:
    try:
        return subscription_id.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(
            f"subscription_id {subscription_id!r} is no text that UTF-8 can hold"
        ) from None


def parse_change(
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]],
    appended_ms: int,
    message_ref: str,
) -> SubscriptionChange:
    """The change that a message is, whatever is in it.

    >>> parse_change(b"7", b'{"predicate": "price > 5"}', [], 1000, "alerts-0-4").predicate
    'price > 5'
    >>> parse_change(b"7", b'{"predicat": "price > 5"}', [], 1000, "alerts-0-4").problem
    "no key 'predicat' is known: a change has predicate, revision, from, to"
    """
    id = ""
    try:
        id = _parse_id(key)
        given = _parse_value(value, headers)
        return SubscriptionChange(
            id,
            appended_ms,
            message_ref,
            given.get("predicate"),
            _parse_integer(given, "revision") or 0,
            _parse_integer(given, "from"),
            _parse_integer(given, "to"),
        )
    except ValueError as error:
        return SubscriptionChange(id, appended_ms, message_ref, problem=str(error))


def _parse_id(key: bytes | None) -> str:
    if not key:
        raise ValueError("the key, which is the subscription's id, is missing")
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise ValueError(f"the key, which is the subscription's id, is no UTF-8: {key!r}") from None


def _parse_value(
    value: bytes | None, headers: Sequence[tuple[str, bytes | None]]
) -> Mapping[str, Any]:
    """The object of a message; null is a cancel, whose revision may be a header."""
    if value is None:
        for name, content in headers:
            if name == "revision" and content is not None:
                return {"revision": _parse_digits(content)}
        return {}
    try:
        given = _decode_json(value.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise ValueError("the value is no JSON") from None
    if not isinstance(given, dict):
        raise ValueError('the value is no JSON object, as {"predicate": "price > 5"}')
    if not given.keys() <= _KNOWN_KEYS:
        name = next(name for name in given if name not in _KNOWN_KEYS)
        raise ValueError(f"no key {name!r} is known: a change has {', '.join(_KEYS)}")
    predicate = given.get("predicate")
    if not isinstance(predicate, str | None):
        raise ValueError("the predicate is no text")
    if predicate is not None and not predicate.isascii() and _LONE_SURROGATE.search(predicate):
        raise ValueError(f"the predicate has half of a surrogate pair: {predicate!r}")
    return given


def _parse_integer(fields: Mapping[str, Any], key: str) -> int | None:
    number = fields.get(key)
    if number is None:
        return None
    is_time = key != "revision"
    low, high = (_MIN_TIME_MS, _MAX_TIME_MS) if is_time else (1, _MAX_REVISION)
    if not isinstance(number, int) or isinstance(number, bool) or not low <= number <= high:
        what = "milliseconds since 1970" if is_time else "a whole number from 1 on"
        raise ValueError(f"{key} is {what}, not {number!r}")
    return number


def _parse_digits(content: bytes) -> int:
    if not content.isdigit() or len(content) > 100:
        raise ValueError(f"the header revision is decimal digits, not {content!r}")
    return int(content)
