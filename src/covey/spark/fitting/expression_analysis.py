"""Types of the expressions that subscriptions compare, from Spark's analyzer.

Spark computes all derived attributes of an event in one projection. A single expression that Spark
refuses would end the job for all subscriptions, so each expression is analysed before a
subscription with it is accepted. Many expressions are analysed in one projection. If Spark refuses
the projection, each half of the expressions is analysed again, until the invalid ones are found.

Every expression is analysed with its own literals, because types depend on them: `q * 5` and
`q * 50` over a DECIMAL(38,10) differ in their scale, and so do `round(q, 1)` and `round(q, 2)`.
Once the largest number of expressions is reached, an expression that differs only in literals from
a derived attribute is refused without analysis.

Cost: 0.1 to 0.3 s for a hundred expressions, on the driver. The analysis runs no Spark job, because
the caller may occupy all the cores that a job would need. Through Spark Connect, however, it runs
jobs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType
from pyspark.sql.utils import is_remote

from covey.language.semantics import KnownTypes, Refusal
from covey.language.values import extract_literals
from covey.space import Attribute, Type
from covey.space.guard import guard_expression
from covey.spark.query_log import mute_query_log
from covey.spark.schemas import select_attribute, to_attribute_type

__all__ = [
    "SparkExpressionTypes",
    "extract_spark_reason",
    "find_failure_reasons",
    "read_expression_type",
]

_MAX_PROJECTED_EXPRESSIONS = 100  # expressions in one projection
_MAX_TYPE_DEPTH = 100  # levels of nested types; types of about 300 levels cannot be sent to workers


class SparkExpressionTypes:
    """Types of expressions over the events of a schema.

    Implements `covey.language.semantics.expression_types.TypeAnalyzer`.

    Args:
        spark: the session, with whose settings expressions are analysed.
        schema: the columns of events.
        known_attributes: derived attributes of the subscriptions that are accepted already.
        max_attributes: largest number of derived attributes; further expressions are refused.
    """

    def __init__(
        self,
        spark: SparkSession,
        schema: StructType,
        known_attributes: Sequence[Attribute],
        max_attributes: int,
    ) -> None:
        self._spark, self._schema = spark, schema
        self.known_types = dict(KnownTypes.from_attributes(known_attributes).types)
        self._max_attributes = max_attributes
        self._templates: set[str] = set()  # templates of the expressions that are attributes

    def find(self, expression: str) -> Type | Refusal | None:
        """Return the type of an expression or its refusal; None if neither is known."""
        return self.known_types.get(expression)

    @mute_query_log()
    def ask(self, expressions: Sequence[str]) -> None:
        """Analyse expressions with Spark; `find` then returns their types.

        At most `max_attributes` expressions are accepted in all, in the given order; the remaining
        ones are refused.
        """
        new = [text for text in dict.fromkeys(expressions) if text not in self.known_types]
        accepted = sum(map(_is_attribute, self.known_types.values()))
        for start in range(0, len(new), _MAX_PROJECTED_EXPRESSIONS):
            batch = new[start : start + _MAX_PROJECTED_EXPRESSIONS]
            if accepted >= self._max_attributes:
                surplus = [text for text in batch if _extract_template(text) in self._templates]
                self.known_types |= dict.fromkeys(surplus, self._surplus_refusal)
                batch = [text for text in batch if text not in self.known_types]
            if batch:
                self._analyse_expressions(batch)
            for expression in filter(self._is_known_attribute, batch):
                accepted += 1
                self._templates.add(_extract_template(expression))
                if accepted > self._max_attributes:
                    self.known_types[expression] = self._surplus_refusal
        self._refuse_unplannable(list(filter(self._is_known_attribute, new)))

    def _is_known_attribute(self, expression: str) -> bool:
        return _is_attribute(self.known_types[expression])

    @property
    def _surplus_refusal(self) -> Refusal:
        return Refusal(
            f"subscriptions compare more than {self._max_attributes} different expressions other "
            "than columns, and Spark computes each one for every event; use fewer different "
            "expressions in predicates, or raise max_derived (maxDerived of a Matcher)"
        )

    def _analyse_expressions(self, expressions: Sequence[str]) -> None:
        """Analyse expressions in one projection, and record the type or the refusal of each."""
        try:
            columns = [F.expr(text).alias(f"e{i}") for i, text in enumerate(expressions)]
            fields = self._empty_events.select(*columns).schema.fields
        except (PySparkException, Py4JJavaError, RecursionError) as error:
            self._bisect_failure(expressions, error, self._analyse_expressions)
            return
        types = (read_expression_type(field.dataType) for field in fields)
        self.known_types |= dict(zip(expressions, types, strict=True))

    def _refuse_unplannable(self, expressions: Sequence[str]) -> None:
        """Refuse expressions that Spark can analyse but not plan.

        Spark reads some literals, such as patterns of dates, only when it plans a job.
        """
        if not expressions:
            return
        columns = [
            F.expr(guard_expression(text)).alias(f"e{i}") for i, text in enumerate(expressions)
        ]
        try:
            if is_remote():
                no_events = self._spark.range(0, 1, 1, 1).mapInArrow(_drop_rows_task, self._schema)
                no_events.select(*columns).collect()
            else:
                empty = self._spark.sparkContext.emptyRDD()
                no_events = self._spark.createDataFrame(empty, self._schema)
                _generate_code(self._spark, no_events.select(*columns))
        except (PySparkException, Py4JJavaError) as error:
            self._bisect_failure(expressions, error, self._refuse_unplannable)

    def _bisect_failure(
        self, expressions: Sequence[str], error: Exception, retry: Callable[[Sequence[str]], None]
    ) -> None:
        """Retry each half of the expressions; refuse a single expression with Spark's error."""
        if len(expressions) == 1:
            self.known_types[expressions[0]] = Refusal(extract_spark_reason(error))
            return
        half = len(expressions) // 2
        retry(expressions[:half])
        retry(expressions[half:])

    @property
    def _empty_events(self) -> DataFrame:
        return self._spark.createDataFrame([], self._schema)


