"""`covey zones`: the bounds, the load and the memory of the zones of a saved model."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from covey.cli.console_format import format_percent, make_console
from covey.cli.errors import exit_on_error
from covey.cli.next_step import print_next_step
from covey.cli.options import (
    EventsFormatOption,
    EventsSchemaOption,
    SparkOptions,
    expand_options,
)
from covey.cli.plotting import require_matplotlib
from covey.errors import InvalidArgumentError

if TYPE_CHECKING:
    from covey.cli.zones.report import ZoneReport

__all__ = ["zones"]

_MAX_LISTED_ZONES = 12
_SHIFT_BY_UNIT = {"k": 10, "m": 20, "g": 30, "t": 40}


@expand_options
def zones(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="Folder of a saved model.")],
    events: Annotated[
        str | None,
        typer.Option(
            metavar="EVENTS",
            help="Table of events with which the load of zones is measured. If missing: the load "
            "is that of the events of the fit.",
        ),
    ] = None,
    attributes: Annotated[
        str | None,
        typer.Option(
            metavar="X,Y",
            help="One or two attributes to draw. If missing: the two by which zones are split most "
            "often.",
        ),
    ] = None,
    picture: Annotated[
        str, typer.Option(metavar="PATH", help="Path of the picture, a PNG.")
    ] = "zones.png",
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Draw no picture.")] = False,
    worker_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory of a worker, for example 2g, to compare with the largest zone.",
        ),
    ] = None,
    events_format: EventsFormatOption = None,
    events_schema: EventsSchemaOption = None,
    *,
    spark: SparkOptions,
) -> None:
    """Show the zones of a saved model: load, memory and replication, as tables and a picture.

    Example: covey zones models/alerts --attributes price,area
    """
    with exit_on_error():
        memory = None if worker_memory is None else _parse_size_bytes(worker_memory)
        if not no_picture:
            require_matplotlib()
        from covey.cli.zones.report import ZoneReport

        found = ZoneReport.from_model_path(model)
        if events is not None:
            from covey.cli.io.sources import TableSource
            from covey.cli.zones.report import with_event_load

            source = TableSource.from_path(
                "events", events, requested_format=events_format, schema=events_schema
            )
            found = with_event_load(found, model, source, spark.make_launcher())
        elif events_format is not None or events_schema is not None:
            raise InvalidArgumentError(
                "--events-format and --events-schema describe the table of events: name it with "
                "--events"
            )
        if not no_picture:
            from covey.cli.zones.plot import draw_zones

            Path(picture).write_bytes(
                draw_zones(found, found.select_attributes(attributes), memory)
            )
        elif attributes is not None:
            raise InvalidArgumentError(
                "--attributes names the attributes to draw, but --no-picture draws nothing: leave "
                "out one of them"
            )
    console = make_console()
    console.print(_make_summary_table(found, memory))
    console.print()
    console.print(_make_zones_table(found))
    if not no_picture:
        console.print(f"\nwritten to {picture}", soft_wrap=True, highlight=False)
    print_next_step(
        "MatcherModel.rebalance(events)   # in Python: adapt the zones to newer events"
        if events is not None
        else f"covey zones {model} --events EVENTS   # the load that newer events cause"
    )


def _parse_size_bytes(text: str) -> int:
    """Return the number of bytes of a size with one of the units k, m, g and t.

    >>> _parse_size_bytes("2g"), _parse_size_bytes("512m")
    (2147483648, 536870912)
    """
    size = re.fullmatch(r"([0-9]{1,9})([kmgt])b?", text.strip().lower())
    if size is None or not int(size[1]):
        raise InvalidArgumentError(
            f"--worker-memory must be a size such as 512m or 2g, got {text!r}"
        )
    return int(size[1]) << _SHIFT_BY_UNIT[size[2]]


def _make_summary_table(report: ZoneReport, worker_memory_bytes: int | None) -> Table:
    table = Table.grid(padding=(0, 2))
    busiest, largest = int(report.load_shares.argmax()), int(report.size_bytes.max())
    times, partitions = (
        float(report.load_shares[busiest]) * len(report),
        int(report.partitions_per_zone[busiest]),
    )
    each = float(
        (report.load_shares / report.partitions_per_zone).max() * report.partitions_per_zone.sum()
    )
    room = (
        ""
        if worker_memory_bytes is None
        else f", {format_percent(largest, worker_memory_bytes)} of a worker's"
    )
    for name, said in {
        "zones": f"{len(report):,}, split by {', '.join(report.split_attributes) or 'nothing'}",
        "subscriptions": f"{report.subscriptions:,}, "
        f"stored {report.replication_factor:.2f} times each",
        "everywhere": f"{report.broadcast_subscriptions:,} that meet too many zones, "
        f"{report.unzoned_subscriptions:,} that are in no zone yet",
        "busiest zone": f"{times:.2f} times the mean work, in {_count_partitions(partitions)}",
        "busiest partition": f"{each:.2f} times the mean work of "
        f"{_count_partitions(int(report.partitions_per_zone.sum()))}",
        "largest zone": f"{largest / 1e6:,.1f} MB{room}",
    }.items():
        table.add_row(name, said)
    return table


def _count_partitions(count: int) -> str:
    return "1 partition" if count == 1 else f"{count:,} partitions"


def _make_zones_table(report: ZoneReport) -> Table:
    """Return a table of the zones with the highest load, at most 12."""
    table = Table(box=None, pad_edge=False)
    for name in ("zone", "work", "partitions", "subscriptions", "MB"):
        table.add_column(name, justify="right", no_wrap=True, min_width=max(6, len(name)))
    table.add_column("where", overflow="ellipsis", no_wrap=True)
    for zone in report.load_shares.argsort(kind="stable")[::-1][:_MAX_LISTED_ZONES].tolist():
        table.add_row(
            str(zone),
            format_percent(report.load_shares[zone], 1),
            f"{report.partitions_per_zone[zone]:,}",
            f"{report.subscriptions_by_zone[zone]:,}",
            f"{report.size_bytes[zone] / 1e6:,.1f}",
            report.describe_zone(zone),
        )
    return table
