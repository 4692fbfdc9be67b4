"""The decision protocol: which version of the store decides which micro-batch.

Spark writes the offset ranges of a batch to its checkpoint before it runs the batch. The driver
reads the offset ranges there, syncs the store with the control topic, and durably records that the
newest version of the store decides the batch. A decision is made only once. Workers poll for the
decision. When a batch is run again, its decision already exists and names the same version, so its
notifications are identical to the byte.

The modules, in the order in which a batch passes through them, are:

- `batch_size`: chooses the largest number of events of a batch from the time that an event takes.
- `checkpoint`: reads query id, offset ranges and committed batches from Spark's checkpoint folder.
- `decider`: `BatchDecider`, a driver thread that decides each batch as soon as its offsets are
  written.
- `decision_log`: `BatchDecision` and `DecisionLog`, the decisions as files in the state folder.
- `version_source`: `VersionSource`, which opens the snapshot that a worker's task matches with.
"""

from typing import TYPE_CHECKING

from covey._lazy import lazy_exports

if TYPE_CHECKING:
    from covey.stream.batches.decision_log import DecisionLog

__all__ = [
    "DecisionLog",
]

__getattr__ = lazy_exports(
    __name__,
    {
        "DecisionLog": "decision_log",
    },
)
