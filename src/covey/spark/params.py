"""The parameters that `Matcher` and `MatcherModel` share, as Spark ML has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.sql.types import StructType

from covey.errors import SpaceError, ValueRefused
from covey.space import Limits

__all__ = ["MatcherParams"]

_OUTPUTS, _ON_ERRORS = ("pairs", "arrays"), ("collect", "fail")
_REPLICATIONS = ("pure", "smart")


def _schema(given: object) -> str:
    """A schema as JSON, so that it can be saved."""
    if isinstance(given, StructType):
        return given.json()
    if isinstance(given, str):
        return StructType.fromJson(json.loads(given)).json()
    raise ValueRefused(f"eventSchema is a StructType, as events.schema, not {given!r}")


def _one_of(name: str, choices: tuple[str, ...]) -> Any:
    def convert(given: object) -> str:
        if given not in choices:
            raise ValueRefused(f"{name} is {' or '.join(map(repr, choices))}, not {given!r}")
        return str(given)

    return convert


def _zones(given: object) -> str:
    if given == "auto":
        return "auto"
    if isinstance(given, bool) or not str(given).isdecimal() or int(str(given)) < 1:
        raise ValueRefused(f"zones is 'auto' or a number of zones, not {given!r}")
    return str(given)


def _ranges(given: object) -> dict[str, list[str]]:
    if not isinstance(given, Mapping) or not all(map(_is_two, given.values())):
        raise ValueRefused(f"rangeCols are two columns by attribute, not {given!r}")
    return {str(name): [str(end) for end in ends] for name, ends in given.items()}


def _is_two(ends: object) -> bool:
    return isinstance(ends, Sequence) and not isinstance(ends, str) and len(ends) == 2


def _vectors(given: object) -> dict[str, int]:
    if not isinstance(given, Mapping) or not all(map(_is_length, given.values())):
        raise ValueRefused(f"vectors are lengths by column, as {{'embedding': 384}}, not {given!r}")
    return {str(name): int(length) for name, length in given.items()}


def _limits(given: object) -> dict[str, Any]:
    """Limits as JSON has them, so that they can be saved."""
    try:
        if isinstance(given, Mapping):
            given = Limits.of(given)
        if isinstance(given, Limits):
            return {**asdict(given), "functions": list(given.functions)}
    except (TypeError, SpaceError) as error:
        raise ValueRefused(f"limits: {error}") from None
    raise ValueRefused(f"limits are those of covey.space.Limits, not {given!r}")


def _is_length(given: object) -> bool:
    return isinstance(given, int) and given > 0


class MatcherParams(Params):
    """See `Matcher` for what each of them means."""

    eventSchema: Param[str] = Param(
        Params._dummy(), "eventSchema", "the schema of the events", _schema
    )
    idCol: Param[str] = Param(
        Params._dummy(), "idCol", "the column with ids of subscriptions", TypeConverters.toString
    )
    predicateCol: Param[str] = Param(
        Params._dummy(), "predicateCol", "the column with predicates", TypeConverters.toString
    )
    rangeCols: Param[dict[str, list[str]]] = Param(
        Params._dummy(), "rangeCols", "by attribute, the columns of its two ends", _ranges
    )
    output: Param[str] = Param(
        Params._dummy(), "output", "pairs or arrays", _one_of("output", _OUTPUTS)
    )
    eventCols: Param[list[str]] = Param(
        Params._dummy(), "eventCols", "the columns of events to keep", TypeConverters.toListString
    )
    matchesCol: Param[str] = Param(
        Params._dummy(), "matchesCol", "the column with matched ids", TypeConverters.toString
    )
    onError: Param[str] = Param(
        Params._dummy(), "onError", "collect or fail", _one_of("onError", _ON_ERRORS)
    )
    vectors: Param[dict[str, int]] = Param(
        Params._dummy(), "vectors", "the lengths of vector columns", _vectors
    )
    maxDerived: Param[int] = Param(
        Params._dummy(),
        "maxDerived",
        "how many expressions to compute",
        TypeConverters.toInt,
    )
    limits: Param[dict[str, Any]] = Param(
        Params._dummy(), "limits", "what predicates may be", _limits
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
        Params._dummy(), "zones", "how many zones subscriptions are spread over", _zones
    )
    replication: Param[str] = Param(
        Params._dummy(),
        "replication",
        "pure or smart",
        _one_of("replication", _REPLICATIONS),
    )
    storePath: Param[str] = Param(
        Params._dummy(), "storePath", "where segments live before a save", TypeConverters.toString
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(
            idCol="id", predicateCol="predicate", output="pairs", onError="collect", vectors={},
            maxDerived=64, limits=_limits(Limits()), zones="1", replication="pure",
        )  # fmt: skip

    def given(self, param: Param[Any]) -> Any:
        """The value of a parameter, None if it has none."""
        return self.getOrDefault(param) if self.isDefined(param) else None

    def given_schema(self) -> StructType | None:
        """The schema of the events, if it was given."""
        text = self.given(self.eventSchema)
        return None if text is None else StructType.fromJson(json.loads(text))

    def given_limits(self) -> Limits:
        """The limits of predicates."""
        return Limits.of(self.given(self.limits))

    def has_lifetimes(self) -> bool:
        """Whether subscriptions say when they count."""
        return self.isDefined(self.validFromCol) or self.isDefined(self.validToCol)

    def output_name(self) -> str:
        """The column of matched ids."""
        if (name := self.given(self.matchesCol)) is not None:
            return str(name)
        return "matches" if self.given(self.output) == "arrays" else str(self.given(self.idCol))

    def _set_given(self, given: Mapping[str, Any]) -> None:
        """Sets what is given, which may be refused; None is nothing."""
        known = [param.name for param in self.params]
        if unknown := [name for name in given if name not in known]:
            raise ValueRefused(
                f"there is no parameter {', '.join(unknown)}, there is: {', '.join(known)}"
            )
        try:
            self._set(**{name: value for name, value in given.items() if value is not None})
        except TypeError as error:  # Spark's wrapping of what a converter says
            raise ValueRefused(str(error)) from None
