"""Ten million subscriptions in workers with enough memory for all of them, and with less.

Subscriptions are uniform boxes in four dimensions (`UniformBoxes`), in 16 zones or in one segment.
First, without a memory limit, both models match the same events in turns. The time is from the call
of `transform` to the last row in the sink `noop` and includes the shuffle of the events. Arrow
batches have 50,000 rows; the output is pairs. Then a session limits the address space of workers
(`spark.executor.pyspark.memory`) to less than one segment needs. It fits the zones again and
matches all events; it also tries the model of one segment. All pairs are compared by their number
and the sum of their hashes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.harness import Value, interleaved
from benchmarks.on_spark.answers import Digest, agreed, digest
from benchmarks.on_spark.environment import BOXES
from benchmarks.on_spark.session import LARGE_BATCH, session, set_batch
from benchmarks.on_spark.tables import Tables
from benchmarks.on_zones.fitting import fitted, matched, stored_mb
from benchmarks.on_zones.sizes import SHRINK, Sizes
from benchmarks.parts import asked_sizes
from covey.errors import CoveyError
from covey.spark import MatcherModel
from covey.spark.workers import reraise_worker_errors

__all__ = ["KEYS", "run"]

KEYS = {
    "zoned_vs_unzoned": "events/s with 16 zones, relative to one segment, 10M, no memory limit",
    "zoned_events_per_s": "events/s with 16 zones, no memory limit",
    "unzoned_events_per_s": "events/s with one segment, no memory limit",
    "zoned_matches_per_event": "pairs per event",
    "zoned_pairs_hash": "sum of xxhash64(event_id, id) over all pairs; all models have the same",
    "zoned_fit_s": "seconds to fit 16 zones, no memory limit",
    "unzoned_fit_s": "seconds to fit one segment, no memory limit",
    "capped_worker_mb": "address space of a limited worker in MiB",
    "unzoned_segment_mb": "size of the one segment in MiB",
    "capped_fit_s": "seconds to fit 16 zones with limited workers",
    "capped_unzoned": "error of a limited worker that opens the one segment",
}
_TURNS = 3
_WARM = 200_000


def run(folder: Path, sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results: first without a memory limit, then with it in a separate process."""
    with session() as spark:
        set_batch(spark, LARGE_BATCH)
        tables = Tables(spark, folder)
        events = tables.events(BOXES, sizes.events)
        models = {n: _fitted(tables, sizes, n) for n in (1, sizes.zones)}
        for zones, model in models.items():
            model.write().overwrite().save(str(folder / f"model-{zones}"))
        digests = {zones: digest(model.transform(events)) for zones, model in models.items()}
        agreed("zones and one segment", digests[sizes.zones], digests[1])
        warm = events.limit(_WARM)
        runs = {f"of_{n}": partial(matched, model, events) for n, model in models.items()}
        for model in models.values():
            matched(model, warm)
        seconds = interleaved(_TURNS, **runs)
    rates = {n: sizes.events / seconds[f"of_{n}"] for n in models}
    capped = _in_a_process(folder, sizes)
    agreed("capped workers", Digest(capped["pairs"], capped["hash"]), digests[1])
    return {
        "zoned_vs_unzoned": round(rates[sizes.zones] / rates[1], 3),
        "zoned_events_per_s": round(rates[sizes.zones]),
        "unzoned_events_per_s": round(rates[1]),
        "zoned_matches_per_event": round(digests[1].pairs / sizes.events, 3),
        "zoned_pairs_hash": str(digests[1].hash),
        "zoned_fit_s": round(models[sizes.zones].fitMetrics["total"], 1),
        "unzoned_fit_s": round(models[1].fitMetrics["total"], 1),
        "capped_worker_mb": sizes.worker_mb,
        "unzoned_segment_mb": stored_mb(folder / "model-1"),
        "capped_fit_s": capped["fit_s"],
        "capped_unzoned": capped["said"],
    }


def _fitted(tables: Tables, sizes: Sizes, zones: int) -> MatcherModel:
    return fitted(tables, BOXES, sizes.stored, sizes.sampled, zones=zones)


def _in_a_process(folder: Path, sizes: Sizes) -> dict[str, Any]:
    """Run `_capped` in another process and return its result."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.on_zones.capped", str(folder)],
        cwd=Path(__file__).parent.parent.parent, check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _capped(folder: Path, sizes: Sizes) -> dict[str, Any]:
    with session({"spark.executor.pyspark.memory": f"{sizes.worker_mb}m"}) as spark:
        set_batch(spark, LARGE_BATCH)
        tables = Tables(spark, folder)
        events = tables.events(BOXES, sizes.events)
        error_text = _said(spark, folder, events)
        model = _fitted(tables, sizes, sizes.zones)
        pairs = digest(model.transform(events))
        fit_s = round(model.fitMetrics["total"], 1)
    return {"pairs": pairs.pairs, "hash": pairs.hash, "fit_s": fit_s, "said": error_text}


def _said(spark: SparkSession, folder: Path, events: DataFrame) -> str:
    """Return the short reason why the model of one segment fails, or that it fits."""
    try:
        with reraise_worker_errors():
            matched(MatcherModel.load(str(folder / "model-1")), events)
    except CoveyError as error:
        return str(error).partition(":")[0].rpartition("/")[2].partition(" ")[2]
    return "it fits"


if __name__ == "__main__":
    print(json.dumps(_capped(Path(sys.argv[1]), asked_sizes(Sizes(), SHRINK, full=False))))
