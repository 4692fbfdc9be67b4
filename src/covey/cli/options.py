"""Options that several commands have, each declared once.

A command has those of a table of events and one of subscriptions by a parameter of the type
`TableOptions`, and those of the session by one of `SparkOptions`: `expand_options` puts an option
for each of their fields in its place.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import wraps
from typing import Annotated, Any

import typer

from covey._argument_checks import parse_whole_number
from covey.cli.io.formats import FileFormat
from covey.cli.io.sources import TableSource
from covey.cli.session import SessionLauncher
from covey.errors import InvalidArgumentError

__all__ = [
    "ConfOption",
    "EventsFormatOption",
    "EventsSchemaOption",
    "IdColumnOption",
    "JarsOption",
    "MasterOption",
    "PredicateColumnOption",
    "SparkOptions",
    "StoreOption",
    "SubscriptionsFormatOption",
    "SubscriptionsSchemaOption",
    "TableOptions",
    "VectorsOption",
    "expand_options",
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


@dataclass(frozen=True, slots=True)
class TableOptions:
    """How tables of events and of subscriptions are read."""

    id_column: IdColumnOption = "id"
    predicate_column: PredicateColumnOption = "predicate"
    events_format: EventsFormatOption = None
    subscriptions_format: SubscriptionsFormatOption = None
    events_schema: EventsSchemaOption = None
    subscriptions_schema: SubscriptionsSchemaOption = None
    vectors: VectorsOption = None

    def open_events(self, path: str) -> TableSource:
        """Return the table of events at a path."""
        return TableSource.from_path(
            "events", path, requested_format=self.events_format, schema=self.events_schema
        )

    def open_subscriptions(self, path: str, owner_column: str | None = None) -> TableSource:
        """Return the table of subscriptions at a path."""
        texts = [self.id_column, self.predicate_column, *([owner_column] if owner_column else [])]
        return TableSource.from_path(
            "subscriptions",
            path,
            requested_format=self.subscriptions_format,
            schema=self.subscriptions_schema,
            text_columns=tuple(texts),
        )


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The session of a command."""

    master: MasterOption = "local[*]"
    conf: ConfOption = None
    jars: JarsOption = None

    def make_launcher(self, formats: Iterable[FileFormat] = ()) -> SessionLauncher:
        """Return what starts the session, with Delta if one of the formats is that."""
        return SessionLauncher.from_options(
            self.master, self.conf, self.jars, needs_delta=FileFormat.DELTA in formats
        )


_GROUPS = (TableOptions, SparkOptions)


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the fields of its groups of options as options of its own."""
    parameters: list[inspect.Parameter] = []
    groups: dict[str, Any] = {}
    for name, one in inspect.signature(command, eval_str=True).parameters.items():
        if one.annotation not in _GROUPS:
            parameters.append(one)
            continue
        groups[name] = one.annotation
        parameters += inspect.signature(one.annotation, eval_str=True).parameters.values()

    @wraps(command)
    def run(**values: Any) -> None:
        chosen = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **chosen)

    options = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in options}
    del run.__wrapped__  # whose parameters typer would read
    return run


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
        name, _, digits = given.rpartition("=")
        length = parse_whole_number(digits)
        if not name or not length:
            raise InvalidArgumentError(f"--vectors {given}: write COLUMN=LENGTH, as embedding=384")
        found[name] = length
    return found
