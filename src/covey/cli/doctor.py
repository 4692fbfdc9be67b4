"""`covey doctor`: subscriptions that are wrong, useless or too much."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer
from rich.console import Console

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
from covey.cli.progress import Steps
from covey.cli.reading import Source
from covey.cli.session import Session

__all__ = ["doctor"]


def doctor(
    subscriptions: Annotated[
        str, typer.Argument(metavar="SUBSCRIPTIONS", help="Parquet, CSV, JSON lines or Delta.")
    ],
    events: Annotated[str, typer.Option(metavar="PATH", help="What they are tried on.")],
    share: Annotated[
        float, typer.Option(min=0.0, max=1.0, help="More than this of all events is too much.")
    ] = 0.5,
    sample: Annotated[
        int, typer.Option(min=0, help="Match about so many events to find that; 0 is all.")
    ] = 10_000,
    limit: Annotated[int, typer.Option(min=0, help="How many of a kind to show.")] = 5,
    as_json: Annotated[
        bool, typer.Option("--json", help="All findings, one JSON object a line.")
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
    """List subscriptions that are wrong, useless or too much. Ends with 1 if there are any.

    Example: covey doctor alerts.csv --events ticks.parquet
    """
    with reported():
        tables = (
            Source.of("events", events, events_format, events_schema),
            Source.of(
                "subscriptions", subscriptions, subscriptions_format, subscriptions_schema,
                texts=(id_column, predicate_column),
            ),
        )  # fmt: skip
        session = Session.of(master, conf, jars, any(t.format is Format.DELTA for t in tables))
        # They take seconds: what is wrong above is said before.
        from covey.cli.examination import Examination
        from covey.cli.report import print_json, print_report

        examination = Examination(
            *tables, id_column, predicate_column, lengths(vectors), share, sample, store
        )
        with ExitStack() as stack:
            with Steps() as steps:
                with steps.step("start Spark"):
                    spark = stack.enter_context(session.started())
                diagnosis = examination.diagnosis(spark, steps)
            if as_json:
                print_json(diagnosis)
            else:
                print_report(Console(), diagnosis, limit)
        raise typer.Exit(1 if diagnosis.counts else 0)
