"""Values among which there is a counterexample, if there is one at all.

A set of keys made of intervals and lists begins, piece by piece, at an end, at a listed key, or
just after one; so do differences and intersections of two. Lists of tags matter only as sets, with
or without a null element; tokens that no rule names are all alike, so one such token is enough.
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
    """The first keys of all pieces that two or more rows of `Scalars` can be cut into."""
    named = [key for lower, upper, _, listed in rows for key in (lower, upper, *listed)]
    found: list[Any] = []
    for key in named:
        if isinstance(key, Below):
            found += [] if key.text is None else [key.text]
        elif isinstance(key, str):
            found += [key, next_text(key)]
        else:
            found += [int(key), int(key) + 1]
    return sorted({key for key in found if whole.low <= key <= whole.high})


def admitted(batch: Scalars, i: int, keys: list[Any]) -> NDArray[np.bool_]:
    """Which keys row i admits, and last, whether it admits null."""
    rows = np.full(len(keys) + 1, i)
    column = np.empty(len(keys) + 1, batch.domain.dtype)
    column[:] = [*keys, batch.domain.low]
    return batch.take(rows).contains(column, np.arange(len(rows)) < len(keys))


def lists_of_interest() -> list[list[str | None]]:
    """Every set of tokens, with a null element and without."""
    sets: list[list[str | None]] = [
        list(c) for n in range(len(TOKENS) + 1) for c in combinations(TOKENS, n)
    ]
    return [*sets, *([*tokens, None] for tokens in sets)]


def as_column(lists: list[list[str | None]]) -> tuple[RaggedArray, NDArray[np.bool_]]:
    """Lists as a column of events, with null as its last row."""
    return RaggedArray.from_rows([*lists, []]), np.arange(len(lists) + 1) < len(lists)
