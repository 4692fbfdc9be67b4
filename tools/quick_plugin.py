"""pytest plugin of `make quick`: nearest tests first, and none starts after the deadline."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

START_OF_SPARK_S = 20.0
"""Seconds that the first test on Spark needs to start a session and perhaps a server.

If less time is left, this test is skipped.
"""

_left_out: list[str] = []
_has_spark = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order tests by their files."""
    order = os.environ["COVEY_QUICK_ORDER"].split(os.pathsep)
    ranks = {file: rank for rank, file in enumerate(order)}
    items.sort(key=lambda item: ranks.get(_file(item), len(ranks)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test after the deadline."""
    global _has_spark
    is_on_spark = item.get_closest_marker("integration") is not None
    until = float(os.environ["COVEY_QUICK_UNTIL"])
    if time.time() > until - (START_OF_SPARK_S if is_on_spark and not _has_spark else 0.0):
        _left_out.append(item.nodeid)
        pytest.skip("the time of `make quick` is over")
    _has_spark |= is_on_spark


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Set an exit code for no tests if all tests were skipped after the deadline."""
    if _left_out and len(_left_out) == session.testscollected:
        session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the number of tests that were left out."""
    if _left_out:
        terminalreporter.write_line(
            f"left out because the time was over: {len(_left_out)} tests, the first {_left_out[0]}"
        )


def _file(item: pytest.Item) -> str:
    return item.path.relative_to(item.config.rootpath).as_posix()
