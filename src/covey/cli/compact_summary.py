"""The summary of `covey compact`, for people."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from covey.cli.compact_counts import Counts
from covey.cli.compact_folder import Folder
from covey.cli.grid import grid
from covey.cli.numbers import share
from covey.compact import Summary

__all__ = ["show"]


def show(
    console: Console, found: Counts, seconds: Mapping[str, float], folder: Folder, is_drawn: bool
) -> None:
    """Prints what was removed by which step, who has most of it, and where the time went."""
    console.print(f"{found.line}\n", soft_wrap=True, highlight=False)
    console.print(_steps(found.summary))
    rest = _rest(found)
    if rest.row_count:
        console.print()
        console.print(rest)
    found.rejected.show(console)
    console.print()
    console.print(_times(seconds, found.seconds))
    written = f"\nwritten to {folder.path}"
    if is_drawn and folder.picture is not None:
        written += f", the picture to {folder.picture}"
    console.print(written, soft_wrap=True, highlight=False, markup=False)


def _steps(s: Summary) -> Table:
    """What each step removed of all regions, and what was left."""
    table = grid(numbers=2)
    table.add_row("regions", f"{s.regions:,}", "", "")
    for name, count, said in (
        ("equal", s.equal, "to another"),
        ("covered", s.covered, "by another"),
        ("subsumed", s.subsumed, "by the union of several"),
    ):
        table.add_row(f"  {name}", _less(count), share(count, s.regions), said)
    undecided = f"{s.undecided:,} of them undecided" if s.undecided else ""
    table.add_row("active", f"{s.active:,}", share(s.active, s.regions), undecided)
    for name, count, said in (
        ("perfect merges", s.perfectly_merged, "that add nothing"),
        ("imperfect merges", s.imperfectly_merged, "within what may be added"),
    ):
        table.add_row(f"  {name}", _less(count), share(count, s.regions), said)
    table.add_row("filters", f"{s.filters:,}", share(s.filters, s.regions), "")
    return table


def _rest(found: Counts) -> Table:
    s, table = found.summary, grid()
    if s.sampled:
        of_all = share(s.false_forwards, s.sampled)
        let_in = share(s.false_forwards, s.wanted + s.false_forwards)
        said = f"{of_all} of {s.sampled:,} events, {let_in} of what filters let in"
        table.add_row("false forwards", f"{s.false_forwards:,}", said)
    for n, (owner, counts) in enumerate(found.most_passive.items()):
        total = sum(counts.values())
        passive = total - counts["active"]
        said = f"of {total:,} of {owner} ({share(passive, total)})"
        table.add_row("" if n else "most passive", f"{passive:,}", said)
    for row in found.rejected.rows():
        table.add_row(*row)
    return table


def _times(seconds: Mapping[str, float], parts: Mapping[str, float]) -> Table:
    table = grid()
    table.add_row("seconds", f"{sum(seconds.values()):.1f}", "")
    for name, spent in seconds.items():
        table.add_row(f"  {name}", f"{spent:.1f}", "")
        for part, some in parts.items() if name == "compact" else ():
            if part != "total":
                table.add_row(f"    {part}", f"{some:.1f}", "")
    return table


def _less(count: int) -> str:
    return f"−{count:,}" if count else "0"
