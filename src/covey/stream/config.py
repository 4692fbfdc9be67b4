"""What a stream is to do, as its TOML file says it."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from covey.errors import SpaceError, ValueRefused
from covey.space import Limits

__all__ = [
    "Config", "DeadLetters", "Events", "Kafka", "Metrics", "Notifications", "Spark", "State",
    "Subscriptions",
]  # fmt: skip

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Kafka:
    """Where Kafka is. `options` are for every client, the others for Spark's or covey's own."""

    servers: str
    options: dict[str, str] = field(default_factory=dict)
    spark_options: dict[str, str] = field(default_factory=dict)
    client_options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Events:
    """The topics of events and how their values are read.

    `schema` is Spark's, as `symbol STRING, price DOUBLE`; with Avro it is the schema in JSON. `id`
    is a column that tells events apart, if it is not to be their place on Kafka. `starting` is
    where a first start begins; `per_batch` is the most that a batch has, if it is not to be
    measured. A batch begins every `every_ms` milliseconds, or when the last one is done.
    """

    topics: list[str]
    schema: str
    format: str = "json"
    id: str | None = None
    starting: str = "latest"
    vectors: dict[str, int] = field(default_factory=dict)
    per_batch: int | None = None
    every_ms: int = 0


@dataclass(frozen=True, slots=True)
class Subscriptions:
    """The control topic, and by how much the clocks of brokers may differ.

    With several `zones` a worker has a part of the subscriptions, and events are shuffled to it.
    """

    topic: str
    allowance_ms: int = 1000
    max_derived: int = 32
    zones: int = 1


@dataclass(frozen=True, slots=True)
class Notifications:
    """Where notifications go, and which columns of the event they have with them."""

    sink: str = "kafka"
    topic: str = "notifications"
    include: list[str] = field(default_factory=list)
    path: str | None = None
    function: str | None = None


@dataclass(frozen=True, slots=True)
class DeadLetters:
    """The topic of events and changes that cannot be read."""

    topic: str


@dataclass(frozen=True, slots=True)
class State:
    """The folder of all that a stream keeps, and for how long."""

    path: str
    retention_s: int = 3600
    forget_s: int = 900


@dataclass(frozen=True, slots=True)
class Spark:
    """The session."""

    master: str = "local[*]"
    jars: str | None = None
    conf: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Metrics:
    """Where Prometheus finds the figures; nowhere without a port."""

    port: int | None = None
    host: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class Config:
    """All of it. `Config.read(path)` reads a file; what is wrong in it is a `ValueRefused`."""

    kafka: Kafka
    events: Events
    subscriptions: Subscriptions
    dead_letters: DeadLetters
    state: State
    notifications: Notifications = field(default_factory=Notifications)
    spark: Spark = field(default_factory=Spark)
    metrics: Metrics = field(default_factory=Metrics)
    limits: Limits = field(default_factory=Limits)

    @classmethod
    def read(cls, path: str | Path) -> Config:
        """The configuration in a file; paths in it are relative to the file's folder."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueRefused(f"{path} cannot be read: {error}") from None
        try:
            found = cls.parse(text)
        except ValueRefused as error:
            raise ValueRefused(f"{path}: {error}") from None
        return found.under(Path(path).absolute().parent)

    @classmethod
    def parse(cls, text: str) -> Config:
        """The configuration in a text.

        >>> Config.parse("[kafka]\\nserver = 'localhost:9092'")
        Traceback (most recent call last):
        covey.errors.ValueRefused: [kafka] has no setting 'server', did you mean 'servers'?
        """
        try:
            given = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ValueRefused(f"no TOML: {error}") from None
        config = _section(cls, given, "")
        _check(config)
        return config

    def under(self, folder: Path) -> Config:
        """The same with paths that do not depend on where the process runs."""
        state = dataclasses.replace(self.state, path=_below(folder, self.state.path))
        spark, notes = self.spark, self.notifications
        if spark.jars is not None:
            spark = dataclasses.replace(spark, jars=_below(folder, spark.jars))
        if notes.path is not None:
            notes = dataclasses.replace(notes, path=_below(folder, notes.path))
        return dataclasses.replace(self, state=state, spark=spark, notifications=notes)


def _below(folder: Path, path: str) -> str:
    return path if "://" in path else str(folder / path)


