"""A fixed set of regions made small: covering, subsumption by a union, merging into filters."""

from covey.compact.compaction import Budget, Compaction, Standing, compact
from covey.compact.summary import Summary
from covey.compact.workers import Workers

__all__ = ["Budget", "Compaction", "Standing", "Summary", "Workers", "compact"]
