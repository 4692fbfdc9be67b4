"""`covey zones`: where the zones of a saved model are, and what each has."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from covey.cli.failures import reported
from covey.cli.numbers import share
from covey.cli.options import Conf, EventsFormat, EventsSchema, Jars, Master
from covey.cli.picture import check_matplotlib
from covey.errors import ValueRefused

if TYPE_CHECKING:
    from covey.cli.zones_found import Found

__all__ = ["zones"]

_SHOWN = 12
_UNITS = {"k": 10, "m": 20, "g": 30, "t": 40}


def zones(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="A model that was saved.")],
    events: Annotated[
        str | None,
        typer.Option(metavar="EVENTS", help="Events to say the work by; else those of the fit."),
    ] = None,
    attributes: Annotated[
        str | None,
        typer.Option(metavar="X,Y", help="Which two to draw; else the two that are cut most."),
    ] = None,
    picture: Annotated[str, typer.Option(metavar="PATH", help="The picture, a PNG.")] = "zones.png",
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Draw none.")] = False,
    worker_memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="What a worker may have, as 2g, to say what fits."),
    ] = None,
    events_format: EventsFormat = None,
    events_schema: EventsSchema = None,
    master: Master = "local[*]",
    conf: Conf = None,
    jars: Jars = None,
) -> None:
    """Draw the zones of a model, and say how even they are and how much is there more than once.

    Example: covey zones models/alerts --attributes price,area
    """
    with reported():
        memory = None if worker_memory is None else _bytes(worker_memory)
        if not no_picture:
            check_matplotlib()
        from covey.cli.zones_found import Found

        found = Found.at(model)
        if events is not None:
            from covey.cli.reading import Source
            from covey.cli.session import Session
            from covey.cli.zones_work import work_now

            source = Source.of("events", events, events_format, events_schema)
            found = work_now(found, model, source, Session.of(master, conf, jars))
        elif events_format is not None or events_schema is not None:
            raise ValueRefused("--events-format and --events-schema are of --events: name those")
        if not no_picture:
            from covey.cli.zones_picture import drawn

            Path(picture).write_bytes(drawn(found, found.chosen(attributes), memory))
        elif attributes is not None:
            raise ValueRefused("--attributes are for the picture: leave --no-picture out")
    console = Console()
    console.print(_summary(found, memory))
    console.print()
    console.print(_table(found))
    if not no_picture:
        console.print(f"\n{picture}")


def _bytes(given: str) -> int:
    """
    >>> _bytes("2g"), _bytes("512m")
    (2147483648, 536870912)
    """
    size = re.fullmatch(r"(\d+)([kmgt])b?", given.strip().lower())
    if size is None:
        raise ValueRefused(f"--worker-memory is a size as 512m or 2g, not {given!r}")
    return int(size[1]) << _UNITS[size[2]]


def _summary(found: Found, memory: int | None) -> Table:
    table = Table.grid(padding=(0, 2))
    busiest, largest = int(found.work.argmax()), int(found.size_bytes.max())
    times, owners = float(found.work[busiest]) * len(found), int(found.owners[busiest])
    each = float((found.work / found.owners).max() * found.owners.sum())
    room = "" if memory is None else f", {share(largest, memory)} of a worker's"
    for name, said in {
        "zones": f"{len(found):,}, cut by {', '.join(found.attributes) or 'nothing'}",
        "subscriptions": f"{found.subscriptions:,}, stored {found.replication:.2f} times each",
        "everywhere": f"{found.everywhere:,} that meet most zones, "
        f"{found.recent:,} that are of none yet",
        "busiest zone": f"{times:.2f} times the mean work, {owners} owners",
        "busiest owner": f"{each:.2f} times the mean of {int(found.owners.sum()):,}",
        "largest zone": f"{largest / 1e6:,.1f} MB{room}",
    }.items():
        table.add_row(name, said)
    return table


def _table(found: Found) -> Table:
    """The zones with the most work."""
    table = Table(box=None, pad_edge=False)
    for name in ("zone", "work", "owners", "subscriptions", "MB"):
        table.add_column(name, justify="right", no_wrap=True, min_width=max(6, len(name)))
    table.add_column("where", overflow="ellipsis", no_wrap=True)
    for zone in found.work.argsort(kind="stable")[::-1][:_SHOWN].tolist():
        table.add_row(
            str(zone), share(found.work[zone], 1), f"{found.owners[zone]:,}",
            f"{found.held[zone]:,}", f"{found.size_bytes[zone] / 1e6:,.1f}", found.where(zone),
        )  # fmt: skip
    return table
