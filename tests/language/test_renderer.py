"""Rendering a region and parsing the text again keeps its meaning."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import Events, Parser, SessionSettings, parse, render
from covey.geometry.relations import contains
from covey.testing.random_cases import random_events, random_predicate, random_space


def _matches(regions, row, events):
    every = np.arange(len(events))
    return contains(regions, np.full(len(events), row), events, every)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["UTC", "America/New_York"]), st.booleans())
def test_a_rendered_region_matches_the_same_events(seed: int, zone: str, ansi: bool) -> None:
    rng = random.Random(seed)
    space = random_space(SessionSettings(zone, ansi))
    events = Events.from_arrow(random_events(rng, space, 40), space)
    predicates = Parser(space).parse([random_predicate(rng, space, depth=2) for _ in range(5)])
    for row in range(len(predicates.regions)):
        names = [
            n
            for n, g in predicates.regions.constraints.items()
            if g.locate_rows(np.array([row]))[1][0]
        ]
        if any(predicates.space[name].is_derived for name in names):
            continue
        text = render(predicates.regions, row)
        again = Parser(space).parse([text])
        assert not again.rejected, text
        if again.space.derived:
            continue
        union = np.zeros(len(events), bool)
        for other in range(len(again.regions)):
            union |= _matches(again.regions, other, events)
        np.testing.assert_array_equal(
            union, _matches(predicates.regions, row, events), err_msg=text
        )


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("i32 > 5 AND i32 < 9", "i32 BETWEEN 6 AND 8"),
        ("name > 'a' AND name < 'b'", "name >= 'a\\u0000' AND name < 'b'"),
        ("f64 <= 1.5", "f64 <= 1.5D"),
        ("f64 < 900", "f64 < 900.0D"),
        ("f64 > 0.1 AND f64 < 0.7", "f64 > 0.1D AND f64 < 0.7D"),
        ("f64 BETWEEN 1 AND 2", "f64 BETWEEN 1.0D AND 2.0D"),
        ("f64 < 0", "f64 < 0.0D"),
        ("d10 = 1.5", "d10 = 1.50BD"),
        ("i32 IN (1, 5, 9)", "i32 IN (1, 5, 9)"),
        ("flag", "flag = true"),
        ("ts >= '2024-05-01 12:00:00'", "ts >= TIMESTAMP '2024-05-01 12:00:00.000000Z'"),
        ("NOT array_contains(tags, 'it\\'s')", "NOT array_contains(tags, 'it\\'s')"),
        (
            "vector_l2_distance(vec, array(0F, 1F, 0.1F)) < 1.5",
            "vector_l2_distance(vec, array(0.0F, 1.0F, 0.1F)) <= 1.4999999F",
        ),
        ("lower(name) = 'x'", "(lower(name)) = 'x'"),
        ("true", "true"),
    ],
)
def test_regions_are_rendered_in_normal_form(text: str, again: str) -> None:
    space = random_space(SessionSettings())
    assert render(parse(space, [text]).regions, 0) == again
