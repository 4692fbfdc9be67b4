"""Groups of equal subscribers, and filters in cells: the form in which planners compute.

Two subscribers are in one group if they want the same box and may be served by the same leaves. The
cost of planning then grows with the number of groups, not with the number of subscribers. The ends
of all boxes divide each axis of event space into cells, so that boxes become rows of small integers
and containment is exact. If an axis has too many ends, boxes are rounded outward, or inward for
lower bounds.

Modules, in the order in which data passes through them:

- `leaf_sets`: sets of leaves as rows of bits: for each subscriber the leaves that may serve it,
  and those of them whose filter covers its box.
- `event_grid`: `EventGrid`, boxes as ranges of cells, and the bandwidth measure of cells.
- `demand_groups`: `DemandGroups`, the groups of a problem: box classes, leaf sets and sizes.
- `filter_state`: filters in cells while planners change them; conversion to and from
  `BrokerFilters`.
- `assignment_counts`: the number of subscribers of each group that each leaf serves; filters fitted
  to them.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.plan.groups.leaf_sets import Bits, find_covering_leaves, find_leaves_within_delay

__all__ = [
    "Bits",
    "find_covering_leaves",
    "find_leaves_within_delay",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "Bits": "leaf_sets",
        "find_covering_leaves": "leaf_sets",
        "find_leaves_within_delay": "leaf_sets",
    },
)
