"""PySpark's query log: loggers that repeat, as JSON, the errors that PySpark raises."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.logger import PySparkLogger

__all__ = ["QUERY_LOGGERS", "mute_query_log"]

QUERY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def mute_query_log(*, all_threads: bool = False) -> Iterator[None]:
    """Drop what the query log says of this thread, or of all threads, until the block ends."""
    muted = threading.get_ident()

    def is_logged(record: logging.LogRecord) -> bool:
        return not all_threads and record.thread != muted

    loggers = [PySparkLogger.getLogger(name) for name in QUERY_LOGGERS]
    for logger in loggers:
        logger.addFilter(is_logged)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_logged)
