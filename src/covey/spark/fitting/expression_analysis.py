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

Cost: 0.1 to 0.3 s for a hundred expressions, on the driver; up to a second if they have templates
of their own. The analysis runs no Spark job, because
the caller may occupy all the cores that a job would need. Through Spark Connect, however, it runs
jobs.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)
from pyspark.sql.utils import is_remote

from covey.language.late_conditions import MARKER, PARAMETER_TYPES, find_names
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
from covey.spark.schemas import select_attribute, select_column, to_attribute_type

__all__ = [
    "MAX_ATTRIBUTES",
    "UNLIMITED",
    "SparkExpressionTypes",
    "extract_spark_reason",
    "find_accepted",
    "find_failure_reasons",
    "read_expression_type",
]

MAX_ATTRIBUTES = 64
"""Largest number of derived attributes, which Spark computes for every event."""
UNLIMITED = 1 << 30
"""Number of derived attributes that no subscription reaches, so that no condition is late."""
_MIN_SHARE = 1_000  # one of this many subscriptions must compare an expression to make it one
_MAX_PROJECTED_EXPRESSIONS = 100  # expressions in one projection
_MAX_PARAMETERS = 64
_MAX_TRIED_EXPRESSIONS = 20  # Spark prints at most 25 columns of a projection
_MAX_CONSTANT_PATTERNS = 2_000
_PARAMETER = "covey_p"
_PARAMETER_TYPES: dict[str, DataType] = {
    "STRING": StringType(), "INT": IntegerType(), "BIGINT": LongType(), "DOUBLE": DoubleType(),
}  # fmt: skip
_SHORTENED = " more fields"
"""What Spark prints in place of the parts of a plan that it leaves out."""
_MAX_TRIALS = 32
"""How many expressions are analysed to find the literals of a template that can be parameters."""
_SAMPLES = {"s": "'qzq7{0}qzq'", "i": "77001{0:02}", "l": "7700000001{0:02}", "m": "7701{0:02}.25",
            "d": "7701{0:02}.125D"}  # fmt: skip
"""Literals that stand for parameters, by the letter of their marker. Spark prints them unchanged,
and they do not occur elsewhere in a plan."""
_MAX_TYPE_DEPTH = 100  # levels of nested types; types of about 300 levels cannot be sent to workers


SplitText = tuple[str, tuple[str, ...]]
"""The template and the literals of an expression."""


