"""PySpark's query log: loggers that write the errors that PySpark raises a second time, as JSON."""

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
    """Drop messages of the query log from this thread, or from all threads, in a `with` block."""
    muted_thread = threading.get_ident()

    def is_logged(record: logging.LogRecord) -> bool:
        return not all_threads and record.thread != muted_thread

    loggers = [PySparkLogger.getLogger(name) for name in QUERY_LOGGERS]
    for logger in loggers:
        logger.addFilter(is_logged)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_logged)
