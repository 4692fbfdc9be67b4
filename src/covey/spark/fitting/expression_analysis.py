"""What Spark's analyzer says of the expressions that subscriptions compare.

Each derived attribute is a column of the projection that Spark computes for every event. One that
Spark refuses would end the job for everybody, so each is analysed before a subscription with it is
taken: many in one projection, which is cut in two where Spark refuses it, until it is clear which
expressions are at fault.

Every expression is analysed with its own literals, since types depend on them: `q * 5` and `q * 50`
over a DECIMAL(38,10) differ in their scale, as `round(q, 1)` and `round(q, 2)` do. Only when no
further expression can be taken are those refused unseen that differ in literals from one that is an
attribute.

Cost: 0.1 to 0.3 s for a hundred expressions, in the driver. No job, except through Spark Connect:
whoever waits for an answer may hold all the cores that a job would need.
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
_MAX_TYPE_DEPTH = 100  # types inside each other; some 300 cannot be sent to workers


class SparkExpressionTypes:
    """Types of expressions over the events of a schema.

    Implements `covey.language.semantics.expression_types.TypeAnalyzer`.

    Args:
        spark: the session, whose settings count.
        schema: the columns of events.
        known: derived attributes that are compared already.
        max_attributes: how many expressions may be compared all together. Further ones are refused.
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
        self._templates: set[str] = set()  # of expressions that are attributes

    def find(self, expression: str) -> Type | Refusal | None:
        """Return the type of an expression, why it is refused, or None if it was not asked for."""
        return self.known_types.get(expression)

    @mute_query_log()
    def ask(self, expressions: Sequence[str]) -> None:
        """Let Spark analyse expressions, of which the first are admitted where there are many."""
        new = [one for one in dict.fromkeys(expressions) if one not in self.known_types]
        admitted = sum(map(_is_attribute, self.known_types.values()))
        for start in range(0, len(new), _MAX_PROJECTED_EXPRESSIONS):
            some = new[start : start + _MAX_PROJECTED_EXPRESSIONS]
            if admitted >= self._max_attributes:
                surplus = [one for one in some if _extract_template(one) in self._templates]
                self.known_types |= dict.fromkeys(surplus, self._surplus_refusal)
                some = [one for one in some if one not in self.known_types]
            if some:
                self._analyse_expressions(some)
            for one in filter(self._is_known_attribute, some):
                admitted += 1
                self._templates.add(_extract_template(one))
                if admitted > self._max_attributes:
                    self.known_types[one] = self._surplus_refusal
        self._refuse_unplannable(list(filter(self._is_known_attribute, new)))

    def _is_known_attribute(self, expression: str) -> bool:
        return _is_attribute(self.known_types[expression])

    @property
    def _surplus_refusal(self) -> Refusal:
        return Refusal(
            f"subscriptions compare more than {self._max_attributes} expressions other "
            "than columns, each of which is computed for every event; reuse expressions, "
            "or raise max_derived, which is maxDerived for a Matcher"
        )

    def _analyse_expressions(self, expressions: Sequence[str]) -> None:
        """Find out about each of some expressions by itself, though in one projection."""
        try:
            columns = [F.expr(one).alias(f"e{i}") for i, one in enumerate(expressions)]
            fields = self._empty_events.select(*columns).schema.fields
        except (PySparkException, Py4JJavaError, RecursionError) as error:
            self._bisect_failure(expressions, error, self._analyse_expressions)
            return
        types = (read_expression_type(field.dataType) for field in fields)
        self.known_types |= dict(zip(expressions, types, strict=True))

    def _refuse_unplannable(self, expressions: Sequence[str]) -> None:
        """Refuse expressions that Spark can analyse and not plan.

        Spark looks at some literals, such as patterns of dates, only when it plans a job.
        """
        if not expressions:
            return
        columns = [
            F.expr(guard_expression(one)).alias(f"e{i}") for i, one in enumerate(expressions)
        ]
        try:
            if is_remote():
                nobody = self._spark.range(0, 1, 1, 1).mapInArrow(_drop_rows_task, self._schema)
                nobody.select(*columns).collect()
            else:
                empty = self._spark.sparkContext.emptyRDD()
                nobody = self._spark.createDataFrame(empty, self._schema)
                _generate_code(self._spark, nobody.select(*columns))
        except (PySparkException, Py4JJavaError) as error:
            self._bisect_failure(expressions, error, self._refuse_unplannable)

    def _bisect_failure(
        self, expressions: Sequence[str], error: Exception, retry: Callable[[Sequence[str]], None]
    ) -> None:
        """Refuse the expression that Spark refuses; of several, try each half again."""
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
    """Return the type of an expression as attributes have it, or why workers cannot take it.

    >>> from pyspark.sql.types import IntegerType
    >>> str(read_expression_type(ArrayType(IntegerType())))
    'array<int>'
    """
    level, depth = [data_type], 0
    while level:
        level = [inner for one in level for inner in _list_inner_types(one)]
        depth += 1
    if depth > _MAX_TYPE_DEPTH:
        return Refusal(
            f"its type has more than {_MAX_TYPE_DEPTH} types inside each other; take a part of it "
            "in a column of the events"
        )
    return to_attribute_type(data_type)


