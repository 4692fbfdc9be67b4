"""Events per second of a transform, and of an operator that emits as much without matching.

Both times are from the call (`transform` or `mapInArrow`) to the last row in the sink `noop`. They
include planning, reading Parquet files, and the transfer between JVM and Python in both directions.
Every run is executed once before. The columns that are read are `event_id` and the four attributes;
those that are written are `event_id` and the matches. Spark's column pruning avoids reading the
other columns of wide events. The bare operator must emit about as many ids as the transform.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.harness import Value, interleaved
from benchmarks.on_spark import sql
from benchmarks.on_spark.answers import agreed, digest
from benchmarks.on_spark.bare import bare, keep_pattern
from benchmarks.on_spark.cases import CASES, KEYS, RUNS, Run
from benchmarks.on_spark.environment import BOXES, Environment, Fitted
from benchmarks.on_spark.session import LARGE_BATCH, drain, set_batch

__all__ = ["KEYS", "run"]

_SAME = 0.02  # largest relative difference of the number of emitted ids, besides random variation


def run(environment: Environment, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of all cases that have a key in `only`."""
    results: dict[str, Value] = {}
    for name, case in CASES.items():
        runs = [run for run in RUNS if run.case == name and {run.ratio, run.rate} & only]
        others = {f"matches_per_event_{name}", f"answers_{name}_pairs", f"answers_{name}_hash"}
        if runs or others & only:
            fitted = environment.fitted(BOXES, getattr(environment.sizes, case.stored), case.form)
            results |= _answers(environment, fitted, name)
            results |= _beside_bare(environment, fitted, name, runs)
    return results


def _answers(environment: Environment, fitted: Fitted, name: str) -> dict[str, Value]:
    """Compare the pairs of the first events with those of Spark's join, and return them."""
    case = CASES[name]
    events = _events(environment, name, environment.sizes.checked)
    ranges = environment.tables.ranges(BOXES, getattr(environment.sizes, case.stored))
    spark = digest(sql.nested_loop(F.broadcast(_narrow(events)), ranges))
    for output in ("arrays", "pairs"):
        agreed(f"{output}, {case.text}", digest(fitted.transform(events, output)), spark)
    return {f"answers_{name}_pairs": spark.pairs, f"answers_{name}_hash": str(spark.hash)}


def _beside_bare(
    environment: Environment, fitted: Fitted, name: str, runs: list[Run]
) -> dict[str, Value]:
    count, events = environment.sizes.events, _events(environment, name, environment.sizes.events)
    pattern = environment.tables.folder / f"pattern-{name}"
    keep_pattern(fitted.transform(_events(environment, name, LARGE_BATCH), "arrays"), pattern)
    set_batch(environment.spark, LARGE_BATCH)
    volume = _volume(fitted.transform(events, "arrays"))
    timed: dict[str, Callable[[], None]] = {}
    for run in runs:
        ours = partial(fitted.transform, events, run.output)
        theirs = partial(bare, _narrow(events), ours(), pattern)
        set_batch(environment.spark, run.batch)
        for contender, output in {"transform": ours, "bare operator": theirs}.items():
            _check(f"{run.ratio}: the {contender}", _volume(output()), volume)
        timed[run.rate] = partial(_drain, environment, run.batch, ours)
        timed[run.ratio] = partial(_drain, environment, run.batch, theirs)
    seconds = interleaved(CASES[name].repeats, **timed)
    results: dict[str, Value] = {f"matches_per_event_{name}": round(volume / count, 2)}
    for run in runs:
        results[run.rate] = round(count / seconds[run.rate])
        results[run.ratio] = round(seconds[run.ratio] / seconds[run.rate], 3)
    return results


def _events(environment: Environment, name: str, count: int) -> DataFrame:
    tables = environment.tables
    return (tables.wide_events if name == "wide" else tables.events)(BOXES, count)


def _narrow(events: DataFrame) -> DataFrame:
    """Return the columns that a transform reads."""
    return events.select("event_id", "x1", "x2", "x3", "x4")


def _volume(output: DataFrame) -> int:
    """Return the number of ids in an output, as arrays or as pairs."""
    counted = F.sum(F.size("matches")) if "matches" in output.columns else F.count("*")
    row = output.agg(counted).first()
    assert row is not None
    return int(row[0])


def _check(who: str, emitted: int, expected: int) -> None:
    if abs(emitted - expected) > _SAME * expected + 10 * expected**0.5:
        raise RuntimeError(f"{who} emits {emitted} ids, expected about {expected}")


def _drain(environment: Environment, batch: int, make: Callable[[], DataFrame]) -> None:
    set_batch(environment.spark, batch)
    drain(make())
