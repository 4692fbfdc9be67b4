"""A space: the attributes that events have and subscriptions constrain.

Read from an Arrow schema (Spark's `df.schema` arrives through Arrow too). With it go the session
settings under which predicates have their meaning, because `date > '2024-05-01'` depends on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import NoReturn

import pyarrow as pa

from covey._argument_checks import check_arguments, check_fields, format_value
from covey.errors import SchemaError
from covey.space.guard import build_computability_check, guard_expression
from covey.space.limits import PredicateLimits
from covey.space.time_zones import Clock, TimeZones, find_clock, is_system_zone
from covey.space.types import BOOLEAN, FLOAT, Type, type_from_arrow, vector_type

__all__ = ["Attribute", "SessionSettings", "Space"]


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """The Spark session settings that predicates depend on.

    `time_zone` is `spark.sql.session.timeZone`, `ansi` is `spark.sql.ansi.enabled`; `non_default`
    are settings by name that change what Spark computes, where they are not as by default.

    `zone_rules` are the rules of the time zone as Java has them, and `named_zones` the zones that
    texts may name (`'2024-05-31 18:30:00 Europe/Rome'`). Both come from a session of Spark; without
    them, Python's time zones are used as far as they agree with Java's (`covey.space.time_zones`).
    """

    time_zone: str = "UTC"
    ansi: bool = True
    non_default: tuple[tuple[str, str], ...] = ()
    zone_rules: bytes | None = field(default=None, repr=False)
    named_zones: TimeZones | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_fields(self, raises=SchemaError)
        if self.zone_rules is None and not is_system_zone(self.time_zone):
            raise SchemaError(
                f"no time zone {format_value(self.time_zone)}; write a region such as "
                "'Europe/Berlin' or 'UTC' "
                "(offsets such as '+02:00' are not read: 'Etc/GMT-2' is one)"
            )

    @property
    def clock(self) -> Clock:
        """The clock of the session.

        Raises:
            UncertainTimeError: the zone is one that is not read without Spark.
        """
        return find_clock(self.time_zone, self.zone_rules)

    def find_named_clock(self, zone: str) -> Clock | None:
        """Return the clock of a zone that a text names, or None if there is no such zone.

        Raises:
            UncertainTimeError: the zone is one that is not read without Spark.
        """
        if self.named_zones is None:
            return find_clock(zone, None)
        rules = self.named_zones.find_rules(zone)
        return None if rules is None else find_clock(zone, rules)

    def with_time_zones(self, zones: TimeZones | None) -> SessionSettings:
        """Return the same with the zones of a Java; rules that are known already stay."""
        if zones is None:
            return self
        rules = self.zone_rules or zones.find_session_rules(self.time_zone)
        return replace(self, zone_rules=rules, named_zones=zones)

    def agrees_with(self, other: SessionSettings) -> bool:
        """Whether predicates mean the same, as far as is known of the rules of the time zone."""
        mine, theirs = ((one.time_zone, one.ansi, one.non_default) for one in (self, other))
        return mine == theirs and (
            None in (self.zone_rules, other.zone_rules) or self.zone_rules == other.zone_rules
        )


@dataclass(frozen=True, slots=True)
class Attribute:
    """A named, typed dimension; a derived one is named by the Spark SQL text that computes it.

    A derived attribute that `can_raise` is computed so that it is null where Spark raises; its
    `flag_attribute` is another, which tells whether it does.
    """

    name: str
    type: Type
    is_derived: bool = False
    can_raise: bool = False
    is_flag: bool = False

    def __post_init__(self) -> None:
        check_fields(self, raises=SchemaError)

    @property
    def sql(self) -> str:
        """The expression that Spark computes for a derived attribute."""
        return guard_expression(self.name) if self.can_raise else self.name

    @property
    def flag(self) -> Attribute:
        """The attribute that tells whether Spark can compute this one without an exception."""
        return Attribute(
            build_computability_check(self.name), BOOLEAN, is_derived=True, is_flag=True
        )


_DEFAULT_LIMITS = PredicateLimits()


class _SpaceMeta(type):
    """Names the constructors of a space if code asks for another attribute of the class."""

    def __getattr__(cls, name: str) -> NoReturn:
        raise AttributeError(
            f"Space has no {name!r}: make a space with Space.from_arrow(table.schema), or with "
            "Space.from_types({'price': pa.float64()})",
            name=name,
            obj=cls,
        )


@dataclass(frozen=True, slots=True)
class Space(metaclass=_SpaceMeta):
    """The columns of an event, the derived attributes found so far, and the session settings.

    Immutable: `with_derived` gives a new space. Two spaces over one schema differ only in their
    derived attributes, and regions of either can be compared.

    >>> space = Space.from_types({"symbol": pa.string(), "price": pa.float64()})
    >>> [f"{a.name}: {a.type}" for a in space]
    ['symbol: string', 'price: double']
    """

    columns: tuple[Attribute, ...]
    derived: tuple[Attribute, ...] = ()
    settings: SessionSettings = SessionSettings()
    max_derived: int = 64
    limits: PredicateLimits = _DEFAULT_LIMITS
    _by_name: Mapping[str, Attribute] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self, raises=SchemaError)
        if self.max_derived < 0:
            raise SchemaError(f"max_derived must be at least 0, got {self.max_derived}")
        by_name: dict[str, Attribute] = {}
        for attribute in self.columns + self.derived:
            if attribute.name in by_name:
                raise SchemaError(f"two attributes are called {attribute.name!r}")
            by_name[attribute.name] = attribute
        count = sum(not attribute.is_flag for attribute in self.derived)
        if count > self.max_derived:
            raise SchemaError(
                f"{count} derived attributes, {self.max_derived} allowed: each is "
                "computed for every event; reuse expressions, or raise max_derived, which is "
                "maxDerived for a Matcher"
            )
        object.__setattr__(self, "_by_name", by_name)

    @classmethod
    @check_arguments(raises=SchemaError)
    def from_arrow(
        cls,
        schema: pa.Schema,
        *,
        vectors: Mapping[str, int] | None = None,
        settings: SessionSettings | None = None,
        max_derived: int = 64,
        limits: PredicateLimits | None = None,
    ) -> Space:
        """The space of an Arrow schema; `vectors` tells which `array<float>` are, and their length.

        Columns of other types stay: a derived attribute may read them.
        """
        if not isinstance(schema, pa.Schema):
            raise SchemaError(
                f"a space is read from an Arrow schema, not from {type(schema).__name__}"
            )
        lengths = dict(vectors or {})
        columns = []
        for arrow_field in schema:
            type_ = type_from_arrow(arrow_field.type)
            if arrow_field.name in lengths:
                length = lengths.pop(arrow_field.name)
                if type_.element != FLOAT or type_.length not in (0, length) or length < 1:
                    raise SchemaError(
                        f"column {arrow_field.name!r} is {type_}, no vector of {length} floats"
                    )
                type_ = vector_type(length)
            columns.append(Attribute(arrow_field.name, type_))
        if lengths:
            raise SchemaError(
                f"vectors names {', '.join(map(repr, lengths))}, but the schema has no such column"
            )
        return cls(
            tuple(columns), settings=settings or SessionSettings(), max_derived=max_derived,
            limits=limits or PredicateLimits(),
        )  # fmt: skip

    @classmethod
    @check_arguments(raises=SchemaError)
    def from_types(
        cls,
        types: Mapping[str, pa.DataType],
        *,
        vectors: Mapping[str, int] | None = None,
        settings: SessionSettings | None = None,
        max_derived: int = 64,
        limits: PredicateLimits | None = None,
    ) -> Space:
        """The space of columns given by name: `Space.from_types({"price": pa.float64()})`."""
        try:
            schema = pa.schema(list(types.items()))
        except (AttributeError, TypeError) as error:
            raise SchemaError(
                f"columns are Arrow types by name, as {{'price': pa.float64()}}: {error}"
            ) from None
        return cls.from_arrow(
            schema, vectors=vectors, settings=settings, max_derived=max_derived, limits=limits
        )

    def __iter__(self) -> Iterator[Attribute]:
        return (a for a in self.columns + self.derived if a.type.is_attribute)

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            raise SchemaError(f"the space has no attribute {name!r}") from None

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def without_derived(self) -> Space:
        """The columns and settings alone: what predicates are parsed in."""
        return replace(self, derived=()) if self.derived else self

    def with_derived(self, *attributes: Attribute) -> Space:
        """This space with further derived attributes; those it has already are not added twice."""
        for attribute in attributes:
            if attribute.name in self._by_name and not self._by_name[attribute.name].is_derived:
                raise SchemaError(
                    f"{attribute.name!r} is an expression and the name of a column too: rename the "
                    "column"
                )
        by_name = {a.name: a for a in attributes if a.name not in self._by_name}
        new = tuple(by_name.values())
        return replace(self, derived=self.derived + new) if new else self
