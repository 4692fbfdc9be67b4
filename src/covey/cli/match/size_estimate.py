"""Estimate of the number of matches, from a sample of events, before all events are matched.

A few broad subscriptions can make the result larger than the disk. So the command asks before it
writes a very large result, or ends with an error if there is no terminal to ask on.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from covey.errors import InvalidArgumentError

if TYPE_CHECKING:
    from covey.spark import MatcherModel

__all__ = ["MAX_UNCONFIRMED_MATCHES", "MatchEstimate", "confirm_size", "estimate_matches"]

MAX_UNCONFIRMED_MATCHES = 20_000_000
"""Number of matches above which the command asks for confirmation."""

_SAMPLE_SIZE, _SAMPLE_SEED = 200, 0


@dataclass(frozen=True, slots=True)
class MatchEstimate:
    """Number of events, and the estimated number of their matches; None if it is not estimated."""

    events: int
    matches: int | None = None


def estimate_matches(
    model: MatcherModel, events: DataFrame, event_count: int, lists_column: str
) -> MatchEstimate:
    """Estimate the number of matches from a sample of about 200 events.

    Nothing is estimated if at most 20 million matches are possible at all.
    """
    if event_count * model.numSubscriptions <= MAX_UNCONFIRMED_MATCHES:
        return MatchEstimate(event_count)
    sample = events.sample(min(1.0, _SAMPLE_SIZE / event_count), _SAMPLE_SEED)
    counts = model.transform(sample).agg(F.count(F.lit(1)), F.sum(F.size(lists_column)))
    [(sample_events, matches)] = counts.collect()
    per_event = (matches or 0) / max(1, sample_events)
    return MatchEstimate(event_count, round(per_event * event_count))


def confirm_size(estimate: MatchEstimate) -> None:
    """Ask the user whether to write a result, if the estimate is more than 20 million matches.

    Raises:
        InvalidArgumentError: the answer is no, or there is no terminal to ask on.
    """
    if estimate.matches is None or estimate.matches <= MAX_UNCONFIRMED_MATCHES:
        return
    per_event = estimate.matches / max(1, estimate.events)
    size = (
        f"about {estimate.matches:,} matches, {per_event:,.0f} for each of "
        f"{estimate.events:,} events"
    )
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise InvalidArgumentError(
            f"the result would be very large ({size}): write all of them with --yes, at most N "
            "rows with --limit N, or narrow the subscriptions that `covey doctor` calls too broad"
        )
    if not typer.confirm(f"The result is very large ({size}). Write it?", err=True):
        raise InvalidArgumentError(
            "nothing was written: write at most N rows with --limit N, or narrow the subscriptions "
            "that `covey doctor` calls too broad"
        )
