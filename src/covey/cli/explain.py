"""`covey explain`: why a stream notified a subscription of an event, or did not."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from covey.cli.failures import reported
from covey.cli.stream import stream_session

__all__ = ["explain"]


def explain(
    config: Annotated[Path, typer.Argument(help="The TOML file of `covey stream`.")],
    event_offset: Annotated[
        str, typer.Option(metavar="TOPIC-PARTITION-OFFSET", help="Where the event is on Kafka.")
    ],
    subscription: Annotated[str, typer.Option(metavar="ID", help="Whom it is about.")],
) -> None:
    """Say what was decided on an event for a subscription, by the version of then, and why."""
    with reported():
        from covey.stream import Config
        from covey.stream.explaining import decision, parse_place

        chosen, place = Config.read(config), parse_place(event_offset)
        with stream_session(chosen) as spark:
            typer.echo(str(decision(spark, chosen, place, subscription)))
