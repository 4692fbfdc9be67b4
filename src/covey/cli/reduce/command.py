"""`covey compact`: which subscriptions are redundant, and few filters for all of them."""

from __future__ import annotations

from typing import Annotated

import typer

from covey.cli.console_format import make_console
from covey.cli.errors import exit_on_error
from covey.cli.options import (
    SparkOptions,
    StoreOption,
    TableOptions,
    expand_options,
    parse_vector_lengths,
)
from covey.cli.plotting import require_matplotlib
from covey.cli.reduce.output_folder import OutputFolder
from covey.errors import InvalidArgumentError

__all__ = ["compact"]

_OUTPUT_PANEL = "What is written"


@expand_options
def compact(
    subscriptions: Annotated[
        str,
        typer.Argument(
            metavar="SUBSCRIPTIONS",
            help="Parquet, CSV, JSON lines or Delta: a row has an id and a predicate.",
        ),
    ],
    events: Annotated[
        str,
        typer.Argument(metavar="EVENTS", help="The same: what columns there are, and a sample."),
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="FOLDER", help="What to write.")],
    added: Annotated[
        float, typer.Option(help="The share of events that filters may let in for nobody.")
    ] = 0.04,
    subtractions: Annotated[
        int, typer.Option(min=0, help="How many others are taken out of one region at most.")
    ] = 32,
    owner: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Of subscriptions: whose they are, to count by."),
    ] = None,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="The picture, a PNG; else compacted.png in the folder.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = None,
    no_picture: Annotated[
        bool, typer.Option("--no-picture", help="Draw none.", rich_help_panel=_OUTPUT_PANEL)
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace an earlier compaction, and its picture.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = False,
    *,
    tables: TableOptions,
    spark: SparkOptions,
    store: StoreOption = None,
) -> None:
    """Say which subscriptions are redundant; write those that are not, the others, and filters.

    Example: covey compact alerts.csv ticks.parquet -o compacted
    """
    with exit_on_error():
        if not 0 <= added < 1:
            raise InvalidArgumentError(
                f"--added is a share of events from 0 to less than 1, not {added:g}"
            )
        if no_picture and picture is not None:
            raise InvalidArgumentError(
                "--picture and --no-picture exclude each other: give one of them"
            )
        read = tables.open_subscriptions(subscriptions, owner), tables.open_events(events)
        folder = OutputFolder.from_options(
            out, None if no_picture else picture, overwrite=overwrite, sources=read
        )
        if not no_picture:
            require_matplotlib()
        session = spark.make_launcher(source.format for source in read)
        from covey.cli.reduce.job import ReduceJob
        from covey.cli.reduce.summary import print_summary

        job = ReduceJob(
            *read,
            folder,
            added,
            subtractions,
            owner,
            not no_picture,
            parse_vector_lengths(tables.vectors),
            {
                "idCol": tables.id_column,
                "predicateCol": tables.predicate_column,
                "storePath": store,
            },
            session,
        )
        print_summary(make_console(), *job.run(), folder, has_plot=not no_picture)
