"""`covey compact`: which subscriptions are redundant, and few filters for all of them."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from covey.cli.compact_folder import Folder
from covey.cli.failures import reported
from covey.cli.formats import Format
from covey.cli.options import (
    Conf,
    EventsFormat,
    EventsSchema,
    IdColumn,
    Jars,
    Master,
    PredicateColumn,
    Store,
    SubscriptionsFormat,
    SubscriptionsSchema,
    Vectors,
    lengths,
)
from covey.cli.picture import check_matplotlib
from covey.cli.reading import Source
from covey.cli.session import Session
from covey.errors import ValueRefused

__all__ = ["compact"]

_WRITTEN = "What is written"


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
            rich_help_panel=_WRITTEN,
        ),
    ] = None,
    no_picture: Annotated[
        bool, typer.Option("--no-picture", help="Draw none.", rich_help_panel=_WRITTEN)
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace an earlier compaction, and its picture.",
            rich_help_panel=_WRITTEN,
        ),
    ] = False,
    id_column: IdColumn = "id",
    predicate_column: PredicateColumn = "predicate",
    events_format: EventsFormat = None,
    subscriptions_format: SubscriptionsFormat = None,
    events_schema: EventsSchema = None,
    subscriptions_schema: SubscriptionsSchema = None,
    vectors: Vectors = None,
    master: Master = "local[*]",
    conf: Conf = None,
    jars: Jars = None,
    store: Store = None,
) -> None:
    """Say which subscriptions are redundant; write those that are not, the others, and filters.

    Example: covey compact alerts.csv ticks.parquet -o compacted
    """
    with reported():
        if not 0 <= added < 1:
            raise ValueRefused(f"--added is a share of events from 0 to less than 1, not {added:g}")
        if no_picture and picture is not None:
            raise ValueRefused("--picture and --no-picture exclude each other: give one of them")
        texts = [id_column, predicate_column, *([owner] if owner else [])]
        read = (
            Source.of(
                "subscriptions", subscriptions, subscriptions_format, subscriptions_schema,
                texts=tuple(texts),
            ),
            Source.of("events", events, events_format, events_schema),
        )  # fmt: skip
        folder = Folder.of(out, None if no_picture else picture, overwrite, read)
        if not no_picture:
            check_matplotlib()
        has_delta = any(source.format is Format.DELTA for source in read)
        session = Session.of(master, conf, jars, has_delta)
        from covey.cli.compact_job import CompactJob  # takes seconds: what is wrong is said before
        from covey.cli.compact_summary import show

        job = CompactJob(
            *read,
            folder,
            added,
            subtractions,
            owner,
            not no_picture,
            lengths(vectors),
            {"idCol": id_column, "predicateCol": predicate_column, "storePath": store},
            session,
        )
        show(Console(), *job.run(), folder, not no_picture)
