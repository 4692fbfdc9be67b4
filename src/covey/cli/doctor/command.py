"""`covey doctor`: find subscriptions that are wrong, useless, too broad or duplicates."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Annotated

import typer

from covey.cli.console_format import make_console
from covey.cli.doctor.checks import CheckKind
from covey.cli.errors import EXIT_FINDINGS, exit_on_error
from covey.cli.next_step import print_next_step
from covey.cli.options import (
    SparkOptions,
    StoreOption,
    TableOptions,
    expand_options,
    parse_vector_lengths,
)
from covey.cli.progress import StepProgress
from covey.errors import InvalidArgumentError

__all__ = ["doctor"]


@expand_options
def doctor(
    subscriptions: Annotated[
        str,
        typer.Argument(
            metavar="SUBSCRIPTIONS",
            help="Table of subscriptions: Parquet, CSV, JSON lines or Delta.",
        ),
    ],
    events: Annotated[
        str, typer.Option(metavar="PATH", help="Table of events to try the subscriptions on.")
    ],
    check: Annotated[
        list[CheckKind] | None,
        typer.Option(
            help="Check to make. Repeatable. If missing: all; duplicates only with --owner."
        ),
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the owner of a subscription, to find duplicates of an owner.",
        ),
    ] = None,
    share: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Share of the events above which a subscription matches too much.",
        ),
    ] = 0.5,
    sample: Annotated[
        int,
        typer.Option(min=0, help="Match a random sample of about this many events; 0 for all."),
    ] = 10_000,
    limit: Annotated[int, typer.Option(min=0, help="Number of findings of a kind to print.")] = 5,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all findings, as one JSON object per line.")
    ] = False,
    *,
    tables: TableOptions,
    spark: SparkOptions,
    store: StoreOption = None,
) -> None:
    """Find subscriptions that are wrong, useless, too broad or duplicates.

    Exit code 1 if there are problems; too broad, unmatched and duplicate subscriptions are hints.

    Example: covey doctor alerts.csv --events ticks.parquet --owner user
    """
    with exit_on_error():
        sources = tables.open_events(events), tables.open_subscriptions(subscriptions, owner)
        session = spark.make_launcher(source.format for source in sources)
        kinds = _choose_checks(check, owner)
        # These imports take seconds: options are checked before.
        from covey.cli.doctor.job import DoctorJob
        from covey.cli.doctor.summary import print_json, print_summary

        examination = DoctorJob(
            *sources,
            tables.id_column,
            tables.predicate_column,
            parse_vector_lengths(tables.vectors),
            kinds,
            owner,
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
    if not as_json:
        counts = diagnosis.counts_by_kind
        if owner is None and check is None:
            print_next_step("find duplicates within an owner: name its column with --owner")
        elif sum(counts.values()) > limit:
            print_next_step("print all findings: --json, or --limit N")
        else:
            print_next_step(f"covey match {events} {subscriptions} -o matches.parquet")
    if diagnosis.problem_count:
        raise typer.Exit(EXIT_FINDINGS)


def _choose_checks(requested: list[CheckKind] | None, owner: str | None) -> list[CheckKind]:
    """Return the checks to make: the requested ones, or all possible ones."""
    if requested and CheckKind.DUPLICATE in requested and owner is None:
        raise InvalidArgumentError(
            "--check duplicate compares the subscriptions of an owner: name the column with --owner"
        )
    possible = [kind for kind in CheckKind if kind is not CheckKind.DUPLICATE or owner is not None]
    return [kind for kind in possible if not requested or kind in requested]
