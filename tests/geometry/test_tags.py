"""Tags: relations between rules are exact in both directions, on all lists that can differ."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from covey.geometry.tags import UNCONSTRAINED_RULE, TagRule, Tags
from covey.space import Space
from covey.space.events import ValueState
from covey.space.ragged_array import RaggedArray
from covey.testing.strategies import regions
from tests.geometry.cases import EVERY, pairs_of
from tests.geometry.witnesses import as_column, lists_of_interest

SPACE = Space((EVERY["tags"],))
LISTS = lists_of_interest()


def draw_pairs(data: st.DataObject) -> tuple[Tags, Tags]:
    """Return two batches in which every row of one random batch meets every row of another."""
    a, b = data.draw(regions(SPACE)), data.draw(regions(SPACE))
    i, j = pairs_of(a, b)
    return a.gather_constraints(a.space["tags"], i), b.gather_constraints(b.space["tags"], j)  # type: ignore[return-value]


def admitted(rules: Tags, i: int) -> NDArray[np.bool_]:
    """Return which of `LISTS` row i admits, and last, whether it admits null."""
    column = as_column(LISTS)
    return rules.take(np.full(len(column[1]), i)).contains(*column)


@given(st.data())
def test_contains_agrees_with_the_definition_of_a_rule(data: st.DataObject) -> None:
    """The vectorised code is compared with a direct evaluation of the rule."""
    rules, _ = draw_pairs(data)
    for i in range(len(rules)):
        rule = rules.row(i)
        expected = [_admits(rule, tokens) for tokens in LISTS]
        assert admitted(rules, i).tolist() == [*expected, bool(rule.states & ValueState.NULL)]


@given(st.data())
def test_covers_means_that_no_list_is_a_witness_against_it(data: st.DataObject) -> None:
    outer, inner = draw_pairs(data)
    for i, covered in enumerate(outer.covers(inner).tolist()):
        assert covered == (not (admitted(inner, i) & ~admitted(outer, i)).any())


@given(st.data())
def test_overlaps_means_that_some_list_is_a_witness_for_it(data: st.DataObject) -> None:
    a, b = draw_pairs(data)
    common = a.intersect(b)
    assert a.overlaps(b).tolist() == b.overlaps(a).tolist() == (~common.is_empty).tolist()
    for i in range(len(a)):
        both = admitted(a, i) & admitted(b, i)
        assert admitted(common, i).tolist() == both.tolist()
        assert a.overlaps(b)[i] == both.any()


@given(st.data())
def test_equal_sets_of_lists_are_equal_rules(data: st.DataObject) -> None:
    """Rules that cover each other have the same normal form."""
    a, b = draw_pairs(data)
    for i in np.flatnonzero(a.covers(b) & b.covers(a)).tolist():
        assert a.row(i) == b.row(i)


def test_a_group_that_cannot_be_met_leaves_only_null() -> None:
    groups = frozenset([frozenset(["a"])])
    both = ValueState.NULL | ValueState.VALUE
    assert TagRule(both, groups, frozenset(["a"])).normalize() == TagRule(ValueState.NULL)
    assert TagRule(both, groups, only=frozenset(["b"])).normalize() == TagRule(ValueState.NULL)


def test_a_group_within_a_group_makes_it_redundant() -> None:
    small, large = frozenset(["a"]), frozenset(["a", "b"])
    assert TagRule(groups=frozenset([small, large])).normalize() == TagRule(
        groups=frozenset([small])
    )


def test_empty_batches_and_unconstrained_rules_behave_as_others() -> None:
    assert Tags.build_unconstrained(2).is_unconstrained.tolist() == [True, True]
    assert Tags.build_unconstrained(1).row(0) == UNCONSTRAINED_RULE
    assert (
        Tags.from_rules([]).contains(RaggedArray.from_rows([]), np.empty(0, np.bool_)).tolist()
        == []
    )
    assert (
        len(Tags.concat([Tags.from_rules([]), Tags.build_unconstrained(3)]).take(np.array([2, 0])))
        == 2
    )


def _admits(rule: TagRule, tokens: list[str | None]) -> bool:
    """Return True if a rule admits a list, by its definition."""
    values = {token for token in tokens if token is not None}
    return (
        bool(rule.states & ValueState.VALUE)
        and all(group & values for group in rule.groups)
        and not rule.forbidden & values
        and not (rule.whole and None in tokens)
        and (rule.only is None or values <= rule.only)
    )
