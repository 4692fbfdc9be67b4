"""Decoding of events by Spark: from Kafka's value to columns of the schema, or to a dead letter."""

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
"""Name of the struct column with the decoded value of an event."""


@dataclass(frozen=True, slots=True)
class EventDecoder:
    """Spark columns that decode the values of events, and detect values that cannot be decoded.

    Decoding raises no error for any value. The columns are few and simple, because Spark plans them
    again for each batch.

    Args:
        schema: schema of the events.
        decoded_value: a struct with the columns of the event, computed from Kafka's `value`.
        is_undecodable: whether the value cannot be decoded; it reads the column `DECODED`.
        dead_letter_formatter: formatter of dead letters about events that cannot be decoded.
    """

    schema: StructType
    decoded_value: Column
    is_undecodable: Column
    dead_letter_formatter: DeadLetterFormatter

    @classmethod
    def from_config(cls, config: EventsConfig) -> EventDecoder:
        """Build the decoder for section `[events]` of a configuration.

        Raises:
            InvalidArgumentError: Spark cannot parse the schema, or `id_column` is not a column of
                it.
        """
        decoder = (
            _build_avro_decoder(config) if config.format == "avro" else _build_json_decoder(config)
        )
        names = [name.lower() for name in decoder.schema.names]
        if config.id_column is not None and config.id_column.lower() not in names:
            raise InvalidArgumentError(
                f"[events] id_column is {config.id_column!r}, which is not a column of the events: "
                f"their columns are {', '.join(decoder.schema.names)}"
            )
        return decoder

    @property
    def event_id(self) -> Column:
        """Id of an event: the value of the id column as a string, with % and / escaped.

        It is the event ref if there is no id column, or if its value is null.
        """
        id_column = self.dead_letter_formatter.id_column
        if id_column is None:
            return _build_event_ref()
        id_text = self.get_column(id_column).cast("string")
        escaped = F.replace(F.replace(id_text, F.lit("%"), F.lit("%25")), F.lit("/"), F.lit("%2F"))
        return F.coalesce(escaped, _build_event_ref())

    @property
    def dead_letter(self) -> Column:
        """Struct from which the dead letter of an event is formatted.

        It is null if the event was decoded and its id is not null.
        """
        id_column, decoded = self.dead_letter_formatter.id_column, select_column(DECODED)
        is_wrong = self.is_undecodable
        if id_column is not None:
            is_wrong = is_wrong | self.get_column(id_column).isNull()
        fields = F.struct(
            _build_event_ref().alias("event_ref"),
            "key",
            "value",
            F.to_json(decoded).alias("decoded"),
        )
        return F.when(is_wrong, fields)

    def get_column(self, name: str) -> Column:
        """Return a column of the decoded event; the column `DECODED` must exist."""
        return select_column(DECODED).getField(name)


def _build_event_ref() -> Column:
    """Build the column with the event ref, `topic-partition-offset`."""
    return F.concat_ws("-", "topic", "partition", "offset")


def _build_json_decoder(config: EventsConfig) -> EventDecoder:
    schema = _parse_ddl_schema(config.schema)
    with_corrupt = StructType([*schema.fields, StructField(CORRUPT_RECORD_FIELD, StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT_RECORD_FIELD}
    text = F.col("value").cast("string")
    decoded_value, decoded = F.from_json(text, with_corrupt, options), select_column(DECODED)
    is_wrong = (
        decoded.isNull()
        | decoded.getField(CORRUPT_RECORD_FIELD).isNotNull()
        | F.col("value").isNull()
        | ~F.is_valid_utf8(text)  # Spark would silently replace invalid bytes
    )
    formatter = _build_dead_letter_formatter(config, schema)
    return EventDecoder(schema, decoded_value, is_wrong, formatter)


def _build_avro_decoder(config: EventsConfig) -> EventDecoder:
    from pyspark.sql import SparkSession
    from pyspark.sql.avro.functions import from_avro, to_avro

    decoded_value = from_avro("value", config.schema, {"mode": "PERMISSIVE"})
    try:
        empty = SparkSession.active().createDataFrame([], "value BINARY")
        schema = empty.select(decoded_value.alias("read")).schema["read"].dataType
    except Exception as error:
        reason = _first_line(error)
        raise InvalidArgumentError(
            f"[events] schema is not the Avro schema of a record: {reason}"
        ) from None
    if not isinstance(schema, StructType):
        raise InvalidArgumentError(
            '[events] schema is not the Avro schema of a record: its "type" must be "record"'
        )
    decoded = select_column(DECODED)
    null_columns = [decoded.getField(name).isNull() for name in schema.names]
    all_null = null_columns[0]
    for is_null in null_columns[1:]:
        all_null = all_null & is_null
    # Spark decodes a malformed value to nulls. An event that really consists of nulls is recognised
    # because encoding it again gives the same bytes.
    is_same = F.when(all_null, to_avro(decoded, config.schema) == F.col("value")).otherwise(
        F.lit(True)
    )
    is_wrong = F.col("value").isNull() | decoded.isNull() | ~F.coalesce(is_same, F.lit(False))
    formatter = _build_dead_letter_formatter(config, schema)
    return EventDecoder(schema, decoded_value, is_wrong, formatter)


def _build_dead_letter_formatter(config: EventsConfig, schema: StructType) -> DeadLetterFormatter:
    return DeadLetterFormatter(config.format, tuple(schema.names), config.id_column)


def _parse_ddl_schema(text: str) -> StructType:
    try:
        schema = StructType.fromDDL(text)
    except Exception as error:
        reason = _first_line(error)
        raise InvalidArgumentError(
            f"[events] schema is not a Spark schema such as symbol STRING, price DOUBLE: {reason}"
        ) from None
    assert isinstance(schema, StructType)
    return schema


def _first_line(error: Exception) -> str:
    """Return the reason in an error of Spark, whose messages may begin with an empty line."""
    return str(error).strip().partition("\n")[0]
