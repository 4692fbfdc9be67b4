"""What workers are forked with."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from covey.stream import warm as module
from covey.stream.notices import Notices
from covey.stream.warm import warm


def test_warming_matches_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is forked then has met all that a batch needs."""
    made: list[int] = []

    class Counted(Notices):
        def __call__(self, batches):  # type: ignore[no-untyped-def]
            for rows in super().__call__(batches):
                made.append(rows.num_rows)
                yield rows

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(module, "Notices", Counted)
    warm()
    assert sum(made) > 0
    assert list(tmp_path.iterdir()) == []
