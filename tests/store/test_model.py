"""A store, compared with a dictionary and a scan: after any operation its answers are the same."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from covey.geometry import Regions
from covey.index import BruteForceIndex
from covey.store import Changes, IdKind, Snapshot, Store, TieredMergePolicy
from covey.store.merge.operation import MergeOperation, write_merged
from covey.store.segments.segment import SubscriptionBatch
from covey.store.zones.smart_replication import stage_zone
from covey.testing.strategies import events, regions, spaces
from covey.zones import ZoneMap, ZoneSample, build_zone_tree

Model = dict[object, tuple[Regions, int]]
IDS = st.integers(0, 9)


class StoreBesideModel(RuleBasedStateMachine):
    """A store, its subscriptions in a dictionary, and a copy of that for each version."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.without_sync = patch("os.fsync")  # `test_directories.py` tests the order of syncs
        self.without_sync.start()
        self.model: Model = {}
        self.versions: dict[int, Model] = {0: {}}
        self.merge: MergeOperation | None = None

    @initialize(data=st.data(), kind=st.sampled_from(IdKind), factor=st.integers(2, 4))
    def create(self, data: st.DataObject, kind: IdKind, factor: int) -> None:
        self.space, self.kind = data.draw(spaces(max_attributes=2)), kind
        self.tiers = TieredMergePolicy(min_level_regions=3, level_factor=factor)
        self.store = Store.create(
            self.folder / "s", self.space, id_kind=kind, merge_policy=self.tiers
        )
        self.events = data.draw(events(self.space))

    @rule(data=st.data(), ids=st.lists(IDS, unique=True, max_size=6), cut=st.integers(0, 6))
    def change(self, data: st.DataObject, ids: list[int], cut: int) -> None:
        """Upsert some ids, with any number of regions each, and remove others."""
        names = [self.name(id_) for id_ in ids]
        put, removed = names[:cut], names[cut:]
        drawn_regions = data.draw(regions(self.space)) if put else Regions(self.space, 0, {})
        owners = st.lists(
            st.integers(0, max(0, len(put) - 1)),
            min_size=len(drawn_regions),
            max_size=len(drawn_regions),
        )
        of = np.array(data.draw(owners), np.int64)
        revisions = data.draw(st.none() | st.lists(IDS, min_size=len(put), max_size=len(put)))
        version = self.store.apply(
            Changes(self.column(put), drawn_regions, of, self.column(removed), revisions)
        )
        for place, name in enumerate(put):
            event_rows = drawn_regions.take(np.flatnonzero(of == place))
            self.model[name] = event_rows, 0 if revisions is None else revisions[place]
        for name in removed:
            self.model.pop(name, None)
        self.versions[version.version] = dict(self.model)

    @rule()
    def merge_once(self) -> None:
        version = self.store.merge()
        if version is not None:
            self.versions[version.version] = dict(self.model)

    @precondition(lambda self: self.merge is None)
    @rule()
    def claim_merge(self) -> None:
        self.merge = self.store._writer.claim_merge()

    @precondition(lambda self: self.merge is not None)
    @rule()
    def finish_merge(self) -> None:
        assert self.merge is not None
        built = write_merged(self.merge, self.store._writer.content_store)
        assert built
        version = self.store._writer.finish_merge(self.merge, built)
        self.store._writer.release_merge(self.merge)
        self.merge = None
        self.versions[version.version] = dict(self.model)

    @precondition(lambda self: self.merge is None)
    @rule(data=st.data(), zones=st.integers(2, 5), smart=st.booleans())
    def zone(self, data: st.DataObject, zones: int, smart: bool) -> None:
        """Distribute all subscriptions over zones, which are split by a random sample."""
        cut_from = ZoneSample.from_events(self.events, data.draw(regions(self.space)))
        tree = build_zone_tree(cut_from, zones)
        zoning = ZoneMap.build(tree, cut_from.measure_loads(tree)[0])
        now = self.store.snapshot()
        parts = [part.take_live() for part in now.live_segments if part.live_count]
        put = []
        if parts:
            owned = replace(SubscriptionBatch.concat(parts), replica_mask=None)
            for members in zoning.iterate_members(
                owned.regions, owned.subscription_rows, len(owned.ids)
            ):
                put += stage_zone(self.store, owned.take(members.rows), members, is_smart=smart)
        label = f"zoned {now.manifest.version}"
        version = self.store.commit_zones(zoning, put, now.space, label, now.manifest.version)
        self.versions[version.version] = dict(self.model)

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Store.open(self.folder / "s", merge_policy=self.tiers)
        self.merge = None

    @rule(data=st.data())
    def vacuum(self, data: st.DataObject) -> None:
        """Delete all versions except the newest and the leased one."""
        leased = data.draw(st.sampled_from(sorted(self.versions)))
        with self.store.lease(leased, 3600):
            self.store.vacuum(retain_seconds=0, grace_seconds=0)
        expected = {leased, max(self.versions)}
        assert set(self.store.versions) >= expected
        self.versions = {n: m for n, m in self.versions.items() if n in self.store.versions}

    @rule(data=st.data())
    def check_an_old_version(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.versions)))
        self.check(self.store.snapshot(number), self.versions[number])

    @invariant()
    def the_newest_version_is_right(self) -> None:
        if hasattr(self, "store"):
            self.check(self.store.snapshot(), self.model)

    @invariant()
    def each_zone_has_the_subscriptions_of_its_events(self) -> None:
        if not hasattr(self, "store"):
            return
        number = self.store.versions[-1]
        zoning = self.store.zone_map(number)
        if zoning is None:
            return
        owners = zoning.tree.find_event_zones(self.events)
        found, going = [], set[tuple[int, int]]()
        for zone in range(len(zoning)):
            event_rows = np.flatnonzero(owners == zone)
            matches = self.store.zone_snapshot(number, zone).match_ids(self.events.take(event_rows))
            found += [(int(event_rows[row]), id_) for row, id_ in matches]
            sent = matches.forwarded_pairs
            assert len(set(sent)) == len(sent)
            going |= {(int(event_rows[row]), home) for row, home in sent}
            assert zone not in {home for _, home in sent}
        for row, home in going:
            home_snapshot = self.store.zone_snapshot(number, home, is_home=True)
            ids = home_snapshot.match_ids(self.events.take(np.array([row]))).ids
            found += [(row, id_) for id_ in ids.to_pylist()]
        assert sorted(found, key=str) == sorted(self.right(self.model), key=str)

    def right(self, model: Model) -> list[tuple[int, object]]:
        return [
            (row, id_)
            for id_, (theirs, _) in model.items()
            for row in sorted(set(BruteForceIndex(theirs).match(self.events).query_rows.tolist()))
        ]

    def check(self, snapshot: Snapshot, model: Model) -> None:
        ids = snapshot.take_ids(snapshot.rows).to_pylist()
        assert sorted(ids, key=str) == sorted(model, key=str)
        assert len(snapshot) == len(model)
        assert snapshot.take_revisions(snapshot.rows).tolist() == [model[id_][1] for id_ in ids]
        assert sorted(snapshot.match_ids(self.events), key=str) == sorted(
            self.right(model), key=str
        )

    def name(self, id_: int) -> object:
        return id_ if self.kind is IdKind.NUMBER else f"id {id_}"

    def column(self, names: list[object]) -> pa.Array:
        return pa.array(names, pa.int64() if self.kind is IdKind.NUMBER else pa.string())

    def teardown(self) -> None:
        if hasattr(self, "store"):
            self.store.close()
        self.without_sync.stop()
        shutil.rmtree(self.folder)


TestStoreBesideModel = StoreBesideModel.TestCase
TestStoreBesideModel.settings = settings(stateful_step_count=20)
