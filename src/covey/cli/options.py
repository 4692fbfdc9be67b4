"""Options that several commands have, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

from covey.cli.formats import Format
from covey.errors import ValueRefused

__all__ = [
    "Conf", "EventsFormat", "EventsSchema", "IdColumn", "Jars", "Master", "PredicateColumn",
    "Store", "SubscriptionsFormat", "SubscriptionsSchema", "Vectors", "lengths", "listed",
]  # fmt: skip

_READ = "How it is read"
_SPARK = "Spark"

EventsFormat = Annotated[
    Format | None, typer.Option(help="If the suffix does not tell.", rich_help_panel=_READ)
]
SubscriptionsFormat = Annotated[
    Format | None, typer.Option(help="If the suffix does not tell.", rich_help_panel=_READ)
]
EventsSchema = Annotated[
    str | None,
    typer.Option(
        metavar="DDL",
        help="Columns of CSV or JSON, as 'symbol STRING, price DOUBLE'; else they are inferred.",
        rich_help_panel=_READ,
    ),
]
SubscriptionsSchema = Annotated[
    str | None,
    typer.Option(
        metavar="DDL",
        help="The same, as 'id BIGINT, predicate STRING'; else ids of CSV are texts.",
        rich_help_panel=_READ,
    ),
]
Vectors = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=LENGTH",
        help="A column of numbers that is a vector, as embedding=384. May be repeated.",
        rich_help_panel=_READ,
    ),
]
IdColumn = Annotated[
    str, typer.Option("--id", metavar="COLUMN", help="Of subscriptions.", rich_help_panel=_READ)
]
PredicateColumn = Annotated[
    str,
    typer.Option("--predicate", metavar="COLUMN", help="Of subscriptions.", rich_help_panel=_READ),
]
Master = Annotated[str, typer.Option(help="Where Spark runs.", rich_help_panel=_SPARK)]
Conf = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="A setting of Spark, as spark.driver.memory=8g. May be repeated.",
        rich_help_panel=_SPARK,
    ),
]
Jars = Annotated[
    str | None,
    typer.Option(
        metavar="FILES", help="Jars for Spark, with commas between.", rich_help_panel=_SPARK
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="A folder that all workers reach, for the index; needed unless Spark is local.",
        rich_help_panel=_SPARK,
    ),
]


def listed(text: str | None) -> list[str] | None:
    """The names in 'a, b'; None if nothing was given.

    >>> listed("a, b")
    ['a', 'b']
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def lengths(vectors: list[str] | None) -> dict[str, int]:
    """The lengths of vectors by column.

    >>> lengths(["embedding=384"])
    {'embedding': 384}
    """
    found = {}
    for given in vectors or ():
        name, _, length = given.rpartition("=")
        if not name or not length.isdigit():
            raise ValueRefused(f"--vectors {given}: write COLUMN=LENGTH, as embedding=384")
        found[name] = int(length)
    return found
