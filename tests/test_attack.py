"""The attack finds nothing, on a small part of what it tries."""

import pytest

from benchmarks.attack import KEYS, run
from benchmarks.on_attack.sizes import SHRINK
from tests import benchmarked


@pytest.mark.nightly
def test_every_key_is_measured_and_nothing_is_wrong():
    measured = benchmarked.measure("attack", {SHRINK: "50"})
    assert measured.keys() == KEYS.keys()
    wrong = [key for key in KEYS if key.endswith(("disturbed", "effects", "wrong", "failed"))]
    assert {key: measured[key] for key in [*wrong, "registry_unexplained"]} == dict.fromkeys(
        [*wrong, "registry_unexplained"], 0
    )


def test_divided_sizes_are_never_published(monkeypatch):
    monkeypatch.setenv(SHRINK, "1000")
    with pytest.raises(SystemExit, match=SHRINK):
        run(frozenset(KEYS), full=True)
