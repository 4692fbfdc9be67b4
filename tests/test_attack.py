"""The benchmark `attack` reports no error, on a small part of its cases."""

import pytest

from benchmarks.attack import KEYS, run
from benchmarks.on_attack.sizes import SHRINK
from tests import benchmarked


@pytest.mark.nightly
def test_every_key_is_measured_and_no_attack_succeeds():
    measured = benchmarked.measure("attack", {SHRINK: "50"})
    assert measured.keys() == KEYS.keys()
    wrong = [key for key in KEYS if key.endswith(("disturbed", "effects", "wrong", "failed"))]
    assert {key: measured[key] for key in [*wrong, "registry_unexplained"]} == dict.fromkeys(
        [*wrong, "registry_unexplained"], 0
    )


def test_divided_sizes_are_refused_in_a_full_run(monkeypatch):
    monkeypatch.setenv(SHRINK, "1000")
    with pytest.raises(SystemExit, match=SHRINK):
        run(frozenset(KEYS), full=True)
