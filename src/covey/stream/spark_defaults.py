"""Default Spark settings of a stream; the user's settings override them."""

from __future__ import annotations

__all__ = ["SPARK_DEFAULTS"]

SPARK_DEFAULTS = {
    "spark.python.daemon.module": "covey.stream.worker_daemon",
    "spark.sql.ansi.enabled": "false",  # casts and arithmetic then raise no error
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
}
