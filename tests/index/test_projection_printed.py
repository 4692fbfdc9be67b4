"""Rules of the paper as printed, what they lose, and that the index does not lose it.

A ball is (centre, radius). A subscription is "withheld" if it is not forwarded because a stored one
seems to cover it; if none does, its events are lost. (papers: projection)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from covey.geometry import Regions
from covey.index.projection.index import RandomProjectionIndex
from covey.space import Events, Space
from covey.workload.constraints import BallColumn, build_regions

Centre = tuple[float, ...]
Disc = tuple[Centre, float]


def _apart(a: Disc, b: Disc) -> float:
    return float(np.linalg.norm(np.subtract(a[0], b[0])))


def _point(ball: Disc, directions: Sequence[Centre]) -> list[float]:
    """Return the point of a ball as printed: both ends on each direction, the upper one negated."""
    (s, r), points = ball, []
    for u in directions:
        points += [float(np.dot(u, s)) - r, -float(np.dot(u, s)) - r]
    return points


def _in_range(p: Sequence[float], q: Sequence[float]) -> bool:
    """Return True if p is in the range that begins at q: as printed, p is a "dominating" point."""
    return all(a >= b for a, b in zip(p, q, strict=True))


def _regions(balls: Sequence[Disc]) -> Regions:
    centres = np.array([centre for centre, _ in balls], np.float32)
    radii = np.array([radius for _, radius in balls], np.float32)
    return build_regions(_space(centres.shape[1]), [[BallColumn("position", centres, radii)]])


def _space(d: int) -> Space:
    return Space.from_types({"position": pa.list_(pa.float32())}, vectors={"position": d})


def _is_withheld(stored: Sequence[Disc], new: Disc) -> bool:
    """Return True if the index finds a cover of the new ball."""
    return bool(
        len(RandomProjectionIndex.build(_regions(stored)).find_covering(_regions([new]), limit=1))
    )


AXIS = [(1.0,)]


def test_a_search_after_the_insertion_finds_the_new_subscription_itself() -> None:
    def is_withheld_as_printed(stored: list[Disc], new: Disc) -> bool:
        stored = [*stored, new]
        new_point = _point(new, AXIS)
        found = [ball for ball in stored if _in_range(new_point, _point(ball, AXIS))]
        return any(_apart(ball, new) <= ball[1] - new[1] for ball in found)

    far, new = ((9.0,), 1.0), ((0.0,), 1.0)
    assert is_withheld_as_printed([far], new)
    assert not _is_withheld([far], new)
    assert _is_withheld([far, ((0.5,), 2.0)], new)


def test_the_printed_range_and_check_confuse_covered_with_covering() -> None:
    def is_withheld_as_printed(stored: list[Disc], new: Disc) -> bool:
        new_point = _point(new, AXIS)
        found = [ball for ball in stored if _in_range(_point(ball, AXIS), new_point)]
        return any(_apart(ball, new) <= new[1] - ball[1] for ball in found)

    small, large = ((0.0,), 0.1), ((0.0,), 1.0)
    assert is_withheld_as_printed([small], large)
    assert not is_withheld_as_printed([large], small)
    assert not _is_withheld([small], large)
    assert _is_withheld([large], small)


def test_equal_subscriptions_withhold_each_other_when_their_cover_is_cancelled() -> None:
    """The cover withheld both; events in both must reach a neighbour."""
    cover, one, two = ((0.0, 0.0), 5.0), ((1.0, 0.0), 1.0), ((1.0, 0.0), 1.0)

    def advertised_as_printed(left: list[Disc]) -> list[Disc]:
        """Return the dominated subscriptions that no other stored one covers."""
        return [
            ball
            for i, ball in enumerate(left)
            if not any(_apart(o, ball) <= o[1] - ball[1] for j, o in enumerate(left) if j != i)
        ]

    def advertised_one_after_another(left: list[Disc]) -> list[Disc]:
        advertised: list[Disc] = []
        for ball in left:
            if not advertised or not _is_withheld(advertised, ball):
                advertised.append(ball)
        return advertised

    dependants = RandomProjectionIndex.build(_regions([cover, one, two])).find_covered(
        _regions([cover])
    )
    assert dependants.stored_rows.tolist() == [0, 1, 2]
    place = pa.array([[1.5, 0.0]], pa.list_(pa.float32()))
    event = Events.from_arrow(pa.table({"position": place}), _space(2))
    assert advertised_as_printed([one, two]) == []
    again = advertised_one_after_another([one, two])
    assert again == [one]
    assert len(RandomProjectionIndex.build(_regions(again)).match(event)) == 1


@pytest.mark.parametrize(
    ("kind", "u"), [("signs", (1.0, 1.0)), ("sparse", (3**0.5, 0.0))], ids=["signs", "sparse"]
)
def test_intervals_of_the_plain_radius_miss_covers_on_longer_vectors(kind: str, u: Centre) -> None:
    """On u = (1, 1), the cover of radius 1 reaches to √2 and not to 1."""
    cover = ((0.0, 0.0), 1.0)
    inner = ((0.6, 0.6), 0.1) if kind == "signs" else ((0.8, 0.0), 0.1)
    assert _apart(cover, inner) <= cover[1] - inner[1]
    assert not _in_range(_point(inner, [u]), _point(cover, [u]))
    for seed in range(20):
        index = RandomProjectionIndex.build(
            _regions([cover]), direction_count=2, kind=kind, seed=seed
        )  # type: ignore[arg-type]
        assert list(index.find_covering(_regions([inner]))) == [(0, 0)]


def test_verifying_only_one_candidate_forwards_redundant_subscriptions() -> None:
    """No event is lost. On each direction near the line through the centres both seem to cover."""
    new, cover = ((0.0, 0.0), 0.1), ((0.0, 0.0), 1.0)
    beside = [((x, y), 1.0) for x in (-0.95, 0.95) for y in (-0.95, 0.95)]
    seen = [
        RandomProjectionIndex.build(_regions([*beside, cover]), direction_count=1, seed=seed)
        for seed in range(20)
    ]
    counted = [index.measure_false_covers(_regions([new])) for index in seen]
    assert {c.covers for c in counted} == {1}
    assert sum(c.candidates for c in counted) > 20
    assert sum(c.redundant for c in counted) > 0
    assert all(list(index.find_covering(_regions([new]), limit=1)) == [(0, 4)] for index in seen)
