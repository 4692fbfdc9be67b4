"""Routing table of one link: which subscriptions are advertised, and which are redundant.

A broker keeps one `RoutingTable` for each link. When subscriptions are added or cancelled, the
table returns an update for the neighbour: what to advertise, then what to withdraw. If the link
applies all updates in their order, the advertised regions or cells contain the regions of all live
subscriptions at every moment.

A strategy decides what is advertised. `CoveringStrategy` advertises regions that no advertised
region covers. `HilbertCellStrategy` advertises the cells of a grid as ranges of positions on
Hilbert's curve.

Modules, in the order in which a subscription passes through them:

- `routing_table`: `RoutingTable`, which maps ids to regions, and is restored from a snapshot.
- `id_spans`: the numbers of the regions of each id.
- `region_log`: all regions by number, in the order of arrival.
- `growable_array`: an array with one value for each region number.
- `strategies`: the protocol of a strategy, and the strategies by name.
- `covering_strategy`: `CoveringStrategy`, for which each region is advertised or has an absorber.
- `dominance`: regions as points, for a fast test whether one region may cover another.
- `recent_buffer`: the newest advertised regions, which are compared one by one.
- `advertised_index`: all advertised regions, in indexes of growing size.
- `cell_strategy`: `HilbertCellStrategy`, which advertises the cells of all regions as ranges.
- `region_ranges`: the ranges of positions of each live region.
- `counted_ranges`: how many ranges contain each position.
- `updates`: `RegionUpdate` and `CellUpdate`, what a link must advertise and withdraw.
- `recommend`: tries each strategy on a sample and recommends one.
- `kernels`: compiled loops.
"""

from covey.routing.recommend import recommend_strategy
from covey.routing.routing_table import AnyRoutingTable, RegionRoutingTable, RoutingTable
from covey.routing.updates import CellUpdate, RegionUpdate

__all__ = [
    "AnyRoutingTable",
    "CellUpdate",
    "RegionRoutingTable",
    "RegionUpdate",
    "RoutingTable",
    "recommend_strategy",
]
