"""Log records as lines of JSON on stderr, for people and for log collectors."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime

__all__ = ["configure_json_logging"]

_STANDARD_FIELDS = frozenset(vars(logging.LogRecord("", 0, "", 0, "", (), None))) | {
    "message",
    "taskName",
}


class _JsonFormatter(logging.Formatter):
    """Formatter of a log record as one line of JSON: time, level, message and `extra` fields."""

    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"at": when, "level": record.levelname.lower(), "what": record.getMessage()}
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD_FIELDS}
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str, ensure_ascii=False)


def configure_json_logging() -> None:
    """Configure covey's logger to write lines of JSON to stderr, at level INFO and above."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter())
    logger = logging.getLogger("covey")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
