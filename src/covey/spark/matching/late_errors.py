"""Late conditions that raise errors: the candidates that they leave undecided, with the reasons."""

from __future__ import annotations

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from covey.language.late_conditions import MARKER, LateCondition
from covey.spark.fitting.expression_analysis import extract_spark_reason
from covey.spark.matching.late_evaluation import (
    CANDIDATES_COLUMN,
    CONDITIONS_COLUMN,
    LateEvaluation,
)
from covey.spark.query_log import mute_query_log
from covey.spark.schemas import select_column

__all__ = ["find_late_errors"]


def find_late_errors(
    rows: DataFrame,
    evaluation: LateEvaluation,
    copied_fields: StructType,
    event_fields: StructType,
    id_name: str,
) -> DataFrame:
    """Return the subscriptions whose late conditions raise an error on some event.

    The columns of the result are those of `MatcherModel.errors`.

    Args:
        rows: rows of `LatePairRows`, with the ids in `CANDIDATES_COLUMN`.
        evaluation: evaluation of the late conditions.
        copied_fields: fields of the events in the rows.
        event_fields: fields of the events in the result.
        id_name: name of the column with the id.

    Cost: a pass over the candidates, and a job for each template that raises.
    """
    copied, event = (
        F.struct(*(select_column(name) for name in fields.names))
        for fields in (copied_fields, event_fields)
    )
    conditions = f"`{CONDITIONS_COLUMN}`"
    candidates = rows.where(f"{conditions} IS NOT NULL")
    undecided = candidates.where(evaluation.build_error_check(conditions)).select(
        select_column(CANDIDATES_COLUMN).alias(id_name),
        F.expr(evaluation.build_failing_condition(conditions)).alias("condition"),
        event.alias("event"),
        copied.alias("copied"),
    )
    undecided = undecided.withColumn("template", F.col("condition.template"))
    examples = undecided.groupBy("template").agg(F.first("condition"), F.first("copied")).collect()
    reason = F.lit(None).cast("string")
    for template, condition, failing_event in examples:
        name = evaluation.numbered_templates[template].name
        late_condition = evaluation.decode_condition(condition)
        events = rows.sparkSession.createDataFrame([failing_event], copied_fields)
        text = f"{_find_reason(events, late_condition)} In {MARKER.sub('?', name)}"
        reason = F.when(F.col("template") == template, F.lit(text)).otherwise(reason)
    groups = undecided.withColumn("reason", reason).groupBy(id_name, "reason")
    return groups.agg(F.count(F.lit(1)).alias("count"), F.first("event").alias("event"))


@mute_query_log()
def _find_reason(events: DataFrame, condition: LateCondition) -> str:
    """Return the reason why Spark cannot compute a condition on events."""
    try:
        events.select(F.expr(condition.sql)).collect()
    except (PySparkException, Py4JJavaError) as error:
        return extract_spark_reason(error)
    return "Spark: the expression cannot be computed."
