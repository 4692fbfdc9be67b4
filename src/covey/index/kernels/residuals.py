"""Exact verification of residual constraints: intervals and lists of keys, and rules on tags.

Each kernel takes pairs of an event and a constraint that boxes of codes could not decide. The
result is that of `Scalars.contains` or `Tags.contains`, computed on integers instead of keys and
tokens.
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
    """Return for each i whether rule `rule_rows[i]` admits the tokens of event `event_rows[i]`.

    `numbers` has the token numbers of all events, and `list_offsets` the start of the list of each
    event: a number from 0 on is a stored token, -1 is a token that no rule contains, and -2 is
    null. `valid` is false for an event without a list. The other arrays are the fields of a batch
    of rules (`Tags`), with token numbers instead of tokens.
    """
    is_admitted = np.empty(len(event_rows), np.bool_)
    for i in range(len(event_rows)):
        event, rule = event_rows[i], rule_rows[i]
        if not valid[event]:
            is_admitted[i] = states[rule] & 1
            continue
        event_tokens = numbers[list_offsets[event] : list_offsets[event + 1]]
        is_true = states[rule] & 2 != 0
        for group in range(group_offsets[rule], group_offsets[rule + 1]):
            is_true &= _have_common(
                tokens[token_offsets[group] : token_offsets[group + 1]], event_tokens
            )
        is_true &= not _have_common(
            forbidden[forbidden_offsets[rule] : forbidden_offsets[rule + 1]], event_tokens
        )
        if whole[rule] or bounded[rule]:
            allowed = only[only_offsets[rule] : only_offsets[rule + 1]]
            for number in event_tokens:
                if number == -2:
                    is_true &= not whole[rule]
                elif bounded[rule]:
                    is_true &= _have_common(allowed, np.array([number]))
        is_admitted[i] = is_true
    return is_admitted


@kernel
def _have_common(left: NDArray[np.int64], right: NDArray[np.int64]) -> bool:
    """Return whether two lists have a number in common."""
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
    """Return for each i whether constraint `constraint_rows[i]` admits event `event_rows[i]`.

    `keys` has the integer key of each event; `valid` is false for null. The other arrays are the
    fields of a batch of constraints (`Scalars`) with integer keys; `starts` and `values` are its
    lists.
    """
    is_admitted = np.empty(len(event_rows), np.bool_)
    for i in range(len(event_rows)):
        event, constraint = event_rows[i], constraint_rows[i]
        if not valid[event]:
            is_admitted[i] = nulls[constraint]
            continue
        key = keys[event]
        is_listed = False
        for value in values[starts[constraint] : starts[constraint + 1]]:
            is_listed |= value == key
        inside = lower[constraint] <= key <= upper[constraint]
        is_admitted[i] = inside and (
            listed[constraint] == 0 or is_listed == (listed[constraint] > 0)
        )
    return is_admitted
