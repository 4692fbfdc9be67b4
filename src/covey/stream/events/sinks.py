"""Where rows of a batch go, in one write: Kafka, a Delta table, or a function of the user's."""

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
    """Takes the rows of a stream, batch by batch: `topic`, `key` and `value`.

    A batch may come again after a failure, with the same rows.
    """

    def build_writer(self, rows: DataFrame) -> DataStreamWriter:
        """Writes each batch at once; a batch is done when all its rows are kept."""
        ...


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """To topics of the same names. A batch that comes again is there twice, to the byte."""

    cluster: KafkaCluster

    def build_writer(self, rows: DataFrame) -> DataStreamWriter:
        options = {**self.cluster.spark_options, "kafka.acks": "all"}
        return rows.writeStream.format("kafka").options(**options)


@dataclass(frozen=True, slots=True)
class DeltaSink:
    """To a Delta table. A batch that comes again is recognised, and is there once."""

    path: str

    def build_writer(self, rows: DataFrame) -> DataStreamWriter:
        texts = rows.select("topic", *(F.col(name).cast("string") for name in ("key", "value")))
        place = to_spark_uri(to_store_location(self.path))
        return texts.writeStream.format("delta").option("path", place)


@dataclass(frozen=True, slots=True)
class FunctionSink:
    """To whatever a function does with the rows and the number of the batch."""

    function: Callable[[DataFrame, int], None]

    def build_writer(self, rows: DataFrame) -> DataStreamWriter:
        texts = rows.withColumn("value", F.col("value").cast("string"))
        return texts.writeStream.foreachBatch(self.function)


def build_sink(config: StreamConfig) -> Sink:
    """The sink that a configuration names."""
    notes = config.notifications
    if notes.sink == "delta":
        return DeltaSink(notes.path or "")
    if notes.sink == "foreach":
        return FunctionSink(_import_function(notes.function or ""))
    return KafkaSink(KafkaCluster(config.kafka))


def _import_function(name: str) -> Callable[[DataFrame, int], None]:
    """The function of a module, which may be in the folder that the command is run in."""
    module, colon, attribute = name.partition(":")
    if not colon:
        raise InvalidArgumentError(f'[notifications] function is "module:name", not {name!r}')
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise InvalidArgumentError(
            f"[notifications] function {name!r} is not found: {error}"
        ) from None
    except Exception as error:  # whatever the module does when it is imported
        raise InvalidArgumentError(
            f"[notifications] function {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from None
    if not callable(found):
        raise InvalidArgumentError(f"[notifications] function {name!r} is no function")
    return found  # type: ignore[no-any-return]
