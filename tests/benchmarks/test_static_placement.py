"""Static placement of subscriptions, compared with a network that sends messages."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.on_overlay.static_placement import build_random_zones, place_statically
from covey.overlay.can.network import BallWorkload, CanNetwork
from covey.overlay.can.projection import CubeProjection
from covey.overlay.can.zones import CanZone


@pytest.mark.parametrize("smart", [False, True])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_the_static_placement_equals_that_of_the_network(k: int, smart: bool) -> None:
    balls, cube = (
        BallWorkload.build_random(150, 60, 4, 0.5, k),
        CubeProjection.build_random(k, 4, max_radius=0.5, seed=k),
    )
    low, high = build_random_zones(20, k, seed=k)
    zones = [CanZone(tuple(a), tuple(b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    network = CanNetwork.from_zones(balls, cube, zones, smart=smart)
    for id_ in range(150):
        network.subscribe(id_ % 20, id_)
        network.simulator.run()
    placement = place_statically(
        (low, high),
        cube.project_balls(balls.centres, balls.radii),
        cube.project_points(balls.centres),
        cube.project_points(balls.events),
        smart,
    )
    replicas = [set(node.replicas.by_id) for node in network.nodes.values()]
    for id_ in range(150):
        assert placement.is_root[id_] == any(id_ in ids for ids in replicas)
        if placement.is_root[id_]:
            assert placement.copies[id_] == sum(id_ in ids for ids in replicas)
        else:
            assert placement.copies[id_] == 1
    assert placement.load.sum() == placement.copies.sum()
    for event in range(60):
        before = network.simulator.sent_counts["NotifyRoots"]
        owner = next(
            n for n, zone in enumerate(zones) if zone.contains(tuple(network.locate_event(event)))
        )
        network.publish(owner, event)
        network.simulator.run()
        assert (
            placement.visited_nodes[event]
            == 1 + network.simulator.sent_counts["NotifyRoots"] - before
        )


def test_random_zones_divide_the_cube_and_depend_on_the_seed() -> None:
    low, high = build_random_zones(100, 3, seed=1)
    assert np.prod(high - low, axis=1).sum() == 1
    assert (build_random_zones(100, 3, seed=1)[0] == low).all()
    assert (build_random_zones(100, 3, seed=2)[0] != low).any()


def test_more_subscriptions_need_fewer_copies_each() -> None:
    cube, zones = (
        CubeProjection.build_random(2, 4, max_radius=0.5, seed=1),
        build_random_zones(100, 2, seed=1),
    )
    copies = []
    for count in (200, 2000):
        balls = BallWorkload.build_random(count, 1, 4, 0.5, 3)
        means = [
            place_statically(
                zones,
                cube.project_balls(balls.centres, balls.radii),
                cube.project_points(balls.centres),
                cube.project_points(balls.events),
                smart,
            ).copies.mean()
            for smart in (False, True)
        ]
        copies.append(means)
    assert copies[0][0] == pytest.approx(copies[1][0], rel=0.1)
    assert copies[1][1] < 0.8 * copies[0][1]
