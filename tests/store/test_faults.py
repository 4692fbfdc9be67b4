"""Killed writers lose no acknowledged change, and changed bytes cause no wrong answer."""

from __future__ import annotations

import os
from pathlib import Path

from covey.testing.store_faults import flip_bytes, kill_writers

# For longer runs: `KILLS=200 FLIPS=1000 python -m pytest tests/store/test_faults.py`.
KILLS = int(os.environ.get("KILLS", "10"))
FLIPS = int(os.environ.get("FLIPS", "50"))


def test_a_killed_writer_loses_nothing_that_it_acknowledged(tmp_path: Path) -> None:
    report = kill_writers(tmp_path / "store", KILLS)
    assert report.violations == ()
    assert report.batch_count > 0


def test_a_changed_byte_is_noticed_or_harmless(tmp_path: Path) -> None:
    report = flip_bytes(tmp_path / "store", FLIPS)
    assert report.wrong_answers == ()
    assert report.detected_count > FLIPS // 10
    assert report.harmless_count > 0
