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

from covey.errors import ValueRefused
from covey.spark.places import spark_path, store_place
from covey.stream.cluster import Cluster
from covey.stream.config import Config

__all__ = ["Sink", "sink_of"]


class Sink(Protocol):
    """Takes the rows of a stream, batch by batch: `topic`, `key` and `value`.

    A batch may come again after a failure, with the same rows.
    """

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        """Writes each batch at once; a batch is done when all its rows are kept."""
        ...


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """To topics of the same names. A batch that comes again is there twice, to the byte."""

    cluster: Cluster

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        options = {**self.cluster.spark_options, "kafka.acks": "all"}
        return rows.writeStream.format("kafka").options(**options)


@dataclass(frozen=True, slots=True)
class DeltaSink:
    """To a Delta table. A batch that comes again is recognised, and is there once."""

    path: str

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        texts = rows.select("topic", *(F.col(name).cast("string") for name in ("key", "value")))
        place = spark_path(store_place(self.path))
        return texts.writeStream.format("delta").option("path", place)


@dataclass(frozen=True, slots=True)
class FunctionSink:
    """To whatever a function does with the rows and the number of the batch."""

    function: Callable[[DataFrame, int], None]

    def writer(self, rows: DataFrame) -> DataStreamWriter:
        texts = rows.withColumn("value", F.col("value").cast("string"))
        return texts.writeStream.foreachBatch(self.function)


def sink_of(config: Config) -> Sink:
    """The sink that a configuration names."""
    notes = config.notifications
    if notes.sink == "delta":
        return DeltaSink(notes.path or "")
    if notes.sink == "foreach":
        return FunctionSink(_function(notes.function or ""))
    return KafkaSink(Cluster(config.kafka))


def _function(name: str) -> Callable[[DataFrame, int], None]:
    """The function of a module, which may be in the folder that the command is run in."""
    module, colon, attribute = name.partition(":")
    if not colon:
        raise ValueRefused(f'[notifications] function is "module:name", not {name!r}')
    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueRefused(f"[notifications] function {name!r} is not found: {error}") from None
    except Exception as error:  # whatever the module does when it is imported
        raise ValueRefused(
            f"[notifications] function {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from None
    if not callable(found):
        raise ValueRefused(f"[notifications] function {name!r} is no function")
    return found  # type: ignore[no-any-return]
