"""Events as Kafka has them, decoded by Spark: columns of the schema, or why they cannot be read."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from covey.errors import InvalidArgumentError
from covey.spark.schemas import select_column
from covey.stream.config import EventsConfig
from covey.stream.events.dead_letters import CORRUPT_RECORD_FIELD, DeadLetterFormatter

__all__ = ["DECODED", "EventDecoder"]

DECODED = "covey.decoded"
"""The column of what an event's value was read as."""


@dataclass(frozen=True, slots=True)
class EventDecoder:
    """How values become columns.

    `schema` is that of events. Whatever is in a value, decoding it raises nothing: `is_undecodable`
    says whether it could not be read. All this is planned anew for each batch, so there is little
    of it.
    """

    schema: StructType
    decoded_value: Column
    is_undecodable: Column
    dead_letter_formatter: DeadLetterFormatter

    @classmethod
    def from_config(cls, config: EventsConfig) -> EventDecoder:
        """As the configuration says.

        A schema that Spark does not read is an `InvalidArgumentError`.
        """
        given = (
            _build_avro_decoder(config) if config.format == "avro" else _build_json_decoder(config)
        )
        names = [name.lower() for name in given.schema.names]
        if config.id_column is not None and config.id_column.lower() not in names:
            raise InvalidArgumentError(
                f"[events] id_column is {config.id_column!r}, "
                f"but the schema has {', '.join(given.schema.names)}"
            )
        return given

    @property
    def event_id(self) -> Column:
        """The id of an event: where it is on Kafka, or what the named column has."""
        named = self.dead_letter_formatter.id_column
        if named is None:
            return _build_event_ref()
        given = self.get_column(named).cast("string")
        escaped = F.replace(F.replace(given, F.lit("%"), F.lit("%25")), F.lit("/"), F.lit("%2F"))
        return F.coalesce(escaped, _build_event_ref())

    @property
    def dead_letter(self) -> Column:
        """What is kept of an event that could not be read: null if it could."""
        named, decoded = self.dead_letter_formatter.id_column, select_column(DECODED)
        is_wrong = self.is_undecodable
        if named is not None:
            is_wrong = is_wrong | self.get_column(named).isNull()
        kept = F.struct(
            _build_event_ref().alias("event_ref"),
            "key",
            "value",
            F.to_json(decoded).alias("decoded"),
        )
        return F.when(is_wrong, kept)

    def get_column(self, name: str) -> Column:
        """A column of the event."""
        return select_column(DECODED).getField(name)


def _build_event_ref() -> Column:
    """Where an event is on Kafka."""
    return F.concat_ws("-", "topic", "partition", "offset")


def _build_json_decoder(config: EventsConfig) -> EventDecoder:
    schema = _parse_ddl_schema(config.schema)
    with_corrupt = StructType([*schema.fields, StructField(CORRUPT_RECORD_FIELD, StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT_RECORD_FIELD}
    text = F.col("value").cast("string")
    read, found = F.from_json(text, with_corrupt, options), select_column(DECODED)
    is_wrong = (
        found.isNull()
        | found.getField(CORRUPT_RECORD_FIELD).isNotNull()
        | F.col("value").isNull()
        | ~F.is_valid_utf8(text)  # Spark would replace it
    )
    return EventDecoder(schema, read, is_wrong, _build_dead_letter_formatter(config, schema))


def _build_avro_decoder(config: EventsConfig) -> EventDecoder:
    from pyspark.sql import SparkSession
    from pyspark.sql.avro.functions import from_avro, to_avro

    read = from_avro("value", config.schema, {"mode": "PERMISSIVE"})
    try:
        empty = SparkSession.active().createDataFrame([], "value BINARY")
        schema = empty.select(read.alias("read")).schema["read"].dataType
    except Exception as error:
        said = _first_line(error)
        raise InvalidArgumentError(
            f"[events] schema is no Avro schema of a record: {said}"
        ) from None
    if not isinstance(schema, StructType):
        raise InvalidArgumentError("[events] schema is no Avro schema of a record")
    found = select_column(DECODED)
    is_null = [found.getField(name).isNull() for name in schema.names]
    all_null = is_null[0]
    for one in is_null[1:]:
        all_null = all_null & one
    # What is malformed comes as nulls, and so does an event of nulls: that is written the same way.
    same = F.when(all_null, to_avro(found, config.schema) == F.col("value")).otherwise(F.lit(True))
    is_wrong = F.col("value").isNull() | found.isNull() | ~F.coalesce(same, F.lit(False))
    return EventDecoder(schema, read, is_wrong, _build_dead_letter_formatter(config, schema))


def _build_dead_letter_formatter(config: EventsConfig, schema: StructType) -> DeadLetterFormatter:
    return DeadLetterFormatter(config.format, tuple(schema.names), config.id_column)


def _parse_ddl_schema(text: str) -> StructType:
    try:
        schema = StructType.fromDDL(text)
    except Exception as error:
        said = _first_line(error)
        raise InvalidArgumentError(
            f"[events] schema is no schema of Spark's, as symbol STRING, price DOUBLE: {said}"
        ) from None
    assert isinstance(schema, StructType)
    return schema


def _first_line(error: Exception) -> str:
    """Return the reason in an error of Spark, whose messages may begin with an empty line."""
    return str(error).strip().partition("\n")[0]
