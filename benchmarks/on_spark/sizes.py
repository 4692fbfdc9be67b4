"""How many of everything is measured: the published numbers, or all of them divided for a test."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["SHRINK", "Sizes"]

SHRINK = "COVEY_SPARK_MATCH_SHRINK"  # by how much numbers are divided; for tests only
_LEAST = 200


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of subscriptions and of events. The names of results speak of the published ones."""

    few: int = 100_000
    stored: int = 1_000_000
    many: int = 10_000_000
    events: int = 5_000_000
    checked: int = 200  # events that Spark joins with all subscriptions, whatever their number

    swept_events: int = 1_000_000  # with which bins are chosen
    joined_events: int = 2_000_000  # for the best join on bins
    looped_events: int = 10_000  # for the nested loop

    searches: int = 8_000_000
    ads: int = 700_000
    checked_ads: int = 100_000  # on which Spark's `where` is asked

    balls: int = 200_000
    vectors: int = 100_000
    multiplied: int = 16_384  # of them, for the matrix product
    looped_vectors: int = 40

    events_before: int = 1_000_000  # memory is compared after so many,
    events_after: int = 10_000_000  # and so many

    def divided(self, by: int) -> Sizes:
        """So much less of everything, where that is still enough."""
        return Sizes(*(_divided(getattr(self, field.name), by) for field in fields(self)))


def _divided(number: int, by: int) -> int:
    return max(min(number, _LEAST), number // by)
