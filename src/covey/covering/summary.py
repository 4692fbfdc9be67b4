"""Summary of a reduction: what each step removed, and the false forwards of its filters."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ReductionSummary"]


@dataclass(frozen=True, slots=True)
class ReductionSummary:
    """Counts of a reduction: regions, subscriptions, and events of a sample.

    Args:
        subscriptions: subscriptions that have a region.
        redundant: subscriptions without an active region.
        regions: all regions.
        equal: regions that are equal to an earlier region.
        covered: regions that another region covers; equal regions are not counted again.
        subsumed: regions within the union of several other regions.
        undecided: active regions for which the limit of subtractions or of candidates was reached.
        perfectly_merged: merges whose hull is the union of the merged boxes.
        imperfectly_merged: all other merges.
        sampled_events: events of the half of the sample that merging did not see.
        matched_events: sampled events that a region contains.
        false_forwards: sampled events that a filter admits and no region contains.
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
        """Number of regions that are neither equal to an earlier region, covered nor subsumed."""
        return self.regions - self.equal - self.covered - self.subsumed

    @property
    def filters(self) -> int:
        """Number of filters after merging."""
        return self.active - self.perfectly_merged - self.imperfectly_merged

    @property
    def false_share(self) -> float:
        """False forwards as a share of the sampled events."""
        return self.false_forwards / max(1, self.sampled_events)

    @property
    def false_share_of_forwarded(self) -> float:
        """False forwards as a share of all sampled events that filters admit."""
        return self.false_forwards / max(1, self.matched_events + self.false_forwards)
