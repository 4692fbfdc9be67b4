"""When SMART pays: what it saves of what is stored, and what its second shuffle costs.

Boxes of *skewed*, of which wide ones cover most, in 16 zones on Spark, PURE and SMART. The timer
holds all from the call of `transform` to the last row in the sink `noop`; Arrow batches of 50,000,
pairs; the two take turns. All pairs are compared by their number and the sum of their hashes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from benchmarks.harness import Value, interleaved
from benchmarks.on_spark.answers import agreed, digest
from benchmarks.on_spark.session import LARGE_BATCH, session, set_batch
from benchmarks.on_spark.tables import Tables
from benchmarks.on_zones.fitting import fitted, matched, stored_mb
from benchmarks.on_zones.sizes import Sizes

__all__ = ["KEYS", "run"]

KEYS = {
    "smart_skewed_vs_pure": "events/s of SMART against PURE, skewed boxes in 16 zones",
    "smart_skewed_mb": "what SMART stores of them, MB",
    "pure_skewed_mb": "what PURE stores",
    "skewed_matches_per_event": "pairs of an event",
}
_WORKLOAD, _TURNS = "skewed", 3


def run(folder: Path, sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Both ways in one session."""
    with session() as spark:
        set_batch(spark, LARGE_BATCH)
        tables = Tables(spark, folder)
        events = tables.events(_WORKLOAD, sizes.smart_events)
        models, found, held = {}, {}, {}
        for how in ("pure", "smart"):
            model = fitted(
                tables, _WORKLOAD, sizes.smart_stored, sizes.sampled, zones=sizes.zones,
                replication=how,
            )  # fmt: skip
            place = folder / f"model-{how}"
            model.save(str(place))
            models[how], held[how] = model, stored_mb(place)
            found[how] = digest(model.transform(events))
        agreed("smart and pure", found["smart"], found["pure"])
        seconds = interleaved(
            _TURNS, **{how: partial(matched, m, events) for how, m in models.items()}
        )
    return {
        "smart_skewed_vs_pure": round(seconds["pure"] / seconds["smart"], 3),
        "smart_skewed_mb": held["smart"],
        "pure_skewed_mb": held["pure"],
        "skewed_matches_per_event": round(found["pure"].pairs / sizes.smart_events, 1),
    }
