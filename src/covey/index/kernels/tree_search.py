"""Batches of rows on their way down a tree of bitmaps, to the boxes that contain them.

What is found goes to arrays that are given, with `state` saying where to go on when they are full:
growing them here would cost more than the search. `high` is none if both corners of every row are
the same.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel
from covey.index.kernels.bits import (
    ONE,
    WORDS,
    compare_codes,
    count_bits,
    intersect_sets,
    lowest_bit,
    prefetch_words,
)
from covey.index.kernels.tree_nodes import find_bucket

__all__ = ["descend", "descend_overlapping", "match_leaves", "match_leaves_limited", "verify_boxes"]

_SIXTY_FOUR = np.uint64(64)
_CHILDREN = np.uint64(64 * WORDS)
_LINE = np.uint64(8)  # words of a line of cache
_PREFETCH_DISTANCE = np.uint64(12)  # visits ahead
_BLOCK = np.uint64(9 * 64 * WORDS)  # of boxes that are proposed, then compared


@kernel
def descend(
    low: NDArray[np.uint16], high: NDArray[np.uint16] | None, rows: NDArray[np.int32],
    starts: NDArray[np.int64], children: NDArray[np.int64], tests: NDArray[np.int64],
    attribute: NDArray[np.int32], base: NDArray[np.int32], scale: NDArray[np.int32],
    size: NDArray[np.int32], offset: NDArray[np.int64], sets: NDArray[np.uint64],
    state: NDArray[np.uint64], found_children: NDArray[np.int32], found_rows: NDArray[np.int32],
) -> int:  # fmt: skip
    """Pairs of a child and a row that may be in it, from the rows that reached each node."""
    words, met = np.empty(WORDS, np.uint64), np.empty(2 * low.shape[1], np.uint64)
    found, room = np.uint64(0), np.uint64(len(found_rows)) - _CHILDREN
    node, i = state[0], state[1]
    while node < np.uint64(len(children) - 1):
        first, last, child = np.uint64(tests[node]), np.uint64(tests[node + ONE]), children[node]
        stop = np.uint64(starts[node + ONE])
        while i < stop:
            if found > room:
                state[0], state[1] = node, i
                return np.int64(found)
            row = np.uint64(rows[i])
            i += ONE
            count = _write_set_starts(
                low, high, row, first, last, attribute, base, scale, size, offset, met
            )  # fmt: skip
            mask = intersect_sets(sets, met, count, words)
            while mask:
                w = lowest_bit(mask)
                mask &= mask - ONE
                word, here = words[w], np.uint64(child) + w * _SIXTY_FOUR
                while word:
                    found_children[found], found_rows[found] = here + lowest_bit(word), row
                    found += ONE
                    word &= word - ONE
        node += ONE
    state[0], state[1] = node, i
    return np.int64(found)


@kernel
def match_leaves(
    low: NDArray[np.uint16], high: NDArray[np.uint16] | None, rows: NDArray[np.int32],
    starts: NDArray[np.int64], children: NDArray[np.int64], tests: NDArray[np.int64],
    attribute: NDArray[np.int32], base: NDArray[np.int32], scale: NDArray[np.int32],
    size: NDArray[np.int32], offset: NDArray[np.int64], sets: NDArray[np.uint64],
    state: NDArray[np.uint64], found_ordinals: NDArray[np.int32], found_rows: NDArray[np.int32],
    fours: tuple[int, ...], low_words: NDArray[np.uint64], high_words: NDArray[np.uint64],
    query_rows: NDArray[np.int32], low_keys: NDArray[np.int64], high_keys: NDArray[np.int64],
    codes: NDArray[np.uint16], code_words: NDArray[np.uint64],
    ends: NDArray[np.int64], end_starts: NDArray[np.int64], sparse: NDArray[np.int64],
    odd: NDArray[np.uint64], odd_before: NDArray[np.uint32],
) -> int:  # fmt: skip
    """Pairs of a box and a row whose corners are both in it, from the rows that reached each leaf.

    Codes decide, and the ends themselves where a row's code is that of an end between boundaries.
    What rows some visits ahead will ask for is fetched meanwhile: half of the time would be spent
    waiting for memory. `fours` is as long as a row's words of four codes, if they are so few that
    code of their own pays.
    """
    words, met = np.empty(WORDS, np.uint64), np.empty(2 * low.shape[1], np.uint64)
    some_rows, some_places = np.empty(_BLOCK, np.int32), np.empty(_BLOCK, np.int32)
    doubt_rows, doubt_places = np.empty(_BLOCK, np.int32), np.empty(_BLOCK, np.int32)
    soon, total = state[0], np.uint64(starts[-1])
    width = np.uint64(code_words.shape[1])
    groups = np.uint64(len(fours) if len(fours) else low_words.shape[1])
    found, room = np.uint64(0), np.uint64(len(found_rows)) - _BLOCK
    node, i = state[0], state[1]
    while node < np.uint64(len(children) - 1):
        first, last, child = np.uint64(tests[node]), np.uint64(tests[node + ONE]), children[node]
        stop = np.uint64(starts[node + ONE])
        while i < stop:
            if found > room:
                state[0], state[1] = node, i
                return np.int64(found)
            some = np.uint64(0)
            while i < stop and some <= _BLOCK - _CHILDREN:
                row = np.uint64(rows[i])
                i += ONE
                if i + _PREFETCH_DISTANCE < total:
                    while np.uint64(starts[soon + ONE]) <= i + _PREFETCH_DISTANCE:
                        soon += ONE
                    _fetch_sets(
                        low,
                        np.uint64(rows[i + _PREFETCH_DISTANCE]),
                        tests,
                        soon,
                        attribute,
                        base,
                        scale,
                        size,
                        offset,
                        sets,
                    )
                count = _write_set_starts(
                    low, high, row, first, last, attribute, base, scale, size, offset, met
                )  # fmt: skip
                mask = intersect_sets(sets, met, count, words)
                while mask:
                    w = lowest_bit(mask)
                    mask &= mask - ONE
                    word, here = words[w], np.uint64(child) + w * _SIXTY_FOUR
                    while word:
                        place = here + lowest_bit(word)
                        prefetch_words(code_words, place * width)
                        some_places[some], some_rows[some] = place, row
                        some += ONE
                        word &= word - ONE

            doubts = np.uint64(0)
            for j in range(some):
                row, place = np.uint64(some_rows[j]), np.uint64(some_places[j])
                outside, doubtful = np.uint64(0), np.uint64(0)
                for g in range(groups):
                    out, unclear = compare_codes(
                        low_words[row, g], high_words[row, g], code_words[place, g],
                        code_words[place, groups + g],
                    )  # fmt: skip
                    outside |= out
                    doubtful |= unclear
                found_ordinals[found], found_rows[found] = place, row
                found += np.uint64(outside | doubtful == 0)
                doubt_rows[doubts], doubt_places[doubts] = row, place
                doubts += np.uint64((outside == 0) & (doubtful != 0))
            for j in range(doubts):
                row, place = np.uint64(doubt_rows[j]), np.uint64(doubt_places[j])
                found_ordinals[found], found_rows[found] = place, row
                admitted = _admits_keys(
                    low,
                    high,
                    low_keys,
                    high_keys,
                    row,
                    np.uint64(query_rows[row]),
                    codes,
                    place,
                    ends,
                    end_starts,
                    sparse,
                    odd,
                    odd_before,
                )
                found += np.uint64(admitted)
        node += ONE
    state[0], state[1] = node, i
    return np.int64(found)


@kernel
def match_leaves_limited(
    low: NDArray[np.uint16], high: NDArray[np.uint16] | None, rows: NDArray[np.int32],
    starts: NDArray[np.int64], children: NDArray[np.int64], tests: NDArray[np.int64],
    attribute: NDArray[np.int32], base: NDArray[np.int32], scale: NDArray[np.int32],
    size: NDArray[np.int32], offset: NDArray[np.int64], sets: NDArray[np.uint64],
    state: NDArray[np.uint64], found_ordinals: NDArray[np.int32], found_rows: NDArray[np.int32],
    low_words: NDArray[np.uint64], high_words: NDArray[np.uint64], query_rows: NDArray[np.int32],
    low_keys: NDArray[np.int64], high_keys: NDArray[np.int64], codes: NDArray[np.uint16],
    code_words: NDArray[np.uint64], ends: NDArray[np.int64], end_starts: NDArray[np.int64],
    sparse: NDArray[np.int64], odd: NDArray[np.uint64], odd_before: NDArray[np.uint32],
    exact_bits: NDArray[np.uint64], remaining: NDArray[np.int32],
) -> int:  # fmt: skip
    """What `match_leaves` gives, but no more for a query row that has as many as it wants.

    `remaining` is how many each query row still wants. Only boxes that say all count.
    """
    words, met = np.empty(WORDS, np.uint64), np.empty(2 * low.shape[1], np.uint64)
    found, room = np.uint64(0), np.uint64(len(found_rows)) - _CHILDREN
    node, i = state[0], state[1]
    while node < np.uint64(len(children) - 1):
        first, last, child = np.uint64(tests[node]), np.uint64(tests[node + ONE]), children[node]
        stop = np.uint64(starts[node + ONE])
        while i < stop:
            if found > room:
                state[0], state[1] = node, i
                return np.int64(found)
            row = np.uint64(rows[i])
            i += ONE
            who = np.uint64(query_rows[row])
            wanted = remaining[who]
            if wanted <= 0:
                continue
            count = _write_set_starts(
                low, high, row, first, last, attribute, base, scale, size, offset, met
            )
            mask = intersect_sets(sets, met, count, words)
            while mask and wanted > 0:
                w = lowest_bit(mask)
                mask &= mask - ONE
                word, here = words[w], np.uint64(child) + w * _SIXTY_FOUR
                while word and wanted > 0:
                    place = here + lowest_bit(word)
                    word &= word - ONE
                    if not _contains_corners(
                        low, high, low_words, high_words, low_keys, high_keys, row, who, codes,
                        code_words, place, ends, end_starts, sparse, odd, odd_before,
                    ):  # fmt: skip
                        continue
                    found_ordinals[found], found_rows[found] = place, row
                    found += ONE
                    wanted -= np.int32(
                        exact_bits[place >> np.uint64(6)] >> (place & np.uint64(63)) & ONE
                    )
            remaining[who] = wanted
        node += ONE
    state[0], state[1] = node, i
    return np.int64(found)


@kernel
def verify_boxes(
    rows: NDArray[np.int32], ordinals: NDArray[np.int32], low: NDArray[np.uint16],
    high: NDArray[np.uint16] | None, low_words: NDArray[np.uint64], high_words: NDArray[np.uint64],
    query_rows: NDArray[np.int32], low_keys: NDArray[np.int64], high_keys: NDArray[np.int64],
    codes: NDArray[np.uint16], code_words: NDArray[np.uint64], ends: NDArray[np.int64],
    end_starts: NDArray[np.int64], sparse: NDArray[np.int64], odd: NDArray[np.uint64],
    odd_before: NDArray[np.uint32],
) -> NDArray[np.bool_]:  # fmt: skip
    """Whether the box at `ordinals[i]` contains both corners of row `rows[i]`."""
    answer = np.empty(len(rows), np.bool_)
    for i in range(len(rows)):
        row, place = np.uint64(rows[i]), np.uint64(ordinals[i])
        answer[i] = _contains_corners(
            low, high, low_words, high_words, low_keys, high_keys, row, np.uint64(query_rows[row]),
            codes, code_words, place, ends, end_starts, sparse, odd, odd_before,
        )  # fmt: skip
    return answer


@kernel(inline="always")
def _contains_corners(
    low: Any,
    high: Any,
    low_words: Any,
    high_words: Any,
    low_keys: Any,
    high_keys: Any,
    row: Any,
    query_row: Any,
    codes: Any,
    code_words: Any,
    ordinal: Any,
    ends: Any,
    end_starts: Any,
    sparse: Any,
    odd: Any,
    odd_before: Any,
) -> Any:
    """Whether a box contains both corners of a row, by its codes and then by its ends."""
    groups = np.uint64(low_words.shape[1])
    outside, doubtful = np.uint64(0), np.uint64(0)
    for g in range(groups):
        out, unclear = compare_codes(
            low_words[row, g],
            high_words[row, g],
            code_words[ordinal, g],
            code_words[ordinal, groups + g],
        )
        outside |= out
        doubtful |= unclear
    return outside == 0 and (
        doubtful == 0
        or _admits_keys(
            low,
            high,
            low_keys,
            high_keys,
            row,
            query_row,
            codes,
            ordinal,
            ends,
            end_starts,
            sparse,
            odd,
            odd_before,
        )
    )


@kernel(inline="always")
def _fetch_sets(
    low: Any, row: Any, tests: Any, node: Any, attribute: Any, base: Any, scale: Any, size: Any,
    offset: Any, sets: Any,
) -> None:  # fmt: skip
    """Fetches the sets that a row will ask a node for."""
    for t in range(np.uint64(tests[node]), np.uint64(tests[node + ONE])):
        here = find_bucket(low[row, np.uint64(attribute[t])], base[t], scale[t], size[t])
        start = np.uint64(offset[t] + here * WORDS)
        prefetch_words(sets, start)
        prefetch_words(sets, start + _LINE)


@kernel(inline="always")
def _write_set_starts(
    low: Any, high: Any, row: Any, first: Any, last: Any, attribute: Any, base: Any, scale: Any,
    size: Any, offset: Any, set_starts: Any,
) -> Any:  # fmt: skip
    """Writes where the sets start that hold a row's corners; gives how many there are."""
    count = np.uint64(0)
    for t in range(first, last):
        k = np.uint64(attribute[t])
        here = find_bucket(low[row, k], base[t], scale[t], size[t])
        set_starts[count] = np.uint64(offset[t] + here * WORDS)
        count += ONE
        if high is not None:
            here = find_bucket(high[row, k], base[t], scale[t], size[t])
            set_starts[count] = np.uint64(offset[t] + here * WORDS)
            count += ONE
    return count