def read_expression_type(data_type: DataType) -> Type | Refusal:
    """Convert a Spark type to the type of an attribute; refuse a type that is nested too deeply.

    A type of more than 100 levels is refused, because Spark cannot send deeply nested types to
    workers.

    >>> from pyspark.sql.types import IntegerType
    >>> str(read_expression_type(ArrayType(IntegerType())))
    'array<int>'
    """
    level, depth = [data_type], 0
    while level:
        level = [inner for outer in level for inner in _list_inner_types(outer)]
        depth += 1
    if depth > _MAX_TYPE_DEPTH:
        return Refusal(
            f"its type has more than {_MAX_TYPE_DEPTH} levels of nesting; compute a part of the "
            "expression as a column of the events"
        )
    return to_attribute_type(data_type)


def _list_inner_types(data_type: DataType) -> list[DataType]:
    if isinstance(data_type, ArrayType):
        return [data_type.elementType]
    if isinstance(data_type, MapType):
        return [data_type.keyType, data_type.valueType]
    return [field.dataType for field in data_type] if isinstance(data_type, StructType) else []


def _generate_code(spark: SparkSession, frame: DataFrame) -> None:
    """Generate on the driver the code with which tasks would compute a projection.

    This raises the same errors as code generation in a task, without running a job.
    """
    plan = frame._jdf.queryExecution().optimizedPlan()
    if plan.nodeName() == "Project":
        catalyst: Any = spark._jvm.org.apache.spark.sql.catalyst  # type: ignore[union-attr]
        generator = getattr(catalyst.expressions.codegen, "GenerateUnsafeProjection$")
        getattr(generator, "MODULE$").generate(plan.projectList(), plan.child().output())


def _drop_rows_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return no rows.

    Spark does not know this before it runs this function of a `mapInArrow`. So it must plan the
    query, and cannot replace it by an empty result.
    """
    for _ in batches:
        pass
    return iter(())


def extract_spark_reason(error: Exception) -> str:
    """Return Spark's error message without error codes, query context and stack trace.

    The message is shortened to 500 characters.

    >>> error = Exception("[UNRESOLVED_ROUTINE] Cannot resolve `f`. SQLSTATE: 42883; line 1")
    >>> extract_spark_reason(error)
    'Spark: Cannot resolve `f`.'
    """
    message = str(getattr(error, "java_exception", error))
    for end in ("SQLSTATE:", "== SQL", "\n\tat "):
        message = message.partition(end)[0]
    message = re.sub(r"^[\w.$]+(?:Exception|Error): ", "", " ".join(message.split()))
    message = re.sub(r"^\[[\w.]+\] ", "", message)
    return f"Spark: {message[:500]}"


@mute_query_log()
def find_failure_reasons(events: DataFrame, expressions: Sequence[Attribute]) -> dict[str, str]:
    """Return the reasons why Spark cannot compute expressions on some of the events.

    Args:
        events: the events.
        expressions: derived attributes that can raise an error.

    Returns:
        Reasons by the name of the expression. Expressions that raise on no event are left out.

    Cost: a pass over the events, and a job for each expression that raises.
    """
    if not expressions:
        return {}
    raises = [~select_attribute(expression.flag) for expression in expressions]
    flags = events.select(*(column.alias(f"c{i}") for i, column in enumerate(raises)))
    raises_ever = flags.agg(*(F.max(name).alias(name) for name in flags.columns)).first()
    reasons = {}
    for expression, condition, is_raising in zip(
        expressions, raises, raises_ever or (), strict=True
    ):
        if is_raising:
            reasons[expression.name] = "Spark: the expression cannot be computed."
            try:
                events.where(condition).select(F.expr(expression.name)).limit(1).collect()
            except (PySparkException, Py4JJavaError) as error:
                reasons[expression.name] = extract_spark_reason(error)
    return reasons


def _is_attribute(result: Type | Refusal) -> bool:
    return isinstance(result, Type) and result.is_attribute


def _extract_template(expression: str) -> str:
    """Return the template of an expression: its text, in which a placeholder replaces each literal.

    >>> _extract_template("round(price * 1.5, 2)")
    'round(price * \\x00, \\x00)'
    """
    return extract_literals(expression)[0]
