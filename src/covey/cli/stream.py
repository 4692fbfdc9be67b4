"""`covey stream`: events on Kafka to notifications on Kafka, while subscriptions change."""

from __future__ import annotations

import glob
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pyspark.sql import SparkSession

from covey.cli.failures import reported
from covey.cli.session import Session
from covey.errors import ValueRefused

if TYPE_CHECKING:
    from covey.stream import Config

__all__ = ["stream"]

_CONNECTOR = "org.apache.spark.sql.kafka010.KafkaSourceProvider"


def stream(
    config: Annotated[Path, typer.Argument(help="A TOML file; docs/stream.md says what is in it.")],
) -> None:
    """Match events on Kafka as they come, against subscriptions that change meanwhile."""
    with reported():
        from covey.stream import Config, Pipeline
        from covey.stream.logs import log_as_json

        chosen = Config.read(config)
        log_as_json()
        with _session(chosen).started() as spark:
            _check_kafka(spark)
            pipeline = Pipeline(spark, chosen)
            for number in (signal.SIGINT, signal.SIGTERM):
                signal.signal(number, lambda *_: pipeline.stop())
            pipeline.run()


def _session(config: Config) -> Session:
    """The session that a stream wants: what the user sets comes last."""
    from covey.stream.pipeline import SESSION

    conf = [f"{key}={value}" for key, value in {**SESSION, **config.spark.conf}.items()]
    jars = config.spark.jars
    if jars is not None:
        found = sorted(glob.glob(jars))
        if not found:
            raise ValueRefused(f"[spark] jars: no file is {jars}")
        jars = ",".join(found)
    return Session.of(config.spark.master, conf, jars, config.notifications.sink == "delta")


def _check_kafka(spark: SparkSession) -> None:
    """Raises where Spark has no Kafka, before it says so in its own words."""
    jvm = spark.sparkContext._jvm
    if jvm is not None and not jvm.org.apache.spark.util.Utils.classIsLoadable(_CONNECTOR):
        raise ValueRefused(
            "Spark has no Kafka here: name the jars of its connector with [spark] jars, or have "
            'them fetched with [spark] conf = { "spark.jars.packages" = '
            '"org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0" }'
        )
