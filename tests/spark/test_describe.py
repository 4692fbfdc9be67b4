"""What zones are cut by: the regions of all prepared segments, whatever the driver was told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from covey import Space, parse
from covey.spark.zoning import describe
from covey.store import Changes, Prepared, Store


def test_all_regions_are_counted(tmp_path: Path) -> None:
    space = Space.of({"price": pa.float64()})
    found = parse(space, ["price < 5", "price > 7 OR price = 6", "price = 1"])
    place = str(tmp_path / "store")
    with Store.create(place, space) as store:
        one = store.prepare(Changes(np.arange(3), found.regions, found.of))
    assert one is not None
    told = Prepared(one.file, one.size_bytes, one.subscriptions)  # as a task's outcome says it
    described = describe(place, space, [told])
    assert described.count == len(found.regions) == 4
    assert described.constrained == ("price",)
