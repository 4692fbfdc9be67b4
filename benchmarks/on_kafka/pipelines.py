"""The two pipelines and their configuration: the same kind of file, and separate topics.

The names of their topics have equal lengths, because names are part of the messages.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.on_kafka import boxes, spark_conf
from benchmarks.on_kafka.processes import Process

__all__ = ["BARE", "COVEY", "Pipeline", "Sections", "configured"]

Sections = Mapping[str, Mapping[str, object]]
"""A configuration, by the names of its sections and keys."""

BARE, COVEY = "bare", "covey"
_COMMANDS = {
    BARE: ["-m", "benchmarks.on_kafka.bare"],
    COVEY: ["-c", "from covey.cli import app; app()", "stream"],
}
_SCHEMA = ", ".join(f"{name} DOUBLE" for name in boxes.NAMES)


@dataclass(frozen=True, slots=True)
class Pipeline:
    """One pipeline with a folder for its configuration, log and state."""

    name: str
    servers: str
    control: str
    folder: Path
    jars: Path

    @property
    def events(self) -> str:
        """Topic of events."""
        return f"ads-{self.name[0]}"

    @property
    def notifications(self) -> str:
        """Topic of notifications."""
        return f"found-{self.name[0]}"

    @property
    def dead_letters(self) -> str:
        """Topic of dead letters."""
        return f"dead-{self.name[0]}"

    @property
    def topics(self) -> tuple[str, str, str]:
        """All topics except the control topic."""
        return self.events, self.notifications, self.dead_letters

    @property
    def state(self) -> Path:
        """Folder of the state."""
        return self.folder / "state"

    def process(self) -> Process:
        """Return the process of the pipeline, not started; it continues from its state."""
        return configured(self.name, self._sections(), self.folder)

    def forget(self) -> None:
        """Remove the state of the pipeline."""
        shutil.rmtree(self.state, ignore_errors=True)

    def _sections(self) -> Sections:
        return {
            "kafka": {"servers": self.servers, "spark_options": spark_conf.CLIENTS},
            "events": {
                "topics": [self.events],
                "schema": _SCHEMA,
                "starting_offsets": "earliest",
                "max_events_per_batch": spark_conf.PER_BATCH,
                "trigger_interval_ms": spark_conf.EVERY_MS,
            },
            "subscriptions": {"topic": self.control},
            "notifications": {"topic": self.notifications},
            "dead_letters": {"topic": self.dead_letters},
            "state": {"path": str(self.state), "retention_s": spark_conf.RETENTION_S},
            "spark": {
                "master": spark_conf.MASTER,
                "jars": str(self.jars / "*.jar"),
                "conf": spark_conf.CONF,
            },
        }


def configured(name: str, sections: Sections, folder: Path) -> Process:
    """Write the configuration of a pipeline into a folder, and return its process, not started."""
    folder.mkdir(parents=True, exist_ok=True)
    config = folder / "config.toml"
    text = "\n".join(_section(section, fields) for section, fields in sections.items())
    config.write_text(text, encoding="utf-8")
    return Process([sys.executable, *_COMMANDS[name], str(config)], folder / "log")


def _section(name: str, fields: Mapping[str, object]) -> str:
    lines = [f"{key} = {_toml(value)}" for key, value in fields.items()]
    return "\n".join([f"[{name}]", *lines, ""])


def _toml(value: object) -> str:
    """Return a value as TOML, in which texts, numbers and lists are written as in JSON.

    >>> _toml({"a.b": "c", "d": "e"})
    '{ "a.b" = "c", "d" = "e" }'
    """
    if not isinstance(value, dict):
        return json.dumps(value)
    return "{ " + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + " }"
