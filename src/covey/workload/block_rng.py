"""Random rows that do not depend on which other rows are drawn in the same call.

Rows are drawn in blocks. Each block has its own generator, which depends on the seed, the purpose
and the number of the block. If the requested rows begin or end inside a block, the whole block is
drawn and sliced.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covey.errors import CoveyError

__all__ = ["BLOCK_ROWS", "Columns", "draw_blocks", "make_generator"]

BLOCK_ROWS = 8192

Columns = Mapping[str, NDArray[Any]]
"""Drawn arrays by name, with a row for each subscription or event."""


def make_generator(seed: int, purpose: str, *, block: int = 0) -> np.random.Generator:
    """Return the random generator for a seed, a purpose and a block.

    Generators that differ in one of these return independent numbers.

    >>> events, subscriptions = make_generator(1, "events"), make_generator(1, "subscriptions")
    >>> float(events.random()) == float(subscriptions.random())
    False
    """
    return np.random.default_rng([seed, zlib.crc32(purpose.encode()), block])


def draw_blocks(
    start: int,
    stop: int,
    seed: int,
    purpose: str,
    draw_block: Callable[[np.random.Generator], Columns],
) -> Iterator[Columns]:
    """Yield rows `start` to `stop` (excluded), block by block, as arrays by name.

    If `start` equals `stop`, a single block without rows is yielded.

    Args:
        start: first row.
        stop: row after the last.
        seed: seed of the workload.
        purpose: name of what is drawn, such as "alerts events".
        draw_block: function from a generator to arrays of `BLOCK_ROWS` rows by name; it must not
            use any other source of randomness.

    Raises:
        CoveyError: `start` is negative, or above `stop`.

    >>> draw = lambda random: {"x": random.random(BLOCK_ROWS)}
    >>> blocks = draw_blocks(8000, 9000, seed=1, purpose="events", draw_block=draw)
    >>> [len(block["x"]) for block in blocks]
    [192, 808]
    """
    if not 0 <= start <= stop:
        raise CoveyError(f"rows must satisfy 0 ≤ start ≤ stop, got rows from {start} to {stop}")
    for block in range(start // BLOCK_ROWS, max(start // BLOCK_ROWS + 1, -(-stop // BLOCK_ROWS))):
        first = block * BLOCK_ROWS
        rows = slice(max(start - first, 0), min(stop - first, BLOCK_ROWS))
        columns = draw_block(make_generator(seed, purpose, block=block))
        yield {name: array[rows] for name, array in columns.items()}
