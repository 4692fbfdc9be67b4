"""What ended before a horizon: who is found, and what merges leave out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import SpaceError
from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.language import Parser
from covey.space import Space
from covey.store import Changes, IdKind, Merger, Store
from covey.store.ended import region_before, without_ended
from covey.store.ids import Ids
from covey.store.merge import Merge, merged, written
from covey.store.merge_process import MergeProcess
from covey.store.subscriptions import Owned
from covey.testing.strategies import regions
from tests.store.simple import SPACE, TINY, changes, sizes
from tests.store.test_merge import wait_until

TEXTS: dict[object, str] = {
    1: "x < 10",
    2: "x BETWEEN 3 AND 9",
    3: "x < 11",
    4: "x > 5",
    5: "x < 3 OR x > 100",  # one region of two is over
    6: "x < 3 OR x BETWEEN 7 AND 9",  # both are
    7: "x > 5 AND x < 5",  # has no region
    8: "x < 3 OR x IS NULL",
    9: "x IS NULL",
    10: "true",
    11: "x IN (1, 9)",
    12: "x IN (1, 10)",
    13: "x NOT IN (1, 2)",
}
OVER = [1, 2, 6, 11]  # of these nothing is 10 or more


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Two segments, each too full for the next change, that are to be merged."""
    with Store.create(tmp_path / "store", SPACE, tiers=TINY) as store:
        for half in (0, 1):
            put = {id_: text for id_, text in TEXTS.items() if int(str(id_)) % 2 == half}
            store.apply(changes({**put, 100 + half: "x < 0"}))
        store.apply(Changes.remove([100, 101]))
        yield store


def ids(store: Store) -> list[object]:
    snapshot = store.snapshot()
    assert len(snapshot) == len(snapshot.rows)
    return sorted(snapshot.ids(snapshot.rows).to_pylist())


def claimed(store: Store) -> Merge:
    merge = store.writer.claim_merge()
    assert merge is not None
    assert len(merge.parts) == 2
    return merge


def finish(store: Store, merge: Merge) -> None:
    built = written(merge, store.writer.files)
    assert built
    store.writer.finish_merge(merge, built)
    store.writer.release_merge(merge)


def test_who_has_ended_is_found(store: Store) -> None:
    snapshot = store.snapshot()
    rows = snapshot.ended("x", 10)
    assert sorted(snapshot.ids(rows).to_pylist()) == OVER
    assert rows.tolist() == sorted(rows.tolist())
    assert sorted(snapshot.ids(snapshot.ended("x", 11)).to_pylist()) == [1, 2, 3, 6, 11, 12]
    assert snapshot.ended("x", -(1 << 63)).tolist() == []
    store.apply(Changes.remove([2, 4]))
    assert sorted(store.snapshot().ids(store.snapshot().ended("x", 10)).to_pylist()) == [1, 6, 11]


def test_a_merge_leaves_out_what_has_ended(store: Store) -> None:
    store.forget("x", 10)
    assert ids(store) == list(TEXTS)
    before = store.snapshot().version.number
    version = store.merge()
    assert version is not None
    left = [id_ for id_ in TEXTS if id_ not in OVER]
    assert ids(store) == left
    assert sizes(version) == [(len(left), 0)]
    assert version.segments[0].regions == len(left) - 1  # 7 has none
    assert store.snapshot().find(OVER).tolist() == [-1] * len(OVER)
    assert (store.snapshot(before).find(OVER) >= 0).all()


def test_a_region_goes_alone_where_another_is_left(store: Store) -> None:
    store.forget("x", 10)
    store.merge()
    snapshot = store.snapshot()
    some, of = snapshot.regions(snapshot.find([5]))
    assert of.tolist() == [0]
    assert some.constraints["x"].batch.lower.tolist() == [101]  # type: ignore[union-attr]


