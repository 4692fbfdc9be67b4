"""The ledger of the receiver: effects, known ids and offsets change together or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from soak.receiver import Ledger
from soak.topics import Record


def notification(offset: int, id_: str) -> Record:
    return Record(1, offset, 0, b"s", f'{{"id":"{id_}"}}'.encode(), {})


def effects(ledger: Ledger) -> list[str]:
    return [row[0] for row in ledger._database.execute("SELECT id FROM effects ORDER BY id")]


def test_an_id_has_one_effect_however_often_it_is_received(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.take([notification(0, "x"), notification(1, "y"), notification(2, "x")])
    ledger.take([notification(3, "y"), notification(4, "z")])
    assert effects(ledger) == ["x", "y", "z"]
    assert ledger.reached() == {1: 5}


def test_a_failed_batch_changes_nothing(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger")
    ledger.take([notification(0, "x")])
    with pytest.raises(TypeError):
        ledger.take([notification(1, "y"), notification(2, "z")._replace(offset="no number")])
    again = Ledger(tmp_path / "ledger")
    assert effects(again) == ["x"]
    assert again.reached() == {1: 1}
