"""Concatenated routing updates have the same effect as their sequence."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from covey import Space, parse
from covey.routing import RegionUpdate

SPACE = Space.from_types({"x": pa.int32()})
REGIONS = parse(SPACE, [f"x = {n}" for n in range(5)]).regions


def steps(advertised: list[int], withdrawn: list[int]) -> RegionUpdate:
    numbers = np.array(advertised, np.int64)
    return RegionUpdate(REGIONS.take(numbers), numbers, np.array(withdrawn, np.int64))


def apply_update(known: set[int], update: RegionUpdate) -> set[int]:
    advertised, withdrawn = set(update.advertised.tolist()), set(update.withdrawn.tolist())
    assert not advertised & known
    assert withdrawn <= known | advertised
    return (known | advertised) - withdrawn


@given(st.lists(st.sets(st.integers(0, 4)), min_size=2, max_size=6))
def test_a_concatenated_update_equals_its_parts(known: list[set[int]]) -> None:
    parts = [steps(sorted(then - now), sorted(now - then)) for now, then in pairwise(known)]
    whole = RegionUpdate.concat(parts)
    assert apply_update(known[0], whole) == known[-1]
    assert len(whole.regions) == len(whole.advertised)
