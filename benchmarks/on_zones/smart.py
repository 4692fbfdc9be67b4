"""SMART replication compared with PURE: the storage it saves, the cost of its second shuffle.

The boxes of the workload `skewed`, of which wide ones cover most others, are in 16 zones on Spark.
The time is from the call of `transform` to the last row in the sink `noop`. Arrow batches have
50,000 rows; the output is pairs; the two models take turns. All pairs are compared by their number
and the sum of their hashes.
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
    "smart_skewed_vs_pure": "events/s of SMART, relative to PURE, skewed boxes in 16 zones",
    "smart_skewed_mb": "MiB of the segments with SMART",
    "pure_skewed_mb": "MiB of the segments with PURE",
    "skewed_matches_per_event": "pairs per event",
}
_WORKLOAD, _TURNS = "skewed", 3


def run(folder: Path, sizes: Sizes, only: frozenset[str]) -> dict[str, Value]:
    """Return the results of both replications, measured in one session."""
    with session() as spark:
        set_batch(spark, LARGE_BATCH)
        tables = Tables(spark, folder)
        events = tables.events(_WORKLOAD, sizes.smart_events)
        models, digests, sizes_mb = {}, {}, {}
        for how in ("pure", "smart"):
            model = fitted(
                tables, _WORKLOAD, sizes.smart_stored, sizes.sampled, zones=sizes.zones,
                replication=how,
            )  # fmt: skip
            model_folder = folder / f"model-{how}"
            model.save(str(model_folder))
            models[how], sizes_mb[how] = model, stored_mb(model_folder)
            digests[how] = digest(model.transform(events))
        agreed("smart and pure", digests["smart"], digests["pure"])
        seconds = interleaved(
            _TURNS, **{how: partial(matched, m, events) for how, m in models.items()}
        )
    return {
        "smart_skewed_vs_pure": round(seconds["pure"] / seconds["smart"], 3),
        "smart_skewed_mb": sizes_mb["smart"],
        "pure_skewed_mb": sizes_mb["pure"],
        "skewed_matches_per_event": round(digests["pure"].pairs / sizes.smart_events, 1),
    }
