"""The environment of all measurements: a session, tables, and models that are fitted once.

The time of a fit is from the call of `fit` to the model, and includes reading the subscriptions
from Parquet files. Before the first fit, a small fit warms up the workers.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import DataFrame, SparkSession

from benchmarks.on_spark.session import DEFAULT_BATCH, session, set_batch
from benchmarks.on_spark.sizes import Sizes
from benchmarks.on_spark.tables import Tables
from covey.spark import Matcher, MatcherModel
from covey.workload import create_workload

__all__ = ["BOXES", "Environment", "Fitted", "Form"]

Form = Literal["predicates", "ranges", "wide"]  # wide: predicates, on events of many columns

BOXES = "uniform-boxes-4"
_WARM = 2_000


@dataclass(frozen=True, slots=True)
class Fitted:
    """A model, and the seconds of its fit in total and by part."""

    model: MatcherModel
    seconds: float
    parts: dict[str, float]

    def transform(self, events: DataFrame, output: str) -> DataFrame:
        """Return the matches of events; `output` is `pairs` or `arrays`."""
        model = self.model.copy({self.model.outputMode: output})
        return model.transform(events)


@dataclass(frozen=True, slots=True)
class Environment:
    """A session with its tables and models."""

    spark: SparkSession
    tables: Tables
    sizes: Sizes
    _fitted: dict[tuple[str, int, Form], Fitted] = field(default_factory=dict)

    @classmethod
    @contextmanager
    def start(cls, sizes: Sizes) -> Iterator[Environment]:
        """Yield an environment in a new folder, which is removed afterwards."""
        with tempfile.TemporaryDirectory(prefix="covey-") as folder, session() as spark:
            yield cls(spark, Tables(spark, Path(folder)), sizes)

    def fitted(self, workload: str, count: int, form: Form = "predicates") -> Fitted:
        """Return a model of `count` subscriptions, fitted at the first call; see `fit`."""
        if (workload, count, form) not in self._fitted:
            self.fit(workload, count, form)
        return self._fitted[workload, count, form]

    def fit(self, workload: str, count: int, form: Form = "predicates") -> Fitted:
        """Fit `count` subscriptions; the only event column in the output is `event_id`.

        Args:
            workload: name of the workload.
            count: number of subscriptions.
            form: subscriptions as predicates or ranges, or as predicates on wide events.

        Raises:
            RuntimeError: some subscriptions were rejected.
        """
        draw = self.tables.ranges if form == "ranges" else self.tables.predicates
        subscriptions, matcher = draw(workload, count), self._matcher(workload, form)
        if not self._fitted:
            model = matcher.fit(draw(workload, _WARM))
            model.transform(self.tables.events(workload, _WARM)).count()
        set_batch(self.spark, DEFAULT_BATCH)
        start = time.perf_counter()
        model = matcher.fit(subscriptions)
        fitted = Fitted(model, time.perf_counter() - start, dict(model.fitMetrics))
        if model.numSubscriptions != count:
            raise RuntimeError(
                f"{count} subscriptions of {workload} expected, got {model.numSubscriptions}"
            )
        self._fitted[workload, count, form] = fitted
        return fitted

    def _matcher(self, workload: str, form: Form) -> Matcher:
        draw = self.tables.wide_events if form == "wide" else self.tables.events
        params: dict[str, Any] = {"eventSchema": draw(workload, _WARM).schema}
        space = create_workload(workload).space
        if lengths := {a.name: a.type.length for a in space if a.type.is_vector}:
            params["vectors"] = lengths
        if form == "ranges":
            params["rangeCols"] = {a.name: (f"{a.name}_low", f"{a.name}_high") for a in space}
        return Matcher(eventCols=["event_id"], **params)
