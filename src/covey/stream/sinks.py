"""Where rows of a batch go, in one write: Kafka, a Delta table, or a function of the user's."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from covey.errors import ValueRefused
from covey.spark.places import spark_path, store_place
from covey.stream.cluster import Cluster
from covey.stream.config import Config

__all__ = ["Sink", "sink_of"]


class Sink(Protocol):
    """Takes the rows of a batch: `topic`, `key` and `value`.

    A batch may come again after a failure, with the same rows.
    """

    def write(self, rows: DataFrame, query: str, batch: int) -> None:
        """When it returns, all rows are kept."""
        ...


@dataclass(frozen=True, slots=True)
class KafkaSink:
    """To topics of the same names. A batch that comes again is there twice, to the byte."""

    cluster: Cluster

    def write(self, rows: DataFrame, query: str, batch: int) -> None:
        writer = rows.write.format("kafka").mode("append").options(**self.cluster.spark_options)
        writer.option("kafka.acks", "all").save()


@dataclass(frozen=True, slots=True)
class DeltaSink:
    """To a Delta table. A batch that comes again is recognised, and is there once."""

    path: str

    def write(self, rows: DataFrame, query: str, batch: int) -> None:
        texts = rows.withColumn("key", F.col("key").cast("string"))
        writer = texts.write.format("delta").mode("append")
        writer.option("txnAppId", query).option("txnVersion", batch).save(
            spark_path(store_place(self.path))
        )


@dataclass(frozen=True, slots=True)
class FunctionSink:
    """To whatever a function does with the rows and the number of the batch."""

    function: Callable[[DataFrame, int], object]

    def write(self, rows: DataFrame, query: str, batch: int) -> None:
        self.function(rows, batch)


def sink_of(config: Config) -> Sink:
    """The sink that a configuration names."""
    notes = config.notifications
    if notes.sink == "delta":
        return DeltaSink(notes.path or "")
    if notes.sink == "foreach":
        return FunctionSink(_function(notes.function or ""))
    return KafkaSink(Cluster(config.kafka))


def addressed(rows: DataFrame, topics: Sequence[str]) -> DataFrame:
    """Rows with the topic that their route stands for."""
    names = F.array(*(F.lit(topic) for topic in topics))
    return rows.select(F.get(names, F.col("route")).alias("topic"), "key", "value")


def _function(name: str) -> Callable[[DataFrame, int], object]:
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
