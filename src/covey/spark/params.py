"""Parameters that `Matcher` and `MatcherModel` share, with getters and setters as in Spark ML.

The class docstring of `Matcher` explains each parameter. A getter returns the value or the default,
and raises `KeyError` if there is neither, like the getters of Spark ML.
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
    """Return a schema as JSON, the form in which Spark ML saves it."""
    if isinstance(value, StructType):
        return value.json()
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return StructType.fromJson(json.loads(value)).json()
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, PySparkException):
            raise _schema_error(value, "the JSON does not describe a StructType") from None
    if isinstance(value, str):
        try:
            schema = StructType.fromDDL(value)
        except PySparkException as error:
            if error.getCondition() == "SESSION_OR_CONTEXT_NOT_EXISTS":
                raise _schema_error(
                    value, "a text can be parsed only if a Spark session is active"
                ) from None
            raise _schema_error(value, str(error).strip().splitlines()[0]) from None
        if isinstance(schema, StructType):
            return schema.json()
        raise _schema_error(value, "the text is a type without a column name")
    raise _schema_error(value, "the value is neither a StructType nor a text")


def _schema_error(value: object, reason: str) -> InvalidArgumentError:
    return InvalidArgumentError(
        "eventSchema must be a StructType such as events.schema, or a text such as 'symbol STRING, "
        f"price DOUBLE', got {format_value(value)}: {reason}"
    )


def _is_whole_number(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of Python or NumPy, but not a Boolean."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogate, so that it can be sent to Java."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _choice_converter(name: str, choices: tuple[str, ...]) -> Any:
    def convert(value: object) -> str:
        if isinstance(value, str) and value in choices:
            return value
        raise InvalidArgumentError(
            f"{name} must be {' or '.join(map(repr, choices))}, got {format_value(value)}"
        )

    return convert


def _to_zones_text(value: object) -> str:
    if isinstance(value, str) and value == "auto":
        return "auto"
    if isinstance(value, str) or _is_whole_number(value):
        number = parse_whole_number(str(value))
        if number:
            return str(number)
    raise InvalidArgumentError(
        f"zones must be 'auto' or a whole number of at least 1, got {format_value(value)}"
    )


def _to_range_columns(value: object) -> dict[str, list[str]]:
    if not isinstance(value, Mapping) or not all(map(_is_column_pair, value.values())):
        raise InvalidArgumentError(
            "rangeCols must name two columns for each attribute, such as "
            f"{{'price': ('low', 'high')}}, got {format_value(value)}"
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
            "vectors must map each vector column to its number of elements, which is at least 1, "
            f"such as {{'embedding': 384}}, got {format_value(value)}"
        )
    return {str(name): int(length) for name, length in value.items()}


def _to_limits_json(value: object) -> dict[str, Any]:
    """Return limits as JSON values, the form in which Spark ML saves them."""
    try:
        if isinstance(value, Mapping):
            value = PredicateLimits.from_dict(value)
        if isinstance(value, PredicateLimits):
            return {**asdict(value), "functions": list(value.functions)}
    except (TypeError, SchemaError) as error:
        raise InvalidArgumentError(f"limits: {error}") from None
    raise InvalidArgumentError(
        "limits must be a covey.space.PredicateLimits or a dict of its fields, "
        f"got {format_value(value)}"
    )


def _is_vector_length(value: object) -> bool:
    return _is_whole_number(value) and 0 < value < 1 << 31


class MatcherParams(Params):
    """Parameters of `Matcher` and `MatcherModel`; `Matcher` explains each of them."""

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
        Params._dummy(),
        "rangeCols",
        "for each attribute the columns of the lower and the upper end",
        _to_range_columns,
    )
    outputMode: Param[str] = Param(
        Params._dummy(),
        "outputMode",
        "form of the output: pairs or arrays",
        _choice_converter("outputMode", _OUTPUT_MODES),
    )
    eventCols: Param[list[str]] = Param(
        Params._dummy(),
        "eventCols",
        "the columns of events in the output",
        TypeConverters.toListString,
    )
    outputCol: Param[str] = Param(
        Params._dummy(), "outputCol", "the column with matched ids", TypeConverters.toString
    )
    handleInvalid: Param[str] = Param(
        Params._dummy(),
        "handleInvalid",
        "what fit does with an invalid predicate: skip or error",
        _choice_converter("handleInvalid", _HANDLE_INVALID),
    )
    vectors: Param[dict[str, int]] = Param(
        Params._dummy(), "vectors", "the length of each vector column", _to_vector_lengths
    )
    limits: Param[dict[str, Any]] = Param(
        Params._dummy(), "limits", "the limits of predicates", _to_limits_json
    )
    validFromCol: Param[str] = Param(
        Params._dummy(),
        "validFromCol",
        "the column with the start of the validity interval",
        TypeConverters.toString,
    )
    validToCol: Param[str] = Param(
        Params._dummy(),
        "validToCol",
        "the column with the end of the validity interval",
        TypeConverters.toString,
    )
    eventTimeCol: Param[str] = Param(
        Params._dummy(), "eventTimeCol", "the column with the time of events",
        TypeConverters.toString,
    )  # fmt: skip
    zones: Param[str] = Param(
        Params._dummy(),
        "zones",
        "the number of zones over which subscriptions are spread, or auto",
        _to_zones_text,
    )
    replication: Param[str] = Param(
        Params._dummy(),
        "replication",
        "the replication of subscriptions over zones: pure or smart",
        _choice_converter("replication", _REPLICATIONS),
    )
    storePath: Param[str] = Param(
        Params._dummy(),
        "storePath",
        "the folder in which segments are stored until the model is saved",
        TypeConverters.toString,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            idCol="id",
            predicateCol="predicate",
            outputMode="pairs",
            handleInvalid="skip",
            vectors={},
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
        """Return for each attribute the columns with the two ends of its interval."""
        return self.getOrDefault(self.rangeCols)

    def getOutputMode(self) -> str:
        """Return the form of the output: `pairs` or `arrays`."""
        return self.getOrDefault(self.outputMode)

    def getEventCols(self) -> list[str]:
        """Return the columns of events in the output."""
        return self.getOrDefault(self.eventCols)

    def getOutputCol(self) -> str:
        """Return the column with matched ids."""
        return self._output_col_name()

    def getHandleInvalid(self) -> str:
        """Return what `fit` does with an invalid predicate: `skip` or `error`."""
        return self.getOrDefault(self.handleInvalid)

    def getVectors(self) -> dict[str, int]:
        """Return the number of elements of each vector column."""
        return self.getOrDefault(self.vectors)

    def getLimits(self) -> PredicateLimits:
        """Return the limits of predicates."""
        return self._predicate_limits()

    def getValidFromCol(self) -> str:
        """Return the column with the start of the validity interval, which is included."""
        return self.getOrDefault(self.validFromCol)

    def getValidToCol(self) -> str:
        """Return the column with the end of the validity interval, which is excluded."""
        return self.getOrDefault(self.validToCol)

    def getEventTimeCol(self) -> str:
        """Return the column with the time of events."""
        return self.getOrDefault(self.eventTimeCol)

    def getZones(self) -> str:
        """Return the number of zones as a text, or `auto`."""
        return self.getOrDefault(self.zones)

    def getReplication(self) -> str:
        """Return the replication of subscriptions over zones: `pure` or `smart`."""
        return self.getOrDefault(self.replication)

    def getStorePath(self) -> str:
        """Return the folder in which segments are stored until the model is saved."""
        return self.getOrDefault(self.storePath)

    def setOutputMode(self, value: str) -> Self:
        """Set the form of the output: `pairs` or `arrays`."""
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
        """Return the value of a parameter or its default, or None if it has neither."""
        return self.getOrDefault(param) if self.isDefined(param) else None

    def _event_schema(self) -> StructType | None:
        """Return the schema of the events, or None if it is not set."""
        text = self._param_value(self.eventSchema)
        return None if text is None else StructType.fromJson(json.loads(text))

    def _predicate_limits(self) -> PredicateLimits:
        """Return the limits of predicates."""
        return PredicateLimits.from_dict(self._param_value(self.limits))

    def _has_validity(self) -> bool:
        """Return whether subscriptions have validity intervals."""
        return self.isDefined(self.validFromCol) or self.isDefined(self.validToCol)

    def _output_col_name(self) -> str:
        """Return the name of the column with matched ids.

        By default it is `matches` for arrays, and the name of the id column for pairs.
        """
        if (name := self._param_value(self.outputCol)) is not None:
            return str(name)
        return (
            "matches"
            if self._param_value(self.outputMode) == "arrays"
            else str(self._param_value(self.idCol))
        )

    def _set_validated(self, values: Mapping[str, Any]) -> Self:
        """Set parameters by name; a value of None leaves the parameter unchanged."""
        names = [param.name for param in self.params]
        if unknown := [name for name in values if name not in names]:
            raise InvalidArgumentError(
                f"there is no parameter {', '.join(unknown)}: use one of {', '.join(names)}"
            )
        for name, value in values.items():
            if isinstance(value, str) and not _is_unicode(value):
                raise InvalidArgumentError(
                    f"{name} must be valid Unicode text, got {format_value(value)}"
                )
        try:
            self._set(**{name: value for name, value in values.items() if value is not None})
        except InvalidArgumentError:
            raise
        except (TypeError, ValueError) as error:  # Spark wraps the errors of converters
            raise InvalidArgumentError(str(error)) from None
        return self
