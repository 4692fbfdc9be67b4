"""Random load of the producers, and the state that they restore after a kill."""

from __future__ import annotations

import json
import random
from pathlib import Path

import numpy as np

from soak import draws
from soak.journal import Journal, Past
from soak.names import ALERTS, EVENTS
from soak.rule import COLUMNS, Change, Lifetimes, pairs


def draw_changes(count: int) -> list[Change]:
    rng, past, changes = random.Random(3), Past(), []
    for time_ms in range(count):
        sending = draws.change(rng, past)
        value = None if sending.value is None else sending.value.decode()
        headers = {name: text.decode() for name, text in sending.headers}
        changes.append(Change.read(sending.subscription, time_ms, value, headers))
    return changes


def test_an_event_matches_about_three_of_two_thousand_subscriptions() -> None:
    changes = draw_changes(8000)
    rng, count, values = random.Random(4), 2000, []
    while len(values) < count:
        try:
            said = json.loads(draws.event(rng))
            values.append([said[name] for name in COLUMNS])
        except ValueError:
            continue
    rows = {change.subscription: 0 for change in changes}
    rows = {id_: row for row, id_ in enumerate(rows)}
    whole = [Change(c.subscription, c.time_ms, c.box, c.revision) for c in changes]
    times = np.full(count, 10_000, np.int64)
    must, _ = pairs(times, list(np.array(values).T), Lifetimes.of(whole, rows), len(rows))
    assert 2 < len(must) / count < 4


def test_changes_are_of_all_kinds() -> None:
    changes = draw_changes(8000)
    highest: dict[str, int] = {}
    stale = 0
    for change in changes:
        id_, revision = change.subscription, change.revision or 0
        stale += 0 < revision <= highest.get(id_, 0)
        highest[id_] = max(highest.get(id_, 0), revision)
    assert stale > 100
    assert any(not change.is_readable for change in changes)
    assert any(change.box is None and change.revision is None for change in changes)
    assert any(change.box is None and change.revision is not None for change in changes)
    assert any(change.from_ms > 0 for change in changes)


def test_an_old_revision_belongs_to_a_recent_change() -> None:
    """Revisions of expired subscriptions are not kept forever, so older ones are not sent."""
    changed: dict[str, int] = {}
    highest: dict[str, int] = {}
    ages = []
    for number, change in enumerate(draw_changes(20_000)):
        id_, revision = change.subscription, change.revision
        if revision is not None and revision <= highest.get(id_, 0):
            ages.append(number - changed[id_])
        else:
            changed[id_], highest[id_] = number, revision or highest.get(id_, 0)
    assert len(ages) > 500
    assert max(ages) < 1000


def test_events_are_sometimes_malformed() -> None:
    rng = random.Random(5)
    assert sum(not draws.event(rng).endswith(b"}") for _ in range(20_000)) in range(2, 50)


def test_a_killed_producer_continues_above_all_sent_revisions(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    assert Past.of(file).next_revision("s") == 1
    with Journal(file) as journal:
        journal.note(EVENTS, 0, 0)
        journal.note(EVENTS, 0, 1, aborted=True)
        journal.note(ALERTS, 0, 0, subscription="s", revision=3, live=True)
        journal.note(ALERTS, 0, 1, subscription="t", revision=5, live=False)
    past = Past.of(file)
    assert (past.events, past.changes) == (1, 2)
    assert (list(past.live), list(past.cancelled)) == (["s"], ["t"])
    unwritten = 3 + 20  # revisions that were delivered but not written to the journal
    assert past.next_revision("s") > unwritten
    past.mark("s", past.next_revision("s"), True)
    assert past.next_revision("s") == past.revisions["s"] + 1


def test_an_unfinished_line_does_not_damage_others(tmp_path: Path) -> None:
    file = tmp_path / "journal"
    with Journal(file) as journal:
        journal.note(EVENTS, 0, 0)
    file.write_bytes(file.read_bytes() + b'{"topic": "ads", "par')
    with Journal(file) as journal:
        journal.note(EVENTS, 0, 1)
    assert Past.of(file).events == 2
