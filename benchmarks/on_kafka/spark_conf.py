"""Configuration of Spark and of its Kafka clients for both pipelines.

It is Spark's default configuration with two exceptions. Checkpoint files are written without a
shell and without checksums. The size of Arrow batches is limited by rows only; otherwise, Spark
would add up the bytes of all columns after each row. Both pipelines also have their own daemon that
forks workers, which avoids a garbage collection after each task. Any other setting that helps one
of the pipelines must be added here, for both.
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
PER_BATCH = 100_000  # largest number of events of a batch
EVERY_MS = 0  # the next batch starts when the last one has ended
RETENTION_S = 300  # of covey's versions: short, so that half an hour shows their steady size
CLIENTS: dict[str, str] = {}  # options of Spark's consumers and producers
