"""Assignment of all subscribers to leaves, within the capacity of each leaf.

Filters that were made for a sample cover most other subscribers as they are. This package does the
remaining work for any number of subscribers. If no filter covers a subscriber, the filters from one
leaf up are widened. A maximum flow between leaf sets and leaves then decides which leaves serve the
subscribers of each leaf set, and how many each of them serves. The size of the flow network depends
on the number of different leaf sets, not on the number of subscribers.

Modules, in the order in which data passes through them:

- `leaf_quotas`: frequent leaf sets, the quota of each leaf for each set, and assignment by quotas.
- `max_flow`: the maximum flow behind the quotas, and the smallest load factor that serves all.
- `full_assignment`: `assign_all`, `enforce_capacity`, `relieve_overload`; plans for all
  subscribers.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.plan.capacity.full_assignment import (
        find_all_covering_leaves,
        make_room_for_unassigned,
    )
    from covey.plan.capacity.leaf_quotas import (
        compute_leaf_quotas,
        find_frequent_leaf_sets,
        find_leaf_of_rank,
        map_to_leaf_sets,
    )

__all__ = [
    "compute_leaf_quotas",
    "find_all_covering_leaves",
    "find_frequent_leaf_sets",
    "find_leaf_of_rank",
    "make_room_for_unassigned",
    "map_to_leaf_sets",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "compute_leaf_quotas": "leaf_quotas",
        "find_all_covering_leaves": "full_assignment",
        "find_frequent_leaf_sets": "leaf_quotas",
        "find_leaf_of_rank": "leaf_quotas",
        "make_room_for_unassigned": "full_assignment",
        "map_to_leaf_sets": "leaf_quotas",
    },
)
