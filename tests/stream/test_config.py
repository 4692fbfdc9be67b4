"""The configuration file of a stream: every setting is read, and every mistake is reported."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from covey.errors import InvalidArgumentError
from covey.space import PredicateLimits
from covey.stream import StreamConfig
from covey.stream.config import KafkaConfig, MetricsConfig, NotificationsConfig, SparkConfig

SHARED_TOPIC = "[events], [subscriptions], [dead_letters] and [notifications] must not share"
LEAST = """
[kafka]
servers = "127.0.0.1:9092"
[events]
topics = ["ads"]
schema = "a DOUBLE"
starting_offsets = "latest"
[subscriptions]
topic = "alerts"
[dead_letters]
topic = "dead"
[state]
path = "state"
"""
ALL = """
[kafka]
servers = "one:9092,two:9092"
options = { "security.protocol" = "SSL" }
spark_options = { "request.timeout.ms" = 5000 }
client_options = { "socket.timeout.ms" = 5000 }
[events]
topics = ["ads", "offers"]
schema = '{"type": "record", "name": "ad", "fields": [{"name": "a", "type": "double"}]}'
format = "avro"
id_column = "a"
starting_offsets = "earliest"
vectors = { v = 3 }
max_events_per_batch = 1000
trigger_interval_ms = 250
[subscriptions]
topic = "alerts"
clock_skew_ms = 0
[notifications]
sink = "delta"
topic = "notes"
include = ["a"]
path = "table"
[dead_letters]
topic = "dead"
[state]
path = "state"
retention_s = 10
max_event_delay_s = 5
[spark]
master = "local[2,4]"
jars = "jars/*.jar"
packages = ["kafka"]
conf = { "spark.driver.memory" = "2g" }
[metrics]
port = 9464
host = "0.0.0.0"
"""


def with_(section: str, setting: str, base: str = LEAST) -> str:
    """Return the text with a setting added, replaced or removed."""
    key, value = setting.split(" =")[0], [setting] if "=" in setting else []
    lines, inside = [], False
    for line in base.splitlines():
        inside = line == f"[{section}]" if line.startswith("[") else inside
        if not (inside and line.startswith(f"{key} =")):
            lines.append(line)
        if line == f"[{section}]":
            lines += value
    return "\n".join(lines if f"[{section}]" in lines else [*lines, f"[{section}]", *value])


def refused(text: str) -> str:
    with pytest.raises(InvalidArgumentError) as caught:
        StreamConfig.from_toml(text)
    return str(caught.value)


def test_the_smallest_configuration_is_enough() -> None:
    config = StreamConfig.from_toml(LEAST)
    assert config.kafka == KafkaConfig("127.0.0.1:9092")
    assert (config.events.format, config.events.starting_offsets) == ("json", "latest")
    assert config.subscriptions.clock_skew_ms == 1000
    assert config.notifications == NotificationsConfig("kafka", "notifications")
    assert (config.state.retention_s, config.state.max_event_delay_s) == (3600, 900)
    assert (config.spark, config.metrics) == (SparkConfig(), MetricsConfig())


def test_every_setting_is_read() -> None:
    config = StreamConfig.from_toml(ALL)
    assert config.kafka == KafkaConfig(
        "one:9092,two:9092",
        {"security.protocol": "SSL"},
        {"request.timeout.ms": "5000"},
        {"socket.timeout.ms": "5000"},
    )
    assert (config.events.topics, config.events.vectors) == (["ads", "offers"], {"v": 3})
    assert (config.events.format, config.events.id_column) == ("avro", "a")
    assert (config.events.starting_offsets, config.events.max_events_per_batch) == (
        "earliest",
        1000,
    )
    assert config.events.trigger_interval_ms == 250
    assert config.notifications == NotificationsConfig("delta", "notes", ["a"], "table")
    assert config.subscriptions.clock_skew_ms == 0
    assert (config.state.retention_s, config.state.max_event_delay_s) == (10, 5)
    assert config.spark == SparkConfig(
        "local[2,4]", "jars/*.jar", {"spark.driver.memory": "2g"}, ["kafka"]
    )
    assert config.metrics == MetricsConfig(9464, "0.0.0.0")


def test_option_values_are_written_as_kafka_expects() -> None:
    text = with_("kafka", 'options = { "ssl.a" = true, "b" = false, "c" = 7, "d" = "True" }')
    options = StreamConfig.from_toml(text).kafka.options
    assert options == {"ssl.a": "true", "b": "false", "c": "7", "d": "True"}


def test_paths_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "alerts.toml").write_text(ALL, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for path in (tmp_path / "alerts.toml", Path("alerts.toml"), "alerts.toml"):
        config = StreamConfig.from_file(path)
        assert config.state.path == str(tmp_path / "state")
        assert config.spark.jars == str(tmp_path / "jars/*.jar")
        assert config.notifications.path == str(tmp_path / "table")


def test_absolute_paths_and_uris_are_not_changed(tmp_path: Path) -> None:
    text = with_("state", 'path = "s3://bucket/state"', with_("spark", 'jars = "/jars/*"', ALL))
    config = StreamConfig.from_toml(text).with_resolved_paths(tmp_path)
    assert (config.state.path, config.spark.jars) == ("s3://bucket/state", "/jars/*")


@pytest.mark.parametrize(
    ("section", "setting", "said"),
    [
        ("kafka", "servers", '[kafka] lacks servers: write servers = "localhost:9092"'),
        ("kafka", 'server = "x"', "unknown setting [kafka] server: did you mean servers?"),
        ("kafka", "servers = 9092", "[kafka] servers must be a string, got 9092"),
        (
            "kafka",
            'options = "x"',
            '[kafka] options must be a table such as { "key" = "value" }, got \'x\'',
        ),
        ("kafka", "options = { a = [1] }", "[kafka] options must be a table"),
        ("kafka", 'options.security.protocol = "SSL"', "[kafka] options must be a table"),
        ("events", "topics", '[events] lacks topics: write topics = ["ads"]'),
        (
            "events",
            'topics = "ads"',
            "[events] topics must be a list of non-empty strings such as [\"name\"], got 'ads'",
        ),
        ("events", "topics = [1]", "[events] topics must be a list of non-empty strings"),
        ("events", "topics = []", "[events] topics is empty: name at least one topic"),
        ("events", 'format = "csv"', "[events] format must be 'json' or 'avro', got 'csv'"),
        (
            "events",
            'starting_offsets = "now"',
            "[events] starting_offsets must be 'latest' or 'earliest', got 'now'",
        ),
        (
            "events",
            "starting_offsets",
            '[events] lacks starting_offsets: write starting_offsets = "earliest" to match every',
        ),
        (
            "events",
            'schema = "a DOUBEL"',
            "[events] schema: column a has the unknown type DOUBEL, did you mean DOUBLE?",
        ),
        ("events", 'schema = "a DOUBLE, b"', "[events] schema: column 2 (b) has no type"),
        ("events", 'schema = "a ARRAY<INT"', "[events] schema: the brackets do not match"),
        ("events", 'id_column = "b"', "[events] id_column is 'b', which is not a column"),
        ("notifications", 'include = ["b"]', "[notifications] include has 'b', which is not a c"),
        ("spark", 'packages = "kafka"', "[spark] packages must be a list of non-empty strings"),
        ("events", "id_column = 5", "[events] id_column must be a string, got 5"),
        (
            "events",
            "max_events_per_batch = 1.5",
            "[events] max_events_per_batch must be a whole number, got 1.5",
        ),
        (
            "events",
            "max_events_per_batch = true",
            "[events] max_events_per_batch must be a whole number, got True",
        ),
        (
            "events",
            "zzz = 1",
            "unknown setting [events] zzz: the settings of [events] are topics, ",
        ),
        ("subscriptions", "topic", "[subscriptions] lacks topic"),
        (
            "subscriptions",
            "clock_skew_ms = -1",
            "[subscriptions] clock_skew_ms must be from 0 to 86400000, got -1",
        ),
        (
            "subscriptions",
            'topic = "ads"',
            "[events], [subscriptions], [dead_letters] and [notifications] must not share a topic, "
            "and [events] topics must not repeat one, got ads, ads, dead, notifications",
        ),
        ("subscriptions", 'topic = "notifications"', SHARED_TOPIC),
        ("dead_letters", 'topic = "alerts"', SHARED_TOPIC),
        ("notifications", 'topic = "dead"', SHARED_TOPIC),
        (
            "notifications",
            'sink = "mail"',
            "[notifications] sink must be 'kafka' or 'delta' or 'foreac",
        ),
        ("notifications", 'sink = "delta"', '[notifications] sink = "delta" needs the setting'),
        ("notifications", 'sink = "foreach"', '[notifications] sink = "foreach" needs the setti'),
        ("state", "retention_s = 0", "[state] retention_s must be at least 1 second, got 0"),
        (
            "state",
            "max_event_delay_s = -5",
            "[state] max_event_delay_s must be at least 1 second, got -5",
        ),
        ("metrics", 'port = "x"', "[metrics] port must be a whole number, got 'x'"),
        ("spark", 'conf = ["x"]', "[spark] conf must be a table"),
        ("event", "a = 1", "unknown section [event]: did you mean events?"),
        ("kafka", 'servers = ""', "[kafka] servers is empty: set it to a value, or leave it out"),
        ("events", 'id_column = ""', "[events] id_column is empty"),
        (
            "events",
            'topics = [""]',
            "[events] topics must be a list of non-empty strings such as [\"name\"], got ['']",
        ),
        (
            "events",
            'vectors = { v = "x" }',
            "[events] vectors must be a table of whole numbers such as {",
        ),
        ("events", "vectors = { v = true }", "[events] vectors must be a table of whole numbers"),
        ("events", "vectors = [3]", "[events] vectors must be a table of whole numbers"),
        (
            "events",
            "max_events_per_batch = 0",
            "[events] max_events_per_batch must be from 1 to 1000000000, got 0",
        ),
        (
            "events",
            "trigger_interval_ms = -1",
            "[events] trigger_interval_ms must be from 0 to 86400000, got -1",
        ),
        (
            "subscriptions",
            f"clock_skew_ms = {1 << 60}",
            "[subscriptions] clock_skew_ms must be from 0 to",
        ),
        ("metrics", "port = 65536", "[metrics] port must be from 1 to 65535, got 65536"),
        ("metrics", "port = -1", "[metrics] port must be from 1 to 65535, got -1"),
        ("zzz", "a = 1", "unknown section [zzz]: the sections are kafka, events, subscriptions"),
    ],
)
def test_a_mistake_is_reported(section: str, setting: str, said: str) -> None:
    assert refused(with_(section, setting)).startswith(said)


def test_the_example_of_a_required_setting_is_valid() -> None:
    for section, names in {
        "kafka": ["servers"], "events": ["topics", "schema"], "subscriptions": ["topic"],
        "dead_letters": ["topic"], "state": ["path"],
    }.items():  # fmt: skip
        for name in names:
            said = refused(with_(section, name))
            assert said.startswith(f"[{section}] lacks {name}: write {name} = ")
            StreamConfig.from_toml(with_(section, said.partition("write ")[2]))


@pytest.mark.parametrize("section", ["kafka", "events", "subscriptions", "dead_letters", "state"])
def test_a_missing_section_is_reported(section: str) -> None:
    text = re.sub(rf"\[{section}\]\n(?:\w.*\n)*", "", LEAST)
    assert refused(text) == f"the file lacks [{section}]"
    expected = f"{section} must be a section: write [{section}], and its settings below"
    assert refused(f"{section} = 1\n{text}") == expected
    assert refused(f"{text}[[{section}]]\n") == expected


def test_other_sinks_may_share_a_topic_name() -> None:
    text = with_("notifications", 'sink = "foreach"\nfunction = "a:b"\ntopic = "ads"')
    assert StreamConfig.from_toml(text).notifications.function == "a:b"


def test_invalid_toml_is_reported_with_its_position() -> None:
    assert refused("[kafka]\nservers = x") == (
        'not valid TOML: Invalid value (at line 2, column 11); a text needs quotes: path = "state"'
    )
    assert "line 3" in refused('[kafka]\nservers = "a"\nservers = "b"\n')


def test_a_problem_is_reported_with_the_name_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "alerts.toml"
    with pytest.raises(
        InvalidArgumentError,
        match=r"alerts\.toml cannot be read: No such file .*; name the TOML file of a stream",
    ):
        StreamConfig.from_file(path)
    with pytest.raises(InvalidArgumentError, match=r"cannot be read: .*directory"):
        StreamConfig.from_file(tmp_path)
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidArgumentError, match=r"alerts\.toml cannot be read: .*utf-8"):
        StreamConfig.from_file(path)
    path.write_text(with_("kafka", "servers"), encoding="utf-8")
    with pytest.raises(InvalidArgumentError, match=r"alerts\.toml: \[kafka\] lacks servers"):
        StreamConfig.from_file(path)


def test_limits_are_those_of_predicates() -> None:
    config = StreamConfig.from_toml(LEAST + '[limits]\nany_regex = true\nfunctions = ["risk_of"]\n')
    assert config.limits == PredicateLimits(any_regex=True, functions=("risk_of",))
    for wrong, said in (
        ("max_depth = 0", "max_depth must be at least 1"),
        ("max_depth = true", "must be a whole number"),
        ("any_regex = 1", "must be true or false"),
        ("functions = 'f'", "must be a list of non-empty strings"),
        ("functions = ['F']", "lower case"),
        ("max_depht = 3", r"unknown setting \[limits\] max_depht: did you mean max_depth\?"),
    ):
        with pytest.raises(InvalidArgumentError, match=said):
            StreamConfig.from_toml(f"{LEAST}[limits]\n{wrong}\n")
