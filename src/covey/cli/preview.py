"""`covey preview`: how often a predicate would have matched, before anyone saves it."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from covey.cli.failures import reported
from covey.cli.formats import Format
from covey.cli.history import History, history, time_column
from covey.cli.numbers import share
from covey.cli.options import (
    Conf,
    EventsFormat,
    EventsSchema,
    Jars,
    Master,
    Vectors,
    lengths,
)
from covey.cli.progress import Steps
from covey.cli.reading import Source, with_floats
from covey.cli.sample import Cells, cells, table
from covey.cli.session import Session

__all__ = ["preview"]

_BAR = 20  # characters of the longest


def preview(
    predicate: Annotated[
        str, typer.Argument(metavar="PREDICATE", help="Spark SQL, as after WHERE.")
    ],
    events: Annotated[
        str, typer.Argument(metavar="EVENTS", help="Parquet, CSV, JSON lines or Delta.")
    ],
    rows: Annotated[int, typer.Option(min=0, help="How many matching events to show.")] = 5,
    time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="When events happened; else the first time there is."),
    ] = None,
    events_format: EventsFormat = None,
    events_schema: EventsSchema = None,
    vectors: Vectors = None,
    master: Master = "local[*]",
    conf: Conf = None,
    jars: Jars = None,
) -> None:
    """Say how often a predicate would have matched, and show what it matches.

    Example: covey preview "symbol = 'ACME' AND price > 120" ticks.parquet
    """
    with reported():
        source = Source.of("events", events, events_format, events_schema)
        session = Session.of(master, conf, jars, source.format is Format.DELTA)
        from covey.language import parse  # takes seconds
        from covey.spark.analysis import SparkTypes
        from covey.spark.schemas import space_of
        from covey.spark.settings import settings_of

        with Steps() as steps, ExitStack() as stack:
            with steps.step("start Spark"):
                spark = stack.enter_context(session.started())
            with steps.step("read", spark):
                frame = with_floats(source.read(spark), lengths(vectors))
                space = space_of(frame.schema, settings_of(spark), lengths(vectors))
                types = SparkTypes(spark, frame.schema, (), space.max_derived)
                is_possible = not len(parse(space, [predicate], types=types).never)
            with steps.step("count", spark):
                found = history(frame, predicate, time_column(frame, time))
            with steps.step("sample", spark):
                sample = cells(frame.where(predicate), rows) if found.matches else []
        _show(Console(), predicate, found, sample, is_possible)


def _show(
    console: Console, predicate: str, found: History, sample: Cells, is_possible: bool
) -> None:
    of_all = share(found.matches, found.events)
    console.print(f"{found.matches:,} of {found.events:,} events match ({of_all})", highlight=False)
    if not is_possible:
        console.print("no event can ever match: its conditions exclude each other or need null")
    if found.periods:
        rate = f"{found.matches / found.days:,.1f} matches a day on {found.days:,} days"
        console.print(f"from {found.first} to {found.last}: {rate}\n", highlight=False)
        console.print(_periods(found))
    if sample:
        made, left_out = table(sample, predicate, found.time, console.width)
        more = f", without {left_out} more columns" if left_out else ""
        console.print(f"\n{len(sample)} of them{more}:\n", highlight=False)
        console.print(made)


def _periods(found: History) -> Table:
    made = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    made.add_column(found.unit)
    for name in ("events", "matches", "share"):
        made.add_column(name, justify="right")
    made.add_column()
    most = max(period.matches for period in found.periods)
    for period in found.periods:
        bar = "█" * round(_BAR * period.matches / max(1, most))
        of_all = share(period.matches, period.events)
        made.add_row(period.name, f"{period.events:,}", f"{period.matches:,}", of_all, bar)
    return made
