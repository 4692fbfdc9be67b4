"""Versions with a gated segment, which is matched only with events of another segment."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from covey import Events, Space, parse
from covey.errors import StoreError
from covey.store import Changes, Store, copy_version

SPACE = Space.from_types({"x": pa.int64()})
EVENTS = Events.from_arrow(pa.table({"x": list(range(30))}), SPACE)
OVER, UNDER = {1: "x < 10", 2: "x > 25"}, {3: "x = 3", 4: "x BETWEEN 2 AND 8", 5: "x = 29"}


def put(texts: dict[int, str]) -> Changes:
    return Changes.upsert(list(texts), parse(SPACE, list(texts.values())))


def make_gated_store(location: Path) -> Store:
    store = Store.create(location, SPACE)
    base = store.apply(put(OVER | UNDER)).version
    over, under = store.stage(put(OVER)), store.stage(put(UNDER))
    assert over is not None
    assert under is not None
    store.commit_gated(over, under, "compact", base)
    return store


def answers(store: Store, version: int | None = None) -> set[tuple[int, int]]:
    return set(store.snapshot(version).match_ids(EVENTS))


def expected(texts: dict[int, str]) -> set[tuple[int, int]]:
    with_x = [(x, id_, text.replace("=", "==")) for x in range(30) for id_, text in texts.items()]
    return {(x, id_) for x, id_, text in with_x if _holds(text, x)}


def _holds(text: str, x: int) -> bool:
    if "BETWEEN" in text:
        low, high = text.split("BETWEEN")[1].split("AND")
        return int(low) <= x <= int(high)
    return bool(eval(text, {"x": x}))


def test_answers_equal_those_of_all_subscriptions(tmp_path: Path) -> None:
    with make_gated_store(tmp_path / "store") as store:
        snapshot = store.snapshot()
        assert [part.gated_by is not None for part in snapshot.live_segments] == [False, True]
        assert answers(store) == expected(OVER | UNDER) == answers(store, 1)
        assert answers(Store.open(tmp_path / "store")) == expected(OVER | UNDER)


def test_a_gated_segment_is_matched_only_with_gating_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with make_gated_store(tmp_path / "store") as store:
        (_, under), event_counts = store.snapshot().live_segments, []
        matching = type(under.subscriptions.index).match

        def counted(self, events, *more, **named):  # type: ignore[no-untyped-def]
            event_counts.append(len(events))
            return matching(self, events, *more, **named)

        monkeypatch.setattr(type(under.subscriptions.index), "match", counted)
        store.snapshot().match(EVENTS)
        assert event_counts == [30, 14]


@given(
    st.lists(
        st.one_of(
            st.dictionaries(st.integers(1, 7), st.integers(0, 29), min_size=1, max_size=3),
            st.sets(st.integers(1, 7), min_size=1, max_size=3),
            st.just("merge"),
        ),
        max_size=6,
    )
)
def test_changes_and_merges_keep_answers_right(tmp_path_factory, steps) -> None:  # type: ignore[no-untyped-def]
    texts = OVER | UNDER
    with make_gated_store(tmp_path_factory.mktemp("arranged") / "store") as store:
        for step in steps:
            if step == "merge":
                while store.merge():
                    pass
            elif isinstance(step, set):
                store.apply(Changes.remove(sorted(step)))
                texts = {k: t for k, t in texts.items() if k not in step}
            else:
                new = {id_: f"x = {value}" for id_, value in step.items()}
                store.apply(put(new))
                texts = texts | new
            assert answers(store) == expected(texts)


def test_a_copied_version_keeps_its_gated_segment(tmp_path: Path) -> None:
    with make_gated_store(tmp_path / "store") as store:
        copy_version(tmp_path / "store", tmp_path / "copy", store.versions[-1], "copied")
    copy = Store.open(tmp_path / "copy")
    assert copy.snapshot().live_segments[1].gated_by == copy.snapshot().live_segments[0].file
    assert answers(copy) == expected(OVER | UNDER)


def test_segments_without_all_subscriptions_are_refused(tmp_path: Path) -> None:
    with Store.create(tmp_path / "store", SPACE) as store:
        base = store.apply(put(OVER | UNDER)).version
        over, under = store.stage(put(OVER)), store.stage(put({3: "x = 3"}))
        assert over is not None
        assert under is not None
        with pytest.raises(StoreError, match=r"have \d subscriptions, but version"):
            store.commit_gated(over, under, "compact", base)
        assert np.array_equal(store.versions, [0, base])
