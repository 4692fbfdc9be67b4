"""The commands, and what they have in common: `covey --help`."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

import covey
from covey.cli.doctor.command import doctor
from covey.cli.match.command import match
from covey.cli.plan.commands import plan_app
from covey.cli.preview.command import preview
from covey.cli.reduce.command import compact
from covey.cli.simulate import simulate
from covey.cli.stream.commands import explain, stream
from covey.cli.stream.status import status
from covey.cli.zones.command import zones

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Match events to standing Spark SQL predicates, exactly.",
)
app.command()(match)
app.command()(preview)
app.command()(doctor)
app.command("reduce")(compact)
app.command("compact", hidden=True)(compact)  # its earlier name
app.command()(stream)
app.command()(status)
app.command()(explain)
app.command()(zones)
app.command()(simulate)
app.add_typer(plan_app, name="plan")


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"covey {covey.__version__}")
        raise typer.Exit


@app.callback()
def _covey(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show it.")
    ] = False,
) -> None:
    """Takes the options that stand before a command."""
    _escape_unencodable()


def _escape_unencodable() -> None:
    """Lets streams write what their encoding lacks, as part of a path, with a backslash."""
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="backslashreplace")
