"""Strategies by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from covey.errors import ValueRefused
from covey.index import Hybrid, Projected, Segment
from covey.table.covering import Covering
from covey.table.hilbert import Cells
from covey.table.kept import Kept
from covey.table.strategy import Strategy

__all__ = ["STRATEGIES", "Choice", "chosen"]

Choice = str | Callable[[Kept], Strategy]


def _cells(kept: Kept) -> Strategy:
    return Cells()


STRATEGIES: dict[str, Callable[[Kept], Strategy]] = {
    "exact": partial(Covering, build=Segment.build),
    "projection": partial(Covering, build=Projected.build),
    "hybrid": partial(Covering, build=Hybrid.build),
    "hilbert": _cells,
}
"""How each is made, over the regions that a table keeps."""


def chosen(choice: Choice, kept: Kept) -> Strategy:
    """A strategy by its name, or what a function makes."""
    if not isinstance(choice, str):
        return choice(kept)
    if choice not in STRATEGIES:
        raise ValueRefused(f"no strategy {choice!r}: there are {', '.join(STRATEGIES)}")
    return STRATEGIES[choice](kept)
