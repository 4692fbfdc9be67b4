"""Events as Kafka has them, decoded by Spark: columns of the schema, or why they cannot be read."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from covey.errors import ValueRefused
from covey.spark.schemas import column_named
from covey.stream.config import Events as EventsConfig
from covey.stream.unreadable import CORRUPT, Unreadable

__all__ = ["READ", "Decoding"]

READ = "covey.read"
"""The column of what an event's value was read as."""


@dataclass(frozen=True, slots=True)
class Decoding:
    """How values become columns.

    `schema` is that of events. Whatever is in a value, decoding it raises nothing: `is_wrong` says
    whether it could not be read. All this is planned anew for each batch, so there is little of it.
    """

    schema: StructType
    read: Column
    is_wrong: Column
    unreadable: Unreadable

    @classmethod
    def of(cls, config: EventsConfig) -> Decoding:
        """As the configuration says; a schema that Spark does not read is a `ValueRefused`."""
        given = _avro(config) if config.format == "avro" else _json(config)
        names = [name.lower() for name in given.schema.names]
        if config.id is not None and config.id.lower() not in names:
            raise ValueRefused(
                f"[events] id is {config.id!r}, but the schema has {', '.join(given.schema.names)}"
            )
        return given

    @property
    def event(self) -> Column:
        """The id of an event: where it is on Kafka, or what the named column has."""
        named = self.unreadable.id_column
        if named is None:
            return _place()
        given = self.column(named).cast("string")
        escaped = F.replace(F.replace(given, F.lit("%"), F.lit("%25")), F.lit("/"), F.lit("%2F"))
        return F.coalesce(escaped, _place())

    @property
    def letter(self) -> Column:
        """What is kept of an event that could not be read: null if it could."""
        named, read = self.unreadable.id_column, column_named(READ)
        is_wrong = self.is_wrong
        if named is not None:
            is_wrong = is_wrong | self.column(named).isNull()
        kept = F.struct(_place().alias("place"), "key", "value", F.to_json(read).alias("read"))
        return F.when(is_wrong, kept)

    def column(self, name: str) -> Column:
        """A column of the event."""
        return column_named(READ).getField(name)


def _place() -> Column:
    """Where an event is on Kafka."""
    return F.concat_ws("-", "topic", "partition", "offset")


def _json(config: EventsConfig) -> Decoding:
    schema = _ddl(config.schema)
    with_corrupt = StructType([*schema.fields, StructField(CORRUPT, StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT}
    text = F.col("value").cast("string")
    read, found = F.from_json(text, with_corrupt, options), column_named(READ)
    is_wrong = (
        found.isNull()
        | found.getField(CORRUPT).isNotNull()
        | F.col("value").isNull()
        | ~F.is_valid_utf8(text)  # Spark would replace it
    )
    return Decoding(schema, read, is_wrong, _unreadable(config, schema))


def _avro(config: EventsConfig) -> Decoding:
    from pyspark.sql import SparkSession
    from pyspark.sql.avro.functions import from_avro, to_avro

    read = from_avro("value", config.schema, {"mode": "PERMISSIVE"})
    try:
        empty = SparkSession.active().createDataFrame([], "value BINARY")
        schema = empty.select(read.alias("read")).schema["read"].dataType
    except Exception as error:
        said = str(error).splitlines()[0]
        raise ValueRefused(f"[events] schema is no Avro schema of a record: {said}") from None
    if not isinstance(schema, StructType):
        raise ValueRefused("[events] schema is no Avro schema of a record")
    found = column_named(READ)
    is_null = [found.getField(name).isNull() for name in schema.names]
    all_null = is_null[0]
    for one in is_null[1:]:
        all_null = all_null & one
    # What is malformed comes as nulls, and so does an event of nulls: that is written the same way.
    same = F.when(all_null, to_avro(found, config.schema) == F.col("value")).otherwise(F.lit(True))
    is_wrong = F.col("value").isNull() | found.isNull() | ~F.coalesce(same, F.lit(False))
    return Decoding(schema, read, is_wrong, _unreadable(config, schema))


def _unreadable(config: EventsConfig, schema: StructType) -> Unreadable:
    return Unreadable(config.format, tuple(schema.names), config.id)


def _ddl(text: str) -> StructType:
    try:
        schema = StructType.fromDDL(text)
    except Exception as error:
        said = str(error).splitlines()[0]
        raise ValueRefused(
            f"[events] schema is no schema of Spark's, as symbol STRING, price DOUBLE: {said}"
        ) from None
    assert isinstance(schema, StructType)
    return schema
