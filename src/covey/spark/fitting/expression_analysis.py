"""What Spark's analyzer says of the expressions that subscriptions compare.

Each derived attribute is a column of the projection that Spark computes for every event. One that
Spark refuses would end the job for everybody, so each is analysed before a subscription with it is
taken: many in one projection, which is cut in two where Spark refuses it, until it is clear which
expressions are at fault.

Expressions that differ in their literals only are analysed once, with columns in place of literals.
Where Spark refuses that, since it needs constants there, each is analysed by itself.

Cost: 10 to 30 ms for a hundred expressions, in the driver. No job, except through Spark Connect:
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
from covey.language.values import SLOT_MARK, LiteralError, decode_literal, extract_literals
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
        self._by_template: dict[tuple[str, ...], Type | None] = {}

    def find(self, expression: str) -> Type | Refusal | None:
        """Return the type of an expression, why it is refused, or None if it was not asked for."""
        return self.known_types.get(expression)

    @mute_query_log()
    def ask(self, expressions: Sequence[str]) -> None:
        """Let Spark analyse expressions, of which the first are admitted where there are many."""
        new = [one for one in dict.fromkeys(expressions) if one not in self.known_types]
        by_template: dict[tuple[str, ...], list[str]] = {}
        for expression in new:
            by_template.setdefault(_extract_template(expression), []).append(expression)
        alone: list[str] = []
        for template, alike in by_template.items():
            if len(alike) > 1 and template not in self._by_template:
                self._by_template[template] = self._find_template_type(template)
            found = self._by_template.get(template)
            if found is None:
                alone += alike
            else:
                self.known_types |= dict.fromkeys(alike, found)
        for start in range(0, len(alone), _MAX_PROJECTED_EXPRESSIONS):
            self._analyse_expressions(alone[start : start + _MAX_PROJECTED_EXPRESSIONS])
        self._enforce_max_attributes(new)
        self._refuse_unplannable([one for one in new if _is_attribute(self.known_types[one])])

    def _find_template_type(self, template: tuple[str, ...]) -> Type | None:
        """Return the type of an expression with columns in place of its literals, if it has one."""
        text, *types = template
        columns = [f"`covey.literal{i}`" for i in range(len(types))]
        parts = text.split(SLOT_MARK)
        expression = "".join(a + b for a, b in zip(parts, [*columns, ""], strict=True))
        given = zip(columns, types, strict=True)
        frame = self._empty_events.select(
            "*", *(F.lit(None).cast(t).alias(c[1:-1]) for c, t in given)
        )
        try:
            found = read_expression_type(frame.select(F.expr(expression)).schema.fields[0].dataType)
        except (PySparkException, Py4JJavaError, RecursionError):
            return None
        return found if isinstance(found, Type) else None

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

    def _enforce_max_attributes(self, new_expressions: Sequence[str]) -> None:
        """Refuse what would be more expressions than may be compared."""
        admitted = sum(
            _is_attribute(self.known_types[one])
            for one in self.known_types
            if one not in set(new_expressions)
        )
        for expression in new_expressions:
            if not _is_attribute(self.known_types[expression]):
                continue
            admitted += 1
            if admitted > self._max_attributes:
                self.known_types[expression] = Refusal(
                    f"subscriptions compare more than {self._max_attributes} expressions other "
                    "than columns, each of which is computed for every event; reuse expressions, "
                    "or raise max_derived, which is maxDerived for a Matcher"
                )


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


def _extract_template(expression: str) -> tuple[str, ...]:
    """Return an expression without its literals, and their types as Spark spells them.

    >>> _extract_template("round(price * 1.5, 2)")
    ('round(price * \\x00, \\x00)', 'decimal(2,1)', 'int')
    """
    text, raws = extract_literals(expression)
    if any(raw[0] == "(" for raw in raws):
        return (expression,)  # a list of literals, which may be of several types
    try:
        return (text, *(str(decode_literal(raw).type) for raw in raws))
    except LiteralError:
        return (expression,)
