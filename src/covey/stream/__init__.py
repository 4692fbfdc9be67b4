"""Live matching: events on Kafka against subscriptions that change while the stream runs.

`covey stream CONFIG.toml` runs one Structured Streaming query from the event topics to a sink.
Before a micro-batch has any effect, the driver reads the control topic to its end, commits the
changes as a version of the store and records the decision: this batch, these events, this version.
Workers wait for that decision and match with its version, so a batch that is run again gives the
same rows. Guarantees are in docs/guarantees.md, the design is in docs/stream.md.

Modules, in the order in which a stream uses them:

- `config`: the TOML configuration, one dataclass per section.
- `schema_check`: refuse a wrong schema of events before Spark starts.
- `spark_defaults`: Spark settings of a stream, unless the user sets others.
- `worker_daemon`: process from which Spark forks its Python workers, with modules preloaded.
- `warm_up`: one small match in the daemon, so that workers inherit the loaded kernels.
- `kafka_cluster`: covey's own Kafka clients, topic configuration and offset bounds.
- `topics`: check the topics before Spark starts, and read the starting offsets.
- `startup`: open the store and resume from the control topic, or rebuild the store from it.
- `zones`: divide the subscriptions of a stream into zones.
- `control`: sub-package; the control topic: messages, reader, translation to store changes.
- `pipeline`: `Pipeline`, which runs the query and restarts it after a failure.
- `batches`: sub-package; the decision protocol: which version decides which micro-batch.
- `events`: sub-package; decode events, match them in workers, write rows to a sink.
- `metrics`: sub-package; counts per batch, status file, Prometheus endpoint, JSON log.
- `retry`: retry policy of the query: backoff and deadlines.
- `maintenance`: background thread: control topic between batches, expiry, vacuum, status.
- `replay`: decide a range of past events again, without sending notifications.
- `explain`: why a subscription was, or was not, notified of an event.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.stream.config import StreamConfig
    from covey.stream.control.messages import cancel_message, subscription_message
    from covey.stream.pipeline import Pipeline

__all__ = ["Pipeline", "StreamConfig", "cancel_message", "subscription_message"]

__getattr__ = lazy_exports(
    __name__,
    {
        "StreamConfig": "config",
        "Pipeline": "pipeline",
        "cancel_message": "control.messages",
        "subscription_message": "control.messages",
    },
)
