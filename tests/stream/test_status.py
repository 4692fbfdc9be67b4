"""The status of a stream: in its file, for Prometheus, in its log, and on a terminal."""

from __future__ import annotations

import json
import logging
import os
import socket
import urllib.request
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from covey.cli.stream.status import render_status
from covey.errors import InvalidArgumentError
from covey.stream.config import MetricsConfig
from covey.stream.metrics import status as module
from covey.stream.metrics.batch_metrics import BatchMetrics
from covey.stream.metrics.status import STATUS_FILE, StatusReporter, read_status

BATCH = BatchMetrics(
    batch=7,
    version=12,
    completed_ms=1_794_781_372_766,
    events=1000,
    notifications=40,
    dead_letters=3,
    errors=9,
    false_candidates=5,
    changes=6,
    ignored_changes=1,
    unreadable_changes=2,
    oldest_change_age_ms=80,
    subscriptions=1_234_567,
    segments=4,
    recent_share=0.125,
    delay_mean_ms=420.5,
    delay_max_ms=900,
    decide_ms=100.0,
    match_ms=400.0,
)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every batch write the status file, without the usual interval."""
    monkeypatch.setattr(module, "_WRITE_INTERVAL_S", 0.0)


def show_status(folder: Path, now: float | None = None, width: int = 200) -> str:
    """Return the status as a terminal shows it."""
    saved = read_status(str(folder))
    assert saved is not None
    console = Console(width=width, color_system=None)
    with console.capture() as captured:
        console.print(
            render_status(saved, saved["written_ms"] / 1000 if now is None else now, width)
        )
    return captured.get()


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@pytest.mark.usefixtures("at_once")
def test_the_file_has_the_last_batches_and_all_totals(tmp_path: Path) -> None:
    status = StatusReporter(tmp_path, MetricsConfig())
    assert read_status(str(tmp_path)) is None
    for number in range(70):
        status.report_batch(replace(BATCH, batch=number, notifications=None if number == 3 else 40))
    saved = read_status(str(tmp_path))
    assert saved is not None
    assert [one["batch"] for one in saved["batches"]] == list(range(10, 70))
    assert saved["totals"] == {
        "events": 70_000, "notifications": 2760, "dead_letters": 210, "errors": 630,
        "false_candidates": 350, "changes": 420, "ignored_changes": 70, "unreadable_changes": 140,
    }  # fmt: skip
    assert (saved["is_running"], saved["process"]) == (True, os.getpid())
    assert saved["started_ms"] <= saved["written_ms"]
    assert [one.name for one in tmp_path.glob("*")] == [STATUS_FILE]


def test_the_last_status_is_always_written(tmp_path: Path) -> None:
    status = StatusReporter(tmp_path, MetricsConfig())
    for number in range(3):
        status.report_batch(replace(BATCH, batch=number))
    status.write_file(is_last=True)
    saved = read_status(str(tmp_path))
    assert saved is not None
    assert (saved["is_running"], saved["totals"]["events"]) == (False, 3000)
    assert len(saved["batches"]) == 3


def test_a_remote_folder_has_no_status_file() -> None:
    status = StatusReporter(None, MetricsConfig())
    status.report_batch(BATCH)
    status.write_file(is_last=True)


@pytest.mark.parametrize("content", [None, b"", b"{", b"\xff"])
def test_a_missing_or_damaged_status_file_is_no_error(
    tmp_path: Path, content: bytes | None
) -> None:
    if content is not None:
        (tmp_path / STATUS_FILE).write_bytes(content)
    assert read_status(str(tmp_path)) is None


def test_prometheus_gets_the_same_metrics() -> None:
    port = free_port()
    status = StatusReporter(None, MetricsConfig(port))
    status.start_prometheus()
    status.report_batch(BATCH)
    status.report_batch(replace(BATCH, batch=8, dead_letters=None, recent_share=0.5))
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        lines = answer.read().decode().splitlines()
    for line in (
        "covey_events_total 2000.0", "covey_notifications_total 80.0",
        "covey_dead_letters_total 3.0", "covey_errors_total 18.0",
        "covey_false_candidates_total 10.0", "covey_changes_total 12.0",
        "covey_ignored_changes_total 2.0", "covey_unreadable_changes_total 4.0", "covey_batch 8.0",
        "covey_version 12.0", "covey_subscriptions 1.234567e+06", "covey_segments 4.0",
        "covey_recent_share 0.5", "covey_oldest_change_age_ms 80.0",
        "covey_delay_seconds_sum 0.841", "covey_delay_seconds_count 2.0",
        'covey_delay_seconds_bucket{le="0.3"} 0.0',
        'covey_delay_seconds_bucket{le="0.5"} 2.0',
    ):  # fmt: skip
        assert line in lines


def test_a_port_in_use_is_reported() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            InvalidArgumentError, match=rf"'127.0.0.1', port {port} cannot be used: Address"
        ):
            StatusReporter(None, MetricsConfig(port)).start_prometheus()


def test_each_batch_is_a_line_of_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "covey.stream.metrics.status"):
        StatusReporter(None, MetricsConfig()).report_batch(BATCH)
    (record,) = caplog.records
    assert (record.getMessage(), record.__dict__["events"]) == ("batch", 1000)


@pytest.mark.usefixtures("at_once")
def test_the_terminal_shows_batches_rates_and_delays(tmp_path: Path) -> None:
    status = StatusReporter(tmp_path, MetricsConfig())
    for number in range(12):
        status.report_batch(
            replace(BATCH, batch=number, events=100 * number, false_candidates=None)
        )
    said = show_status(tmp_path)
    first, rates, delays, header, *rows = said.splitlines()
    assert first.startswith(
        f"process {os.getpid()}, running; in 0 s: 6,600 events, 480 notificatio"
    )
    assert "events per second ▁▁▂▃▃▄▅▆▆▇██ 2,750 (max 2,750)" in rates
    assert "mean delay in ms ████████████ 420 (max 420)" in delays
    assert header.split()[:3] == ["batch", "version", "events"]
    assert len(rows) == 10
    assert rows[-1].split() == [
        "11", "12", "1,100", "40", "3", "9", "?", "6", "80", "1,234,567", "4", "12.5%", "900",
    ]  # fmt: skip


@pytest.mark.usefixtures("at_once")
def test_a_narrow_terminal_shows_fewer_but_complete_columns(tmp_path: Path) -> None:
    status = StatusReporter(tmp_path, MetricsConfig())
    large = {"events": 100_000, "notifications": 1_073_899, "delay_max_ms": 219_571}
    status.report_batch(
        replace(BATCH, batch=123_456, changes=12_345, oldest_change_age_ms=3_984, **large)
    )
    *_, header, row = show_status(tmp_path, width=80).splitlines()
    assert header.split() == [
        "batch", "events", "notified", "dead", "changes", "oldest", "ms", "subscribed", "recent",
        "delay", "ms",
    ]  # fmt: skip
    assert row.split() == [
        "123,456", "100,000", "1,073,899", "3", "12,345", "3,984", "1,234,567", "12.5%", "219,571",
    ]  # fmt: skip


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("delays", [(-5.0, -3.0), (-5.0, 100.0), (0.0, 0.0)])
def test_delays_may_be_negative_if_clocks_differ(
    tmp_path: Path, delays: tuple[float, float]
) -> None:
    status = StatusReporter(tmp_path, MetricsConfig())
    for delay in delays:
        status.report_batch(replace(BATCH, delay_mean_ms=delay))
    bars = "▁█" if delays[1] > 0 else "▁▁"
    assert f"mean delay in ms {bars} {delays[1]:,.0f} " in show_status(tmp_path)


@pytest.mark.usefixtures("at_once")
def test_the_terminal_shows_if_the_stream_is_running(tmp_path: Path) -> None:
    status = StatusReporter(tmp_path, MetricsConfig())
    status.report_batch(BATCH)
    saved = read_status(str(tmp_path))
    assert saved is not None
    now = saved["written_ms"] / 1000
    assert ", running;" in show_status(tmp_path, now + 29)
    assert ", silent for 31 s: has it ended?;" in show_status(tmp_path, now + 31)
    status.write_file(is_last=True)
    assert ", stopped;" in show_status(tmp_path, now + 500)


def test_a_stream_without_a_batch_is_shown(tmp_path: Path) -> None:
    StatusReporter(tmp_path, MetricsConfig()).write_file()
    assert "no batch yet" in show_status(tmp_path)


def test_the_status_file_is_json(tmp_path: Path) -> None:
    StatusReporter(tmp_path, MetricsConfig()).report_batch(BATCH)
    assert json.loads((tmp_path / STATUS_FILE).read_bytes())["batches"][0]["false_candidates"] == 5
