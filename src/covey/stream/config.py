"""Configuration of a stream: a dataclass for each section of its TOML file."""

from __future__ import annotations

import dataclasses
import tomllib
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints

from covey._argument_checks import check_arguments, check_local_path
from covey.errors import InvalidArgumentError, SchemaError, prefix_errors
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

_EXAMPLES = {
    ("kafka", "servers"): 'servers = "localhost:9092"',
    ("events", "topics"): 'topics = ["ads"]',
    ("events", "schema"): 'schema = "title STRING, price DOUBLE"',
    ("subscriptions", "topic"): 'topic = "alerts"',
    ("dead_letters", "topic"): 'topic = "dead-letters"',
    ("state", "path"): 'path = "state"',
}
"""An example of each required setting, by section and name."""


@dataclass(frozen=True, slots=True)
class KafkaConfig:
    """Section `[kafka]`: addresses of the Kafka servers, and options of the clients.

    Args:
        servers: addresses, such as `host:port,host:port`.
        options: options of all Kafka clients, by their names in Kafka, such as `security.protocol`.
        spark_options: further options, for Spark's readers and writers only.
        client_options: further options, for covey's own clients only, which use librdkafka.
    """

    servers: str
    options: dict[str, str] = field(default_factory=dict)
    spark_options: dict[str, str] = field(default_factory=dict)
    client_options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EventsConfig:
    """Section `[events]`: the event topics, and how the values of events are decoded.

    Args:
        topics: topics of events, at least one.
        schema: for JSON a schema of Spark, such as `symbol STRING, price DOUBLE`; for Avro the Avro
            schema of a record, as JSON.
        format: `json` or `avro`.
        id_column: column with a unique id of each event; by default the event ref is the id.
        starting_offsets: where the stream begins when it is started for the first time: `earliest`
            for every event that Kafka still has, `latest` for events that are published after the
            start of the process. The setting is required. When the stream is started again, it
            continues where it ended.
        vectors: for each column of vectors, the number of elements of a vector.
        max_events_per_batch: the largest number of events of a batch; by default it is computed
            from the measured cost of an event whenever a query starts.
        trigger_interval_ms: shortest time from the start of a batch to the start of the next one. A
            batch never starts before the previous one has ended.
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
    """Section `[subscriptions]`: the control topic, and how its subscriptions are matched.

    Args:
        topic: the control topic.
        clock_skew_ms: the largest difference between the clocks of Kafka servers; a predicate is
            valid from this many milliseconds before its message was appended.
        zones: number of zones; with more than one, a task needs the subscriptions of one zone
            only, and events are shuffled to the tasks of their zones.
    """

    topic: str
    clock_skew_ms: int = 1000
    zones: int = 1


@dataclass(frozen=True, slots=True)
class NotificationsConfig:
    """Section `[notifications]`: the sink of notifications, and the event columns they include.

    Args:
        sink: `kafka`, `delta` or `foreach`.
        topic: topic of notifications; for sinks other than `kafka`, the value of the column `topic`
            in their rows.
        include: columns of the event that are added to a notification.
        path: path of the table, for the sink `delta`.
        function: function that is called with each batch, written `module:name`, for the sink
            `foreach`.
    """

    sink: str = "kafka"
    topic: str = "notifications"
    include: list[str] = field(default_factory=list)
    path: str | None = None
    function: str | None = None


@dataclass(frozen=True, slots=True)
class DeadLettersConfig:
    """Section `[dead_letters]`: the topic of messages about unreadable events and changes."""

    topic: str


@dataclass(frozen=True, slots=True)
class StateConfig:
    """Section `[state]`: the folder with all files of a stream, and how long they are kept.

    Args:
        path: folder of the store, the checkpoint, the decision log and the status file.
        retention_s: seconds for which past versions and batch decisions are kept.
        max_event_delay_s: how late an event may be read, in seconds. If a batch contains an event,
            then each event that was appended more than this time earlier must be in this batch or
            an earlier one. A region is dropped if its validity ended more than this time before the
            oldest event of a completed batch.
    """

    path: str
    retention_s: int = 3600
    max_event_delay_s: int = 900


@dataclass(frozen=True, slots=True)
class SparkConfig:
    """Section `[spark]`: the Spark session.

    Args:
        master: Spark's master URL.
        jars: path or pattern of the jar files to load.
        conf: further settings of Spark.
        packages: Maven coordinates that Spark downloads when it starts. The short names `kafka`,
            `avro` and `delta` are replaced by the coordinates for the running version of Spark.
    """

    master: str = "local[*]"
    jars: str | None = None
    conf: dict[str, str] = field(default_factory=dict)
    packages: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MetricsConfig:
    """Section `[metrics]`: address of the Prometheus endpoint; without a port there is none."""

    port: int | None = None
    host: str = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class StreamConfig:
    """The whole configuration of a stream.

    `StreamConfig.from_file(path)` reads it from a TOML file.
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
        """Read the configuration from a TOML file.

        Args:
            path: the file; relative paths in it are relative to its folder.

        Raises:
            InvalidArgumentError: the file cannot be read, or a setting in it is wrong.
        """
        check_local_path("the path of a stream's file", path)
        try:
            text = Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InvalidArgumentError(
                f"{path} cannot be read: {reason}; name the TOML file of a stream"
            ) from None
        with prefix_errors(str(path)):
            config = cls.from_toml(text)
        return config.with_resolved_paths(Path(path).absolute().parent)

    @classmethod
    @check_arguments
    def from_toml(cls, text: str) -> StreamConfig:
        """Parse the configuration from TOML text; relative paths are not changed.

        Raises:
            InvalidArgumentError: the text is not TOML, or a setting in it is wrong.

        >>> StreamConfig.from_toml("[kafka]\\nserver = 'localhost:9092'")
        Traceback (most recent call last):
        covey.errors.InvalidArgumentError: unknown setting [kafka] server: did you mean servers?
        """
        try:
            sections = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            hint = '; a text needs quotes: path = "state"' if "Invalid value" in str(error) else ""
            raise InvalidArgumentError(f"not valid TOML: {error}{hint}") from None
        config = _parse_section(cls, sections, "")
        _check_values(config)
        return config

    def with_resolved_paths(self, folder: Path) -> StreamConfig:
        """Return the configuration with relative paths resolved against a folder.

        URIs such as s3://… are not changed.
        """
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
    """Build a section from its TOML values.

    Raises:
        InvalidArgumentError: a setting is unknown, missing or of a wrong type.
    """
    where = f"[{section_name}]" if section_name else "the file"
    if not isinstance(values, dict):
        raise InvalidArgumentError(
            f"{section_name} must be a section: write [{section_name}], and its settings below"
        )
    hints, settings = get_type_hints(section_class), {}
    fields = {f.name: f for f in dataclasses.fields(section_class)}  # type: ignore[arg-type]
    for key, value in values.items():
        if key not in fields:
            similar = get_close_matches(key, fields, 1)
            known = f"the settings of {where}" if section_name else "the sections"
            hint = f"did you mean {similar[0]}?" if similar else f"{known} are {', '.join(fields)}"
            wrong = f"setting {where} {key}" if section_name else f"section [{key}]"
            raise InvalidArgumentError(f"unknown {wrong}: {hint}")
        if dataclasses.is_dataclass(hints[key]):
            settings[key] = _parse_section(hints[key], value, key)
        else:
            settings[key] = _convert_value(hints[key], value, f"{where} {key}")
    for key, definition in fields.items():
        defaults = (definition.default, definition.default_factory)
        is_required = defaults == (dataclasses.MISSING,) * 2
        if is_required and key not in settings:
            lacking = f"{where} lacks {key if section_name else f'[{key}]'}"
            example = _EXAMPLES.get((section_name, key))
            raise InvalidArgumentError(lacking + (f": write {example}" if example else ""))
    try:
        return section_class(**settings)
    except SchemaError as error:
        raise InvalidArgumentError(f"{where}: {error}") from None


