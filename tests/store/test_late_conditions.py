"""Late conditions in a store: pairs that Spark must decide, in several segments and versions."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pytest

from covey import Space
from covey.language import Parser
from covey.language.late_conditions import LateCondition
from covey.space import Events
from covey.store import Changes, IdKind, Snapshot, Store
from tests.language.late_types import Types
from tests.store.simple import TINY

SPACE = Space.from_types({"x": pa.int32(), "name": pa.string()})
TEXTS = {
    1: "x > 5 AND levenshtein(name, 'ana') < 3",
    2: "x > 5",
    3: "x < 3 OR length(name) > 4",
    4: "(x = 7 AND levenshtein(name, 'bob') < 2) OR (x > 6 AND length(name) > 9)",
    5: "levenshtein(name, 'eve') < 1 AND length(name) > 1",
}


def to_changes(texts: Mapping[int, str | None], kind: IdKind) -> Changes:
    name = str if kind is IdKind.TEXT else int
    accepted = [text or "false" for text in texts.values()]
    parsed = Parser(SPACE, types=Types()).parse(accepted)
    assert not parsed.rejected
    return Changes([name(id_) for id_ in texts], parsed.regions, parsed.predicate_rows)


@pytest.fixture(params=list(IdKind), scope="module")
def snapshot(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """Return a version with two segments; one subscription was changed, one was removed."""
    location = tmp_path_factory.mktemp("late") / "store"
    with Store.create(location, SPACE, id_kind=request.param, merge_policy=TINY) as store:
        first = {1: "x > 100 AND length(name) > 3", 2: TEXTS[2], 9: "length(name) > 0"}
        store.apply(to_changes(first, request.param))
        changed = {id_: text for id_, text in TEXTS.items() if id_ != 2} | {9: "x > 1 AND x < 1"}
        store.apply(to_changes(changed, request.param))
    snapshot = Store.open(location).snapshot()
    assert len(snapshot.live_segments) == 2
    return snapshot


def match_xs(
    snapshot: Snapshot, *xs: int
) -> tuple[set[tuple[int, int]], dict[tuple[int, int], set[str]]]:
    """Return the pairs of an event and an id, and the undecided ones with their conditions."""
    table = pa.table({"x": pa.array(xs, pa.int32()), "name": ["?"] * len(xs)})
    found = snapshot.match_ids(Events.from_arrow(table, SPACE))
    undecided: dict[tuple[int, int], set[str]] = {}
    pairs = zip(found.undecided.query_rows.tolist(), found.undecided_ids.to_pylist(), strict=True)
    for i, (row, id_) in enumerate(pairs):
        undecided[row, int(id_)] = {
            " AND ".join(sorted(LateCondition.from_token(token).sql for token in tokens))
            for tokens in found.undecided.list_tokens(i)
        }
    return {(row, int(id_)) for row, id_ in found}, undecided


def test_pairs_with_late_conditions_are_undecided(snapshot: Snapshot) -> None:
    matches, undecided = match_xs(snapshot, 7, 1)
    assert matches == {(0, 2), (1, 3)}
    assert undecided == {
        (0, 1): {"levenshtein(name, 'ana') < 3"},
        (0, 3): {"length(name) > 4"},
        (0, 4): {"levenshtein(name, 'bob') < 2", "length(name) > 9"},
        (0, 5): {"length(name) > 1 AND levenshtein(name, 'eve') < 1"},
        (1, 5): {"length(name) > 1 AND levenshtein(name, 'eve') < 1"},
    }


def test_a_version_lists_its_templates_but_not_as_attributes(snapshot: Snapshot) -> None:
    names = {template.name for template in snapshot.late_templates}
    assert names == {"levenshtein(name, \0s) < \0i", "length(name) > \0i"}
    assert snapshot.constrained_attributes == ["x"]


def test_rows_and_ids_of_undecided_pairs_agree(snapshot: Snapshot) -> None:
    events = Events.from_arrow(pa.table({"x": pa.array([7], pa.int32()), "name": ["?"]}), SPACE)
    by_row = snapshot.match(events)
    ids = snapshot.take_ids(by_row.undecided.stored_rows).to_pylist()
    assert sorted(map(int, ids)) == [1, 3, 4, 5]
    assert sorted(map(int, snapshot.take_ids(by_row.stored_rows).to_pylist())) == [2]


def test_merged_segments_keep_their_conditions(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store", SPACE, id_kind=IdKind.NUMBER, merge_policy=TINY) as store:
        for id_, text in TEXTS.items():
            store.apply(to_changes({id_: text}, IdKind.NUMBER))
        before = match_xs(store.snapshot(), 7, 1, -2)
        while store.merge() is not None:
            pass
        after = store.snapshot()
        assert match_xs(after, 7, 1, -2) == before
