"""The work of `covey compact`: read, compact, write, then count and draw."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from covey.cli.compact_counts import Counts, counted
from covey.cli.compact_folder import PICTURE, SUMMARY, Folder
from covey.cli.progress import Steps
from covey.cli.reading import Source, check_columns, with_floats
from covey.cli.session import Session
from covey.quoting import quoted
from covey.spark import Compaction, compact

__all__ = ["CompactJob"]

_ACTIVE = "covey_active"  # the ids of active ones, beside the user's columns


@dataclass(frozen=True, slots=True)
class CompactJob:
    """One `covey compact`; `params` are those of `covey.spark.compact` that need no table."""

    subscriptions: Source
    events: Source
    folder: Folder
    added: float
    subtractions: int
    owner: str | None
    is_drawn: bool
    vectors: dict[str, int]
    params: Mapping[str, Any]
    session: Session

    def run(self) -> tuple[Counts, dict[str, float]]:
        """Does it all; what was counted, and the seconds that each step took."""
        with Steps() as steps, ExitStack() as stack:
            with steps.step("start Spark"):
                spark = stack.enter_context(self.session.started())
            with steps.step("read", spark):
                events = with_floats(self.events.read(spark), self.vectors)
                subscriptions = self.subscriptions.read(spark)
                named = [self.params["idCol"], self.params["predicateCol"]]
                named += [self.owner] if self.owner is not None else []
                check_columns(subscriptions, named, "subscriptions")
            with steps.step("compact", spark):
                made = compact(
                    subscriptions, sample=events, added=self.added, subtractions=self.subtractions,
                    eventSchema=events.schema, vectors=self.vectors, **self.params,
                )  # fmt: skip
            with self.folder.unfinished(spark) as unfinished:
                with steps.step("write", spark):
                    unfinished.table("active", self._active(subscriptions, made))
                    unfinished.table("passive", made.passive)
                    unfinished.table("filters", made.filters)
                with steps.step("count", spark):
                    counts = counted(made, subscriptions, self.owner)
                    unfinished.file(SUMMARY, self._summary(counts))
                if self.is_drawn:
                    with steps.step("draw"):
                        from covey.cli.picture import drawn

                        picture = drawn(counts.summary, counts.largest, counts.by_attribute)
                        if self.folder.picture is None:
                            unfinished.file(PICTURE, picture)
                        else:
                            Path(self.folder.picture).write_bytes(picture)
        return counts, steps.seconds

    def _active(self, subscriptions: DataFrame, made: Compaction) -> DataFrame:
        """The user's own rows of those that are active."""
        ids = made.active.toDF(_ACTIVE)
        is_same = F.col(quoted(self.params["idCol"])) == F.col(_ACTIVE)
        return subscriptions.join(ids, is_same, "left_semi")

    def _summary(self, counts: Counts) -> bytes:
        s = counts.summary
        found = {
            "line": counts.line,
            "added": self.added,
            "subtractions": self.subtractions,
            **asdict(s),
            "active_subscriptions": s.subscriptions - s.passive,
            "active": s.active,
            "filters": s.filters,
            "false_share": s.false_share,
            "false_share_of_forwarded": s.false_share_of_forwarded,
            "rejected": counts.rejected.count,
            "by_attribute": counts.by_attribute,
            "seconds": counts.seconds,
        }
        if self.owner is not None:
            found["largest_owners"] = counts.largest
            found["most_passive_owners"] = counts.most_passive
        return json.dumps(found, indent=1, ensure_ascii=False).encode()
