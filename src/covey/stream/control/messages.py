"""Format of the messages of the control topic.

The key is the subscription's id, so that all changes of a subscription are on one partition, in
order, and log compaction preserves the last one. The value is a JSON object, or null. A value
without a predicate cancels the subscription.
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
    """One change of a subscription: its new predicate, or a cancellation.

    A message that cannot be read becomes a change with a `problem`. It cancels the subscription, or
    has no effect if the id cannot be read either.

    Args:
        subscription_id: id of the subscription; empty if it cannot be read.
        appended_ms: time at which Kafka appended the message, in milliseconds since 1970.
        message_ref: address of the message, `topic-partition-offset`.
        predicate: the new predicate; None cancels.
        revision: revision of the change; 0 if it has none. A change without a revision is never
            ignored.
        from_ms: the predicate matches no event before this time, in milliseconds since 1970; None
            if it is not restricted.
        to_ms: the predicate matches no event at or after this time, in milliseconds since 1970;
            None if it is not restricted.
        problem: why the message cannot be read; None if it can.
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
"""Function that reports unreadable changes durably; it is called before the changes take effect."""


@check_arguments
def subscription_message(
    subscription_id: str,
    predicate: str,
    *,
    revision: int | None = None,
    from_ms: int | None = None,
    to_ms: int | None = None,
) -> tuple[bytes, bytes]:
    """Return key and value of the message that creates or changes a subscription.

    Produce the message with `acks=all`. The subscription is notified of all matching events that
    are published after Kafka has acknowledged the message.

    Args:
        subscription_id: id of the subscription.
        predicate: the new predicate, a Spark SQL condition.
        revision: a whole number of at least 1; the change is ignored if the subscription already
            has an equal or higher revision. A change without a revision is never ignored.
        from_ms: the predicate matches no event before this time, in milliseconds since 1970.
        to_ms: the predicate matches no event at or after this time, in milliseconds since 1970.

    Raises:
        InvalidArgumentError: the id cannot be encoded as UTF-8.

    >>> subscription_message("alert-1", "price > 5", revision=2)
    (b'alert-1', b'{"predicate": "price > 5", "revision": 2}')
    """
    fields = {"predicate": predicate, "revision": revision, "from": from_ms, "to": to_ms}
    return _encode_id(subscription_id), json.dumps(
        {key: value for key, value in fields.items() if value is not None}
    ).encode()


@check_arguments
def cancel_message(subscription_id: str, revision: int | None = None) -> tuple[bytes, bytes | None]:
    """Return key and value of the message that cancels a subscription.

    Without a revision the value is null, and log compaction eventually removes the message together
    with all earlier messages of the subscription. With a revision, the topic keeps this message of
    each cancelled subscription.

    Raises:
        InvalidArgumentError: the id cannot be encoded as UTF-8.

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
            f"subscription_id {subscription_id!r} cannot be encoded as UTF-8"
        ) from None


def parse_change(
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[tuple[str, bytes | None]],
    appended_ms: int,
    message_ref: str,
) -> SubscriptionChange:
    """Parse a message into a change; a message that cannot be read becomes one with a `problem`.

    >>> parse_change(b"7", b'{"predicate": "price > 5"}', [], 1000, "alerts-0-4").predicate
    'price > 5'
    >>> parse_change(b"7", b'{"predicat": "price > 5"}', [], 1000, "alerts-0-4").problem
    "unknown key 'predicat': a change may have the keys predicate, revision, from, to"
    """
    id = ""
    try:
        id = _parse_id(key)
        fields = _parse_value(value, headers)
        return SubscriptionChange(
            id,
            appended_ms,
            message_ref,
            fields.get("predicate"),
            _parse_integer(fields, "revision") or 0,
            _parse_integer(fields, "from"),
            _parse_integer(fields, "to"),
        )
    except ValueError as error:
        return SubscriptionChange(id, appended_ms, message_ref, problem=str(error))


def _parse_id(key: bytes | None) -> str:
    if not key:
        raise ValueError("the key, which is the subscription's id, is missing")
    try:
        return key.decode()
    except UnicodeDecodeError:
        raise ValueError(
            f"the key, which is the subscription's id, is not valid UTF-8: {key!r}"
        ) from None


def _parse_value(
    value: bytes | None, headers: Sequence[tuple[str, bytes | None]]
) -> Mapping[str, Any]:
    """Return the fields of a message's value.

    For a null value, they are the revision from the message's header, if there is one.
    """
    if value is None:
        for name, content in headers:
            if name == "revision" and content is not None:
                return {"revision": _parse_digits(content)}
        return {}
    try:
        fields = _decode_json(value.decode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        raise ValueError("the value is not valid JSON") from None
    if not isinstance(fields, dict):
        raise ValueError('the value is not a JSON object such as {"predicate": "price > 5"}')
    if not fields.keys() <= _KNOWN_KEYS:
        name = next(name for name in fields if name not in _KNOWN_KEYS)
        raise ValueError(f"unknown key {name!r}: a change may have the keys {', '.join(_KEYS)}")
    predicate = fields.get("predicate")
    if not isinstance(predicate, str | None):
        raise ValueError(f"the predicate must be a string, got {type(predicate).__name__}")
    if predicate is not None and not predicate.isascii() and _LONE_SURROGATE.search(predicate):
        raise ValueError(f"the predicate contains half of a surrogate pair: {predicate!r}")
    return fields


def _parse_integer(fields: Mapping[str, Any], key: str) -> int | None:
    number = fields.get(key)
    if number is None:
        return None
    is_time = key != "revision"
    low, high = (_MIN_TIME_MS, _MAX_TIME_MS) if is_time else (1, _MAX_REVISION)
    if not isinstance(number, int) or isinstance(number, bool) or not low <= number <= high:
        expected = "a time in milliseconds since 1970," if is_time else "a whole number"
        raise ValueError(f"{key!r} must be {expected} from {low} to {high}, got {number!r}")
    return number


def _parse_digits(content: bytes) -> int:
    if not content.isdigit() or len(content) > 100:
        raise ValueError(f"the header 'revision' must be 1 to 100 digits, got {content!r}")
    return int(content)
