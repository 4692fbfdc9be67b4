"""What both pipelines are given alike: Spark's configuration, and that of its Kafka clients.

Spark's own settings but for the checkpoint, whose files are written without a shell and without
checksums, and for the size of Arrow batches, which is bounded by rows alone: Spark would add up the
bytes of all columns after each row. Both also have a process of their own that workers are forked
from, which spares them a search for garbage after each task. What else helps one of the two belongs
here, for both.
"""

from __future__ import annotations

__all__ = ["CLIENTS", "CONF", "EVERY_MS", "MASTER", "PER_BATCH", "RETENTION_S"]

MASTER = "local[2]"
_CHECKPOINTS = "org.apache.spark.sql.execution.streaming.checkpointing"

CONF = {
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.streaming.checkpointFileManagerClass": (
        f"{_CHECKPOINTS}.FileSystemBasedCheckpointFileManager"
    ),
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.execution.arrow.maxBytesPerBatch": "2147483647b",
}
PER_BATCH = 100_000  # events, at most
EVERY_MS = 0  # the next batch begins when the last one is done
RETENTION_S = 300  # for which covey keeps versions, so that half an hour shows what they take
CLIENTS: dict[str, str] = {}  # of Spark's consumers and producers
