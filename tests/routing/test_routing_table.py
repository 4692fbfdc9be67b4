"""Routing tables under random adds and cancels: advertised regions contain all live ones."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis.stateful import run_state_machine_as_test

from covey import Space, parse
from covey.errors import InvalidArgumentError, SchemaError
from covey.index import BruteForceIndex
from covey.routing import RegionUpdate, RoutingTable, recommend_strategy
from covey.routing.cell_strategy import HilbertCellStrategy
from covey.routing.strategies import (
    RegionStrategyChoice,
    build_exact_strategy,
    build_hybrid_strategy,
    build_projection_strategy,
)
from tests.routing.links import GRID, POINTS, SETTINGS, SPACE, CellLink, Link


def add(table: RoutingTable, **texts: str) -> Any:
    parsed = parse(SPACE, list(texts.values()))
    return table.add(list(texts), parsed.regions, parsed.predicate_rows)


MACHINES: dict[str, tuple[type[Link], RegionStrategyChoice]] = {
    "exact": (Link, "exact"),
    "exact-indexed": (Link, partial(build_exact_strategy, max_unindexed=4)),
    "projection": (Link, partial(build_projection_strategy, max_unindexed=4)),
    "hybrid": (Link, partial(build_hybrid_strategy, max_unindexed=4)),
    "hilbert": (CellLink, lambda kept: HilbertCellStrategy(GRID)),
    "hilbert-merging": (CellLink, lambda kept: HilbertCellStrategy(GRID, gap=3, max_ranges=4)),
}


@pytest.mark.parametrize("name", MACHINES)
def test_a_link_knows_all_live_subscriptions(name: str) -> None:
    machine, strategy = MACHINES[name]
    own = type(
        "Machine",
        (machine,),
        {"strategy": strategy if isinstance(strategy, str) else staticmethod(strategy)},
    )
    run_state_machine_as_test(own, settings=SETTINGS)


def test_a_covered_subscription_is_not_advertised() -> None:
    table = RoutingTable(SPACE)
    first = add(table, wide="x > 1", narrow="x > 3", other="y = 1")
    assert len(first.advertised) == 2
    assert table.find_absorbers("narrow") == ("wide",)
    assert table.find_absorbers("other") == ()
    wider = RegionUpdate.concat([add(table, wider="x > 0"), table.prune()])
    assert (len(wider.advertised), len(wider.withdrawn)) == (1, 1)
    assert table.find_absorbers("narrow") == table.find_absorbers("wide") == ("wider",)
    back = table.cancel(["wider"])
    assert (len(back.advertised), len(back.withdrawn)) == (1, 1)
    assert table.find_absorbers("narrow") == ("wide",)


def test_the_first_of_equal_subscriptions_is_advertised() -> None:
    table = RoutingTable(SPACE)
    add(table, a="x = 1", b="x = 1", c="x = 1")
    assert [table.find_absorbers(id_) for id_ in "abc"] == [(), ("a",), ("a",)]
    table.cancel(["a"])
    assert [table.find_absorbers(id_) for id_ in "bc"] == [(), ("b",)]


def test_a_cancelled_absorber_stays_until_its_orphans_are_reassigned() -> None:
    table = RoutingTable(SPACE)
    texts = [f"x = {n} AND y > {m}" for n in range(100) for m in range(100)]
    parsed = parse(SPACE, ["x >= 0", *texts])
    assert (
        len(
            table.add(list(range(len(texts) + 1)), parsed.regions, parsed.predicate_rows).advertised
        )
        == 1
    )
    first = table.cancel([0])
    assert not table.is_fully_withdrawn
    assert not len(first.withdrawn)
    while not table.is_fully_withdrawn:
        last = table.reassign_orphans(3_000)
    assert last.withdrawn.tolist() == [0]
    table.prune()
    assert len(table.advertised_set) == 100
    regions = table.take_regions(table.advertised_set)
    assert len(BruteForceIndex(regions).find_covering(regions)) == len(regions)


def test_cancelling_an_unadvertised_subscription_sends_no_update() -> None:
    table = RoutingTable(SPACE)
    add(table, wide="true")
    parsed = parse(SPACE, [f"x = {n}" for n in range(3_000)])
    assert not len(table.add(list(range(3_000)), parsed.regions, parsed.predicate_rows).advertised)
    steps = table.cancel([2_999])
    assert not len(steps.advertised) + len(steps.withdrawn)
    assert len(table) == 3_000


def test_a_repeated_id_is_refused() -> None:
    parsed = parse(SPACE, ["x = 1", "x = 2"])
    with pytest.raises(InvalidArgumentError, match="twice"):
        RoutingTable(SPACE).add([1, 1], parsed.regions, parsed.predicate_rows)


def test_a_cancelled_absorber_is_named_until_it_is_withdrawn() -> None:
    table = RoutingTable(SPACE, partial(build_exact_strategy, max_unindexed=4))
    add(table, wide="x >= 0", **{f"n{n}": f"x = {n}" for n in range(20)}, last="y = 3")
    table.cancel(["wide"])
    assert not table.is_fully_withdrawn
    assert table.find_absorbers("n19") == ("wide",)
    table.reassign_orphans()
    assert table.find_absorbers("n19") == ()


def test_regions_of_another_space_are_refused() -> None:
    table = RoutingTable(SPACE)
    for other in (
        parse(Space.from_types({"x": pa.string()}), ["x = 'a'"]),
        parse(Space.from_types({"unknown": pa.int64()}), ["unknown = 1"]),
    ):
        with pytest.raises(SchemaError, match=r"than the space of the table.*`table\.space`"):
            table.add([1], other.regions, other.predicate_rows)
    assert len(table) == 0


@pytest.mark.parametrize("of", [[0], [0, 2], [-1, 0], [0, 1, 1]])
def test_regions_without_an_id_are_refused(of: list[int]) -> None:
    table, two = RoutingTable(SPACE), parse(SPACE, ["x > 1", "x > 3"])
    with pytest.raises(
        InvalidArgumentError, match="must have 2 row numbers, at least 0 and below 2"
    ):
        table.add(["a", "b"], two.regions, np.array(of))
    assert len(table) == 0
    assert table.add(["a", "b"], two.regions, two.predicate_rows).advertised.tolist() == [0]


@pytest.mark.parametrize("texts", [[], ["false"]])
def test_the_exact_strategy_is_recommended_for_no_regions(texts: list[str]) -> None:
    chosen = recommend_strategy(parse(SPACE, texts).regions, POINTS)
    assert (chosen.strategy, chosen.trials) == ("exact", {})
    assert "no regions" in chosen.reason


@pytest.mark.parametrize("texts", [["x > 1"], ["x > 1", "x > 2", "y = 3"]])
def test_a_strategy_is_recommended_for_few_regions(texts: list[str]) -> None:
    found = recommend_strategy(parse(SPACE, texts).regions, POINTS)
    assert found.strategy in found.trials
    assert found.reason
