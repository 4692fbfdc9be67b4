"""`covey plan deploy`: a plan put to work on Kafka."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from covey.cli.console_format import format_percent, make_console
from covey.cli.errors import exit_on_error
from covey.cli.options import SparkOptions, expand_options

if TYPE_CHECKING:
    from covey.network.deploy import BrokerTraffic

__all__ = ["deploy"]


@expand_options
def deploy(
    folder: Annotated[Path, typer.Argument(metavar="PLAN", help="The folder of a saved plan.")],
    servers: Annotated[str, typer.Option(help="Kafka, as HOST:PORT.")],
    events: Annotated[str, typer.Option(help="The topic of events, values in JSON.")],
    schema: Annotated[str, typer.Option(help="Their schema, as 'x DOUBLE, y DOUBLE'.")],
    checkpoint: Annotated[str, typer.Option(help="Where queries keep how far they are.")],
    prefix: Annotated[str, typer.Option(help="Broker 7 has the topic PREFIX.7.")] = "broker",
    once: Annotated[bool, typer.Option("--once", help="Pass on what is there, and end.")] = False,
    *,
    spark: SparkOptions,
) -> None:
    """Pass events on to a topic for each broker, by the filters of a plan.

    Topics must be there. With --once it says in the end what came to each broker, beside the plan.
    """
    with exit_on_error():
        from covey.cli.session import check_kafka
        from covey.network.deploy import PlanDeployment
        from covey.plan import SavedPlan
        from covey.stream.config import KafkaConfig
        from covey.stream.kafka_cluster import KafkaCluster

        made = PlanDeployment(
            SavedPlan.load(folder), KafkaCluster(KafkaConfig(servers)), events, schema, prefix
        )
        with spark.make_launcher().launch() as session:
            check_kafka(session)
            made.validate()
            queries = list(made.start_queries(session, checkpoint, once=once))
            if once:
                make_console().print(
                    _make_received_table(made.measure_traffic(session), made.plan.is_event_share)
                )
            else:
                make_console(stderr=True).print(f"{len(queries)} queries run; stop with Ctrl-C")
                session.streams.awaitAnyTermination()


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
