"""Time zones of the Java that Spark runs on; the meaning of time literals depends on them."""

from __future__ import annotations

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from covey.space.time_zones import TimeZones
from covey.spark.query_log import mute_query_log

__all__ = ["read_time_zones"]

_DATABASE = "lib/tzdb.dat"
_JAVA_HOME_SQL = "SELECT java_method('java.lang.System', 'getProperty', 'java.home')"
_by_application: dict[str, TimeZones | None] = {}


def read_time_zones(spark: SparkSession) -> TimeZones | None:
    """Return the time zones of Spark's Java, or None if they cannot be read.

    Cost: a file of about 100 KB is read once per application. Through Spark Connect, Spark jobs
    read the file once per session.
    """
    name: str = (
        spark.session_id  # type: ignore[attr-defined]
        if is_remote()
        else spark.sparkContext.applicationId
    )
    if name not in _by_application:
        _by_application[name] = _read_through_connect(spark) if is_remote() else _read_file(spark)
    return _by_application[name]


def _read_file(spark: SparkSession) -> TimeZones | None:
    java = spark._jvm.java  # type: ignore[union-attr]
    try:
        file = java.io.File(java.lang.System.getProperty("java.home"), _DATABASE)
        return TimeZones(bytes(java.nio.file.Files.readAllBytes(file.toPath())))
    except Py4JError:
        return None


@mute_query_log()
def _read_through_connect(spark: SparkSession) -> TimeZones | None:
    try:
        ((home,),) = spark.sql(_JAVA_HOME_SQL).collect()
        file = spark.read.format("binaryFile").load(f"file://{home}/{_DATABASE}")
        ((content,),) = file.select("content").collect()
    except PySparkException:
        return None
    return TimeZones(bytes(content))
