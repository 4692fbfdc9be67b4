"""The warm-up before workers are forked."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from covey.stream import warm_up as module
from covey.stream.events.notify_task import NotifyTask
from covey.stream.warm_up import warm_up_worker


def test_the_warm_up_matches_and_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is forked afterwards has loaded everything that a batch needs."""
    row_counts: list[int] = []

    class Counted(NotifyTask):
        def __call__(self, batches):  # type: ignore[no-untyped-def]
            for rows in super().__call__(batches):
                row_counts.append(rows.num_rows)
                yield rows

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, "NotifyTask", Counted)
    warm_up_worker()
    assert sum(row_counts) > 0
    assert list(tmp_path.iterdir()) == []
