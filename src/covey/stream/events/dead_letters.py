"""What the dead-letter topic is told of an event that could not be read, and why that was so.

That it could not be read is Spark's decision, which decodes it; these are the words.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["CORRUPT_RECORD_FIELD", "DeadLetterFormatter"]

CORRUPT_RECORD_FIELD = "covey.corrupt"
"""The field that Spark fills where JSON does not fit a schema."""


@dataclass(frozen=True, slots=True)
class DeadLetterFormatter:
    """Words for events of a format and of columns, of which one may be their id."""

    format: str
    column_names: tuple[str, ...]
    id_column: str | None = None

    def format_letter(self, event: Mapping[str, object]) -> str:
        """What is told of an event: `event_ref`, `value`, and what Spark `decoded`, as JSON.

        >>> given = {"event_ref": "ads-0-7", "value": b'{"a": "x"}', "decoded": '{}'}
        >>> formatter = DeadLetterFormatter("json", ("a",))
        >>> formatter.format_letter(given | {"decoded": '{"covey.corrupt": "…"}'})
        '{"event":"ads-0-7","reason":"of another type than in the schema: a",\
"value":"{\\\\"a\\\\": \\\\"x\\\\"}"}'
        """
        fields: Mapping[str, Any] = event
        value: bytes | None = fields["value"]
        reason = self.find_reason(value, fields["decoded"])
        said = {"event": fields["event_ref"], "reason": reason}
        if value is not None:
            try:
                said["value"] = value.decode()
            except UnicodeDecodeError:
                said["value_base64"] = b64encode(value).decode()
        return json.dumps(said, ensure_ascii=False, separators=(",", ":"))

    def find_reason(self, value: bytes | None, decoded: str | None) -> str:
        """Why it could not be read."""
        found = {} if decoded is None else json.loads(decoded)
        if value is None:
            return "the value is null"
        if decoded is not None and CORRUPT_RECORD_FIELD not in found and self.id_column is not None:
            return f"column {self.id_column}, the event's id, is null"
        if self.format == "avro":
            return "the value is no Avro of the schema"
        try:
            given = json.loads(value.decode())
        except UnicodeDecodeError:
            return "the value is no UTF-8"
        except (ValueError, RecursionError):
            return "the value is no JSON object"
        wrong = [
            name
            for name in self.column_names
            if isinstance(given, dict) and given.get(name) is not None and found.get(name) is None
        ]
        if wrong:
            return f"of another type than in the schema: {', '.join(wrong)}"
        return "the value is no JSON object"
