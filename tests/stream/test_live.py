"""A running stream: messages that users send, and notifications that result, with one driver."""

from __future__ import annotations

import os
import urllib.request
from base64 import b64encode
from collections.abc import Callable

import pytest

from covey.store import Store
from covey.stream.control.subscriptions import parse_position
from tests.stream.commands import Outcome
from tests.stream.conftest import Running
from tests.stream.live import Live, producer, read_json, send_all

pytestmark = pytest.mark.integration


def test_a_backlog_is_matched_with_the_subscriptions_at_the_time_of_each_event(
    running: Running,
) -> None:
    assert running.stream.notified(*running.backlog) == running.backlog
    assert running.stream.decided(*running.backlog).batch == 0


def test_events_match_like_in_where(running: Running) -> None:
    stream = running.stream
    predicates = {
        "above": "a > 0.5",
        "not-above": "NOT a > 0.5",
        "absent": "a IS NULL",
        "either": "a < 0 OR t IN ('x', 'y')",
        "prefix": "t LIKE 'ab%' AND n <=> NULL",
        "between": "n BETWEEN 2 AND 3",
        "tagged": "array_contains(tags, 'red')",
    }
    for id, predicate in predicates.items():
        stream.subscribe(id, f"of = 'where' AND ({predicate})")
    expected: list[tuple[dict[str, object], list[str]]] = [
        ({"a": 0.75}, ["above"]),
        ({"a": 0.5, "n": 2}, ["between", "not-above"]),
        ({"a": None, "t": "x", "n": 3}, ["absent", "between", "either"]),
        ({"a": -1, "t": "abc"}, ["either", "not-above", "prefix"]),
        ({"a": 1e308, "t": "abc", "n": 4}, ["above"]),
        ({"t": "é", "tags": ["blue", "red"]}, ["absent", "tagged"]),
        ({"a": 0.6, "tags": [None], "unknown": {"x": 1}}, ["above"]),
    ]
    places = stream.publish(*({"of": "where", **event} for event, _ in expected))
    found = stream.notified(*places)
    assert [found[place] for place in places] == [ids for _, ids in expected]
    version = stream.decided(places[5]).version
    values = {m.value(): m.key() for m in stream.read(stream.notifications)}
    value = (
        f'{{"id":"{places[5]}/tagged","event":"{places[5]}","subscription":"tagged",'
        f'"version":{version},"event_values":{{"a":null,"t":"é"}}}}'
    )
    assert values[value.encode()] == b"tagged"


def test_unreadable_events_become_dead_letters_and_the_stream_continues(
    running: Running,
) -> None:
    stream = running.stream
    stream.subscribe("living", "of = 'dead' OR of IS NULL")
    unreadable = {
        b"{broken": "the value is not a JSON object",
        b'{"of": "dead", "a": "abc"}': "type differs from the schema: a",
        b'{"of": "dead", "n": 0.5, "tags": "red"}': "type differs from the schema: n, tags",
        b"": "the value is not a JSON object",
        b"[1]": "the value is not a JSON object",
        b"7": "the value is not a JSON object",
        b"\xff\xfe": "the value is not valid UTF-8",
        b'{"of": "dead", "t": "\xff"}': "the value is not valid UTF-8",
        None: "the value is null",
    }
    places = stream.publish(*unreadable, key="dead")
    (good,) = stream.publish({"of": "dead"})
    assert stream.notified(*places, good) == {**{place: [] for place in places}, good: ["living"]}
    letters = stream.letters()
    for place, (value, reason) in zip(places, unreadable.items(), strict=True):
        content = {} if value is None else {"value": value.decode(errors="replace")}
        if reason == "the value is not valid UTF-8":
            content = {"value_base64": b64encode(value or b"").decode()}
        assert letters[place] == {"event": place, "reason": reason, **content}
    keys = {message.key() for message in stream.read(stream.dead_letters)}
    assert b"dead" in keys
    assert good not in letters


