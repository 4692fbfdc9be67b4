"""Explanations of past decisions, and the names of events."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.types import IntegerType, StructType, TimestampNTZType, TimestampType

from covey.errors import InvalidArgumentError, StreamError
from covey.language import render
from covey.spark.schemas import convert_to_utc
from covey.spark.validity import drop_validity
from covey.store import Store
from covey.store.storage import open_storage
from covey.stream.batches.decision_log import BatchDecision, DecisionLog
from covey.stream.config import StreamConfig
from covey.stream.explain import (
    DecisionExplanation,
    PredicateOutcome,
    _explain_regions,
    find_decision,
    parse_event_ref,
)
from tests.stream.simple import change, create, follow
from tests.stream.test_config import LEAST

RECORD = BatchDecision("q", 4, {"ads": {"0": (10, 20)}}, 9, 0, 0)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with create(tmp_path / "store") as store:
        yield store


def explain_x(
    store: Store, at_ms: int, a: int | None = 2, b: int | None = 0
) -> list[PredicateOutcome]:
    """Return the outcomes of the predicates of x on an event."""
    snapshot = store.snapshot()
    regions, _ = snapshot.take_regions(snapshot.find_rows(["x"]))
    sums = None if a is None or b is None else a + b
    event: dict[str, Any] = {"a": a, "b": b}
    event |= {one.name: sums for one in snapshot.space.derived}
    plain = drop_validity(regions)
    texts = [render(plain, row) for row in range(len(plain))]
    return _explain_regions(regions, texts, plain.space, at_ms, event)


def decision(
    predicates: list[PredicateOutcome], revision: int | None = 3, problem: str | None = None
) -> DecisionExplanation:
    return DecisionExplanation("ads-0-17", "x", RECORD, 1500, problem, revision, tuple(predicates))


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("ads-0-17", ("ads", 0, 17)),
        ("new-ads-3-0", ("new-ads", 3, 0)),
        ("a-1-2-3", ("a-1", 2, 3)),
        ("--0-0", ("-", 0, 0)),
    ],
)
def test_an_event_ref_is_a_topic_a_partition_and_an_offset(
    text: str, place: tuple[str, int, int]
) -> None:
    assert parse_event_ref(text) == place


@pytest.mark.parametrize(
    "text", ["", "ads", "ads-0", "-0-1", "ads-0-", "ads--1", "ads-x-1", "a-0-1.5", "ads-0-²"]
)
def test_an_invalid_event_ref_is_refused(text: str) -> None:
    with pytest.raises(
        InvalidArgumentError, match="is not an event ref: write TOPIC-PARTITION-OFFSET"
    ):
        parse_event_ref(text)


def test_each_predicate_has_its_validity_interval(store: Store) -> None:
    follow(store, change("x", 1000, "a > 1"), change("x", 2000, "a > 5", to_ms=3000))
    first, second = explain_x(store, 1500)
    assert (first.from_ms, first.to_ms, first.is_in_effect) == (1000, 2000, True)
    assert (second.from_ms, second.to_ms, second.is_in_effect) == (2000, 3000, False)
    assert (first.explanation.holds, second.explanation.holds) == (True, False)
    assert [
        [one.is_in_effect for one in explain_x(store, at)] for at in (999, 1000, 1999, 2000, 3000)
    ] == [
        [False, False],
        [True, False],
        [True, False],
        [False, True],
        [False, False],
    ]


def test_an_unbounded_validity_interval_has_no_end(store: Store) -> None:
    follow(store, change("x", 1000, "a > 1"))
    (only,) = explain_x(store, 1500)
    assert (only.from_ms, only.to_ms) == (1000, None)


@pytest.mark.parametrize("text", [None, "price > 5", "a > 1 AND a < 0"])
def test_a_subscription_without_matches_has_no_predicate(store: Store, text: str | None) -> None:
    follow(store, change("x", 1000, text, 3))
    assert explain_x(store, 1500) == []
    follow(store, change("x", 2000, None, 4))
    assert explain_x(store, 1000) == []


def test_expressions_and_unconstrained_predicates_are_explained(store: Store) -> None:
    follow(store, change("x", 1000, "a + b > 2"), change("x", 2000, "true"))
    first, second = explain_x(store, 1500, 2, 1)
    assert (first.explanation.holds, second.explanation.holds) == (True, True)
    assert [one.explanation.holds for one in explain_x(store, 1500, 2, None)] == [None, True]


def test_a_notification_is_explained(store: Store) -> None:
    follow(store, change("x", 1000, "a > 1"))
    given = decision(explain_x(store, 1500))
    assert given.is_notified
    lines = str(given).splitlines()
    assert lines[:2] == [
        "x was notified of ads-0-17: version 9, batch 4; the event was appended at "
        "1970-01-01T00:00:01.500+00:00",
        "valid from 1970-01-01T00:00:01.000+00:00 to unbounded (in effect):",
    ]
    assert lines[2] == "  yes: a >= 2    (a is 2)"


def test_a_predicate_that_is_not_in_effect_gives_no_notification(store: Store) -> None:
    follow(store, change("x", 1000, "a > 1"))
    follow(store, change("x", 1200, "a > 5"))
    given = decision(explain_x(store, 1500))
    assert not given.is_notified
    said = str(given)
    assert said.startswith("x was not notified of ads-0-17: version 9, batch 4;")
    assert "to 1970-01-01T00:00:01.200+00:00 (not in effect):" in said
    assert "from 1970-01-01T00:00:01.200+00:00 to unbounded (in effect):" in said


def test_other_reasons_are_explained() -> None:
    for given, said in (
        (decision([], problem="the value is null"), "the event could not be read: the value is nu"),
        (decision([], revision=None), "version 9 has no subscription x"),
        (
            decision([]),
            "the subscription had no predicate at that time: it was cancelled, or "
            "its predicate could not be read",
        ),
    ):
        assert not given.is_notified
        first, second = str(given).splitlines()
        assert first.startswith("x was not notified of ads-0-17")
        assert second.startswith(said)


def test_a_decision_is_found_in_the_state_folder_only(tmp_path: Path, store: Store) -> None:
    folder = dataclasses.replace(StreamConfig.from_toml(LEAST).state, path=str(tmp_path))
    config = dataclasses.replace(StreamConfig.from_toml(LEAST), state=folder)
    with pytest.raises(StreamError, match=r"no decision of a stream: check \[state\] path"):
        find_decision(config, ("ads", 0, 17), "x")
    follow(store, change("x", 1000, "a > 1"))
    decision = dataclasses.replace(RECORD, version=store.snapshot().manifest.version)
    DecisionLog(open_storage(str(tmp_path))).record_if_absent(decision)
    assert find_decision(config, ("ads", 0, 17), "x") == decision
    with pytest.raises(StreamError, match="no batch decision contains ads-0-20"):
        find_decision(config, ("ads", 0, 20), "x")
    with pytest.raises(InvalidArgumentError, match=r"no subscription y, neither .* newest version"):
        find_decision(config, ("ads", 0, 17), "y")


def test_the_latest_possible_time_is_shown(store: Store) -> None:
    follow(store, change("x", 1000, "true", to_ms=253_402_300_799_999))
    said = str(decision(explain_x(store, 1500)))
    assert "to 9999-12-31T23:59:59.999+00:00 (in effect)" in said


def test_only_timestamps_with_a_time_zone_are_converted_to_utc() -> None:
    local = datetime(2024, 5, 1, 12)
    schema = (
        StructType()
        .add("at", TimestampType())
        .add("local", TimestampNTZType())
        .add("n", IntegerType())
    )
    values = convert_to_utc({"at": local, "local": local, "n": 3}, schema)
    assert values == {"at": local.astimezone(UTC), "local": local, "n": 3}
    assert values["local"].tzinfo is None
    assert values["at"].tzinfo is UTC
