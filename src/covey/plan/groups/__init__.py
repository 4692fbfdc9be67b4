"""Groups of equal subscribers, and filters in cells: what planners compute with.

Two subscribers are in one group if they want the same box and may be served by the same leaves.
The cost of planning then grows with the number of different subscribers, not with their number.
The ends of all boxes cut each axis of event space, so that boxes become small integers and
containment is exact; with too many ends, boxes are rounded outward, or inward for bounds.

Modules, in the order in which data passes through them:

- `leaf_sets`: sets of leaves as rows of bits: which are near enough, and which filters cover.
- `event_grid`: `EventGrid`, boxes as ranges of cells, and the bandwidth measure of cells.
- `demand_groups`: `DemandGroups`, the groups of a problem: box classes, leaf sets and sizes.
- `filter_state`: filters in cells while they change; conversion to and from `BrokerFilters`.
- `assignment_counts`: how many subscribers of each group each leaf serves; filters fitted to it.
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
