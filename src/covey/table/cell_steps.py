"""What a table of cells tells a link to do, in the order that loses nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from covey.geometry.ranges import Ranges

__all__ = ["CellSteps"]


@dataclass(frozen=True, slots=True)
class CellSteps:
    """Positions to be advertised, all of them, and then positions to be withdrawn.

    >>> one = CellSteps(Ranges.of([0], [9]), Ranges.empty())
    >>> two = CellSteps(Ranges.of([20], [29]), Ranges.of([5], [9]))
    >>> both = CellSteps.concat([one, two])
    >>> list(both.advertised), list(both.withdrawn)
    ([(0, 4), (20, 29)], [])
    """

    advertised: Ranges
    withdrawn: Ranges

    @classmethod
    def nothing(cls) -> CellSteps:
        """Nothing to do."""
        return cls(Ranges.empty(), Ranges.empty())

    @classmethod
    def concat(cls, parts: Sequence[CellSteps]) -> CellSteps:
        """What some steps come to, one after another.

        A position that one advertises and a later one withdraws, or the other way round, is in
        neither set: the link has it, or has it not, as before.
        """
        known, gone = Ranges.empty(), Ranges.empty()
        for part in parts:
            known, gone = (
                (known - part.withdrawn) | (part.advertised - gone),
                (gone - part.advertised) | (part.withdrawn - known),
            )
        return cls(known, gone)

    def __bool__(self) -> bool:
        return bool(len(self.advertised) or len(self.withdrawn))
