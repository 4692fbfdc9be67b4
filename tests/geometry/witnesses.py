"""Values that include a counterexample to a relation, if one exists.

A set of keys that consists of intervals and lists can be divided into pieces. Each piece begins at
an end, at a listed key, or directly after one; the same is true of differences and intersections of
two sets. Of a list of tags, only the set of tokens matters, and whether it has a null element.
Tokens that no rule names are equivalent, so one such token is enough.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.geometry.scalars import Scalars
from covey.space.keys import Domain
from covey.space.ragged_array import RaggedArray
from covey.space.text_bounds import Below, next_text

TOKENS = ("", "a", "b", "\U0001f600", "named by no rule")


def keys_of_interest(whole: Domain, *rows: tuple[Any, Any, int, list[Any]]) -> list[Any]:
    """Return the first key of each piece into which the ends and lists of rows divide the keys."""
    bounds = [key for lower, upper, _, listed in rows for key in (lower, upper, *listed)]
    keys: list[Any] = []
    for key in bounds:
        if isinstance(key, Below):
            keys += [] if key.text is None else [key.text]
        elif isinstance(key, str):
            keys += [key, next_text(key)]
        else:
            keys += [int(key), int(key) + 1]
    return sorted({key for key in keys if whole.low <= key <= whole.high})


def admitted(batch: Scalars, i: int, keys: list[Any]) -> NDArray[np.bool_]:
    """Return which keys row i admits, and last, whether it admits null."""
    rows = np.full(len(keys) + 1, i)
    column = np.empty(len(keys) + 1, batch.domain.dtype)
    column[:] = [*keys, batch.domain.low]
    return batch.take(rows).contains(column, np.arange(len(rows)) < len(keys))


def lists_of_interest() -> list[list[str | None]]:
    """Return every set of tokens, with and without a null element."""
    sets: list[list[str | None]] = [
        list(c) for n in range(len(TOKENS) + 1) for c in combinations(TOKENS, n)
    ]
    return [*sets, *([*tokens, None] for tokens in sets)]


def as_column(lists: list[list[str | None]]) -> tuple[RaggedArray, NDArray[np.bool_]]:
    """Return lists as a column of events, with null as its last row."""
    return RaggedArray.from_rows([*lists, []]), np.arange(len(lists) + 1) < len(lists)
