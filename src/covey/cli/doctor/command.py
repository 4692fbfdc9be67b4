"""`covey doctor`: subscriptions that are wrong, useless or too much."""

from __future__ import annotations

from contextlib import ExitStack
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
from covey.cli.progress import StepProgress
from covey.cli.session import SessionLauncher

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
    """List subscriptions that are wrong, useless or too much. Ends with 1 if there are any.

    Example: covey doctor alerts.csv --events ticks.parquet
    """
    with exit_on_error():
        tables = (
            TableSource.from_path(
                "events", events, requested_format=events_format, schema=events_schema
            ),
            TableSource.from_path(
                "subscriptions",
                subscriptions,
                requested_format=subscriptions_format,
                schema=subscriptions_schema,
                text_columns=(id_column, predicate_column),
            ),
        )
        session = SessionLauncher.from_options(
            master, conf, jars, needs_delta=any(t.format is FileFormat.DELTA for t in tables)
        )
        # They take seconds: what is wrong above is said before.
        from covey.cli.doctor.job import DoctorJob
        from covey.cli.doctor.summary import print_json, print_summary

        examination = DoctorJob(
            *tables,
            id_column,
            predicate_column,
            parse_vector_lengths(vectors),
            share,
            sample,
            store,
        )
        with ExitStack() as stack:
            with StepProgress() as steps:
                with steps.track_step("start Spark"):
                    spark = stack.enter_context(session.launch())
                diagnosis = examination.run(spark, steps)
            if as_json:
                print_json(diagnosis)
            else:
                print_summary(Console(), diagnosis, limit)
        raise typer.Exit(1 if diagnosis.counts_by_kind else 0)
