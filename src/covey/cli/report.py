"""What `covey doctor` prints: for people the first findings of each kind, for programs all."""

from __future__ import annotations

import json

from pyspark.sql import Row
from rich.console import Console

from covey.cli.examination import Diagnosis
from covey.cli.findings import ADVICE
from covey.cli.mistakes import mistake, plain

__all__ = ["print_json", "print_report"]


def print_report(console: Console, diagnosis: Diagnosis, limit: int) -> None:
    """Prints how much of each kind there is, what to do, and the first few."""
    counts = diagnosis.counts
    total = sum(counts.values())
    found = "1 finding" if total == 1 else f"{total:,} findings" if total else "no findings"
    console.print(
        f"{found} in {diagnosis.subscriptions:,} subscriptions, tried on {diagnosis.tried}",
        highlight=False,
    )
    for kind, (what, advice) in ADVICE.items():
        if kind not in counts:
            continue
        console.print(f"\n[bold]{what}[/bold] ({counts[kind]:,}): {advice}", highlight=False)
        some = diagnosis.found.where(f"kind = '{kind}'").orderBy("id").limit(limit).collect()
        for row in some:
            console.print(_indented(row), soft_wrap=True, highlight=False, markup=False)
        if counts[kind] > limit:
            console.print(f"  … and {counts[kind] - limit:,} more", highlight=False)


def print_json(diagnosis: Diagnosis) -> None:
    """Prints every finding as a JSON object on a line of its own, by kind and id."""
    for row in diagnosis.found.orderBy("kind", "id").toLocalIterator():
        fields = row.asDict() | {"id": plain(row["id"]), "advice": ADVICE[row["kind"]][1]}
        print(json.dumps({name: value for name, value in fields.items() if value is not None}))


def _indented(row: Row) -> str:
    said = mistake(row["id"], row["predicate"], row["problem"], row["line"], row["column"])
    return "\n".join(f"  {line}" for line in said.splitlines())
