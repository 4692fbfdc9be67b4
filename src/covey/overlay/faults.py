"""What a simulated network does to packets."""

from __future__ import annotations

from dataclasses import dataclass

from covey.errors import ValueRefused

__all__ = ["Faults"]


@dataclass(frozen=True, slots=True)
class Faults:
    """Chances that a packet is lost, or arrives twice; packets overtake each other anyway.

    >>> Faults(lost=0.1).twice
    0.0
    """

    lost: float = 0.0
    twice: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.lost < 1 and 0 <= self.twice <= 1):
            raise ValueRefused(
                f"no faults with lost={self.lost}, twice={self.twice}: 0 ≤ lost < 1, 0 ≤ twice ≤ 1"
            )
