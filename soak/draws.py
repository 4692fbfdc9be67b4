"""Random messages of the producers: events, and changes of subscriptions.

Events are four numbers in [0, 1). Half of the events have values with three decimals, like all
bounds of predicates, so that values equal bounds. A predicate is a box with sides such that an
event matches about three of 2,000 subscriptions.
"""

from __future__ import annotations

import json
import random
import time
from typing import NamedTuple

from soak.journal import Past
from soak.rule import COLUMNS

__all__ = ["LIVE", "Sending", "change", "event"]

LIVE = 2000  # approximate number of live subscriptions
_SIDE = (3 / LIVE) ** 0.25
_MALFORMED = 1 / 2000  # share of events
_NONSENSE = (b'{"a": 0.5, "b":', b"not JSON", b"\xff\xfe")
_UNREADABLE = (b"{", b'{"predicate": "a >>> 0.5"}')


class Sending(NamedTuple):
    """A change to send.

    After the change, `revision` is the highest revision of its subscription, and `live` says
    whether the subscription is live.
    """

    subscription: str
    value: bytes | None
    headers: list[tuple[str, bytes]]
    revision: int
    live: bool


def event(rng: random.Random) -> bytes:
    """Return the value of a random event, which is rarely malformed."""
    if rng.random() < _MALFORMED:
        return rng.choice(_NONSENSE)
    values = [rng.random() for _ in COLUMNS]
    if rng.random() < 0.5:
        values = [int(value * 1000) / 1000 for value in values]
    return json.dumps(dict(zip(COLUMNS, values, strict=True))).encode()


def change(rng: random.Random, past: Past) -> Sending:
    """Return a random change, and record it in `past`; about `LIVE` subscriptions remain live."""
    kinds = {"put": LIVE - len(past.live) + 100, "cancel": len(past.live) - LIVE + 100}
    if len(past.live) >= LIVE * 0.9:
        kinds |= {"update": 250, "stale": 25, "unreadable": 2}
    kind = rng.choices(list(kinds), [max(weight, 0) for weight in kinds.values()])[0]
    sending = _DRAWS[kind](rng, past)
    past.mark(sending.subscription, sending.revision, sending.live)
    return sending


def _put(rng: random.Random, past: Past) -> Sending:
    """Return a change that creates a new subscription, or one that was cancelled."""
    is_cancelled = bool(past.cancelled) and rng.random() < 0.5
    id_ = _one(rng, past.cancelled) if is_cancelled else f"alert-{rng.randrange(10**9)}"
    return _with_predicate(rng, past, id_)


def _update(rng: random.Random, past: Past) -> Sending:
    return _with_predicate(rng, past, _one(rng, past.live))


def _cancel(rng: random.Random, past: Past) -> Sending:
    """Return a cancellation in one of its three forms.

    A null value without a revision is valid after any earlier revision.
    """
    id_ = _one(rng, past.live)
    revision = past.next_revision(id_)
    return rng.choice(
        [
            Sending(id_, None, [], past.revisions.get(id_, 0), False),
            Sending(id_, None, [("revision", b"%d" % revision)], revision, False),
            Sending(id_, _value(predicate=None, revision=revision), [], revision, False),
        ]
    )


def _stale(rng: random.Random, past: Past) -> Sending:
    """Return a late change with an old revision, of a subscription that may be cancelled by now.

    It is a recently changed one, because the revision of a cancelled subscription expires after
    `max_event_delay_s`.
    """
    id_ = _one(rng, past.recent)
    highest, live = past.revisions.get(id_, 0), id_ in past.live
    if highest == 0:
        return _with_predicate(rng, past, id_)
    old = rng.randint(max(1, highest - 3), highest)
    value = rng.choice([_value(predicate=_predicate(rng), revision=old), None])
    headers = [("revision", b"%d" % old)] if value is None else []
    return Sending(id_, value, headers, highest, live)


def _unreadable(rng: random.Random, past: Past) -> Sending:
    """Return an unreadable change, after which the subscription matches nothing."""
    id_ = _one(rng, past.live)
    return Sending(id_, rng.choice(_UNREADABLE), [], past.revisions.get(id_, 0), False)


_DRAWS = {
    "put": _put,
    "cancel": _cancel,
    "update": _update,
    "stale": _stale,
    "unreadable": _unreadable,
}


def _with_predicate(rng: random.Random, past: Past, id_: str) -> Sending:
    """Return a change with a random predicate, rarely with a start or an end of validity."""
    revision = past.next_revision(id_) + rng.randrange(3)
    fields: dict[str, object] = {"predicate": _predicate(rng), "revision": revision}
    now_ms = int(time.time() * 1000)
    if rng.random() < 0.05:
        fields["from"] = now_ms + rng.randint(-1000, 5000)
    if rng.random() < 0.05:
        fields["to"] = now_ms + rng.randint(0, 60_000)
    return Sending(id_, _value(**fields), [], revision, True)


def _predicate(rng: random.Random) -> str:
    """Return the predicate of a random box, whose bounds are inclusive or exclusive."""
    parts = []
    for name in COLUMNS:
        side = _SIDE * rng.uniform(0.8, 1.2)
        lower = rng.uniform(0, 1 - side)
        parts.append(f"{name} {rng.choice(['>=', '>'])} {lower:.3f}")
        parts.append(f"{name} {rng.choice(['<', '<='])} {lower + side:.3f}")
    return " AND ".join(parts)


def _value(**fields: object) -> bytes:
    return json.dumps(fields).encode()


def _one(rng: random.Random, ids: dict[str, None]) -> str:
    """Return a random id."""
    position = rng.randrange(len(ids))
    return next(id_ for n, id_ in enumerate(ids) if n == position)
