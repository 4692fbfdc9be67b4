"""Sinks of the output rows of a stream: Kafka, a Delta table, or a function of the user."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from covey.errors import InvalidArgumentError
from covey.spark.store_location import to_spark_uri, to_store_location
from covey.stream.config import StreamConfig
from covey.stream.kafka_cluster import KafkaCluster

__all__ = ["Sink", "build_sink"]


class Sink(Protocol):
    """Destination of output rows, which have the columns `topic`, `key` and `value`.

    After a failure a batch may be written again, with the same rows.
    """

    def build_writer(self, rows: DataFrame) -> DataStreamWriter:
        """Return a writer of the output rows, whose query is not started yet.

        The writer writes the rows of a batch as they are computed. A batch is complete when all of
        its rows are stored durably.
        """
        ...


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """Sink that sends each row to its topic on Kafka; a repeated batch sends the same bytes."""

    cluster: KafkaCluster

    def build_writer(self, rows: DataFrame) -> DataStreamWriter:
        options = {**self.cluster.spark_options, "kafka.acks": "all"}
        return rows.writeStream.format("kafka").options(**options)


@dataclass(frozen=True, slots=True)
class DeltaSink:
    """Sink that appends rows to a Delta table; a repeated batch is recognised and stored once."""

    path: str

    def build_writer(self, rows: DataFrame) -> DataStreamWriter:
        texts = rows.select("topic", *(F.col(name).cast("string") for name in ("key", "value")))
        uri = to_spark_uri(to_store_location(self.path))
        return texts.writeStream.format("delta").option("path", uri)


@dataclass(frozen=True, slots=True)
class FunctionSink:
    """Sink that calls a function with the rows and the number of each batch."""

    function: Callable[[DataFrame, int], None]

    def build_writer(self, rows: DataFrame) -> DataStreamWriter:
        texts = rows.withColumn("value", F.col("value").cast("string"))
        return texts.writeStream.foreachBatch(self.function)


def build_sink(config: StreamConfig) -> Sink:
    """Build the sink that a configuration names.

    Raises:
        InvalidArgumentError: the function of a `foreach` sink cannot be imported or called.
    """
    notifications = config.notifications
    if notifications.sink == "delta":
        return DeltaSink(notifications.path or "")
    if notifications.sink == "foreach":
        return FunctionSink(_import_function(notifications.function or ""))
    return KafkaSink(KafkaCluster(config.kafka))


def _import_function(name: str) -> Callable[[DataFrame, int], None]:
    """Import a function by its name, which has the form `module:function`.

    The module may be in the current folder.
    """
    module, colon, attribute = name.partition(":")
    if not colon:
        raise InvalidArgumentError(f'[notifications] function must be "module:name", got {name!r}')
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        function = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidArgumentError(
            f"[notifications] function {name!r} is not found: {error}"
        ) from None
    except Exception as error:  # the module may raise any error when it is imported
        raise InvalidArgumentError(
            f"[notifications] function {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from None
    if not callable(function):
        raise InvalidArgumentError(
            f"[notifications] function {name!r} is not callable: name a function of a module"
        )
    return function  # type: ignore[no-any-return]
