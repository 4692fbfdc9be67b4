"""Constraints on keys and rules on tags: what kernels say is what geometry says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.geometry.tags import Rule, Tags
from covey.index.kernels.lists import keys_admitted
from covey.index.kernels.tags import codes_once, lists_admitted
from covey.index.vocabulary import Vocabulary
from covey.space import Events, Space
from covey.space.events import ScalarColumn, State, TagColumn
from covey.space.ragged import Ragged
from covey.testing.strategies import events, regions

NUMBERS = Space.of({"x": pa.int64()})
TOKENS = Space.of({"x": pa.list_(pa.string())})


def every_pair(events: Events, batch: Any) -> tuple[Any, Any]:
    """Every event with every constraint: `asked` and `at`."""
    asked, at = (side.ravel() for side in np.indices((len(events), len(batch))))
    return asked.astype(np.int32), at


@given(regions(NUMBERS, 12), events(NUMBERS, 12))
def test_keys_that_constraints_admit(some: Regions, these: Events) -> None:
    if "x" not in some.constraints:
        return
    batch, column = some.constraints["x"].batch, these["x"]
    assert isinstance(batch, Scalars)
    assert isinstance(column, ScalarColumn)
    asked, at = every_pair(these, batch)
    found = keys_admitted(
        asked, at, column.keys, column.valid, batch.lower, batch.upper, batch.nulls, batch.listed,
        batch.lists.offsets, batch.lists.values,
    )  # fmt: skip
    expected = batch.take(at).contains(column.keys[asked], column.valid[asked])
    assert found.tolist() == expected.tolist()


@given(regions(TOKENS, 12), events(TOKENS, 12))
def test_lists_that_rules_admit(some: Regions, these: Events) -> None:
    if "x" not in some.constraints:
        return
    batch, column = some.constraints["x"].batch, these["x"]
    assert isinstance(batch, Tags)
    assert isinstance(column, TagColumn)
    check_rules(batch, these, column)


def check_rules(batch: Tags, these: Events, column: TagColumn) -> None:
    vocabulary = Vocabulary.of(batch)
    rules, lists = vocabulary.numbered(batch), vocabulary.of_events(column)
    asked, at = every_pair(these, batch)
    found = lists_admitted(
        asked, at, lists.offsets, lists.values, column.valid, rules.states, rules.groups.offsets,
        rules.tokens.offsets, rules.tokens.values, rules.forbidden.offsets, rules.forbidden.values,
        rules.whole, rules.bounded, rules.only.offsets, rules.only.values,
    )  # fmt: skip
    expected = batch.take(at).contains(column.tokens.take(asked), column.valid[asked])
    assert found.tolist() == expected.tolist()


def test_rules_on_tokens_that_nobody_stored() -> None:
    cells = [None, [], [None], ["x"], ["a"], ["a", "x"], ["a", None], ["a", "a"], [None, "x"]]
    these = Events.from_arrow(pa.table({"x": pa.array(cells, pa.list_(pa.string()))}), TOKENS)
    a, none = frozenset("a"), frozenset[str]()
    rules = [
        Rule(State.VALUE, frozenset([a])), Rule(State.VALUE, forbidden=a), Rule(State.NULL),
        Rule(State.VALUE, whole=True), Rule(State.VALUE, only=a), Rule(State.VALUE, only=none),
        Rule(State.VALUE | State.NULL, whole=True, only=a), Rule(0),
    ]  # fmt: skip
    column = these["x"]
    assert isinstance(column, TagColumn)
    check_rules(Tags.of(rules), these, column)


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), max_size=6))
def test_the_codes_of_lists_each_once(lists: list[list[int]]) -> None:
    given_lists = Ragged.of(lists, np.uint16)
    owners, codes = codes_once(given_lists.offsets, given_lists.values)
    once = [(i, code) for i, row in enumerate(lists) for code in dict.fromkeys(row) if code]
    assert list(zip(owners.tolist(), codes.tolist(), strict=True)) == once
