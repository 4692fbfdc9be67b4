"""The summary of `covey reduce`, for people."""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table

from covey.cli.console_format import format_percent, make_grid
from covey.cli.reduce.output_folder import OutputFolder
from covey.cli.reduce.report import ReductionReport
from covey.covering import ReductionSummary

__all__ = ["print_summary"]


def print_summary(
    console: Console,
    report: ReductionReport,
    seconds_by_step: Mapping[str, float],
    output_folder: OutputFolder,
    *,
    has_plot: bool,
) -> None:
    """Print what each step removed, the owners with most redundant subscriptions, and the times."""
    console.print(f"{report.headline}\n", soft_wrap=True, highlight=False)
    console.print(_make_steps_table(report.summary))
    rest = _make_details_table(report)
    if rest.row_count:
        console.print()
        console.print(rest)
    report.rejections.print_groups(console)
    console.print()
    console.print(_make_times_table(seconds_by_step, report.seconds_by_step))
    written = f"\nwritten to {output_folder.path}"
    if has_plot and output_folder.plot_path is not None:
        written += f", the picture to {output_folder.plot_path}"
    console.print(written, soft_wrap=True, highlight=False)


def _make_steps_table(summary: ReductionSummary) -> Table:
    """Return a table of the numbers of regions that each step removed, and that remained."""
    table = make_grid(number_columns=2)
    table.add_row("regions", f"{summary.regions:,}", "", "")
    for name, count, said in (
        ("equal", summary.equal, "to another"),
        ("covered", summary.covered, "by another"),
        ("subsumed", summary.subsumed, "by the union of several"),
    ):
        table.add_row(
            f"  {name}", _format_removed(count), format_percent(count, summary.regions), said
        )
    undecided = f"{summary.undecided:,} of them undecided" if summary.undecided else ""
    table.add_row(
        "active", f"{summary.active:,}", format_percent(summary.active, summary.regions), undecided
    )
    for name, count, said in (
        ("perfect merges", summary.perfectly_merged, "that add nothing"),
        ("imperfect merges", summary.imperfectly_merged, "within what may be added"),
    ):
        table.add_row(
            f"  {name}", _format_removed(count), format_percent(count, summary.regions), said
        )
    table.add_row(
        "filters", f"{summary.filters:,}", format_percent(summary.filters, summary.regions), ""
    )
    return table


def _make_details_table(report: ReductionReport) -> Table:
    s, table = report.summary, make_grid()
    if s.sampled_events:
        of_all = format_percent(s.false_forwards, s.sampled_events)
        of_forwarded = format_percent(s.false_forwards, s.matched_events + s.false_forwards)
        said = (
            f"{of_all} of {s.sampled_events:,} events, {of_forwarded} of those that filters forward"
        )
        table.add_row("false forwards", f"{s.false_forwards:,}", said)
    for n, (owner, counts) in enumerate(report.most_redundant_owners.items()):
        total = sum(counts.values())
        redundant = total - counts["active"]
        said = f"of {total:,} of {owner} ({format_percent(redundant, total)})"
        table.add_row("" if n else "most redundant", f"{redundant:,}", said)
    for row in report.rejections.to_table_rows():
        table.add_row(*row)
    return table


def _make_times_table(
    seconds_by_step: Mapping[str, float], reduce_seconds: Mapping[str, float]
) -> Table:
    table = make_grid()
    table.add_row("seconds", f"{sum(seconds_by_step.values()):.1f}", "")
    for name, spent in seconds_by_step.items():
        table.add_row(f"  {name}", f"{spent:.1f}", "")
        for part, some in reduce_seconds.items() if name == "reduce" else ():
            if part != "total":
                table.add_row(f"    {part}", f"{some:.1f}", "")
    return table


def _format_removed(count: int) -> str:
    return f"−{count:,}" if count else "0"
