"""Live matching: events on Kafka against subscriptions that change while the stream runs.

`covey stream CONFIG.toml` runs one Structured Streaming query from the event topics to a sink.
Before a micro-batch has any effect, the driver reads the control topic to its end, commits the
changes as a version of the store, and records the batch decision: the number of the batch, the
offsets of its events, and the version. Workers wait for the decision and match with its version, so
a batch that is run again produces the same rows. Guarantees are in docs/reference/guarantees.md,
decisions in docs/explanation/decisions/0006-stream.md.

The modules, in the order in which a stream uses them, are:

- `config`: the TOML configuration, one dataclass per section.
- `schema_check`: find mistakes in the schema of events before Spark starts.
- `spark_defaults`: Spark settings of a stream that the user can override.
- `worker_daemon`: process from which Spark forks its Python workers, with modules preloaded.
- `warm_up`: one small match in the daemon, so that workers inherit the loaded kernels.
- `kafka_cluster`: covey's own Kafka clients, topic configuration and offset bounds.
- `topics`: check the topics before Spark starts, and read the starting offsets.
- `driver_lease`: access of only one driver to the state folder, by a lock or a lease.
- `startup`: open the store, and continue reading the control topic or rebuild the store from it.
- `zones`: divide the subscriptions of a stream into zones.
- `control`: sub-package for the control topic: messages, reader, translation to store changes.
- `pipeline`: `Pipeline`, which runs the query and restarts it after a failure.
- `batches`: sub-package for the decision protocol: which version decides which micro-batch.
- `events`: sub-package that decodes events, matches them in workers, and writes rows to a sink.
- `metrics`: sub-package for counts per batch, status file, Prometheus endpoint and JSON log.
- `retry`: retry policy of the query: backoff and deadlines.
- `maintenance`: background thread that syncs between batches, vacuums, and updates the status file.
- `replay`: decide a range of past events again, without sending notifications.
- `explain`: explain why a subscription was notified of an event, or why not.
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
