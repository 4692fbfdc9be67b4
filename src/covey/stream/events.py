"""Events as Kafka has them, decoded by Spark: columns of the schema, or why they cannot be read."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from covey.errors import ValueRefused
from covey.spark.schemas import column_named
from covey.stream.config import Events as EventsConfig

__all__ = ["READ", "Decoding"]

READ = "covey.read"
"""The column of what an event's value was read as."""
_CORRUPT = "covey.corrupt"


@dataclass(frozen=True, slots=True)
class Decoding:
    """How values become columns.

    `schema` is that of events. Whatever is in a value, decoding it raises nothing: `reason` is null
    where it could be read.
    """

    schema: StructType
    read: Column
    reason: Column
    id_column: str | None

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
        if self.id_column is None:
            return _place()
        given = self.column(self.id_column).cast("string")
        escaped = F.replace(F.replace(given, F.lit("%"), F.lit("%25")), F.lit("/"), F.lit("%2F"))
        return F.coalesce(escaped, _place())

    @property
    def letter(self) -> Column:
        """What the dead-letter topic gets of an event: null if it could be read."""
        reason = self.reason
        if self.id_column is not None:
            missing = F.lit(f"column {self.id_column}, the event's id, is null")
            reason = F.coalesce(reason, F.when(self.column(self.id_column).isNull(), missing))
        is_text = F.is_valid_utf8(F.col("value").cast("string"))
        letter = F.struct(
            _place().alias("event"),
            reason.alias("reason"),
            F.when(is_text, F.col("value").cast("string")).alias("value"),
            F.when(~is_text, F.base64("value")).alias("value_base64"),
        )
        return F.when(reason.isNotNull(), F.to_json(letter))

    def column(self, name: str) -> Column:
        """A column of the event."""
        return column_named(READ).getField(name)


def _place() -> Column:
    """Where an event is on Kafka."""
    return F.concat_ws("-", "topic", "partition", "offset")


def _json(config: EventsConfig) -> Decoding:
    schema = _ddl(config.schema)
    with_corrupt = StructType([*schema.fields, StructField(_CORRUPT, StringType())])
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    read = F.from_json(F.col("value").cast("string"), with_corrupt, options)
    found, text = column_named(READ), F.col("value").cast("string")
    wrong = F.concat_ws(
        ", ",
        *(
            F.when(
                found.getField(name).isNull() & F.get_json_object(text, f"$['{name}']").isNotNull(),
                F.lit(name),
            )
            for name in schema.names
        ),
    )
    unfit = F.when(
        F.length(wrong) > 0, F.concat(F.lit("of another type than in the schema: "), wrong)
    )
    reason = (
        F.when(F.col("value").isNull(), F.lit("the value is null"))
        .when(~F.is_valid_utf8(text), F.lit("the value is no UTF-8"))  # Spark would replace it
        .when(found.isNull(), F.lit("the value is no JSON object"))
        .when(
            found.getField(_CORRUPT).isNotNull(),
            F.coalesce(unfit, F.lit("the value is no JSON object")),
        )
    )
    return Decoding(schema, read, reason, config.id)


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
    reason = F.when(F.col("value").isNull(), F.lit("the value is null")).when(
        found.isNull() | ~F.coalesce(same, F.lit(False)),
        F.lit("the value is no Avro of the schema"),
    )
    return Decoding(schema, read, reason, config.id)


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
