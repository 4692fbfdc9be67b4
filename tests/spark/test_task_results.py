"""Rows of the results of a task that encodes subscriptions."""

from __future__ import annotations

import pyarrow as pa

from covey.spark.fitting.task_results import EXPRESSION_KIND, TaskResults


def test_an_expression_is_counted_once_for_each_subscription_that_uses_it() -> None:
    results = TaskResults(pa.string())
    results.add_expressions([("length(a)", "length(a)", "b + 1"), ("length(a)",)])
    rows = [row for batch in results.waiting_batches() for row in batch.to_pylist()]
    assert {row["kind"] for row in rows} == {EXPRESSION_KIND}
    counts = {row["predicate"]: row["subscriptions"] for row in rows}
    assert counts == {"length(a)": 2, "b + 1": 1}
