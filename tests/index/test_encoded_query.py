"""Encoded queries: one row per event or region, and one more for each of its tokens."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry import Regions
from covey.geometry.scalars import Scalars
from covey.geometry.tags import Tags
from covey.index.segment.encoded_column import LAST, EncodedColumn
from covey.index.segment.query.encoded_query import EncodedQuery, padded_width
from covey.index.segment.token_vocabulary import NO_TOKEN, TokenVocabulary, find_required_tokens
from covey.space import Events, Space
from covey.space.events import ScalarColumn, TagColumn
from covey.testing.strategies import events, regions

TAGS = pa.list_(pa.string())
SPACE = Space.from_types({"x": pa.int64(), "s": pa.string(), "t": TAGS, "u": TAGS})
SCALARS, TOKENS = ("x", "s"), ("t", "u")


def encode_stored(
    stored_regions: Regions,
) -> tuple[list[EncodedColumn], dict[str, TokenVocabulary]]:
    """Return columns and vocabularies for all constrained attributes of the regions."""
    columns, vocabularies = [], {}
    for name, given_constraints in stored_regions.constraints.items():
        if isinstance(given_constraints.batch, Scalars):
            columns.append(EncodedColumn.from_scalars(name, given_constraints.batch))
        elif isinstance(given_constraints.batch, Tags):
            vocabularies[name] = TokenVocabulary.from_tags(given_constraints.batch)
    return columns, vocabularies


def rows_of(encoded: EncodedQuery, query_row: int, column: int) -> list[tuple[int, int]]:
    """Return the code pairs in one column of all rows of an event or region."""
    is_own = encoded.query_rows == query_row
    return list(
        zip(
            encoded.low[is_own, column].tolist(), encoded.high[is_own, column].tolist(), strict=True
        )
    )


@given(regions(SPACE, max_regions=8), events(SPACE))
def test_events_have_one_row_and_one_more_for_each_token(
    stored_regions: Regions, query_batch: Events
) -> None:
    columns, vocabularies = encode_stored(stored_regions)
    encoded = EncodedQuery.from_events(query_batch, columns, vocabularies)
    assert encoded.high is encoded.low
    assert encoded.low.shape[1] == padded_width(len(columns) + bool(vocabularies))
    assert encoded.query_rows[: len(query_batch)].tolist() == list(range(len(query_batch)))
    for k, column in enumerate(columns):
        cells = query_batch[column.name]
        assert isinstance(cells, ScalarColumn)
        codes = np.empty(len(query_batch), np.uint16)
        column.codebook.write_codes(column.encode_events(cells), cells.valid, codes)
        assert encoded.low[:, k].tolist() == codes[encoded.query_rows].tolist()
        assert encoded.low_keys[:, k].tolist() == column.encode_events(cells).tolist()
        assert encoded.integers[column.name].tolist() == column.encode_events(cells).tolist()
    for e in range(len(query_batch)):
        known = set()
        for name, vocabulary in vocabularies.items():
            tags = query_batch[name]
            assert isinstance(tags, TagColumn)
            numbers = [vocabulary.number_by_token.get(token, -1) for token in tags.tokens.row(e)]
            assert encoded.integers[name].row(e).tolist() == numbers
            known |= {int(vocabulary.codes[number]) for number in numbers if number >= 0}
        if vocabularies:
            found = rows_of(encoded, e, len(columns))
            assert sorted(found) == sorted((code, code) for code in {NO_TOKEN, *known})


@given(regions(SPACE, max_regions=8), regions(SPACE), st.booleans())
def test_regions_have_one_row_and_one_more_for_each_required_token(
    stored_regions: Regions, query_batch: Regions, any_token: bool
) -> None:
    columns, vocabularies = encode_stored(stored_regions)
    encoded = EncodedQuery.from_regions(
        query_batch, columns, {} if any_token else vocabularies, any_token=any_token
    )
    assert encoded.low.shape == encoded.high.shape
    for k, column in enumerate(columns):
        batch = query_batch.gather_constraints(SPACE[column.name], np.arange(len(query_batch)))
        assert isinstance(batch, Scalars)
        low, high, _ = column.codebook.encode_intervals(column.encode_constraints(batch))
        assert encoded.low[:, k].tolist() == low[encoded.query_rows].tolist()
        assert encoded.high[:, k].tolist() == high[encoded.query_rows].tolist()
        between = (low % 2 == 1) | (high % 2 == 1)
        integers = column.encode_constraints(batch)
        assert encoded.low_keys[between, k].tolist() == integers.lower[between].tolist()
        assert encoded.high_keys[between, k].tolist() == integers.upper[between].tolist()
    for i in range(len(query_batch) if vocabularies else 0):
        found = rows_of(encoded, i, len(columns))
        if any_token:
            assert found == [(NO_TOKEN, LAST)]
            continue
        known = set()
        for name, vocabulary in vocabularies.items():
            batch = query_batch.gather_constraints(SPACE[name], np.array([i]))
            assert isinstance(batch, Tags)
            tokens = find_required_tokens(batch).values.tolist()
            known |= {
                int(vocabulary.codes[vocabulary.number_by_token[t]])
                for t in tokens
                if t in vocabulary.number_by_token
            }
        assert sorted(found) == sorted((code, code) for code in {NO_TOKEN, *known})


def test_widths_are_padded_to_multiples_of_four() -> None:
    assert [padded_width(count) for count in (0, 1, 4, 5, 8, 20, 21)] == [4, 4, 4, 8, 8, 20, 24]
