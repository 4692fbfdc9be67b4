"""Wrong arguments of public functions raise an error of covey that names the argument."""

from __future__ import annotations

import importlib
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import covey
from covey import Events, Parser, SessionSettings, Space, StreamError, explain, parse, render
from covey._argument_checks import _compile_parameters, check_arguments, check_local_path
from covey.covering import ReductionLimits, reduce_regions
from covey.errors import CoveyError, InvalidArgumentError
from covey.index import BruteForceIndex, HilbertIndex, Pairs, RandomProjectionIndex, SegmentIndex
from covey.plan import BrokerTree, Plan, Problem, SavedPlan, Subscribers, greedy, search
from covey.predicates import has_all, near_vector, within_box, within_km
from covey.routing import RoutingTable
from covey.space import Attribute, PredicateLimits
from covey.store import Cache, Changes, Store, TieredMergePolicy
from covey.stream import StreamConfig, cancel_message, subscription_message
from covey.stream.replay import parse_offsets
from covey.zones import ZoneMap, ZoneTree, build_zone_tree, rebalance_zones

SPACE = Space.from_types({"price": pa.float64(), "city": pa.string()})
PREDICATES = parse(SPACE, ["price > 5 AND city = 'Rome'", "price < 1 OR price > 3"])
REGIONS = PREDICATES.regions
EVENTS = Events.from_arrow(pa.table({"price": [1.0], "city": ["Rome"]}), SPACE)
TREE = BrokerTree.from_arrays([0, 0], [[1, 1], [2, 2]])
SUBSCRIBERS = Subscribers.from_arrays([[0, 0]], [[0.0]], [[1.0]])
ROW = np.array([9])
LONG = "x" * 5_000

