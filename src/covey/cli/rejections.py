"""The subscriptions that a command had to leave out, and why the first of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Row
from rich.console import Console

from covey.errors import PredicateError
from covey.sql_names import quote_identifier

if TYPE_CHECKING:
    from covey.spark import MatcherModel

__all__ = ["Rejections", "format_rejection", "to_plain_id"]

_MAX_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Rejections:
    """How many there are, and what is wrong with the first by id."""

    count: int
    first_rows: list[Row]

    @classmethod
    def from_model(cls, model: MatcherModel) -> Rejections:
        """Those of a fit."""
        rejected = model.rejectedSubscriptions
        by_id = rejected.orderBy(quote_identifier(rejected.columns[0]))
        return cls(rejected.count(), by_id.limit(_MAX_SHOWN).collect())

    def to_table_rows(self) -> list[tuple[str, str, str]]:
        """The last row of a table of counts, above what `show` prints; none without any."""
        first = "" if self.count == len(self.first_rows) else "; the first of them"
        return [("rejected", f"{self.count:,}", f"left out{first}:")] if self.count else []

    def print_first(self, console: Console) -> None:
        """Prints each of the first with its mistake underlined."""
        for row in self.first_rows:
            said = format_rejection(
                row[0], row["predicate"], row["error"], row["line"], row["column"]
            )
            text = "\n".join(f"  {line}" for line in said.splitlines())
            console.print(text, soft_wrap=True, highlight=False)


def format_rejection(
    id_: object, text: str | None, problem: str, line: int | None, column: int | None
) -> str:
    """What is said of one subscription, from what is known of it in a DataFrame.

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
    """An id as people and JSON have it: a number or a text, bytes by their digits.

    >>> to_plain_id(7), to_plain_id(bytearray(b"\\x01\\xff"))
    (7, '01ff')
    """
    if isinstance(id_, bytes | bytearray):
        return id_.hex()
    return id_ if id_ is None or isinstance(id_, int) else str(id_)
