"""Parameters that `Matcher` and `MatcherModel` share, with accessors as Spark ML has them.

The class docstring of `Matcher` says what each parameter means. A getter returns the value or its
default, and raises `KeyError` if there is neither, as those of Spark ML do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from numbers import Integral
from typing import Any, Self, TypeGuard

from pyspark.errors import PySparkException
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.sql.types import StructType

from covey._argument_checks import format_value, parse_whole_number
from covey.errors import InvalidArgumentError, SchemaError
from covey.space import PredicateLimits

__all__ = ["MatcherParams"]

_OUTPUT_MODES, _HANDLE_INVALID = ("pairs", "arrays"), ("skip", "error")
_REPLICATIONS = ("pure", "smart")


def _to_schema_json(value: object) -> str:
    """A schema as JSON, so that it can be saved."""
    if isinstance(value, StructType):
        return value.json()
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return StructType.fromJson(json.loads(value)).json()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, PySparkException):
            raise _schema_error(value, "its JSON is not that of a StructType") from None
    if isinstance(value, str):
        try:
            schema = StructType.fromDDL(value)
        except PySparkException as error:
            if error.getCondition() == "SESSION_OR_CONTEXT_NOT_EXISTS":
                raise _schema_error(value, "without a Spark session no text is read") from None
            raise _schema_error(value, str(error).strip().splitlines()[0]) from None
        if isinstance(schema, StructType):
            return schema.json()
        raise _schema_error(value, "it is one type without a name")
    raise _schema_error(value, "it is neither a StructType nor a text")


def _schema_error(value: object, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"eventSchema is a StructType, as events.schema, or columns as 'symbol STRING, price "
        f"DOUBLE', not {format_value(value)}: {reason}"
    )


def _is_whole_number(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number, of NumPy's too."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_unicode(text: str) -> bool:
    """Whether Java can be told a text: one with a lone surrogate it cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _choice_converter(name: str, choices: tuple[str, ...]) -> Any:
    def convert(given: object) -> str:
        if isinstance(given, str) and given in choices:
            return given
        raise InvalidArgumentError(
            f"{name} is {' or '.join(map(repr, choices))}, not {format_value(given)}"
        )

    return convert


def _to_zones_text(value: object) -> str:
    if isinstance(value, str) and value == "auto":
        return "auto"
    if isinstance(value, str) or _is_whole_number(value):
        number = parse_whole_number(str(value))
        if number:
            return str(number)
    raise InvalidArgumentError(f"zones is 'auto' or a number of zones, not {format_value(value)}")


def _to_range_columns(value: object) -> dict[str, list[str]]:
    if not isinstance(value, Mapping) or not all(map(_is_column_pair, value.values())):
        raise InvalidArgumentError(
            f"rangeCols are two columns by attribute, not {format_value(value)}"
        )
    return {str(name): [str(end) for end in ends] for name, ends in value.items()}


def _is_column_pair(ends: object) -> bool:
    return (
        isinstance(ends, list | tuple)
        and len(ends) == 2
        and all(isinstance(end, str) for end in ends)
    )


def _to_vector_lengths(value: object) -> dict[str, int]:
    if not isinstance(value, Mapping) or not all(map(_is_vector_length, value.values())):
        raise InvalidArgumentError(
            f"vectors are lengths by column, as {{'embedding': 384}}, not {format_value(value)}"
        )
    return {str(name): int(length) for name, length in value.items()}


def _to_max_derived(value: object) -> int:
    if _is_whole_number(value) and 0 <= value < 1 << 31:
        return int(value)
    raise InvalidArgumentError(
        f"maxDerived is a whole number of expressions from 0 on, not {format_value(value)}"
    )