def test_events_on_which_an_expression_raises_are_counted_and_logged(running: Running) -> None:
    stream = running.stream
    stream.subscribe("raising", "of = 'raised' AND url_decode(tags[0]) = 'red'")
    stream.subscribe("other", "of = 'raised'")
    stream.subscribe("refused", "of = 'raised' AND medain(a) > 1")
    zero, one = stream.publish({"of": "raised", "tags": ["%zz"]}, {"of": "raised", "tags": ["red"]})
    assert stream.notified(zero, one) == {zero: ["other"], one: ["other", "raising"]}
    warnings = [line for line in stream.log if "cannot be computed" in line["what"]]
    assert {id_ for line in warnings for id_ in line["subscriptions"]} == {"raising"}
    assert sum(batch["errors"] for batch in stream.batches) == 1


def test_unreadable_changes_become_dead_letters_and_match_nothing(running: Running) -> None:
    stream = running.stream
    stream.subscribe("right", "of = 'changes'")
    stream.subscribe("spoilt", "of = 'changes'")
    wrong = {
        stream.subscribe("spoilt", "zz > 1"): ("spoilt", "no column 'zz'"),
        stream.change(b"b", "no JSON"): ("b", "the value is not valid JSON"),
        stream.change(b"c", {"predicat": "a > 1"}): ("c", "unknown key 'predicat'"),
        stream.change(b"d", {"predicate": 5}): ("d", "the predicate must be a string, got int"),
        stream.change(b"e", {"predicate": "a > 1", "revision": "x"}): (
            "e",
            "'revision' must be a whole number from 1 to",
        ),
        stream.change(b"\xff", {"predicate": "a > 1"}): ("", "is not valid UTF-8"),
        stream.change(b"", {"predicate": "a > 1"}): ("", "the key, which is the subscription's"),
    }
    (place,) = stream.publish({"of": "changes"})
    assert stream.notified(place) == {place: ["right"]}
    letters = stream.letters()
    for change, (id, reason) in wrong.items():
        assert letters[change]["subscription"] == id
        assert reason in letters[change]["reason"]


def test_changes_take_effect_and_lower_revisions_do_not(running: Running) -> None:
    stream = running.stream
    places, expected = [], []

    def publish(a: float, *ids: str) -> None:
        places.extend(stream.publish({"of": "revised", "a": a}))
        expected.append(list(ids))

    stream.subscribe("r", "of = 'revised' AND a > 1", revision=5)
    stream.subscribe("s", "of = 'revised' AND a > 1")
    publish(2, "r", "s")
    stream.subscribe("r", "of = 'revised'", revision=4)
    stream.subscribe("r", "of = 'revised'", revision=5)
    stream.subscribe("s", "of = 'revised' AND a < 1")
    publish(0, "s")
    publish(2, "r")
    stream.cancel("s")
    stream.cancel("r", revision=3)
    publish(0)
    publish(2, "r")
    stream.cancel("r", revision=7)
    publish(2)
    stream.subscribe("r", "of = 'revised'", revision=6)
    publish(2)
    stream.subscribe("r", "of = 'revised'", revision=8)
    publish(0, "r")
    stream.subscribe("r", "of = 'revised'", revision=9, to_ms=1)
    stream.subscribe("s", "of = 'revised'", from_ms=1 << 50)
    publish(0)
    found = stream.notified(*places)
    assert [found[place] for place in places] == expected


def test_a_derived_attribute_is_added_to_a_running_stream(running: Running) -> None:
    stream = running.stream
    (before,) = stream.publish({"of": "derived", "t": "HI"})
    stream.decided(before)
    stream.subscribe("greeted", "of = 'derived' AND lower(t) = 'hi'")
    places = stream.publish(*({"of": "derived", "t": t} for t in ("HI", "ho", None, "hi")))
    assert [*stream.notified(before, *places).values()] == [
        [], ["greeted"], [], [], ["greeted"],
    ]  # fmt: skip


