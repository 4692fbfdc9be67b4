"""Token vocabularies: tokens as numbers and back, and codes that lead to the rules of a token."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry.tags import TagRule, Tags
from covey.index.kernels.bits import LAST
from covey.index.segment.token_vocabulary import (
    NO_TOKEN,
    NULL_TOKEN,
    UNKNOWN,
    TokenVocabulary,
    compute_token_shares,
    find_required_tokens,
)
from covey.space import Events, Space
from covey.space.events import TagColumn, ValueState

SPACE = Space.from_types({"x": pa.list_(pa.string())})
TOKENS = ["", "a", "b", "a\0", "é", "\U0001f600"]

some = st.frozensets(st.sampled_from(TOKENS), max_size=3)
rules = st.builds(
    TagRule,
    states=st.integers(0, 3),
    groups=st.frozensets(some.filter(bool), max_size=3),
    forbidden=some,
    whole=st.booleans(),
    only=st.none() | some,
).map(TagRule.normalize)


@given(st.lists(rules, max_size=8))
def test_rules_are_restored_from_numbers(given_rules: list[TagRule]) -> None:
    batch = Tags.from_rules(given_rules)
    built = TokenVocabulary.from_tags(batch)
    for vocabulary in (built, TokenVocabulary.from_arrays(built.to_arrays())):
        numbered = vocabulary.encode_constraints(batch)
        assert all(ragged.values.dtype == np.int64 for ragged in (numbered.tokens, numbered.only))
        back = vocabulary.decode_constraints(numbered)
        assert [back.row(i) for i in range(len(back))] == given_rules
        assert vocabulary.find_codes(np.arange(len(built.tokens))).tolist() == built.codes.tolist()


@given(
    st.lists(rules, max_size=8),
    st.lists(st.none() | st.lists(st.none() | st.sampled_from([*TOKENS, "strange"]))),
)
def test_tokens_of_events_are_numbered(
    given_rules: list[TagRule], cells: list[list[str | None] | None]
) -> None:
    vocabulary = TokenVocabulary.from_tags(Tags.from_rules(given_rules))
    table = pa.table({"x": pa.array(cells, pa.list_(pa.string()))})
    column = Events.from_arrow(table, SPACE)["x"]
    assert isinstance(column, TagColumn)
    found = vocabulary.encode_events(column)
    expected = [
        [vocabulary.number_by_token.get(token, UNKNOWN) for token in cell or []] for cell in cells
    ]
    assert [found.row(i).tolist() for i in range(len(found))] == expected
    assert vocabulary.number_by_token[None] == NULL_TOKEN
    assert "strange" not in vocabulary.number_by_token


@given(st.lists(rules, max_size=8))
def test_required_tokens_are_those_of_groups_of_one(given_rules: list[TagRule]) -> None:
    """A rule admits nothing without each of these tokens; a rule that admits null requires none."""
    found = find_required_tokens(Tags.from_rules(given_rules))
    assert [set(found.row(i).tolist()) for i in range(len(found))] == [
        {token for group in rule.groups if len(group) == 1 for token in group}
        if rule.states == ValueState.VALUE
        else set()
        for rule in given_rules
    ]


def test_a_frequent_token_has_its_own_code_and_rare_tokens_share_codes() -> None:
    """If there are too many rare tokens, several of them share a code."""
    often = [TagRule(ValueState.VALUE, frozenset([frozenset(["often"])]))] * 1000
    rare = [TagRule(ValueState.VALUE, frozenset([frozenset([f"rare {i}"])])) for i in range(40_000)]
    never = [TagRule(ValueState.VALUE, forbidden=frozenset(["never"]))]
    built = TokenVocabulary.from_tags(Tags.from_rules(often + rare + never))
    codes = built.codes.astype(np.int64)
    assert (codes % 2 == 0).all()
    assert NO_TOKEN < codes.min() <= codes.max() < LAST
    code = codes[built.number_by_token["often"]]
    assert (codes == code).sum() == 1
    assert np.bincount(codes).max() <= 4
    assert built.find_codes(np.array([UNKNOWN, NULL_TOKEN, 0])).tolist() == [
        NO_TOKEN,
        NO_TOKEN,
        codes[0],
    ]


def test_token_shares_are_relative_frequencies() -> None:
    assert compute_token_shares(np.array([3, 0, 3, 1])).tolist() == [0.5, 0.25, 0.5, 0.25]
    assert compute_token_shares(np.empty(0, np.int64)).tolist() == []


def test_a_vocabulary_of_no_rules_knows_no_token() -> None:
    empty = TokenVocabulary.from_tags(Tags.from_rules([]))
    assert empty.find_codes(np.array([UNKNOWN, NULL_TOKEN])).tolist() == [NO_TOKEN, NO_TOKEN]
    assert TokenVocabulary.from_arrays(empty.to_arrays()).tokens == []
