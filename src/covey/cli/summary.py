"""The summary of `covey match`, for people."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from covey.cli.figures import Figures
from covey.cli.grid import grid
from covey.cli.mistakes import plain
from covey.cli.numbers import share

__all__ = ["show"]


def show(console: Console, found: Figures, seconds: Mapping[str, float], out: str) -> None:
    """Prints what matched, what did not, where the time went, and where the matches are."""
    console.print(_counts(found))
    found.rejected.show(console)
    console.print()
    console.print(_times(seconds, found.fit_seconds))
    console.print(f"\nwritten to {out}", soft_wrap=True, highlight=False, markup=False)


def _counts(found: Figures) -> Table:
    table = grid()
    nothing = share(found.unmatched, found.events)
    table.add_row("events", f"{found.events:,}", f"{found.unmatched:,} match nothing ({nothing})")
    mean = found.matches / max(1, found.events)
    per_event = f"mean {mean:,.2f}, median {found.median:,}, p99 {found.p99:,}, max {found.most:,}"
    table.add_row("matches", f"{found.matches:,}", f"per event: {per_event}")
    never = found.subscriptions - found.matched
    never_share = share(never, found.subscriptions)
    table.add_row(
        "subscriptions", f"{found.subscriptions:,}", f"{never:,} never matched ({never_share})"
    )
    for n, (id_, count) in enumerate(found.busiest):
        of_events = f"{plain(id_)} ({share(count, found.events)} of events)"
        table.add_row("" if n else "the busiest", f"{count:,}", of_events)
    for row in found.rejected.rows():
        table.add_row(*row)
    return table


def _times(seconds: Mapping[str, float], fit: Mapping[str, float]) -> Table:
    table = grid()
    table.add_row("seconds", f"{sum(seconds.values()):.1f}", "")
    parts = ", ".join(f"{part} {spent:.1f}" for part, spent in fit.items() if part != "total")
    for name, spent in seconds.items():
        table.add_row(f"  {name}", f"{spent:.1f}", parts if name == "fit" else "")
    return table
