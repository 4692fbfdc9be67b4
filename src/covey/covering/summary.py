"""What a reduction removed, step by step, and what its filters let in that nobody wants."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ReductionSummary"]


@dataclass(frozen=True, slots=True)
class ReductionSummary:
    """Counts: of regions and subscriptions, of those that each step removed, of events of a sample.

    A subscription is redundant if none of its regions is active. A region is undecided if it is
    active only because more others would have had to be taken out of it. Events are the half of a
    sample that merging did not see.
    """

    subscriptions: int
    redundant: int
    regions: int
    equal: int
    covered: int
    subsumed: int
    undecided: int
    perfectly_merged: int
    imperfectly_merged: int
    sampled_events: int
    matched_events: int
    false_forwards: int

    @property
    def active(self) -> int:
        """Regions that are neither equal to another, covered nor subsumed."""
        return self.regions - self.equal - self.covered - self.subsumed

    @property
    def filters(self) -> int:
        return self.active - self.perfectly_merged - self.imperfectly_merged

    @property
    def false_share(self) -> float:
        """Of the sample, the events that filters let in and no subscription wants."""
        return self.false_forwards / max(1, self.sampled_events)

    @property
    def false_share_of_forwarded(self) -> float:
        """The same, of all events that filters let in."""
        return self.false_forwards / max(1, self.matched_events + self.false_forwards)
