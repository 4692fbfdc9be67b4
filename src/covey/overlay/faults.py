"""What a simulated network does to packets."""

from __future__ import annotations

from dataclasses import dataclass

from covey.errors import InvalidArgumentError

__all__ = ["Faults"]


@dataclass(frozen=True, slots=True)
class Faults:
    """Chances that a packet is lost, or arrives twice; packets overtake each other anyway.

    >>> Faults(loss_probability=0.1).duplicate_probability
    0.0
    """

    loss_probability: float = 0.0
    duplicate_probability: float = 0.0

    def __post_init__(self) -> None:
        if not (0 <= self.loss_probability < 1 and 0 <= self.duplicate_probability <= 1):
            raise InvalidArgumentError(
                f"no faults with loss_probability={self.loss_probability}, "
                f"duplicate_probability={self.duplicate_probability}: "
                "0 ≤ loss_probability < 1, 0 ≤ duplicate_probability ≤ 1"
            )
