"""Balls: events per second of clusters beside a matrix product and FAISS, on three kinds of data.

200,000 balls in 384 dimensions of the workload `watches`; as many whose centres are uniform on the
sphere, so that there is nothing to prune; and embeddings of 57,344 real sentences, with radii of
their own for about 5 matches an event. One thread in one process for everyone, medians of turns.

Timers of covey include everything from a matrix of events to exact pairs, Spark's own arithmetic on
all that is proposed among it. The matrix product is compared with thresholds tile by tile (the best
of some tile sizes) and its pairs near a threshold are left undecided. FAISS searches all balls with
the largest radius and then each result is held to its own. These two get a part of the batch, and
both of them unit vectors, which they rely on and covey does not.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from benchmarks.embeddings import PACKAGE, embeddings, is_available
from benchmarks.harness import Value, interleaved
from covey.geometry.balls import Balls
from covey.geometry.distances import score_pairs
from covey.index.segment.balls.ball_clusters import BallClusters
from covey.space import Events
from covey.space.events import VectorColumn
from covey.space.keys import decode_floats, encode_floats
from covey.space.types import FLOAT
from covey.workload import create_workload

Matrix = NDArray[np.float32]

KEYS = {
    "balls_events_per_s": "events per second on watches, batches of 8,192",
    "balls_vs_gemm": "the same against a matrix product and thresholds",
    "balls_large_vs_gemm": "the same in batches of 20,000",
    "balls_vs_faiss": "the same against FAISS's exact range search (batches of 8,192)",
    "balls_matches_per_event": "balls of watches that hold an event",
    "balls_build_s": "seconds of a core to build the clusters of watches",
    "balls_uniform_vs_gemm": "uniform directions against a matrix product",
    "balls_uniform_matches_per_event": "balls round them that hold an event",
    "balls_real_vs_gemm": "sentence embeddings against a matrix product",
    "balls_real_matches_per_event": "balls round them that hold an event",
}

_LENGTH = 384
_BATCH, _LARGE = 8_192, 20_000
_GEMM_EVENTS, _FAISS_EVENTS = 1_024, 1_024  # per turn; FAISS is slower with fewer
_REPEATS = 7
_TILES = ((256, 2048), (512, 2048), (512, 8192), (1024, 4096))
_OWN = (0.8, 1.1)  # radii of real balls are the usual one times a factor from here
_EVEN = (0.98, 1.02)  # and of uniform ones: small balls would be pruned after all
_MATCHES = 5.0
_CHECKED = 256  # events whose pairs are compared with brute force
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """In a process of its own, since the number of threads is read when NumPy is loaded."""
    _check_packages(only, full)
    asked = json.dumps([sorted(only), full])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.balls", asked],
        env={**os.environ, **dict.fromkeys(_ONE_THREAD, "1")},
        cwd=Path(__file__).parent.parent, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    measured: dict[str, Value] = json.loads(done.stdout)
    return {key: measured[key] for key in measured if key in only}


def _check_packages(only: frozenset[str], full: bool) -> None:
    missing = []
    if "balls_vs_faiss" in only and importlib.util.find_spec("faiss") is None:
        missing.append("balls_vs_faiss needs the package faiss-cpu")
    real = sorted(key for key in only if key.startswith("balls_real"))
    if real and not is_available(_real_count(full)):
        missing.append(f"{' and '.join(real)} need the package {PACKAGE}")
    if missing:
        raise SystemExit(f"{'; '.join(missing)}: install it, or ask for other keys with --only")


def _measured(only: frozenset[str], full: bool) -> dict[str, Value]:
    kinds: dict[str, Callable[[frozenset[str], bool], dict[str, Value]]] = {
        "balls_uniform": _uniform, "balls_real": _real,
    }  # fmt: skip
    results: dict[str, Value] = {}
    rest = only
    for start, measure in kinds.items():
        mine = frozenset(key for key in only if key.startswith(start))
        rest -= mine
        if mine:
            results |= measure(mine, full)
    return (results | _watches(rest, full)) if rest else results


def _watches(only: frozenset[str], full: bool) -> dict[str, Value]:
    workload = create_workload("watches")
    given = workload.generate_regions(0, 200_000 if full else 20_000).constraints["embedding"].batch
    column = Events.from_arrow(workload.generate_events(0, _LARGE), workload.space)["embedding"]
    assert isinstance(given, Balls)
    assert isinstance(column, VectorColumn)
    case = _Case.of(given.centres, given.upper, column.matrix)
    results: dict[str, Value] = {"balls_build_s": round(case.build_s, 1)}
    if only - {"balls_build_s"}:
        faiss = "balls_vs_faiss" in only
        seconds, matches = case.seconds(_BATCH, faiss)
        results |= {
            "balls_events_per_s": round(1 / seconds["covey"]),
            "balls_vs_gemm": round(seconds["gemm"] / seconds["covey"], 1),
            "balls_matches_per_event": round(matches, 2),
        }
        if faiss:
            results["balls_vs_faiss"] = round(seconds["faiss"] / seconds["covey"], 1)
    if "balls_large_vs_gemm" in only:
        seconds, _ = case.seconds(_LARGE)
        results["balls_large_vs_gemm"] = round(seconds["gemm"] / seconds["covey"], 1)
    return results


def _uniform(only: frozenset[str], full: bool) -> dict[str, Value]:
    random = np.random.default_rng(0)
    count = 200_000 if full else 20_000
    vectors = random.standard_normal((count + _BATCH, _LENGTH), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return _on_sphere("balls_uniform", vectors, random.uniform(*_EVEN, count))


def _real(only: frozenset[str], full: bool) -> dict[str, Value]:
    vectors = embeddings(_real_count(full))
    own = np.random.default_rng(0).uniform(*_OWN, len(vectors) - _real_events(full))
    return _on_sphere("balls_real", vectors, own)


def _real_count(full: bool) -> int:
    return 8 * _real_events(full)


def _real_events(full: bool) -> int:
    return _BATCH if full else 1_024


def _on_sphere(name: str, vectors: Matrix, own: NDArray[np.float64]) -> dict[str, Value]:
    """Balls round the last vectors, with radii for some matches an event; the others are events."""
    events, centres = vectors[: -len(own)], vectors[-len(own) :]
    radius = _radius(events[:512] @ centres.T, own)
    upper = encode_floats((radius * own).astype(np.float32))
    seconds, matches = _Case.of(centres, upper, events).seconds(len(events))
    return {
        f"{name}_vs_gemm": round(seconds["gemm"] / seconds["covey"], 2),
        f"{name}_matches_per_event": round(matches, 2),
    }


def _radius(cosines: Matrix, own: NDArray[np.float64]) -> float:
    """The radius at which, times its factor, balls have `_MATCHES` of these events."""
    low, high = 0.0, 2.0
    for _ in range(20):
        middle = (low + high) / 2
        few = (cosines >= _thresholds(middle * own)).sum() < _MATCHES * len(cosines)
        low, high = (middle, high) if few else (low, middle)
    return low


def _thresholds(radii: NDArray[np.float64]) -> Matrix:
    """The least inner product of unit vectors so far apart."""
    return (1 - radii**2 / 2).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Case:
    """Balls of unit vectors, in clusters and not, and events."""

    centres: Matrix
    upper: NDArray[np.int64]
    events: Matrix
    clusters: BallClusters
    build_s: float

    @classmethod
    def of(cls, centres: Matrix, upper: NDArray[np.int64], events: Matrix) -> _Case:
        start = time.process_time()
        zeros = np.zeros(len(centres), np.int64)
        clusters = BallClusters.build(zeros.astype(np.uint8), centres, zeros, upper)
        return cls(centres, upper, events, clusters, time.process_time() - start)

    def seconds(self, batch: int, faiss: bool = False) -> tuple[dict[str, float], float]:
        """Seconds per event of each contender, and matches per event."""
        radii = decode_floats(self.upper, FLOAT).astype(np.float64)
        thresholds = _thresholds(radii)
        self._check(thresholds)
        events = self.events[:batch]
        part, tile = events[:_GEMM_EVENTS], self._best_tile(thresholds)
        runs: dict[str, Callable[[], Any]] = {
            "covey": lambda: self.clusters.find_containing(events),
            "gemm": lambda: _gemm(part, self.centres, thresholds, tile),
        }
        counts = {"covey": len(events), "gemm": len(part)}
        if faiss:
            few = events[:_FAISS_EVENTS]
            index = _faiss(self.centres)
            runs["faiss"] = lambda: _range_search(index, few, radii)
            counts["faiss"] = len(few)
            runs["faiss"]()
        matches = len(self.clusters.find_containing(events)[0]) / len(events)
        taken = interleaved(_REPEATS, **runs)
        return {name: taken[name] / counts[name] for name in taken}, matches

    def _check(self, thresholds: Matrix) -> None:
        """Some pairs against brute force; compiles and warms up as well."""
        some = self.events[:_CHECKED]
        asked, stored = _gemm(some, self.centres, thresholds - np.float32(1e-4), _TILES[0])
        zeros = np.zeros(len(self.centres), np.uint8)
        keys = encode_floats(score_pairs(zeros, some, asked, self.centres, stored)[0])
        held = keys <= self.upper[stored]
        expected = set(zip(asked[held].tolist(), stored[held].tolist(), strict=True))
        found = self.clusters.find_containing(some)
        if set(zip(found[0].tolist(), found[1].tolist(), strict=True)) != expected:
            raise RuntimeError("clusters and brute force differ")

    def _best_tile(self, thresholds: Matrix) -> tuple[int, int]:
        part = self.events[:_GEMM_EVENTS]
        runs = {
            f"{tile[0]}_{tile[1]}": lambda tile=tile: _gemm(part, self.centres, thresholds, tile)
            for tile in _TILES
        }
        taken = interleaved(3, **runs)
        rows, columns = min(taken, key=taken.__getitem__).split("_")
        return int(rows), int(columns)


def _gemm(
    events: Matrix, centres: Matrix, thresholds: Matrix, tile: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs whose inner product is at least the ball's threshold."""
    rows, columns = tile
    found = []
    for start in range(0, len(events), rows):
        for first in range(0, len(centres), columns):
            balls = slice(first, first + columns)
            marks = _marks(events[start : start + rows] @ centres[balls].T, thresholds[balls])
            asked, stored = np.divmod(np.flatnonzero(marks), marks.shape[1])
            found.append((asked + start, stored + first))
    return np.concatenate([a for a, _ in found]), np.concatenate([s for _, s in found])


@njit(cache=True, nogil=True)
def _marks(products: Matrix, thresholds: Matrix) -> Any:
    marks = np.empty(products.shape, np.bool_)
    for i in range(products.shape[0]):
        for j in range(products.shape[1]):
            marks[i, j] = products[i, j] >= thresholds[j]
    return marks


def _faiss(centres: Matrix) -> Any:
    faiss = importlib.import_module("faiss")
    faiss.omp_set_num_threads(1)
    index = faiss.IndexFlatL2(centres.shape[1])
    index.add(centres)
    return index


def _range_search(index: Any, events: Matrix, radii: NDArray[np.float64]) -> Any:
    """Pairs of an event and a ball; FAISS takes the square of one radius for all."""
    squares = radii.astype(np.float32) ** 2
    limits, distances, stored = index.range_search(events, float(squares.max()))
    kept = distances <= squares[stored]
    asked = np.repeat(np.arange(len(events)), np.diff(limits.astype(np.int64)))
    return asked[kept], stored[kept]


if __name__ == "__main__":
    asked, at_full_size = json.loads(sys.argv[1])
    print(json.dumps(_measured(frozenset(asked), at_full_size)))
