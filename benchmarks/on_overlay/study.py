"""The study of the can paper: replicas, load and visited nodes, PURE and SMART (Figs 4 to 7).

There are 1,000 nodes, 10,000 and 50,000 balls with radii up to 0.5, and 10,000 uniform events, with
k = 2 to 5 directions, d = 4 and 8, and uniform and Pareto radii. The time is that of placing all
subscriptions with PURE and with SMART, and of all events. All results are written to
`benchmarks/output/can.json`, and as a plot to `can.png`.
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
    "can_saved_k2": "smallest share of replicas saved by SMART, uniform, k = 2; 10,000 and 50,000",
    "can_saved_k5_d8": "share of replicas saved by SMART, uniform, k = 5, d = 8; 10,000 and 50,000",
    "can_saved_pareto": "smallest share of replicas saved by SMART, Pareto; 10,000 and 50,000",
    "can_copies_most": "largest mean number of copies of a subscription, SMART, uniform",
    "can_visited_k2": "largest mean number of nodes that an event visits, k = 2: uniform, Pareto",
    "can_visited_k3_up": "largest mean number of visited nodes, k = 3 to 5: uniform, Pareto",
    "can_slowest_s": "seconds of the slowest configuration with 50,000 subscriptions",
}

Figures = dict[str, Any]
Floats = NDArray[np.float64]


def run(setting: object, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of all configurations, which run one after another."""
    configurations = list(product(_LAWS, _DS, _KS, _COUNTS))
    figures = []
    for done, (law, d, k, count) in enumerate(configurations):
        progress(done, len(configurations), "configurations")
        figures.append(_figures(law, d, k, count))
    progress(len(configurations), len(configurations), "configurations")
    _OUTPUT.mkdir(exist_ok=True)
    (_OUTPUT / "can.json").write_text(json.dumps(figures, indent=1), encoding="utf-8")
    draw(figures, _OUTPUT / "can.png")
    return _summary(figures)


def _figures(law: Any, d: int, k: int, count: int) -> Figures:
    """Return the results of one configuration with PURE and with SMART."""
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
    """Return the points of a workload's first `count` events, one per row."""
    column = Events.from_arrow(workload.generate_events(0, count), workload.space)["position"]
    assert isinstance(column, VectorColumn)
    return column.matrix.astype(np.float64)


def _summary(found: list[Figures]) -> dict[str, Value]:
    def saved(rows: list[Figures]) -> float:
        return round(float(min(1 - row["smart"] / row["pure"] for row in rows)), 3)

    def by_count(**parameters: object) -> str:
        return " ".join(
            str(saved(_chosen(found, subscriptions=count, **parameters))) for count in _COUNTS
        )

    def visited(ks: tuple[int, ...]) -> str:
        return " ".join(
            str(max(row["visited"] for row in _chosen(found, law=law) if row["k"] in ks))
            for law in _LAWS
        )

    return {
        "can_saved_k2": by_count(law="uniform", k=2),
        "can_saved_k5_d8": by_count(law="uniform", k=5, d=8),
        "can_saved_pareto": by_count(law="pareto"),
        "can_copies_most": max(row["smart"] for row in _chosen(found, law="uniform")),
        "can_visited_k2": visited((2,)),
        "can_visited_k3_up": visited((3, 4, 5)),
        "can_slowest_s": max(row["seconds"] for row in _chosen(found, subscriptions=_COUNTS[-1])),
    }


def _chosen(found: list[Figures], **wanted: object) -> list[Figures]:
    """Return the results of the configurations with the given parameters."""
    return [row for row in found if all(row[name] == value for name, value in wanted.items())]


def draw(found: list[Figures], path: Path) -> None:
    """Plot replicas, the deviation of the load, and visited nodes by k into a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 9), layout="constrained")
    rows = [("replicas per subscription", ("pure", "smart")),
            ("standard deviation of the load", ("pure_deviation", "smart_deviation")),
            ("nodes visited per event, SMART", ("visited",))]  # fmt: skip
    for row, (title, names) in enumerate(rows):
        for column, law in enumerate(_LAWS):
            axes = figure.add_subplot(3, 2, 1 + 2 * row + column)
            for d, name, count in product(_DS, names, _COUNTS):
                points = _chosen(found, law=law, d=d, subscriptions=count)
                label = f"{name.split('_')[0].upper() if row < 2 else 'SMART'}, d={d}, {count:,}"
                axes.plot(
                    [point["k"] for point in points], [point[name] for point in points], marker="o",
                    linestyle="-" if count == _COUNTS[0] else "--", label=label,
                )  # fmt: skip
            axes.set_title(f"{title}, {law}", loc="left", fontsize=10)
            axes.set_xticks(_KS)
            axes.set_ylim(bottom=0)
            axes.set_xlabel("k")
            axes.legend(fontsize=6)
    figure.savefig(path, dpi=120)
