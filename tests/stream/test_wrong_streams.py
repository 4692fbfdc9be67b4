"""Mistakes of users end a stream with exit code 2 and one message that says what to do."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from covey.testing.kafka_server import KafkaServer
from tests.stream.commands import Commands, Outcome
from tests.stream.live import Live, free_port

pytestmark = pytest.mark.integration

Run = Callable[..., Outcome]

WRONG: dict[str, tuple[dict[str, dict[str, Any]], str]] = {
    "unknown setting": (
        {"kafka": {"server": "x"}},
        "unknown setting [kafka] server: did you mean servers?",
    ),
    "events topic": (
        {"events": {"topics": ["nowhere"]}},
        ": [events] topics: topic 'nowhere' does not exist at {address}: create it",
    ),
    "control topic": (
        {"subscriptions": {"topic": "nowhere"}},
        ": [subscriptions] topic: topic 'nowhere' does not exist at {address}: create it",
    ),
    "notifications topic": (
        {"notifications": {"topic": "nowhere"}},
        ": [notifications] topic: topic 'nowhere' does not exist at {address}: create it",
    ),
    "dead letters topic": (
        {"dead_letters": {"topic": "nowhere"}},
        ": [dead_letters] topic: topic 'nowhere' does not exist at {address}: create it",
    ),
    "topic names": (
        {"events": {"topics": ["no topic"]}},
        "topic 'no topic' at {address}: Kafka reports: ",
    ),
    "times of producers": (
        {"events": {"topics": ["created"]}},
        "--entity-name created --add-config message.timestamp.type=LogAppendTime",
    ),
    "times of subscribers": (
        {"subscriptions": {"topic": "created"}},
        "topic 'created' has timestamps of producers",
    ),
    "Kafka": (
        {"kafka": {"servers": "127.0.0.1:{port}"}},
        "no Kafka server answers at 127.0.0.1:{port} within 10 seconds (",
    ),
    "option of Kafka": (
        {"kafka": {"options": {"security.protocoll": "SSL"}}},
        "[kafka] options or client_options: Kafka reports: No such configuration property: "
        '"security.protocoll"',
    ),
    "schema": (
        {"events": {"schema": "a DOUBLEE"}},
        "[events] schema: column a has the unknown type DOUBLEE, did you mean DOUBLE?",
    ),
    "schema that only Spark can refuse": (
        {"events": {"schema": "a DECIMAL(99, 2)"}},
        "price DOUBLE: [DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION] Decimal precision 99",
    ),
    "no starting position": (
        {"events": {"starting_offsets": None}},
        "[events] lacks starting_offsets: write starting_offsets = ",
    ),
    "packages": (
        {"spark": {"packages": ["kafkaa"]}},
        "[spark] packages: 'kafkaa' must be kafka, avro, delta, or Maven coordinates",
    ),
    "schema of Avro": (
        {"events": {"format": "avro", "schema": "a DOUBLE"}},
        "[events] schema is not the Avro schema of a record",
    ),
    "id": (
        {"events": {"id_column": "b"}},
        "[events] id_column is 'b', which is not a column of the events: their columns are a",
    ),
    "include": (
        {"notifications": {"include": ["b"]}},
        "[notifications] include has 'b', which is not a column of the events: their columns are a",
    ),
    "function": (
        {"notifications": {"sink": "foreach", "function": "nowhere"}},
        "[notifications] function must be \"module:name\", got 'nowhere'",
    ),
    "module": (
        {"notifications": {"sink": "foreach", "function": "nowhere_to_be:found"}},
        "[notifications] function 'nowhere_to_be:found' is not found: No module named",
    ),
    "module that is no Python": (
        {"notifications": {"sink": "foreach", "function": "unready:write"}},
        "[notifications] function 'unready:write' cannot be imported: SyntaxError: ",
    ),
    "name in a module": (
        {"notifications": {"sink": "foreach", "function": "json:found"}},
        "[notifications] function 'json:found' is not found: module 'json' has no attribute",
    ),
    "no function": (
        {"notifications": {"sink": "foreach", "function": "json:__name__"}},
        "[notifications] function 'json:__name__' is not callable",
    ),
    "jars": (
        {"spark": {"jars": "nowhere/*.jar"}},
        ": [spark] jars: no file matches ",
    ),
    "state folder": (
        {"state": {"path": "/dev/null/state"}},
        "[state] path: the folder /dev/null/state cannot be created: Not a directory; name another",
    ),
    "metrics": (
        {"metrics": {"port": "{taken}"}},
        "[metrics] host '127.0.0.1', port {taken} cannot be used: Address already in use; "
        "choose another port, or remove the setting",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def stream(
    broker: KafkaServer, commands: Commands, tmp_path_factory: pytest.TempPathFactory
) -> Live:
    """Return a stream that is never started, and create a topic with timestamps of producers."""
    broker.create_topic("created")
    return Live(broker, tmp_path_factory.mktemp("wrong"), commands)


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_configuration_is_refused(name: str, stream: Live, run: Run) -> None:
    sections, expected = WRONG[name]
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        known = {"port": free_port(), "taken": taken.getsockname()[1]}
        filled = {s: {k: fill(v, known) for k, v in c.items()} for s, c in sections.items()}
        refused = run("stream", stream.configure(**filled))
    assert refused.code == 2
    assert expected.format(address=stream.broker.address, **known) in refused.err
    assert refused.err.startswith("covey: ")
    assert refused.err.count("\n") == 1


def test_a_missing_or_invalid_configuration_file_is_refused(run: Run, tmp_path: Path) -> None:
    absent, broken = tmp_path / "absent.toml", tmp_path / "broken.toml"
    broken.write_text("[kafka\n")
    for command in (["stream"], ["status"], ["explain", "--event-offset", "x-0-0",
                                             "--subscription", "y"]):  # fmt: skip
        refused = run(*command, absent)
        assert (refused.code, f"{absent} cannot be read" in refused.err) == (2, True)
        refused = run(*command, broken)
        assert (refused.code, f"{broken}: not valid TOML" in refused.err) == (2, True)


def test_wrong_arguments_about_the_past_are_refused(stream: Live, run: Run) -> None:
    path = stream.configure()
    wrong = {
        ("stream", "--dry-run"): "--dry-run is for a replay of past events: add --from",
        ("stream", "--from", "{}"): "a replay sends no notifications: add --dry-run",
        ("stream", "--from", "0", "--dry-run"): "'0' is not a set of offsets: write",
        ("stream", "--from", '{"x": {"0": 0}}', "--dry-run"): "'x' is not in [events] topics",
        ("stream", "--from", f'{{"{stream.events}": {{"7": 0}}}}', "--dry-run"): "no partition 7",
        ("explain", "--event-offset", "7", "--subscription", "x"): "'7' is not an event ref",
        (
            "explain",
            "--event-offset",
            "x-0-0",
            "--subscription",
            "x",
        ): "no decision of a stream",
        ("status", "--once"): "has no status file of a stream: start `covey stream",
    }
    for words, expected in wrong.items():
        refused = run(*words, path)
        assert refused.code == 2
        assert expected in refused.err.replace("\n", " ")


def fill(value: Any, known: dict[str, int]) -> Any:
    """Return a setting with its ports filled in."""
    if value == "{taken}":
        return known["taken"]
    return value.format(**known) if isinstance(value, str) else value
