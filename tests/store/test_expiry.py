"""Expiry: subscriptions that end before a horizon are found, and merges drop them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey.errors import SchemaError
from covey.geometry import Regions
from covey.geometry.relations import covers
from covey.language import Parser
from covey.space import Space
from covey.store import BackgroundMerger, Changes, IdKind, Store
from covey.store.ids import Ids
from covey.store.merge.operation import MergeOperation, merge_segments, write_merged
from covey.store.merge.process import MergeProcess
from covey.store.segments.expiry import drop_expired, region_expired_before
from covey.store.segments.segment import SubscriptionBatch
from covey.testing.strategies import regions
from tests.store.simple import SPACE, TINY, changes, sizes
from tests.store.test_merge_operation import wait_until

TEXTS: dict[object, str] = {
    1: "x < 10",
    2: "x BETWEEN 3 AND 9",
    3: "x < 11",
    4: "x > 5",
    5: "x < 3 OR x > 100",  # one of two regions has ended
    6: "x < 3 OR x BETWEEN 7 AND 9",  # both regions have ended
    7: "x > 5 AND x < 5",  # has no region
    8: "x < 3 OR x IS NULL",
    9: "x IS NULL",
    10: "true",
    11: "x IN (1, 9)",
    12: "x IN (1, 10)",
    13: "x NOT IN (1, 2)",
}
EXPIRED = [1, 2, 6, 11]  # nothing in these is 10 or more


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Yield a store of two segments that are to be merged, and too full for the next change."""
    with Store.create(tmp_path / "store", SPACE, merge_policy=TINY) as store:
        for half in (0, 1):
            put = {id_: text for id_, text in TEXTS.items() if int(str(id_)) % 2 == half}
            store.apply(changes({**put, 100 + half: "x < 0"}))
        store.apply(Changes.remove([100, 101]))
        yield store


def ids(store: Store) -> list[object]:
    snapshot = store.snapshot()
    assert len(snapshot) == len(snapshot.rows)
    return sorted(snapshot.take_ids(snapshot.rows).to_pylist())


def claim_two_segments(store: Store) -> MergeOperation:
    merge = store._writer.claim_merge()
    assert merge is not None
    assert len(merge.segments) == 2
    return merge


def finish(store: Store, merge: MergeOperation) -> None:
    built = write_merged(merge, store._writer.content_store)
    assert built
    store._writer.finish_merge(merge, built)
    store._writer.release_merge(merge)


def test_expired_subscriptions_are_found(store: Store) -> None:
    snapshot = store.snapshot()
    rows = snapshot.find_expired("x", 10)
    assert sorted(snapshot.take_ids(rows).to_pylist()) == EXPIRED
    assert rows.tolist() == sorted(rows.tolist())
    assert sorted(snapshot.take_ids(snapshot.find_expired("x", 11)).to_pylist()) == [
        1,
        2,
        3,
        6,
        11,
        12,
    ]
    assert snapshot.find_expired("x", -(1 << 63)).tolist() == []
    store.apply(Changes.remove([2, 4]))
    assert sorted(
        store.snapshot().take_ids(store.snapshot().find_expired("x", 10)).to_pylist()
    ) == [1, 6, 11]


def test_a_merge_drops_expired_subscriptions(store: Store) -> None:
    store.expire_before("x", 10)
    assert ids(store) == list(TEXTS)
    before = store.snapshot().manifest.version
    version = store.merge()
    assert version is not None
    remaining = [id_ for id_ in TEXTS if id_ not in EXPIRED]
    assert ids(store) == remaining
    assert sizes(version) == [(len(remaining), 0)]
    assert version.segments[0].regions == len(remaining) - 1  # 7 has no region
    assert store.snapshot().find_rows(EXPIRED).tolist() == [-1] * len(EXPIRED)
    assert (store.snapshot(before).find_rows(EXPIRED) >= 0).all()


def test_an_expired_region_is_dropped_while_others_of_its_subscription_stay(store: Store) -> None:
    store.expire_before("x", 10)
    store.merge()
    snapshot = store.snapshot()
    regions, of = snapshot.take_regions(snapshot.find_rows([5]))
    assert of.tolist() == [0]
    assert regions.constraints["x"].batch.lower.tolist() == [101]  # type: ignore[union-attr]


