"""What `covey doctor` prints: for people the first findings of each kind, for programs all."""

from __future__ import annotations

import json

from pyspark.sql import Row
from rich.console import Console
from rich.text import Text

from covey.cli.console_format import to_row_limit
from covey.cli.doctor.checks import ADVICE_BY_KIND
from covey.cli.doctor.job import DoctorReport
from covey.cli.rejections import format_rejection, to_plain_id

__all__ = ["print_json", "print_summary"]


def print_summary(console: Console, report: DoctorReport, max_per_kind: int) -> None:
    """Prints how much of each kind there is, what to do, and the first few."""
    counts = report.counts_by_kind
    total = sum(counts.values())
    found = "1 finding" if total == 1 else f"{total:,} findings" if total else "no findings"
    console.print(
        f"{found} in {report.subscription_count:,} subscriptions, "
        f"tried on {report.event_sample_text}",
        highlight=False,
    )
    for kind, (what, advice) in ADVICE_BY_KIND.items():
        if kind not in counts:
            continue
        console.print(
            Text.assemble("\n", (what, "bold"), f" ({counts[kind]:,}): {advice}"), highlight=False
        )
        kept = report.findings.where(f"kind = '{kind}'").orderBy("id")
        some = kept.limit(to_row_limit(max_per_kind)).collect()
        for row in some:
            console.print(_format_finding(row), soft_wrap=True, highlight=False)
        if counts[kind] > max_per_kind:
            console.print(f"  … and {counts[kind] - max_per_kind:,} more", highlight=False)


def print_json(report: DoctorReport) -> None:
    """Prints every finding as a JSON object on a line of its own, by kind and id."""
    for row in report.findings.orderBy("kind", "id").toLocalIterator():
        fields = row.asDict() | {
            "id": to_plain_id(row["id"]),
            "advice": ADVICE_BY_KIND[row["kind"]][1],
        }
        print(json.dumps({name: value for name, value in fields.items() if value is not None}))


def _format_finding(row: Row) -> str:
    said = format_rejection(row["id"], row["predicate"], row["problem"], row["line"], row["column"])
    return "\n".join(f"  {line}" for line in said.splitlines())
