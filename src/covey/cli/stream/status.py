"""`covey status`: batches, delays and totals of a running stream, live in the terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from covey._types import JsonValue
from covey.cli.console_format import make_console
from covey.cli.errors import exit_on_error
from covey.cli.next_step import print_next_step
from covey.errors import InvalidArgumentError

__all__ = ["status"]

_SPARKLINE_BARS = "▁▂▃▄▅▆▇█"
_MAX_ROWS = 10
_STALE_S = 30.0
_NARROW_WIDTH = 100  # characters; below that, some columns are left out
_WIDE_ONLY_COLUMNS = ("version", "errors", "false_candidates", "segments")


def status(
    config: Annotated[Path, typer.Argument(metavar="CONFIG", help="TOML file of the stream.")],
    once: Annotated[bool, typer.Option("--once", help="Print the status once, and end.")] = False,
) -> None:
    """Show batches, delays, changes and totals of a stream, as they happen.

    Example: covey status alerts.toml --once
    """
    with exit_on_error():
        from covey.stream.config import StreamConfig
        from covey.stream.metrics import read_status

        folder = StreamConfig.from_file(config).state.path

        console = make_console()

        def shown() -> Group:
            saved = read_status(folder)
            if saved is None:
                raise InvalidArgumentError(
                    f"{folder} has no status file of a stream: start `covey stream {config}`, and "
                    "wait until it is ready"
                )
            return render_status(saved, time.time(), console.width)

        if once:
            console.print(shown())
            print_next_step(f"covey status {config}   # watch the stream")
            return
        with Live(shown(), console=console, refresh_per_second=2, screen=False) as live:
            while True:
                time.sleep(0.5)
                live.update(shown())


def render_status(status_record: Mapping[str, JsonValue], now_s: float, width: int) -> Group:
    """Return the content of a status file in a form for a terminal.

    Args:
        status_record: the content of the status file.
        now_s: the current time, in seconds since 1970.
        width: number of characters in a line of the terminal.
    """
    fields: Mapping[str, Any] = status_record
    batches = fields["batches"]
    if not batches:
        return Group(_render_heading(fields, now_s), Text("no batch yet"))
    delays = [one["delay_mean_ms"] for one in batches]
    rates = [_events_per_second(one) for one in batches]
    return Group(
        _render_heading(fields, now_s),
        _render_sparkline("events per second", rates, "{:,.0f}"),
        _render_sparkline("mean delay in ms", delays, "{:,.0f}"),
        _make_batches_table(batches[-_MAX_ROWS:], width),
    )


def _render_heading(status_record: Mapping[str, Any], now_s: float) -> Text:
    totals, silent = status_record["totals"], now_s - status_record["written_ms"] / 1000
    if not status_record["is_running"]:
        state = "stopped"
    else:
        state = "running" if silent < _STALE_S else f"silent for {silent:,.0f} s: has it ended?"
    since = (status_record["written_ms"] - status_record["started_ms"]) / 1000
    counted = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in totals.items())
    return Text(f"process {status_record['process']}, {state}; in {since:,.0f} s: {counted}")


def _render_sparkline(name: str, values: Sequence[float], number_format: str) -> Text:
    top = max(max(values), 1e-9)
    bars = "".join(_SPARKLINE_BARS[max(0, min(7, int(8 * value / top)))] for value in values)
    return Text(
        f"{name:>18} {bars} {number_format.format(values[-1])} (max {number_format.format(top)})"
    )


def _events_per_second(batch: Mapping[str, Any]) -> float:
    seconds = batch["match_ms"] / 1000  # with the time of the decision
    return batch["events"] / seconds if seconds else 0.0


def _make_batches_table(batches: Sequence[Mapping[str, Any]], width: int) -> Table:
    columns = {
        "batch": "batch", "version": "version", "events": "events",
        "notifications": "notified", "dead_letters": "dead", "errors": "errors",
        "false_candidates": "rejected", "changes": "changes", "oldest_change_age_ms": "oldest ms",
        "subscriptions": "subscribed", "segments": "segments", "recent_share": "recent",
        "delay_max_ms": "delay ms",
    }  # fmt: skip
    if width < _NARROW_WIDTH:
        columns = {key: name for key, name in columns.items() if key not in _WIDE_ONLY_COLUMNS}
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 0))
    for name in columns.values():
        table.add_column(name, justify="right")
    for one in batches:
        table.add_row(*(_format_cell(one[key]) for key in columns))
    return table


def _format_cell(value: Any) -> str:
    if value is None:
        return "?"
    return f"{value:.1%}" if isinstance(value, float) and value <= 1 else f"{value:,.0f}"
