"""`covey research simulate`: a run is repeated by its seed, and reports lost events."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from covey.cli import app


def run(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["research", "simulate", *words, "--quiet"])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize("network", ["brokers", "can-pure", "can-smart"])
def test_a_network_is_run_and_nothing_is_lost(network: str) -> None:
    code, said, _ = run(network, "--seed", "4", "--faults")
    assert code == 0
    lines = said.splitlines()
    assert lines[0].split() == [
        "seed", "lost", "invented", "repeated", "notifications", "messages",
    ]  # fmt: skip
    assert lines[1].split()[:4] == ["1", "run", "0", "0"]
    assert run(network, "--seed", "4", "--faults") == (code, said, "")


def test_a_run_that_loses_is_named_and_comes_back() -> None:
    code, said, _ = run("can-smart", "--printed", "--runs", "5")
    assert code == 1
    seed, lost = said.splitlines()[1].split()[:2]
    code, said, _ = run("can-smart", "--printed", "--seed", seed)
    assert code == 1
    assert said.splitlines()[1].split()[:2] == [seed, lost]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["can-pure", "--announcing"], "only with the network brokers"),
        (["can-pure", "--strategy", "hybrid"], "only with the network brokers"),
        (["brokers", "--strategy", "best"], "no routing strategy 'best'"),
        (["brokers", "--strategy", "hilbert", "--announcing"], "announcements need a strategy"),
        (["brokers", "--printed", "--announcing"], "strategy 'exact' and no announcements"),
        (["brokers", "--printed", "--strategy", "hybrid"], "got 'hybrid'"),
        (["can-pure", "--printed"], "only for SMART"),
        (["ring"], "'ring' is not one of"),
        (["brokers", "--runs", "0"], "--runs"),
    ],
)
def test_what_cannot_be_is_said(words: list[str], text: str) -> None:
    code, _, said = run(*words)
    assert code == 2
    assert text in said


def test_simulate_is_a_command_of_research_only() -> None:
    done = CliRunner().invoke(app, ["simulate", "brokers"])
    assert done.exit_code == 2
    assert "No such command 'simulate'" in done.stderr


def test_a_wrong_run_names_how_to_repeat_it() -> None:
    done = CliRunner().invoke(
        app, ["research", "simulate", "can-smart", "--printed", "--runs", "5"]
    )
    wrong = done.stdout.splitlines()[1].split()[0]
    assert done.stderr == f"next: repeat a wrong run alone: --seed {wrong}\n"