@kernel
def _admits_keys(
    low: Any, high: Any, low_keys: Any, high_keys: Any, row: Any, query_row: Any, codes: Any,
    ordinal: Any, ends: Any, end_starts: Any, sparse: Any, odd: Any, odd_before: Any,
) -> Any:  # fmt: skip
    """Whether the ends themselves admit a row whose codes they share."""
    width = low.shape[1]
    for k in range(width):
        lower, upper, mine = codes[ordinal, k], codes[ordinal, width + k], low[row, k]
        if mine == lower and lower & 1:
            end = _read_end(ends, end_starts, sparse, odd, odd_before, ordinal, k)
            if low_keys[query_row, k] < end:
                return False
        if high is not None:
            mine = high[row, k]
        if mine == upper and upper & 1:
            end = _read_end(ends, end_starts, sparse, odd, odd_before, ordinal, width + k)
            if high_keys[query_row, k] > end:
                return False
    return True


@kernel
def _read_end(
    ends: Any, end_starts: Any, sparse: Any, odd: Any, odd_before: Any, ordinal: Any, column: Any
) -> Any:
    """An end that its code does not tell; of a sparse column there are only those."""
    at, which = end_starts[column], sparse[column]
    if which < 0:
        return ends[at + np.int64(ordinal)]
    run, bit = ordinal >> np.uint64(6), ordinal & np.uint64(63)
    earlier = count_bits(odd[which, run] & ((ONE << bit) - ONE))
    return ends[at + np.int64(odd_before[which, run]) + np.int64(earlier)]


