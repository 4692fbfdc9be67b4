"""Random projections: how many covers they find that are none, and what finding them costs.

The study of the paper at its size: 10,000 balls with centres uniform in the unit cube, radii in
(0, 1) uniform or Pareto by the 80-20 rule, each asked against the other 9,999 on k orthonormal
directions. `false_pairs` is the share found of all pairs that do not cover, `false_found` the share
of found covers that are none. The paper says that it counts the latter; what it reports (below 0.2
from k = 2 on, below 0.1 and 0.03 at d = 20 and k = 6) and its (2/π)^k are about the former: where
hardly any ball covers another, nearly all that is found is false. (papers: projection)
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import Value, interleaved, progress
from covey._jit import kernel
from covey.geometry.projections import Directions, false_cover_probability
from covey.index.projection.index import RandomProjectionIndex
from covey.testing.range_tree import RangeTree, boxes_to_points
from covey.workload import CubeBalls

Floats = NDArray[np.float64]
Law = Literal["uniform", "pareto"]

_LAWS: tuple[Law, ...] = ("uniform", "pareto")
_SHOWN = {4: (1, 2), 8: (1, 2, 4), 12: (1, 2, 4, 6), 16: (1, 2, 4, 8), 20: (1, 2, 4, 6, 10)}
_BALLS, _ASKED, _SEED = 10_000, 500, 0


def _keys() -> dict[str, str]:
    keys = {}
    for law in _LAWS:
        for d, shown in _SHOWN.items():
            for k in shown:
                keys[f"false_pairs_d{d}_k{k}_{law}"] = (
                    "share found of pairs that do not cover; "
                    f"(2/π)^k is {false_cover_probability(k):.4f}"
                )
            keys[f"false_found_d{d}_k{d // 2}_{law}"] = "share of found covers that are none"
    return keys


KEYS = {
    **_keys(),
    "redundant_forwards_d8_k4": "share of covered balls whose first candidate is no cover, uniform",
    "segment_vs_range_tree": "balls/s that find their candidates, segment over range tree, k=2",
    "range_tree_balls_per_s": "of these the range tree's, d=8, Pareto radii",
}


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Sizes are the published ones, `full` or not."""
    results: dict[str, Value] = {}
    studies = [(d, law) for law in _LAWS for d in _SHOWN]
    wanted = [(d, law) for d, law in studies if any(_is_of(key, d, law) for key in only)]
    for done, (d, law) in enumerate(wanted):
        progress(done, len(wanted), "studies")
        results |= _study(d, law)
    if wanted:
        progress(len(wanted), len(wanted), "studies")
    if "redundant_forwards_d8_k4" in only:
        results["redundant_forwards_d8_k4"] = _redundant()
    if only & {"segment_vs_range_tree", "range_tree_balls_per_s"}:
        results |= _against_range_tree()
    return {key: value for key, value in results.items() if key in only}


def _is_of(key: str, d: int, law: str) -> bool:
    return f"_d{d}_" in key and key.endswith(law)


def _study(d: int, law: Law) -> dict[str, Value]:
    """All k of one d in one pass over the pairs."""
    centres, radii = CubeBalls(law, d, seed=_SEED).generate_balls(0, _BALLS)
    projected = centres @ Directions.orthonormal(d // 2, d, _SEED).matrix.T
    order = np.argsort(radii)
    found, true = _count(centres[order], radii[order], projected[order])
    false = found - true
    results: dict[str, Value] = {}
    for k in _SHOWN[d]:
        pairs = _BALLS * (_BALLS - 1) - true
        results[f"false_pairs_d{d}_k{k}_{law}"] = round(float(false[k] / pairs), 6)
    share = float(false[-1] / max(1, found[-1]))
    results[f"false_found_d{d}_k{d // 2}_{law}"] = round(share, 5)
    return results


@kernel
def _count(centres: Floats, radii: Floats, projected: Floats) -> Any:
    """Of pairs by ascending radius: how many cover on the first k directions, and how many do."""
    n, most = projected.shape
    upto = np.zeros(most + 1, np.int64)  # pairs that cover on so many directions, and not the next
    true = 0
    for i in range(n):
        for j in range(i):
            gap, k = radii[i] - radii[j], 0
            while k < most and abs(projected[i, k] - projected[j, k]) <= gap:
                k += 1
            upto[k] += 1
            if k == most:
                square = 0.0
                for x in range(centres.shape[1]):
                    square += (centres[i, x] - centres[j, x]) ** 2
                true += square <= gap * gap
    return np.cumsum(upto[::-1])[::-1], true


def _redundant() -> float:
    """Verified one candidate each, as the paper does: of 500 further balls."""
    balls = CubeBalls("uniform", 8, seed=_SEED)
    index = RandomProjectionIndex.build(
        balls.generate_regions(0, _BALLS), direction_count=4, seed=_SEED
    )
    asked = balls.generate_regions(_BALLS, _BALLS + _ASKED)
    counted = index.measure_false_covers(asked)
    covered = len(np.unique(index.find_covering(asked, limit=1).query_rows))
    return round(counted.redundant / max(1, covered), 4)


def _against_range_tree() -> dict[str, Value]:
    """The same boxes in both, the same balls asked; both only propose."""
    balls = CubeBalls("pareto", 8, seed=_SEED)
    stored, asked = (
        balls.generate_regions(0, _BALLS),
        balls.generate_regions(_BALLS, _BALLS + _ASKED),
    )
    index = RandomProjectionIndex.build(stored, direction_count=2, seed=_SEED)
    directions = Directions.orthonormal(2, 8, _SEED)
    tree = RangeTree.build(
        boxes_to_points(*directions.project_outer_balls(*balls.generate_balls(0, _BALLS)))
    )
    points = boxes_to_points(
        *directions.project_balls(*balls.generate_balls(_BALLS, _BALLS + _ASKED))
    )
    index.propose_covering(asked)
    seconds = interleaved(
        5,
        segment=partial(index.propose_covering, asked),
        tree=lambda: [tree.find_dominating(point) for point in points],
    )
    return {
        "segment_vs_range_tree": round(seconds["tree"] / seconds["segment"], 1),
        "range_tree_balls_per_s": round(_ASKED / seconds["tree"]),
    }
