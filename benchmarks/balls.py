"""Balls: events per second of clusters, of a matrix product and of FAISS, on three kinds of data.

The data are 200,000 balls in 384 dimensions of the workload `watches`; 200,000 balls whose centres
are uniform on the sphere, so that nothing can be pruned; and embeddings of 57,344 real sentences,
with radii that give about 5 matches per event. covey and the two other methods have one
thread in one process. They run in turns, and medians are compared.

The time of covey includes everything from a matrix of events to exact pairs, also the verification
of all candidates with Spark's arithmetic. The matrix product is compared with thresholds tile by
tile (with the best of several tile sizes), and its pairs near a threshold are not verified. FAISS
searches all balls with the largest radius, then each result is compared with the radius of its
ball. These two methods get only a part of the batch, and work only for unit vectors; covey has no
such limit.
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
    "balls_events_per_s": "events/s on watches, batches of 8,192",
    "balls_vs_gemm": "events/s on watches, relative to a matrix product with thresholds",
    "balls_large_vs_gemm": "events/s on watches in batches of 20,000, relative to a matrix product",
    "balls_vs_faiss": "events/s on watches, relative to FAISS's exact range search",
    "balls_matches_per_event": "balls of watches that contain an event, mean",
    "balls_build_s": "CPU seconds to build the clusters of watches",
    "balls_uniform_vs_gemm": "events/s on uniform directions, relative to a matrix product",
    "balls_uniform_matches_per_event": "balls with uniform directions that contain an event, mean",
    "balls_real_vs_gemm": "events/s on sentence embeddings, relative to a matrix product",
    "balls_real_matches_per_event": "balls around sentence embeddings that contain an event, mean",
}

_LENGTH = 384
_BATCH, _LARGE = 8_192, 20_000
_GEMM_EVENTS, _FAISS_EVENTS = 1_024, 1_024  # per turn; FAISS is slower with fewer
_REPEATS = 7
_TILES = ((256, 2048), (512, 2048), (512, 8192), (1024, 4096))
_OWN = (0.8, 1.1)  # range of the factor by which the radius of a real ball is multiplied
_EVEN = (0.98, 1.02)  # the same for uniform balls: smaller balls would be pruned
_MATCHES = 5.0  # balls that contain an event, on average
_CHECKED = 256  # events whose pairs are compared with brute force
_ONE_THREAD = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "OMP_NUM_THREADS")


def run(only: frozenset[str], full: bool) -> dict[str, Value]:
    """Return the results for the keys in `only`; without `full`, at smaller sizes.

    They are measured in a separate process, because NumPy reads the number of threads when it is
    loaded.
    """
    _check_packages(only, full)
    arguments = json.dumps([sorted(only), full])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.balls", arguments],
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
        raise SystemExit(f"{'; '.join(missing)}: install it, or choose other keys with --only")


def _measured(only: frozenset[str], full: bool) -> dict[str, Value]:
    kinds: dict[str, Callable[[frozenset[str], bool], dict[str, Value]]] = {
        "balls_uniform": _uniform, "balls_real": _real,
    }  # fmt: skip
    results: dict[str, Value] = {}
    other_keys = only
    for prefix, measure in kinds.items():
        keys = frozenset(key for key in only if key.startswith(prefix))
        other_keys -= keys
        if keys:
            results |= measure(keys, full)
    return (results | _watches(other_keys, full)) if other_keys else results


def _watches(only: frozenset[str], full: bool) -> dict[str, Value]:
    workload = create_workload("watches")
    count = 200_000 if full else 20_000
    batch = workload.generate_regions(0, count).constraints["embedding"].batch
    column = Events.from_arrow(workload.generate_events(0, _LARGE), workload.space)["embedding"]
    assert isinstance(batch, Balls)
    assert isinstance(column, VectorColumn)
    case = _Case.of(batch.centres, batch.upper, column.matrix)
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
    """Return the results for balls whose centres are the last vectors; the others are events.

    The radius of a ball is a common radius times its factor in `own`. The common radius is chosen
    so that an event has `_MATCHES` matches on average.
    """
    events, centres = vectors[: -len(own)], vectors[-len(own) :]
    radius = _radius(events[:512] @ centres.T, own)
    upper = encode_floats((radius * own).astype(np.float32))
    seconds, matches = _Case.of(centres, upper, events).seconds(len(events))
    return {
        f"{name}_vs_gemm": round(seconds["gemm"] / seconds["covey"], 2),
        f"{name}_matches_per_event": round(matches, 2),
    }


def _radius(cosines: Matrix, own: NDArray[np.float64]) -> float:
    """Return the common radius for which an event is in `_MATCHES` balls on average.

    The radius of a ball is the common radius times its factor in `own`. `cosines` has one row per
    event and one column per ball.
    """
    low, high = 0.0, 2.0
    for _ in range(20):
        middle = (low + high) / 2
        is_too_small = (cosines >= _thresholds(middle * own)).sum() < _MATCHES * len(cosines)
        low, high = (middle, high) if is_too_small else (low, middle)
    return low


def _thresholds(radii: NDArray[np.float64]) -> Matrix:
    """Return for each radius the inner product of two unit vectors at this distance."""
    return (1 - radii**2 / 2).astype(np.float32)


@dataclass(frozen=True, slots=True)
class _Case:
    """Events and balls of unit vectors, with an index of the balls in clusters."""

    centres: Matrix
    upper: NDArray[np.int64]
    events: Matrix
    clusters: BallClusters
    build_s: float

    @classmethod
    def of(cls, centres: Matrix, upper: NDArray[np.int64], events: Matrix) -> _Case:
        """Build the clusters and return the case; `upper` has the keys of the radii."""
        start = time.process_time()
        zeros = np.zeros(len(centres), np.int64)
        clusters = BallClusters.build(zeros.astype(np.uint8), centres, zeros, upper)
        return cls(centres, upper, events, clusters, time.process_time() - start)

    def seconds(self, batch: int, faiss: bool = False) -> tuple[dict[str, float], float]:
        """Return the seconds per event of each method, and the matches per event."""
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
            faiss_events = events[:_FAISS_EVENTS]
            index = _faiss(self.centres)
            runs["faiss"] = lambda: _range_search(index, faiss_events, radii)
            counts["faiss"] = len(faiss_events)
            runs["faiss"]()
        matches = len(self.clusters.find_containing(events)[0]) / len(events)
        seconds = interleaved(_REPEATS, **runs)
        return {name: seconds[name] / counts[name] for name in seconds}, matches

    def _check(self, thresholds: Matrix) -> None:
        """Compare the pairs of `_CHECKED` events with brute force; this also compiles kernels."""
        events = self.events[:_CHECKED]
        event_rows, balls = _gemm(events, self.centres, thresholds - np.float32(1e-4), _TILES[0])
        zeros = np.zeros(len(self.centres), np.uint8)
        keys = encode_floats(score_pairs(zeros, events, event_rows, self.centres, balls)[0])
        inside = keys <= self.upper[balls]
        expected = set(zip(event_rows[inside].tolist(), balls[inside].tolist(), strict=True))
        pairs = self.clusters.find_containing(events)
        if set(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True)) != expected:
            raise RuntimeError(f"clusters and brute force differ on the first {_CHECKED} events")

    def _best_tile(self, thresholds: Matrix) -> tuple[int, int]:
        part = self.events[:_GEMM_EVENTS]
        runs = {
            f"{tile[0]}_{tile[1]}": lambda tile=tile: _gemm(part, self.centres, thresholds, tile)
            for tile in _TILES
        }
        seconds = interleaved(3, **runs)
        rows, columns = min(seconds, key=seconds.__getitem__).split("_")
        return int(rows), int(columns)


def _gemm(
    events: Matrix, centres: Matrix, thresholds: Matrix, tile: tuple[int, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs whose inner product is at least the ball's threshold."""
    rows, columns = tile
    pairs = []
    for start in range(0, len(events), rows):
        for first in range(0, len(centres), columns):
            balls = slice(first, first + columns)
            marks = _marks(events[start : start + rows] @ centres[balls].T, thresholds[balls])
            event_rows, ball_rows = np.divmod(np.flatnonzero(marks), marks.shape[1])
            pairs.append((event_rows + start, ball_rows + first))
    return np.concatenate([e for e, _ in pairs]), np.concatenate([b for _, b in pairs])


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
    """Return pairs of an event and a ball; FAISS takes the square of one radius for all balls."""
    squares = radii.astype(np.float32) ** 2
    limits, distances, ball_rows = index.range_search(events, float(squares.max()))
    inside = distances <= squares[ball_rows]
    event_rows = np.repeat(np.arange(len(events)), np.diff(limits.astype(np.int64)))
    return event_rows[inside], ball_rows[inside]


if __name__ == "__main__":
    keys, at_full_size = json.loads(sys.argv[1])
    print(json.dumps(_measured(frozenset(keys), at_full_size)))
