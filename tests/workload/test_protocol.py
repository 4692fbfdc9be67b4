"""Properties of every workload."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from covey.errors import CoveyError
from covey.geometry import Regions
from covey.space import Events
from covey.space.types import type_from_arrow
from covey.workload import create_workload, list_workloads
from covey.workload.block_rng import BLOCK_ROWS
from tests.workload.same import assert_same_regions

BORDERS = [
    BLOCK_ROWS - 5,
    BLOCK_ROWS - 4,
    BLOCK_ROWS,
    BLOCK_ROWS,
    BLOCK_ROWS + 1,
    BLOCK_ROWS + 7,
    2 * BLOCK_ROWS + 3,
]


@pytest.fixture(params=list_workloads())
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def portions() -> list[tuple[int, int]]:
    return list(pairwise(BORDERS))


def test_regions_do_not_depend_on_the_requested_ranges(name: str) -> None:
    workload = create_workload(name)
    whole = workload.generate_regions(BORDERS[0], BORDERS[-1])
    assert len(whole) == BORDERS[-1] - BORDERS[0]
    assert_same_regions(Regions.concat([workload.generate_regions(*p) for p in portions()]), whole)


def test_predicates_do_not_depend_on_the_requested_ranges(name: str) -> None:
    workload, short = create_workload(name), portions()[:-1]
    whole = workload.generate_predicates(short[0][0], short[-1][1])
    assert [text for p in short for text in workload.generate_predicates(*p)] == whole
    assert len(whole) == short[-1][1] - short[0][0]


def test_events_do_not_depend_on_the_requested_ranges(name: str) -> None:
    workload = create_workload(name)
    whole = workload.generate_events(BORDERS[0], BORDERS[-1])
    assert pa.concat_batches([workload.generate_events(*p) for p in portions()]).equals(whole)


def test_empty_ranges_give_empty_results(name: str) -> None:
    workload = create_workload(name)
    assert (len(workload.generate_regions(9, 9)), workload.generate_predicates(9, 9)) == (0, [])
    assert workload.generate_events(9, 9).num_rows == 0


def test_regions_are_in_normal_form(name: str) -> None:
    regions = create_workload(name).generate_regions(0, 500)
    tidied, rows_left = Regions.from_constraints(regions.space, len(regions), regions.constraints)
    assert len(rows_left) == len(regions)  # no region is empty
    assert_same_regions(tidied, regions)
    for column_constraints in regions.constraints.values():
        assert (np.diff(column_constraints.rows) > 0).all()
        rows = np.arange(0, len(column_constraints.batch), 7)
        once_more = column_constraints.batch.take(rows).intersect(
            column_constraints.batch.take(rows)
        )  # type: ignore[arg-type]
        again = {"a": type(column_constraints)(rows, once_more)}
        before = {"a": type(column_constraints)(rows, column_constraints.batch.take(rows))}
        assert_same_regions(Regions(regions.space, 500, again), Regions(regions.space, 500, before))


def test_different_seeds_give_different_data(name: str) -> None:
    one, other = create_workload(name, seed=1), create_workload(name, seed=2)
    assert one.generate_predicates(0, 5) != other.generate_predicates(0, 5)
    assert not one.generate_events(0, 5).equals(other.generate_events(0, 5))
    assert create_workload(name, seed=1).generate_predicates(0, 5) == one.generate_predicates(0, 5)


def test_events_have_the_attributes_of_the_space(name: str) -> None:
    workload = create_workload(name)
    events = workload.generate_events(0, 10)
    assert [a.name for a in workload.space] == events.schema.names
    for attribute in workload.space:
        arrow = type_from_arrow(events.schema.field(attribute.name).type)
        assert attribute.type.name == arrow.name
    assert set(Events.from_arrow(events, workload.space).columns) == set(events.schema.names)


def test_a_workload_is_found_by_its_name(name: str) -> None:
    assert create_workload(name).name == name


def test_an_unknown_name_lists_the_known_names() -> None:
    with pytest.raises(CoveyError, match=r"'alert'.*uniform-boxes-2.*alerts.*watches"):
        create_workload("alert")


def test_a_range_that_ends_before_its_start_is_refused() -> None:
    with pytest.raises(CoveyError, match="from 5 to 3"):
        create_workload("alerts").generate_regions(5, 3)
