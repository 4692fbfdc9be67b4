"""Dead letters about events that could not be decoded, with the reason.

Spark decides which events cannot be decoded; this module only formats the message about them.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CORRUPT_RECORD_FIELD", "DeadLetterFormatter"]

CORRUPT_RECORD_FIELD = "covey.corrupt"
"""Name of the field in which Spark puts a JSON value that does not fit the schema."""


@dataclass(frozen=True, slots=True)
class DeadLetterFormatter:
    """Formatter of dead letters about events.

    Args:
        format: format of the events, `json` or `avro`.
        column_names: names of the columns in the schema of events.
        id_column: column with the id of an event; None if the configuration names none.
    """

    format: str
    column_names: tuple[str, ...]
    id_column: str | None = None

    def format_letter(self, event: Mapping[str, object]) -> str:
        """Return the dead letter about an event, as JSON.

        Args:
            event: a mapping with at least three keys. `event_ref` is the address of the event.
                `value` is its value on Kafka as bytes, or None. `decoded` is JSON with the columns
                that Spark decoded, or None if it decoded none.

        >>> event = {"event_ref": "ads-0-7", "value": b'{"a": "x"}', "decoded": '{}'}
        >>> formatter = DeadLetterFormatter("json", ("a",))
        >>> formatter.format_letter(event | {"decoded": '{"covey.corrupt": "…"}'})
        '{"event":"ads-0-7","reason":"type differs from the schema: a",\
"value":"{\\\\"a\\\\": \\\\"x\\\\"}"}'
        """
        fields: Mapping[str, Any] = event
        value: bytes | None = fields["value"]
        reason = self.find_reason(value, fields["decoded"])
        letter = {"event": fields["event_ref"], "reason": reason}
        if value is not None:
            try:
                letter["value"] = value.decode()
            except UnicodeDecodeError:
                letter["value_base64"] = b64encode(value).decode()
        return json.dumps(letter, ensure_ascii=False, separators=(",", ":"))

    def find_reason(self, value: bytes | None, decoded: str | None) -> str:
        """Return the reason why an event could not be decoded.

        Args:
            value: value of the event on Kafka; None if it is null.
            decoded: the columns that Spark decoded from the value, as JSON; None if it decoded
                none.
        """
        columns = {} if decoded is None else json.loads(decoded)
        if value is None:
            return "the value is null"
        is_corrupt = CORRUPT_RECORD_FIELD in columns
        if decoded is not None and not is_corrupt and self.id_column is not None:
            return f"column {self.id_column}, the event's id, is null"
        if self.format == "avro":
            return "the value does not fit the Avro schema"
        try:
            content = json.loads(value.decode())
        except UnicodeDecodeError:
            return "the value is not valid UTF-8"
        except (ValueError, RecursionError):
            return "the value is not a JSON object"
        wrong_names = [
            name
            for name in self.column_names
            if isinstance(content, dict)
            and content.get(name) is not None
            and columns.get(name) is None
        ]
        if wrong_names:
            return f"type differs from the schema: {', '.join(wrong_names)}"
        is_object = isinstance(content, dict)
        return (
            "the value does not fit the schema" if is_object else "the value is not a JSON object"
        )
