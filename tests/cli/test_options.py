"""Groups of options that several commands have."""

from __future__ import annotations

import inspect
from typing import Annotated

import typer
from typer.testing import CliRunner

from covey.cli.options import SparkOptions, TableOptions, expand_options


def test_a_command_has_the_options_of_its_groups_in_their_place() -> None:
    seen = []

    @expand_options
    def command(
        path: str,
        *,
        tables: TableOptions,
        limit: Annotated[int, typer.Option()] = 3,
        spark: SparkOptions,
    ) -> None:
        seen.append((path, tables, limit, spark))

    names = list(inspect.signature(command).parameters)
    assert names[:2] == ["path", "id_column"]
    assert names[-5:] == ["vectors", "limit", "master", "conf", "jars"]
    app = typer.Typer()
    app.command()(command)
    done = CliRunner().invoke(app, ["a.csv", "--id", "x", "--vectors", "v=3", "--master", "local"])
    assert done.exit_code == 0, done.output
    expected = TableOptions(id_column="x", vectors=["v=3"]), 3, SparkOptions(master="local")
    assert seen == [("a.csv", *expected)]