class ParameterCase(NamedTuple):
    """An expression, and the positions of the literals that may become parameters."""

    template: str
    literals: tuple[str, ...]
    positions: tuple[int, ...]


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
        self._limit_constant_patterns(split_texts.values())
        # Literals that must be fixed were found, so each expression with others is analysed.
        variants: dict[object, str] = {}
        for text, (template, literals) in split_texts.items():
            facts = self.facts[template]
            if facts.find_result(literals) is None:
                variants.setdefault((template, *(literals[i] for i in facts.fixed)), text)
        self._add_results({text: split_texts[text] for text in variants.values()})
        never_late = {
            text
            for text in by_use
            if must_be_attribute(text) or self.facts[split_texts[text][0]].is_never_late
        }
        by_use.sort(key=lambda text: text not in never_late)
        least_uses = max(1, subscription_count // _MIN_SHARE)
        free = self._max_attributes - sum(len(facts.attributes) for facts in self.facts.values())
        for text in by_use:
            template, literals = split_texts[text]
            facts = self.facts[template]
            is_used = expressions[text] >= least_uses or text in never_late
            if free < 1 or not is_used:
                break
            if literals not in facts.attributes and _is_attribute(facts.find_result(literals)):
                attributes = facts.attributes | {literals}
                self.facts[template] = replace(facts, attributes=attributes)
                free -= 1

    def _add_results(self, split_texts: Mapping[str, SplitText]) -> None:
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
        never_late: set[str] = set()
        is_unknown = {
            template: self.facts[template].is_never_late is None if template in self.facts else True
            for template, _ in split_texts.values()
        }
        new = [text for text in accepted if is_unknown[split_texts[text][0]]]
        for start in range(0, len(new), _MAX_PROJECTED_EXPRESSIONS):
            self._find_never_late(new[start : start + _MAX_PROJECTED_EXPRESSIONS], never_late)
        new_templates = {
            template: (template, literals)
            for text, (template, literals) in split_texts.items()
            if template not in self.facts and not isinstance(results[text], Refusal)
        }
        fixed_positions = self._find_fixed(list(new_templates.values()))
        for text, (template, literals) in split_texts.items():
            facts = self.facts.get(template)
            if facts is None:
                every = tuple(range(len(literals)))
                facts = TemplateFacts(fixed_positions.get(template, every))
            if facts.is_never_late is None:
                facts = replace(facts, is_never_late=text in never_late)
            fixed = tuple(literals[i] for i in facts.fixed)
            self.facts[template] = replace(facts, results={**facts.results, fixed: results[text]})

    def _find_fixed(self, expressions: Sequence[SplitText]) -> dict[str, tuple[int, ...]]:
        """Return the positions of the literals that cannot be parameters, by template.

        A literal can be a parameter if Spark analyses the expression in the same way with a column
        in its place. Several expressions are analysed together.
        """
        cases = []
        for template, literals in expressions:
            letters = MARKER.findall(template)
            candidates = [i for i in range(len(literals)) if letters[i] in _SAMPLES]
            few = candidates if len(candidates) <= _MAX_PARAMETERS else []
            cases.append(ParameterCase(template, literals, tuple(few)))
        accepted: dict[str, Sequence[int]] = {}
        for start in range(0, len(cases), _MAX_TRIED_EXPRESSIONS):
            self._find_parameters(cases[start : start + _MAX_TRIED_EXPRESSIONS], accepted)
        return {
            template: tuple(
                sorted(
                    {*range(len(literals))} - {*accepted[template]} | {*_find_patterns(template)}
                )
            )
            for template, literals in expressions
        }

    def _find_parameters(
        self, cases: Sequence[ParameterCase], accepted: dict[str, Sequence[int]]
    ) -> None:
        """Add to `accepted`, by template, the positions in `cases` that can be parameters."""
        if self._takes_parameters(cases):
            accepted |= {case.template: case.positions for case in cases}
        elif len(cases) > 1:
            half = len(cases) // 2
            self._find_parameters(cases[:half], accepted)
            self._find_parameters(cases[half:], accepted)
        else:
            (case,) = cases
            accepted[case.template] = self._find_some_parameters(case)

    def _find_some_parameters(self, case: ParameterCase) -> Sequence[int]:
        """Return those positions in a case that can be parameters, if not all can."""
        if self._is_printed_shortened(case):
            return ()

        def is_accepted(positions: Sequence[int]) -> bool:
            return self._takes_parameters([case._replace(positions=tuple(positions))])

        positions = find_accepted(case.positions, is_accepted)
        return positions if positions and is_accepted(positions) else ()

    def _limit_constant_patterns(self, split_texts: Iterable[SplitText]) -> None:
        """Make patterns parameters in the templates that have the most different ones.

        Spark compiles a constant pattern once, and a parameter again for each candidate. But the
        constant patterns of all subscriptions are part of each query plan.
        """
        variants: dict[str, set[tuple[str, ...]]] = {}
        examples: dict[str, tuple[str, ...]] = {}
        for template, literals in split_texts:
            fixed = self.facts[template].fixed
            if {*_find_patterns(template)} & {*fixed}:
                known = variants.setdefault(template, {*self.facts[template].results})
                known.add(tuple(literals[i] for i in fixed))
                examples[template] = literals
        free = _MAX_CONSTANT_PATTERNS
        for template in sorted(variants, key=lambda template: (len(variants[template]), template)):
            free -= len(variants[template])
            if free >= 0:
                continue
            facts, patterns = self.facts[template], {*_find_patterns(template)}
            parameters = {*range(len(examples[template]))} - {*facts.fixed} | patterns
            case = ParameterCase(template, examples[template], tuple(sorted(parameters)))
            if self._takes_parameters([case]):
                self.facts[template] = facts.with_parameters(patterns)

    def _is_printed_shortened(self, case: ParameterCase) -> bool:
        """Return whether Spark prints an expression without some parts, as those of a long list."""
        try:
            text = _fill_template(case.template, case.literals)
            return _SHORTENED in _read_analysed_plan(self._empty_events.select(F.expr(text)))
        except (PySparkException, Py4JJavaError, RecursionError):
            return True

    def _takes_parameters(self, cases: Sequence[ParameterCase]) -> bool:
        """Return whether in each case the literals at the given positions can be parameters."""
        texts: list[tuple[str, str]] = []
        fields: dict[str, StructField] = {}
        names: dict[str, str] = {}
        for template, literals, positions in cases:
            letters = MARKER.findall(template)
            samples, columns = list(literals), list(literals)
            for i in positions:
                letter = letters[i]
                name = f"{self._parameter}{letter}{i}"
                fields[name] = StructField(name, _PARAMETER_TYPES[PARAMETER_TYPES[letter]])
                samples[i], columns[i] = _SAMPLES[letter].format(i), f"`{name}`"
                printed = samples[i].strip("'D")
                # Spark casts a decimal to DOUBLE before it computes with it.
                names[f"cast({printed} as double)" if letter == "m" else printed] = name
            texts.append((_fill_template(template, samples), _fill_template(template, columns)))
            if "\n" in texts[-1][0] or "\\" in texts[-1][0]:
                return False  # Spark prints a literal with line breaks in several lines
        schema = StructType([*self._schema.fields, *fields.values()])
        try:
            events = self._spark.createDataFrame([], schema)
            expected, found = (
                _read_analysed_plan(
                    events.select(*(F.expr(text).alias(f"e{i}") for i, text in enumerate(group)))
                )
                for group in zip(*texts, strict=True)
            )
        except (PySparkException, Py4JJavaError, RecursionError):
            return False
        for printed, name in names.items():
            expected = expected.replace(printed, name)
        return expected == found and _SHORTENED not in found

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
                self._unknown_events.select(*columns).collect()
            else:
                empty = self._spark.sparkContext.emptyRDD()
                no_events = self._spark.createDataFrame(empty, self._schema)
                _generate_code(self._spark, no_events.select(*columns))
        except (PySparkException, Py4JJavaError) as error:
            _bisect_failure(expressions, error, results, self._refuse_unplannable)

    def _find_never_late(self, expressions: Sequence[str], found: set[str]) -> None:
        """Add to `found` the expressions that Spark cannot evaluate for candidates.

        Lambda functions cannot call functions written in Python, and candidates can have only
        columns that workers receive.
        """
        found |= {text for text in expressions if find_names(text) & self._uncarried_columns}
        rest = [text for text in expressions if text not in found]
        calls = [
            f"transform(array(1), {self._parameter} -> {text}) AS e{i}"
            for i, text in enumerate(rest)
        ]
        try:
            _ = self._empty_events.selectExpr(*calls).schema  # Spark Connect analyses only now
        except (PySparkException, Py4JJavaError, RecursionError):
            if len(rest) == 1:
                found.add(rest[0])
                return
            half = len(rest) // 2
            self._find_never_late(rest[:half], found)
            self._find_never_late(rest[half:], found)

    @cached_property
    def _parameter(self) -> str:
        """Start of the names of columns that stand for parameters; no column of events has it."""
        name = _PARAMETER
        while any(column.lower().startswith(name) for column in self._schema.names):
            name += "_"
        return name

    @cached_property
    def _uncarried_columns(self) -> set[str]:
        """Names, in lower case, of the columns that Spark cannot send to workers and back."""
        return {field.name.lower() for field in self._schema if not _is_carried(field.dataType)}

    @property
    def _empty_events(self) -> DataFrame:
        return self._spark.createDataFrame([], self._schema)

    @property
    def _unknown_events(self) -> DataFrame:
        """No events, which Spark does not know before it runs a job.

        A column that Spark cannot receive from workers is computed from nulls, in a way that Spark
        cannot do in advance.
        """
        carried = [field for field in self._schema if _is_carried(field.dataType)]
        position = StructField(self._parameter, IntegerType())
        received = StructType([*carried, position])
        rows = self._spark.range(0, 1, 1, 1).mapInArrow(_drop_rows_task, received)
        return rows.select(
            *(
                select_column(field.name)
                if field in carried
                else F.get(F.array(F.lit(None).cast(field.dataType)), F.col(position.name)).alias(
                    field.name
                )
                for field in self._schema
            )
        )


def find_accepted(
    positions: Sequence[int],
    is_accepted: Callable[[Sequence[int]], bool],
    *,
    max_trials: int = _MAX_TRIALS,
) -> list[int]:
    """Return positions that are accepted, after all of them together were not; ascending.

    Halves are tried, and halves of these, until only single positions are refused. After
    `max_trials` trials, the positions of groups that were not tried yet are left out.

    Cost: about 2 log2(n) trials for n positions of which one is refused.

    >>> find_accepted(range(8), lambda group: 5 not in group)
    [0, 1, 2, 3, 4, 6, 7]
    """
    accepted: list[int] = []
    groups = deque([positions])
    trials = -1  # the whole group is not tried again
    while groups and trials < max_trials:
        group = groups.popleft()
        trials += 1
        if trials and is_accepted(group):
            accepted += group
        elif len(group) > 1:
            half = len(group) // 2
            groups += (group[:half], group[half:])
    return sorted(accepted)


def _find_patterns(template: str) -> list[int]:
    r"""Return the positions of the literals of a template that are patterns.

    >>> _find_patterns("f(a, \0i) RLIKE \0s")
    [1]
    """
    pieces, letters = MARKER.split(template)[::2], MARKER.findall(template)
    return [i for i, letter in enumerate(letters) if letter == "s" and pieces[i].endswith("LIKE ")]


def _fill_template(template: str, values: Sequence[str]) -> str:
    """Return a template with values in place of its markers."""
    pieces = MARKER.split(template)[::2]
    return "".join(map("".join, zip(pieces, [*values, ""], strict=True)))


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


def _is_carried(data_type: DataType) -> bool:
    """Return whether Spark can send values of a type to workers and back, unchanged."""
    inner_types = _list_inner_types(data_type)
    return all(map(_is_carried, inner_types)) if inner_types else isinstance(data_type, _CARRIED)


_CARRIED = (BinaryType, BooleanType, DateType, NumericType, StringType, TimestampNTZType,
            TimestampType)  # fmt: skip


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
