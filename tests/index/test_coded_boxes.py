"""Coded boxes: constraints are read back from codes and stored ends."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.geometry.scalars import Scalars
from covey.index.segment import coded_boxes
from covey.index.segment.coded_boxes import CodedBoxes, pack_bits
from covey.index.segment.encoded_column import Codebook, EncodedColumn
from covey.index.segment.query.encoded_query import padded_width
from covey.space.keys import key_domain
from covey.space.types import DOUBLE, Type

ALL_KEPT, NONE_KEPT = -1, -2
WHOLE = key_domain(Type("bigint"))
KINDS = ["interval", "from", "up to", "free", "not null", "null", "null or up to"]


def constraints(kinds: list[str], whole: coded_boxes.Ints, random: np.random.Generator) -> Scalars:
    """Draw one constraint of each kind, with random keys as ends."""
    ends = np.sort(random.choice(whole, (2, len(kinds))), axis=0)
    kind = np.array(kinds)
    lower = np.where(np.isin(kind, ["interval", "from"]), ends[0], WHOLE.low)
    upper = np.where(np.isin(kind, ["interval", "up to", "null or up to"]), ends[1], WHOLE.high)
    lower[kind == "null"], upper[kind == "null"] = WHOLE.high, WHOLE.low
    return Scalars.from_intervals(
        WHOLE, lower, upper, nulls=np.isin(kind, ["free", "null", "null or up to"])
    )


def build_boxes(
    batches: list[Scalars], codebook: Codebook
) -> tuple[CodedBoxes, list[EncodedColumn]]:
    """Build the boxes of these constraints, one batch per attribute."""
    width = padded_width(len(batches))
    codes = np.zeros((len(batches[0]), 2 * width), np.uint16)
    ends: list[coded_boxes.Ints | None] = [None] * (2 * width)
    for k, batch in enumerate(batches):
        codes[:, k], codes[:, width + k], said = codebook.encode_intervals(batch)
        assert said.all()
        ends[k], ends[width + k] = batch.lower, batch.upper
    return CodedBoxes.build(codes, ends), [
        EncodedColumn(f"x{k}", WHOLE, None, codebook) for k in range(width)
    ]


def check(
    coded: CodedBoxes, columns: list[EncodedColumn], batches: list[Scalars], rows: coded_boxes.Ints
) -> None:
    for k, batch in enumerate(batches):
        found, expected = coded.read_constraints(k, columns[k], rows), batch.take(rows)
        assert found.lower.tolist() == expected.lower.tolist()
        assert found.upper.tolist() == expected.upper.tolist()
        assert found.nulls.tolist() == expected.nulls.tolist()


@given(st.integers(0, 999), st.integers(1, 200), st.sampled_from([0.0, 0.5, 0.97, 2.0]))
def test_constraints_are_read_back(seed: int, count: int, mostly: float) -> None:
    """The share of odd codes from which all ends of a column are stored does not matter."""
    random = np.random.default_rng(seed)
    keys = np.array([WHOLE.low, WHOLE.low + 1, *range(-9, 9), WHOLE.high - 1, WHOLE.high])
    batches = [constraints(random.choice(KINDS, count).tolist(), keys, random) for _ in range(3)]
    codebook = Codebook.from_boundaries(np.unique(random.choice(keys, 4)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(coded_boxes, "_MOSTLY_ODD_SHARE", mostly)
        coded, columns = build_boxes(batches, codebook)
    check(coded, columns, batches, np.arange(count))
    check(coded, columns, batches, random.integers(0, count, 50))


def test_ends_are_stored_only_if_codes_do_not_determine_them() -> None:
    """The three columns store nearly all ends, the ends between boundaries, and no ends."""
    codebook = Codebook.from_boundaries(np.arange(0, 1000, 10))
    between, some_between = np.arange(200) * 5 + 3, np.where(np.arange(200) % 4, 40, 43)
    at = np.arange(200) * 5 // 10 * 10
    batches = [
        Scalars.from_intervals(WHOLE, keys, keys.copy()) for keys in (between, some_between, at)
    ]
    coded_batch, columns = build_boxes(batches, codebook)
    lower, upper = np.split(coded_batch.sparse, 2)
    assert lower.tolist() == [ALL_KEPT, 0, NONE_KEPT, NONE_KEPT]
    assert upper.tolist() == [ALL_KEPT, 1, NONE_KEPT, NONE_KEPT]
    assert len(coded_batch.ends) == 2 * 200 + 2 * 50
    check(coded_batch, columns, batches, np.arange(200)[::-1])
    assert len(coded_batch) == 200


def test_an_empty_batch_of_boxes_can_be_read() -> None:
    none = np.empty(0, np.int64)
    coded_batch, columns = build_boxes(
        [Scalars.from_intervals(WHOLE, none, none)], Codebook.from_boundaries(np.arange(1))
    )
    assert len(coded_batch) == len(coded_batch.read_constraints(0, columns[0], none)) == 0


@given(st.lists(st.booleans(), max_size=200))
def test_pack_bits_packs_flags_into_words_of_64(flags: list[bool]) -> None:
    words = pack_bits(np.array(flags, np.bool_))
    assert len(words) == -(-len(flags) // 64)
    assert [bool(int(words[i >> 6]) >> (i & 63) & 1) for i in range(len(flags))] == flags
    assert sum(map(int.bit_count, words.tolist())) == sum(flags)


def test_ends_of_a_double_are_infinity_and_nan() -> None:
    """The lowest and highest keys of the type are those of infinity and NaN."""
    whole = key_domain(DOUBLE)
    ends = np.array([whole.low, whole.low + 1, 0, whole.high - 1, whole.high])
    batch = Scalars.from_intervals(whole, np.full(5, whole.low), ends)
    coded_batch, _ = build_boxes([batch], Codebook.from_scalars(batch))
    found = coded_batch.read_constraints(
        0, EncodedColumn("x", whole, None, Codebook.from_scalars(batch)), np.arange(5)
    )
    assert found.upper.tolist() == ends.tolist()
    assert (found.lower == whole.low).all()
