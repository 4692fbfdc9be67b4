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

__all__ = ["DEFAULT_MAX_FINDINGS", "doctor"]

DEFAULT_MAX_FINDINGS = 5
"""Number of findings of each kind that are printed without `--limit`."""


@expand_options
def doctor(
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
        typer.Option(
            metavar="PATH", help="Table of events with which the subscriptions are checked."
        ),
    ],
    check: Annotated[
        list[CheckKind] | None,
        typer.Option(
            help="Check to run. Repeatable. If missing: all checks, but duplicate only with "
            "--owner."
        ),
    ] = None,
    owner: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of subscriptions with their owner. Duplicates are looked for among the "
            "subscriptions of each owner.",
        ),
    ] = None,
    share: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=1.0,
            help="A subscription is too broad if it matches more than this share of the events.",
        ),
    ] = 0.5,
    sample: Annotated[
        int,
        typer.Option(
            min=0, help="Match a random sample of about this many events, or all events with 0."
        ),
    ] = 10_000,
    limit: Annotated[
        int, typer.Option(min=0, help="Largest number of findings to print for each kind.")
    ] = DEFAULT_MAX_FINDINGS,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print all findings, as one JSON object per line.")
    ] = False,
    *,
    tables: TableOptions,
    spark: SparkOptions,
    store: StoreOption = None,
) -> None:
    """Find subscriptions that are wrong, useless, too broad or duplicates.

    Exit code 1 if there are problems. Too broad, unmatched and duplicate subscriptions are hints.

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
        examination.check_headers()
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
            print_next_step("to find duplicates, name the column of owners with --owner")
        elif sum(counts.values()) > limit:
            print_next_step("to print all findings, use --json or --limit N")
        else:
            print_next_step(f"covey match {events} {subscriptions} -o matches.parquet")
    if diagnosis.problem_count:
        raise typer.Exit(EXIT_FINDINGS)


def _choose_checks(requested: list[CheckKind] | None, owner: str | None) -> list[CheckKind]:
    """Return the checks to run: the requested ones, or all possible ones if None is requested.

    Raises:
        InvalidArgumentError: duplicates are requested, but no column of owners is named.
    """
    if requested and CheckKind.DUPLICATE in requested and owner is None:
        raise InvalidArgumentError(
            "--check duplicate compares the subscriptions of an owner: name the column of owners "
            "with --owner"
        )
    possible = [kind for kind in CheckKind if kind is not CheckKind.DUPLICATE or owner is not None]
    return [kind for kind in possible if not requested or kind in requested]
