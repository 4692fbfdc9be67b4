"""Spaces: the attributes that events have and that subscriptions constrain.

A space is built from an Arrow schema (Spark's `df.schema` is converted to Arrow first). It includes
the session settings on which the meaning of predicates depends. For example, if `at` is a
timestamp, the meaning of `at > '2024-05-01'` depends on the session's time zone.
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
from covey.space.types import BOOLEAN, FLOAT, TAGS, Type, type_from_arrow, vector_type

__all__ = ["LATE", "Attribute", "SessionSettings", "Space"]

LATE = "covey.late"
"""Name of the attribute whose required tokens are the late conditions of a region.

Every space has this attribute, but events have no values of it: Spark evaluates a late condition
only for the events that satisfy all other constraints of the region.
"""


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Spark session settings that change the meaning of predicates.

    Args:
        time_zone: value of `spark.sql.session.timeZone`.
        ansi: value of `spark.sql.ansi.enabled`.
        non_default: names and values of other settings that change results and differ from
            Spark's default.
        zone_rules: the rules of the time zone, as Java serializes them.
        named_zones: time zones that texts may name, as in `'2024-05-31 18:30:00 Europe/Rome'`.

    `zone_rules` and `named_zones` are read from a Spark session. Without them, Python's time zones
    are used for times on which they agree with Java's (`covey.space.time_zones`).
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
                f"the session's time zone {format_value(self.time_zone)} is unknown: use a region "
                "such as 'Europe/Berlin', or 'UTC'; instead of an offset such as '+02:00', use "
                "'Etc/GMT-2'"
            )

    @property
    def clock(self) -> Clock:
        """Clock of the session's time zone.

        Raises:
            UncertainTimeError: `zone_rules` is None, and Java may not know the zone.
        """
        return find_clock(self.time_zone, self.zone_rules)

    def find_named_clock(self, zone: str) -> Clock | None:
        """Return the clock of a zone in a time literal, or None if Java has no such zone.

        Raises:
            UncertainTimeError: `named_zones` is None, and Java or Python may not know the zone.
        """
        if self.named_zones is None:
            return find_clock(zone, None)
        rules = self.named_zones.find_rules(zone)
        return None if rules is None else find_clock(zone, rules)

    def with_time_zones(self, zones: TimeZones | None) -> SessionSettings:
        """Return these settings with Java's time zones; existing `zone_rules` are kept.

        If `zones` is None, return these settings unchanged.
        """
        if zones is None:
            return self
        rules = self.zone_rules or zones.find_session_rules(self.time_zone)
        return replace(self, zone_rules=rules, named_zones=zones)

    def agrees_with(self, other: SessionSettings) -> bool:
        """Return whether predicates mean the same under both settings.

        Time zone rules are compared only if both settings have them.
        """
        values, other_values = (
            (each.time_zone, each.ansi, each.non_default) for each in (self, other)
        )
        return values == other_values and (
            None in (self.zone_rules, other.zone_rules) or self.zone_rules == other.zone_rules
        )


@dataclass(frozen=True, slots=True)
class Attribute:
    """Named, typed dimension of events: a column or a derived attribute.

    Args:
        name: name of the column, or the Spark SQL text that computes a derived attribute.
        type: type of the values.
        is_derived: whether Spark computes the values.
        can_raise: whether Spark may raise an exception when it computes a value. For an event on
            which it would raise, the attribute is null, and `flag` distinguishes this null from a
            real null.
        is_flag: whether the attribute is the `flag` of another attribute.
        is_late: whether the attribute is the template of late conditions. Spark evaluates it only
            for candidates, and it is not an attribute of events.
        try_form: for an attribute that can raise, Spark SQL with the same type and values, which
            is null where Spark would raise an exception; None if no such SQL is known.
    """

    name: str
    type: Type
    is_derived: bool = False
    can_raise: bool = False
    is_flag: bool = False
    is_late: bool = False
    try_form: str | None = None

    def __post_init__(self) -> None:
        check_fields(self, raises=SchemaError)

    @property
    def is_guarded(self) -> bool:
        """Whether Spark may raise an exception, and no try form is known."""
        return self.can_raise and self.try_form is None

    @property
    def sql(self) -> str:
        """Expression that Spark computes for a derived attribute; it never raises."""
        return guard_expression(self.name) if self.is_guarded else self.try_form or self.name

    def negate(self) -> Attribute:
        """Return the derived attribute of the opposite condition."""
        try_form = None if self.try_form is None else f"NOT ({self.try_form})"
        return replace(self, name=f"NOT ({self.name})", try_form=try_form)

    @property
    def flag(self) -> Attribute:
        """Boolean attribute that is true if Spark can compute this attribute for an event."""
        return Attribute(
            build_computability_check(self.name), BOOLEAN, is_derived=True, is_flag=True
        )


_DEFAULT_LIMITS = PredicateLimits()
_LATE_ATTRIBUTE = Attribute(LATE, TAGS, is_derived=True)
_MAX_SHOWN_NAMES = 8  # names of attributes in a message


class _SpaceMeta(type):
    """Metaclass of `Space`: an error for an unknown class attribute names the constructors."""

    def __getattr__(cls, name: str) -> NoReturn:
        raise AttributeError(
            f"Space has no {name!r}: make a space with Space.from_arrow(table.schema), or with "
            "Space.from_types({'price': pa.float64()})",
            name=name,
            obj=cls,
        )


@dataclass(frozen=True, slots=True)
class Space(metaclass=_SpaceMeta):
    """All attributes of events, with the session settings and the limits of predicates.

    Iteration yields the attributes that subscriptions can constrain, columns first. A space is
    immutable: `with_derived` returns a new one. If two spaces differ only in their derived
    attributes, regions of one can be compared with regions of the other.

    Args:
        columns: the columns of events, including columns that cannot be attributes.
        derived: the derived attributes of the predicates that were parsed so far, with their flags.
        settings: session settings on which the meaning of predicates depends.
        limits: limits of predicates.

    >>> space = Space.from_types({"symbol": pa.string(), "price": pa.float64()})
    >>> [f"{a.name}: {a.type}" for a in space]
    ['symbol: string', 'price: double']
    """

    columns: tuple[Attribute, ...]
    derived: tuple[Attribute, ...] = ()
    settings: SessionSettings = SessionSettings()
    limits: PredicateLimits = _DEFAULT_LIMITS
    _by_name: Mapping[str, Attribute] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_fields(self, raises=SchemaError)
        by_name = {LATE: _LATE_ATTRIBUTE}
        for attribute in self.columns + self.derived:
            if attribute.is_late:
                continue
            if attribute.name in by_name:
                raise SchemaError(f"two attributes are called {attribute.name!r}: rename one")
            by_name[attribute.name] = attribute
        object.__setattr__(self, "_by_name", by_name)

    @classmethod
    @check_arguments(raises=SchemaError)
    def from_arrow(
        cls,
        schema: pa.Schema,
        *,
        vectors: Mapping[str, int] | None = None,
        settings: SessionSettings | None = None,
        limits: PredicateLimits | None = None,
    ) -> Space:
        """Return the space of an Arrow schema.

        Args:
            schema: columns of events. Columns that cannot be attributes are kept, because derived
                attributes may read them.
            vectors: lengths of the `array<float>` columns that are vectors, by column name.
            settings: session settings; default: UTC and ANSI mode.
            limits: limits of predicates; default: `PredicateLimits()`.

        Raises:
            SchemaError: two columns have the same name, or a column in `vectors` is missing or is
                not a vector of the given length.
        """
        if not isinstance(schema, pa.Schema):
            raise SchemaError(
                f"schema must be an Arrow schema such as table.schema, got {type(schema).__name__}"
            )
        lengths = dict(vectors or {})
        columns = []
        for arrow_field in schema:
            type_ = type_from_arrow(arrow_field.type)
            if arrow_field.name in lengths:
                length = lengths.pop(arrow_field.name)
                if type_.element != FLOAT or type_.length not in (0, length) or length < 1:
                    raise SchemaError(
                        f"column {arrow_field.name!r} is {type_}, not a vector of {length} floats: "
                        "correct its entry in vectors, or make it array<float>"
                    )
                type_ = vector_type(length)
            columns.append(Attribute(arrow_field.name, type_))
        if lengths:
            missing = ", ".join(map(repr, lengths))
            raise SchemaError(
                f"vectors names columns that the schema does not have: {missing}; the columns are "
                f"{', '.join(schema.names)}"
            )
        return cls(
            tuple(columns),
            settings=settings or SessionSettings(),
            limits=limits or PredicateLimits(),
        )

    @classmethod
    @check_arguments(raises=SchemaError)
    def from_types(
        cls,
        types: Mapping[str, pa.DataType],
        *,
        vectors: Mapping[str, int] | None = None,
        settings: SessionSettings | None = None,
        limits: PredicateLimits | None = None,
    ) -> Space:
        """Return the space of columns with these names and types.

        Args:
            types: Arrow types by column name, in the order of the columns.
            vectors: lengths of the `array<float>` columns that are vectors, by column name.
            settings: session settings; default: UTC and ANSI mode.
            limits: limits of predicates; default: `PredicateLimits()`.

        Raises:
            SchemaError: a value in `types` is not an Arrow type, or a column in `vectors` is
                missing or is not a vector of the given length.
        """
        try:
            schema = pa.schema(list(types.items()))
        except (AttributeError, TypeError) as error:
            raise SchemaError(
                f"types must be Arrow types by name, such as {{'price': pa.float64()}}: {error}"
            ) from None
        return cls.from_arrow(schema, vectors=vectors, settings=settings, limits=limits)

    def __iter__(self) -> Iterator[Attribute]:
        return (a for a in self.columns + self.derived if a.type.is_attribute and not a.is_late)

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._by_name[name]
        except (KeyError, TypeError):
            names = [attribute.name for attribute in self]
            shown = ", ".join(names[:_MAX_SHOWN_NAMES]) or "none"
            more = "…" if len(names) > _MAX_SHOWN_NAMES else ""
            raise SchemaError(
                f"the space has no attribute {name!r}: its attributes are {shown}{more}"
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    @property
    def without_derived(self) -> Space:
        """This space without its derived attributes; predicates are parsed in such a space."""
        return replace(self, derived=()) if self.derived else self

    def with_derived(self, *attributes: Attribute) -> Space:
        """Return this space with further derived attributes; those that it already has are ignored.

        A template of late conditions may have the name of another attribute.

        Raises:
            SchemaError: a column has the name of a derived attribute.
        """
        for attribute in attributes:
            known = None if attribute.is_late else self._by_name.get(attribute.name)
            if known is not None and not known.is_derived:
                raise SchemaError(
                    f"{attribute.name!r} is both an expression and the name of a column: rename "
                    "the column"
                )
        known_names = {(a.name, a.is_late) for a in self.derived}
        new = {(a.name, a.is_late): a for a in attributes}
        added = tuple(attribute for key, attribute in new.items() if key not in known_names)
        return replace(self, derived=self.derived + added) if added else self
