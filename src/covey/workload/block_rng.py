"""Random rows that are the same whatever the portions they are drawn in.

Rows come in blocks. Each block has a generator of its own, which depends on the seed, the purpose
and the number of the block; a portion that ends inside a block draws all of it and keeps a part.
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


def make_generator(seed: int, purpose: str, *, block: int = 0) -> np.random.Generator:
    """Random numbers for one purpose, independent of those for any other.

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
    """Rows `start` to `stop`, block by block and at least once (for no rows, with no rows).

    `draw_block` gives arrays of BLOCK_ROWS rows and uses no other randomness than the generator.

    >>> draw = lambda random: {"x": random.random(BLOCK_ROWS)}
    >>> parts = [p["x"] for p in draw_blocks(8000, 9000, seed=1, purpose="events", draw_block=draw)]
    >>> [len(part) for part in parts]
    [192, 808]
    """
    if not 0 <= start <= stop:
        raise CoveyError(f"no rows from {start} to {stop}: 0 ≤ start ≤ stop")
    for block in range(start // BLOCK_ROWS, max(start // BLOCK_ROWS + 1, -(-stop // BLOCK_ROWS))):
        first = block * BLOCK_ROWS
        kept = slice(max(start - first, 0), min(stop - first, BLOCK_ROWS))
        drawn = draw_block(make_generator(seed, purpose, block=block))
        yield {name: array[kept] for name, array in drawn.items()}