@kernel
def descend_overlapping(
    low: NDArray[np.uint16], high: NDArray[np.uint16], rows: NDArray[np.int32],
    starts: NDArray[np.int64], children: NDArray[np.int64], tests: NDArray[np.int64],
    attribute: NDArray[np.int32], base: NDArray[np.int32], scale: NDArray[np.int32],
    size: NDArray[np.int32], offset: NDArray[np.int64], sets: NDArray[np.uint64],
    state: NDArray[np.uint64], found_children: NDArray[np.int32], found_rows: NDArray[np.int32],
) -> int:  # fmt: skip
    """Pairs of a child and a row that may have something in common, as `descend` gives them."""
    words, met = np.empty(WORDS, np.uint64), np.empty(WORDS, np.uint64)
    found, room = np.uint64(0), np.uint64(len(found_rows)) - _CHILDREN
    node, i = state[0], state[1]
    while node < np.uint64(len(children) - 1):
        while i < np.uint64(starts[node + ONE]):
            if found > room:
                state[0], state[1] = node, i
                return np.int64(found)
            row = np.uint64(rows[i])
            i += ONE
            words[:] = ~np.uint64(0)
            for t in range(tests[node], tests[node + ONE]):
                k = attribute[t]
                lowest = find_bucket(low[row, k], base[t], scale[t], size[t])
                highest = find_bucket(high[row, k], base[t], scale[t], size[t])
                met[:] = 0
                for b in range(lowest, highest + 1):
                    met |= sets[offset[t] + b * WORDS : offset[t] + (b + 1) * WORDS]
                words &= met
            for w in range(np.uint64(WORDS)):
                word, here = words[w], np.uint64(children[node]) + w * _SIXTY_FOUR
                while word:
                    found_children[found], found_rows[found] = here + lowest_bit(word), row
                    found += ONE
                    word &= word - ONE
        node += ONE
    state[0], state[1] = node, i
    return np.int64(found)
