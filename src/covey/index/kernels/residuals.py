"""Residual constraints decided exactly: keys with lists, as integers, and rules on tags.

Each kernel takes pairs of an event and a constraint that boxes of codes could not decide, and does
what `contains` of `Scalars` or `Tags` does, on integers.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from covey._jit import kernel

__all__ = ["verify_keys", "verify_tags"]


@kernel
def verify_tags(
    event_rows: NDArray[np.int64], rule_rows: NDArray[np.int64], list_offsets: NDArray[np.int64],
    numbers: NDArray[np.int64], valid: NDArray[np.bool_], states: NDArray[np.uint8],
    group_offsets: NDArray[np.int64], token_offsets: NDArray[np.int64], tokens: NDArray[np.int64],
    forbidden_offsets: NDArray[np.int64], forbidden: NDArray[np.int64], whole: NDArray[np.bool_],
    bounded: NDArray[np.bool_], only_offsets: NDArray[np.int64], only: NDArray[np.int64],
) -> NDArray[np.bool_]:  # fmt: skip
    """Whether rule `rule_rows[i]` admits the list of event `event_rows[i]`; `Tags.contains`.

    The numbers of a list are at least 0, -1 for a token that no rule names, -2 for null.
    """
    answer = np.empty(len(event_rows), np.bool_)
    for i in range(len(event_rows)):
        event, rule = event_rows[i], rule_rows[i]
        if not valid[event]:
            answer[i] = states[rule] & 1
            continue
        mine = numbers[list_offsets[event] : list_offsets[event + 1]]
        holds = states[rule] & 2 != 0
        for group in range(group_offsets[rule], group_offsets[rule + 1]):
            holds &= _have_common(tokens[token_offsets[group] : token_offsets[group + 1]], mine)
        holds &= not _have_common(
            forbidden[forbidden_offsets[rule] : forbidden_offsets[rule + 1]], mine
        )
        if whole[rule] or bounded[rule]:
            allowed = only[only_offsets[rule] : only_offsets[rule + 1]]
            for number in mine:
                if number == -2:
                    holds &= not whole[rule]
                elif bounded[rule]:
                    holds &= _have_common(allowed, np.array([number]))
        answer[i] = holds
    return answer


@kernel
def _have_common(left: NDArray[np.int64], right: NDArray[np.int64]) -> bool:
    for a in left:
        for b in right:
            if a == b:
                return True
    return False


@kernel
def verify_keys(
    event_rows: NDArray[np.int32], constraint_rows: NDArray[np.int64], keys: NDArray[np.int64],
    valid: NDArray[np.bool_], lower: NDArray[np.int64], upper: NDArray[np.int64],
    nulls: NDArray[np.bool_], listed: NDArray[np.int8], starts: NDArray[np.int64],
    values: NDArray[np.int64],
) -> NDArray[np.bool_]:  # fmt: skip
    """Whether constraint `constraint_rows[i]` admits the key of event `event_rows[i]`.

    As `Scalars.contains` decides, on the integers of an encoded column.
    """
    answer = np.empty(len(event_rows), np.bool_)
    for i in range(len(event_rows)):
        event, which = event_rows[i], constraint_rows[i]
        if not valid[event]:
            answer[i] = nulls[which]
            continue
        key = keys[event]
        is_listed = False
        for value in values[starts[which] : starts[which + 1]]:
            is_listed |= value == key
        inside = lower[which] <= key <= upper[which]
        answer[i] = inside and (listed[which] == 0 or is_listed == (listed[which] > 0))
    return answer