def _list_inner_types(data_type: DataType) -> list[DataType]:
    if isinstance(data_type, ArrayType):
        return [data_type.elementType]
    if isinstance(data_type, MapType):
        return [data_type.keyType, data_type.valueType]
    return [field.dataType for field in data_type] if isinstance(data_type, StructType) else []


def _generate_code(spark: SparkSession, frame: DataFrame) -> None:
    """Let the driver make what tasks would compute a projection with, as they do."""
    plan = frame._jdf.queryExecution().optimizedPlan()
    if plan.nodeName() == "Project":
        catalyst: Any = spark._jvm.org.apache.spark.sql.catalyst  # type: ignore[union-attr]
        generator = getattr(catalyst.expressions.codegen, "GenerateUnsafeProjection$")
        getattr(generator, "MODULE$").generate(plan.projectList(), plan.child().output())


def _drop_rows_task(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function of a `mapInArrow` that gives no rows, which Spark does not know beforehand."""
    for _ in batches:
        pass
    return iter(())


def extract_spark_reason(error: Exception) -> str:
    """Return what Spark says is wrong, without its codes and its plans.

    >>> error = Exception("[UNRESOLVED_ROUTINE] Cannot resolve `f`. SQLSTATE: 42883; line 1")
    >>> extract_spark_reason(error)
    'Spark: Cannot resolve `f`.'
    """
    said = str(getattr(error, "java_exception", error))
    for end in ("SQLSTATE:", "== SQL", "\n\tat "):
        said = said.partition(end)[0]
    said = re.sub(r"^[\w.$]+(?:Exception|Error): ", "", " ".join(said.split()))
    said = re.sub(r"^\[[\w.]+\] ", "", said)
    return f"Spark: {said[:500]}"


@mute_query_log()
def find_failure_reasons(events: DataFrame, expressions: Sequence[Attribute]) -> dict[str, str]:
    """Return why Spark cannot compute expressions for some of the events, of those that raise."""
    if not expressions:
        return {}
    raises = [~select_attribute(one.flag) for one in expressions]
    computed = events.select(*(one.alias(f"c{i}") for i, one in enumerate(raises)))
    ever = computed.agg(*(F.max(name).alias(name) for name in computed.columns)).first()
    reasons = {}
    for expression, condition, is_raising in zip(expressions, raises, ever or (), strict=True):
        if is_raising:
            reasons[expression.name] = "Spark: it cannot be computed."
            try:
                events.where(condition).select(F.expr(expression.name)).limit(1).collect()
            except (PySparkException, Py4JJavaError) as error:
                reasons[expression.name] = extract_spark_reason(error)
    return reasons


def _is_attribute(result: Type | Refusal) -> bool:
    return isinstance(result, Type) and result.is_attribute


def _extract_template(expression: str) -> str:
    """Return an expression without its literals.

    >>> _extract_template("round(price * 1.5, 2)")
    'round(price * \\x00, \\x00)'
    """
    return extract_literals(expression)[0]
