"""Rules on tags, decided on numbers of tokens."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey.compiled import kernel

__all__ = ["codes_once", "lists_admitted"]


@kernel
def lists_admitted(
    asked: NDArray[np.int64], at: NDArray[np.int64], lists: NDArray[np.int64],
    numbers: NDArray[np.int64], valid: NDArray[np.bool_], states: NDArray[np.uint8],
    groups: NDArray[np.int64], starts: NDArray[np.int64], tokens: NDArray[np.int64],
    bars: NDArray[np.int64], barred: NDArray[np.int64], whole: NDArray[np.bool_],
    bounded: NDArray[np.bool_], mays: NDArray[np.int64], may: NDArray[np.int64],
) -> NDArray[np.bool_]:  # fmt: skip
    """Whether rule `at[i]` admits the list of event `asked[i]`; `Tags.contains` on numbers.

    The numbers of a list are at least 0, -1 for a token that no rule names, -2 for null.
    """
    answer = np.empty(len(asked), np.bool_)
    for i in range(len(asked)):
        event, rule = asked[i], at[i]
        if not valid[event]:
            answer[i] = states[rule] & 1
            continue
        mine = numbers[lists[event] : lists[event + 1]]
        holds = states[rule] & 2 != 0
        for group in range(groups[rule], groups[rule + 1]):
            holds &= _have_common(tokens[starts[group] : starts[group + 1]], mine)
        holds &= not _have_common(barred[bars[rule] : bars[rule + 1]], mine)
        if whole[rule] or bounded[rule]:
            allowed = may[mays[rule] : mays[rule + 1]]
            for number in mine:
                if number == -2:
                    holds &= not whole[rule]
                elif bounded[rule]:
                    holds &= _have_common(allowed, np.array([number]))
        answer[i] = holds
    return answer


@kernel
def _have_common(some: NDArray[np.int64], others: NDArray[np.int64]) -> bool:
    for a in some:
        for b in others:
            if a == b:
                return True
    return False


@kernel
def codes_once(
    starts: NDArray[np.int64], codes: NDArray[np.uint16]
) -> tuple[NDArray[np.int32], NDArray[np.uint16]]:
    """The codes of each list, without 0 and each once, and the list that each belongs to."""
    owners, kept = np.empty(len(codes), np.int32), np.empty(len(codes), np.uint16)
    count = 0
    for i in range(len(starts) - 1):
        first = count
        for code in codes[starts[i] : starts[i + 1]]:
            is_new = code != 0
            for j in range(first, count):
                is_new &= kept[j] != code
            if is_new:
                owners[count], kept[count] = i, code
                count += 1
    return owners[:count], kept[:count]
