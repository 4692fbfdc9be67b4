"""`covey doctor`: subscriptions that are wrong, useless or too much."""

from __future__ import annotations

from contextlib import ExitStack
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
from covey.cli.progress import StepProgress

__all__ = ["doctor"]


@expand_options
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
    *,
    tables: TableOptions,
    spark: SparkOptions,
    store: StoreOption = None,
) -> None:
    """List subscriptions that are wrong, useless or too much. Ends with 1 if there are any.

    Example: covey doctor alerts.csv --events ticks.parquet
    """
    with exit_on_error():
        sources = tables.open_events(events), tables.open_subscriptions(subscriptions)
        session = spark.make_launcher(source.format for source in sources)
        # They take seconds: what is wrong above is said before.
        from covey.cli.doctor.job import DoctorJob
        from covey.cli.doctor.summary import print_json, print_summary

        examination = DoctorJob(
            *sources,
            tables.id_column,
            tables.predicate_column,
            parse_vector_lengths(tables.vectors),
            share,
            sample,
            store,
        )
        with ExitStack() as stack:
            with StepProgress() as steps:
                with steps.track_step("start Spark"):
                    launched = stack.enter_context(session.launch())
                diagnosis = examination.run(launched, steps)
            if as_json:
                print_json(diagnosis)
            else:
                print_summary(make_console(), diagnosis, limit)
        raise typer.Exit(1 if diagnosis.counts_by_kind else 0)
