"""`covey match`: match a table of events with a table of subscriptions, and write the matches."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from covey.cli.console_format import make_console
from covey.cli.doctor.command import DEFAULT_MAX_FINDINGS
from covey.cli.errors import exit_on_error, report_rejected
from covey.cli.io.formats import FileFormat, format_from_suffix
from covey.cli.io.targets import TableTarget
from covey.cli.match.summary import print_summary
from covey.cli.next_step import print_next_step
from covey.cli.options import (
    AllowRejectedOption,
    SparkOptions,
    StoreOption,
    TableOptions,
    expand_options,
    parse_vector_lengths,
    split_names,
)
from covey.errors import InvalidArgumentError

__all__ = ["match"]

_OUTPUT_PANEL = "Output"
_VALIDITY_PANEL = "Validity of subscriptions"


class OutputMode(StrEnum):
    """Rows of the output: one per match (pairs), or one per event with its matches (arrays)."""

    PAIRS = "pairs"
    ARRAYS = "arrays"


class ErrorMode(StrEnum):
    """Effect of a wrong predicate: it is left out and counted, or it ends the command."""

    SKIP = "skip"
    ERROR = "error"


@expand_options
def match(
    events: Annotated[
        str,
        typer.Argument(
            metavar="EVENTS", help="Table of events: Parquet, CSV, JSON lines or Delta."
        ),
    ],
    subscriptions: Annotated[
        str,
        typer.Argument(
            metavar="SUBSCRIPTIONS",
            help="Table of subscriptions, in one of the formats of EVENTS, with an id and a "
            "predicate in each row.",
        ),
    ],
    out: Annotated[
        str,
        typer.Option(
            "--out",
            "-o",
            metavar="PATH",
            help="Path of the matches. If the path is local and has a suffix such as .parquet or "
            ".csv, a result of up to 1 GB is one file; otherwise it is a folder of files.",
        ),
    ],
    output: Annotated[
        OutputMode,
        typer.Option(
            help="Write one row for each match (pairs), or one row for each event, with the list "
            "of its matches (arrays).",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = OutputMode.PAIRS,
    columns: Annotated[
        str | None,
        typer.Option(
            metavar="A,B",
            help="Columns of events to write. All if missing.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = None,
    matches_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the column with matched ids. If missing: the name of the id column, or "
            "'matches' for arrays.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = None,
    output_format: Annotated[
        FileFormat | None,
        typer.Option(
            help="Format of the matches. If missing, the suffix of the path determines it.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = None,
    rejected: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Write the subscriptions with wrong predicates to this table, with the errors.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Write at most N rows, and stop matching after them.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = None,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes",
            "-y",
            help="Write a very large result without confirmation.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace existing files at the output paths.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = False,
    on_error: Annotated[
        ErrorMode,
        typer.Option(
            help="Leave out subscriptions with wrong predicates (skip), or end the command with an "
            "error at the first one (error).",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = ErrorMode.SKIP,
    allow_rejected: AllowRejectedOption = False,
    *,
    tables: TableOptions,
    valid_from: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of subscriptions with the time from which they match.",
            rich_help_panel=_VALIDITY_PANEL,
        ),
    ] = None,
    valid_to: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of subscriptions with the time before which they match.",
            rich_help_panel=_VALIDITY_PANEL,
        ),
    ] = None,
    event_time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of events with their time. If missing, all events have the current time.",
            rich_help_panel=_VALIDITY_PANEL,
        ),
    ] = None,
    spark: SparkOptions,
    store: StoreOption = None,
) -> None:
    """Match every event with every subscription, and write the matches.

    Exit code 3 if subscriptions were left out because their predicates are wrong. If all of them
    are wrong, nothing is matched or written.

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
                "CSV cannot have lists: use --output pairs, or write Parquet or JSON"
            )
        if yes and limit is not None:
            raise InvalidArgumentError(
                "--yes confirms a result of any size, but --limit restricts it: give one of the two"
            )
        refused = None
        if rejected is not None:
            same = format_from_suffix(rejected) or written.format
            refused = TableTarget.from_path(
                rejected, same, "rejected", overwrite=overwrite, sources=read
            )
        formats = [one.format for one in (*read, written, refused) if one is not None]
        from covey.cli.match.job import MatchJob
        from covey.cli.match.size_estimate import confirm_size

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
            allow_rejected,
            limit,
            None if yes else confirm_size,
        )
        report, seconds_by_step = job.run()
        print_summary(make_console(), report, seconds_by_step, out)
    exit_code = report_rejected(report.rejections.count, is_allowed=allow_rejected)
    if (rejected_count := report.rejections.count) > 0:
        limit_option = f" --limit {rejected_count}" if rejected_count > DEFAULT_MAX_FINDINGS else ""
        print_next_step(
            f"covey doctor {subscriptions} --events {events}{limit_option}   "
            "# all wrong predicates, with advice"
        )
    else:
        print_next_step(
            f"covey explain {subscriptions} --events {events} --row 0 --subscription ID   "
            "# why an event matched"
        )
    raise typer.Exit(exit_code)
