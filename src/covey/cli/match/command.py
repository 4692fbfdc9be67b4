"""`covey match`: every event of a table with every subscription of another, into a third."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from covey.cli.console_format import make_console
from covey.cli.errors import exit_on_error
from covey.cli.io.formats import FileFormat, format_from_suffix
from covey.cli.io.targets import TableTarget
from covey.cli.match.summary import print_summary
from covey.cli.options import (
    SparkOptions,
    StoreOption,
    TableOptions,
    expand_options,
    parse_vector_lengths,
    split_names,
)
from covey.errors import InvalidArgumentError

__all__ = ["match"]

_OUTPUT_PANEL = "How it is written"
_LIFETIMES_PANEL = "Lifetimes of subscriptions"


class OutputMode(StrEnum):
    """A row for each match, or for each event with the list of its matches."""

    PAIRS = "pairs"
    ARRAYS = "arrays"


class ErrorMode(StrEnum):
    """What a wrong predicate does: it is left out and counted, or ends the command."""

    SKIP = "skip"
    ERROR = "error"


@expand_options
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
        OutputMode,
        typer.Option(help="A row a match, or a row an event.", rich_help_panel=_OUTPUT_PANEL),
    ] = OutputMode.PAIRS,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Columns of events to keep; else all.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = None,
    matches_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The column of matched ids; else as the ids are called, or 'matches'.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = None,
    output_format: Annotated[
        FileFormat | None,
        typer.Option(help="If the suffix does not tell.", rich_help_panel=_OUTPUT_PANEL),
    ] = None,
    rejected: Annotated[
        str | None,
        typer.Option(
            metavar="PATH", help="Write wrong predicates there.", rich_help_panel=_OUTPUT_PANEL
        ),
    ] = None,
    overwrite: Annotated[
        bool,
        typer.Option("--overwrite", help="Replace what is there.", rich_help_panel=_OUTPUT_PANEL),
    ] = False,
    on_error: Annotated[
        ErrorMode,
        typer.Option(help="Leave wrong predicates out, or end.", rich_help_panel=_OUTPUT_PANEL),
    ] = ErrorMode.SKIP,
    *,
    tables: TableOptions,
    valid_from: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="From when each counts.", rich_help_panel=_LIFETIMES_PANEL
        ),
    ] = None,
    valid_to: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Until when.", rich_help_panel=_LIFETIMES_PANEL),
    ] = None,
    event_time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Of events; else the present.", rich_help_panel=_LIFETIMES_PANEL
        ),
    ] = None,
    spark: SparkOptions,
    store: StoreOption = None,
) -> None:
    """Match every event with every subscription that wants it, and write the matches.

    Example: covey match ticks.parquet alerts.csv -o matches.parquet
    """
    with exit_on_error():
        read = tables.open_events(events), tables.open_subscriptions(subscriptions)
        is_pairs = output is OutputMode.PAIRS
        written = TableTarget.from_path(
            out, output_format, "output", overwrite=overwrite, sources=read
        )
        if written.format is FileFormat.CSV and not is_pairs:
            raise InvalidArgumentError(
                "CSV has no lists: use --output pairs, or write Parquet or JSON"
            )
        refused = None
        if rejected is not None:
            same = format_from_suffix(rejected) or written.format
            refused = TableTarget.from_path(
                rejected, same, "rejected", overwrite=overwrite, sources=read
            )
        formats = [one.format for one in (*read, written, refused) if one is not None]
        from covey.cli.match.job import MatchJob

        job = MatchJob(
            *read,
            written,
            refused,
            is_pairs,
            matches_column or (tables.id_column if is_pairs else "matches"),
            split_names(columns),
            parse_vector_lengths(tables.vectors),
            {
                "idCol": tables.id_column,
                "predicateCol": tables.predicate_column,
                "handleInvalid": on_error.value,
                "validFromCol": valid_from,
                "validToCol": valid_to,
                "eventTimeCol": event_time,
                "storePath": store,
            },
            spark.make_launcher(formats),
        )
        print_summary(make_console(), *job.run(), out)
