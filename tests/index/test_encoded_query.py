"""What is asked, as rows: an event or a region once, and once more for each of its tokens."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.geometry.tags import Tags
from covey.index.segment.codebook import LAST
from covey.index.segment.encoded_column import EncodedColumn
from covey.index.segment.query.encoded_query import EncodedQuery, padded_width
from covey.index.segment.token_vocabulary import NO_TOKEN, TokenVocabulary, find_required_tokens
from covey.space import Events, Space
from covey.space.events import ScalarColumn, TagColumn
from covey.testing.strategies import events, regions

TAGS = pa.list_(pa.string())
SPACE = Space.from_types({"x": pa.int64(), "s": pa.string(), "t": TAGS, "u": TAGS})
SCALARS, TOKENS = ("x", "s"), ("t", "u")


def stored(some: Regions) -> tuple[list[EncodedColumn], dict[str, TokenVocabulary]]:
    """Columns and vocabularies for all attributes that some regions constrain."""
    columns, vocabularies = [], {}
    for name, given_constraints in some.constraints.items():
        if isinstance(given_constraints.batch, Scalars):
            columns.append(EncodedColumn.from_scalars(name, given_constraints.batch))
        elif isinstance(given_constraints.batch, Tags):
            vocabularies[name] = TokenVocabulary.from_tags(given_constraints.batch)
    return columns, vocabularies


def rows_of(asked: EncodedQuery, owner: int, column: int) -> list[tuple[int, int]]:
    """The two codes in one column of all rows of an owner."""
    mine = asked.query_rows == owner
    return list(
        zip(asked.low[mine, column].tolist(), asked.high[mine, column].tolist(), strict=True)
    )


@given(regions(SPACE, max_regions=8), events(SPACE))
def test_events_ask_once_and_for_each_token(some: Regions, these: Events) -> None:
    columns, vocabularies = stored(some)
    asked = EncodedQuery.from_events(these, columns, vocabularies)
    assert asked.high is asked.low
    assert asked.low.shape[1] == padded_width(len(columns) + bool(vocabularies))
    assert asked.query_rows[: len(these)].tolist() == list(range(len(these)))
    for k, column in enumerate(columns):
        cells = these[column.name]
        assert isinstance(cells, ScalarColumn)
        codes = np.empty(len(these), np.uint16)
        column.codebook.write_codes(column.encode_events(cells), cells.valid, codes)
        assert asked.low[:, k].tolist() == codes[asked.query_rows].tolist()
        assert asked.low_keys[:, k].tolist() == column.encode_events(cells).tolist()
        assert asked.integers[column.name].tolist() == column.encode_events(cells).tolist()
    for e in range(len(these)):
        known = set()
        for name, vocabulary in vocabularies.items():
            tags = these[name]
            assert isinstance(tags, TagColumn)
            numbers = [vocabulary.number_by_token.get(token, -1) for token in tags.tokens.row(e)]
            assert asked.integers[name].row(e).tolist() == numbers
            known |= {int(vocabulary.codes[number]) for number in numbers if number >= 0}
        if vocabularies:
            found = rows_of(asked, e, len(columns))
            assert sorted(found) == sorted((code, code) for code in {NO_TOKEN, *known})


@given(regions(SPACE, max_regions=8), regions(SPACE), st.booleans())
def test_regions_ask_once_and_for_each_token_they_want(
    some: Regions, these: Regions, any_token: bool
) -> None:
    columns, vocabularies = stored(some)
    asked = EncodedQuery.from_regions(
        these, columns, {} if any_token else vocabularies, any_token=any_token
    )
    assert asked.low.shape == asked.high.shape
    for k, column in enumerate(columns):
        batch = these.gather_constraints(SPACE[column.name], np.arange(len(these)))
        assert isinstance(batch, Scalars)
        low, high, _ = column.codebook.encode_intervals(column.encode_constraints(batch))
        assert asked.low[:, k].tolist() == low[asked.query_rows].tolist()
        assert asked.high[:, k].tolist() == high[asked.query_rows].tolist()
        between = (low % 2 == 1) | (high % 2 == 1)
        integers = column.encode_constraints(batch)
        assert asked.low_keys[between, k].tolist() == integers.lower[between].tolist()
        assert asked.high_keys[between, k].tolist() == integers.upper[between].tolist()
    for i in range(len(these) if vocabularies else 0):
        found = rows_of(asked, i, len(columns))
        if any_token:
            assert found == [(NO_TOKEN, LAST)]
            continue
        known = set()
        for name, vocabulary in vocabularies.items():
            batch = these.gather_constraints(SPACE[name], np.array([i]))
            assert isinstance(batch, Tags)
            tokens = find_required_tokens(batch).values.tolist()
            known |= {
                int(vocabulary.codes[vocabulary.number_by_token[t]])
                for t in tokens
                if t in vocabulary.number_by_token
            }
        assert sorted(found) == sorted((code, code) for code in {NO_TOKEN, *known})


def test_columns_come_in_fours() -> None:
    assert [padded_width(count) for count in (0, 1, 4, 5, 8, 20, 21)] == [4, 4, 4, 8, 8, 20, 24]
