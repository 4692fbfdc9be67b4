"""Options that several commands share, each declared once.

A parameter of type `TableOptions` gives a command the options of a table of events and of a table
of subscriptions; a parameter of type `SparkOptions` gives it the options of the Spark session.
`expand_options` replaces such a parameter by an option for each of its fields.
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
    "AllowRejectedOption",
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

_INPUT_PANEL = "Input tables"
_SPARK_PANEL = "Spark"

EventsFormatOption = Annotated[
    FileFormat | None,
    typer.Option(
        help="Format of the events. If missing, the suffix of the path, or of the files in the "
        "folder, determines it.",
        rich_help_panel=_INPUT_PANEL,
    ),
]
SubscriptionsFormatOption = Annotated[
    FileFormat | None,
    typer.Option(
        help="Format of the subscriptions. If missing, the suffix of the path, or of the files in "
        "the folder, determines it.",
        rich_help_panel=_INPUT_PANEL,
    ),
]
EventsSchemaOption = Annotated[
    str | None,
    typer.Option(
        metavar="DDL",
        help="Columns of CSV or JSON events, for example 'symbol STRING, price DOUBLE'. "
        "Inferred if missing.",
        rich_help_panel=_INPUT_PANEL,
    ),
]
SubscriptionsSchemaOption = Annotated[
    str | None,
    typer.Option(
        metavar="DDL",
        help="Columns of CSV or JSON subscriptions, for example 'id BIGINT, predicate STRING'. "
        "Inferred if missing; ids in CSV are then read as texts.",
        rich_help_panel=_INPUT_PANEL,
    ),
]
VectorsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN=LENGTH",
        help="Column of events that holds a vector, and its length: embedding=384. Repeatable.",
        rich_help_panel=_INPUT_PANEL,
    ),
]
IdColumnOption = Annotated[
    str,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column with the subscription id.",
        rich_help_panel=_INPUT_PANEL,
    ),
]
PredicateColumnOption = Annotated[
    str,
    typer.Option(
        "--predicate",
        metavar="COLUMN",
        help="Column with the predicate of the subscription.",
        rich_help_panel=_INPUT_PANEL,
    ),
]
MasterOption = Annotated[
    str,
    typer.Option(
        help="Spark master: local[*] for all cores of this machine, or the URL of a cluster.",
        rich_help_panel=_SPARK_PANEL,
    ),
]
ConfOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUE",
        help="Setting of Spark, for example spark.driver.memory=8g. Repeatable.",
        rich_help_panel=_SPARK_PANEL,
    ),
]
JarsOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILES",
        help="Jar files that Spark loads, separated by commas.",
        rich_help_panel=_SPARK_PANEL,
    ),
]
StoreOption = Annotated[
    str | None,
    typer.Option(
        metavar="PATH",
        help="Folder in which the index is stored, and which all workers can reach. Required "
        "unless Spark runs on this machine.",
        rich_help_panel=_SPARK_PANEL,
    ),
]
AllowRejectedOption = Annotated[
    bool,
    typer.Option(
        "--allow-rejected",
        help="Exit with 0, not 3, if subscriptions were left out because of wrong predicates.",
    ),
]


@dataclass(frozen=True, slots=True)
class TableOptions:
    """Options for reading a table of events and a table of subscriptions."""

    id_column: IdColumnOption = "id"
    predicate_column: PredicateColumnOption = "predicate"
    events_format: EventsFormatOption = None
    subscriptions_format: SubscriptionsFormatOption = None
    events_schema: EventsSchemaOption = None
    subscriptions_schema: SubscriptionsSchemaOption = None
    vectors: VectorsOption = None

    def open_events(self, path: str) -> TableSource:
        """Return the table of events at a path, which is not read yet."""
        return TableSource.from_path(
            "events", path, requested_format=self.events_format, schema=self.events_schema
        )

    def open_subscriptions(self, path: str, owner_column: str | None = None) -> TableSource:
        """Return the table of subscriptions at a path, which is not read yet.

        Args:
            path: the path.
            owner_column: column with the owner of a subscription; None if it is not needed.
        """
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
    """Options of the Spark session of a command."""

    master: MasterOption = "local[*]"
    conf: ConfOption = None
    jars: JarsOption = None

    def make_launcher(self, formats: Iterable[FileFormat] = ()) -> SessionLauncher:
        """Return a launcher of the session, with Delta if one of the formats is Delta."""
        return SessionLauncher.from_options(
            self.master, self.conf, self.jars, needs_delta=FileFormat.DELTA in formats
        )


_GROUPS = (TableOptions, SparkOptions)


def expand_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with its parameters of type `TableOptions` and `SparkOptions` replaced.

    Each of them is replaced by an option for each of its fields.
    """
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
    del run.__wrapped__  # typer would read the parameters of the wrapped function
    return run


def split_names(text: str | None) -> list[str] | None:
    """Return the names in a text, which are separated by commas; None if the text is None.

    >>> split_names("a, b")
    ['a', 'b']
    """
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def parse_vector_lengths(options: list[str] | None) -> dict[str, int]:
    """Return the length of the vectors in each column, from options such as embedding=384.

    Raises:
        InvalidArgumentError: an option is not COLUMN=LENGTH with a length of at least 1.

    >>> parse_vector_lengths(["embedding=384"])
    {'embedding': 384}
    """
    found = {}
    for given in options or ():
        name, _, digits = given.rpartition("=")
        length = parse_whole_number(digits)
        if not name or not length:
            raise InvalidArgumentError(
                "--vectors must be COLUMN=LENGTH with a length of at least 1, for example "
                f"embedding=384, got {given}"
            )
        found[name] = length
    return found