Call = Callable[[Any], object]
WRONG: list[tuple[str, Call, list[object], str]] = [
    ("space", lambda v: parse(v, ["price > 5"]), [None, 5, "x", {}], "Parser: space must be"),
    ("texts", lambda v: parse(SPACE, v), [None, 5, 2.5, "price > 5"], "a list of"),
    ("text", lambda v: parse(SPACE, v), [[None, 3], ["price > 5", b"x"]], "not a text"),
    ("max_regions", lambda v: Parser(SPACE, max_regions=v), ["3", 0, math.nan], "max_regions"),
    ("event", lambda v: explain(SPACE, "price > 5", v), [[1], None, "x", 5], "event must be"),
    ("key", lambda v: explain(SPACE, "price > 5", v), [{1: 2.0}], "a key of event must be"),
    ("row", lambda v: render(REGIONS, v), ["x", None, 1.5, True], "render: row must be a whole"),
    ("regions", lambda v: render(v, 0), [None, "x", SPACE], "render: regions must be"),
    ("rows", PREDICATES.to_predicate_rows, [ROW, -ROW, [0], None], "stored_rows must be"),
    ("vectors", lambda v: Space.from_arrow(pa.schema([]), vectors=v), [5, "x", {"a": "b"}], "vec"),
    ("settings", lambda v: Space((), settings=v), ["UTC", None, {}], "settings must be"),
    ("columns", Space, [None, ("price",), 5], "columns"),
    ("time zone", SessionSettings, [None, 5, "\ud800", LONG], "time"),
    ("attribute", lambda v: Attribute(v, SPACE["price"].type), [None, 5], "name must be a string"),
    ("functions", lambda v: PredicateLimits(functions=v), [5, None, "f", (3,)], "functions"),
    ("any_regex", lambda v: PredicateLimits(any_regex=v), ["no", None, 2], "any_regex must be"),
    ("limits", PredicateLimits.from_dict, [None, [1], "x"], "fields must be"),
    ("take", EVENTS.take, [ROW, -ROW, None, "x"], "rows must be"),
    ("km", lambda v: within_km("a", "b", v, 1, 1), [None, "x", [1], math.inf], "numb"),
    ("box", lambda v: within_box("a", "b", 1, v, 2, 2), [None, "x", math.nan], "num"),
    ("centre", lambda v: near_vector("v", v, distance=1), [None, "x", 5, ["x"]], "centre"),
    ("tags", lambda v: has_all(v, ["x"]), [None, 5], "tags must be a string"),
    ("place", lambda v: Store.create(v, SPACE), [5, "", "a\0b", "\ud800", LONG], "locat|pla"),
    ("open", Store.open, ["a\0b", LONG, 5, "foo://x"], "location|place|file system"),
    ("ids", lambda v: Changes.upsert(v, PREDICATES), [None, 5, [1]], "ids"),
    ("predicates", lambda v: Changes.upsert([1, 2], v), [None, ["price > 5"]], "predicates"),
    ("merges", lambda v: TieredMergePolicy(level_factor=v), ["8", 1, math.nan], "level_factor"),
    ("cache", Cache, [5, ["x"]], "folder must be"),
    ("stored", SegmentIndex.build, [None, SPACE, "x"], "build: regions must be"),
    ("asked", SegmentIndex.build(REGIONS).match, [None, REGIONS, pa.table({})], "events must be"),
    ("rebuilt", SegmentIndex.build(REGIONS).reconstruct_regions, [ROW, -ROW], "rows must be"),
    ("values", SegmentIndex.build(REGIONS).arrange_by_ordinal, [ROW, None], "values must be"),
    ("arrays", lambda v: SegmentIndex.from_arrays(SPACE, v), [{}, None], "arrays"),
    ("brute", BruteForceIndex(REGIONS).find_covering, [None, EVENTS], "regions must be"),
    ("bits", lambda v: HilbertIndex.build(REGIONS, bits=v), [-1, 0, 2**70, "8"], "bits must be"),
    ("k", lambda v: RandomProjectionIndex.build(REGIONS, v), [0, -1, 2**70, "4"], "direction_"),
    ("pairs", lambda v: Pairs.from_unsorted(v, [1]), [None, "x", [[1], [1, 2]]], "query_rows"),
    ("reduced", lambda v: reduce_regions(v, np.array([0])), [None, SPACE], "regions must be"),
    ("owners", lambda v: reduce_regions(REGIONS, v), [ROW, None, [1]], "subscription_rows must"),
    ("rate", lambda v: ReductionLimits(0, v), [None, "x", -1, 1.5, math.nan], "max_false_positive"),
    ("executor", lambda v: reduce_regions(REGIONS, np.arange(3), executor=v), [5, "x"], "executor"),
    ("strategy", lambda v: RoutingTable(SPACE, v), [None, 5, "fast"], "strategy"),
    ("absorbers", RoutingTable(SPACE).find_absorbers, ["x", None, 5], "no subscription"),
    ("known", RoutingTable(SPACE).build_sync_update, [None, "x", [None]], "known must be"),
    ("parents", lambda v: BrokerTree.from_arrays([0], [[1]], parents=v), ["x", [None], {}], "par"),
    ("tree", lambda v: Problem(v, SUBSCRIBERS), [None, 5, SUBSCRIBERS], "tree must be"),
    ("delay", lambda v: Problem(TREE, SUBSCRIBERS, max_delay=v), ["1", math.nan], "max_delay"),
    ("problem", greedy, [None, TREE, 5], "greedy: problem must be"),
    ("steps", lambda v: search(Problem(TREE, SUBSCRIBERS), steps=v), [-1, "5", 2.5], "steps"),
    ("assignment", lambda v: Plan(Problem(TREE, SUBSCRIBERS), v, v), [None, [0]], "assignment"),
    ("folder", SavedPlan.load, [None, 5, "a\0b", LONG, "\ud800"], "folder"),
    ("zone_count", lambda v: build_zone_tree(v, 2), [None, REGIONS], "sample must be"),
    ("zone_work", lambda v: ZoneMap.build(ZoneTree(), v), [None, "x", [1]], "zone_work must be"),
    (
        "works",
        lambda v: rebalance_zones(ZoneMap.build(ZoneTree(), np.ones(1)), v, lambda _: v),
        [np.ones(3), np.ones((1, 1)), None],
        "zone_work must be",
    ),
    ("file", StreamConfig.from_file, [None, 5, "a\0b", LONG, "/nowhere", "/"], "path|file|read"),
    ("toml", StreamConfig.from_toml, [None, 5, "a = " + "[" * 100_000, "\0"], "text must be|TOML"),
    ("offsets", parse_offsets, ["[" * 100_000, "{", '{"a": {"²": 1}}', "5", None], "offsets|text"),
    ("id", cancel_message, [None, 5, "\ud800"], "subscription_id"),
    ("told", lambda v: subscription_message("a", v), [None, 5], "predicate must be a string"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "value", "said"),
    [
        pytest.param(call, value, said, id=f"{name}-{number}")
        for name, call, values, said in WRONG
        for number, value in enumerate(values)
    ],
)
def test_a_wrong_argument_is_named_by_an_error_of_covey(
    call: Call, value: object, said: str
) -> None:
    with pytest.raises(CoveyError, match=said) as caught:
        call(value)
    assert len(str(caught.value)) < 500


