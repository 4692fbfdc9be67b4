"""What is asked, as rows: an event or a region once, and once more for each of its tokens."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.geometry.tags import Tags
from covey.index.asked import Asked, padded
from covey.index.codes import LAST
from covey.index.columns import Column
from covey.index.vocabulary import NO_TOKEN, Vocabulary, wanted
from covey.space import Events, Space
from covey.space.events import ScalarColumn, TagColumn
from covey.testing.strategies import events, regions

TAGS = pa.list_(pa.string())
SPACE = Space.of({"x": pa.int64(), "s": pa.string(), "t": TAGS, "u": TAGS})
SCALARS, TOKENS = ("x", "s"), ("t", "u")


def stored(some: Regions) -> tuple[list[Column], dict[str, Vocabulary]]:
    """Columns and vocabularies for all attributes that some regions constrain."""
    columns, vocabularies = [], {}
    for name, given_constraints in some.constraints.items():
        if isinstance(given_constraints.batch, Scalars):
            columns.append(Column.of(name, given_constraints.batch))
        elif isinstance(given_constraints.batch, Tags):
            vocabularies[name] = Vocabulary.of(given_constraints.batch)
    return columns, vocabularies


def rows_of(asked: Asked, owner: int, column: int) -> list[tuple[int, int]]:
    """The two codes in one column of all rows of an owner."""
    mine = asked.owner == owner
    return list(
        zip(asked.low[mine, column].tolist(), asked.high[mine, column].tolist(), strict=True)
    )


@given(regions(SPACE, 8), events(SPACE))
def test_events_ask_once_and_for_each_token(some: Regions, these: Events) -> None:
    columns, vocabularies = stored(some)
    asked = Asked.events(these, columns, vocabularies)
    assert asked.high is asked.low
    assert asked.low.shape[1] == padded(len(columns) + bool(vocabularies))
    assert asked.owner[: len(these)].tolist() == list(range(len(these)))
    for k, column in enumerate(columns):
        cells = these[column.name]
        assert isinstance(cells, ScalarColumn)
        codes = np.empty(len(these), np.uint16)
        column.codebook.encode(column.of_events(cells), cells.valid, codes)
        assert asked.low[:, k].tolist() == codes[asked.owner].tolist()
        assert asked.low_keys[:, k].tolist() == column.of_events(cells).tolist()
        assert asked.integers[column.name].tolist() == column.of_events(cells).tolist()
    for e in range(len(these)):
        known = set()
        for name, vocabulary in vocabularies.items():
            tags = these[name]
            assert isinstance(tags, TagColumn)
            numbers = [vocabulary.numbers.get(token, -1) for token in tags.tokens.row(e)]
            assert asked.integers[name].row(e).tolist() == numbers
            known |= {int(vocabulary.codes[number]) for number in numbers if number >= 0}
        if vocabularies:
            found = rows_of(asked, e, len(columns))
            assert sorted(found) == sorted((code, code) for code in {NO_TOKEN, *known})


@given(regions(SPACE, 8), regions(SPACE), st.booleans())
def test_regions_ask_once_and_for_each_token_they_want(
    some: Regions, these: Regions, any_token: bool
) -> None:
    columns, vocabularies = stored(some)
    asked = Asked.regions(these, columns, {} if any_token else vocabularies, any_token)
    assert asked.low.shape == asked.high.shape
    for k, column in enumerate(columns):
        batch = these.batch(SPACE[column.name], np.arange(len(these)))
        assert isinstance(batch, Scalars)
        low, high, _ = column.codebook.intervals(column.integers(batch))
        assert asked.low[:, k].tolist() == low[asked.owner].tolist()
        assert asked.high[:, k].tolist() == high[asked.owner].tolist()
        between = (low % 2 == 1) | (high % 2 == 1)
        integers = column.integers(batch)
        assert asked.low_keys[between, k].tolist() == integers.lower[between].tolist()
        assert asked.high_keys[between, k].tolist() == integers.upper[between].tolist()
    for i in range(len(these) if vocabularies else 0):
        found = rows_of(asked, i, len(columns))
        if any_token:
            assert found == [(NO_TOKEN, LAST)]
            continue
        known = set()
        for name, vocabulary in vocabularies.items():
            batch = these.batch(SPACE[name], np.array([i]))
            assert isinstance(batch, Tags)
            tokens = wanted(batch).values.tolist()
            known |= {
                int(vocabulary.codes[vocabulary.numbers[t]])
                for t in tokens
                if t in vocabulary.numbers
            }
        assert sorted(found) == sorted((code, code) for code in {NO_TOKEN, *known})


def test_columns_come_in_fours() -> None:
    assert [padded(count) for count in (0, 1, 4, 5, 8, 20, 21)] == [4, 4, 4, 8, 8, 20, 24]
