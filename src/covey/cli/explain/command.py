"""`covey explain`: why an event matched a subscription, or did not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.cli.errors import exit_on_error
from covey.cli.next_step import print_next_step
from covey.cli.options import SparkOptions, TableOptions, expand_options, parse_vector_lengths
from covey.errors import InvalidArgumentError, prefix_errors

__all__ = ["explain"]

_TABLE_PANEL, _STREAM_PANEL = "Events in a table", "Events of a stream"


@expand_options
def explain(
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="Table of subscriptions, folder of a saved model, or TOML configuration of a "
            "stream.",
        ),
    ],
    subscription: Annotated[str, typer.Option(metavar="ID", help="Id of the subscription.")],
    events: Annotated[
        str | None,
        typer.Option(
            metavar="PATH",
            help="Table of events: Parquet, CSV, JSON lines or Delta.",
            rich_help_panel=_TABLE_PANEL,
        ),
    ] = None,
    row: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Number of the event in its table, from 0. The first event if missing.",
            rich_help_panel=_TABLE_PANEL,
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN=VALUE",
            help="Explain the first event with this value, for example tick=5.",
            rich_help_panel=_TABLE_PANEL,
        ),
    ] = None,
    event_offset: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC-PARTITION-OFFSET",
            help="Address of the event on Kafka.",
            rich_help_panel=_STREAM_PANEL,
        ),
    ] = None,
    *,
    tables: TableOptions,
    spark: SparkOptions,
) -> None:
    """Explain why an event matched a subscription, or did not, condition by condition.

    For a stream, the version of subscriptions that decided the event is used.

    Example: covey explain alerts.csv --events ticks.parquet --key tick=5 --subscription 7
    """
    with exit_on_error():
        if source.endswith(".toml"):
            if event_offset is None:
                raise InvalidArgumentError(
                    f"{source} is the configuration of a stream: name the event with "
                    "--event-offset TOPIC-PARTITION-OFFSET"
                )
            _explain_decision(Path(source), event_offset, subscription)
        else:
            if event_offset is not None:
                raise InvalidArgumentError(
                    f"--event-offset is for the configuration of a stream, a TOML file, which "
                    f"{source} is not: name the event with --events, and --row or --key"
                )
            if events is None:
                raise InvalidArgumentError(
                    f"{source} contains no events: name a table of events with --events"
                )
            _explain_row(source, subscription, events, row, key, tables, spark)


def _explain_decision(config_path: Path, event_offset: str, subscription: str) -> None:
    from covey.cli.stream.commands import open_stream_session
    from covey.cli.stream.connectors import check_connector
    from covey.stream import StreamConfig
    from covey.stream.explain import explain_decision, find_decision, parse_event_ref

    config, event_ref = StreamConfig.from_file(config_path), parse_event_ref(event_offset)
    with prefix_errors(str(config_path)):
        check_connector(config.spark)
        find_decision(config, event_ref, subscription)  # reports mistakes before Spark starts
    with open_stream_session(config) as spark:
        typer.echo(str(explain_decision(spark, config, event_ref, subscription)))
    print_next_step(
        f"covey stream {config_path} --from OFFSETS --dry-run   # decide a range of events again"
    )


def _explain_row(
    source: str,
    subscription: str,
    events_path: str,
    row: int | None,
    key_option: str | None,
    tables: TableOptions,
    spark: SparkOptions,
) -> None:
    from covey.cli.explain.row_explanation import (
        explain_with_spark,
        explain_without_spark,
        render_subscription,
    )
    from covey.cli.explain.table_rows import (
        EventKey,
        can_read_with_arrow,
        find_subscription,
        read_event,
    )

    key, vectors = EventKey.from_options(row, key_option), parse_vector_lengths(tables.vectors)
    events = tables.open_events(events_path)
    if (Path(source) / "store").is_dir() and (Path(source) / "metadata").is_dir():
        predicate, space = render_subscription(source, subscription)
    else:
        table, space = tables.open_subscriptions(source), None
        if not can_read_with_arrow(table):
            raise InvalidArgumentError(
                f"`covey explain` cannot read the subscriptions at {source}: save them as Parquet, "
                "CSV or JSON in a local file, and leave out --subscriptions-schema"
            )
        predicate = find_subscription(
            table, tables.id_column, tables.predicate_column, subscription
        )
    found = None
    if can_read_with_arrow(events):
        found = explain_without_spark(predicate, read_event(events, key), vectors, space)
    if found is None:
        launcher = spark.make_launcher([events.format])
        found = explain_with_spark(predicate, events, key, vectors, launcher)
    verb = "matches" if found.holds else "does not match"
    typer.echo(f"subscription {subscription} {verb} the event with {key}")
    typer.echo(str(found))
    print_next_step(
        f"covey preview PREDICATE {events_path}   # how often a changed predicate would match"
    )
