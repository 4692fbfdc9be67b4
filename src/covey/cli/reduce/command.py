"""`covey reduce`: find redundant subscriptions, and build a small number of filters."""

from __future__ import annotations

from typing import Annotated

import typer

from covey.cli.console_format import make_console
from covey.cli.errors import exit_on_error, report_rejected
from covey.cli.next_step import print_next_step
from covey.cli.options import (
    AllowRejectedOption,
    SparkOptions,
    StoreOption,
    TableOptions,
    expand_options,
    parse_vector_lengths,
)
from covey.cli.plotting import has_matplotlib, require_matplotlib
from covey.cli.reduce.output_folder import OutputFolder
from covey.errors import InvalidArgumentError

__all__ = ["reduce"]

_OUTPUT_PANEL = "Output"


@expand_options
def reduce(
    subscriptions: Annotated[
        str,
        typer.Argument(
            metavar="SUBSCRIPTIONS",
            help="Table of subscriptions: Parquet, CSV, JSON lines or Delta, with an id and a "
            "predicate in each row.",
        ),
    ],
    events: Annotated[
        str,
        typer.Argument(
            metavar="EVENTS",
            help="Table of typical events. Predicates compare its columns, and filters are chosen "
            "with its rows.",
        ),
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FOLDER", help="Folder for the result.")
    ],
    added: Annotated[
        float,
        typer.Option(
            help="Largest share of events that filters may forward without a matching subscription."
        ),
    ] = 0.04,
    subtractions: Annotated[
        int,
        typer.Option(
            min=0,
            help="Largest number of subtractions of other regions from pieces of a region, to find "
            "out whether their union contains the region.",
        ),
    ] = 32,
    owner: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of subscriptions with their owner. If named, redundant subscriptions are "
            "counted by owner.",
        ),
    ] = None,
    allow_rejected: AllowRejectedOption = False,
    picture: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Path of the picture, a PNG. If missing: reduced.png in the folder of --out.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = None,
    no_picture: Annotated[
        bool,
        typer.Option("--no-picture", help="Draw no picture.", rich_help_panel=_OUTPUT_PANEL),
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace the folder of an earlier reduction, and its picture.",
            rich_help_panel=_OUTPUT_PANEL,
        ),
    ] = False,
    *,
    tables: TableOptions,
    spark: SparkOptions,
    store: StoreOption = None,
) -> None:
    """Find redundant subscriptions, and build a small number of filters that cover all.

    Exit code 3 if subscriptions were left out because their predicates are wrong.

    Example: covey reduce alerts.csv ticks.parquet -o reduced
    """
    with exit_on_error():
        if not 0 <= added < 1:
            raise InvalidArgumentError(f"--added must be at least 0 and less than 1, got {added:g}")
        if no_picture and picture is not None:
            raise InvalidArgumentError(
                "--picture and --no-picture exclude each other: give one of them"
            )
        read = tables.open_subscriptions(subscriptions, owner), tables.open_events(events)
        folder = OutputFolder.from_options(
            out, None if no_picture else picture, overwrite=overwrite, sources=read
        )
        if picture is not None:
            require_matplotlib()
        draws_plot = not no_picture and has_matplotlib()
        if not (draws_plot or no_picture):
            typer.echo(
                "no picture: matplotlib is not installed (pip install 'covey[report]')", err=True
            )
        session = spark.make_launcher(source.format for source in read)
        from covey.cli.reduce.job import ReduceJob
        from covey.cli.reduce.summary import print_summary

        job = ReduceJob(
            *read,
            folder,
            added,
            subtractions,
            owner,
            draws_plot,
            parse_vector_lengths(tables.vectors),
            {
                "idCol": tables.id_column,
                "predicateCol": tables.predicate_column,
                "storePath": store,
            },
            session,
        )
        report, seconds_by_step = job.run()
        print_summary(make_console(), report, seconds_by_step, folder, has_plot=draws_plot)
    exit_code = report_rejected(report.rejections.count, is_allowed=allow_rejected)
    print_next_step(
        f"covey match {events} {out}/active -o matches.parquet   # match the active ones only"
    )
    raise typer.Exit(exit_code)
