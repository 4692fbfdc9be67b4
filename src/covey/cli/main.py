"""The application: all commands in groups, and the options before a command (`covey --help`)."""

from __future__ import annotations

import io
import sys
from typing import Annotated

import typer

import covey
from covey.cli.doctor.command import doctor
from covey.cli.explain.command import explain
from covey.cli.match.command import match
from covey.cli.next_step import add_quiet_option
from covey.cli.plan.commands import plan_app
from covey.cli.preview.command import preview
from covey.cli.reduce.command import reduce
from covey.cli.research import research_app
from covey.cli.stream.commands import stream
from covey.cli.stream.status import status
from covey.cli.zones.command import zones

__all__ = ["app"]

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Match events with many Spark SQL predicates at once, exactly as Spark would.\n\n"
    "Example: covey match ticks.parquet alerts.csv -o matches.parquet",
)
_FILES, _STREAMS, _NETWORKS = "Tables in files", "Streams on Kafka", "Models and broker networks"
for _panel, _commands in {
    _FILES: (match, preview, doctor, explain, reduce),
    _STREAMS: (stream, status),
    _NETWORKS: (zones,),
}.items():
    for _command in _commands:
        app.command(rich_help_panel=_panel)(add_quiet_option(_command))
app.add_typer(plan_app, name="plan", rich_help_panel=_NETWORKS)
app.add_typer(research_app, name="research", rich_help_panel="Research")


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"covey {covey.__version__}")
        raise typer.Exit


@app.callback()
def _covey(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version of covey."
        ),
    ] = False,
) -> None:
    """Handle the options before a command, and prepare the output of all commands."""
    _escape_unencodable()


def _escape_unencodable() -> None:
    """Configure stdout and stderr to escape characters that their encoding does not have.

    Such a character is written as a backslash and its number.
    """
    for output in (sys.stdout, sys.stderr):
        if isinstance(output, io.TextIOWrapper):
            output.reconfigure(errors="backslashreplace")
