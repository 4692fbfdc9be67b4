"""Tables after a crash: made again from the store that has the subscriptions."""

from __future__ import annotations

from typing import Any

import numpy as np

from covey.errors import ValueRefused
from covey.geometry.ranges import Ranges
from covey.store import Snapshot
from covey.table.strategies import Choice
from covey.table.table import Table

__all__ = ["restored"]


def restored(snapshot: Snapshot, known: Any, strategy: Choice = "exact") -> tuple[Table, Any]:
    """A table of all subscriptions in a snapshot, and the steps for a link that knows `known`.

    `known` is what the other side of the link has, as it says itself: numbers of regions, or ranges
    of cells. Who applies changes to a store first, then to the table, and tells a subscriber only
    when all steps are done, loses nothing whenever it dies. Cost: adding all of them; numbers are
    new, so all that is advertised is advertised again, before what was known is withdrawn.
    """
    if strategy == "hilbert" and len(known):
        raise ValueRefused(
            "ranges of cells mean something in their grid only: give a function that makes Cells "
            "with the grid that the table had"
        )
    first = 0 if isinstance(known, Ranges) else int(np.max(known, initial=-1)) + 1
    table = Table(snapshot.space, strategy, first)
    for part in snapshot.parts:
        owned = part.live()
        table.add(owned.ids.arrow().to_pylist(), owned.regions, owned.of)
    return table, table.catch_up(known)
