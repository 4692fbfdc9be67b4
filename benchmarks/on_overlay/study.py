"""The study of the can paper: replicas, load and visited nodes, PURE and SMART (Figs 4 to 7).

1,000 nodes, 10,000 and 50,000 balls with r_max 0.5, 10,000 uniform events; k = 2 … 5 directions,
d = 4, 8, uniform and Pareto radii. The timer holds subscribing both ways, and all events. All
figures go to `benchmarks/output/can.json`, and as a picture to `can.png`.
"""

from __future__ import annotations

import json
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Value, progress
from benchmarks.on_overlay.static_placement import build_random_zones, place_statically
from covey.overlay.can.projection import CubeProjection
from covey.space import Events
from covey.space.events import VectorColumn
from covey.workload import CubeBalls

__all__ = ["KEYS", "run"]

_NODES, _COUNTS, _EVENTS, _R_MAX = 1_000, (10_000, 50_000), 10_000, 0.5
_KS, _DS, _LAWS = (2, 3, 4, 5), (4, 8), ("uniform", "pareto")
_OUTPUT = Path(__file__).parent.parent / "output"

KEYS = {
    "can_saved_k2": "least share of replicas that SMART saves, uniform, k = 2; 10,000 and 50,000",
    "can_saved_k5_d8": "the same at k = 5, d = 8",
    "can_saved_pareto": "the same, Pareto, any k and d",
    "can_copies_most": "most copies of a subscription on average, SMART, uniform",
    "can_visited_k2": "most nodes an event visits on average, k = 2: uniform, Pareto",
    "can_visited_k3_up": "the same for larger k",
    "can_slowest_s": "seconds for the slowest of all configurations of 50,000",
}

Figures = dict[str, Any]
Floats = NDArray[np.float64]


def run(setting: object, only: frozenset[str]) -> dict[str, Value]:
    """All configurations, one after another."""
    asked = list(product(_LAWS, _DS, _KS, _COUNTS))
    found = []
    for done, (law, d, k, count) in enumerate(asked):
        progress(done, len(asked), "configurations")
        found.append(_figures(law, d, k, count))
    progress(len(asked), len(asked), "configurations")
    _OUTPUT.mkdir(exist_ok=True)
    (_OUTPUT / "can.json").write_text(json.dumps(found, indent=1), encoding="utf-8")
    draw(found, _OUTPUT / "can.png")
    return _summary(found)


def _figures(law: Any, d: int, k: int, count: int) -> Figures:
    """One configuration, both ways."""
    workload, cube = (
        CubeBalls(law, d, _R_MAX),
        CubeProjection.build_random(k, d, max_radius=_R_MAX, seed=1),
    )
    centres, radii = workload.generate_balls(0, count)
    events = points(workload, _EVENTS)
    zones = build_random_zones(_NODES, k, seed=1)
    start = time.perf_counter()
    boxes, middles = cube.project_balls(centres, radii), cube.project_points(centres)
    pure, smart = (
        place_statically(zones, boxes, middles, cube.project_points(events), is_smart)
        for is_smart in (False, True)
    )
    seconds = time.perf_counter() - start
    return {
        "law": law, "d": d, "k": k, "subscriptions": count, "seconds": round(seconds, 2),
        "pure": round(float(pure.copies.mean()), 2), "smart": round(float(smart.copies.mean()), 2),
        "pure_deviation": round(float(pure.load.std()), 1),
        "smart_deviation": round(float(smart.load.std()), 1),
        "visited": round(float(smart.visited_nodes.mean()), 1),
    }  # fmt: skip


def points(workload: CubeBalls, count: int) -> Floats:
    """A workload's events."""
    column = Events.from_arrow(workload.generate_events(0, count), workload.space)["position"]
    assert isinstance(column, VectorColumn)
    return column.matrix.astype(np.float64)


def _summary(found: list[Figures]) -> dict[str, Value]:
    def saved(some: list[Figures]) -> float:
        return round(float(min(1 - one["smart"] / one["pure"] for one in some)), 3)

    def by_count(**wanted: object) -> str:
        return " ".join(
            str(saved(_chosen(found, subscriptions=count, **wanted))) for count in _COUNTS
        )

    def visited(ks: tuple[int, ...]) -> str:
        return " ".join(
            str(max(one["visited"] for one in _chosen(found, law=law) if one["k"] in ks))
            for law in _LAWS
        )

    return {
        "can_saved_k2": by_count(law="uniform", k=2),
        "can_saved_k5_d8": by_count(law="uniform", k=5, d=8),
        "can_saved_pareto": by_count(law="pareto"),
        "can_copies_most": max(one["smart"] for one in _chosen(found, law="uniform")),
        "can_visited_k2": visited((2,)),
        "can_visited_k3_up": visited((3, 4, 5)),
        "can_slowest_s": max(o["seconds"] for o in _chosen(found, subscriptions=_COUNTS[-1])),
    }


def _chosen(found: list[Figures], **wanted: object) -> list[Figures]:
    return [one for one in found if all(one[name] == value for name, value in wanted.items())]


def draw(found: list[Figures], path: Path) -> None:
    """A picture: replicas, deviation of the load, visited nodes, by k."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 9), layout="constrained")
    rows = [("replicas per subscription", ("pure", "smart")),
            ("standard deviation of the load", ("pure_deviation", "smart_deviation")),
            ("nodes visited per event, SMART", ("visited",))]  # fmt: skip
    for row, (title, names) in enumerate(rows):
        for column, law in enumerate(_LAWS):
            axes = figure.add_subplot(3, 2, 1 + 2 * row + column)
            for d, name, count in product(_DS, names, _COUNTS):
                some = _chosen(found, law=law, d=d, subscriptions=count)
                label = f"{name.split('_')[0].upper() if row < 2 else 'SMART'}, d={d}, {count:,}"
                axes.plot(
                    [one["k"] for one in some], [one[name] for one in some], marker="o",
                    linestyle="-" if count == _COUNTS[0] else "--", label=label,
                )  # fmt: skip
            axes.set_title(f"{title}, {law}", loc="left", fontsize=10)
            axes.set_xticks(_KS)
            axes.set_ylim(bottom=0)
            axes.set_xlabel("k")
            axes.legend(fontsize=6)
    figure.savefig(path, dpi=120)
