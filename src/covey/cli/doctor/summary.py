"""Output of `covey doctor`: the first findings of each kind, or all of them as JSON."""

from __future__ import annotations

import json
from collections import defaultdict

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F
from rich.console import Console
from rich.text import Text

from covey.cli.console_format import to_row_limit
from covey.cli.doctor.checks import CHECKS
from covey.cli.doctor.job import DoctorReport
from covey.cli.rejections import format_rejection, to_plain_id

__all__ = ["print_json", "print_summary"]


def print_summary(console: Console, report: DoctorReport, max_per_kind: int) -> None:
    """Print the number of findings of each kind, the advice for them, and the first findings."""
    counts = report.counts_by_kind
    problems, hints = report.problem_count, sum(counts.values()) - report.problem_count
    console.print(
        f"{_format_count(problems, 'problem')} and {_format_count(hints, 'hint')} in "
        f"{report.subscription_count:,} subscriptions, tried on {report.event_sample_text}",
        soft_wrap=True,
        highlight=False,
    )
    first = _collect_first_findings(report.findings, to_row_limit(max_per_kind))
    for kind, info in CHECKS.items():
        if kind not in counts:
            continue
        heading = Text.assemble("\n", (info.heading, "bold"), f" ({counts[kind]:,}): {info.advice}")
        console.print(heading, soft_wrap=True, highlight=False)
        for row in first[kind]:
            console.print(_format_finding(row), soft_wrap=True, highlight=False)
        if counts[kind] > max_per_kind:
            left = counts[kind] - max_per_kind
            more = f"  … and {left:,} more: --limit {counts[kind]} prints all"
            console.print(more, soft_wrap=True, highlight=False)


def print_json(report: DoctorReport) -> None:
    """Print each finding as a JSON object on its own line, in the order of kinds and ids."""
    for row in report.findings.orderBy("kind", "id").toLocalIterator():
        info = CHECKS[row["kind"]]
        fields = row.asDict() | {
            "id": to_plain_id(row["id"]),
            "severity": "problem" if info.is_problem else "hint",
            "advice": info.advice,
        }
        print(json.dumps({name: value for name, value in fields.items() if value is not None}))


def _collect_first_findings(findings: DataFrame, limit: int) -> defaultdict[str, list[Row]]:
    """Return the findings with the smallest ids, at most `limit` of each kind."""
    rank = F.row_number().over(Window.partitionBy("kind").orderBy("id"))
    first = defaultdict(list)
    for row in findings.withColumn("rank", rank).where(F.col("rank") <= limit).collect():
        first[row["kind"]].append(row)
    return first


def _format_count(count: int, noun: str) -> str:
    return f"1 {noun}" if count == 1 else f"{count:,} {noun}s" if count else f"no {noun}s"


def _format_finding(row: Row) -> str:
    said = format_rejection(row["id"], row["predicate"], row["problem"], row["line"], row["column"])
    return "\n".join(f"  {line}" for line in said.splitlines())
