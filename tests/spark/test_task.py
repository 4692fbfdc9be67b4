"""What tasks that fail have said."""

from __future__ import annotations

import pytest

from covey.errors import CoveyError, StoreError


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("…\ncovey.errors.StoreError: version 3 is gone\n…", StoreError, "version 3 is gone"),
        (
            "…\nModuleNotFoundError: No module named 'covey'\n SQLSTATE: 38000",
            CoveyError,
            r"workers have no covey.*PYSPARK_PYTHON=.*python",
        ),
    ],
)
def test_they_are_told_here(text: str, kind: type[Exception], said: str) -> None:
    from pyspark.errors import PySparkException

    from covey.spark.task import told

    with pytest.raises(kind, match=said), told():
        raise PySparkException(text)


def test_other_errors_stay_what_they_are() -> None:
    from pyspark.errors import PySparkException

    from covey.spark.task import told

    with pytest.raises(PySparkException, match="no space left"), told():
        raise PySparkException("no space left")