def _section(kind: type[S], given: Any, name: str) -> S:
    """A section, if all that is given is known, and of its type, and nothing is missing."""
    where = f"[{name}]" if name else "the file"
    if not isinstance(given, dict):
        raise ValueRefused(f"{name} is a section: write [{name}]")
    hints, chosen = get_type_hints(kind), {}
    fields = {one.name: one for one in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key, value in given.items():
        if key not in fields:
            near = get_close_matches(key, fields, 1)
            hint = f", did you mean {near[0]!r}?" if near else f": it has {', '.join(fields)}"
            raise ValueRefused(f"{where} has no setting {key!r}{hint}")
        if dataclasses.is_dataclass(hints[key]):
            chosen[key] = _section(hints[key], value, key)
        else:
            chosen[key] = _typed(hints[key], value, f"{where} {key}")
    for key, one in fields.items():
        is_needed = (one.default, one.default_factory) == (dataclasses.MISSING,) * 2
        if is_needed and key not in chosen:
            raise ValueRefused(f"{where} lacks {f'[{key}]' if not name else key}")
    try:
        return kind(**chosen)
    except SpaceError as error:
        raise ValueRefused(f"{where}: {error}") from None


def _typed(hint: Any, value: Any, where: str) -> Any:
    """A value of the type that a setting has."""
    kinds = [one for one in (get_args(hint) or (hint,)) if one is not type(None)]
    if hint == dict[str, str]:
        if isinstance(value, dict) and all(isinstance(one, str | int) for one in value.values()):
            return {key: _as_text(one) for key, one in value.items()}
        raise ValueRefused(f'{where} is a table, as {{ "key" = "value" }}, not {value!r}')
    if hint == dict[str, int]:
        if isinstance(value, dict) and all(type(one) is int for one in value.values()):
            return value
        raise ValueRefused(
            f'{where} is a table of whole numbers, as {{ "key" = 3 }}, not {value!r}'
        )
    if hint in (list[str], tuple[str, ...]):
        if isinstance(value, list) and all(isinstance(one, str) and one for one in value):
            return value if hint == list[str] else tuple(value)
        raise ValueRefused(f'{where} is a list of texts, as ["one"], not {value!r}')
    if type(value) is not kinds[0]:
        what = {str: "a text", bool: "true or false"}.get(kinds[0], "a whole number")
        raise ValueRefused(f"{where} is {what}, not {value!r}")
    if value == "":
        raise ValueRefused(f"{where} is empty: write a text, or leave it out")
    return value


def _as_text(value: str | int) -> str:
    """A value of Kafka's or Spark's, as they spell it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check(config: Config) -> None:
    """Refuses values that no setting can have, and settings that do not go together."""
    _one_of("[events] format", config.events.format, ("json", "avro"))
    _one_of("[events] starting", config.events.starting, ("latest", "earliest"))
    _one_of("[notifications] sink", config.notifications.sink, ("kafka", "delta", "foreach"))
    for sink, setting in (("delta", "path"), ("foreach", "function")):
        if config.notifications.sink == sink and not getattr(config.notifications, setting):
            raise ValueRefused(f'[notifications] sink = "{sink}" needs {setting}')
    if not config.events.topics:
        raise ValueRefused("[events] topics is empty: name one at least")
    if config.subscriptions.allowance_ms < 0:
        raise ValueRefused("[subscriptions] allowance_ms cannot be negative")
    for where, number, least, most in (
        ("[events] per_batch", config.events.per_batch, 1, 1_000_000_000),
        ("[events] every_ms", config.events.every_ms, 0, 86_400_000),
        ("[subscriptions] allowance_ms", config.subscriptions.allowance_ms, 0, 86_400_000),
        ("[subscriptions] max_derived", config.subscriptions.max_derived, 0, 10_000),
        ("[subscriptions] zones", config.subscriptions.zones, 1, 10_000),
        ("[metrics] port", config.metrics.port, 1, 65_535),
    ):
        if number is not None and not least <= number <= most:
            raise ValueRefused(f"{where} is from {least} to {most}, not {number}")
    for name in ("retention_s", "forget_s"):
        if (seconds := getattr(config.state, name)) < 1:
            raise ValueRefused(f"[state] {name} is one second at least, not {seconds}")
    topics = [*config.events.topics, config.subscriptions.topic, config.dead_letters.topic]
    if config.notifications.sink == "kafka":
        topics.append(config.notifications.topic)
    if len(set(topics)) < len(topics):
        raise ValueRefused(f"a topic has two uses: {', '.join(topics)}; each needs its own")


def _one_of(where: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueRefused(f"{where} is {' or '.join(map(repr, choices))}, not {value!r}")
