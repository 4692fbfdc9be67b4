"""The summary of `covey match`, for people."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from covey.cli.console_format import format_percent, make_grid
from covey.cli.match.report import MatchReport
from covey.cli.rejections import to_plain_id

__all__ = ["print_summary"]


def print_summary(
    console: Console, report: MatchReport, seconds_by_step: Mapping[str, float], output_path: str
) -> None:
    """Print the counts, the time of each step, and the path of the matches."""
    console.print(_make_counts_table(report))
    report.rejections.print_groups(console)
    console.print()
    console.print(_make_times_table(seconds_by_step, report.fit_seconds))
    written = f"written to {output_path}"
    if not report.is_written:
        written = f"nothing was matched or written to {output_path}: all subscriptions are wrong"
    console.print(f"\n{written}", soft_wrap=True, highlight=False)


def _make_counts_table(report: MatchReport) -> Table:
    table = make_grid()
    if not report.is_written:
        for row in report.rejections.to_table_rows():
            table.add_row(*row)
        return table
    if report.is_cut:
        table.add_row("events", f"{report.events:,}", "some of them may not have been matched")
        table.add_row("matches", f"{report.matches:,}", "there may be more, because of --limit")
        table.add_row("subscriptions", f"{report.subscriptions:,}", "")
        for row in report.rejections.to_table_rows():
            table.add_row(*row)
        return table
    nothing = format_percent(report.unmatched_events, report.events)
    table.add_row(
        "events", f"{report.events:,}", f"{report.unmatched_events:,} match nothing ({nothing})"
    )
    mean = report.matches / max(1, report.events)
    per_event = (
        f"mean {mean:,.2f}, median {report.median_per_event:,}, "
        f"p99 {report.p99_per_event:,}, max {report.max_per_event:,}"
    )
    table.add_row("matches", f"{report.matches:,}", f"per event: {per_event}")
    never = report.subscriptions - report.matched_subscriptions
    never_share = format_percent(never, report.subscriptions)
    table.add_row(
        "subscriptions", f"{report.subscriptions:,}", f"{never:,} never matched ({never_share})"
    )
    for n, (id_, count) in enumerate(report.busiest_subscriptions):
        of_events = f"{to_plain_id(id_)} ({format_percent(count, report.events)} of events)"
        table.add_row("" if n else "the busiest", f"{count:,}", of_events)
    for row in report.rejections.to_table_rows():
        table.add_row(*row)
    return table


def _make_times_table(
    seconds_by_step: Mapping[str, float], fit_seconds: Mapping[str, float]
) -> Table:
    table = make_grid()
    table.add_row("seconds", f"{sum(seconds_by_step.values()):.1f}", "")
    parts = ", ".join(
        f"{part} {spent:.1f}" for part, spent in fit_seconds.items() if part != "total"
    )
    for name, spent in seconds_by_step.items():
        table.add_row(f"  {name}", f"{spent:.1f}", parts if name == "fit" else "")
    return table
