"""Hypothesis strategies for spaces, and for events, regions and predicates over a space.

Events and regions draw from the same few values, including the limits of each type and their
neighbours, so that covers, overlaps and matches occur. The literals of predicates are those of
`covey.testing.random_literals`. The module needs hypothesis; covey itself does not need it.

    from hypothesis import given, strategies as st
    from covey.testing.strategies import regions, spaces

    @given(st.data())
    def test_my_index(data):
        space = data.draw(spaces())
        stored = data.draw(regions(space))
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from covey.geometry import Regions
from covey.geometry.balls import Ball, Balls
from covey.geometry.distances import Metric
from covey.geometry.regions import ConstraintBatch, Constraints
from covey.geometry.scalars import ALL, EXCEPT, ONLY, Scalars
from covey.geometry.tags import TagRule, Tags
from covey.space import Attribute, Events, SessionSettings, Space, Type
from covey.space.events import ValueState
from covey.space.keys import decode_key, encode_floats, key_domain
from covey.space.ragged_array import RaggedArray
from covey.space.text_bounds import TOP, Below
from covey.space.types import FLOAT, type_to_arrow
from covey.testing.random_cases import random_predicate, random_space

__all__ = ["events", "predicates", "regions", "spaces", "tables"]

_SESSION_SETTINGS = [SessionSettings(), SessionSettings("America/New_York", ansi=False)]
_TEXTS = ["", "a", "a\0", "ab", "b", "\uffff", "\U0001f600"]
_TOKENS = ["", "a", "b", "\U0001f600"]
_FLOATS = [-1.5, -1.0, 0.0, 1.0, 1.5, 2.0]
_COORDINATES = [-1.0, -0.0, 0.0, 0.5, 1.0, 2.0]
_WILD_COORDINATES = [float("nan"), float("inf"), float("-inf"), 3e38, 1e-30, None]
_RADII = [0.0, 0.5, 1.0, 1.4142135, 2.0, 3.0, 10.0]
_COSINES = [-1.0, -0.5, 0.0, 0.5, 0.70710677, 1.0]


@st.composite
def spaces(draw: DrawFn, *, max_attributes: int = 4) -> Space:
    """Draw a space of 1 to `max_attributes` attributes of any type; vectors have length 2 or 9."""
    full = random_space(draw(st.sampled_from(_SESSION_SETTINGS)), draw(st.sampled_from([2, 9])))
    selection = st.lists(st.sampled_from(list(full)), min_size=1, max_size=max_attributes)
    return Space(tuple(dict.fromkeys(draw(selection))), settings=full.settings)


@st.composite
def tables(draw: DrawFn, space: Space, *, max_events: int = 6) -> pa.Table:
    """Draw at most `max_events` events as an Arrow table, with a column for each attribute.

    Values include null, NaN, both zeros, infinities, the limits of every type (also dates that
    Python cannot represent), text beyond the BMP, empty lists, null elements, and vectors of a
    wrong length.
    """
    count = draw(st.integers(0, max_events))
    return pa.table(
        {
            attribute.name: _to_arrow_column(
                draw(_optional_rows(_cell_values(attribute.type), count)), attribute.type
            )
            for attribute in space
        }
    )


def events(space: Space, *, max_events: int = 6) -> SearchStrategy[Events]:
    """Return a strategy that draws `Events` with the same values as `tables`."""
    return tables(space, max_events=max_events).map(lambda table: Events.from_arrow(table, space))


@st.composite
def regions(draw: DrawFn, space: Space, *, max_regions: int = 6) -> Regions:
    """Draw at most `max_regions` regions with constraints of every form on some attributes.

    Centres of balls are near the origin and may be the zero vector. The cosine similarity with the
    zero vector is null, and no cosine interval that is drawn contains null.
    """
    count = draw(st.integers(0, max_regions))
    constraints = {}
    for attribute in space:
        drawn = draw(_optional_rows(_constraint_values(attribute.type), count))
        rows = np.array([i for i, row in enumerate(drawn) if row is not None], np.int64)
        batch = _build_batch([row for row in drawn if row is not None], attribute)
        constraints[attribute.name] = Constraints(rows, batch)
    return Regions.from_constraints(space, count, constraints)[0]


def predicates(space: Space, depth: int = 3) -> SearchStrategy[str]:
    """Return a strategy that draws predicate texts over the columns of a space.

    Args:
        space: a space from `spaces` or `random_space`.
        depth: largest nesting of `AND`, `OR` and `NOT`.
    """

    def text(rng: random.Random) -> str:
        return random_predicate(rng, space, depth=depth)

    return st.randoms(use_true_random=False).map(text)


def _optional_rows(row_strategy: SearchStrategy[Any], count: int) -> SearchStrategy[list[Any]]:
    return st.lists(st.none() | row_strategy, min_size=count, max_size=count)


def _sample_keys(type_: Type) -> list[Any]:
    """Return a few keys of a scalar type: both ends of its domain, their neighbours, and others."""
    if type_.is_text:
        return _TEXTS
    domain = key_domain(type_)
    inner = [-1, 0, 1, 2, 3]
    if type_.is_fractional:
        dtype = np.float64 if type_.name == "double" else np.float32
        inner = [-1, 1, *encode_floats(np.array(_FLOATS, dtype)).tolist(), domain.high - 2]
    ends = [domain.low, domain.low + 1, domain.high - 1, domain.high]
    return sorted({key for key in inner + ends if domain.low <= key <= domain.high})


def _cell_values(type_: Type) -> SearchStrategy[Any]:
    """Return a strategy that draws values of a column, which are not null; scalars are keys."""
    if type_.is_tags:
        return st.lists(st.none() | st.sampled_from(_TOKENS), max_size=4)
    if type_.is_vector:
        usual, n = st.sampled_from(_COORDINATES), type_.length
        wild = st.sampled_from([*_COORDINATES, *_WILD_COORDINATES])
        return st.one_of(
            st.lists(usual, min_size=n, max_size=n),
            st.lists(wild, min_size=n, max_size=n),
            st.lists(wild, max_size=3),
        )
    return st.sampled_from(_sample_keys(type_))


def _to_arrow_column(cells: list[Any], type_: Type) -> pa.Array:
    """Return keys, tag lists or vectors as an Arrow column; some zeros become negative.

    In odd rows, zeros of floats become negative zeros. Dates and times are cast from numbers of
    days and microseconds, because Python's dates end with the year 9999.
    """
    if type_.is_datetime:
        width = pa.int32() if type_.name == "date" else pa.int64()
        return pa.array(cells, width).cast(type_to_arrow(type_))
    if type_.is_scalar and not type_.is_text:
        cells = [None if key is None else decode_key(key, type_) for key in cells]
    if type_.is_fractional:
        cells = [-0.0 if cell == 0 and i % 2 else cell for i, cell in enumerate(cells)]
    return pa.array(cells, type_to_arrow(type_))


def _constraint_values(type_: Type) -> SearchStrategy[Any]:
    """Return a strategy that draws one constraint, in the form that `_build_batch` reads."""
    if type_.is_tags:
        return _tag_rules()
    return _ball_lists(type_.length) if type_.is_vector else _scalar_intervals(type_)


@st.composite
def _scalar_intervals(draw: DrawFn, type_: Type) -> tuple[Any, Any, bool, int, list[Any]]:
    """Draw a constraint on a scalar: both ends, whether it admits null, list mode, and list."""
    domain, keys = key_domain(type_), _sample_keys(type_)
    if draw(st.integers(0, 9)) == 0:
        return domain.high, domain.low, True, ALL, []
    uppers = [*keys, TOP, Below("a"), Below("b")] if type_.is_text else keys
    lower, upper = draw(st.sampled_from(keys)), draw(st.sampled_from(uppers))
    upper = upper if lower <= upper else domain.high
    list_mode = draw(st.sampled_from([ALL, ALL, ONLY, EXCEPT]))
    listed_keys = draw(st.lists(st.sampled_from(keys), min_size=1, max_size=4)) if list_mode else []
    return lower, upper, draw(st.booleans()), list_mode, listed_keys


def _tag_rules() -> SearchStrategy[TagRule]:
    token_sets = st.frozensets(st.sampled_from(_TOKENS), min_size=1, max_size=2)
    return st.builds(
        TagRule,
        states=st.sampled_from(
            [
                ValueState.NULL,
                ValueState.VALUE,
                ValueState.VALUE,
                ValueState.NULL | ValueState.VALUE,
            ]
        ),
        groups=st.frozensets(token_sets, max_size=2),
        forbidden=st.just(frozenset()) | token_sets,
        whole=st.booleans(),
        only=st.none() | st.frozensets(st.sampled_from(_TOKENS), max_size=3),
    ).map(TagRule.normalize)


def _ball_lists(length: int) -> SearchStrategy[tuple[int, list[Ball]]]:
    usual_states = st.sampled_from(
        [ValueState.VALUE, ValueState.VALUE, ValueState.VALUE | ValueState.NULL, 14, 15]
    )
    balls = st.lists(_random_ball(length), max_size=2)
    return st.tuples(usual_states, balls) | st.tuples(st.integers(1, 15), balls)


@st.composite
def _random_ball(draw: DrawFn, length: int) -> Ball:
    metric = draw(st.sampled_from([Metric.L2, Metric.L2, Metric.COSINE]))
    pool = st.sampled_from(_RADII if metric is Metric.L2 else _COSINES)
    lower, upper = encode_floats(np.array(sorted([draw(pool), draw(pool)]), np.float32)).tolist()
    inside, outside = (0, upper), (lower, key_domain(FLOAT).high)
    if metric is Metric.COSINE:
        inside, outside = outside, (key_domain(FLOAT).low, upper)
    ends = draw(st.sampled_from([inside, inside, outside, (lower, upper)]))
    centre = draw(st.lists(st.sampled_from(_COORDINATES), min_size=length, max_size=length))
    return Ball(metric, tuple(centre), *ends)


def _build_batch(rows: Sequence[Any], attribute: Attribute) -> ConstraintBatch:
    type_ = attribute.type
    if type_.is_tags:
        return Tags.from_rules(rows)
    if type_.is_vector:
        return Balls.from_rows(rows, type_.length)
    domain = key_domain(type_)
    ends = np.empty((2, len(rows)), domain.dtype)
    ends[0, :], ends[1, :] = [row[0] for row in rows], [row[1] for row in rows]
    return Scalars.from_intervals(
        domain,
        ends[0],
        ends[1],
        nulls=np.array([row[2] for row in rows], np.bool_),
        list_modes=np.array([row[3] for row in rows], np.int8),
        lists=RaggedArray.from_rows([row[4] for row in rows], domain.dtype),
    )
