"""Sizes of the benchmark: the published numbers, or smaller ones for a test."""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["SHRINK", "Sizes"]

SHRINK = "COVEY_SPARK_MATCH_SHRINK"  # environment variable: divisor of all sizes; for tests only
_LEAST = 200  # no size is divided below this


@dataclass(frozen=True, slots=True)
class Sizes:
    """Numbers of subscriptions and events; the defaults are the published sizes."""

    few: int = 100_000
    stored: int = 1_000_000
    many: int = 10_000_000
    events: int = 5_000_000
    checked: int = 200  # events that Spark joins with all subscriptions of a case

    swept_events: int = 1_000_000  # for the choice of bins
    joined_events: int = 2_000_000  # for the best join on bins
    looped_events: int = 10_000  # for the nested loop

    searches: int = 8_000_000
    ads: int = 700_000
    checked_ads: int = 100_000  # for the comparison with Spark's `where`

    balls: int = 200_000
    vectors: int = 100_000
    multiplied: int = 16_384  # of these vectors, for the matrix product
    looped_vectors: int = 40  # of these vectors, for the nested loop

    events_before: int = 1_000_000  # of the first run whose memory is compared
    events_after: int = 10_000_000  # of the second run

    def divided(self, by: int) -> Sizes:
        """Return sizes divided by `by`, but not below `_LEAST`."""
        return Sizes(*(_divided(getattr(self, field.name), by) for field in fields(self)))


def _divided(number: int, by: int) -> int:
    return max(min(number, _LEAST), number // by)
