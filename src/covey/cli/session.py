"""The Spark session of a command, which is started without output and stopped at the end.

The output of Spark's Java process goes to a file, which is read only if Java does not start; later
failures are exceptions. If the process already has an active session, the command uses that session
and does not stop it.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from covey.errors import InvalidArgumentError
from covey.spark.query_log import mute_query_log

__all__ = ["SessionLauncher", "check_kafka", "has_java_class"]

_QUIET_CONF = {
    "spark.app.name": "covey",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}
_KAFKA_SOURCE_CLASS = "org.apache.spark.sql.kafka010.KafkaSourceProvider"
_CANCEL_TIMEOUT_S = 5.0
_DELTA_CONF = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


@dataclass(frozen=True, slots=True)
class SessionLauncher:
    """Launcher of the Spark session of a command.

    Args:
        conf: settings of Spark.
        needs_delta: whether the session must have the Delta connector.
    """

    conf: Mapping[str, str]
    needs_delta: bool

    @classmethod
    def from_options(
        cls,
        master: str,
        conf_options: list[str] | None,
        jars: str | None,
        *,
        needs_delta: bool = False,
    ) -> SessionLauncher:
        """Return a launcher for the options of a command.

        Args:
            master: Spark's master URL.
            conf_options: settings of Spark as KEY=VALUE, which override all others.
            jars: paths of jar files, separated by commas.
            needs_delta: whether the session must have the Delta connector.

        Raises:
            InvalidArgumentError: a setting is not KEY=VALUE, or a jar file does not exist.
        """
        given = {}
        for one in conf_options or ():
            key, equals, value = one.partition("=")
            if not equals or not key.strip():
                raise InvalidArgumentError(
                    f"--conf must be KEY=VALUE, for example spark.driver.memory=8g, got {one}"
                )
            given[key.strip()] = value.strip()
        for jar in (jars or "").split(","):
            if jar and not any(sign in jar for sign in ":*") and not Path(jar).exists():
                raise InvalidArgumentError(f"--jars {jar}: there is no such file; check the path")
        chosen = {"spark.master": master, **_QUIET_CONF, **(_DELTA_CONF if needs_delta else {})}
        if master.startswith("local"):  # Spark's defaults are for clusters
            chosen["spark.sql.shuffle.partitions"] = str(4 * (os.cpu_count() or 1))
            chosen["spark.sql.files.maxPartitionBytes"] = "16m"  # more tasks for the bar
        return cls({**chosen, **({"spark.jars": jars} if jars else {}), **given}, needs_delta)

    @contextmanager
    def launch(self) -> Iterator[SparkSession]:
        """Start a session for a `with` block, and stop it at the end.

        If a session is active already, it is used instead, and is not stopped.

        Raises:
            InvalidArgumentError: Spark does not start, or has no Delta connector although the
                command needs it.
        """
        with mute_query_log(all_threads=True):  # the command reports exceptions itself
            yield from self._open_session()

    def _open_session(self) -> Iterator[SparkSession]:
        known = SparkSession.getActiveSession()
        spark = known or _start_spark(self.conf)
        is_mine = known is None
        try:
            if self.needs_delta:
                _check_delta(spark)
            yield spark
        except KeyboardInterrupt:
            is_mine = False  # Java still waits for the interrupted call, and ends with this process
            raise
        finally:
            if is_mine:
                spark.stop()


def _start_spark(conf: Mapping[str, str]) -> SparkSession:
    if conf["spark.master"].startswith("local"):
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with tempfile.TemporaryFile() as printed:
        given = SparkConf().setAll(list(conf.items()))
        try:
            output = {"stdout": printed, "stderr": printed}
            gateway = launch_gateway(given, output)  # type: ignore[no-untyped-call]
        except PySparkRuntimeError:
            printed.seek(0)
            text = printed.read().decode(errors="replace")
            raise InvalidArgumentError(_explain_failed_start(text)) from None
        context = SparkContext(conf=given, gateway=gateway)
    _stop_on_interrupt(context)
    return SparkSession(context)


def _stop_on_interrupt(context: SparkContext) -> None:
    """Install a handler of Ctrl-C that cancels the jobs and raises KeyboardInterrupt.

    The jobs are cancelled in another thread, because PySpark's own handler would disturb the
    running call.
    """

    def stop(number: int, frame: object) -> None:
        cancel = threading.Thread(target=context.cancelAllJobs, daemon=True)
        cancel.start()
        cancel.join(_CANCEL_TIMEOUT_S)
        logging.disable()  # py4j would log a traceback
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, stop)


def _explain_failed_start(output: str) -> str:
    """Return why Spark did not start, from the output of its Java process.

    >>> _explain_failed_start("[unresolved dependency: org.x#y;1.0: not found]\\n\\tat a.b")
    'Spark could not download org.x:y:1.0: check the network, or name local jar files with --jars, \
for a stream with jars = "/path/to/jars/*.jar" in the section [spark] of its file'
    """
    if missing := re.findall(
        r"unresolved dependency: ([^\s\]]+?)#([^\s\]]+?);([^\s\]]+?):", output
    ):
        names = ", ".join(dict.fromkeys(":".join(parts) for parts in missing))
        return (
            f"Spark could not download {names}: check the network, or name local jar files with "
            '--jars, for a stream with jars = "/path/to/jars/*.jar" in the section [spark] of its '
            "file"
        )
    lines = output.strip().splitlines()
    reason = lines[-1].strip() if lines else "its Java process ended at once"
    return (
        f"Spark did not start ({reason}): it needs Java 17 or newer, named by JAVA_HOME or found "
        "on PATH"
    )


def has_java_class(spark: SparkSession, class_name: str) -> bool:
    """Return whether Spark can load a Java class; over Spark Connect, always True."""
    context: SparkContext | None = getattr(spark, "_sc", None)
    # Spark Connect has no access to Java, so it is unknown whether the server has the class.
    jvm = None if context is None else context._jvm
    return jvm is None or bool(jvm.org.apache.spark.util.Utils.classIsLoadable(class_name))


def check_kafka(spark: SparkSession, advice: str) -> None:
    """Raise InvalidArgumentError if a session has no Kafka connector.

    Args:
        spark: the session.
        advice: the end of the message, which says how the command gets the connector.
    """
    if not has_java_class(spark, _KAFKA_SOURCE_CLASS):
        raise InvalidArgumentError(f"Spark has no Kafka connector: {advice}")


def _check_delta(spark: SparkSession) -> None:
    """Raise InvalidArgumentError if a session has no Delta connector."""
    if not has_java_class(spark, _DELTA_CONF["spark.sql.extensions"]):
        raise InvalidArgumentError(
            "Spark has no Delta connector: name its two jars with --jars DELTA-SPARK.jar,"
            "DELTA-STORAGE.jar, or have Spark download them with --conf spark.jars.packages="
            "io.delta:delta-spark_4.2_2.13:4.4.0; for a stream, write packages = "
            '["kafka", "delta"] in the section [spark] of its file'
        )
