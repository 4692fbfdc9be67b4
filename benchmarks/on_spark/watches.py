"""Watches: balls in 384 dimensions beside a matrix product, and beside Spark's nested loop.

Both operators are a `mapInArrow` with Spark's default Arrow batches of 10,000 rows and write pairs
into the sink `noop`; the time starts with the call. The matrix product uses the best of several
block sizes and a part of the events, so events per second are compared. Its number of pairs must be
close to covey's; it may differ because pairs close to a threshold are not verified. The nested loop
gets a few events and runs once; its pairs must be those of covey.
"""

from __future__ import annotations

import time
from functools import partial

from pyspark.sql import functions as F

from benchmarks.harness import Value, interleaved
from benchmarks.on_spark import fits
from benchmarks.on_spark.answers import agreed, digest
from benchmarks.on_spark.environment import Environment
from benchmarks.on_spark.gemm import Tile, keep_balls, multiplied
from benchmarks.on_spark.session import DEFAULT_BATCH, drain, set_batch

__all__ = ["KEYS", "run"]

_TILES: tuple[Tile, ...] = ((256, 2048), (512, 2048), (512, 8192), (1024, 4096), (2048, 4096))
_TUNED_EVENTS = 4_096
_REPEATS = 3
_SAME = 0.001  # largest relative difference of the number of pairs of the matrix product

KEYS = {
    "watches_vs_gemm": "events/s with 200,000 balls, relative to a matrix product",
    "watches_events_per_s": "events/s of covey with 200,000 balls",
    "watches_gemm_events_per_s": "events/s of the matrix product",
    "watches_gemm_tile": "events and balls of the best block of the matrix product",
    "watches_matches_per_event": "balls that contain an event, mean",
    "watches_nested_loop_events_per_s": "events/s of Spark's nested loop with vector_l2_distance",
    **fits.keys("watches_fit", "200,000 predicates of watches"),
    "answers_watches_pairs": "pairs of a few events, equal for Spark's nested loop and covey",
    "answers_watches_hash": "sum of xxhash64(event_id, id) over these pairs, equal for both",
}


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of the fit, and those of its model that `only` names."""
    results = fits.results("watches_fit", environment.fitted("watches", environment.sizes.balls))
    set_batch(environment.spark, DEFAULT_BATCH)
    beside_gemm = {key for key in KEYS if "gemm" in key} | {
        "watches_events_per_s", "watches_matches_per_event",
    }  # fmt: skip
    if beside_gemm & only:
        results |= _beside_gemm(environment)
    if any("nested_loop" in key or key.startswith("answers") for key in only):
        results |= _beside_loop(environment)
    return results


def _beside_gemm(environment: Environment) -> dict[str, Value]:
    tables, sizes = environment.tables, environment.sizes
    all_, part = (tables.events("watches", n) for n in (sizes.vectors, sizes.multiplied))
    fitted = environment.fitted("watches", sizes.balls)
    folder = tables.folder / "balls"
    keep_balls(tables.balls("watches", sizes.balls), folder)
    tile = _best_tile(environment)
    theirs = partial(multiplied, part, folder, tile)
    matches, gemm_matches = fitted.transform(part, "pairs").count(), theirs().count()
    if abs(matches - gemm_matches) > _SAME * matches:
        raise RuntimeError(
            f"the matrix product has {gemm_matches} pairs, covey has {matches}: they may differ by "
            f"{_SAME:.1%} at most"
        )
    ours = partial(fitted.transform, all_, "pairs")
    total = ours().count()
    seconds = interleaved(_REPEATS, covey=lambda: drain(ours()), gemm=lambda: drain(theirs()))
    rate, gemm_rate = sizes.vectors / seconds["covey"], sizes.multiplied / seconds["gemm"]
    return {
        "watches_vs_gemm": round(rate / gemm_rate, 2),
        "watches_events_per_s": round(rate),
        "watches_gemm_events_per_s": round(gemm_rate),
        "watches_gemm_tile": f"{tile[0]} x {tile[1]}",
        "watches_matches_per_event": round(total / sizes.vectors, 2),
    }


def _best_tile(environment: Environment) -> Tile:
    """Return the fastest block size; all sizes run in turns."""
    events = environment.tables.events("watches", min(_TUNED_EVENTS, environment.sizes.multiplied))
    folder = environment.tables.folder / "balls"
    runs = {
        f"{tile}": partial(lambda tile: drain(multiplied(events, folder, tile)), tile)
        for tile in _TILES
    }
    drain(multiplied(events, folder, _TILES[0]))
    seconds = interleaved(2, **runs)
    return min(_TILES, key=lambda tile: seconds[f"{tile}"])


def _beside_loop(environment: Environment) -> dict[str, Value]:
    tables, sizes = environment.tables, environment.sizes
    events = tables.events("watches", sizes.looped_vectors)
    balls = tables.balls("watches", sizes.balls)
    is_inside = F.expr("vector_l2_distance(embedding, centre) <= radius")
    loop = F.broadcast(events).join(balls, is_inside).select("event_id", "id")
    start = time.perf_counter()
    spark = digest(loop)
    seconds = time.perf_counter() - start
    fitted = environment.fitted("watches", sizes.balls)
    same = agreed("watches", digest(fitted.transform(events, "pairs")), spark)
    return {
        "watches_nested_loop_events_per_s": round(sizes.looped_vectors / seconds, 2),
        "answers_watches_pairs": same.pairs,
        "answers_watches_hash": str(same.hash),
    }
