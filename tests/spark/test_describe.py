"""What zones are cut by: the regions of all prepared segments, whatever the driver was told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from covey import Space, parse
from covey.spark.zones.loader import profile_staged
from covey.store import Changes, StagedSegment, Store


def test_all_regions_are_counted(tmp_path: Path) -> None:
    space = Space.from_types({"price": pa.float64()})
    found = parse(space, ["price < 5", "price > 7 OR price = 6", "price = 1"])
    place = str(tmp_path / "store")
    with Store.create(place, space) as store:
        one = store.stage(Changes(np.arange(3), found.regions, found.predicate_rows))
    assert one is not None
    told = StagedSegment(one.file, one.size_bytes, one.subscriptions)  # as a task's outcome says it
    described = profile_staged(place, space, [told])
    assert described.region_count == len(found.regions) == 4
    assert described.constrained_attributes == ("price",)
