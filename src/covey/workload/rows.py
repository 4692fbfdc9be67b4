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

__all__ = ["BLOCK", "Columns", "columns", "generator"]

BLOCK = 8192

Columns = Mapping[str, NDArray[Any]]


def generator(seed: int, purpose: str, block: int = 0) -> np.random.Generator:
    """Random numbers for one purpose, independent of those for any other.

    >>> float(generator(1, "events").random()) == float(generator(1, "subscriptions").random())
    False
    """
    return np.random.default_rng([seed, zlib.crc32(purpose.encode()), block])


def columns(
    start: int, stop: int, seed: int, purpose: str, draw: Callable[[np.random.Generator], Columns]
) -> Iterator[Columns]:
    """Rows `start` to `stop`, block by block and at least once (for no rows, with no rows).

    `draw` gives arrays of BLOCK rows and uses no other randomness than the generator.

    >>> draw = lambda random: {"x": random.random(BLOCK)}
    >>> parts = [p["x"] for p in columns(8000, 9000, seed=1, purpose="events", draw=draw)]
    >>> [len(part) for part in parts]
    [192, 808]
    """
    if not 0 <= start <= stop:
        raise CoveyError(f"no rows from {start} to {stop}: 0 ≤ start ≤ stop")
    for block in range(start // BLOCK, max(start // BLOCK + 1, -(-stop // BLOCK))):
        first = block * BLOCK
        kept = slice(max(start - first, 0), min(stop - first, BLOCK))
        drawn = draw(generator(seed, purpose, block))
        yield {name: array[kept] for name, array in drawn.items()}
