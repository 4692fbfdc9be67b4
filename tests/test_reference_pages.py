"""Reference pages list every key, metric, parameter, command and message."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import json
import re
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from tests.blocks import Block, blocks

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"


def read_rows(page: str, section: str) -> dict[str, list[str]]:
    """Return the tables of a section: the other cells of each row, by the name in its first."""
    text = (DOCS / page).read_text(encoding="utf-8")
    _, heading, rest = text.partition(f"\n## {section}\n")
    assert heading, f"{page} has no section {section!r}"
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", rest.partition("\n## ")[0], re.MULTILINE)
    return {name: [cell.strip() for cell in cells.split("|")] for name, cells in rows}


def section_classes() -> dict[str, Any]:
    pytest.importorskip("pyspark")
    from covey.stream.config import StreamConfig

    return get_type_hints(StreamConfig)


@pytest.mark.parametrize(
    "section",
    ["kafka", "events", "subscriptions", "notifications", "dead_letters", "state", "spark",
     "metrics", "limits"],
)  # fmt: skip
def test_the_configuration_page_has_every_key_with_its_default(section: str) -> None:
    rows = read_rows("reference/configuration.md", f"[{section}]")
    fields = {field_.name: field_ for field_ in dataclasses.fields(section_classes()[section])}
    assert list(rows) == list(fields)
    for name, field in fields.items():
        assert rows[name][1].strip("`") == format_default(field), name


def test_the_configuration_page_has_every_section() -> None:
    text = (DOCS / "reference" / "configuration.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## \[(\w+)\]$", text, re.MULTILINE)
    assert sorted(sections) == sorted(section_classes())


def format_default(field: dataclasses.Field[Any]) -> str:
    """Return a default as the page writes it."""
    if field.default_factory is not dataclasses.MISSING:
        return json.dumps(field.default_factory())
    if field.default is dataclasses.MISSING:
        return "required"
    return "none" if field.default is None else json.dumps(field.default)


def test_the_metrics_page_has_every_field_of_a_batch() -> None:
    pytest.importorskip("pyspark")
    from covey.stream.metrics.batch_metrics import BatchMetrics

    names = [field_.name for field_ in dataclasses.fields(BatchMetrics)]
    assert list(read_rows("reference/metrics.md", "A batch")) == names


def test_the_metrics_page_has_every_metric_of_prometheus() -> None:
    pytest.importorskip("prometheus_client")
    pytest.importorskip("pyspark")
    from covey.stream.config import MetricsConfig
    from covey.stream.metrics.status import StatusReporter

    reporter = StatusReporter(None, MetricsConfig())
    exposed = {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in reporter._registry.collect()
    }
    assert set(read_rows("reference/metrics.md", "Prometheus")) == exposed


def test_the_matcher_page_has_every_parameter() -> None:
    pytest.importorskip("pyspark")
    from covey.spark import Matcher

    text = (DOCS / "reference" / "matcher.md").read_text(encoding="utf-8")
    table = text.partition("\n## Parameters\n")[2].partition("\n## ")[0]
    named = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (.*?) \|", table, re.MULTILINE))))
    assert named == set(inspect.signature(Matcher).parameters)


def test_the_command_line_page_has_every_command_and_option() -> None:
    pytest.importorskip("pyspark")
    typer = pytest.importorskip("typer")
    from covey.cli import app

    text = (DOCS / "reference" / "cli.md").read_text(encoding="utf-8")
    command = typer.main.get_command(app)
    for name, field_ in command.commands.items():
        if field_.hidden:
            continue
        assert f"covey {name}" in text
        for part in getattr(field_, "commands", {"": field_}).values():
            options = {text for param in part.params for text in param.opts if text[:2] == "--"}
            missing = {option for option in options - {"--help"} if f"`{option}" not in text}
            assert not missing, (name, part.name)


def messages() -> list[Block]:
    page = DOCS / "troubleshooting.md"
    return [block for block in blocks(page) if block.info == "text message"]


@pytest.mark.parametrize("block", messages(), ids=lambda block: block.text[:40])
def test_a_message_of_the_troubleshooting_page_is_in_the_sources(block: Block) -> None:
    parts = [part.strip() for part in block.text.split("…") if part.strip()]
    assert any(all(part in text for part in parts) for text in source_texts())


def test_the_troubleshooting_page_shows_messages() -> None:
    assert len(messages()) >= 15


@cache
def source_texts() -> tuple[str, ...]:
    """Return every text in the sources, without the expressions in f-strings."""
    return tuple(
        text
        for path in sorted((ROOT / "src").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if (text := read_text(node))
    )


def read_text(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values
        )
    return ""
