"""What a stream is to do, as its TOML file says it."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from covey._argument_checks import check_arguments, check_local_path
from covey.errors import InvalidArgumentError, SchemaError
from covey.space import PredicateLimits
from covey.stream.schema_check import check_event_schema, list_schema_columns

__all__ = [
    "DeadLettersConfig",
    "EventsConfig",
    "KafkaConfig",
    "MetricsConfig",
    "NotificationsConfig",
    "SparkConfig",
    "StateConfig",
    "StreamConfig",
    "SubscriptionsConfig",
]  # fmt: skip

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class KafkaConfig:
    """Where Kafka is. `options` are for every client, the others for Spark's or covey's own."""

    servers: str
    options: dict[str, str] = field(default_factory=dict)
    spark_options: dict[str, str] = field(default_factory=dict)
    client_options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventsConfig:
    """The topics of events and how their values are read.

    `schema` is Spark's, as `symbol STRING, price DOUBLE`; with Avro it is the schema in JSON.
    `id_column` is a column that tells events apart, if it is not to be their place on Kafka.
    `starting_offsets` is where the first start begins, and must be chosen: `earliest` for every
    event that Kafka still has, `latest` for those from the start of the process on. Later starts
    go on where the last one ended. `max_events_per_batch` is the most that a
    batch has, if it is not to be measured. A batch begins every `trigger_interval_ms`
    milliseconds, or when the last one is done.
    """

    topics: list[str]
    schema: str
    format: str = "json"
    id_column: str | None = None
    starting_offsets: str | None = None
    vectors: dict[str, int] = field(default_factory=dict)
    max_events_per_batch: int | None = None
    trigger_interval_ms: int = 0


@dataclass(frozen=True, slots=True)
class SubscriptionsConfig:
    """The control topic, and by how much the clocks of brokers may differ.

    With several `zones` a worker has a part of the subscriptions, and events are shuffled to it.
    """

    topic: str
    clock_skew_ms: int = 1000
    max_derived: int = 32
    zones: int = 1


@dataclass(frozen=True, slots=True)
class NotificationsConfig:
    """Where notifications go, and which columns of the event they have with them."""

    sink: str = "kafka"
    topic: str = "notifications"
    include: list[str] = field(default_factory=list)
    path: str | None = None
    function: str | None = None


@dataclass(frozen=True, slots=True)
class DeadLettersConfig:
    """The topic of events and changes that cannot be read."""

    topic: str


@dataclass(frozen=True, slots=True)
class StateConfig:
    """The folder of all that a stream keeps, and for how long."""

    path: str
    retention_s: int = 3600
    max_event_delay_s: int = 900


@dataclass(frozen=True, slots=True)
class SparkConfig:
    """The Spark session.

    `packages` are Maven coordinates that Spark downloads when it starts; the short names `kafka`,
    `avro` and `delta` stand for those of the running Spark. `jars` is a pattern of local files.
    """

    master: str = "local[*]"
    jars: str | None = None
    conf: dict[str, str] = field(default_factory=dict)
    packages: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MetricsConfig:
    """Where Prometheus finds the figures; nowhere without a port."""

    port: int | None = None
    host: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """The whole configuration.

    `StreamConfig.from_file(path)` reads a file; what is wrong in it is an `InvalidArgumentError`.
    """

    kafka: KafkaConfig
    events: EventsConfig
    subscriptions: SubscriptionsConfig
    dead_letters: DeadLettersConfig
    state: StateConfig
    notifications: NotificationsConfig = field(default_factory=NotificationsConfig)
    spark: SparkConfig = field(default_factory=SparkConfig)
    metrics: MetricsConfig = field(default_factory=MetricsConfig)
    limits: PredicateLimits = field(default_factory=PredicateLimits)

    @classmethod
    @check_arguments
    def from_file(cls, path: str | Path) -> StreamConfig:
        """The configuration in a file; paths in it are relative to the file's folder."""
        check_local_path("the file of a stream", path)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidArgumentError(f"{path} cannot be read: {error}") from None
        try:
            found = cls.from_toml(text)
        except InvalidArgumentError as error:
            raise InvalidArgumentError(f"{path}: {error}") from None
        return found.with_resolved_paths(Path(path).absolute().parent)

    @classmethod
    @check_arguments
    def from_toml(cls, text: str) -> StreamConfig:
        """The configuration in a text.

        >>> StreamConfig.from_toml("[kafka]\\nserver = 'localhost:9092'")
        Traceback (most recent call last):
        covey.errors.InvalidArgumentError: [kafka] has no setting 'server', did you mean 'servers'?
        """
        try:
            given = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            raise InvalidArgumentError(f"no TOML: {error}") from None
        config = _parse_section(cls, given, "")
        _check_values(config)
        return config

    def with_resolved_paths(self, folder: Path) -> StreamConfig:
        """The same with paths that do not depend on where the process runs."""
        state = dataclasses.replace(self.state, path=_resolve_path(folder, self.state.path))
        spark, notes = self.spark, self.notifications
        if spark.jars is not None:
            spark = dataclasses.replace(spark, jars=_resolve_path(folder, spark.jars))
        if notes.path is not None:
            notes = dataclasses.replace(notes, path=_resolve_path(folder, notes.path))
        return dataclasses.replace(self, state=state, spark=spark, notifications=notes)


def _resolve_path(folder: Path, path: str) -> str:
    return path if "://" in path else str(folder / path)


