"""Concatenated pairs of several segments equal a plain filter and sort."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from covey.index import Pairs
from covey.store.segments.live_segment import concat_live_pairs


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 20)), max_size=30), max_size=4)
)
def test_concatenated_live_pairs_equal_a_filter_and_a_sort(
    drawn: list[list[tuple[int, int]]],
) -> None:
    answers, alive = [], []
    for number, segment_pairs in enumerate(drawn):
        pairs = np.array(sorted(set(segment_pairs)), np.int32).reshape(-1, 2)
        dead = np.arange(21) % (number + 2) == 0 if number else np.zeros(0, np.bool_)
        bits = np.packbits(dead, bitorder="little")
        answers.append((pairs[:, 0].copy(), pairs[:, 1].copy(), bits, 100 * number))
        alive += [(a, s + 100 * number) for a, s in pairs.tolist() if not number or not dead[s]]
    found = concat_live_pairs(answers)
    assert (np.diff(found.query_rows) >= 0).all()
    assert list(Pairs.from_unsorted(found.query_rows, found.stored_rows)) == sorted(alive)
