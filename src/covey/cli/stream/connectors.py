"""Connectors that a stream needs: resolved for the running Spark, checked before it starts.

Spark comes without its Kafka connector: `[spark] packages` downloads it, `[spark] jars` names
files.
"""

from __future__ import annotations

import glob
import re
from pathlib import Path

import pyspark
from pyspark.find_spark_home import _find_spark_home
from pyspark.sql import SparkSession

from covey.cli.session import check_kafka
from covey.errors import InvalidArgumentError
from covey.stream.config import SparkConfig

__all__ = ["PACKAGES_ADVICE", "check_connector", "list_jar_files", "resolve_packages"]

PACKAGES_ADVICE = 'write packages = ["kafka"] in the section [spark] of the file'
_SCALA_VERSION = "2.13"
_PACKAGES = {
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_{scala}:{spark}",
    "avro": "org.apache.spark:spark-avro_{scala}:{spark}",
    "delta": "io.delta:delta-spark_{minor}_{scala}:4.4.0",
}
_CONNECTOR = re.compile(r"spark-sql-kafka-0-10_[0-9.]+-(?P<version>[0-9]+\.[0-9]+)")
_CLASS_PATH_SETTINGS = ("spark.jars", "spark.jars.packages", "spark.driver.extraClassPath")


def resolve_packages(packages: list[str], spark_version: str = pyspark.__version__) -> list[str]:
    """Return Maven coordinates, with short names replaced by those of the running Spark.

    >>> resolve_packages(["kafka", "org.example:udfs:1.0"], "4.2.0")
    ['org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0', 'org.example:udfs:1.0']
    """
    minor = ".".join(spark_version.split(".")[:2])
    resolved = []
    for package in packages:
        if package not in _PACKAGES and package.count(":") != 2:
            raise InvalidArgumentError(
                f"[spark] packages: {package!r} must be {', '.join(_PACKAGES)}, or Maven "
                "coordinates GROUP:ARTIFACT:VERSION"
            )
        if package in _PACKAGES:
            package = _PACKAGES[package].format(
                scala=_SCALA_VERSION, spark=spark_version, minor=minor
            )
        resolved.append(package)
    return resolved


def list_jar_files(pattern: str) -> list[str]:
    """Return the files of `[spark] jars`."""
    found = sorted(glob.glob(pattern))
    if not found:
        raise InvalidArgumentError(f"[spark] jars: no file is {pattern}")
    return found


def check_connector(config: SparkConfig) -> None:
    """Refuse a configuration with which Spark would start without its Kafka connector.

    If a session already runs, it is searched for the connector. Settings of Spark that name
    jars are not checked.

    Raises:
        InvalidArgumentError: no package and no jar is the connector, or it is for another Spark.
    """
    packages = resolve_packages(config.packages)
    if (session := SparkSession.getActiveSession()) is not None:
        check_kafka(session, PACKAGES_ADVICE)
        return
    if set(config.conf) & set(_CLASS_PATH_SETTINGS):
        return
    home = Path(_find_spark_home())
    defaults = home / "conf" / "spark-defaults.conf"
    if defaults.exists() and "spark.jars" in defaults.read_text(errors="replace"):
        return
    if any("spark-sql-kafka" in package for package in packages):
        return
    files = [] if config.jars is None else list_jar_files(config.jars)
    files += [path.name for path in (home / "jars").glob("spark-sql-kafka*")]
    versions = [m["version"] for file in files if (m := _CONNECTOR.search(Path(file).name))]
    minor = ".".join(pyspark.__version__.split(".")[:2])
    if config.jars is not None and not any("kafka" in Path(file).name for file in files):
        raise InvalidArgumentError(
            f"[spark] jars: none of {len(files)} files is Spark's Kafka connector, "
            f"spark-sql-kafka-0-10_{_SCALA_VERSION}-{pyspark.__version__}.jar; add it and the jars "
            'that it needs, or have Spark download them: packages = ["kafka"]'
        )
    if not files:
        raise InvalidArgumentError(
            "Spark has no Kafka connector. Have Spark download it "
            f'({resolve_packages(["kafka"])[0]}): write packages = ["kafka"] in the section '
            '[spark]; or name local files there: jars = "jars/*.jar"'
        )
    if versions and minor not in versions:
        raise InvalidArgumentError(
            f"[spark] jars: the Kafka connector is for Spark {versions[0]}, but Spark is "
            f"{pyspark.__version__}; use spark-sql-kafka-0-10_{_SCALA_VERSION}-"
            f'{pyspark.__version__}.jar, or packages = ["kafka"]'
        )
