"""Predicates and regions of a workload have the same meaning: parsing gives the regions."""

from __future__ import annotations

import pytest

from covey import parse
from covey.workload import create_workload, list_workloads
from tests.workload.same import assert_same_regions


@pytest.mark.parametrize("name", list_workloads())
def test_a_predicate_parses_to_its_region(name: str) -> None:
    workload, count = create_workload(name), 10 if name == "watches" else 150
    parsed = parse(workload.space, workload.generate_predicates(0, count))
    assert parsed.predicate_rows.tolist() == list(range(count))
    assert_same_regions(parsed.regions, workload.generate_regions(0, count))
