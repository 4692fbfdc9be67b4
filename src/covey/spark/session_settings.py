"""Session settings of Spark that change the meaning of predicates.

Some settings change how a predicate is parsed. covey parses predicates like Spark with default
settings, so these settings must have their defaults. Other settings change the values of
expressions: they are recorded with the subscriptions, and a session that matches events must have
the same values. `tests/spark/test_session_settings.py` checks that no setting is missing in the two
groups: it sets each setting of Spark to another value.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from pyspark.sql import SparkSession

from covey.errors import SchemaError
from covey.space import SessionSettings, Space
from covey.space.time_zones import TimeZones
from covey.spark.java_time_zones import read_time_zones

__all__ = [
    "RECORDED_SETTINGS",
    "REQUIRED_SETTINGS",
    "SettingValues",
    "check_session_settings",
    "describe_setting_changes",
    "read_session_settings",
    "read_setting_values",
    "with_time_zones",
]

REQUIRED_SETTINGS = {
    "spark.sql.ansi.doubleQuotedIdentifiers": "false",
    "spark.sql.ansi.enforceReservedKeywords": "false",
    "spark.sql.caseSensitive": "false",
    "spark.sql.legacy.consecutiveStringLiterals.enabled": "false",
    "spark.sql.legacy.exponentLiteralAsDecimal.enabled": "false",
    "spark.sql.legacy.interval.enabled": "false",
    "spark.sql.legacy.literal.pickMinimumPrecision": "true",
    "spark.sql.legacy.typeCoercion.datetimeToString.enabled": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    "spark.sql.parser.quotedRegexColumnNames": "false",
    "spark.sql.timestampType": "TIMESTAMP_LTZ",
}
"""Settings that change how predicates are parsed, by name, with the value that each must have.

The values are Spark's defaults.
"""

RECORDED_SETTINGS = {
    "spark.sql.charAsVarchar": "false",
    "spark.sql.chunkBase64String.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.function.concatBinaryAsString": "false",
    "spark.sql.function.eltOutputAsString": "false",
    "spark.sql.icu.caseMappings.enabled": "true",
    "spark.sql.json.enableExactStringParsing": "true",
    "spark.sql.json.enablePartialResults": "true",
    "spark.sql.jsonGenerator.ignoreNullFields": "true",
    "spark.sql.legacy.allowHashOnMapType": "false",
    "spark.sql.legacy.allowNegativeScaleOfDecimal": "false",
    "spark.sql.legacy.allowNullComparisonResultInArraySort": "false",
    "spark.sql.legacy.allowZeroIndexInFormatString": "false",
    "spark.sql.legacy.castComplexTypesToString.enabled": "false",
    "spark.sql.legacy.charVarcharAsString": "false",
    "spark.sql.legacy.codingErrorAction": "false",
    "spark.sql.legacy.collationAwareHashFunctions": "false",
    "spark.sql.legacy.createEmptyCollectionUsingStringType": "false",
    "spark.sql.legacy.csv.enableDateTimeParsingFallback": "<undefined>",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "false",
    "spark.sql.legacy.disableMapKeyNormalization": "false",
    "spark.sql.legacy.duplicateBetweenInput": "false",
    "spark.sql.legacy.fromDayTimeString.enabled": "false",
    "spark.sql.legacy.javaCharsets": "false",
    "spark.sql.legacy.json.allowEmptyString.enabled": "false",
    "spark.sql.legacy.json.enableDateTimeParsingFallback": "<undefined>",
    "spark.sql.legacy.lpadRpadAlwaysReturnString": "false",
    "spark.sql.legacy.negativeIndexInArrayInsert": "false",
    "spark.sql.legacy.noCharPaddingInPredicate": "false",
    "spark.sql.legacy.sizeOfNull": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.legacy.truncateForEmptyRegexSplit": "false",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.mergeNestedTypeCoercion.enabled": "false",
    "spark.sql.preserveCharVarcharTypeInfo": "false",
    "spark.sql.readSideCharPadding": "true",
    "spark.sql.timeType.enabled": "false",
    "spark.sql.variant.allowDuplicateKeys": "false",
    "spark.sql.variant.validateUnicodeInJsonParsing": "true",
}
"""Settings that change the values of expressions, by name, with Spark's default.

