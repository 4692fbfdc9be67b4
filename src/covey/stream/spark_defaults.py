"""The Spark session of a stream: what it sets unless the user has other settings."""

from __future__ import annotations

__all__ = ["SPARK_DEFAULTS"]

SPARK_DEFAULTS = {
    "spark.python.daemon.module": "covey.stream.worker_daemon",
    "spark.sql.ansi.enabled": "false",  # no value of an event is to end a query
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
    "spark.sql.streaming.checkpointFileManagerClass": (
        "org.apache.spark.sql.execution.streaming.checkpointing."
        "FileSystemBasedCheckpointFileManager"
    ),
}
