"""Search in a tree of bitmaps: batches of rows descend to the boxes that contain them.

A row is a row of codes of a query, with a lower corner in `low` and an upper corner in `high`;
`high` is None if both corners of every row are the same. A child of a node is a node of the next
level or, if the node is a leaf, a box. The arguments from `children` to `sets` are the fields of
`TreeLevel`.

Results are written to arrays of the caller. When these are full, the kernel returns, and `state`
(the node and the position in `rows`) says where the next call continues. Kernels do not enlarge the
arrays themselves, because that would take longer than the search.
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
_LINE = np.uint64(8)  # words of a cache line
_PREFETCH_DISTANCE = np.uint64(12)  # rows ahead
_BLOCK = np.uint64(9 * 64 * WORDS)  # boxes that are proposed before they are compared


@kernel
def descend(
    low: NDArray[np.uint16], high: NDArray[np.uint16] | None, rows: NDArray[np.int32],
    starts: NDArray[np.int64], children: NDArray[np.int64], tests: NDArray[np.int64],
    attribute: NDArray[np.int32], base: NDArray[np.int32], scale: NDArray[np.int32],
    size: NDArray[np.int32], offset: NDArray[np.int64], sets: NDArray[np.uint64],
    state: NDArray[np.uint64], found_children: NDArray[np.int32], found_rows: NDArray[np.int32],
) -> int:  # fmt: skip
    """Write the pairs of a child and a row such that a box below the child may contain the row.

    Rows `rows[starts[v]:starts[v + 1]]` have reached node v. The result is the number of pairs.
    """
    words, set_starts = np.empty(WORDS, np.uint64), np.empty(2 * low.shape[1], np.uint64)
    found_count, max_found_count = np.uint64(0), np.uint64(len(found_rows)) - _CHILDREN
    node, i = state[0], state[1]
    while node < np.uint64(len(children) - 1):
        first, last, child = np.uint64(tests[node]), np.uint64(tests[node + ONE]), children[node]
        stop = np.uint64(starts[node + ONE])
        while i < stop:
            if found_count > max_found_count:
                state[0], state[1] = node, i
                return np.int64(found_count)
            row = np.uint64(rows[i])
            i += ONE
            count = _write_set_starts(
                low, high, row, first, last, attribute, base, scale, size, offset, set_starts
            )  # fmt: skip
            mask = intersect_sets(sets, set_starts, count, words)
            while mask:
                w = lowest_bit(mask)
                mask &= mask - ONE
                word, first_child = words[w], np.uint64(child) + w * _SIXTY_FOUR
                while word:
                    found_children[found_count], found_rows[found_count] = (
                        first_child + lowest_bit(word),
                        row,
                    )
                    found_count += ONE
                    word &= word - ONE
        node += ONE
    state[0], state[1] = node, i
    return np.int64(found_count)


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
    """Write the pairs of a box and a row such that the box contains both corners of the row.

    Rows `rows[starts[v]:starts[v + 1]]` have reached leaf v. Codes are compared first; keys are
    compared only if the code of a row equals an odd code of the box. The bitmaps that the next rows
    need are prefetched, because otherwise half of the time would be spent waiting for memory.
    `fours` is a tuple with one item for each word of four codes of a row, if the kernel is compiled
    for this number of words; it is empty otherwise. The result is the number of pairs.
    """
    words, set_starts = np.empty(WORDS, np.uint64), np.empty(2 * low.shape[1], np.uint64)
    block_rows, block_ordinals = np.empty(_BLOCK, np.int32), np.empty(_BLOCK, np.int32)
    doubt_rows, doubt_ordinals = np.empty(_BLOCK, np.int32), np.empty(_BLOCK, np.int32)
    prefetch_node, total = state[0], np.uint64(starts[-1])
    width = np.uint64(code_words.shape[1])
    groups = np.uint64(len(fours) if len(fours) else low_words.shape[1])
    found_count, max_found_count = np.uint64(0), np.uint64(len(found_rows)) - _BLOCK
    node, i = state[0], state[1]
    while node < np.uint64(len(children) - 1):
        first, last, child = np.uint64(tests[node]), np.uint64(tests[node + ONE]), children[node]
        stop = np.uint64(starts[node + ONE])
        while i < stop:
            if found_count > max_found_count:
                state[0], state[1] = node, i
                return np.int64(found_count)
            block_count = np.uint64(0)
            while i < stop and block_count <= _BLOCK - _CHILDREN:
                row = np.uint64(rows[i])
                i += ONE
                if i + _PREFETCH_DISTANCE < total:
                    while np.uint64(starts[prefetch_node + ONE]) <= i + _PREFETCH_DISTANCE:
                        prefetch_node += ONE
                    _fetch_sets(
                        low,
                        np.uint64(rows[i + _PREFETCH_DISTANCE]),
                        tests,
                        prefetch_node,
                        attribute,
                        base,
                        scale,
                        size,
                        offset,
                        sets,
                    )
                count = _write_set_starts(
                    low, high, row, first, last, attribute, base, scale, size, offset, set_starts
                )  # fmt: skip
                mask = intersect_sets(sets, set_starts, count, words)
                while mask:
                    w = lowest_bit(mask)
                    mask &= mask - ONE
                    word, first_ordinal = words[w], np.uint64(child) + w * _SIXTY_FOUR
                    while word:
                        ordinal = first_ordinal + lowest_bit(word)
                        prefetch_words(code_words, ordinal * width)
                        block_ordinals[block_count], block_rows[block_count] = ordinal, row
                        block_count += ONE
                        word &= word - ONE

            doubt_count = np.uint64(0)
            for j in range(block_count):
                row, ordinal = np.uint64(block_rows[j]), np.uint64(block_ordinals[j])
                outside, doubtful = np.uint64(0), np.uint64(0)
                for g in range(groups):
                    out, unclear = compare_codes(
                        low_words[row, g], high_words[row, g], code_words[ordinal, g],
                        code_words[ordinal, groups + g],
                    )  # fmt: skip
                    outside |= out
                    doubtful |= unclear
                found_ordinals[found_count], found_rows[found_count] = ordinal, row
                found_count += np.uint64(outside | doubtful == 0)
                doubt_rows[doubt_count], doubt_ordinals[doubt_count] = row, ordinal
                doubt_count += np.uint64((outside == 0) & (doubtful != 0))
            for j in range(doubt_count):
                row, ordinal = np.uint64(doubt_rows[j]), np.uint64(doubt_ordinals[j])
                found_ordinals[found_count], found_rows[found_count] = ordinal, row
                admitted = _admits_keys(
                    low,
                    high,
                    low_keys,
                    high_keys,
                    row,
                    np.uint64(query_rows[row]),
                    codes,
                    ordinal,
                    ends,
                    end_starts,
                    sparse,
                    odd,
                    odd_before,
                )
                found_count += np.uint64(admitted)
        node += ONE
    state[0], state[1] = node, i
    return np.int64(found_count)


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
    """Write pairs as `match_leaves` does, until each query row has as many boxes as it needs.

    `remaining` has the number of further boxes that each query row needs, and is updated. Only
    boxes whose bit in `exact_bits` is set are counted, because other boxes may be false candidates.
    The result is the number of pairs.
    """
    words, set_starts = np.empty(WORDS, np.uint64), np.empty(2 * low.shape[1], np.uint64)
    found_count, max_found_count = np.uint64(0), np.uint64(len(found_rows)) - _CHILDREN
    node, i = state[0], state[1]
    while node < np.uint64(len(children) - 1):
        first, last, child = np.uint64(tests[node]), np.uint64(tests[node + ONE]), children[node]
        stop = np.uint64(starts[node + ONE])
        while i < stop:
            if found_count > max_found_count:
                state[0], state[1] = node, i
                return np.int64(found_count)
            row = np.uint64(rows[i])
            i += ONE
            query_row = np.uint64(query_rows[row])
            missing = remaining[query_row]
            if missing <= 0:
                continue
            count = _write_set_starts(
                low, high, row, first, last, attribute, base, scale, size, offset, set_starts
            )
            mask = intersect_sets(sets, set_starts, count, words)
            while mask and missing > 0:
                w = lowest_bit(mask)
                mask &= mask - ONE
                word, first_ordinal = words[w], np.uint64(child) + w * _SIXTY_FOUR
                while word and missing > 0:
                    ordinal = first_ordinal + lowest_bit(word)
                    word &= word - ONE
                    if not _contains_corners(
                        low, high, low_words, high_words, low_keys, high_keys, row, query_row,
                        codes, code_words, ordinal, ends, end_starts, sparse, odd, odd_before,
                    ):  # fmt: skip
                        continue
                    found_ordinals[found_count], found_rows[found_count] = ordinal, row
                    found_count += ONE
                    missing -= np.int32(
                        exact_bits[ordinal >> np.uint64(6)] >> (ordinal & np.uint64(63)) & ONE
                    )
            remaining[query_row] = missing
        node += ONE
    state[0], state[1] = node, i
    return np.int64(found_count)


@kernel
def verify_boxes(
    rows: NDArray[np.int32], ordinals: NDArray[np.int32], low: NDArray[np.uint16],
    high: NDArray[np.uint16] | None, low_words: NDArray[np.uint64], high_words: NDArray[np.uint64],
    query_rows: NDArray[np.int32], low_keys: NDArray[np.int64], high_keys: NDArray[np.int64],
    codes: NDArray[np.uint16], code_words: NDArray[np.uint64], ends: NDArray[np.int64],
    end_starts: NDArray[np.int64], sparse: NDArray[np.int64], odd: NDArray[np.uint64],
    odd_before: NDArray[np.uint32],
) -> NDArray[np.bool_]:  # fmt: skip
    """Return for each i whether box `ordinals[i]` contains both corners of row `rows[i]`."""
    is_inside = np.empty(len(rows), np.bool_)
    for i in range(len(rows)):
        row, ordinal = np.uint64(rows[i]), np.uint64(ordinals[i])
        is_inside[i] = _contains_corners(
            low, high, low_words, high_words, low_keys, high_keys, row, np.uint64(query_rows[row]),
            codes, code_words, ordinal, ends, end_starts, sparse, odd, odd_before,
        )  # fmt: skip
    return is_inside


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
    """Return whether the box at an ordinal contains both corners of a row.

    Codes are compared first, then keys if codes do not decide.
    """
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
    """Prefetch those bitmaps of a node in which the lower corner of a row will be looked up."""
    for t in range(np.uint64(tests[node]), np.uint64(tests[node + ONE])):
        bucket = find_bucket(low[row, np.uint64(attribute[t])], base[t], scale[t], size[t])
        start = np.uint64(offset[t] + bucket * WORDS)
        prefetch_words(sets, start)
        prefetch_words(sets, start + _LINE)


@kernel(inline="always")
def _write_set_starts(
    low: Any, high: Any, row: Any, first: Any, last: Any, attribute: Any, base: Any, scale: Any,
    size: Any, offset: Any, set_starts: Any,
) -> Any:  # fmt: skip
    """Write the positions in `sets` of the bitmaps for both corners of a row; return their number.

    There is one bitmap per corner for each of the tests from `first` to `last` - 1.
    """
    count = np.uint64(0)
    for t in range(first, last):
        k = np.uint64(attribute[t])
        bucket = find_bucket(low[row, k], base[t], scale[t], size[t])
        set_starts[count] = np.uint64(offset[t] + bucket * WORDS)
        count += ONE
        if high is not None:
            bucket = find_bucket(high[row, k], base[t], scale[t], size[t])
            set_starts[count] = np.uint64(offset[t] + bucket * WORDS)
            count += ONE
    return count


@kernel
def _admits_keys(
    low: Any, high: Any, low_keys: Any, high_keys: Any, row: Any, query_row: Any, codes: Any,
    ordinal: Any, ends: Any, end_starts: Any, sparse: Any, odd: Any, odd_before: Any,
) -> Any:  # fmt: skip
    """Return whether the keys of a row are within the ends of a box.

    Keys are compared only on attributes on which row and box have the same odd code. `query_row` is
    the query of the row: its keys are `low_keys[query_row]` and `high_keys[query_row]`.
    """
    width = low.shape[1]
    for k in range(width):
        lower, upper, code = codes[ordinal, k], codes[ordinal, width + k], low[row, k]
        if code == lower and lower & 1:
            end = _read_end(ends, end_starts, sparse, odd, odd_before, ordinal, k)
            if low_keys[query_row, k] < end:
                return False
        if high is not None:
            code = high[row, k]
        if code == upper and upper & 1:
            end = _read_end(ends, end_starts, sparse, odd, odd_before, ordinal, width + k)
            if high_keys[query_row, k] > end:
                return False
    return True


@kernel
def _read_end(
    ends: Any, end_starts: Any, sparse: Any, odd: Any, odd_before: Any, ordinal: Any, column: Any
) -> Any:
    """Return the stored end of a box in a column of codes; the code in this column must be odd."""
    start, sparse_row = end_starts[column], sparse[column]
    if sparse_row < 0:
        return ends[start + np.int64(ordinal)]
    word, bit = ordinal >> np.uint64(6), ordinal & np.uint64(63)
    earlier = count_bits(odd[sparse_row, word] & ((ONE << bit) - ONE))
    return ends[start + np.int64(odd_before[sparse_row, word]) + np.int64(earlier)]


@kernel
def descend_overlapping(
    low: NDArray[np.uint16], high: NDArray[np.uint16], rows: NDArray[np.int32],
    starts: NDArray[np.int64], children: NDArray[np.int64], tests: NDArray[np.int64],
    attribute: NDArray[np.int32], base: NDArray[np.int32], scale: NDArray[np.int32],
    size: NDArray[np.int32], offset: NDArray[np.int64], sets: NDArray[np.uint64],
    state: NDArray[np.uint64], found_children: NDArray[np.int32], found_rows: NDArray[np.int32],
) -> int:  # fmt: skip
    """Write the pairs of a child and a row such that a box below the child may overlap the row.

    The arguments and the result are those of `descend`.
    """
    words, met = np.empty(WORDS, np.uint64), np.empty(WORDS, np.uint64)
    found_count, max_found_count = np.uint64(0), np.uint64(len(found_rows)) - _CHILDREN
    node, i = state[0], state[1]
    while node < np.uint64(len(children) - 1):
        while i < np.uint64(starts[node + ONE]):
            if found_count > max_found_count:
                state[0], state[1] = node, i
                return np.int64(found_count)
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
                word, first_child = words[w], np.uint64(children[node]) + w * _SIXTY_FOUR
                while word:
                    found_children[found_count], found_rows[found_count] = (
                        first_child + lowest_bit(word),
                        row,
                    )
                    found_count += ONE
                    word &= word - ONE
        node += ONE
    state[0], state[1] = node, i
    return np.int64(found_count)