def _parse_section(section_class: type[S], values: Any, section_name: str) -> S:
    """A section, if all that is given is known, and of its type, and nothing is missing."""
    where = f"[{section_name}]" if section_name else "the file"
    if not isinstance(values, dict):
        raise InvalidArgumentError(f"{section_name} is a section: write [{section_name}]")
    hints, chosen = get_type_hints(section_class), {}
    fields = {one.name: one for one in dataclasses.fields(section_class)}  # type: ignore[arg-type]
    for key, value in values.items():
        if key not in fields:
            near = get_close_matches(key, fields, 1)
            hint = f", did you mean {near[0]!r}?" if near else f": it has {', '.join(fields)}"
            raise InvalidArgumentError(f"{where} has no setting {key!r}{hint}")
        if dataclasses.is_dataclass(hints[key]):
            chosen[key] = _parse_section(hints[key], value, key)
        else:
            chosen[key] = _convert_value(hints[key], value, f"{where} {key}")
    for key, one in fields.items():
        is_needed = (one.default, one.default_factory) == (dataclasses.MISSING,) * 2
        if is_needed and key not in chosen:
            raise InvalidArgumentError(f"{where} lacks {f'[{key}]' if not section_name else key}")
    try:
        return section_class(**chosen)
    except SchemaError as error:
        raise InvalidArgumentError(f"{where}: {error}") from None


def _convert_value(type_hint: Any, value: Any, setting: str) -> Any:
    """A value of the type that a setting has."""
    kinds = [one for one in (get_args(type_hint) or (type_hint,)) if one is not type(None)]
    if type_hint == dict[str, str]:
        if isinstance(value, dict) and all(isinstance(one, str | int) for one in value.values()):
            return {key: _to_option_text(one) for key, one in value.items()}
        raise InvalidArgumentError(f'{setting} is a table, as {{ "key" = "value" }}, not {value!r}')
    if type_hint == dict[str, int]:
        if isinstance(value, dict) and all(type(one) is int for one in value.values()):
            return value
        raise InvalidArgumentError(
            f'{setting} is a table of whole numbers, as {{ "key" = 3 }}, not {value!r}'
        )
    if type_hint in (list[str], tuple[str, ...]):
        if isinstance(value, list) and all(isinstance(one, str) and one for one in value):
            return value if type_hint == list[str] else tuple(value)
        raise InvalidArgumentError(f'{setting} is a list of texts, as ["one"], not {value!r}')
    if type(value) is not kinds[0]:
        what = {str: "a text", bool: "true or false"}.get(kinds[0], "a whole number")
        raise InvalidArgumentError(f"{setting} is {what}, not {value!r}")
    if value == "":
        raise InvalidArgumentError(f"{setting} is empty: write a text, or leave it out")
    return value


def _to_option_text(value: str | int) -> str:
    """A value of Kafka's or Spark's, as they spell it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_values(config: StreamConfig) -> None:
    """Refuses values that no setting can have, and settings that do not go together."""
    _check_choice("[events] format", config.events.format, ("json", "avro"))
    if config.events.starting_offsets is None:
        raise InvalidArgumentError(
            '[events] lacks starting_offsets: write starting_offsets = "earliest" to match every '
            'event that Kafka still has, or "latest" for events from the first start on'
        )
    _check_choice(
        "[events] starting_offsets", config.events.starting_offsets, ("latest", "earliest")
    )
    check_event_schema(config.events.schema, config.events.format)
    _check_column_names(config)
    _check_choice("[notifications] sink", config.notifications.sink, ("kafka", "delta", "foreach"))
    for sink, setting in (("delta", "path"), ("foreach", "function")):
        if config.notifications.sink == sink and not getattr(config.notifications, setting):
            raise InvalidArgumentError(f'[notifications] sink = "{sink}" needs {setting}')
    if not config.events.topics:
        raise InvalidArgumentError("[events] topics is empty: name one at least")
    if config.subscriptions.clock_skew_ms < 0:
        raise InvalidArgumentError("[subscriptions] clock_skew_ms cannot be negative")
    for where, number, least, most in (
        ("[events] max_events_per_batch", config.events.max_events_per_batch, 1, 1_000_000_000),
        ("[events] trigger_interval_ms", config.events.trigger_interval_ms, 0, 86_400_000),
        ("[subscriptions] clock_skew_ms", config.subscriptions.clock_skew_ms, 0, 86_400_000),
        ("[subscriptions] max_derived", config.subscriptions.max_derived, 0, 10_000),
        ("[subscriptions] zones", config.subscriptions.zones, 1, 10_000),
        ("[metrics] port", config.metrics.port, 1, 65_535),
    ):
        if number is not None and not least <= number <= most:
            raise InvalidArgumentError(f"{where} is from {least} to {most}, not {number}")
    for name in ("retention_s", "max_event_delay_s"):
        if (seconds := getattr(config.state, name)) < 1:
            raise InvalidArgumentError(f"[state] {name} is one second at least, not {seconds}")
    topics = [*config.events.topics, config.subscriptions.topic, config.dead_letters.topic]
    if config.notifications.sink == "kafka":
        topics.append(config.notifications.topic)
    if len(set(topics)) < len(topics):
        raise InvalidArgumentError(f"a topic has two uses: {', '.join(topics)}; each needs its own")


def _check_column_names(config: StreamConfig) -> None:
    """Refuse settings that name a column which the schema of events does not have."""
    columns = list_schema_columns(config.events.schema, config.events.format)
    known = {name.lower() for name in columns}
    if (id_column := config.events.id_column) is not None and id_column.lower() not in known:
        raise InvalidArgumentError(
            f"[events] id_column is {id_column!r}, but the schema has {', '.join(columns)}"
        )
    for name in config.notifications.include:
        if name.lower() not in known:
            raise InvalidArgumentError(
                f"[notifications] include names {name!r}, but events have {', '.join(columns)}"
            )


def _check_choice(setting: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidArgumentError(f"{setting} is {' or '.join(map(repr, choices))}, not {value!r}")
