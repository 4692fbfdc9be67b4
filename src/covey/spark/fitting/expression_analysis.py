"""Types of the expressions that subscriptions compare, from Spark's analyzer.

Spark computes all derived attributes of an event in one projection. A single expression that Spark
refuses would end the job for all subscriptions, so each expression is analysed before a
subscription with it is accepted. Many expressions are analysed in one projection. If Spark refuses
the projection, each half of the expressions is analysed again, until the invalid ones are found.

Expressions that differ only in literals have a common template. One of them is analysed, and it is
analysed again with columns in place of its literals. A literal that Spark treats like a column can
be a parameter. Any other literal is fixed, and each expression with another literal in its place is
analysed on its own: `q * 5` and `q * 50` over a DECIMAL(38,10) differ in their scale, and so do
`round(q, 1)` and `round(q, 2)`.

Cost: 0.1 to 0.3 s for a hundred expressions, on the driver. The analysis runs no Spark job, because
the caller may occupy all the cores that a job would need. Through Spark Connect, however, it runs
jobs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType
from pyspark.sql.utils import is_remote

from covey.language.late_conditions import MARKER, PARAMETER_TYPES
from covey.language.semantics import (
    Refusal,
    TemplateFacts,
    facts_of_attributes,
    must_be_attribute,
    split_expression,
)
from covey.space import Attribute, Type
from covey.space.guard import guard_expression
from covey.spark.query_log import mute_query_log
from covey.spark.schemas import select_attribute, to_attribute_type

__all__ = [
    "MAX_ATTRIBUTES",
    "UNLIMITED",
    "SparkExpressionTypes",
    "extract_spark_reason",
    "find_failure_reasons",
    "read_expression_type",
]

MAX_ATTRIBUTES = 64
"""Largest number of derived attributes, which Spark computes for every event."""
UNLIMITED = 1 << 30
"""Number of derived attributes that no subscription reaches, so that no condition is late."""
_MIN_SHARE = 1_000  # one of this many subscriptions must compare an expression to make it one
_MAX_PROJECTED_EXPRESSIONS = 100  # expressions in one projection
_PARAMETER = "covey_p"
_PARAMETER_TYPES = {"STRING": "string", "INT": "integer", "BIGINT": "long", "DOUBLE": "double"}
_SAMPLES = {"s": "'qzq7{0}qzq'", "i": "77001{0:02}", "l": "7700000001{0:02}", "m": "7701{0:02}.25",
            "d": "7701{0:02}.125D"}  # fmt: skip
"""Literals that stand for parameters, by the letter of their marker. Spark prints them unchanged,
and they do not occur elsewhere in a plan."""
_MAX_TYPE_DEPTH = 100  # levels of nested types; types of about 300 levels cannot be sent to workers


class SparkExpressionTypes:
    """Types of expressions over the events of a schema, and the choice of derived attributes.

    Implements `covey.language.semantics.expression_types.TypeAnalyzer`.

    Args:
        spark: the session, with whose settings expressions are analysed.
        schema: the columns of events.
        known_attributes: derived attributes of the subscriptions that are accepted already.
        max_attributes: largest number of derived attributes; None for `MAX_ATTRIBUTES`. Conditions
            on further expressions are late.
    """

    def __init__(
        self,
        spark: SparkSession,
        schema: StructType,
        known_attributes: Sequence[Attribute],
        *,
        max_attributes: int | None = None,
    ) -> None:
        self._spark, self._schema = spark, schema
        self.facts = facts_of_attributes(known_attributes)
        self._max_attributes = MAX_ATTRIBUTES if max_attributes is None else max_attributes

    @property
    def otherwise(self) -> None:
        """None: Spark must be queried for expressions of unknown type."""
        return None

    def find(self, template: str) -> TemplateFacts | None:
        """Return what is known about the expressions with a template, or None."""
        return self.facts.get(template)

    @mute_query_log()
    def ask(self, expressions: Mapping[str, int], subscription_count: int = 0) -> None:
        """Analyse expressions with Spark; `find` then returns facts about their templates.

        Expressions that many subscriptions compare become attributes, as long as there are fewer
        than `max_attributes`.

        Args:
            expressions: by the text of each expression, the number of subscriptions that compare
                it.
            subscription_count: number of all subscriptions. An expression that fewer than one of
                a thousand subscriptions compare does not become an attribute.
        """
        by_use = sorted(expressions, key=lambda text: (-expressions[text], text))
        split_texts = {text: split_expression(text) for text in by_use}
        examples: dict[object, str] = {}
        for text, (template, literals) in split_texts.items():
            facts = self.facts.get(template)
            if facts is None:
                examples.setdefault(template, text)
            elif facts.find_result(literals) is None:
                examples.setdefault((template, *(literals[i] for i in facts.fixed)), text)
        self._add_results({text: split_texts[text] for text in examples.values()})
        # Literals that must be fixed were found, so each expression with others is analysed.
        variants: dict[object, str] = {}
        for text, (template, literals) in split_texts.items():
            facts = self.facts[template]
            if facts.find_result(literals) is None:
                variants.setdefault((template, *(literals[i] for i in facts.fixed)), text)
        self._add_results({text: split_texts[text] for text in variants.values()})
        # These cannot be late, so they come first.
        fixed = [text for text in by_use if must_be_attribute(text)]
        by_use = [*fixed, *(text for text in by_use if text not in {*fixed})]
        least_uses = max(1, subscription_count // _MIN_SHARE)
        free = self._max_attributes - sum(len(facts.attributes) for facts in self.facts.values())
        for text in by_use:
            template, literals = split_texts[text]
            facts = self.facts[template]
            is_used = expressions[text] >= least_uses or text in fixed
            if free < 1 or not is_used:
                break
            if literals not in facts.attributes and _is_attribute(facts.find_result(literals)):
                attributes = facts.attributes | {literals}
                self.facts[template] = replace(facts, attributes=attributes)
                free -= 1

    def _add_results(self, split_texts: Mapping[str, tuple[str, tuple[str, ...]]]) -> None:
        """Analyse expressions, and add their types to the facts about their templates.

        Args:
            split_texts: the template and the literals of each expression, by its text.
        """
        results: dict[str, Type | Refusal] = {}
        texts = list(split_texts)
        for start in range(0, len(texts), _MAX_PROJECTED_EXPRESSIONS):
            self._analyse_expressions(texts[start : start + _MAX_PROJECTED_EXPRESSIONS], results)
        accepted = [text for text in texts if _is_attribute(results[text])]
        for start in range(0, len(accepted), _MAX_PROJECTED_EXPRESSIONS):
            chosen = accepted[start : start + _MAX_PROJECTED_EXPRESSIONS]
            self._refuse_unplannable(chosen, results)
        for text, (template, literals) in split_texts.items():
            facts = self.facts.get(template)
            if facts is None:
                facts = TemplateFacts(self._find_fixed(template, literals, results[text]))
            fixed = tuple(literals[i] for i in facts.fixed)
            self.facts[template] = replace(facts, results={**facts.results, fixed: results[text]})

    def _find_fixed(
        self, template: str, literals: tuple[str, ...], result: Type | Refusal
    ) -> tuple[int, ...]:
        """Return the positions of the literals that cannot be parameters.

        A literal can be a parameter if Spark analyses the expression in the same way with a column
        in its place.
        """
        every = range(len(literals))
        letters = MARKER.findall(template)
        candidates = [i for i in every if letters[i] in _SAMPLES]
        if isinstance(result, Refusal) or not candidates:
            return tuple(every)
        if not self._takes_parameters(template, literals, candidates):
            alone = [i for i in candidates if self._takes_parameters(template, literals, [i])]
            is_possible = bool(alone) and self._takes_parameters(template, literals, alone)
            candidates = alone if is_possible and len(alone) < len(candidates) else []
        return tuple(i for i in every if i not in candidates)

    def _takes_parameters(
        self, template: str, literals: tuple[str, ...], positions: Sequence[int]
    ) -> bool:
        """Return whether the literals at these positions can be parameters."""
        pieces = MARKER.split(template)[::2]
        letters = MARKER.findall(template)
        samples, columns = list(literals), list(literals)
        for i in positions:
            samples[i] = _SAMPLES[letters[i]].format(i)
            columns[i] = f"`{_PARAMETER}{i}`"
        with_samples, with_columns = (
            "".join(map("".join, zip(pieces, [*values, ""], strict=True)))
            for values in (samples, columns)
        )
        schema = StructType(list(self._schema.fields))
        for i in positions:
            type_name = PARAMETER_TYPES["d" if letters[i] == "m" else letters[i]]
            schema = schema.add(f"{_PARAMETER}{i}", _PARAMETER_TYPES[type_name])
        try:
            events = self._spark.createDataFrame([], schema)
            plans = [
                _read_analysed_plan(events.select(F.expr(text).alias("e")))
                for text in (with_samples, with_columns)
            ]
        except (PySparkException, Py4JJavaError, RecursionError):
            return False
        expected, found = plans
        for i in positions:
            printed = samples[i].strip("'D")
            if letters[i] == "m":  # Spark casts a decimal to DOUBLE before it computes with it
                printed = f"cast({printed} as double)"
            expected = expected.replace(printed, f"{_PARAMETER}{i}")
        return expected == found and " more fields" not in found

    def _analyse_expressions(
        self, expressions: Sequence[str], results: dict[str, Type | Refusal]
    ) -> None:
        """Analyse expressions in one projection; add the type or the refusal of each to results."""
        try:
            columns = [F.expr(text).alias(f"e{i}") for i, text in enumerate(expressions)]
            fields = self._empty_events.select(*columns).schema.fields
        except (PySparkException, Py4JJavaError, RecursionError) as error:
            _bisect_failure(expressions, error, results, self._analyse_expressions)
            return
        types = (read_expression_type(field.dataType) for field in fields)
        results |= dict(zip(expressions, types, strict=True))

    def _refuse_unplannable(
        self, expressions: Sequence[str], results: dict[str, Type | Refusal]
    ) -> None:
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
            _bisect_failure(expressions, error, results, self._refuse_unplannable)

    @property
    def _empty_events(self) -> DataFrame:
        return self._spark.createDataFrame([], self._schema)


def _bisect_failure(
    expressions: Sequence[str],
    error: Exception,
    results: dict[str, Type | Refusal],
    retry: Callable[[Sequence[str], dict[str, Type | Refusal]], None],
) -> None:
    """Retry each half of the expressions; refuse a single expression with Spark's error."""
    if len(expressions) == 1:
        results[expressions[0]] = Refusal(extract_spark_reason(error))
        return
    half = len(expressions) // 2
    retry(expressions[:half], results)
    retry(expressions[half:], results)


def _read_analysed_plan(frame: DataFrame) -> str:
    """Return the projection of a DataFrame as Spark's analyzer prints it, without numbers."""
    if is_remote():
        extended = frame._explain_string(extended=True)  # type: ignore[operator]
        plan = extended.partition("== Analyzed Logical Plan ==")[2].partition("Project [")[2]
    else:
        plan = frame._jdf.queryExecution().analyzed().toString().partition("Project [")[2]
    return re.sub(r"#\d+L?", "", plan.partition("\n")[0])


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


def _is_attribute(result: Type | Refusal | None) -> bool:
    return isinstance(result, Type) and result.is_attribute
