"""`covey plan deploy`: forward events on Kafka by the filters of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from covey.cli.console_format import format_percent, make_console
from covey.cli.errors import exit_on_error
from covey.cli.next_step import print_next_step
from covey.cli.options import SparkOptions, expand_options

if TYPE_CHECKING:
    from covey.network.deploy import BrokerTraffic

__all__ = ["deploy"]


@expand_options
def deploy(
    folder: Annotated[
        Path, typer.Argument(metavar="PLAN", help="Folder of a plan that `covey plan make` wrote.")
    ],
    servers: Annotated[str, typer.Option(metavar="HOST:PORT", help="Bootstrap servers of Kafka.")],
    events: Annotated[str, typer.Option(metavar="TOPIC", help="Topic with the events, in JSON.")],
    schema: Annotated[
        str,
        typer.Option(
            metavar="DDL", help="Columns of the events, for example 'x DOUBLE, y DOUBLE'."
        ),
    ],
    checkpoint: Annotated[
        str, typer.Option(metavar="FOLDER", help="Folder for the checkpoints of the queries.")
    ],
    prefix: Annotated[
        str, typer.Option(help="Prefix of the output topics: broker 7 has PREFIX.7.")
    ] = "broker",
    once: Annotated[
        bool,
        typer.Option("--once", help="Forward the events that are on the topic now, and then end."),
    ] = False,
    *,
    spark: SparkOptions,
) -> None:
    """Forward events to a topic for each broker, by the filters of a plan.

    All topics must exist. With --once, the traffic of each broker is printed beside the planned
    one.

    Example: covey plan deploy plan --servers localhost:9092 --events ads --schema 'x DOUBLE,
    y DOUBLE' --checkpoint checkpoint --once
    """
    with exit_on_error():
        from covey.cli.session import check_kafka
        from covey.cli.stream.connectors import resolve_packages
        from covey.network.deploy import PlanDeployment
        from covey.plan import SavedPlan
        from covey.stream.config import KafkaConfig
        from covey.stream.kafka_cluster import KafkaCluster

        made = PlanDeployment(
            SavedPlan.load(folder), KafkaCluster(KafkaConfig(servers)), events, schema, prefix
        )
        with spark.make_launcher().launch() as session:
            check_kafka(
                session,
                "name the jars of the connector with --jars, or have Spark download it with "
                f"--conf spark.jars.packages={resolve_packages(['kafka'])[0]}",
            )
            made.validate()
            queries = list(made.start_queries(session, checkpoint, once=once))
            if once:
                make_console().print(
                    _make_received_table(made.measure_traffic(session), made.plan.is_event_share)
                )
            else:
                make_console(stderr=True).print(
                    f"{len(queries)} queries are running; stop them with Ctrl-C"
                )
                session.streams.awaitAnyTermination()
    print_next_step("to forward events as they arrive, run the command without --once")


def _make_received_table(received: Sequence[BrokerTraffic], is_share: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    planned = "planned" if is_share else "planned volume"
    for name in ("broker", "events", "bytes", "share", planned):
        table.add_column(name, justify="right")
    for one in received:
        said = (
            format_percent(one.planned_bandwidth, 1.0)
            if is_share
            else f"{one.planned_bandwidth:,.4g}"
        )
        table.add_row(
            str(one.broker),
            f"{one.events:,}",
            f"{one.size_bytes:,}",
            format_percent(one.share, 1.0),
            said,
        )
    return table
