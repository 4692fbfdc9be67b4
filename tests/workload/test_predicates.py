"""Predicates and regions of a workload mean the same: parsing the one gives the other."""

from __future__ import annotations

import pytest

from covey import parse
from covey.workload import by_name, names
from tests.workload.same import assert_same_regions


@pytest.mark.parametrize("name", names())
def test_a_predicate_means_its_region(name: str) -> None:
    workload, count = by_name(name), 10 if name == "watches" else 150
    parsed = parse(workload.space, workload.predicates(0, count))
    assert parsed.of.tolist() == list(range(count))
    assert_same_regions(parsed.regions, workload.regions(0, count))
