"""Operations on words of 64 bits: sets of up to 1,024 children, and four codes at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from covey._jit import kernel

__all__ = [
    "FREE",
    "LAST",
    "ONE",
    "ONES",
    "WORDS",
    "compare_codes",
    "count_bits",
    "intersect_sets",
    "lowest_bit",
    "prefetch_words",
]

WORDS = 16
"""Number of words of a set of children."""
LAST = 0x7FFE
"""Code of an upper end that is the highest key of the domain."""
ONE = np.uint64(1)
ONES = np.uint64(0x0001_0001_0001_0001)
"""The number 1 in each of the four codes of a word."""
FREE = np.uint64(0x8000_8000_8000_8000)
"""The highest bit of each of the four codes of a word; no code uses this bit."""


@intrinsic
def lowest_bit(context: Any, word: Any) -> Any:
    """Return the position of the lowest bit of a word that is set; the word must not be 0."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


@intrinsic
def count_bits(context: Any, word: Any) -> Any:
    """Return the number of bits of a word that are set."""

    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def prefetch_words(context: Any, array: Any, index: Any) -> Any:
    """Prefetch the cache line that contains `array[index]`."""

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = make_array(signature.args[0])(target, builder, arguments[0]).data
        number, address = ir.IntType(32), ir.IntType(8).as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [address, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [address], kind)
        read, second_level, is_data = (ir.Constant(number, value) for value in (0, 2, 1))
        word = builder.bitcast(builder.gep(data, [arguments[1]]), address)
        builder.call(prefetch, [word, read, second_level, is_data])
        return target.get_dummy_value()

    return types.void(array, types.uint64), generate


@intrinsic
def intersect_sets(context: Any, sets: Any, starts: Any, count: Any, words: Any) -> Any:
    """Write the intersection of some sets to `words`, and return a mask of its words.

    Set i, for i below `count`, has `WORDS` words from `sets[starts[i]]` on. Bit w of the mask is
    set if word w of the intersection is not zero. The intersection is computed in vector registers,
    because plain loops, which use memory, take three times as long.
    """

    def generate(target: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        all_sets, all_starts, answer = (
            make_array(signature.args[i])(target, builder, arguments[i]).data for i in (0, 1, 3)
        )
        vector, number = ir.VectorType(ir.IntType(64), WORDS), ir.IntType(64)

        def loaded(which: Any) -> Any:
            start = builder.load(builder.gep(all_starts, [which]))
            address = builder.bitcast(builder.gep(all_sets, [start]), vector.as_pointer())
            return builder.load(address, align=8)

        met = cgutils.alloca_once(builder, vector)
        builder.store(loaded(ir.Constant(number, 0)), met)
        step = ir.Constant(number, 1)
        with cgutils.for_range_slice(builder, step, arguments[2], step, number) as (which, _):
            builder.store(builder.and_(builder.load(met), loaded(which)), met)
        result = builder.load(met)
        builder.store(result, builder.bitcast(answer, vector.as_pointer()), align=8)
        is_set = builder.icmp_unsigned("!=", result, ir.Constant(vector, [0] * WORDS))
        return builder.zext(builder.bitcast(is_set, ir.IntType(WORDS)), number)

    return types.uint64(sets, starts, types.uint64, words), generate


@kernel(inline="always")
def compare_codes(low: Any, high: Any, lower: Any, upper: Any) -> Any:
    """Compare four codes of a row with those of a box; return two words.

    In the first word, the free bit of a code is set if the code is outside the box; in the second
    word, if the code does not decide. `low` and `high` are codes of the corners of the row, `lower`
    and `upper` codes of the box. In the difference (x | FREE) - y, the free bit of a code is set if
    and only if x ≥ y. A code does not decide if it is odd and equal to the code of an end of the
    box, because then key and end are in the same gap between boundaries.
    """
    outside = ~(((low | FREE) - lower) & ((upper | FREE) - high))
    at_lower = ~(((low ^ lower) | FREE) - ONES) & (low << np.uint64(15))
    at_upper = ~(((high ^ upper) | FREE) - ONES) & (high << np.uint64(15))
    return outside & FREE, (at_lower | at_upper) & FREE
