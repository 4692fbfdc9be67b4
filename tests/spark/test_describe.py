"""Zone splits use the regions of all staged segments, read back from the store."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from covey import Space, parse
from covey.spark.zones.loader import profile_staged
from covey.store import Changes, StagedSegment, Store


def test_all_regions_of_staged_segments_are_counted(tmp_path: Path) -> None:
    space = Space.from_types({"price": pa.float64()})
    predicates = parse(space, ["price < 5", "price > 7 OR price = 6", "price = 1"])
    location = str(tmp_path / "store")
    with Store.create(location, space) as store:
        staged = store.stage(Changes(np.arange(3), predicates.regions, predicates.predicate_rows))
    assert staged is not None
    # the fields that a task reports
    reported = StagedSegment(staged.file, staged.size_bytes, staged.subscriptions)
    profile = profile_staged(location, space, [reported])
    assert profile.region_count == len(predicates.regions) == 4
    assert profile.constrained_attributes == ("price",)
