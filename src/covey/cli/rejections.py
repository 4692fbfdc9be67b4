"""Subscriptions that a command leaves out because it cannot read them, grouped by reason."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Row
from pyspark.sql import functions as F
from rich.console import Console

from covey.errors import PredicateError
from covey.sql_names import quote_identifier

if TYPE_CHECKING:
    from covey.spark import MatcherModel

__all__ = ["RejectionGroup", "Rejections", "format_rejection", "to_plain_id"]

_MAX_GROUPS = 5


class RejectionGroup(NamedTuple):
    """Subscriptions rejected for one reason: their number, and the one with the smallest id.

    `example` is the subscription with the smallest id, as a row with the fields id, predicate,
    line, column and error.
    """

    size: int
    example: Row


@dataclass(frozen=True, slots=True)
class Rejections:
    """The number of rejected subscriptions and of reasons, and groups for at most five reasons.

    The groups are those of the most frequent reasons, in descending order of their sizes.
    """

    count: int
    reason_count: int
    groups: list[RejectionGroup]

    @classmethod
    def from_model(cls, model: MatcherModel) -> Rejections:
        """Group the rejected subscriptions of a fit; a group has one text of the error."""
        rejected = model.rejectedSubscriptions
        id_ = F.col(quote_identifier(rejected.columns[0])).alias("id")
        example = F.struct(id_, "predicate", "line", "column", "error")
        by_reason = rejected.groupBy("error").agg(
            F.count(F.lit(1)).alias("rejected"), F.min(example).alias("example")
        )
        [totals] = by_reason.agg(F.count(F.lit(1)), F.sum("rejected")).collect()
        groups = by_reason.orderBy(F.desc("rejected"), "error").limit(_MAX_GROUPS).collect()
        return cls(
            totals[1] or 0,
            totals[0],
            [RejectionGroup(group["rejected"], group["example"]) for group in groups],
        )

    def to_table_rows(self) -> list[tuple[str, str, str]]:
        """Return the row of rejected subscriptions for a table of counts.

        Its cells are a name, a number and a remark. The list is empty if nothing was rejected.
        """
        if not self.count:
            return []
        most = "" if self.reason_count == len(self.groups) else ", the most frequent"
        reasons = f", for {self.reason_count:,} reasons{most}" if self.reason_count > 1 else ""
        return [("rejected", f"{self.count:,}", f"left out{reasons}:")]

    def print_groups(self, console: Console) -> None:
        """Print an example for each group, with a caret below the mistake."""
        for size, row in self.groups:
            example = format_rejection(
                row["id"], row["predicate"], row["error"], row["line"], row["column"]
            )
            if size > 1:
                example = f"{size:,} times, for example {example}"
            text = "\n".join(f"  {line}" for line in example.splitlines())
            console.print(text, soft_wrap=True, highlight=False)


def format_rejection(
    id_: object, text: str | None, problem: str, line: int | None, column: int | None
) -> str:
    """Return the message about one subscription: its id, the problem, and the line of the mistake.

    Without a position, the whole predicate is shown, if there is one.

    >>> print(format_rejection(7, "prise > 5", "no column 'prise'", 1, 1))
    7: line 1, column 1: no column 'prise'
      prise > 5
      ^
    """
    name = "null" if id_ is None else to_plain_id(id_)
    if text is None or line is None or column is None:
        return f"{name}: {problem}" + ("" if text is None else f"\n  {text}")
    return f"{name}: {PredicateError.from_position(problem, text, line, column)}"


def to_plain_id(id_: object) -> int | str | None:
    """Return an id as a value for JSON: integers and None unchanged, all other ids as text.

    The text of bytes is their hexadecimal digits.

    >>> to_plain_id(7), to_plain_id(bytearray(b"\\x01\\xff"))
    (7, '01ff')
    """
    if isinstance(id_, bytes | bytearray):
        return id_.hex()
    return id_ if id_ is None or isinstance(id_, int) else str(id_)
