"""The subscriptions that a command had to leave out, and why the first of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Row
from rich.console import Console

from covey.cli.mistakes import mistake
from covey.quoting import quoted

if TYPE_CHECKING:
    from covey.spark import MatcherModel

__all__ = ["Rejections"]

_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Rejections:
    """How many there are, and what is wrong with the first by id."""

    count: int
    first: list[Row]

    @classmethod
    def of(cls, model: MatcherModel) -> Rejections:
        """Those of a fit."""
        rejected = model.rejected
        by_id = rejected.orderBy(quoted(rejected.columns[0]))
        return cls(rejected.count(), by_id.limit(_SHOWN).collect())

    def rows(self) -> list[tuple[str, str, str]]:
        """The last row of a table of counts, above what `show` prints; none without any."""
        first = "" if self.count == len(self.first) else "; the first of them"
        return [("rejected", f"{self.count:,}", f"left out{first}:")] if self.count else []

    def show(self, console: Console) -> None:
        """Prints each of the first with its mistake underlined."""
        for row in self.first:
            said = mistake(row[0], row["predicate"], row["error"], row["line"], row["column"])
            text = "\n".join(f"  {line}" for line in said.splitlines())
            console.print(text, soft_wrap=True, highlight=False, markup=False)