def test_a_huge_number_is_valid_as_a_limit() -> None:
    assert greedy(Problem(TREE, SUBSCRIBERS, max_delay=2**70, max_load=10**400)).verify().is_valid


def test_numpy_numbers_are_accepted_as_numbers() -> None:
    assert render(REGIONS, np.int32(0))  # type: ignore[arg-type]
    assert ReductionLimits(np.int64(3), np.float32(0.5)).max_subtractions == 3  # type: ignore[arg-type]


def test_a_checked_function_keeps_its_name_its_examples_and_its_errors() -> None:
    @check_arguments(raises=StreamError)
    def double(number: int) -> int:
        """Return twice a number."""
        return 2 * number

    assert (double.__name__, double.__doc__) == ("double", "Return twice a number.")
    assert double.__globals__ is globals()  # otherwise doctest would skip its examples
    with pytest.raises(StreamError, match="double: number must be a whole number, got 'x'"):
        double("x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="unexpected keyword argument 'nmber'"):
        double(nmber=3)  # type: ignore[call-arg]


def test_check_local_path_accepts_paths_that_do_not_exist(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "nothing", tmp_path / "file" / "below", tmp_path):
        check_local_path("a folder", path)


def test_an_error_names_the_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CoveyError, match="file"):
        Store.create(tmp_path / "file" / "store", SPACE)
    plan = SavedPlan.from_plan(greedy(Problem(TREE, SUBSCRIBERS)), ["x"])
    with pytest.raises(InvalidArgumentError, match="/proc/x"):
        plan.save("/proc/x")


def test_annotations_of_checked_functions_can_be_resolved() -> None:
    sources = Path(covey.__file__).parent
    modules = [
        ".".join(path.relative_to(sources.parent).with_suffix("").parts)
        for path in sources.rglob("*.py")
        if "check_arguments" in (text := path.read_text()) or "check_fields(self)" in text
    ]
    checked = [
        getattr(member, "__func__", member).__wrapped__
        for name in modules
        for owner in _iter_owners(importlib.import_module(name))
        for member in vars(owner).values()
        if getattr(getattr(member, "__func__", member), "__code__", None) is _CALL
    ]
    assert len(checked) > 100
    for function in checked:
        _compile_parameters(function)


_CALL = check_arguments(lambda: None).__code__


def _iter_owners(module: ModuleType) -> Iterator[object]:
    yield module
    yield from (class_ for class_ in vars(module).values() if isinstance(class_, type))


def test_argument_checks_import_no_heavy_library() -> None:
    names = {"numpy", "pyspark", "pyarrow"}
    code = f"import sys, covey._argument_checks; print({names} & set(sys.modules))"
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
