"""Strategies by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.index import Hybrid, Projected, Segment
from covey.table.covering import Covering
from covey.table.hilbert import Cells
from covey.table.kept import Kept
from covey.table.strategy import Strategy

__all__ = ["STRATEGIES", "Choice", "chosen"]

Choice = str | Callable[[Kept], Strategy]


def _cells(kept: Kept) -> Strategy:
    return Cells()


def _projections(kept: Kept) -> Strategy:
    """All indexes share their directions, so that what is asked is projected once."""
    shared: list[Projected] = []  # the first one

    def build(regions: Regions) -> Projected:
        if not shared or not shared[0].shadows.fit(regions):
            shared[:] = [Projected.build(regions)]
            return shared[0]
        return Projected.build(regions, shadows=shared[0].shadows)

    return Covering(kept, build)


STRATEGIES: dict[str, Callable[[Kept], Strategy]] = {
    "exact": partial(Covering, build=Segment.build),
    "projection": _projections,
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
