"""Predicates with the same meaning have equal fingerprints, and others have not."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

from covey import Events, Parser, Predicates, Space, parse
from covey.index import BruteForceIndex
from covey.language.fingerprint import fingerprint_predicates
from covey.testing.random_cases import random_predicate

SPACE = Space.from_types(
    {
        "qty": pa.int32(),
        "price": pa.float64(),
        "city": pa.string(),
        "tags": pa.list_(pa.string()),
        "spot": pa.list_(pa.float32()),
    },
    vectors={"spot": 2},
)
NEAR = "vector_l2_distance(spot, array(0F, 1F))"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("qty > 5", "5 < qty"),
        ("qty > 5", "qty >= 6"),
        ("qty > 5", "qty > 5 OR qty = 9"),
        ("qty > 5", "(qty > 5 AND price < 3) OR qty > 5.5"),
        ("qty IN (3, 1, 2)", "qty BETWEEN 1 AND 3"),
        ("qty IN (7, 1, 4)", "qty = 4 OR qty IN (1, 7)"),
        ("qty > 5 AND city = 'Rome'", "city IN ('Rome') AND NOT qty <= 5"),
        ("city LIKE 'R%'", "city >= 'R' AND city < 'S'"),
        ("price IS NULL OR price < 3", "3 > price OR isnull(price)"),
        ("array_contains(tags, 'a') AND array_contains(tags, 'b')",
         "array_contains(tags, 'b') AND array_contains(tags, 'a')"),
        (f"{NEAR} <= 2", f"NOT {NEAR} > 2"),
        ("lower(city) = 'x' OR qty = 1", "qty = 1 OR LOWER(city) IN ('x')"),
    ],
)  # fmt: skip
def test_equivalent_predicates_have_equal_fingerprints(one: str, other: str) -> None:
    a, b = fingerprint_predicates(parse(SPACE, [one, other]))
    assert a is not None
    assert a == b


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("qty > 5", "qty > 6"),
        ("qty > 5", "qty > 5 OR qty IS NULL"),
        ("qty = 5", "price = 5"),
        ("qty > 5", "qty > 5 AND city = 'Rome'"),
        ("qty > 5 OR city = 'Rome'", "qty > 5"),
        ("city IN ('a', 'b')", "city IN ('a', 'c')"),
        ("city NOT IN ('a', 'b')", "city NOT IN ('a', 'c')"),
        ("array_contains(tags, 'a')", "NOT array_contains(tags, 'a')"),
        ("array_contains(tags, 'a')", "arrays_overlap(tags, array('a', 'b'))"),
        (f"{NEAR} <= 2", f"{NEAR} < 2"),
        (f"{NEAR} <= 2", "vector_l2_distance(spot, array(1F, 0F)) <= 2"),
        ("lower(city) = 'x'", "upper(city) = 'x'"),
    ],
)
def test_different_predicates_have_different_fingerprints(one: str, other: str) -> None:
    a, b = fingerprint_predicates(parse(SPACE, [one, other]))
    assert a != b


def test_a_fingerprint_does_not_depend_on_the_other_predicates() -> None:
    texts = ["city = 'Rome' AND qty > 5", "price < 3", "qty > 5 AND city = 'Rome'"]
    together = fingerprint_predicates(parse(SPACE, texts))
    alone = [fingerprint_predicates(parse(SPACE, [text]))[0] for text in reversed(texts)]
    assert together == alone[::-1]


def test_unsatisfiable_predicates_have_no_fingerprint() -> None:
    predicates = Parser(SPACE).parse(["qty > 5 AND qty < 5", "qty >", "qty > 5"])
    assert [fingerprint is None for fingerprint in fingerprint_predicates(predicates)] == [
        True,
        True,
        False,
    ]


def test_random_predicates_with_equal_fingerprints_match_the_same_events() -> None:
    rng = random.Random(0)
    space = Space.from_types({"a": pa.int8(), "b": pa.bool_()})
    texts = [random_predicate(rng, space) for _ in range(1_000)]
    predicates = Parser(space).parse(texts)
    events = Events.from_arrow(_every_event(), space)
    matched_events: dict[int, set[int]] = {}
    for event, text in zip(*_matches(predicates, events), strict=True):
        matched_events.setdefault(text, set()).add(event)
    by_meaning: dict[bytes, list[set[int]]] = {}
    for text, meaning in enumerate(fingerprint_predicates(predicates)):
        if meaning is not None:
            by_meaning.setdefault(meaning, []).append(matched_events[text])
    assert all(events_ == same[0] for same in by_meaning.values() for events_ in same)
    assert sum(len(same) > 1 for same in by_meaning.values()) > 20


def _every_event() -> pa.Table:
    rows = [(a, b) for a in (None, *range(-128, 128)) for b in (None, False, True)]
    return pa.table(
        {"a": pa.array([a for a, _ in rows], pa.int8()), "b": pa.array([b for _, b in rows])}
    )


def _matches(predicates: Predicates, events: Events) -> tuple[list[int], list[int]]:
    pairs = BruteForceIndex(predicates.regions).match(events)
    return pairs.query_rows.tolist(), predicates.to_predicate_rows(pairs.stored_rows).tolist()
