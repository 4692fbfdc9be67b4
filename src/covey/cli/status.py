"""`covey status`: what a running stream does, live in the terminal."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from covey.cli.failures import reported
from covey.errors import ValueRefused

__all__ = ["status"]

_BARS = "▁▂▃▄▅▆▇█"
_ROWS = 10
_STALE_S = 30.0
_NARROW = 100  # characters, in which not all columns have room
_LEFT_OUT = ("version", "errors", "in_vain", "segments")


def status(
    config: Annotated[Path, typer.Argument(help="The TOML file of `covey stream`.")],
    once: Annotated[bool, typer.Option("--once", help="Show it once, do not follow.")] = False,
) -> None:
    """Show what a stream does: batches, delays, changes, version."""
    with reported():
        from covey.stream.config import Config
        from covey.stream.status import read_status

        folder = Config.read(config).state.path

        console = Console()

        def shown() -> Group:
            saved = read_status(folder)
            if saved is None:
                raise ValueRefused(
                    f"{folder} says nothing of a stream: has `covey stream {config}` decided a "
                    "batch yet?"
                )
            return picture(saved, time.time(), console.width)

        if once:
            console.print(shown())
            return
        with Live(shown(), console=console, refresh_per_second=2, screen=False) as live:
            while True:
                time.sleep(0.5)
                live.update(shown())


def picture(saved: Mapping[str, Any], now: float, width: int) -> Group:
    """What a stream last said, as people read it on so many characters."""
    batches = saved["batches"]
    if not batches:
        return Group(_head(saved, now), Text("no batch yet"))
    delays = [one["delay_mean_ms"] for one in batches]
    rates = [_rate(one) for one in batches]
    return Group(
        _head(saved, now),
        _line("events per second", rates, "{:,.0f}"),
        _line("mean delay in ms", delays, "{:,.0f}"),
        _table(batches[-_ROWS:], width),
    )


def _head(saved: Mapping[str, Any], now: float) -> Text:
    totals, silent = saved["totals"], now - saved["written_ms"] / 1000
    if not saved["is_running"]:
        state = "stopped"
    else:
        state = "running" if silent < _STALE_S else f"silent for {silent:,.0f} s: is it gone?"
    since = (saved["written_ms"] - saved["started_ms"]) / 1000
    counted = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in totals.items())
    return Text(f"process {saved['process']}, {state}; in {since:,.0f} s: {counted}")


def _line(name: str, values: Sequence[float], form: str) -> Text:
    top = max(max(values), 1e-9)
    bars = "".join(_BARS[max(0, min(7, int(8 * value / top)))] for value in values)
    return Text(f"{name:>18} {bars} {form.format(values[-1])} (most {form.format(top)})")


def _rate(batch: Mapping[str, Any]) -> float:
    seconds = batch["match_ms"] / 1000  # in which it is decided, too
    return batch["events"] / seconds if seconds else 0.0


def _table(batches: Sequence[Mapping[str, Any]], width: int) -> Table:
    columns = {
        "batch": "batch", "version": "version", "events": "events",
        "notifications": "notified", "dead_letters": "dead", "errors": "errors",
        "in_vain": "in vain", "changes": "changes", "oldest_change_ms": "oldest ms",
        "subscriptions": "subscribed", "segments": "segments", "recent_share": "recent",
        "delay_max_ms": "delay ms",
    }  # fmt: skip
    if width < _NARROW:
        columns = {key: name for key, name in columns.items() if key not in _LEFT_OUT}
    table = Table(box=None, header_style="bold", padding=(0, 1, 0, 0))
    for name in columns.values():
        table.add_column(name, justify="right")
    for one in batches:
        table.add_row(*(_cell(one[key]) for key in columns))
    return table


def _cell(value: Any) -> str:
    if value is None:
        return "?"
    return f"{value:.1%}" if isinstance(value, float) and value <= 1 else f"{value:,.0f}"
