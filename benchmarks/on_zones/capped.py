"""Ten million subscriptions in workers that have no room for all of them, and in ones that have.

Uniform boxes of four dimensions (`UniformBoxes`), 16 zones. Without a limit both models match the
same events in turns; the timer holds all from the call of `transform` to the last row in the sink
`noop`, the shuffle of the events included; Arrow batches of 50,000, pairs. Then a session whose
workers may have less address space than one segment needs (`spark.executor.pyspark.memory`) fits
the zones anew and matches all events; and the model in one segment is tried there. All pairs are
compared by their number and the sum of their hashes.
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
from covey.spark.worker_errors import reraise_worker_errors

__all__ = ["KEYS", "run"]

KEYS = {
    "zoned_vs_unzoned": "events/s with 16 zones against one segment, 10M subscriptions, no limit",
    "zoned_events_per_s": "events/s with 16 zones, no limit",
    "unzoned_events_per_s": "events/s with one segment",
    "zoned_matches_per_event": "pairs of an event",
    "zoned_pairs_hash": "sum of xxhash64(event_id, id) over all pairs: zones, one segment, capped",
    "zoned_fit_s": "seconds to fit 16 zones, no limit",
    "unzoned_fit_s": "seconds to fit one segment",
    "capped_worker_mb": "address space that a capped worker may have",
    "unzoned_segment_mb": "what the one segment needs of it",
    "capped_fit_s": "seconds to fit 16 zones with capped workers",
    "capped_unzoned": "what a capped worker says of the one segment",
}
_TURNS = 3
_WARM = 200_000


def run(folder: Path, sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """The open session first, then the capped one in a process of its own."""
    with session() as spark:
        set_batch(spark, LARGE_BATCH)
        tables = Tables(spark, folder)
        events = tables.events(BOXES, sizes.events)
        models = {n: _fitted(tables, sizes, n) for n in (1, sizes.zones)}
        for zones, model in models.items():
            model.write().overwrite().save(str(folder / f"model-{zones}"))
        found = {zones: digest(model.transform(events)) for zones, model in models.items()}
        agreed("zones and one segment", found[sizes.zones], found[1])
        warm = events.limit(_WARM)
        runs = {f"of_{n}": partial(matched, model, events) for n, model in models.items()}
        for model in models.values():
            matched(model, warm)
        seconds = interleaved(_TURNS, **runs)
    rates = {n: sizes.events / seconds[f"of_{n}"] for n in models}
    capped = _in_a_process(folder, sizes)
    agreed("capped workers", Digest(capped["pairs"], capped["hash"]), found[1])
    return {
        "zoned_vs_unzoned": round(rates[sizes.zones] / rates[1], 3),
        "zoned_events_per_s": round(rates[sizes.zones]),
        "unzoned_events_per_s": round(rates[1]),
        "zoned_matches_per_event": round(found[1].pairs / sizes.events, 3),
        "zoned_pairs_hash": str(found[1].hash),
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
    """What `_capped` gives in another process."""
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
        said = _said(spark, folder, events)
        model = _fitted(tables, sizes, sizes.zones)
        found = digest(model.transform(events))
        fit_s = round(model.fitMetrics["total"], 1)
    return {"pairs": found.pairs, "hash": found.hash, "fit_s": fit_s, "said": said}


def _said(spark: SparkSession, folder: Path, events: DataFrame) -> str:
    """What comes of the one segment, in short."""
    try:
        with reraise_worker_errors():
            matched(MatcherModel.load(str(folder / "model-1")), events)
    except CoveyError as error:
        return str(error).partition(":")[0].rpartition("/")[2].partition(" ")[2]
    return "it has room"


if __name__ == "__main__":
    print(json.dumps(_capped(Path(sys.argv[1]), asked_sizes(Sizes(), SHRINK, full=False))))