def test_revisions_stay_with_their_subscriptions(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store", SPACE, merge_policy=TINY) as store:
        for start in (0, 10):
            texts = [f"x < {i}" for i in range(start, start + 10)]
            numbers = range(start, start + 10)
            put = Changes.upsert(list(numbers), Parser(SPACE).parse(texts), revisions=list(numbers))
            store.apply(put)
        store.expire_before("x", 5)
        store.merge()
        assert ids(store) == list(range(6, 20))
        snapshot = store.snapshot()
        assert snapshot.take_revisions(snapshot.find_rows(list(range(20)))).tolist() == [
            i if i >= 6 else 0 for i in range(20)
        ]


def test_changes_during_an_expiring_merge_are_kept(store: Store) -> None:
    """Of expired and of other subscriptions, one each is replaced and one each is removed."""
    store.expire_before("x", 10)
    merge = claim_two_segments(store)
    store.apply(changes({1: "x > 0", 3: "x > 0"}, removed=[2, 4]))
    finish(store, merge)
    assert ids(store) == [1, 3, 5, 7, 8, 9, 10, 12, 13]
    snapshot = store.snapshot()
    assert sorted(snapshot.take_ids(snapshot.find_expired("x", 10)).to_pylist()) == []


def test_a_merge_uses_the_horizon_of_its_claim(store: Store) -> None:
    merge = claim_two_segments(store)
    store.expire_before("x", 10)
    finish(store, merge)
    assert ids(store) == list(TEXTS)


def test_a_later_horizon_replaces_the_earlier_one(store: Store) -> None:
    store.expire_before("x", 10)
    store.expire_before("x", np.int64(4))
    store.merge()
    assert ids(store) == list(TEXTS)
    store.close()
    again = Store.open(store._backend.location, merge_policy=TINY)
    assert not again._writer._horizons


def test_a_merge_of_expired_subscriptions_only_leaves_no_segment(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store", SPACE, merge_policy=TINY) as store:
        for start in (0, 10):
            store.apply(changes({i: f"x = {i}" for i in range(start, start + 9)}))
        store.expire_before("x", 50)
        version = store.merge()
        assert version is not None
        assert (version.segments, version.subscriptions) == ((), 0)
        assert store.snapshot().find_rows([3]).tolist() == [-1]
        assert store.merge() is None


@pytest.mark.parametrize("horizon", [10, 1 << 62])
def test_a_merge_in_another_process_drops_the_same(store: Store, horizon: int) -> None:
    store.expire_before("x", horizon)
    merge = claim_two_segments(store)
    ((_, expected),) = merge_segments(merge)
    process = MergeProcess()
    built = process.run(merge, store._writer.content_store)
    process.close()
    assert built
    store._writer.finish_merge(merge, built)
    assert ids(store) == sorted(expected.ids.values.to_pylist())


def test_a_background_merger_drops_expired_subscriptions(store: Store) -> None:
    store.expire_before("x", 10)
    with BackgroundMerger(store, processes=1) as merging:
        wait_until(lambda: len(store.snapshot().live_segments) == 1)
        assert merging.last_error is None
    assert ids(store) == [id_ for id_ in TEXTS if id_ not in EXPIRED]


def test_horizons_of_timestamps_are_in_microseconds(tmp_path: Path) -> None:
    space = Space.from_types({"x": pa.int64(), "valid": pa.timestamp("us", tz="UTC")})
    parsed = Parser(space).parse(
        [f"x > 1 AND valid < TIMESTAMP '2026-01-0{day} 00:00:00Z'" for day in (1, 2, 3)]
    )
    with Store.create(tmp_path / "store", space, id_kind=IdKind.TEXT) as store:
        store.apply(Changes.upsert(["a", "b", "c"], parsed))
        snapshot, second = store.snapshot(), 1_767_312_000_000_000  # midnight of the 2nd
        found = [
            snapshot.take_ids(snapshot.find_expired("valid", second + n)).to_pylist()
            for n in (-1, 0)
        ]
        assert [sorted(ids_) for ids_ in found] == [["a"], ["a", "b"]]


def test_attributes_other_than_64_bit_numbers_are_refused(tmp_path: Path) -> None:
    types = {"s": pa.string(), "tags": pa.list_(pa.string()), "d": pa.decimal128(38, 2)}
    with Store.create(tmp_path / "store", Space.from_types(types)) as store:
        for name in types:
            with pytest.raises(SchemaError, match=f"'{name}' has type .* not integers of 64 bits"):
                store.expire_before(name, 5)
            with pytest.raises(SchemaError, match="not integers of 64 bits"):
                store.snapshot().find_expired(name, 5)
        with pytest.raises(SchemaError, match="no attribute 'y'"):
            store.expire_before("y", 5)


TWO = Space.from_types({"x": pa.int32(), "y": pa.int32()})


@given(st.data(), regions(TWO), st.integers(-5, 5), st.integers(-5, 5))
def test_regions_before_a_horizon_are_dropped(
    data: st.DataObject, drawn_regions: Regions, x: int, y: int
) -> None:
    count = data.draw(st.integers(1, 6))
    owners = st.lists(
        st.integers(0, count - 1), min_size=len(drawn_regions), max_size=len(drawn_regions)
    )
    of = np.array(data.draw(owners), np.int64)
    owned = SubscriptionBatch(
        Ids.from_values(range(count), IdKind.NUMBER), drawn_regions, of, np.arange(count)
    )
    over = np.zeros(len(drawn_regions), np.bool_)
    for name, before in (("x", x), ("y", y)):
        everything = np.arange(len(drawn_regions))
        over |= covers(
            region_expired_before(TWO, name, before), 0 * everything, drawn_regions, everything
        )
    remaining = drop_expired(owned, {"x": x, "y": y})
    stay = [i for i in range(count) if i not in of or i in of[~over]]
    assert remaining.ids.keys.tolist() == remaining.revisions.tolist() == stay
    assert remaining.ids.keys[remaining.subscription_rows].tolist() == of[~over].tolist()
    assert len(remaining.regions) == (~over).sum()
