"""`covey compact`: which subscriptions are redundant, and few filters for all of them."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from covey.cli.errors import exit_on_error
from covey.cli.io.formats import FileFormat
from covey.cli.io.sources import TableSource
from covey.cli.options import (
    ConfOption,
    EventsFormatOption,
    EventsSchemaOption,
    IdColumnOption,
    JarsOption,
    MasterOption,
    PredicateColumnOption,
    StoreOption,
    SubscriptionsFormatOption,
    SubscriptionsSchemaOption,
    VectorsOption,
    parse_vector_lengths,
)
from covey.cli.plotting import require_matplotlib
from covey.cli.reduce.output_folder import OutputFolder
from covey.cli.session import SessionLauncher
from covey.errors import InvalidArgumentError

__all__ = ["compact"]

_OUTPUT_PANEL = "What is written"


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
    id_column: IdColumnOption = "id",
    predicate_column: PredicateColumnOption = "predicate",
    events_format: EventsFormatOption = None,
    subscriptions_format: SubscriptionsFormatOption = None,
    events_schema: EventsSchemaOption = None,
    subscriptions_schema: SubscriptionsSchemaOption = None,
    vectors: VectorsOption = None,
    master: MasterOption = "local[*]",
    conf: ConfOption = None,
    jars: JarsOption = None,
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
        texts = [id_column, predicate_column, *([owner] if owner else [])]
        read = (
            TableSource.from_path(
                "subscriptions",
                subscriptions,
                requested_format=subscriptions_format,
                schema=subscriptions_schema,
                text_columns=tuple(texts),
            ),
            TableSource.from_path(
                "events", events, requested_format=events_format, schema=events_schema
            ),
        )
        folder = OutputFolder.from_options(
            out, None if no_picture else picture, overwrite=overwrite, sources=read
        )
        if not no_picture:
            require_matplotlib()
        has_delta = any(source.format is FileFormat.DELTA for source in read)
        session = SessionLauncher.from_options(master, conf, jars, needs_delta=has_delta)
        from covey.cli.reduce.job import ReduceJob
        from covey.cli.reduce.summary import print_summary

        job = ReduceJob(
            *read,
            folder,
            added,
            subtractions,
            owner,
            not no_picture,
            parse_vector_lengths(vectors),
            {"idCol": id_column, "predicateCol": predicate_column, "storePath": store},
            session,
        )
        print_summary(Console(), *job.run(), folder, has_plot=not no_picture)
