"""The required notifications by the lifetime rule, computed by brute force on whole columns.

This module is written from the contract and shares no code with the checked system: it imports
nothing of covey, and parses its few forms of predicates itself.

An event is matched with the predicate that a subscription had when the event was appended. If event
and change have the same millisecond, either order is correct: such pairs may be notified, but need
not be.

Cost: one comparison of a column with a number for each event in each lifetime, of a nanosecond
each: some seconds for 1,000,000 events and 2,000 live subscriptions. Memory: 24 bytes per pair.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["COLUMNS", "Change", "Lifetimes", "pairs"]

COLUMNS = ("a", "b", "c", "d")
_EVER = 2**62
_BOUND = re.compile(r"([abcd]) (>=|>|<=|<) ([0-9.]+)")

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Box = tuple[tuple[float, ...], tuple[float, ...]]
"""Lower bounds, inclusive, and upper bounds, exclusive."""


@dataclass(frozen=True, slots=True)
class Change:
    """A record of the control topic; without a box, its subscription matches nothing after it.

    >>> Change.read("s", 7, '{"predicate": "a >= 0.25 AND a < 0.5", "revision": 2}', {}).revision
    2
    >>> Change.read("s", 7, "{broken", {}).is_readable
    False
    """

    subscription: str
    time_ms: int
    box: Box | None
    revision: int | None = None
    from_ms: int = -_EVER
    to_ms: int = _EVER
    is_readable: bool = True

    @classmethod
    def read(
        cls, subscription: str, time_ms: int, value: str | None, headers: Mapping[str, str]
    ) -> Change:
        """Return the change of a record; an unreadable change has no box."""
        if value is None:
            revision = int(headers["revision"]) if "revision" in headers else None
            return cls(subscription, time_ms, None, revision)
        revision = None
        try:
            fields = json.loads(value)
            revision = fields.get("revision")
            box = None if fields["predicate"] is None else _box(fields["predicate"])
            from_ms, to_ms = fields.get("from", -_EVER), fields.get("to", _EVER)
            return cls(subscription, time_ms, box, revision, from_ms, to_ms)
        except (ValueError, KeyError):
            return cls(subscription, time_ms, None, revision, is_readable=False)


@dataclass(frozen=True, slots=True)
class Lifetimes:
    """Times in which a subscription had a predicate.

    In lifetime i, subscription `subscriptions[i]` had the box `boxes[i]`. It must be notified of
    events from `must[i, 0]` to before `must[i, 1]`, in ms. It may be notified of events from
    `may[i, 0]` to before `may[i, 1]`, which adds the milliseconds of the changes at both ends.
    """

    subscriptions: Ints
    boxes: Floats
    must: Ints
    may: Ints

    @classmethod
    def of(cls, changes: Iterable[Change], rows: Mapping[str, int]) -> Lifetimes:
        """Return all lifetimes of changes.

        A change is ignored unless its revision is above all earlier revisions of its subscription.

        Args:
            changes: changes in the order of the log.
            rows: the number of each subscription by its id.
        """
        counted: dict[str, list[Change]] = {}
        highest: dict[str, int] = {}
        for change in changes:
            if change.revision is not None:
                if change.revision <= highest.get(change.subscription, 0):
                    continue
                highest[change.subscription] = change.revision
            counted.setdefault(change.subscription, []).append(change)
        subscriptions, boxes, must, may = [], [], [], []
        for subscription, own_changes in counted.items():
            ends = [change.time_ms for change in own_changes[1:]] + [_EVER]
            for change, end in zip(own_changes, ends, strict=True):
                if change.box is not None:
                    start, from_ms, to_ms = change.time_ms, change.from_ms, change.to_ms
                    subscriptions.append(rows[subscription])
                    boxes.append(change.box)
                    must.append((max(start + 1, from_ms), min(end, to_ms)))
                    may.append((max(start, from_ms), min(end + 1, to_ms)))
        return cls(
            np.array(subscriptions, np.int64),
            np.array(boxes, np.float64).reshape(-1, 2, len(COLUMNS)),
            np.array(must, np.int64).reshape(-1, 2),
            np.array(may, np.int64).reshape(-1, 2),
        )


def pairs(
    times_ms: Ints, columns: Sequence[Floats], lifetimes: Lifetimes, subscriptions: int
) -> tuple[Ints, Ints]:
    """Return the pairs that must be notified, and those that may be, as sorted distinct integers.

    A pair is the integer: event row · `subscriptions` + subscription number.

    Args:
        times_ms: times of events, ascending.
        columns: values of events, one array per attribute.
        lifetimes: lifetimes of all subscriptions.
        subscriptions: number of subscriptions.
    """
    must, may = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    slices = np.searchsorted(times_ms, lifetimes.may)
    for row, (first, last) in enumerate(slices.tolist()):
        events = _inside(columns, lifetimes.boxes[row], first, last)
        if events.size:
            event_pairs = events * subscriptions + lifetimes.subscriptions[row]
            times, (start, end) = times_ms[events], lifetimes.must[row]
            may.append(event_pairs)
            must.append(event_pairs[(times >= start) & (times < end)])
    return np.unique(np.concatenate(must)), np.unique(np.concatenate(may))


def _inside(columns: Sequence[Floats], box: Floats, first: int, last: int) -> Ints:
    """Return the rows of the events from `first` to before `last` that are in a box."""
    values = columns[0][first:last]
    rows = np.flatnonzero((values >= box[0, 0]) & (values < box[1, 0])) + first
    for column, lower, upper in zip(columns[1:], box[0, 1:], box[1, 1:], strict=True):
        values = column[rows]
        rows = rows[(values >= lower) & (values < upper)]
    return rows


def _box(predicate: str) -> Box:
    """Return the box of bounds on columns that are joined by AND; raise ValueError otherwise."""
    lower = dict.fromkeys(COLUMNS, -np.inf)
    upper = dict.fromkeys(COLUMNS, np.inf)
    for part in predicate.split(" AND "):
        if (match := _BOUND.fullmatch(part)) is None:
            raise ValueError(f"not a bound on a column: {part}")
        column, sign, bound = match[1], match[2], float(match[3])
        edge = bound if sign in (">=", "<") else float(np.nextafter(bound, np.inf))
        if sign in (">=", ">"):
            lower[column] = max(lower[column], edge)
        else:
            upper[column] = min(upper[column], edge)
    return tuple(lower.values()), tuple(upper.values())