def _to_limits_json(value: object) -> dict[str, Any]:
    """Limits as JSON has them, so that they can be saved."""
    try:
        if isinstance(value, Mapping):
            value = PredicateLimits.from_dict(value)
        if isinstance(value, PredicateLimits):
            return {**asdict(value), "functions": list(value.functions)}
    except (TypeError, SchemaError) as error:
        raise InvalidArgumentError(f"limits: {error}") from None
    raise InvalidArgumentError(
        f"limits are those of covey.space.PredicateLimits, not {format_value(value)}"
    )


def _is_vector_length(value: object) -> bool:
    return _is_whole_number(value) and 0 < value < 1 << 31


class MatcherParams(Params):
    """See `Matcher` for what each of them means."""

    eventSchema: Param[str] = Param(
        Params._dummy(), "eventSchema", "the schema of the events", _to_schema_json
    )
    idCol: Param[str] = Param(
        Params._dummy(), "idCol", "the column with ids of subscriptions", TypeConverters.toString
    )
    predicateCol: Param[str] = Param(
        Params._dummy(), "predicateCol", "the column with predicates", TypeConverters.toString
    )
    rangeCols: Param[dict[str, list[str]]] = Param(
        Params._dummy(), "rangeCols", "by attribute, the columns of its two ends", _to_range_columns
    )
    outputMode: Param[str] = Param(
        Params._dummy(),
        "outputMode",
        "pairs or arrays",
        _choice_converter("outputMode", _OUTPUT_MODES),
    )
    eventCols: Param[list[str]] = Param(
        Params._dummy(), "eventCols", "the columns of events to keep", TypeConverters.toListString
    )
    outputCol: Param[str] = Param(
        Params._dummy(), "outputCol", "the column with matched ids", TypeConverters.toString
    )
    handleInvalid: Param[str] = Param(
        Params._dummy(),
        "handleInvalid",
        "skip or error",
        _choice_converter("handleInvalid", _HANDLE_INVALID),
    )
    vectors: Param[dict[str, int]] = Param(
        Params._dummy(), "vectors", "the lengths of vector columns", _to_vector_lengths
    )
    maxDerived: Param[int] = Param(
        Params._dummy(),
        "maxDerived",
        "how many expressions to compute",
        _to_max_derived,
    )
    limits: Param[dict[str, Any]] = Param(
        Params._dummy(), "limits", "what predicates may be", _to_limits_json
    )
    validFromCol: Param[str] = Param(
        Params._dummy(), "validFromCol", "from when a subscription counts", TypeConverters.toString
    )
    validToCol: Param[str] = Param(
        Params._dummy(), "validToCol", "until when a subscription counts", TypeConverters.toString
    )
    eventTimeCol: Param[str] = Param(
        Params._dummy(), "eventTimeCol", "the time of events", TypeConverters.toString
    )
    zones: Param[str] = Param(
        Params._dummy(), "zones", "how many zones subscriptions are spread over", _to_zones_text
    )
    replication: Param[str] = Param(
        Params._dummy(),
        "replication",
        "pure or smart",
        _choice_converter("replication", _REPLICATIONS),
    )
    storePath: Param[str] = Param(
        Params._dummy(), "storePath", "where segments live before a save", TypeConverters.toString
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            idCol="id",
            predicateCol="predicate",
            outputMode="pairs",
            handleInvalid="skip",
            vectors={},
            maxDerived=64,
            limits=_to_limits_json(PredicateLimits()),
            zones="1",
            replication="pure",
        )

    def getEventSchema(self) -> StructType:
        """Return the schema of events."""
        return StructType.fromJson(json.loads(self.getOrDefault(self.eventSchema)))

    def getIdCol(self) -> str:
        """Return the column with ids of subscriptions."""
        return self.getOrDefault(self.idCol)

    def getPredicateCol(self) -> str:
        """Return the column with predicates."""
        return self.getOrDefault(self.predicateCol)

    def getRangeCols(self) -> dict[str, list[str]]:
        """Return the columns of the two ends, by attribute."""
        return self.getOrDefault(self.rangeCols)

    def getOutputMode(self) -> str:
        """Return `pairs` or `arrays`."""
        return self.getOrDefault(self.outputMode)

    def getEventCols(self) -> list[str]:
        """Return the columns of events in the output."""
        return self.getOrDefault(self.eventCols)

    def getOutputCol(self) -> str:
        """Return the column with matched ids."""
        return self._output_col_name()

    def getHandleInvalid(self) -> str:
        """Return `skip` or `error`: what `fit` does with a wrong predicate."""
        return self.getOrDefault(self.handleInvalid)

    def getVectors(self) -> dict[str, int]:
        """Return the lengths of vector columns."""
        return self.getOrDefault(self.vectors)

    def getMaxDerived(self) -> int:
        """Return the largest number of derived attributes."""
        return self.getOrDefault(self.maxDerived)

    def getLimits(self) -> PredicateLimits:
        """Return the limits for predicates."""
        return self._predicate_limits()

    def getValidFromCol(self) -> str:
        """Return the column with the start of validity."""
        return self.getOrDefault(self.validFromCol)

    def getValidToCol(self) -> str:
        """Return the column with the end of validity."""
        return self.getOrDefault(self.validToCol)

    def getEventTimeCol(self) -> str:
        """Return the column with the time of events."""
        return self.getOrDefault(self.eventTimeCol)

    def getZones(self) -> str:
        """Return the number of zones, or `auto`."""
        return self.getOrDefault(self.zones)

    def getReplication(self) -> str:
        """Return `pure` or `smart`."""
        return self.getOrDefault(self.replication)

    def getStorePath(self) -> str:
        """Return the folder for segments that are not saved yet."""
        return self.getOrDefault(self.storePath)

    def setOutputMode(self, value: str) -> Self:
        """Set `pairs` or `arrays`."""
        return self._set_validated({"outputMode": value})

    def setEventCols(self, value: Sequence[str]) -> Self:
        """Set the columns of events in the output."""
        return self._set_validated({"eventCols": value})

    def setOutputCol(self, value: str) -> Self:
        """Set the column with matched ids."""
        return self._set_validated({"outputCol": value})

    def setEventTimeCol(self, value: str) -> Self:
        """Set the column with the time of events."""
        return self._set_validated({"eventTimeCol": value})

    def _param_value(self, param: Param[Any]) -> Any:
        """The value of a parameter, None if it has none."""
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _event_schema(self) -> StructType | None:
        """The schema of the events, if it was given."""
        text = self._param_value(self.eventSchema)
        return None if text is None else StructType.fromJson(json.loads(text))

    def _predicate_limits(self) -> PredicateLimits:
        """The limits of predicates."""
        return PredicateLimits.from_dict(self._param_value(self.limits))

    def _has_validity(self) -> bool:
        """Whether subscriptions say when they count."""
        return self.isDefined(self.validFromCol) or self.isDefined(self.validToCol)

    def _output_col_name(self) -> str:
        """The column of matched ids."""
        if (name := self._param_value(self.outputCol)) is not None:
            return str(name)
        return (
            "matches"
            if self._param_value(self.outputMode) == "arrays"
            else str(self._param_value(self.idCol))
        )

    def _set_validated(self, values: Mapping[str, Any]) -> Self:
        """Set parameters by name; None leaves a parameter as it is."""
        known = [param.name for param in self.params]
        if unknown := [name for name in values if name not in known]:
            raise InvalidArgumentError(
                f"there is no parameter {', '.join(unknown)}, there is: {', '.join(known)}"
            )
        for name, value in values.items():
            if isinstance(value, str) and not _is_unicode(value):
                raise InvalidArgumentError(f"{name} is no text of Unicode: {format_value(value)}")
        try:
            self._set(**{name: value for name, value in values.items() if value is not None})
        except InvalidArgumentError:
            raise
        except (TypeError, ValueError) as error:  # Spark's wrapping of what a converter says
            raise InvalidArgumentError(str(error)) from None
        return self
