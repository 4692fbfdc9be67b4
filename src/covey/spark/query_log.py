"""PySpark's query log: PySpark raises an error of a query, and also logs it as JSON."""

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
    """Drop messages that this thread, or all threads, log about queries in a `with` block."""
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