def _convert_value(type_hint: Any, value: Any, setting: str) -> Any:
    """Return a TOML value converted to the type of its setting.

    Raises:
        InvalidArgumentError: the value has another type, or is an empty string.
    """
    types = [member for member in get_args(type_hint) or (type_hint,) if member is not type(None)]
    if type_hint == dict[str, str]:
        if isinstance(value, dict) and all(isinstance(v, str | int) for v in value.values()):
            return {key: _to_option_text(option) for key, option in value.items()}
        raise InvalidArgumentError(
            f'{setting} must be a table such as {{ "key" = "value" }}, got {value!r}'
        )
    if type_hint == dict[str, int]:
        if isinstance(value, dict) and all(type(number) is int for number in value.values()):
            return value
        raise InvalidArgumentError(
            f'{setting} must be a table of whole numbers such as {{ "key" = 3 }}, got {value!r}'
        )
    if type_hint in (list[str], tuple[str, ...]):
        if isinstance(value, list) and all(isinstance(text, str) and text for text in value):
            return value if type_hint == list[str] else tuple(value)
        raise InvalidArgumentError(
            f'{setting} must be a list of non-empty strings such as ["name"], got {value!r}'
        )
    if type(value) is not types[0]:
        expected = {str: "a string", bool: "true or false"}.get(types[0], "a whole number")
        raise InvalidArgumentError(f"{setting} must be {expected}, got {value!r}")
    if value == "":
        raise InvalidArgumentError(
            f"{setting} is empty: set it to a value, or leave it out if it is optional"
        )
    return value


