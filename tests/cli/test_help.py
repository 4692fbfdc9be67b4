"""Help of commands: groups, one example each, and options that say what they are."""

from __future__ import annotations

from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from covey.cli import app


def iter_commands(group: Any, path: tuple[str, ...] = ()) -> Any:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from iter_commands(command, (*path, name))
        else:
            yield (*path, name), command


COMMANDS = dict(iter_commands(typer.main.get_command(app)))


def test_commands_are_in_groups() -> None:
    help_ = CliRunner().invoke(app, ["--help"]).stdout
    for panel in ("Tables in files", "Streams on Kafka", "Models and broker networks", "Research"):
        assert f" {panel} " in help_


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_has_an_example_that_names_it(path: tuple[str, ...]) -> None:
    help_ = COMMANDS[path].help
    assert help_.count("Example: ") == 1
    assert f"Example: covey {' '.join(path)} " in help_


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_an_example_has_only_options_that_exist(path: tuple[str, ...]) -> None:
    command = COMMANDS[path]
    known = {name for parameter in command.params for name in (*parameter.opts, "-o")}
    words = command.help.partition("Example: ")[2].split()
    assert {word for word in words if word.startswith("--")} <= known
    required = [p for p in command.params if p.required and p.param_type_name == "option"]
    assert [p.name for p in required if not set(p.opts) & set(words)] == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_option_says_what_it_is(path: tuple[str, ...]) -> None:
    short = [
        parameter.name
        for parameter in COMMANDS[path].params
        if parameter.name != "help" and len((parameter.help or "").split()) < 3
    ]
    assert short == []


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_every_command_can_be_quiet(path: tuple[str, ...]) -> None:
    assert any("--quiet" in parameter.opts for parameter in COMMANDS[path].params)
