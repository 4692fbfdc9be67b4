"""Faults of a simulated network: the probabilities that packets are lost or duplicated."""

from __future__ import annotations

from dataclasses import dataclass

from covey.errors import InvalidArgumentError

__all__ = ["Faults"]


@dataclass(frozen=True, slots=True)
class Faults:
    """Probabilities that a packet is lost or duplicated.

    In a network with `Faults`, packets are also reordered, even if both probabilities are 0.

    Raises:
        InvalidArgumentError: a value is not a probability, or all packets would be lost.

    >>> Faults(loss_probability=0.1).duplicate_probability
    0.0
    """

    loss_probability: float = 0.0
    duplicate_probability: float = 0.0

    def __post_init__(self) -> None:
        """Raise InvalidArgumentError unless both values are in their ranges."""
        if not (0 <= self.loss_probability < 1 and 0 <= self.duplicate_probability <= 1):
            raise InvalidArgumentError(
                "loss_probability must be at least 0 and less than 1, and duplicate_probability "
                f"from 0 to 1, got {self.loss_probability} and {self.duplicate_probability}"
            )
