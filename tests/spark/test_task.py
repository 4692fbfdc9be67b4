"""What tasks that fail have said."""

from __future__ import annotations

import pytest

from covey.errors import CoveyError, PredicateError, SpaceError, StoreError, ValueRefused


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("…\ncovey.errors.StoreError: version 3 is gone\n…", StoreError, "version 3 is gone"),
        ("…\ncovey.errors.SpaceError: no column 'x'\n…", SpaceError, "no column 'x'"),
        ("…\ncovey.errors.ValueRefused: zones\n…", ValueRefused, "zones"),
        ("…\ncovey.errors.SomeError: of a newer covey\n…", CoveyError, "of a newer covey"),
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


def test_a_wrong_predicate_keeps_its_place() -> None:
    from pyspark.errors import PySparkException

    from covey.spark.task import told

    error = PredicateError("no column 'prise'", "qty = 1 AND prise > 5", 12, "did you mean price?")
    with pytest.raises(PredicateError) as raised, told():
        raise PySparkException(
            f"Traceback …\ncovey.errors.PredicateError: {error}\n SQLSTATE: 38000"
        )
    assert str(raised.value) == str(error)


def test_other_errors_stay_what_they_are() -> None:
    from pyspark.errors import PySparkException

    from covey.spark.task import told

    with pytest.raises(PySparkException, match="no space left"), told():
        raise PySparkException("no space left")
