"""Errors of failed tasks, as raised on the driver."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from covey.errors import (
    CoveyError,
    InvalidArgumentError,
    PredicateError,
    SchemaError,
    StoreError,
    StreamError,
)


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        ("…\ncovey.errors.StoreError: version 3 is gone\n…", StoreError, "version 3 is gone"),
        ("…\ncovey.errors.SchemaError: no column 'x'\n…", SchemaError, "no column 'x'"),
        ("…\ncovey.errors.InvalidArgumentError: zones\n…", InvalidArgumentError, "zones"),
        ("…\ncovey.errors.SomeError: of a newer covey\n…", CoveyError, "of a newer covey"),
        (
            "…\nModuleNotFoundError: No module named 'covey'\n SQLSTATE: 38000",
            CoveyError,
            r"workers cannot import the package covey: set PYSPARK_PYTHON=.*python",
        ),
    ],
)
def test_errors_of_workers_keep_their_class(text: str, kind: type[Exception], said: str) -> None:
    from pyspark.errors import PySparkException

    from covey.spark.workers import reraise_worker_errors

    with pytest.raises(kind, match=said), reraise_worker_errors():
        raise PySparkException(text)


@pytest.mark.parametrize("row", [None, 3])
def test_a_predicate_error_keeps_its_position(row: int | None) -> None:
    from pyspark.errors import PySparkException

    from covey.spark.workers import reraise_worker_errors

    error = PredicateError("no column 'prise'", "qty = 1 AND prise > 5", 12, "did you mean price?")
    error = error.with_row(row) if row is not None else error
    with pytest.raises(PredicateError) as raised, reraise_worker_errors():
        raise PySparkException(
            f"Traceback …\ncovey.errors.PredicateError: {error}\n SQLSTATE: 38000"
        )
    assert (str(raised.value), raised.value.row) == (str(error), row)


def test_other_errors_are_not_changed() -> None:
    from pyspark.errors import PySparkException

    from covey.spark.workers import reraise_worker_errors

    with pytest.raises(PySparkException, match="no space left"), reraise_worker_errors():
        raise PySparkException("no space left")


def test_a_worker_that_does_not_see_the_store_or_the_state_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from covey.spark.workers import open_shared_store
    from covey.stream.batches import version_source

    shared = f"on {socket.gethostname()} does not see .* that all machines of the cluster share"
    with pytest.raises(StoreError, match=shared):
        open_shared_store(str(tmp_path / "store"))
    monkeypatch.setattr(version_source, "get_task_batch", lambda: ("query", 3))
    versions = version_source.DecidedVersion(str(tmp_path / "store"), str(tmp_path))
    with pytest.raises(StreamError, match=shared) as caught:
        versions.open_snapshot()
    assert "delete" not in str(caught.value)


def test_a_damaged_store_is_not_reported_as_invisible(tmp_path: Path) -> None:
    from covey.spark.workers import open_shared_store

    (tmp_path / "versions").mkdir()
    (tmp_path / "versions" / "000000000000.json").write_text("damaged")
    with pytest.raises(StoreError, match="cannot be read"):
        open_shared_store(str(tmp_path))
