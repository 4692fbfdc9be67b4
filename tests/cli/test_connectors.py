"""Spark's Kafka connector: named for the running Spark, and checked before Spark starts."""

from __future__ import annotations

from pathlib import Path

import pyspark
import pytest

from covey.cli.stream import connectors
from covey.cli.stream.connectors import check_connector, resolve_packages
from covey.errors import InvalidArgumentError
from covey.stream.config import SparkConfig


@pytest.fixture(autouse=True)
def _without_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connectors.SparkSession, "getActiveSession", lambda: None)


def test_short_names_are_those_of_the_running_spark() -> None:
    version = pyspark.__version__
    assert resolve_packages(["kafka", "avro", "a:b:1"]) == [
        f"org.apache.spark:spark-sql-kafka-0-10_2.13:{version}",
        f"org.apache.spark:spark-avro_2.13:{version}",
        "a:b:1",
    ]


@pytest.mark.parametrize(
    "config",
    [
        SparkConfig(packages=["kafka"]),
        SparkConfig(packages=["org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0"]),
        SparkConfig(conf={"spark.jars": "somewhere.jar"}),
    ],
)
def test_a_connector_that_is_named_is_enough(config: SparkConfig) -> None:
    check_connector(config)


def test_without_a_connector_the_setting_is_named() -> None:
    with pytest.raises(InvalidArgumentError, match=r'write packages = \["kafka"\] in the section'):
        check_connector(SparkConfig())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("other-1.0.jar", "none of 1 files is Spark's Kafka connector"),
        ("spark-sql-kafka-0-10_2.13-3.5.1.jar", "3.5.1.jar is for Spark 3.5, but Spark is "),
    ],
)
def test_wrong_jars_are_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(InvalidArgumentError, match=message):
        check_connector(SparkConfig(jars=f"{tmp_path}/*.jar"))


def test_jars_of_the_running_spark_are_taken(tmp_path: Path) -> None:
    (tmp_path / f"spark-sql-kafka-0-10_2.13-{pyspark.__version__}.jar").touch()
    check_connector(SparkConfig(jars=f"{tmp_path}/*.jar"))
