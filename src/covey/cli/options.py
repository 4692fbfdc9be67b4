"""Options that several commands have, each declared once."""

from __future__ import annotations

from typing import Annotated

import typer

from covey.cli.io.formats import FileFormat
from covey.errors import InvalidArgumentError

__all__ = [
    "ConfOption",
    "EventsFormatOption",
    "EventsSchemaOption",
    "IdColumnOption",
    "JarsOption",
    "MasterOption",
    "PredicateColumnOption",
    "StoreOption",
    "SubscriptionsFormatOption",
    "SubscriptionsSchemaOption",
    "VectorsOption",
    "parse_vector_lengths",
    "split_names",
]

_INPUT_PANEL = "How it is read"
_SPARK_PANEL = "Spark"

EventsFormatOption = Annotated[
    FileFormat | None,
    typer.Option(help="If the suffix does not tell.", rich_help_panel=_INPUT_PANEL),
]
SubscriptionsFormatOption = Annotated[
    FileFormat | None,
    typer.Option(help="If the suffix does not tell.", rich_help_panel=_INPUT_PANEL),
]
EventsSchemaOption = Annotated[
    str | None,
    typer.Option(
        metavar="DDL",
        help="Columns of CSV or JSON, as 'symbol STRING, price DOUBLE'; else they are inferred.",
        rich_help_panel=_INPUT_PANEL,
    ),
]
SubscriptionsSchemaOption = Annotated[
    str | None,
    typer.Option(
        metavar="DDL",
        help="The same, as 'id BIGINT, predicate STRING'; else ids of CSV are texts.",
        rich_help_panel=_INPUT_PANEL,
    ),
]
VectorsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=LENGTH",
        help="A column of numbers that is a vector, as embedding=384. May be repeated.",
        rich_help_panel=_INPUT_PANEL,
    ),
]
IdColumnOption = Annotated[
    str,
    typer.Option("--id", metavar="COLUMN", help="Of subscriptions.", rich_help_panel=_INPUT_PANEL),
]
PredicateColumnOption = Annotated[
    str,
    typer.Option(
        "--predicate", metavar="COLUMN", help="Of subscriptions.", rich_help_panel=_INPUT_PANEL
    ),
]
MasterOption = Annotated[str, typer.Option(help="Where Spark runs.", rich_help_panel=_SPARK_PANEL)]
ConfOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="A setting of Spark, as spark.driver.memory=8g. May be repeated.",
        rich_help_panel=_SPARK_PANEL,
    ),
]
JarsOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILES", help="Jars for Spark, with commas between.", rich_help_panel=_SPARK_PANEL
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="A folder that all workers reach, for the index; needed unless Spark is local.",
        rich_help_panel=_SPARK_PANEL,
    ),
]


def split_names(text: str | None) -> list[str] | None:
    """The names in 'a, b'; None if nothing was given.

    >>> split_names("a, b")
    ['a', 'b']
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def parse_vector_lengths(options: list[str] | None) -> dict[str, int]:
    """The lengths of vectors by column.

    >>> parse_vector_lengths(["embedding=384"])
    {'embedding': 384}
    """
    found = {}
    for given in options or ():
        name, _, length = given.rpartition("=")
        if not name or not length.isdigit():
            raise InvalidArgumentError(f"--vectors {given}: write COLUMN=LENGTH, as embedding=384")
        found[name] = int(length)
    return found