def _to_option_text(value: str | int) -> str:
    """Return an option of Kafka or Spark as a string; Booleans become `true` or `false`."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_values(config: StreamConfig) -> None:
    """Raise InvalidArgumentError if a value is out of range or settings contradict each other."""
    _check_choice("[events] format", config.events.format, ("json", "avro"))
    if config.events.starting_offsets is None:
        raise InvalidArgumentError(
            '[events] lacks starting_offsets: write starting_offsets = "earliest" to match every '
            'event that Kafka still has, or "latest" to match only events that are published after '
            "the stream is started for the first time"
        )
    _check_choice(
        "[events] starting_offsets", config.events.starting_offsets, ("latest", "earliest")
    )
    check_event_schema(config.events.schema, config.events.format)
    _check_column_names(config)
    _check_choice("[notifications] sink", config.notifications.sink, ("kafka", "delta", "foreach"))
    for sink, setting in (("delta", "path"), ("foreach", "function")):
        if config.notifications.sink == sink and not getattr(config.notifications, setting):
            raise InvalidArgumentError(
                f'[notifications] sink = "{sink}" needs the setting [notifications] {setting}'
            )
    if not config.events.topics:
        raise InvalidArgumentError("[events] topics is empty: name at least one topic")
    for setting, number, minimum, maximum in (
        ("[events] max_events_per_batch", config.events.max_events_per_batch, 1, 1_000_000_000),
        ("[events] trigger_interval_ms", config.events.trigger_interval_ms, 0, 86_400_000),
        ("[subscriptions] clock_skew_ms", config.subscriptions.clock_skew_ms, 0, 86_400_000),
        ("[subscriptions] zones", config.subscriptions.zones, 1, 10_000),
        ("[metrics] port", config.metrics.port, 1, 65_535),
    ):
        if number is not None and not minimum <= number <= maximum:
            raise InvalidArgumentError(
                f"{setting} must be from {minimum} to {maximum}, got {number}"
            )
    for name in ("retention_s", "max_event_delay_s"):
        if (seconds := getattr(config.state, name)) < 1:
            raise InvalidArgumentError(f"[state] {name} must be at least 1 second, got {seconds}")
    topics = [*config.events.topics, config.subscriptions.topic, config.dead_letters.topic]
    if config.notifications.sink == "kafka":
        topics.append(config.notifications.topic)
    if len(set(topics)) < len(topics):
        raise InvalidArgumentError(
            "[events], [subscriptions], [dead_letters] and [notifications] must not share a topic, "
            f"and [events] topics must not repeat one, got {', '.join(topics)}"
        )


def _check_column_names(config: StreamConfig) -> None:
    """Raise InvalidArgumentError if a setting names a column that is not in the events' schema."""
    columns = list_schema_columns(config.events.schema, config.events.format)
    known = {name.lower() for name in columns}
    if (id_column := config.events.id_column) is not None and id_column.lower() not in known:
        raise InvalidArgumentError(
            f"[events] id_column is {id_column!r}, which is not a column of the events: "
            f"their columns are {', '.join(columns)}"
        )
    for name in config.notifications.include:
        if name.lower() not in known:
            raise InvalidArgumentError(
                f"[notifications] include has {name!r}, which is not a column of the events: "
                f"their columns are {', '.join(columns)}"
            )


def _check_choice(setting: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidArgumentError(
            f"{setting} must be {' or '.join(map(repr, choices))}, got {value!r}"
        )
