"""Connectors that a stream needs, in the version of the installed Spark, checked before it starts.

Spark is installed without its Kafka connector. With `[spark] packages`, Spark downloads it; with
`[spark] jars`, local files are used.
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
    """Return Maven coordinates; the short names are replaced by those for a version of Spark.

    Raises:
        InvalidArgumentError: a package is neither a short name nor Maven coordinates.

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
    """Return the files that match the pattern of `[spark] jars`, in sorted order.

    Raises:
        InvalidArgumentError: no file matches.
    """
    found = sorted(glob.glob(pattern))
    if not found:
        raise InvalidArgumentError(
            f"[spark] jars: no file matches {pattern!r}; name jar files that exist"
        )
    return found


def check_connector(config: SparkConfig) -> None:
    """Raise an error if Spark would start without its Kafka connector.

    If a session already runs, it is searched for the connector. If settings of Spark name jars or
    packages, nothing is checked.

    Raises:
        InvalidArgumentError: no package and no jar is the connector, or it is for another version
            of Spark.
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
    names = [Path(file).name for file in files]
    connectors = [(m["version"], name) for name in names if (m := _CONNECTOR.search(name))]
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
    if connectors and minor not in [version for version, _ in connectors]:
        version, name = connectors[0]
        raise InvalidArgumentError(
            f"the Kafka connector {name} is for Spark {version}, but Spark is "
            f"{pyspark.__version__}: name spark-sql-kafka-0-10_{_SCALA_VERSION}-"
            f'{pyspark.__version__}.jar in [spark] jars, or write packages = ["kafka"] in the '
            "section [spark]"
        )
