"""What the producers send, drawn at random: events, and changes of subscriptions.

Events are four numbers in [0, 1). Half of them have three decimals, as all bounds of predicates
have, so that values lie on bounds. A predicate is a box with sides such that one event matches
about three of 2,000.
"""

from __future__ import annotations

import json
import random
import time
from typing import NamedTuple

from soak.journal import Past
from soak.rule import COLUMNS

__all__ = ["LIVE", "Sending", "change", "event"]

LIVE = 2000  # subscriptions at any time, about
_SIDE = (3 / LIVE) ** 0.25
_MALFORMED = 1 / 2000
_NONSENSE = (b'{"a": 0.5, "b":', b"not JSON", b"\xff\xfe")
_UNREADABLE = (b"{", b'{"predicate": "a >>> 0.5"}')


class Sending(NamedTuple):
    """A change on its way: `revision` is the highest of its subscription after it."""

    subscription: str
    value: bytes | None
    headers: list[tuple[str, bytes]]
    revision: int
    live: bool


def event(rng: random.Random) -> bytes:
    """One event, now and then a malformed one."""
    if rng.random() < _MALFORMED:
        return rng.choice(_NONSENSE)
    values = [rng.random() for _ in COLUMNS]
    if rng.random() < 0.5:
        values = [int(value * 1000) / 1000 for value in values]
    return json.dumps(dict(zip(COLUMNS, values, strict=True))).encode()


def change(rng: random.Random, past: Past) -> Sending:
    """One change, such that about `LIVE` subscriptions live; `past` is told of it."""
    kinds = {"put": LIVE - len(past.live) + 100, "cancel": len(past.live) - LIVE + 100}
    if len(past.live) >= LIVE * 0.9:
        kinds |= {"update": 250, "stale": 25, "unreadable": 2}
    kind = rng.choices(list(kinds), [max(weight, 0) for weight in kinds.values()])[0]
    sending = _DRAWS[kind](rng, past)
    past.mark(sending.subscription, sending.revision, sending.live)
    return sending


def _put(rng: random.Random, past: Past) -> Sending:
    """A new subscription, or one that was cancelled."""
    again = bool(past.cancelled) and rng.random() < 0.5
    id_ = _one(rng, past.cancelled) if again else f"alert-{rng.randrange(10**9)}"
    return _with_predicate(rng, past, id_)


def _update(rng: random.Random, past: Past) -> Sending:
    return _with_predicate(rng, past, _one(rng, past.live))


def _cancel(rng: random.Random, past: Past) -> Sending:
    """All three forms; a null without a revision counts, whatever came before."""
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
    """An old revision that comes late, of a subscription that may have been cancelled since.

    Not long since: the revision of one that is over is forgotten after `max_event_delay_s`.
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
    """After it the subscription matches nothing."""
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
    """Now and then with a time from which, or until which, it is meant."""
    revision = past.next_revision(id_) + rng.randrange(3)
    said: dict[str, object] = {"predicate": _predicate(rng), "revision": revision}
    now_ms = int(time.time() * 1000)
    if rng.random() < 0.05:
        said["from"] = now_ms + rng.randint(-1000, 5000)
    if rng.random() < 0.05:
        said["to"] = now_ms + rng.randint(0, 60_000)
    return Sending(id_, _value(**said), [], revision, True)


def _predicate(rng: random.Random) -> str:
    """A box, each of its bounds with or without the bound itself."""
    parts = []
    for name in COLUMNS:
        side = _SIDE * rng.uniform(0.8, 1.2)
        lower = rng.uniform(0, 1 - side)
        parts.append(f"{name} {rng.choice(['>=', '>'])} {lower:.3f}")
        parts.append(f"{name} {rng.choice(['<', '<='])} {lower + side:.3f}")
    return " AND ".join(parts)


def _value(**said: object) -> bytes:
    return json.dumps(said).encode()


def _one(rng: random.Random, ids: dict[str, None]) -> str:
    place = rng.randrange(len(ids))
    return next(id_ for at, id_ in enumerate(ids) if at == place)
