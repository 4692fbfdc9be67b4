"""The settings of a session that decide what a predicate means.

Some change how a predicate is read, which covey does itself, as Spark does by default: those must
have their default. Others change what Spark computes for an expression: they are kept with the
subscriptions, and a session that matches events must have the same.
`tests/spark/test_session_settings.py` finds both kinds by setting each of Spark's own settings to
something else.
"""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import SparkSession

from covey.errors import SchemaError
from covey.space import SessionSettings, Space
from covey.space.time_zones import TimeZones
from covey.spark.java_time_zones import read_time_zones

__all__ = [
    "RECORDED_SETTINGS",
    "REQUIRED_SETTINGS",
    "check_session_settings",
    "read_session_settings",
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
"""Settings that must have the value that they have by default."""

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
"""Settings that are kept where they are not as by default."""


def read_session_settings(spark: SparkSession) -> SessionSettings:
    """Return the settings of a session that predicates depend on.

    Raises:
        SchemaError: the session reads predicates in another way than by default.
    """
    zones = read_time_zones(spark)
    return _read_settings(spark, zones)


def _read_settings(spark: SparkSession, zones: TimeZones | None) -> SessionSettings:
    zone = spark.conf.get("spark.sql.session.timeZone") or "UTC"
    ansi = spark.conf.get("spark.sql.ansi.enabled") or "true"
    given = spark.conf.getAll
    for name, usual in REQUIRED_SETTINGS.items():
        if (value := str(given.get(name, usual))).lower() != usual.lower():
            raise SchemaError(
                f"{name} is {value}, with which Spark reads predicates in another way than covey "
                f"does: set it to {usual}"
            )
    others = {name: str(given[name]) for name in RECORDED_SETTINGS if name in given}
    unusual = {
        n: value for n, value in others.items() if value.lower() != RECORDED_SETTINGS[n].lower()
    }
    rules = None if zones is None else zones.find_session_rules(zone)
    return SessionSettings(
        zone, ansi.lower() == "true", tuple(sorted(unusual.items())), rules, zones
    )


def with_time_zones(space: Space, spark: SparkSession) -> Space:
    """Return a space, read from a store, with the time zones that predicates may name."""
    return replace(space, settings=space.settings.with_time_zones(read_time_zones(spark)))


def check_session_settings(space: Space, spark: SparkSession) -> None:
    """Refuse a session in which the predicates of a space would mean something else.

    Raises:
        SpaceError: a setting is another one than when the subscriptions were read.
    """
    recorded = space.settings
    zones = None if recorded.zone_rules is None else read_time_zones(spark)
    present = _read_settings(spark, zones)
    now, then = _settings_by_name(present), _settings_by_name(recorded)
    other = [name for name in now if now[name] != then[name]]
    if other:
        said = ", ".join(f"{name} was {then[name]} and is {now[name]}" for name in other)
        raise SchemaError(
            f"predicates would mean something else than when the model was fitted: {said}; set it "
            "as it was, or fit again"
        )
    if not present.agrees_with(recorded):
        raise SchemaError(
            "predicates would mean something else than when the model was fitted: this Java has "
            f"other rules of time zone {recorded.time_zone}; run the Java of then, or fit again"
        )


def _settings_by_name(settings: SessionSettings) -> dict[str, str]:
    return {
        "spark.sql.session.timeZone": settings.time_zone,
        "spark.sql.ansi.enabled": str(settings.ansi).lower(),
        **RECORDED_SETTINGS,
        **dict(settings.non_default),
    }
