"""`covey match`: every event of a table with every subscription of another, into a third."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console

from covey.cli.failures import reported
from covey.cli.formats import Format, by_suffix
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
    listed,
)
from covey.cli.reading import Source
from covey.cli.session import Session
from covey.cli.summary import show
from covey.cli.writing import Target
from covey.errors import ValueRefused

__all__ = ["match"]

_WRITTEN = "How it is written"
_LIFETIMES = "Lifetimes of subscriptions"


class Output(StrEnum):
    """A row for each match, or for each event with the list of its matches."""

    PAIRS = "pairs"
    ARRAYS = "arrays"


class OnError(StrEnum):
    """What a wrong predicate does: it is left out and counted, or ends the command."""

    COLLECT = "collect"
    FAIL = "fail"


def match(
    events: Annotated[
        str, typer.Argument(metavar="EVENTS", help="Parquet, CSV, JSON lines or Delta.")
    ],
    subscriptions: Annotated[
        str,
        typer.Argument(metavar="SUBSCRIPTIONS", help="The same: a row has an id and a predicate."),
    ],
    out: Annotated[str, typer.Option("--out", "-o", metavar="PATH", help="What to write.")],
    output: Annotated[
        Output, typer.Option(help="A row a match, or a row an event.", rich_help_panel=_WRITTEN)
    ] = Output.PAIRS,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Columns of events to keep; else all.", rich_help_panel=_WRITTEN
        ),
    ] = None,
    matches_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The column of matched ids; else as the ids are called, or 'matches'.",
            rich_help_panel=_WRITTEN,
        ),
    ] = None,
    output_format: Annotated[
        Format | None,
        typer.Option(help="If the suffix does not tell.", rich_help_panel=_WRITTEN),
    ] = None,
    rejected: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Write wrong predicates there.", rich_help_panel=_WRITTEN
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is there.", rich_help_panel=_WRITTEN)
    ] = False,
    on_error: Annotated[
        OnError,
        typer.Option(help="Leave wrong predicates out, or end.", rich_help_panel=_WRITTEN),
    ] = OnError.COLLECT,
    id_column: IdColumn = "id",
    predicate_column: PredicateColumn = "predicate",
    events_format: EventsFormat = None,
    subscriptions_format: SubscriptionsFormat = None,
    events_schema: EventsSchema = None,
    subscriptions_schema: SubscriptionsSchema = None,
    vectors: Vectors = None,
    valid_from: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="From when each counts.", rich_help_panel=_LIFETIMES),
    ] = None,
    valid_to: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Until when.", rich_help_panel=_LIFETIMES),
    ] = None,
    event_time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Of events; else the present.", rich_help_panel=_LIFETIMES
        ),
    ] = None,
    master: Master = "local[*]",
    conf: Conf = None,
    jars: Jars = None,
    store: Store = None,
) -> None:
    """Match every event with every subscription that wants it, and write the matches.

    Example: covey match ticks.parquet alerts.csv -o matches.parquet
    """
    with reported():
        read = (
            Source.of("events", events, events_format, events_schema),
            Source.of(
                "subscriptions", subscriptions, subscriptions_format, subscriptions_schema,
                texts=(id_column, predicate_column),
            ),
        )  # fmt: skip
        is_pairs = output is Output.PAIRS
        written = Target.of(out, output_format, "output", overwrite, read)
        if written.format is Format.CSV and not is_pairs:
            raise ValueRefused("CSV has no lists: use --output pairs, or write Parquet or JSON")
        refused = None
        if rejected is not None:
            same = by_suffix(rejected) or written.format
            refused = Target.of(rejected, same, "rejected", overwrite, read)
        formats = [one.format for one in (*read, written, refused) if one is not None]
        from covey.cli.job import Job  # takes seconds: what is wrong above is said before

        job = Job(
            *read,
            written,
            refused,
            is_pairs,
            matches_column or (id_column if is_pairs else "matches"),
            listed(columns),
            lengths(vectors),
            {
                "idCol": id_column,
                "predicateCol": predicate_column,
                "onError": on_error.value,
                "validFromCol": valid_from,
                "validToCol": valid_to,
                "eventTimeCol": event_time,
                "storePath": store,
            },
            Session.of(master, conf, jars, Format.DELTA in formats),
        )
        show(Console(), *job.run(), out)
