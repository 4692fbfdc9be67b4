"""Strategies by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from covey.errors import ValueRefused
from covey.geometry import Regions
from covey.index import Hybrid, Projected, Segment
from covey.index.alike import Alike
from covey.index.shadows import Shadows
from covey.table.covering import FEW, Covering
from covey.table.hilbert import Cells
from covey.table.kept import Kept
from covey.table.strategy import Strategy

__all__ = ["STRATEGIES", "Choice", "chosen", "exact", "hilbert", "hybrid", "projection"]

Choice = str | Callable[[Kept], Strategy]


def exact(kept: Kept, few: int = FEW) -> Strategy:
    """The index of the core. All indexes of the table share their codes."""
    return Covering(kept, partial(Segment.build, alike=Alike()), few)


def projection(kept: Kept, few: int = FEW) -> Strategy:
    """Random projections. All indexes share their directions: what is asked is projected once."""
    drawn: list[Shadows] = []

    def build(regions: Regions) -> Projected:
        known = drawn[0] if drawn and drawn[0].fit(regions) else None
        made = Projected.build(regions, shadows=known)
        drawn[:] = [made.shadows]
        return made

    return Covering(kept, build, few)


def hybrid(kept: Kept, few: int = FEW) -> Strategy:
    """The most selective attributes indexed, the rest verified."""
    return Covering(kept, Hybrid.build, few)


def hilbert(kept: Kept) -> Strategy:
    """Ranges of cells."""
    return Cells()


STRATEGIES: dict[str, Callable[[Kept], Strategy]] = {
    one.__name__: one for one in (exact, projection, hybrid, hilbert)
}
"""How each is made, over the regions that a table keeps."""


def chosen(choice: Choice, kept: Kept) -> Strategy:
    """A strategy by its name, or what a function makes."""
    if not isinstance(choice, str):
        return choice(kept)
    if choice not in STRATEGIES:
        raise ValueRefused(f"no strategy {choice!r}: there are {', '.join(STRATEGIES)}")
    return STRATEGIES[choice](kept)
