"""Kernels that verify residual constraints decide like `covey.geometry`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.geometry.tags import TagRule, Tags
from covey.index.kernels.key_codes import collect_distinct_codes
from covey.index.kernels.residuals import verify_keys, verify_tags
from covey.index.segment.token_vocabulary import TokenVocabulary
from covey.space import Events, Space
from covey.space.events import ScalarColumn, TagColumn, ValueState
from covey.space.ragged_array import RaggedArray
from covey.testing.strategies import events, regions

NUMBERS = Space.from_types({"x": pa.int64()})
TOKENS = Space.from_types({"x": pa.list_(pa.string())})


def every_pair(events: Events, batch: Any) -> tuple[Any, Any]:
    """Return the event and constraint numbers of every pair of an event and a constraint."""
    event_rows, at = (side.ravel() for side in np.indices((len(events), len(batch))))
    return event_rows.astype(np.int32), at


@given(regions(NUMBERS, max_regions=12), events(NUMBERS, max_events=12))
def test_verify_keys_equals_geometry(stored: Regions, drawn_events: Events) -> None:
    if "x" not in stored.constraints:
        return
    batch, column = stored.constraints["x"].batch, drawn_events["x"]
    assert isinstance(batch, Scalars)
    assert isinstance(column, ScalarColumn)
    event_rows, at = every_pair(drawn_events, batch)
    found = verify_keys(
        event_rows, at, column.keys, column.valid, batch.lower, batch.upper, batch.nulls,
        batch.listed, batch.lists.offsets, batch.lists.values,
    )  # fmt: skip
    expected = batch.take(at).contains(column.keys[event_rows], column.valid[event_rows])
    assert found.tolist() == expected.tolist()


@given(regions(TOKENS, max_regions=12), events(TOKENS, max_events=12))
def test_verify_tags_equals_geometry(stored: Regions, drawn_events: Events) -> None:
    if "x" not in stored.constraints:
        return
    batch, column = stored.constraints["x"].batch, drawn_events["x"]
    assert isinstance(batch, Tags)
    assert isinstance(column, TagColumn)
    check_rules(batch, drawn_events, column)


def check_rules(batch: Tags, drawn_events: Events, column: TagColumn) -> None:
    vocabulary = TokenVocabulary.from_tags(batch)
    rules, lists = vocabulary.encode_constraints(batch), vocabulary.encode_events(column)
    event_rows, at = every_pair(drawn_events, batch)
    found = verify_tags(
        event_rows, at, lists.offsets, lists.values, column.valid, rules.states,
        rules.groups.offsets, rules.tokens.offsets, rules.tokens.values,
        rules.forbidden.offsets, rules.forbidden.values, rules.whole, rules.bounded,
        rules.only.offsets, rules.only.values,
    )  # fmt: skip
    expected = batch.take(at).contains(column.tokens.take(event_rows), column.valid[event_rows])
    assert found.tolist() == expected.tolist()


def test_rules_are_verified_on_unknown_tokens() -> None:
    cells = [None, [], [None], ["x"], ["a"], ["a", "x"], ["a", None], ["a", "a"], [None, "x"]]
    drawn_events = Events.from_arrow(
        pa.table({"x": pa.array(cells, pa.list_(pa.string()))}), TOKENS
    )
    a, none = frozenset("a"), frozenset[str]()
    rules = [
        TagRule(ValueState.VALUE, frozenset([a])),
        TagRule(ValueState.VALUE, forbidden=a),
        TagRule(ValueState.NULL),
        TagRule(ValueState.VALUE, whole=True),
        TagRule(ValueState.VALUE, only=a),
        TagRule(ValueState.VALUE, only=none),
        TagRule(ValueState.VALUE | ValueState.NULL, whole=True, only=a),
        TagRule(0),
    ]
    column = drawn_events["x"]
    assert isinstance(column, TagColumn)
    check_rules(Tags.from_rules(rules), drawn_events, column)


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=6))
def test_distinct_codes_of_lists_are_collected(lists: list[list[int]]) -> None:
    given_lists = RaggedArray.from_rows(lists, np.uint16)
    list_rows, codes = collect_distinct_codes(given_lists.offsets, given_lists.values)
    once = [(i, code) for i, row in enumerate(lists) for code in dict.fromkeys(row) if code]
    assert list(zip(list_rows.tolist(), codes.tolist(), strict=True)) == once
