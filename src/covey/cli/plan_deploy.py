"""`covey plan deploy`: a plan put to work on Kafka."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from covey.cli.failures import reported
from covey.cli.numbers import share
from covey.cli.options import Conf, Jars, Master

__all__ = ["deploy"]


def deploy(
    folder: Annotated[Path, typer.Argument(metavar="PLAN", help="The folder of a saved plan.")],
    servers: Annotated[str, typer.Option(help="Kafka, as HOST:PORT.")],
    events: Annotated[str, typer.Option(help="The topic of events, values in JSON.")],
    schema: Annotated[str, typer.Option(help="Their schema, as 'x DOUBLE, y DOUBLE'.")],
    checkpoint: Annotated[str, typer.Option(help="Where queries keep how far they are.")],
    prefix: Annotated[str, typer.Option(help="Broker 7 has the topic PREFIX.7.")] = "broker",
    once: Annotated[bool, typer.Option("--once", help="Pass on what is there, and end.")] = False,
    master: Master = "local[*]",
    conf: Conf = None,
    jars: Jars = None,
) -> None:
    """Pass events on to a topic for each broker, by the filters of a plan.

    Topics must be there. With --once it says in the end what came to each broker, beside the plan.
    """
    with reported():
        from covey.cli.session import Session, check_kafka
        from covey.plan.saving import SavedPlan
        from covey.stream.cluster import Cluster
        from covey.stream.config import Kafka
        from covey.stream.deploying import Deployment

        made = Deployment(SavedPlan.load(folder), Cluster(Kafka(servers)), events, schema, prefix)
        session = Session.of(master, conf, jars)
        with session.started() as spark:
            check_kafka(spark)
            made.check()
            queries = list(made.start(spark, checkpoint, once))
            if once:
                Console().print(_table(made.received(spark), made.plan.is_share))
            else:
                Console(stderr=True).print(f"{len(queries)} queries run; stop with Ctrl-C")
                spark.streams.awaitAnyTermination()


def _table(received: list[Any], is_share: bool) -> Table:
    table = Table(box=None, pad_edge=False)
    planned = "planned" if is_share else "planned volume"
    for name in ("broker", "events", "bytes", "share", planned):
        table.add_column(name, justify="right")
    for one in received:
        said = share(one.planned, 1.0) if is_share else f"{one.planned:,.4g}"
        table.add_row(
            str(one.broker), f"{one.events:,}", f"{one.bytes:,}", share(one.share, 1.0), said
        )
    return table
