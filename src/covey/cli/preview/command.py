"""`covey preview`: how often a predicate would have matched, before it is saved."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from covey.cli.console_format import format_percent, make_console
from covey.cli.errors import exit_on_error
from covey.cli.io.columns import check_columns, read_events, read_header
from covey.cli.io.sources import TableSource
from covey.cli.next_step import print_next_step
from covey.cli.options import (
    EventsFormatOption,
    EventsSchemaOption,
    SparkOptions,
    VectorsOption,
    expand_options,
    parse_vector_lengths,
)
from covey.cli.preview.match_history import MatchHistory, compute_match_history, find_time_column
from covey.cli.preview.sample_rows import SampleRows, fetch_sample_rows, make_sample_table
from covey.cli.progress import StepProgress

__all__ = ["preview"]

_MAX_BAR_LENGTH = 20  # characters of the longest bar


@expand_options
def preview(
    predicate: Annotated[
        str, typer.Argument(metavar="PREDICATE", help="Predicate: a condition of Spark SQL.")
    ],
    events: Annotated[
        str,
        typer.Argument(
            metavar="EVENTS", help="Table of events: Parquet, CSV, JSON lines or Delta."
        ),
    ],
    rows: Annotated[
        int, typer.Option(min=0, help="Largest number of matching events to print.")
    ] = 5,
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the time of an event. If missing: the first column of timestamps, or "
            "else of dates.",
        ),
    ] = None,
    events_format: EventsFormatOption = None,
    events_schema: EventsSchemaOption = None,
    vectors: VectorsOption = None,
    *,
    spark: SparkOptions,
) -> None:
    """Count the events that a predicate would have matched, and print some of them.

    Example: covey preview "symbol = 'ACME' AND price > 120" ticks.parquet
    """
    with exit_on_error():
        source = TableSource.from_path(
            "events", events, requested_format=events_format, schema=events_schema
        )
        launcher, vector_lengths = (
            spark.make_launcher([source.format]),
            parse_vector_lengths(vectors),
        )
        from covey.language import parse
        from covey.language.syntax import parse_tree
        from covey.space import PredicateLimits
        from covey.spark.fitting import SparkExpressionTypes
        from covey.spark.schemas import build_space
        from covey.spark.session_settings import read_session_settings

        named = [*vector_lengths, *([] if time is None else [time])]
        check_columns(source, read_header(source), named)
        parse_tree(predicate, PredicateLimits())  # finds wrong syntax before Spark starts
        with StepProgress() as steps, ExitStack() as stack:
            with steps.track_step("start Spark"):
                session = stack.enter_context(launcher.launch())
            with steps.track_step("read", session):
                frame = read_events(source, session, vector_lengths)
                check_columns(source, frame.columns, named)
                space = build_space(frame.schema, read_session_settings(session), vector_lengths)
                types = SparkExpressionTypes(session, frame.schema, ())
                is_possible = not len(parse(space, [predicate], types=types).unsatisfiable)
            with steps.track_step("count", session):
                found = compute_match_history(frame, predicate, find_time_column(frame, time))
            with steps.track_step("sample", session):
                sample = fetch_sample_rows(frame.where(predicate), rows) if found.matches else []
        _print_summary(make_console(), predicate, found, sample, is_possible)
    if found.matches:
        print_next_step(
            f"add the predicate to a table of subscriptions, then: covey match {events} "
            "SUBSCRIPTIONS -o matches.parquet"
        )
    else:
        print_next_step("change the predicate: it matches no event of the table")


def _print_summary(
    console: Console,
    predicate: str,
    history: MatchHistory,
    sample_rows: SampleRows,
    is_satisfiable: bool,
) -> None:
    of_all = format_percent(history.matches, history.events)
    console.print(
        f"{history.matches:,} of {history.events:,} events match ({of_all})", highlight=False
    )
    if not is_satisfiable:
        console.print(
            "no event can ever match the predicate: none satisfies all of its conditions",
            highlight=False,
        )
    if history.periods:
        days = history.days_with_events
        rate = f"{history.matches / days:,.1f} matches a day on {days:,} days"
        console.print(
            f"from {history.first_time} to {history.last_time}: {rate}\n", highlight=False
        )
        console.print(_make_periods_table(history))
    if sample_rows:
        made, left_out = make_sample_table(
            sample_rows, predicate, history.time_column, console.width
        )
        more = f", without {left_out} more columns" if left_out else ""
        console.print(f"\n{len(sample_rows)} of the matches{more}:\n", highlight=False)
        console.print(made)


def _make_periods_table(history: MatchHistory) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    made.add_column(history.unit)
    for name in ("events", "matches", "share"):
        made.add_column(name, justify="right")
    made.add_column()
    most = max(period.matches for period in history.periods)
    for period in history.periods:
        bar = "█" * round(_MAX_BAR_LENGTH * period.matches / max(1, most))
        of_all = format_percent(period.matches, period.events)
        made.add_row(period.name, f"{period.events:,}", f"{period.matches:,}", of_all, bar)
    return made
