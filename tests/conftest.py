"""Hypothesis profiles of the property tests, and the Spark session that all tests share.

HYPOTHESIS_PROFILE is default, ci or nightly: `default` and `ci` try the same cases every time, so
that a failure is due to the change under test; `nightly` draws new ones. No profile has a deadline,
because test machines are shared. With COVEY_TEST_REMOTE=local[2,4] the session uses Spark Connect.
If several processes share the tests on Spark (`--dist loadfile`), each has a session of its own;
one process runs all tests of tests/stream, since they share a Kafka server and a stream.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ON_KAFKA = "tests/stream/"

_SLOW = [HealthCheck.too_slow]

settings.register_profile(
    "default", max_examples=20, deadline=None, derandomize=True, suppress_health_check=_SLOW
)
settings.register_profile(
    "ci", max_examples=200, deadline=None, derandomize=True, suppress_health_check=_SLOW
)
settings.register_profile(
    "nightly", max_examples=10_000, deadline=None, print_blob=True, suppress_health_check=_SLOW
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Distribute tests by file, but run all tests of the Kafka server in one process."""
    from xdist.scheduler import LoadFileScheduling

    class FilesOrServer(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return ON_KAFKA if nodeid.startswith(ON_KAFKA) else super()._split_scope(nodeid)

    return FilesOrServer(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Yield a session with two cores that retries failed tasks: plain `local[2]` does not retry.

    It interprets expressions and plans each query once: for the few rows of a test, generating and
    compiling code takes most of the time. `code_generation` enables it for a test.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    remote = os.environ.get("COVEY_TEST_REMOTE")
    builder = SparkSession.builder
    builder = builder.remote(remote) if remote else builder.master("local[2,4]")
    session = (
        builder.config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.adaptive.enabled", "false")
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .getOrCreate()
    )
    yield session
    session.stop()


@pytest.fixture
def code_generation(spark: SparkSession) -> Iterator[None]:
    """Let Spark compile expressions, as it does by default, during a test."""
    spark.conf.set("spark.sql.codegen.wholeStage", "true")
    spark.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
    yield
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