def test_revisions_stay_with_those_who_stay(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store", SPACE, tiers=TINY) as store:
        for start in (0, 10):
            texts = [f"x < {i}" for i in range(start, start + 10)]
            numbers = range(start, start + 10)
            put = Changes.put(list(numbers), Parser(SPACE).parse(texts), revisions=list(numbers))
            store.apply(put)
        store.forget("x", 5)
        store.merge()
        assert ids(store) == list(range(6, 20))
        snapshot = store.snapshot()
        assert snapshot.revisions(snapshot.find(list(range(20)))).tolist() == [
            i if i >= 6 else 0 for i in range(20)
        ]


def test_changes_during_a_merge_that_forgets_are_kept(store: Store) -> None:
    """Of what ended, one is put again, one is removed; of what stays, one of each as well."""
    store.forget("x", 10)
    merge = claimed(store)
    store.apply(changes({1: "x > 0", 3: "x > 0"}, removed=[2, 4]))
    finish(store, merge)
    assert ids(store) == [1, 3, 5, 7, 8, 9, 10, 12, 13]
    snapshot = store.snapshot()
    assert sorted(snapshot.ids(snapshot.ended("x", 10)).to_pylist()) == []


def test_a_merge_has_the_horizon_of_its_claim(store: Store) -> None:
    merge = claimed(store)
    store.forget("x", 10)
    finish(store, merge)
    assert ids(store) == list(TEXTS)


def test_a_later_horizon_replaces_the_first(store: Store) -> None:
    store.forget("x", 10)
    store.forget("x", np.int64(4))
    store.merge()
    assert ids(store) == list(TEXTS)
    store.close()
    again = Store.open(store._directory.place, tiers=TINY)
    assert not again.writer._horizons


def test_a_merge_of_which_all_has_ended_leaves_nothing(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store", SPACE, tiers=TINY) as store:
        for start in (0, 10):
            store.apply(changes({i: f"x = {i}" for i in range(start, start + 9)}))
        store.forget("x", 50)
        version = store.merge()
        assert version is not None
        assert (version.segments, version.subscriptions) == ((), 0)
        assert store.snapshot().find([3]).tolist() == [-1]
        assert store.merge() is None


@pytest.mark.parametrize("horizon", [10, 1 << 62])
def test_another_process_forgets_the_same(store: Store, horizon: int) -> None:
    store.forget("x", horizon)
    merge = claimed(store)
    ((_, right),) = merged(merge)
    process = MergeProcess()
    built = process.run(merge, store.writer.files)
    process.close()
    assert built
    store.writer.finish_merge(merge, built)
    assert ids(store) == sorted(right.ids.arrow().to_pylist())


def test_a_merger_forgets(store: Store) -> None:
    store.forget("x", 10)
    with Merger(store, processes=1) as merging:
        wait_until(lambda: len(store.snapshot().parts) == 1)
        assert merging.failure is None
    assert ids(store) == [id_ for id_ in TEXTS if id_ not in OVER]


def test_times_are_microseconds(tmp_path: Path) -> None:
    space = Space.of({"x": pa.int64(), "valid": pa.timestamp("us", tz="UTC")})
    parsed = Parser(space).parse(
        [f"x > 1 AND valid < TIMESTAMP '2026-01-0{day} 00:00:00Z'" for day in (1, 2, 3)]
    )
    with Store.create(tmp_path / "store", space, ids=IdKind.TEXT) as store:
        store.apply(Changes.put(["a", "b", "c"], parsed))
        snapshot, second = store.snapshot(), 1_767_312_000_000_000  # the 2nd, midnight
        found = [snapshot.ids(snapshot.ended("valid", second + n)).to_pylist() for n in (-1, 0)]
        assert [sorted(some) for some in found] == [["a"], ["a", "b"]]


def test_attributes_without_an_end_are_refused(tmp_path: Path) -> None:
    types = {"s": pa.string(), "tags": pa.list_(pa.string()), "d": pa.decimal128(38, 2)}
    with Store.create(tmp_path / "store", Space.of(types)) as store:
        for name in types:
            with pytest.raises(SpaceError, match=f"'{name}' is .* no numbers of 64 bits"):
                store.forget(name, 5)
            with pytest.raises(SpaceError, match="no numbers of 64 bits"):
                store.snapshot().ended(name, 5)
        with pytest.raises(SpaceError, match="no attribute 'y'"):
            store.forget("y", 5)


TWO = Space.of({"x": pa.int32(), "y": pa.int32()})


@given(st.data(), regions(TWO), st.integers(-5, 5), st.integers(-5, 5))
def test_what_ended_is_what_lies_before_a_horizon(
    data: st.DataObject, some: Regions, x: int, y: int
) -> None:
    count = data.draw(st.integers(1, 6))
    owners = st.lists(st.integers(0, count - 1), min_size=len(some), max_size=len(some))
    of = np.array(data.draw(owners), np.int64)
    owned = Owned(Ids.of(range(count), IdKind.NUMBER), some, of, np.arange(count))
    over = np.zeros(len(some), np.bool_)
    for name, before in (("x", x), ("y", y)):
        everything = np.arange(len(some))
        over |= covers(region_before(TWO, name, before), 0 * everything, some, everything)
    left = without_ended(owned, {"x": x, "y": y})
    stay = [i for i in range(count) if i not in of or i in of[~over]]
    assert left.ids.keys.tolist() == left.revisions.tolist() == stay
    assert left.ids.keys[left.of].tolist() == of[~over].tolist()
    assert len(left.regions) == (~over).sum()
