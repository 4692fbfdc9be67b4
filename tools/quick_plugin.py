"""pytest plugin of `make quick`: nearest tests first, and none starts after the deadline."""

from __future__ import annotations

import os
import time

import pytest

START_OF_SPARK_S = 20.0
"""A test on Spark may have to start a session first, and is not started so late."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order tests by their files."""
    order = os.environ["COVEY_QUICK_ORDER"].split(os.pathsep)
    ranks = {file: rank for rank, file in enumerate(order)}
    items.sort(key=lambda item: ranks.get(_file(item), len(ranks)))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip what would start after the deadline."""
    is_on_spark = item.get_closest_marker("integration") is not None
    until = float(os.environ["COVEY_QUICK_UNTIL"])
    if time.time() > until - (START_OF_SPARK_S if is_on_spark else 0.0):
        pytest.skip("the time of `make quick` is over")


def _file(item: pytest.Item) -> str:
    return item.path.relative_to(item.config.rootpath).as_posix()
