"""What holds for every workload."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from covey.errors import CoveyError
from covey.geometry import Regions
from covey.space import Events
from covey.space.types import from_arrow
from covey.workload import by_name, names
from covey.workload.rows import BLOCK
from tests.workload.same import assert_same_regions

BORDERS = [BLOCK - 5, BLOCK - 4, BLOCK, BLOCK, BLOCK + 1, BLOCK + 7, 2 * BLOCK + 3]


@pytest.fixture(params=names())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def portions() -> list[tuple[int, int]]:
    return list(pairwise(BORDERS))


def test_portions_change_no_region(name: str) -> None:
    workload = by_name(name)
    whole = workload.regions(BORDERS[0], BORDERS[-1])
    assert len(whole) == BORDERS[-1] - BORDERS[0]
    assert_same_regions(Regions.concat([workload.regions(*p) for p in portions()]), whole)


def test_portions_change_no_predicate(name: str) -> None:
    workload, short = by_name(name), portions()[:-1]
    whole = workload.predicates(short[0][0], short[-1][1])
    assert [text for p in short for text in workload.predicates(*p)] == whole
    assert len(whole) == short[-1][1] - short[0][0]


def test_portions_change_no_event(name: str) -> None:
    workload = by_name(name)
    whole = workload.events(BORDERS[0], BORDERS[-1])
    assert pa.concat_batches([workload.events(*p) for p in portions()]).equals(whole)


def test_no_rows_are_rows_too(name: str) -> None:
    workload = by_name(name)
    assert (len(workload.regions(9, 9)), workload.predicates(9, 9)) == (0, [])
    assert workload.events(9, 9).num_rows == 0


def test_regions_are_in_their_one_spelling(name: str) -> None:
    regions = by_name(name).regions(0, 500)
    tidied, kept = Regions.of(regions.space, len(regions), regions.constraints)
    assert len(kept) == len(regions)  # none is empty
    assert_same_regions(tidied, regions)
    for given in regions.constraints.values():
        assert (np.diff(given.rows) > 0).all()
        rows = np.arange(0, len(given.batch), 7)
        once_more = given.batch.take(rows).intersect(given.batch.take(rows))  # type: ignore[arg-type]
        again = {"a": type(given)(rows, once_more)}
        before = {"a": type(given)(rows, given.batch.take(rows))}
        assert_same_regions(Regions(regions.space, 500, again), Regions(regions.space, 500, before))


def test_seeds_differ(name: str) -> None:
    one, other = by_name(name, seed=1), by_name(name, seed=2)
    assert one.predicates(0, 5) != other.predicates(0, 5)
    assert not one.events(0, 5).equals(other.events(0, 5))
    assert by_name(name, seed=1).predicates(0, 5) == one.predicates(0, 5)


def test_events_lie_in_the_space(name: str) -> None:
    workload = by_name(name)
    events = workload.events(0, 10)
    assert [a.name for a in workload.space] == events.schema.names
    for attribute in workload.space:
        arrow = from_arrow(events.schema.field(attribute.name).type)
        assert attribute.type.name == arrow.name
    assert set(Events.from_arrow(events, workload.space).columns) == set(events.schema.names)


def test_the_name_finds_it(name: str) -> None:
    assert by_name(name).name == name


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(CoveyError, match=r"'alert'.*uniform-boxes-2.*alerts.*watches"):
        by_name("alert")


def test_rows_count_from_zero_upwards() -> None:
    with pytest.raises(CoveyError, match="from 5 to 3"):
        by_name("alerts").regions(5, 3)
