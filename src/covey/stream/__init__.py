"""Live matching: events on Kafka, subscriptions that change while it runs, notifications to Kafka.

`covey stream CONFIG.toml` runs it. What is promised is in docs/guarantees.md, how it works in
docs/stream.md.
"""

from typing import TYPE_CHECKING

from covey.lazily import lazily

if TYPE_CHECKING:
    from covey.stream.config import Config
    from covey.stream.messages import cancel_message, change_message
    from covey.stream.pipeline import Pipeline

__all__ = ["Config", "Pipeline", "cancel_message", "change_message"]

__getattr__ = lazily(
    __name__,
    {
        "Config": "config",
        "Pipeline": "pipeline",
        "cancel_message": "messages",
        "change_message": "messages",
    },
)