A setting is recorded if its value is not the default.
"""


def read_session_settings(spark: SparkSession) -> SessionSettings:
    """Return the settings of a session on which the meaning of predicates depends.

    Raises:
        SchemaError: a setting changes how Spark parses predicates.
    """
    return _to_settings(read_setting_values(spark), read_time_zones(spark))


class SettingValues(NamedTuple):
    """Values of the settings of a session on which the meaning of predicates depends.

    `other_settings` has those of `REQUIRED_SETTINGS` and `RECORDED_SETTINGS` that are set.
    """

    time_zone: str
    ansi: str
    other_settings: tuple[tuple[str, str], ...]


def read_setting_values(spark: SparkSession) -> SettingValues:
    """Return the current values of settings; equal values mean that predicates mean the same."""
    configured = spark.conf.getAll
    names = (*REQUIRED_SETTINGS, *RECORDED_SETTINGS)
    return SettingValues(
        spark.conf.get("spark.sql.session.timeZone") or "UTC",
        spark.conf.get("spark.sql.ansi.enabled") or "true",
        tuple((name, str(configured[name])) for name in names if name in configured),
    )


def _to_settings(values: SettingValues, zones: TimeZones | None) -> SessionSettings:
    non_default = []
    for name, value in values.other_settings:
        default = REQUIRED_SETTINGS.get(name) or RECORDED_SETTINGS[name]
        if value.lower() == default.lower():
            continue
        if name in REQUIRED_SETTINGS:
            raise SchemaError(
                f"{name} is {value}, with which Spark parses predicates differently from covey: "
                f"set it to {default}"
            )
        non_default.append((name, value))
    rules = None if zones is None else zones.find_session_rules(values.time_zone)
    return SessionSettings(
        values.time_zone, values.ansi.lower() == "true", tuple(sorted(non_default)), rules, zones
    )


def with_time_zones(space: Space, spark: SparkSession) -> Space:
    """Return a space with the time zones of the session's Java added to its settings.

    A space that was read from a store lacks them.
    """
    return replace(space, settings=space.settings.with_time_zones(read_time_zones(spark)))


def check_session_settings(
    space: Space, spark: SparkSession, *, values: SettingValues | None = None
) -> None:
    """Raise SchemaError if predicates now mean something else than when they were parsed.

    Args:
        space: the space in which the predicates were parsed.
        spark: the session.
        values: the result of `read_setting_values` if the caller has it; reading takes 15 ms.

    Raises:
        SchemaError: a session setting, or Java's rules for the session's time zone, differ from
            those that the space has recorded.
    """
    recorded = space.settings
    zones = None if recorded.zone_rules is None else read_time_zones(spark)
    current = _to_settings(values or read_setting_values(spark), zones)
    if changes := describe_setting_changes(recorded, current):
        raise SchemaError(
            "predicates would mean something else than when the model was fitted: "
            f"{', '.join(changes)}; restore the previous value, or fit again"
        )
    if not current.agrees_with(recorded):
        raise SchemaError(
            "predicates would mean something else than when the model was fitted: this Java has "
            f"other rules for time zone {recorded.time_zone}; use the Java release with which the "
            "model was fitted, or fit again"
        )


def describe_setting_changes(recorded: SessionSettings, current: SessionSettings) -> list[str]:
    """Return a text with both values for each setting of Spark whose value differs.

    >>> describe_setting_changes(SessionSettings(), SessionSettings("Europe/Rome"))
    ['spark.sql.session.timeZone was UTC and is Europe/Rome']
    """
    current_values, recorded_values = _settings_by_name(current), _settings_by_name(recorded)
    return [
        f"{name} was {recorded_values[name]} and is {value}"
        for name, value in current_values.items()
        if value != recorded_values[name]
    ]


def _settings_by_name(settings: SessionSettings) -> dict[str, str]:
    return {
        "spark.sql.session.timeZone": settings.time_zone,
        "spark.sql.ansi.enabled": str(settings.ansi).lower(),
        **RECORDED_SETTINGS,
        **dict(settings.non_default),
    }
