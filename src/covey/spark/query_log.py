"""PySpark's query log: PySpark not only raises an error of a query, but also logs it as JSON."""

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
    """Drop the messages that PySpark logs about failed queries during a `with` block.

    Only messages of this thread are dropped, or with `all_threads` those of all threads.
    """
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
