"""Hypothesis strategies draw data that fits its space and covers the interesting cases."""

from __future__ import annotations

import subprocess
import sys

from hypothesis import Phase, find, given, settings
from hypothesis import strategies as st

from covey.geometry.balls import Balls
from covey.geometry.distances import Metric
from covey.index import BruteForceIndex
from covey.language import Parser
from covey.space import Events, Space
from covey.space.events import ValueState, VectorColumn
from covey.testing.index_contract import IndexCase, index_cases
from covey.testing.strategies import events, predicates, regions, spaces, tables
from tests.geometry.cases import EVERY


@given(st.data(), spaces())
def test_predicates_use_only_attributes_of_the_space(data: st.DataObject, space: Space) -> None:
    text = data.draw(predicates(space))
    assert not Parser(space).parse([text]).rejected


@given(st.data(), spaces())
def test_tables_have_the_columns_of_the_space(data: st.DataObject, space: Space) -> None:
    table = data.draw(tables(space))
    assert table.column_names == [attribute.name for attribute in space]
    assert table.num_rows == len(Events.from_arrow(table, space))


_search = settings(max_examples=1000, phases=[Phase.generate], database=None)


def test_strict_covers_and_matches_occur() -> None:
    """A few hundred cases must contain them, otherwise property tests would check nothing."""

    def meets(case: IndexCase) -> bool:
        stored = BruteForceIndex(case.stored_regions)
        covers, inverse = (
            stored.find_covering(case.stored_regions),
            stored.find_covered(case.stored_regions),
        )
        strict = set(covers) - set(inverse)
        return bool(strict) and len(stored.match(case.query_events)) > 0

    assert find(index_cases(), meets, settings=_search)


def test_vectors_of_every_state_and_balls_of_both_metrics_occur() -> None:
    space = Space((EVERY["vec"],))

    def has_every_state(these: Events) -> bool:
        column = these["vec"]
        return isinstance(column, VectorColumn) and {*column.states.tolist()} == {
            *map(int, ValueState)
        }

    assert find(events(space, max_events=20), has_every_state, settings=_search)

    def has_both(batch: object) -> bool:
        return isinstance(batch, Balls) and {*batch.metrics.tolist()} == {*map(int, Metric)}

    drawn = regions(space).filter(lambda some: "vec" in some.constraints)
    assert find(drawn, lambda some: has_both(some.constraints["vec"].batch), settings=_search)


def test_the_testing_package_does_not_import_hypothesis() -> None:
    imports = "import covey.testing, covey.testing.random_cases, sys"
    code = f"{imports}; sys.exit('hypothesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