def test_an_acknowledged_subscription_is_notified_of_every_later_event(running: Running) -> None:
    stream, places = running.stream, []
    for number in range(int(os.environ.get("COVEY_SUBSCRIBED", "200"))):
        stream.subscribe(f"own-{number}", f"of = 'own' AND n = {number}")
        places += stream.publish({"of": "own", "n": number})
    found = stream.notified(*places)
    assert [found[place] for place in places] == [[f"own-{i}"] for i in range(len(places))]


def test_only_committed_messages_count_and_an_open_transaction_does_not_block(
    running: Running,
) -> None:
    stream, broker = running.stream, running.stream.broker
    stream.subscribe("plain", "of = 'transaction'")
    settings = {"transactional_id": f"writer-{stream.events}", "transaction_timeout_ms": "600000"}
    writer = producer(broker, **settings)
    writer.init_transactions(60)
    event = [(b"k", {"of": "transaction"})]
    writer.begin_transaction()
    aborted = send_all(writer, stream.events, event * 3)
    send_all(writer, stream.control, [(b"never", {"predicate": "of = 'transaction'"})])
    writer.abort_transaction(60)
    writer.begin_transaction()
    committed = send_all(writer, stream.events, event * 3)
    writer.commit_transaction(60)
    writer.begin_transaction()
    send_all(writer, stream.control, [(b"held", {"predicate": "of = 'transaction'"})])
    (meanwhile,) = stream.publish({"of": "transaction"})
    found = stream.notified(*aborted, *committed, meanwhile)
    assert [found[place] for place in aborted] == [[]] * 3
    assert [found[place] for place in [*committed, meanwhile]] == [["plain"]] * 4
    writer.commit_transaction(60)
    (after,) = stream.publish({"of": "transaction"})
    assert stream.notified(after) == {after: ["held", "plain"]}


def test_a_second_driver_is_refused_and_the_first_continues(
    running: Running, run: Callable[..., Outcome]
) -> None:
    stream = running.stream
    refused = run("stream", stream.path)
    assert refused.code == 2
    assert f"another writer has {stream.state} open" in refused.err
    stream.subscribe("first", "of = 'first'")
    (place,) = stream.publish({"of": "first"})
    assert stream.notified(place) == {place: ["first"]}


def test_metrics_are_exported_to_prometheus_and_logged(running: Running) -> None:
    stream = running.stream
    stream.subscribe("counted", "of = 'counted'")
    stream.change(b"uncounted", "no JSON")
    stream.wait_for(lambda: is_control_topic_read(stream), "the changes, without an event")
    places = stream.publish({"of": "counted"}, "{broken", {"of": "counted"}, partition=0)
    before, record = figures(running), stream.decided(*places)
    (line,) = [one for one in stream.batches if one["batch"] == record.batch]
    assert line["version"] == record.version
    assert line["delay_max_ms"] >= line["delay_mean_ms"] > 0
    for name in (
        "events",
        "notifications",
        "dead_letters",
        "changes",
        "unreadable_changes",
        "ignored_changes",
    ):
        assert figures(running)[f"covey_{name}_total"] == sum(one[name] for one in stream.batches)
    assert before["covey_events_total"] <= figures(running)["covey_events_total"]
    changes = len(stream.read(stream.control)) - running.changes
    assert figures(running)["covey_changes_total"] == changes
    sent_ = [read_json(message) for message in stream.read(stream.notifications)]
    assert figures(running)["covey_notifications_total"] == len(sent_)
    assert figures(running)["covey_version"] >= record.version


def is_control_topic_read(stream: Live) -> bool | None:
    """Return True if a version has all messages of the control topic, otherwise None."""
    last = stream.read(stream.control)[-1].offset()
    position = parse_position(Store.open(f"{stream.state}/store").snapshot().manifest)
    return (position is not None and position[0] > last) or None


def figures(running: Running) -> dict[str, float]:
    """Return the metrics as Prometheus reads them."""
    port = running.stream.sections["metrics"]["port"]
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    pairs = [line.rsplit(" ", 1) for line in lines if not line.startswith("#")]
    return {name: float(value) for name, value in pairs}
